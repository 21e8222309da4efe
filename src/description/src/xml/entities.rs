//! Adding a robot to a world, and removing a robot or an object: the text is changed by an element and read again by
//! the same reader. Its files are not opened again, so everything else is unchanged.

use std::{
    collections::HashSet,
    path::{Component, Path},
};

use quick_xml::escape::escape;
use simpartner_model::Mechanism;
use simpartner_wire::near::did_you_mean;

use super::{
    built_in::BUILT_IN,
    document::{Document, Expected, read_root_in},
    files::{Files, Renewed},
    move_robot::tag_end,
    newcomer::{Newcomer, NewcomerFile, PortOffset},
    schema::{ROBOT, WORLD},
    session::Session,
};
use crate::{
    World,
    parameter::Parameters,
    source::SourceFile,
    text::{
        diagnostic::{Diagnostic, Diagnostics},
        file::read_file,
        tree,
    },
};

/// Step of the port offset for robots whose ports would collide with those of others, as in the built-in worlds.
const OFFSET_STEP: u16 = 100;
/// The name of a robot that is read by itself.
const PROBE_NAME: &str = "alone";
/// The folder, beside the world, of robot texts that clients have sent.
const GIVEN_FOLDER: &str = "given";
const OBJECT_TAG: &str = "object";

/// Adds a robot to the world. `taken` are further ports that it must not have.
///
/// # Errors
/// The problems of the robot or of the resulting world, as the reader reports them.
pub fn add_robot(world: &World, newcomer: &Newcomer<'_>, taken: &[u16]) -> Result<World, Diagnostics> {
    let own = own_text(world)?;
    let text = match newcomer.file {
        NewcomerFile::Named(file) => {
            check_name(&own.path, file)?;
            None
        }
        NewcomerFile::Text(text) => Some(given_file(world, text)),
    };
    let folder = Path::new(&own.path).parent().unwrap_or(Path::new(""));
    let file = match (newcomer.file, &text) {
        (NewcomerFile::Named(file), _) => file.to_owned(),
        (NewcomerFile::Text(_), text) => {
            let path = text.as_ref().map_or(Path::new(""), |text| Path::new(&text.path));
            path.strip_prefix(folder).unwrap_or(path).to_string_lossy().into_owned()
        }
    };
    let renewed = Renewed { kept: &world.sources, new: text.as_ref(), folder: Some(folder) };
    let files = Files::Renewed(&renewed);
    let element = |name: &str, offset: i64| element(newcomer, &file, name, offset);
    let probe = format!("<world name=\"{PROBE_NAME}\">{}</world>", element(PROBE_NAME, 0));
    // The parameters are those of the world, not of the robot alone.
    let alone = read_world_in(&Session::default(), &own.path, &probe, files)?;
    let model = alone.mechanism.robots.first().map_or(PROBE_NAME, |robot| robot.model.as_str());
    let wanted = newcomer.name.unwrap_or(model);
    let name = if newcomer.may_rename { free_name(world, wanted) } else { wanted.to_owned() };
    check_is_free(world, own, &name)?;
    let offset = match newcomer.port_offset {
        PortOffset::By(offset) => offset,
        PortOffset::Free => free_offset(world, &alone, taken).ok_or_else(|| {
            let what = format!("'{name}' finds no {OFFSET_STEP} ports in a row for its devices that are not taken");
            Diagnostics::from(Diagnostic::at(&own.path, "", 0, what).with_help("give it an offset for its ports"))
        })?,
    };
    read_world(&own.path, &inserted(own, &element(&name, offset))?, files)
}

/// Removes the robot or the object of this name from the world.
///
/// # Errors
/// There is none, or another part of the world needs it.
pub fn remove_entity(world: &World, name: &str) -> Result<World, Diagnostics> {
    let own = own_text(world)?;
    let roots = tree::parse::<()>(&own.path, own.text()).map_err(Diagnostics::from)?.roots;
    // A bare series of objects is a world, too.
    let elements = match &roots[..] {
        [root] if root.name == WORLD => &root.children,
        _ => &roots,
    };
    let robot = world.mechanism.robots.iter().position(|robot| robot.name == name);
    let found = match robot {
        Some(robot) => elements.iter().filter(|node| node.name == ROBOT).nth(robot),
        None => elements.iter().find(|node| {
            node.name == OBJECT_TAG && node.attributes.iter().any(|given| given.name == "name" && given.value == name)
        }),
    };
    let Some(node) = found else {
        let robots = world.mechanism.robots.iter().map(|robot| robot.name.as_str());
        let bodies = world.mechanism.bodies.iter().filter(|body| body.robot.is_none()).map(|body| body.name.as_str());
        let what = format!("there is no robot and no object '{name}'{}", did_you_mean(name, robots.chain(bodies)));
        return Err(Diagnostic::at(&own.path, "", 0, what).with_help(names(world)).into());
    };
    let text = [&own.text()[..node.offset], &own.text()[node.end..]].concat();
    let renewed = Renewed { kept: &world.sources, new: None, folder: None };
    let session = Session::with_remaining_parameters(Parameters::of_sources(&world.sources));
    read_world_in(&session, &own.path, &text, Files::Renewed(&renewed))
}

/// Reads the world again with other parameters, which replace those with which it was read.
///
/// # Errors
/// A path leads nowhere, a value is refused, or the world is none with it.
pub fn with_parameters(world: &World, parameters: Parameters) -> Result<World, Diagnostics> {
    let Some(own) = world.sources.first() else {
        return Err(Diagnostic::at("", "", 0, "the world has no text").with_help("read it from a file").into());
    };
    let session = Session::with_parameters(parameters);
    let renewed = Renewed { kept: &world.sources, new: None, folder: None };
    match read_root_in(&session, &own.path, own.text(), Files::Renewed(&renewed), Expected::WorldOrRobot)? {
        Document::World(world) | Document::Robot(world) => Ok(world),
        _ => unreachable!("a world or a robot was asked for"),
    }
}

/// The names of robot files that [`add_robot`] finds for a world of this path: beside it, in `robots` beside its
/// folder, and built in.
pub fn spawnable_robots(world: &str) -> Vec<String> {
    let folder = Path::new(world).parent().unwrap_or(Path::new(""));
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut found = Vec::new();
    for folder in [here.to_owned(), here.join("..").join("robots")] {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            if let Some(name) = path.file_name().and_then(|name| name.to_str()).filter(|_| is_robot_file(&path)) {
                found.push(name.to_owned());
            }
        }
    }
    let built_in = BUILT_IN.iter().filter(|file| file.path.starts_with("robots/") && holds_robot(file.text));
    found.extend(built_in.filter_map(|file| file.path.strip_prefix("robots/")).map(str::to_owned));
    found.sort();
    found.dedup();
    found
}

fn is_robot_file(path: &Path) -> bool {
    /// Longer files are unlikely to be robots, and a folder may have many files.
    const MAX_ROBOT_BYTES: u64 = 4 << 20;
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let is_short = path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MAX_ROBOT_BYTES);
    ["xml", "urdf", "sdf"].contains(&ending)
        && is_short
        && read_file(&path.to_string_lossy(), MAX_ROBOT_BYTES as usize).is_ok_and(|text| holds_robot(&text))
}

/// True if the first element is that of a robot in one of the formats.
fn holds_robot(text: &str) -> bool {
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        rest = &rest[start..];
        let skipped = [("<?", "?>"), ("<!--", "-->"), ("<!", ">")].iter().find(|(begin, _)| rest.starts_with(begin));
        let Some((_, end)) = skipped else {
            return ["<robot", "<mujoco", "<sdf"].iter().any(|tag| rest.starts_with(tag));
        };
        let Some(end_at) = rest.find(end) else { return false };
        rest = &rest[end_at + end.len()..];
    }
    false
}

/// The world's own text, which has to be of our format.
fn own_text(world: &World) -> Result<&SourceFile, Diagnostics> {
    let refuse = |path: &str, what: &str, help: &str| Err(Diagnostic::at(path, "", 0, what).with_help(help).into());
    let Some(own) = world.sources.first() else { return refuse("", "the world has no text", "read it from a file") };
    let roots = tree::parse::<()>(&own.path, own.text()).map_err(Diagnostics::from)?.roots;
    match roots.iter().all(|root| [WORLD, OBJECT_TAG, "soil"].contains(&root.name.as_str())) {
        true => Ok(own),
        false => refuse(
            &own.path,
            "robots come to worlds of our own format only, and this one is of another",
            "make one of it with simpartner import",
        ),
    }
}

/// Refuses names of files that lead somewhere else.
fn check_name(world: &str, file: &str) -> Result<(), Diagnostics> {
    let leads_away = |part: Component<'_>| !matches!(part, Component::Normal(_) | Component::CurDir);
    if file.is_empty() || file.contains('\\') || Path::new(file).components().any(leads_away) {
        let what = format!("'{file}' is not the name of a robot file beside the world, in 'robots' or built in");
        let help = "name it from there, without '..' and without '/' in front; or give its text";
        return Err(Diagnostic::at(world, "", 0, what).with_help(help).into());
    }
    Ok(())
}

/// A text as a file of the world's folder, under a path that no file of the world has.
fn given_file(world: &World, text: &str) -> SourceFile {
    let folder = world.sources.first().and_then(|own| Path::new(&own.path).parent()).unwrap_or(Path::new(""));
    // A file of URDF is known by its ending alone.
    let ending = if is_urdf(text) { "urdf" } else { "xml" };
    let path =
        |number: u32| folder.join(GIVEN_FOLDER).join(format!("{number}.{ending}")).to_string_lossy().into_owned();
    let mut paths = (1..).map(path);
    let is_free = |path: &String| world.sources.iter().all(|file| file.path != *path);
    SourceFile::new(paths.find(is_free).expect("there are more numbers than files"), text)
}

fn is_urdf(text: &str) -> bool {
    let roots = tree::parse::<()>("", text).map(|parsed| parsed.roots).unwrap_or_default();
    roots.iter().any(|root| root.name == ROBOT && root.children.iter().any(|child| child.name == "link"))
}

fn element(newcomer: &Newcomer<'_>, file: &str, name: &str, port_offset: i64) -> String {
    let ([x, y, z], [roll, pitch, yaw]) =
        (newcomer.pose.translation.to_array(), newcomer.pose.roll_pitch_yaw().to_array());
    let fixed = if newcomer.fixed_base { " fixedBase=\"true\"" } else { "" };
    let offset = if port_offset == 0 { String::new() } else { format!(" portOffset=\"{port_offset}\"") };
    format!(
        "<robot file=\"{}\" name=\"{}\"{fixed}{offset}><pose x=\"{x}\" y=\"{y}\" z=\"{z}\" roll=\"{roll}\" pitch=\"{pitch}\" \
         yaw=\"{yaw}\"/></robot>",
        escape(file),
        escape(name)
    )
}

fn read_world(path: &str, text: &str, files: Files<'_>) -> Result<World, Diagnostics> {
    read_world_in(&Session::with_parameters(Parameters::of_sources(files.kept())), path, text, files)
}

fn read_world_in(session: &Session, path: &str, text: &str, files: Files<'_>) -> Result<World, Diagnostics> {
    match read_root_in(session, path, text, files, Expected::World)? {
        Document::World(world) => Ok(world),
        _ => unreachable!("a world was asked for"),
    }
}

/// The text with an element behind all others of the world.
fn inserted(own: &SourceFile, element: &str) -> Result<String, Diagnostics> {
    let text = own.text();
    let roots = tree::parse::<()>(&own.path, text).map_err(Diagnostics::from)?.roots;
    let [root] = &roots[..] else { return bare(own) };
    if root.name != WORLD {
        return bare(own);
    }
    Ok(match tag_end(text, root.offset) {
        Some((tag, true)) => [&text[..tag - 2], ">\n  ", element, "\n</world>", &text[tag..]].concat(),
        _ => {
            let close = text[..root.end].rfind("</").unwrap_or(root.end);
            [&text[..close], "  ", element, "\n", &text[close..]].concat()
        }
    })
}

fn bare<T>(own: &SourceFile) -> Result<T, Diagnostics> {
    let what = "a bare series of objects has no place for a robot";
    Err(Diagnostic::at(&own.path, "", 0, what).with_help("put the objects into a <world>").into())
}

/// The name, or the name with the first number that makes it unique.
fn free_name(world: &World, wanted: &str) -> String {
    let is_free = |name: &String| !has_entity(world, name);
    let numbered = (1_u32..).map(|number| format!("{wanted}_{number}"));
    std::iter::once(wanted.to_owned())
        .chain(numbered)
        .find(is_free)
        .expect("a world has fewer names than there are numbers")
}

fn has_entity(world: &World, name: &str) -> bool {
    let Mechanism { robots, bodies, .. } = &world.mechanism;
    robots.iter().any(|robot| robot.name == name) || bodies.iter().any(|body| body.robot.is_none() && body.name == name)
}

fn check_is_free(world: &World, own: &SourceFile, name: &str) -> Result<(), Diagnostics> {
    match has_entity(world, name) {
        true => {
            let what = format!("there is a robot or an object '{name}' already");
            Err(Diagnostic::at(&own.path, "", 0, what).with_help("give this one another name").into())
        }
        false => Ok(()),
    }
}

/// The first offset with which no port of the robot is in use in the world or taken.
fn free_offset(world: &World, alone: &World, taken: &[u16]) -> Option<i64> {
    let ports = |world: &World| -> Vec<u16> {
        let devices = world.devices.iter().map(|device| device.port.number());
        devices.chain(world.combined_ports.iter().map(|port| port.number())).filter(|port| *port > 0).collect()
    };
    let all: HashSet<u16> = ports(world).into_iter().chain(taken.iter().copied()).collect();
    let own = ports(alone);
    let is_free =
        |offset: &u16| own.iter().all(|port| port.checked_add(*offset).is_some_and(|port| !all.contains(&port)));
    (0..=u16::MAX / OFFSET_STEP).map(|count| count * OFFSET_STEP).find(is_free).map(i64::from)
}

fn names(world: &World) -> String {
    /// More are no help to anybody.
    const MAX_LISTED: usize = 20;
    let Mechanism { robots, bodies, .. } = &world.mechanism;
    let objects = bodies.iter().filter(|body| body.robot.is_none()).map(|body| body.name.as_str());
    let all: Vec<&str> = robots.iter().map(|robot| robot.name.as_str()).chain(objects).take(MAX_LISTED).collect();
    if all.is_empty() { "the world has neither".into() } else { format!("it has {}", all.join(", ")) }
}

#[cfg(test)]
mod tests {
    use simpartner_model::Pose;

    use super::*;
    use crate::xml;

    const WORLD: &str = "<world name=\"w\"><surface/><object name=\"Box\"><mass>1</mass><box x=\"1\" y=\"1\" z=\"1\"/></object>\n\
                         <robot file=\"workpartner1.xml\" name=\"A\"/><!-- </world> --></world>\n<!-- </world> -->";
    const CART: &str = "<robot name=\"cart\"><link name=\"base\"><inertial><mass value=\"2\"/><inertia ixx=\"1\" iyy=\"1\" \
                        izz=\"1\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial></link></robot>";

    fn world() -> World {
        let Ok(Document::World(world)) = xml::read_text("worlds/w.xml", WORLD) else { panic!("the world is right") };
        world
    }

    fn newcomer(file: NewcomerFile<'_>) -> Newcomer<'_> {
        let (pose, port_offset) = (Pose::IDENTITY, PortOffset::Free);
        Newcomer { name: None, may_rename: false, file, pose, fixed_base: false, port_offset }
    }

    fn robots(world: &World) -> Vec<&str> {
        world.mechanism.robots.iter().map(|robot| robot.name.as_str()).collect()
    }

    #[test]
    fn robots_come_and_go_and_all_else_stays() {
        let before = world();
        let pose = Pose::from_xyz_rpy(bevy_math::DVec3::new(5.0, 1.0, -2.0), bevy_math::DVec3::new(0.1, 0.2, 0.3));
        let second = Newcomer { name: Some("B&C"), pose, ..newcomer(NewcomerFile::Named("workpartner1.xml")) };
        let grown = add_robot(&before, &second, &[1126]).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(robots(&grown), ["A", "B&C"]);
        let [first, other] = [0, 1].map(|robot| {
            let bodies = grown.mechanism.bodies.iter();
            bodies.filter(|body| body.robot.is_some_and(|of| of.index() == robot)).collect::<Vec<_>>()
        });
        for (first, other) in first.iter().zip(&other) {
            assert!(other.pose.translation.distance(pose.then(&first.pose).translation) < 1e-12, "{}", first.name);
        }
        // 1026 with an offset of 100 is one of those taken.
        assert_eq!(grown.devices[0].port.number() + 200, grown.devices[grown.devices.len() / 2].port.number());
        let read = xml::read_kept(&grown.sources).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!((robots(&read), read.devices.len()), (robots(&grown), grown.devices.len()));
        let less = remove_entity(&grown, "B&C").unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(less.mechanism.bodies.len(), before.mechanism.bodies.len());
        let empty = remove_entity(&remove_entity(&less, "Box").unwrap_or_default(), "A").unwrap_or_default();
        assert!(empty.mechanism.bodies.is_empty() && empty.mechanism.grounds.len() == 1);
    }

    #[test]
    fn a_text_is_a_robot_and_names_files_of_the_worlds_folder_only() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let secret = folder.path().join("secret.obj");
        std::fs::write(&secret, "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n").unwrap();
        let grown = add_robot(&world(), &newcomer(NewcomerFile::Text(CART)), &[])
            .unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(robots(&grown), ["A", "cart"]);
        let again = add_robot(&grown, &newcomer(NewcomerFile::Text(CART)), &[]);
        assert!(again.is_err_and(|problems| problems.to_string().contains("'cart' already")));
        let renamed = Newcomer { may_rename: true, ..newcomer(NewcomerFile::Text(CART)) };
        assert_eq!(robots(&add_robot(&grown, &renamed, &[]).unwrap_or_default()), ["A", "cart", "cart_1"]);
        for path in
            [secret.to_string_lossy().into_owned(), "../../Cargo.toml".into(), format!("file://{}", secret.display())]
        {
            let visual = format!("<visual><geometry><mesh filename=\"{path}\"/></geometry></visual></link>");
            let text = CART.replace("</link>", &visual);
            let grown = add_robot(&world(), &newcomer(NewcomerFile::Text(&text)), &[])
                .unwrap_or_else(|problems| panic!("{problems}"));
            let told = grown.warnings.iter().any(|warning| warning.what.contains("may not be read"));
            assert!(
                told && grown.sources.iter().all(|file| !file.path.contains("secret")),
                "{path}: {:?}",
                grown.warnings
            );
        }
    }

    /// Files beside the world, through links and through buffers of a mesh: files elsewhere are not read, even if
    /// named.
    #[cfg(unix)]
    #[test]
    fn a_named_robot_reads_files_of_the_worlds_folder_only() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("worlds")).unwrap();
        std::fs::write(at("worlds/w.xml"), WORLD).unwrap();
        std::fs::write(at("secret.bin"), "a secret of 24 bytes ...").unwrap();
        std::fs::write(at("secret.urdf"), CART).unwrap();
        std::os::unix::fs::symlink(at("secret.urdf"), at("worlds/link.urdf")).unwrap();
        std::os::unix::fs::symlink(at("secret.bin"), at("worlds/linked.bin")).unwrap();
        for buffer in ["../secret.bin", "linked.bin", "../../../../../../../../etc/passwd"] {
            let gltf = format!(
                "{{\"asset\":{{\"version\":\"2.0\"}},\"buffers\":[{{\"uri\":\"{buffer}\",\"byteLength\":24}}],\"nodes\":[]}}"
            );
            std::fs::write(at("worlds/m.gltf"), gltf).unwrap();
            let visual = "<visual><geometry><mesh filename=\"m.gltf\"/></geometry></visual></link>";
            std::fs::write(at("worlds/r.urdf"), CART.replace("</link>", visual)).unwrap();
            let path = at("worlds/w.xml").to_string_lossy().into_owned();
            let Ok(Document::World(world)) = xml::read_text(&path, WORLD) else { panic!("the world is right") };
            let grown = add_robot(&world, &newcomer(NewcomerFile::Named("r.urdf")), &[])
                .unwrap_or_else(|problems| panic!("{problems}"));
            let told = grown.warnings.iter().any(|warning| warning.what.contains("of buffer 0 cannot be had"));
            assert!(told, "{buffer}: {:?}", grown.warnings);
            let linked = add_robot(&world, &newcomer(NewcomerFile::Named("link.urdf")), &[]);
            let problems = linked.err().unwrap_or_default().to_string();
            assert!(problems.contains("there is no robot file 'link.urdf'"), "{problems}");
        }
    }

    #[test]
    fn what_cannot_come_or_go_is_told() {
        let told =
            |result: Result<World, Diagnostics>| result.err().map(|problems| problems.to_string()).unwrap_or_default();
        let add = |file: &str| told(add_robot(&world(), &newcomer(NewcomerFile::Named(file)), &[]));
        for file in ["/etc/passwd", "../robots/rover.xml", "", "a/../../b.xml", "..\\b.xml"] {
            assert!(add(file).contains("is not the name of a robot file"), "{file}: {}", add(file));
        }
        assert!(add("none.urdf").contains("there is no robot file 'none.urdf'"), "{}", add("none.urdf"));
        assert!(add("circle.xml").contains("expected a single <robot>"), "{}", add("circle.xml"));
        let text = |text: &str| told(add_robot(&world(), &newcomer(NewcomerFile::Text(text)), &[]));
        assert!(text("<robot").contains("not well-formed"), "{}", text("<robot"));
        let twin = Newcomer { port_offset: PortOffset::By(0), ..newcomer(NewcomerFile::Named("workpartner1.xml")) };
        assert!(told(add_robot(&world(), &twin, &[])).contains("already"));
        let gone = told(remove_entity(&world(), "C"));
        assert!(gone.contains("no robot and no object 'C'") && gone.contains("it has A, Box"), "{gone}");
    }

    #[test]
    fn spawnable_robots_are_robots() {
        let names = spawnable_robots("nowhere/w.xml");
        assert!(
            names.iter().any(|name| name == "rover.xml") && names.iter().all(|name| name != "circle.xml"),
            "{names:?}"
        );
        for file in &names {
            let grown = add_robot(&world(), &Newcomer { name: Some("N"), ..newcomer(NewcomerFile::Named(file)) }, &[]);
            assert!(grown.is_ok(), "{file}: {}", grown.err().unwrap_or_default());
        }
    }
}
