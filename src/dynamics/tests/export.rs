//! Robots exported to other formats and read back: the equations of motion are the same.
//!
//! A joint with several coordinates returns as a chain of joints over links of 1e-12 kg, which change no entry of the
//! mass matrix by more than that fraction.

use std::{
    collections::{BTreeSet, HashMap},
    path::Path,
    process::Command,
};

use simpartner_description::{
    World,
    xml::{self, Document, ExportFormat, ImportOptions},
};
use simpartner_dynamics::{Equations, Probe, give_inertias};
use simpartner_model::{Body, BodyId, CollisionFilter, Joint, Mechanism, Robot, RobotId};

/// A world of this repository, with the inertia of each body computed.
fn world(path: &str) -> World {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    let mut world = match xml::read_any(&path) {
        Ok(Document::World(world) | Document::Robot(world)) => world,
        Ok(_) => panic!("neither a world nor a robot"),
        Err(problems) => panic!("{problems}"),
    };
    give_inertias(&mut world.mechanism).expect("the bodies of our robots have mass");
    world
}

fn read(path: &str, text: &str) -> World {
    match xml::read_text(path, text) {
        Ok(Document::World(world) | Document::Robot(world)) => world,
        Ok(_) => panic!("neither a world nor a robot"),
        Err(problems) => panic!("{problems}"),
    }
}

/// The equations, and the place of each joint coordinate by its name; the six of a floating root are called 0 to 5.
fn equations(mechanism: &Mechanism) -> (Equations, HashMap<String, usize>) {
    let equations = Probe::new(mechanism).expect("it can be built").equations().expect("it has no loops");
    let mut floating = 0;
    let names = equations.freedoms.iter().enumerate().map(|(place, freedom)| {
        let name = match freedom {
            Some((id, axis)) => {
                let joint = mechanism.joint(*id);
                if joint.degrees_of_freedom() == 1 {
                    joint.name.clone()
                } else {
                    format!("{}_{}", joint.name, axis + 1)
                }
            }
            None => {
                floating += 1;
                (floating - 1).to_string()
            }
        };
        (name, place)
    });
    let names = names.collect();
    (equations, names)
}

/// The largest difference of two mass matrices and of two accelerations, as shares of their largest entries.
fn difference(one: &Mechanism, other: &Mechanism, skips_root: bool) -> [f64; 2] {
    let ((one, names), (other, places)) = (equations(one), equations(other));
    assert_eq!(names.len(), places.len(), "{names:?} {places:?}");
    let (mut mass, mut acceleration): ([f64; 2], [f64; 2]) = Default::default();
    // Those of a ball joint are in principal axes, which a body with equal moments has in any direction.
    let is_compared = |name: &str| {
        name.parse::<usize>().is_ok_and(|number| number < 6 && !skips_root) || name.parse::<usize>().is_err()
    };
    for (name, &row) in names.iter().filter(|(name, _)| is_compared(name)) {
        let fresh_row = *places.get(name).unwrap_or_else(|| panic!("no {name} in {places:?}"));
        let pair = (one.acceleration[row], other.acceleration[fresh_row]);
        acceleration = [acceleration[0].max((pair.0 - pair.1).abs()), acceleration[1].max(pair.0.abs())];
        for (name, &column) in names.iter().filter(|(name, _)| is_compared(name)) {
            let pair = (one.mass[row][column], other.mass[fresh_row][places[name]]);
            mass = [mass[0].max((pair.0 - pair.1).abs()), mass[1].max(pair.0.abs())];
        }
    }
    [mass[0] / mass[1], acceleration[0] / acceleration[1].max(1.0)]
}

const ROBOTS: [&str; 4] =
    ["robots/workpartner1.xml", "robots/workpartner2.xml", "robots/workpartner3.xml", "robots/workpartner4.xml"];

#[test]
fn workpartner_comes_back_from_mjcf_with_the_same_equations() {
    for path in ROBOTS {
        let own = world(path);
        let written = xml::export(&own, ExportFormat::Mjcf, "meshes").unwrap();
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("again.xml");
        std::fs::write(&file, &written.text).unwrap();
        // Bodies that are merged have one centre of mass, and a floating root moves by its own.
        let options = ImportOptions { keep_fixed_joints: true, ..ImportOptions::default() };
        let imported = xml::import(&file, &options).unwrap_or_else(|problems| panic!("{problems}"));
        let again = read("imported.xml", &imported.text);
        let [mass, acceleration] = difference(&own.mechanism, &again.mechanism, false);
        assert!(mass < 1e-12 && acceleration < 1e-10, "{path}: mass by {mass:e}, acceleration by {acceleration:e}");
    }
}

/// URDF has no armature and no base pose: it has the links' own coordinates and masses, and the root is turned.
#[test]
fn workpartner_comes_back_from_urdf_with_the_same_links() {
    for path in ROBOTS {
        let mut own = world(path);
        for axis in own.mechanism.joints.iter_mut().flat_map(|joint| &mut joint.axes) {
            if let simpartner_model::Axis::Free(free) = axis {
                (free.armature, free.stiffness) = (0.0, 0.0);
            }
        }
        let scratch = tempfile::tempdir().unwrap();
        let written = xml::export(&own, ExportFormat::Urdf, "meshes").unwrap();
        for (file, text) in &written.meshes {
            std::fs::create_dir_all(scratch.path().join("meshes")).unwrap();
            std::fs::write(scratch.path().join(file), text).unwrap();
        }
        let again = read(&scratch.path().join("again.urdf").to_string_lossy(), &written.text);
        let [mass, _] = difference(&own.mechanism, &again.mechanism, true);
        assert!(mass < 1e-12, "{path}: mass by {mass:e}");
    }
}

/// The links for the coordinates of a joint have 1e-12 kg, and less inertia than MuJoCo accepts.
#[test]
fn what_came_back_is_written_again() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("again.xml");
    let shaft = ARM.replace("STATIC", "").replace("type=\"hinge\" name=\"J1\"", "type=\"cylindrical\" name=\"J1\"");
    let mut written = String::new();
    let mut world = read("arm.xml", &shaft);
    for _ in 0..2 {
        give_inertias(&mut world.mechanism).unwrap();
        written = xml::export(&world, ExportFormat::Mjcf, "meshes").unwrap().text;
        std::fs::write(&file, &written).unwrap();
        let imported = xml::import(&file, &ImportOptions::default()).unwrap_or_else(|problems| panic!("{problems}"));
        world = read("imported.xml", &imported.text);
    }
    let inertias = written.split("fullinertia=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let all: Vec<[f64; 3]> = inertias
        .map(|text| {
            let mut numbers = text.split(' ').map(|number| number.parse().unwrap());
            std::array::from_fn(|_| numbers.next().unwrap())
        })
        .collect();
    assert_eq!(all.len(), 4, "three bodies and the link between: {written}");
    assert!(all.iter().flatten().all(|moment| *moment >= 1e-14), "{all:?}");
    let [mass, acceleration] = difference(&read("arm.xml", &shaft).mechanism, &world.mechanism, true);
    assert!(mass < 1e-11 && acceleration < 1e-10, "{mass:e} {acceleration:e}");
}

/// MuJoCo's compiler accepts the exported file, and has the same mass matrix. Skipped where MuJoCo is not installed.
#[test]
fn mujoco_reads_what_is_written() {
    const SCRIPT: &str = "
import sys
try:
    import mujoco, numpy
except ImportError:
    print('skipped: mujoco is not installed'); sys.exit()
for path in sys.argv[1:]:
    model = mujoco.MjModel.from_xml_path(path)
    print(path, model.nv, repr(float(sum(model.body_mass))))
";
    let scratch = tempfile::tempdir().unwrap();
    let mut expected = Vec::new();
    let mut command = Command::new("python3");
    command.args(["-c", SCRIPT]).current_dir(scratch.path());
    for path in ROBOTS.into_iter().chain(["worlds/terrain.xml", "worlds/maze.xml", "worlds/pole.xml"]) {
        let own = world(path);
        let name = format!("{}_written.xml", path.replace('/', "_"));
        std::fs::write(scratch.path().join(&name), xml::export(&own, ExportFormat::Mjcf, "meshes").unwrap().text)
            .unwrap();
        command.arg(&name);
        let probe = Probe::new(&own.mechanism).unwrap().equations();
        let mass: f64 = own.mechanism.bodies.iter().filter(|body| !body.fixed).map(|body| body.mass).sum();
        expected.push((name, probe.map(|equations| equations.freedoms.len()), mass));
    }
    let Ok(output) = command.output() else {
        return println!("skipped: python3 is not installed");
    };
    let said = String::from_utf8_lossy(&output.stdout);
    if said.contains("skipped") {
        return println!("{said}");
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for (line, (name, freedoms, mass)) in said.lines().zip(expected) {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[0], name);
        assert!(freedoms.is_none_or(|freedoms| words[1] == freedoms.to_string()), "{line}: {freedoms:?}");
        let theirs: f64 = words[2].parse().unwrap();
        assert!((theirs - mass).abs() < 1e-9 * mass, "{line}: {mass}");
    }
}

/// The pairs of bodies that MuJoCo lets collide, by its masks, its excluded pairs and its rule for parents, with their
/// friction, a line each.
const PAIRS: &str = "
import sys
try:
    import mujoco
except ImportError:
    print('skipped: mujoco is not installed'); sys.exit()
model = mujoco.MjModel.from_xml_path(sys.argv[1])
bodies = model.geom_bodyid
for one in range(model.ngeom):
    for other in range(one + 1, model.ngeom):
        a, b = sorted((bodies[one], bodies[other]))
        if not (model.geom_contype[one] & model.geom_conaffinity[other] or model.geom_contype[other] & model.geom_conaffinity[one]):
            continue
        welds = model.body_weldid[a], model.body_weldid[b]
        parents = [model.body_weldid[model.body_parentid[weld]] for weld in welds]
        parent = all(welds) and (welds[0] == parents[1] or welds[1] == parents[0])
        if welds[0] == welds[1] or parent or (int(a) << 16) + int(b) in model.exclude_signature:
            continue
        first = model.geom_priority[one] - model.geom_priority[other]
        mu = model.geom_friction[one][0], model.geom_friction[other][0]
        mu = max(mu) if first == 0 else mu[0] if first > 0 else mu[1]
        print(*sorted((model.body(a).name, model.body(b).name)), f'{mu:.10g}', sep=' | ')
";

const ARM: &str = r#"<robot name="arm"><body name="Base"><mass>1</mass><pose y="1"/>STATIC<box x="0.2" y="0.2" z="0.2"/></body>
  <body name="Upper"><mass>1</mass><pose y="1" x="0.3"/><box x="0.2" y="0.2" z="0.2"/></body>
  <body name="Lower"><mass>1</mass><pose y="1" x="0.6"/><box x="0.2" y="0.2" z="0.2"/></body>
  <joint type="hinge" name="J1"><parent>Base</parent><child>Upper</child><anchor x="0.15" y="1"/><axis z="1"/></joint>
  <joint type="hinge" name="J2"><parent>Upper</parent><child>Lower</child><anchor x="0.45" y="1"/><axis z="1"/></joint></robot>"#;

const LOOSE: &str = r#"<world name="w"><surface/><object name="Plain"><mass>1</mass><box x="1" y="1" z="1"/><pose y="9"/></object>
  <object name="Odd"><mass>1</mass><collision category="2" collidesWith="4"><box x="1" y="1" z="1"/></collision><pose y="7"/></object></world>"#;

/// Robots side by side, of which `colliding` have self-collision, with free objects.
fn crowd(count: usize, colliding: usize, arm: &str) -> World {
    let (arm, mut world) = (read("arm.xml", arm), read("worlds/w.xml", LOOSE));
    let Mechanism { bodies, joints, robots, .. } = &mut world.mechanism;
    for number in 0..count {
        let first = bodies.len();
        let robot = Some(RobotId::new(number));
        let shifted = |body: BodyId| BodyId::new(first + body.index());
        bodies.extend(arm.mechanism.bodies.iter().map(|body| Body { robot, ..body.clone() }));
        joints.extend(arm.mechanism.joints.iter().map(|joint| Joint {
            robot,
            parent: shifted(joint.parent),
            child: shifted(joint.child),
            ..joint.clone()
        }));
        robots.push(Robot {
            name: format!("r{number}"),
            self_collision: number < colliding,
            ..arm.mechanism.robots[0].clone()
        });
    }
    world
}

/// The pairs that collide here, as [`PAIRS`] names them.
fn colliding(mechanism: &Mechanism) -> BTreeSet<String> {
    let name = |body: &Body| match body.robot {
        Some(robot) if mechanism.robots.len() > 1 => format!("{}/{}", mechanism.robot(robot).name, body.name),
        _ => body.name.clone(),
    };
    let pair = |one: &str, other: &str, mu: [f64; 2]| {
        format!("{} | {} | {}", one.min(other), one.max(other), mu[0].min(mu[1]))
    };
    let friction = |body: &Body| body.material.friction;
    let mut pairs = BTreeSet::new();
    for (id, body) in mechanism.bodies() {
        if !body.fixed && body.filter.meets(CollisionFilter::default()) {
            let ground = mechanism.grounds[0].material().friction;
            pairs.insert(pair("world", &name(body), [ground, friction(body)]));
        }
        for (other, second) in mechanism.bodies().skip(id.index() + 1) {
            let is = |ends: [BodyId; 2]| ends == [id, other] || ends == [other, id];
            let joined = mechanism.joints.iter().map(|joint| [joint.parent, joint.child]);
            let apart = mechanism.apart.iter().copied().chain(joined).any(is);
            let is_own = |robot| second.robot == Some(robot) && !mechanism.robot(robot).self_collision;
            let still = body.fixed && second.fixed;
            if body.filter.meets(second.filter) && !apart && !still && !body.robot.is_some_and(is_own) {
                pairs.insert(pair(&name(body), &name(second), [friction(body), friction(second)]));
            }
        }
    }
    pairs
}

#[test]
fn mujoco_lets_those_bodies_collide_that_collide_here() {
    let [free, fixed] = ["", "<static>true</static>"].map(|given| ARM.replace("STATIC", given));
    let scratch = tempfile::tempdir().unwrap();
    let cases = [(&free, 1, 0, false), (&free, 17, 1, false), (&free, 3, 1, true), (&fixed, 17, 16, false)];
    for (arm, count, colliding_robots, odd) in cases {
        let mut world = crowd(count, colliding_robots, arm);
        if !odd {
            world.mechanism.bodies[1].filter = CollisionFilter::default();
        }
        world.mechanism.grounds[0].material_mut().friction = 0.75;
        for (number, body) in world.mechanism.bodies.iter_mut().enumerate() {
            body.material.friction = [0.25, 1e6, 0.75, 0.5][number % 4];
        }
        world.mechanism.apart.push([BodyId::new(0), BodyId::new(2)]);
        give_inertias(&mut world.mechanism).unwrap();
        let file = scratch.path().join("crowd.xml");
        std::fs::write(&file, xml::export(&world, ExportFormat::Mjcf, "meshes").unwrap().text).unwrap();
        let Ok(output) = Command::new("python3").args(["-c", PAIRS]).arg(&file).output() else {
            return println!("skipped: python3 is not installed");
        };
        let said = String::from_utf8_lossy(&output.stdout);
        if said.contains("skipped") {
            return println!("{said}");
        }
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let (ours, theirs) =
            (colliding(&world.mechanism), said.lines().map(str::to_owned).collect::<BTreeSet<String>>());
        let differ: Vec<&String> = ours.symmetric_difference(&theirs).collect();
        assert!(ours.len() > 5 && differ.is_empty(), "{count} {colliding_robots} {odd}: {differ:?}");
    }
}
