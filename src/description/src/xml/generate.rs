//! The DTDs for editors and the reference page, both from the schema's table.

use std::{collections::HashMap, fmt::Write};

use simpartner_wire::signal::{DeviceKind, MountedOn, Quantity};

use super::schema::{
    ASSEMBLIES, Attribute, Content, ELEMENTS, EXAMPLES, Element, GRASP, GRASP_TASK, Kind, Occurs, Presence, ROBOT,
    SEQUENCE, WORLD, bound,
};
use crate::limits::STATED_LIMITS;

/// `worlds/world.dtd`
pub fn world_dtd() -> String {
    dtd(WORLD)
}

/// `robots/robot.dtd`
pub fn robot_dtd() -> String {
    dtd(ROBOT)
}

/// `robots/sequence.dtd`
pub fn sequence_dtd() -> String {
    dtd(SEQUENCE)
}

/// `worlds/grasps/grasp.dtd`
pub fn grasp_dtd() -> String {
    dtd(GRASP)
}

/// `worlds/grasps/tasks/graspTask.dtd`
pub fn grasp_task_dtd() -> String {
    dtd(GRASP_TASK)
}

/// The elements of a file with this root, in the table's order. A robot file may contain assemblies only.
fn elements_below(root: &str) -> Vec<&'static Element> {
    let mut found = vec![Element::by_id(root)];
    found.extend((root == ROBOT).then(|| Element::by_id(ASSEMBLIES)));
    let mut next = 0;
    while let Some(element) = found.get(next) {
        for child in element.children() {
            let child = Element::by_id(child.id);
            if !found.iter().any(|known| known.id == child.id) {
                found.push(child);
            }
        }
        next += 1;
    }
    ELEMENTS.iter().filter(|element| found.iter().any(|known| known.id == element.id)).collect()
}

/// A DTD cannot express "each at most once, in any order", so it permits any number of children; the reader is
/// stricter.
fn dtd(root: &str) -> String {
    let mut text = format!(
        "<!-- Elements of a {root} file, for editors. `simpartner schema {root}` prints it from the format's table; the\n     \
         reader of simpartner checks more than a DTD can say. -->\n"
    );
    for element in elements_below(root) {
        let content = match element.content {
            Content::Empty => "EMPTY".to_owned(),
            Content::Value(..) | Content::Numbers(_) => "(#PCDATA)".to_owned(),
            Content::Children(children) => {
                let tags: Vec<&str> = children.iter().map(|child| Element::by_id(child.id).tag).collect();
                format!("({})*", tags.join(" | "))
            }
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "\n<!-- {} -->\n<!ELEMENT {} {content}>\n", element.doc, element.tag);
        if !element.attributes.is_empty() {
            let _ = writeln!(text, "<!ATTLIST {}", element.tag);
            for attribute in element.attributes {
                let _ = writeln!(text, "  {} {} {}", attribute.name, dtd_type(attribute), dtd_presence(attribute));
            }
            text.truncate(text.trim_end().len());
            text.push_str(">\n");
        }
    }
    text
}

fn dtd_type(attribute: &Attribute) -> String {
    match attribute.kind {
        Kind::Word(words) => format!("({})", words.join(" | ")),
        _ => "CDATA".to_owned(),
    }
}

fn dtd_presence(attribute: &Attribute) -> String {
    match attribute.presence {
        Presence::Required => "#REQUIRED".to_owned(),
        Presence::Optional => "#IMPLIED".to_owned(),
        Presence::Default(value) => format!("\"{value}\""),
    }
}

/// The parts of the reference page and the roots of their files.
const PAGE_PARTS: [(&str, &str); 5] = [
    ("World files", WORLD),
    ("Robot files", ROBOT),
    ("Sequence files", SEQUENCE),
    ("Grasp files", GRASP),
    ("Grasp task files", GRASP_TASK),
];

/// The book's page `reference/format.md`: every element with its content, attributes, units, defaults and an example.
pub fn reference() -> String {
    let mut text = String::from(
        "# World, robot, sequence and grasp files\n\n\
         `simpartner schema reference` prints this page from the table that the reader of these files uses.\n\n\
         Values are in SI units and radians; geographic latitude and longitude are in degrees. The world frame is right-handed\n\
         with y up. The order of elements does not matter.\n\n\
         A file of `<object>` elements alone is a world. A file of `<command>` and `<repeat>` elements alone is a sequence of\n\
         version 1.\n\n\
         `simpartner check FILE` reads a file, reports every error with its line, and warns of probable mistakes.\n\
         [A first robot](../tutorials/first-robot.md) builds a robot step by step.\n",
    );
    write_contents(&mut text);
    text.push_str(FRAMES_SECTION);
    for (title, root) in PAGE_PARTS {
        let _ = write!(text, "\n## {title}\n");
        for element in described(root) {
            write_element(element, &mut text);
            match element.id {
                "sensor" => write_sensors(&mut text),
                "actuator" => write_actuators(&mut text),
                _ => {}
            }
        }
        if root == ROBOT {
            text.push_str(
                "\nThe content of `<body>` and `<joint>` is that of a world file's `<object>` and `<joint>`.\n",
            );
        }
    }
    write_limits(&mut text);
    text
}

/// The elements that a part of the page describes; elements of worlds and robots are described once, with worlds.
fn described(root: &str) -> impl Iterator<Item = &'static Element> {
    let shared = if root == WORLD { Vec::new() } else { elements_below(WORLD) };
    elements_below(root).into_iter().filter(move |element| !shared.iter().any(|known| known.id == element.id))
}

const FRAMES_SECTION: &str = "
## Frames

All frames are right-handed. In the world y points up: for a viewer who looks along +x, +z is to the right. Without a
`<geographicOrigin>` x points north and z east.

| quantity | frame | meaning |
|---|---|---|
| `<pose>` of an `<object>`, of a `<robot>` in a world | the world's frame | pose of the body's or robot's own frame |
| `<pose>` of a `<body>` | the robot's frame; in an `<assembly>` the assembly's | pose of the body's own frame |
| `<pose>` of a shape | the body's frame | pose of the shape's centre; the axis of a round shape is `axis` |
| `<inertia>` | the body's frame | position x, y, z of the centre of mass, and the tensor about it, body axes |
| `<anchor>`, `<axis>`, `<axis1>`, `<axis3>` of a `<joint>` | the frame of its file: the world's, the robot's or the assembly's, *not* \
that of parent or child | a point, and directions, where the file places the bodies: all joint coordinates are zero |
| `<pose>` of a `<sensor>` | the frame of the body that carries it | pose of the sensor's own frame; without it, that of the body |
| velocities of an `<object>` or `<body>` | the frame in which its pose is given | velocity of the centre of mass, and angular velocity |

A `<pose>` turns by `roll` about x first, then by `pitch` about y, then by `yaw` about z. All three axes are fixed. Because y
points up, `pitch` sets the heading: a robot with `pitch=\"1.5708\"` faces -z. In a pose, `x` and `z` are
horizontal, and `y` is the height.

A scanner, a distance sensor and a compass look along **their z axis**. On a robot that drives along x, `pitch=\"1.5708\"` turns them
forwards, because it takes z to x.

A positive joint angle turns the child about the joint's axis by the right-hand rule. A wheel on an axis along z rolls towards -x at
a positive rate, and towards +x at a negative rate.
";

/// Links to every part and element. Anchors follow GitHub: the heading in lower case without punctuation, and a number
/// for repeated headings.
fn write_contents(text: &mut String) {
    text.push_str("\n## Contents\n\n- [Frames](#frames)\n");
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (title, root) in PAGE_PARTS {
        let anchor = title.to_lowercase().replace(' ', "-");
        let links = described(root).map(|element| {
            let anchor = element.tag.to_lowercase();
            let count = seen.entry(anchor.clone()).or_default();
            *count += 1;
            let behind = if *count > 1 { format!("-{}", *count - 1) } else { String::new() };
            format!("[{}](#{anchor}{behind})", element.tag)
        });
        let links: Vec<String> = links.collect();
        let _ = writeln!(text, "- [{title}](#{anchor}): {}", links.join(", "));
    }
    text.push_str("- [Limits](#limits)\n");
}

fn write_limits(text: &mut String) {
    text.push_str(
        "\n## Limits\n\nA file beyond a limit is refused, with the place of the error. Only regular files are read: no folders, devices or\n\
         pipes. A file may contain no control characters except line breaks and tabs.\n\n\
         | quantity | at most | unit |\n|---|---|---|\n",
    );
    for (of, most, unit) in STATED_LIMITS {
        let _ = writeln!(text, "| {of} | {most} | {unit} |");
    }
}

fn write_element(element: &Element, text: &mut String) {
    let _ = write!(text, "\n### `<{}>`\n\n{}\n", element.tag, element.doc);
    match element.content {
        Content::Empty => {}
        Content::Value(kind, unit) => {
            let _ = write!(text, "\nHolds {}{}.\n", kind.expectation(), in_unit(unit));
        }
        Content::Numbers(unit) => {
            let _ = write!(text, "\nHolds finite numbers with blanks or commas between them{}.\n", in_unit(unit));
        }
        Content::Children(children) => {
            let listed = children.iter().map(|child| {
                let tag = Element::by_id(child.id).tag;
                match child.occurs {
                    Occurs::Once => format!("`<{tag}>`"),
                    Occurs::AtMostOnce => format!("`<{tag}>`?"),
                    Occurs::AnyTimes => format!("`<{tag}>`*"),
                }
            });
            let _ = write!(text, "\nHolds {}.\n", listed.collect::<Vec<_>>().join(", "));
        }
    }
    if let Some((_, example)) = EXAMPLES.iter().find(|(id, _)| *id == element.id) {
        let _ = write!(text, "\n```xml\n{example}\n```\n");
    }
    if !element.attributes.is_empty() {
        text.push_str("\n| attribute | value | unit | default | meaning |\n|---|---|---|---|---|\n");
        for attribute in element.attributes {
            let default = match attribute.presence {
                Presence::Required => "required",
                Presence::Optional => "",
                Presence::Default(value) => value,
            };
            let kind = attribute.kind.expectation();
            let _ =
                writeln!(text, "| {} | {kind} | {} | {default} | {} |", attribute.name, attribute.unit, attribute.doc);
        }
    }
}

/// The types of sensor, from the table of device kinds.
fn write_sensors(text: &mut String) {
    text.push_str("\nThe types, with the quantities of a reading:\n");
    for kind in DeviceKind::ALL.into_iter().filter(|kind| !kind.is_actuator()) {
        let described = kind.description();
        let on = if described.mounted_on == MountedOn::Joint { "On a joint" } else { "On a body" };
        let _ = write!(text, "\n- **{kind}**. {on}. {}\n", described.doc);
        for quantity in described.quantities {
            let _ = writeln!(text, "  - {}: {}", quantity.name, numbers(quantity));
        }
        let (rest, fall) = (described.at_rest, described.in_free_fall);
        let _ = writeln!(text, "  - reading at rest: {rest}; in free fall: {fall}");
        let own: Vec<String> = described.attributes.iter().map(|name| format!("`{name}`")).collect();
        if !own.is_empty() {
            let _ = writeln!(text, "  - attributes for this type: {}", own.join(", "));
        }
        if !described.frames.is_empty() {
            let _ = writeln!(text, "  - `frame`: {}", described.frames.join(", "));
        }
    }
}

/// The types of actuator.
fn write_actuators(text: &mut String) {
    text.push_str("\nThe types, with the numbers of their commands:\n");
    for kind in DeviceKind::ALL.into_iter().filter(|kind| kind.is_actuator()) {
        let described = kind.description();
        let lengths: Vec<String> = described.command_lengths.iter().map(usize::to_string).collect();
        let _ = write!(text, "\n- **{kind}**. {} A command has {} numbers", described.doc, lengths.join(" or "));
        let short = if lengths.len() > 1 { "; the shorter form keeps the maximum forces.\n" } else { ".\n" };
        text.push_str(short);
        for quantity in described.quantities {
            let _ = writeln!(text, "  - {}", numbers(quantity));
        }
    }
}

/// Fields, unit and range of a quantity.
fn numbers(quantity: &Quantity) -> String {
    let fields: Vec<String> = quantity.fields.iter().map(|field| format!("`{field}`")).collect();
    let unit = match (quantity.unit, quantity.linear_unit) {
        ("1", _) => "plain numbers".to_owned(),
        (unit, None) => unit.to_owned(),
        (unit, Some(linear)) => format!("{unit}, or {linear} for a sliding coordinate"),
    };
    let (lowest, highest) = (bound(quantity.lowest), bound(quantity.highest));
    format!("{} in {unit}, {lowest} to {highest}", fields.join(", "))
}

fn in_unit(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!(", in {unit}") }
}
