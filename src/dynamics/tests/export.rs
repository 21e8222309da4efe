//! Robots written in other formats and read back: the same equations of motion.
//!
//! A joint with several coordinates comes back as a chain of joints over links of 1e-12 kg, which change no entry of the mass matrix by
//! more than that share of it.

use std::{collections::HashMap, path::Path, process::Command};

use simpartner_description::{
    World,
    xml::{self, Document, ExportFormat, ImportOptions},
};
use simpartner_dynamics::{Equations, Probe, mass_properties};
use simpartner_model::{Inertia, Mechanism};

/// A world of our own, with the inertia of each body told.
fn world(path: &str) -> World {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    let mut world = match xml::read_any(&path) {
        Ok(Document::World(world) | Document::Robot(world)) => world,
        Ok(_) => panic!("neither a world nor a robot"),
        Err(problems) => panic!("{problems}"),
    };
    for body in world.mechanism.bodies.iter_mut().filter(|body| !body.fixed) {
        let mass = mass_properties(body).expect("the bodies of our robots have mass");
        body.inertia = Some(Inertia { centre_of_mass: mass.centre_of_mass, tensor: mass.tensor });
    }
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
        // What is one body has one centre of mass, and a floating root moves by that of its own.
        let options = ImportOptions { keep_fixed_joints: true, ..ImportOptions::default() };
        let imported = xml::import(&file, &options).unwrap_or_else(|problems| panic!("{problems}"));
        let again = read("imported.xml", &imported.text);
        let [mass, acceleration] = difference(&own.mechanism, &again.mechanism, false);
        assert!(mass < 1e-12 && acceleration < 1e-10, "{path}: mass by {mass:e}, acceleration by {acceleration:e}");
    }
}

/// URDF has no armature and no base pose: the links' own coordinates and masses are what it holds, and the root is turned.
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

/// MuJoCo's own compiler takes what is written, and has the same mass matrix. Skipped where it is not installed.
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
