//! Files of any kind as documents: the root element decides which reader takes it apart.

use std::path::Path;

use simpartner_model::{Grasp, Mechanism, Pose, Soil};
use simpartner_wire::signal::Port;

use super::{
    assembly,
    built_in::{self, locate},
    files::Files,
    grasp, grasp_task,
    import::{self, Format, ImportOptions, Wanted},
    node::Node,
    reading::{Placeholders, Reading},
    robot::{self, Occupancy, Placement, RobotDraft},
    schema::{ASSEMBLIES, Element, GRASP, GRASP_TASK, GRAVITY, ROBOT, SEQUENCE, WORLD},
    sequence,
    session::Session,
    soil::{self, Soils},
    world,
};
use crate::{
    GraspTaskFile, World,
    limits::MAX_FILE,
    parameter::Parameters,
    sequence::Sequence,
    source::SourceFile,
    text::{
        diagnostic::{Diagnostic, Diagnostics},
        tree::Attribute,
    },
};

/// Content of a file.
#[derive(Debug, Clone)]
pub enum Document {
    /// A world with its robots.
    World(World),
    /// A robot, alone at the origin of an empty world.
    Robot(World),
    /// The names of assemblies for robots to include.
    Assemblies(Vec<String>),
    /// A sequence of commands.
    Sequence(Sequence),
    /// A grasp.
    Grasp(Box<Grasp>),
    /// Grasp tasks, with their world.
    GraspTask(Box<GraspTaskFile>),
}

/// Reads a world file and all files that it names. If there is no such file, the built-in one of this name is read;
/// robots that are not beside the world are searched among the built-in ones.
///
/// # Errors
/// All problems of all these files.
pub fn read_world(path: &Path) -> Result<World, Diagnostics> {
    match read_as(path, Expected::World)? {
        Document::World(world) => Ok(world),
        _ => unreachable!("a world was asked for"),
    }
}

/// Reads a sequence file.
///
/// # Errors
/// All problems of the file.
pub fn read_sequence(path: &Path) -> Result<Sequence, Diagnostics> {
    match read_as(path, Expected::Sequence)? {
        Document::Sequence(sequence) => Ok(sequence),
        _ => unreachable!("a sequence was asked for"),
    }
}

/// Reads a grasp file.
///
/// # Errors
/// All problems of the file.
pub fn read_grasp(path: &Path) -> Result<Grasp, Diagnostics> {
    match read_as(path, Expected::Grasp)? {
        Document::Grasp(grasp) => Ok(*grasp),
        _ => unreachable!("a grasp was asked for"),
    }
}

/// Reads a file of grasp tasks, with its world.
///
/// # Errors
/// All problems of the file, and of those that it names.
pub fn read_grasp_task(path: &Path) -> Result<GraspTaskFile, Diagnostics> {
    match read_as(path, Expected::GraspTask)? {
        Document::GraspTask(task) => Ok(*task),
        _ => unreachable!("grasp tasks were asked for"),
    }
}

/// Reads a file of any kind.
///
/// # Errors
/// All problems of the file and of those it names.
pub fn read_any(path: &Path) -> Result<Document, Diagnostics> {
    read_as(path, Expected::Anything)
}

/// Reads a text as if it stood in a file of this path; files that it names are looked for from there.
///
/// # Errors
/// All problems of the text and of the files it names.
pub fn read_text(path: &str, text: &str) -> Result<Document, Diagnostics> {
    read_root(path, text, Files::Disk, Expected::Anything)
}

/// Reads a world again from its stored texts, such as those of [`World::sources`]; the first is the world's own. No
/// file is opened.
///
/// # Errors
/// All problems of these texts, including references to missing texts.
pub fn read_kept(sources: &[SourceFile]) -> Result<World, Diagnostics> {
    let Some(own) = sources.first() else {
        return Err(Diagnostic::at("", "", 0, "expected the text of a world").into());
    };
    match read_root(&own.path, own.text(), Files::Kept(sources), Expected::WorldOrRobot)? {
        Document::World(world) | Document::Robot(world) => Ok(world),
        Document::Sequence(_) | Document::Assemblies(_) | Document::Grasp(_) | Document::GraspTask(_) => {
            unreachable!("a world or a robot was asked for")
        }
    }
}

/// Reads grasp tasks again from their stored texts, with those of [`World::sources`]; the first is the tasks' own. No
/// file is opened.
///
/// # Errors
/// All problems of these texts, including references to missing texts.
pub fn read_kept_grasp_task(sources: &[SourceFile]) -> Result<GraspTaskFile, Diagnostics> {
    let Some(own) = sources.first() else {
        return Err(Diagnostic::at("", "", 0, "expected the text of grasp tasks").into());
    };
    match read_root(&own.path, own.text(), Files::Kept(sources), Expected::GraspTask)? {
        Document::GraspTask(task) => Ok(*task),
        _ => unreachable!("grasp tasks were asked for"),
    }
}

/// Expected content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    Anything,
    World,
    WorldOrRobot,
    Sequence,
    Grasp,
    GraspTask,
}

impl Expected {
    /// The roots that will do.
    fn roots(self) -> &'static [&'static str] {
        match self {
            Self::Anything => &[WORLD, ROBOT, ASSEMBLIES, SEQUENCE, GRASP, GRASP_TASK],
            Self::World => &[WORLD],
            Self::WorldOrRobot => &[WORLD, ROBOT],
            Self::Sequence => &[SEQUENCE],
            Self::Grasp => &[GRASP],
            Self::GraspTask => &[GRASP_TASK],
        }
    }

    /// Target of an import. An MJCF model becomes a world wherever one is accepted, because it has a ground or
    /// deliberately none.
    fn of_format(self, format: Format) -> Wanted {
        match self {
            Self::World => Wanted::World,
            Self::WorldOrRobot if format == Format::Mjcf => Wanted::World,
            _ => Wanted::Fitting,
        }
    }
}

/// Reads the soils of a world file, each with its name, in their order. A file of `<soil>` elements alone is accepted.
///
/// # Errors
/// All problems of these elements, and any element that does not belong to a world. Other files that it names are not
/// read.
pub fn read_soils(path: &Path) -> Result<Vec<(String, Soil)>, Diagnostics> {
    let path = locate(path);
    let path = path.to_string_lossy();
    let text = Files::Disk.read(&path, MAX_FILE);
    let text = text.map_err(|problem| Diagnostics::from(built_in::with_help(problem)))?;
    let session = Session::default();
    let reading = Reading::new(&path, &text, Files::Disk, &session);
    let root = read_element(&reading, Expected::World, false)?;
    let Soils(soils) = soil::read(&reading, &root);
    let problems = session.problems.take();
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(soils.into_iter().filter_map(|(name, soil)| Some((name, soil?))).collect())
}

/// The text of a SimPartner file as the other functions read it, including built-in ones.
///
/// # Errors
/// It cannot be read.
pub fn read_own_text(path: &Path) -> Result<String, Diagnostics> {
    let path = locate(path);
    let text = Files::Disk.read(&path.to_string_lossy(), MAX_FILE);
    text.map_err(|problem| Diagnostics::from(built_in::with_help(problem)))
}

fn read_as(path: &Path, expected: Expected) -> Result<Document, Diagnostics> {
    let text = read_own_text(path)?;
    read_root(&locate(path).to_string_lossy(), &text, Files::Disk, expected)
}

pub(super) fn read_root(path: &str, text: &str, files: Files<'_>, expected: Expected) -> Result<Document, Diagnostics> {
    let session = Session::with_parameters(Parameters::of_sources(files.kept()));
    read_root_in(&session, path, text, files, expected)
}

/// Reads a text in a session that has not read anything.
pub(super) fn read_root_in(
    session: &Session,
    path: &str,
    text: &str,
    files: Files<'_>,
    expected: Expected,
) -> Result<Document, Diagnostics> {
    let reading = Reading::new(path, text, files, session);
    let root = read_element(&reading, expected, false)?;
    let document = match root.name.as_str() {
        ROBOT => robot::read(&reading, &root, None).map(|draft| Document::Robot(place_alone(&reading, &root, &draft))),
        ASSEMBLIES => Some(Document::Assemblies(assembly::assembly_names(&reading, &root))),
        SEQUENCE => Some(Document::Sequence(sequence::read(&reading, &root))),
        GRASP => grasp::read(&reading, &root).map(|grasp| Document::Grasp(Box::new(grasp))),
        GRASP_TASK => grasp_task::read(&reading, &root).map(|task| Document::GraspTask(Box::new(task))),
        _ => Some(Document::World(world::read(&reading, &root))),
    };
    session.report_parameters();
    let problems = session.problems.take();
    match document {
        Some(mut document) if problems.is_empty() => {
            match &mut document {
                Document::World(world) | Document::Robot(world) => session.finish(world),
                Document::GraspTask(task) => session.finish(&mut task.world),
                _ => {}
            }
            Ok(document)
        }
        _ => Err(problems),
    }
}

/// The root element, of our format, with all its attributes and children checked.
pub(super) fn read_element(reading: &Reading, expected: Expected, fixed_base: bool) -> Result<Node, Diagnostics> {
    let Reading { path, text, session, .. } = *reading;
    session.add_file(text.len()).map_err(|what| Diagnostics::from(Diagnostic::at(path, "", 0, what)))?;
    let roots = reading.parse(path, text).map_err(Diagnostics::from)?;
    let mut root = match Format::of(path, &roots) {
        Some(format) => {
            let options = ImportOptions { fixed_base, wanted: expected.of_format(format), ..ImportOptions::default() };
            match import::convert(reading, format, roots, &options) {
                Some(root) => root,
                None => return Err(session.problems.take()),
            }
        }
        None => single_root(reading, roots)?,
    };
    if !expected.roots().contains(&root.name.as_str()) {
        let message = format!("expected <{}>, got <{}>", expected.roots().join(">, <"), root.name);
        return Err(Diagnostic::at(path, text, root.offset, message).into());
    }
    // The roots' ids are their tags.
    let element = Element::by_id(&root.name);
    let placeholders = match element.id {
        ROBOT | ASSEMBLIES => Placeholders::Allowed,
        _ => Placeholders::Unknown,
    };
    if element.id == WORLD {
        session.parameters.apply_to_world(&mut root);
    }
    reading.check(&mut root, element, placeholders);
    Ok(root)
}

/// A robot at the origin of an empty world.
pub(super) fn place_alone(reading: &Reading, root: &Node, draft: &RobotDraft) -> World {
    let own = SourceFile::new(reading.path, reading.text);
    let mut world = World {
        name: draft.model.clone(),
        mechanism: Mechanism { gravity: GRAVITY, ..Mechanism::default() },
        sources: [own].into_iter().chain(draft.sources.iter().cloned()).collect(),
        ..World::default()
    };
    let placement = Placement {
        name: draft.model.clone(),
        pose: Pose::IDENTITY,
        port_offset: 0,
        combined_port: Port::ANY,
        source: reading.source(root),
        initial: Vec::new(),
    };
    robot::place_in_world(reading, root.offset, draft, placement, &mut world, &mut Occupancy::default());
    world
}

/// The root element. The thesis prints objects and commands without one: a series of objects is a world, a series of
/// commands a sequence.
fn single_root(reading: &Reading, mut roots: Vec<Node>) -> Result<Node, Diagnostics> {
    let all = |names: &[&str]| roots.iter().all(|root| names.contains(&root.name.as_str()));
    let wrapped = |name: &str, attribute: &str, value: &str, children| Node {
        name: name.to_owned(),
        attributes: vec![Attribute { name: attribute.to_owned(), value: value.to_owned(), offset: 0 }],
        children,
        ..Node::default()
    };
    if all(&["object", "soil"]) {
        let stem = Path::new(reading.path).file_stem().map_or("world".into(), |stem| stem.to_string_lossy());
        return Ok(wrapped(WORLD, "name", &stem.replace(|c: char| c.is_whitespace(), "_"), roots));
    }
    if all(&["command", "repeat"]) {
        return Ok(wrapped(SEQUENCE, "version", sequence::NEWEST_VERSION, roots));
    }
    match roots.len() {
        1 => Ok(roots.remove(0)),
        _ => {
            let message = format!("<{}> stands beside <{}>; a file has one root element", roots[1].name, roots[0].name);
            Err(Diagnostic::at(reading.path, reading.text, roots[1].offset, message).into())
        }
    }
}
