//! The arm, its hand and the block as XML, in our axes: y up, the arm stretched along x, its hand towards -z.
//!
//! The masses are those of the benchmark (github.com/PositronicsLab/grasp-data, folder `arm/models`, commit 577f7be),
//! which took them from an early description of the UR10 by ROS-Industrial. `robots/ur10.xml` is the same arm with the
//! data that its maker publishes today.

use std::fmt::Write;

use bevy_math::DVec3;

use super::case::{Arm, Inertias, Start};

/// A link of the arm.
pub(super) struct Link {
    pub(super) name: &'static str,
    /// Mass, kg.
    pub(super) mass: f64,
    /// Centre of mass, arm's frame, m.
    pub(super) at: DVec3,
    /// Moments of inertia about the centre of mass, along the arm's axes, kg m².
    moments: DVec3,
}

/// A joint of the arm.
pub(super) struct Hinge {
    pub(super) name: &'static str,
    /// Link that the joint carries.
    pub(super) child: &'static str,
    /// A point of the axis, arm's frame, m.
    pub(super) at: DVec3,
    /// Direction of the axis, arm's frame.
    pub(super) axis: DVec3,
    /// Largest torque, N m.
    pub(super) max_effort: f64,
}

const fn link(name: &'static str, mass: f64, at: [f64; 3], moments: [f64; 3]) -> Link {
    Link { name, mass, at: DVec3::from_array(at), moments: DVec3::from_array(moments) }
}

const fn hinge(name: &'static str, child: &'static str, at: [f64; 3], axis: DVec3, max_effort: f64) -> Hinge {
    Hinge { name, child, at: DVec3::from_array(at), axis, max_effort }
}

/// The links from the shoulder to the fingers.
pub(super) const LINKS: [Link; 9] = [
    link("Shoulder", 7.778, [0.0, 0.1273, 0.0], [0.0314743, 0.0218756, 0.0314743]),
    link("UpperArm", 12.93, [0.306, 0.1273, -0.220941], [0.0363656, 0.421754, 0.421754]),
    link("Forearm", 3.87, [0.89815, 0.1273, -0.049041], [0.0108844, 0.11107, 0.11107]),
    link("Wrist1", 1.96, [1.1843, 0.1273, -0.049041], [0.00510825, 0.0055125, 0.00510825]),
    link("Wrist2", 1.96, [1.1843, 0.1273, -0.163941], [0.00510825, 0.0055125, 0.00510825]),
    link("Wrist3", 0.202, [1.1843, 0.0116, -0.163941], [0.000526462, 0.000568125, 0.000526462]),
    link("Hand", 0.96, [1.1843, 0.0116, -0.291], [0.00053312, 0.000904, 0.00065312]),
    link("FingerLeft", 0.12, [1.1638, 0.0116, -0.3358], [9.5236e-6, 5.2036e-6, 7.2e-6]),
    link("FingerRight", 0.12, [1.2048, 0.0116, -0.3358], [9.5236e-6, 5.2036e-6, 7.2e-6]),
];

/// The joints from the base to the hand.
pub(super) const HINGES: [Hinge; 6] = [
    hinge("ShoulderPan", "Shoulder", [0.0, 0.1273, 0.0], DVec3::Y, 330.0),
    hinge("ShoulderLift", "UpperArm", [0.0, 0.1273, -0.220941], DVec3::NEG_Z, 330.0),
    hinge("Elbow", "Forearm", [0.612, 0.1273, -0.049041], DVec3::NEG_Z, 150.0),
    hinge("Wrist1Joint", "Wrist1", [1.1843, 0.1273, -0.049041], DVec3::NEG_Z, 54.0),
    hinge("Wrist2Joint", "Wrist2", [1.1843, 0.1273, -0.163941], DVec3::NEG_Y, 54.0),
    hinge("Wrist3Joint", "Wrist3", [1.1843, 0.0116, -0.163941], DVec3::NEG_Z, 54.0),
];

/// The sliders of the fingers: name, finger, and the sign of the direction along x in which it closes.
pub(super) const SLIDERS: [(&str, &str, f64); 2] =
    [("FingerLeftSlide", "FingerLeft", 1.0), ("FingerRightSlide", "FingerRight", -1.0)];

/// Height of the arm's base, m.
pub(super) const BASE_HEIGHT: f64 = 1.0;
/// Mass of the block, kg.
pub(super) const BLOCK_MASS: f64 = 0.12;
/// Edge of the block, m.
pub(super) const BLOCK_EDGE: f64 = 0.028;
/// Position of the block, arm's frame, m.
pub(super) const BLOCK_AT: DVec3 = DVec3::new(1.1843, 0.0116, -0.342);
/// Published distance of each finger from the block at the start, m.
pub(super) const FINGER_GAP: f64 = 0.0005;
/// Stroke of each finger, m.
const FINGER_STROKE: f64 = 0.014;
/// Size of a finger's pad, m.
const PAD_SIZE: DVec3 = DVec3::new(0.012, 0.024, 0.0194);
/// Size of the hand, m.
const HAND_SIZE: DVec3 = DVec3::new(0.08, 0.042, 0.07);
/// Size of each of the hand's two tabs, m.
const TAB_SIZE: DVec3 = DVec3::new(0.006, 0.012, 0.012);
/// Positions of the tabs relative to the hand's centre of mass, m.
const TAB_POSITIONS: [DVec3; 2] = [DVec3::new(-0.043, 0.009, -0.001), DVec3::new(-0.043, -0.009, -0.001)];
/// Number of cells along an edge of a polygonal hand's faces. With several cells, contacts lie inside of triangles and
/// on edges between coplanar triangles.
const MESH_CELLS: u32 = 4;

/// The XML text of a case's world.
pub(super) fn world_text(arm: &Arm) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_world(arm, &mut out);
    out
}

fn write_world(arm: &Arm, out: &mut String) -> std::fmt::Result {
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE world SYSTEM \"../world.dtd\">")?;
    writeln!(
        out,
        "<!--\n  The benchmark's UR10 with a Schunk-like hand that holds a block. `simpartner benchmark grasp arm` swings it, presses its fingers\n  \
         with 100 N each, and says how far the block moves in them. Masses, sizes and places are the benchmark's (PositronicsLab/grasp-data).\n-->"
    )?;
    writeln!(out, "<world name=\"{}\">", arm.name())?;
    writeln!(
        out,
        "  <robot name=\"UR10\">\n    <pose y=\"{BASE_HEIGHT}\"/>\n    <body name=\"Base\"><static>true</static></body>"
    )?;
    for (index, own) in LINKS.iter().enumerate() {
        write_link(arm, index, own, out)?;
    }
    let mut parent = "Base";
    for (hinge, swing) in HINGES.iter().zip(super::case::SWINGS) {
        let Hinge { name, child, at, axis, max_effort } = hinge;
        writeln!(
            out,
            "    <joint type=\"hinge\" name=\"{name}\"><parent>{parent}</parent><child>{child}</child>{}{}\
             <free lower=\"-6.28319\" upper=\"6.28319\" maxEffort=\"{max_effort}\" initialRate=\"{}\"/></joint>",
            xml_vector("anchor", *at),
            xml_vector("axis", *axis),
            swing.rate
        )?;
        parent = child;
    }
    writeln!(out, "    <joint type=\"fixed\" name=\"Mount\"><parent>{parent}</parent><child>Hand</child></joint>")?;
    let closed = if arm.start == Start::Held { FINGER_GAP } else { 0.0 };
    for (name, child, closes) in SLIDERS {
        let (lower, upper) = if closes > 0.0 { (0.0, FINGER_STROKE) } else { (-FINGER_STROKE, 0.0) };
        writeln!(
            out,
            "    <joint type=\"slider\" name=\"{name}\"><parent>Hand</parent><child>{child}</child><axis x=\"1\"/>\
             <free lower=\"{lower}\" upper=\"{upper}\" initialPosition=\"{}\"/></joint>",
            closes * closed
        )?;
    }
    write_actuators(out)?;
    writeln!(out, "  </robot>")?;
    write_block(arm, out)?;
    writeln!(out, "</world>")
}

fn write_actuators(out: &mut String) -> std::fmt::Result {
    for (hinge, port) in HINGES.iter().zip(1201..) {
        let name = hinge.name;
        writeln!(
            out,
            "    <actuator type=\"EffortController\" name=\"{name}Motor\" joint=\"{name}\" port=\"{port}\"/>"
        )?;
        writeln!(
            out,
            "    <sensor type=\"JointEncoder\" name=\"{name}Encoder\" joint=\"{name}\" port=\"{}\"/>",
            port + 10
        )?;
    }
    for ((name, _, _), port) in SLIDERS.iter().zip(1207..) {
        writeln!(
            out,
            "    <actuator type=\"EffortController\" name=\"{name}Motor\" joint=\"{name}\" port=\"{port}\"/>"
        )?;
    }
    Ok(())
}

/// An XML element with attributes x, y and z; zeros are left out.
fn xml_vector(word: &str, value: DVec3) -> String {
    let parts = ["x", "y", "z"].into_iter().zip(value.to_array()).filter(|(_, part)| *part != 0.0);
    format!("<{word}{}/>", parts.map(|(name, part)| format!(" {name}=\"{part}\"")).collect::<String>())
}

/// Mass, kg, and moments of inertia, kg m², of a link: as published, or a power of the variant's number for both.
fn link_inertia(arm: &Arm, index: usize) -> (f64, DVec3) {
    match arm.inertias {
        Inertias::Published => (LINKS[index].mass, LINKS[index].moments),
        Inertias::Powers(base) => {
            // The base counts as link 0, the first link as 1, and both fingers as 8.
            let power = libm::pow(f64::from(base), -(index.min(7) as f64 + 1.0));
            (power, DVec3::splat(power))
        }
    }
}

fn write_link(arm: &Arm, index: usize, own: &Link, out: &mut String) -> std::fmt::Result {
    let (mass, moments) = link_inertia(arm, index);
    let friction = arm.friction;
    write!(
        out,
        "    <body name=\"{}\"><mass>{mass}</mass>{}<inertia ixx=\"{}\" iyy=\"{}\" izz=\"{}\"/><material friction=\"{friction}\"/>",
        own.name,
        xml_vector("pose", own.at),
        moments.x,
        moments.y,
        moments.z
    )?;
    let shape =
        |size: DVec3, at: DVec3| box_or_mesh(size, at, if arm.polygonal_hand { Some(MESH_CELLS) } else { None });
    match own.name {
        "Hand" => {
            let tabs = TAB_POSITIONS.map(|at| shape(TAB_SIZE, at)).concat();
            write!(out, "<compound>{}{tabs}</compound>", shape(HAND_SIZE, DVec3::ZERO))?;
        }
        name if name.starts_with("Finger") => write!(out, "{}", shape(PAD_SIZE, DVec3::ZERO))?,
        // The arm itself touches nothing in the published runs, so it has a visual shape only.
        name => write!(out, "{}", link_visual(name))?,
    }
    writeln!(out, "</body>")
}

/// Visual shape of a link of the arm.
fn link_visual(name: &str) -> String {
    let (axis, length, radius, [x, y, z]) = match name {
        "Shoulder" => ("z", 0.12, 0.075, [0.0, 0.0, -0.08]),
        "UpperArm" => ("x", 0.612, 0.06, [0.0; 3]),
        "Forearm" => ("x", 0.5723, 0.05, [0.0; 3]),
        "Wrist1" => ("z", 0.06, 0.045, [0.0, 0.0, -0.04]),
        "Wrist2" => ("y", 0.06, 0.045, [0.0, -0.03, 0.0]),
        _ => ("z", 0.06, 0.03, [0.0, 0.0, -0.05]),
    };
    let place = xml_vector("pose", DVec3::new(x, y, z));
    format!("<visual><capsule radius=\"{radius}\" length=\"{length}\" axis=\"{axis}\">{place}</capsule></visual>")
}

/// A box, as a box element or, with `cells`, as a triangle mesh with this number of cells along each edge.
fn box_or_mesh(size: DVec3, at: DVec3, cells: Option<u32>) -> String {
    let place = if at == DVec3::ZERO { String::new() } else { xml_vector("pose", at) };
    let Some(cells) = cells else {
        return format!("<box x=\"{}\" y=\"{}\" z=\"{}\">{place}</box>", size.x, size.y, size.z);
    };
    let (mut points, mut triangles) = (Vec::<[u32; 3]>::new(), Vec::<[usize; 3]>::new());
    let mut number = |point: [u32; 3]| {
        points.iter().position(|known| *known == point).unwrap_or_else(|| {
            points.push(point);
            points.len() - 1
        })
    };
    for normal in 0..3 {
        let (u, v) = ((normal + 1) % 3, (normal + 2) % 3);
        for side in [0, cells] {
            for (i, j) in (0..cells).flat_map(|i| (0..cells).map(move |j| (i, j))) {
                let corner = |di: u32, dj: u32| {
                    let mut point = [0; 3];
                    (point[normal], point[u], point[v]) = (side, i + di, j + dj);
                    point
                };
                let [a, b, c, d] = [corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)].map(&mut number);
                let cell = [[a, b, c], [a, c, d]];
                triangles.extend(cell.map(|[p, q, r]| if side == 0 { [p, r, q] } else { [p, q, r] }));
            }
        }
    }
    let mut text = format!("<triangleMesh>{place}<vertices>");
    for point in &points {
        let part = |k: usize| size[k] * (f64::from(point[k]) / f64::from(cells) - 0.5);
        text += &format!("{} {} {}  ", part(0), part(1), part(2));
    }
    text += "</vertices><triangles>";
    triangles.iter().for_each(|[a, b, c]| text += &format!("{a} {b} {c}  "));
    text + "</triangles></triangleMesh>"
}

fn write_block(arm: &Arm, out: &mut String) -> std::fmt::Result {
    let (velocity, spin) = if arm.start == Start::Held { carried_velocity() } else { (DVec3::ZERO, DVec3::ZERO) };
    let moment = BLOCK_MASS * BLOCK_EDGE * BLOCK_EDGE / 6.0;
    writeln!(
        out,
        "  <object name=\"Block\"><mass>{BLOCK_MASS}</mass>{}{}\
         <translationalVelocity><vx>{}</vx><vy>{}</vy><vz>{}</vz></translationalVelocity>\
         <rotationalVelocity><omegax>{}</omegax><omegay>{}</omegay><omegaz>{}</omegaz></rotationalVelocity>\
         <inertia ixx=\"{moment}\" iyy=\"{moment}\" izz=\"{moment}\"/><material friction=\"{}\"/></object>",
        xml_vector("pose", BLOCK_AT + DVec3::Y * BASE_HEIGHT),
        box_or_mesh(DVec3::splat(BLOCK_EDGE), DVec3::ZERO, arm.polygonal_block.then_some(1)),
        velocity.x,
        velocity.y,
        velocity.z,
        spin.x,
        spin.y,
        spin.z,
        arm.friction
    )
}

/// Velocity, m/s, and angular velocity, rad/s, of the block at the start if the hand carries it.
fn carried_velocity() -> (DVec3, DVec3) {
    HINGES.iter().zip(super::case::SWINGS).fold((DVec3::ZERO, DVec3::ZERO), |(velocity, spin), (hinge, swing)| {
        let turn = hinge.axis * swing.rate;
        (velocity + turn.cross(BLOCK_AT - hinge.at), spin + turn)
    })
}
