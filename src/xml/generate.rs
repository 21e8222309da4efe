//! The DTDs for editors and the reference page, both from the schema's table.

use std::fmt::Write;

use super::schema::{
    ASSEMBLIES, Attribute, Content, ELEMENTS, Element, Kind, Occurs, Presence, ROBOT, SEQUENCE, WORLD,
};
use crate::signal::{DeviceKind, Quantity, Seat};

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

/// The elements that a file with this root may hold, in the table's order. A robot's file may be one of assemblies.
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

/// A DTD cannot say "each at most once, in any order", so it takes the children in any number; the reader is stricter.
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

/// `robots/REFERENCE.md`: every element with its content, attributes, units and defaults.
pub fn reference() -> String {
    let mut text = String::from(
        "# World, robot and sequence files\n\n\
         `simpartner schema reference` prints this page from the format's table. All values are in SI units and radians, but for\n         geographic latitude and longitude, which are in degrees;\n\
         the world frame is right-handed with y up. Elements may stand in any order. A file that holds nothing but\n\
         `<object>` elements is a world, one that holds nothing but `<command>` and `<repeat>` elements a sequence of\n\
         version 1.\n",
    );
    for (title, root) in [("World files", WORLD), ("Robot files", ROBOT), ("Sequence files", SEQUENCE)] {
        let _ = write!(text, "\n## {title}\n");
        for element in elements_below(root) {
            // What worlds and robots have in common is described once, with the worlds.
            let shared = root != WORLD && elements_below(WORLD).iter().any(|known| known.id == element.id);
            if !shared {
                write_element(element, &mut text);
                match element.id {
                    "sensor" => write_sensors(&mut text),
                    "actuator" => write_actuators(&mut text),
                    _ => {}
                }
            }
        }
        if root == ROBOT {
            text.push_str(
                "\nThe content of `<body>` and `<joint>` is that of a world file's `<object>` and `<joint>`.\n",
            );
        }
    }
    text
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
    text.push_str("\nThe types:\n");
    for kind in DeviceKind::ALL.into_iter().filter(|kind| !kind.is_actuator()) {
        let described = kind.description();
        let on = if described.seat == Seat::Joint { "On a joint" } else { "On a body" };
        let _ = write!(text, "\n- **{kind}**. {on}. {}\n", described.doc);
        for quantity in described.quantities {
            let _ = writeln!(text, "  - {}: {}", quantity.name, numbers(quantity));
        }
        let (rest, fall) = (described.at_rest, described.in_free_fall);
        let _ = writeln!(text, "  - at rest: {rest}; in free fall: {fall}");
        let own: Vec<String> = described.attributes.iter().map(|name| format!("`{name}`")).collect();
        if !own.is_empty() {
            let _ = writeln!(text, "  - attributes of its own: {}", own.join(", "));
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
        let _ = write!(text, "\n- **{kind}**. {} A frame has {} numbers", described.doc, lengths.join(" or "));
        let short = if lengths.len() > 1 { "; the short one leaves the maximum forces as they are.\n" } else { ".\n" };
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
        (unit, Some(linear)) => format!("{unit}, or {linear} where the joint slides"),
    };
    let bound = |bound: f64| if bound.abs() >= 1e5 { format!("{bound:e}") } else { format!("{bound:.4}") };
    let trimmed = |text: String| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    let (lowest, highest) = (trimmed(bound(quantity.lowest)), trimmed(bound(quantity.highest)));
    format!("{} in {unit}, {lowest} to {highest}", fields.join(", "))
}

fn in_unit(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!(", in {unit}") }
}
