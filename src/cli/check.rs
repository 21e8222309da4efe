//! `simpartner check`: validates files and shows their contents.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use serde_json::{Value, json};
use simpartner_description::{
    Sequence, Timeline, Warning, World,
    xml::{self, Diagnostic, Diagnostics, Document},
};
use simpartner_grasp::task::Scene;
use simpartner_model::{Body, Graph, Ground, Joint, RobotId, Soil, StepIndex, Timestep};
use simpartner_terminal::output::{Rounded, line, print, tell};
use simpartner_wire::signal::DeviceInfo;

use super::{
    arguments::{ConfigurationArguments, ModelArguments},
    exit::{CliError, ExitStatus},
    format::ReportArguments,
    patience::with_notes,
};
use crate::{
    config::Config,
    device,
    run::{self, Job, RunError},
};

#[derive(Debug, Args)]
pub(super) struct CheckArguments {
    /// World, robot, sequence, grasp and grasp task files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Properties file with the settings for the check [default: properties.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    properties: Option<PathBuf>,
    /// World for the check of sequences: it must have their ports, and its devices must accept their commands
    #[arg(long, value_name = "FILE")]
    world: Option<PathBuf>,
    /// Value of any other setting, as `--set section.key=value`; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Treat warnings as errors, with exit code 3
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    report: ReportArguments,
    /// Print the graph of bodies and joints for Graphviz (DOT) instead
    #[arg(long)]
    dot: bool,
    #[command(flatten)]
    folders: ModelArguments,
}

/// Checks every file as a run would. For a valid file it prints the contents and warnings of probable mistakes, for an
/// invalid file all problems.
pub(super) fn check(arguments: &CheckArguments) -> Result<ExitStatus, CliError> {
    arguments.folders.search()?;
    let (properties, set) = (arguments.properties.clone(), arguments.set.clone());
    let config = ConfigurationArguments { properties, set, ..Default::default() }.config(&[])?;
    let world = arguments.world.as_deref().map(xml::read_world).transpose()?.map(Arc::new);
    let mut status = ExitStatus::Success;
    let mut results = Vec::new();
    for path in &arguments.files {
        let path = &xml::locate(path);
        let examined = with_notes(path.display(), || examine(path, world.as_ref(), &config));
        match examined {
            Ok((document, warnings)) => {
                if arguments.strict && !warnings.is_empty() {
                    status = ExitStatus::Input;
                }
                if arguments.dot {
                    print(graphviz_text(path, &document));
                } else if arguments.report.is_json() {
                    let mut result = json_of(path, &document);
                    result["warnings"] = json!(warnings);
                    results.push(result);
                } else {
                    print(text_of(path, &document));
                    tell(text_of_warnings(&document, &warnings));
                }
            }
            Err(RunError::Files(problems)) => {
                status = ExitStatus::Input;
                match arguments.report.is_json() {
                    false => tell(problems),
                    true => results.push(json_of_problems(path, &problems)),
                }
            }
            Err(other) => return Err(other.into()),
        }
    }
    if arguments.report.is_json() && !arguments.dot {
        line(format_args!("{:#}", json!({ "files": results })));
    }
    Ok(status)
}

/// Reads a file, builds what a run of it would build, and returns its warnings.
fn examine(path: &Path, world: Option<&Arc<World>>, config: &Config) -> Result<(Document, Vec<Warning>), RunError> {
    let document = xml::read_any(path)?;
    let warnings = match &document {
        Document::World(own) | Document::Robot(own) => {
            let alone = matches!(document, Document::Robot(_));
            Job::new(&Arc::new(own.clone()), None, config.clone())?;
            run::warnings(own, alone, config)?
        }
        Document::Sequence(sequence) => {
            if let Some(world) = world {
                Job::new(world, Some(sequence), config.clone())?;
            }
            Vec::new()
        }
        Document::GraspTask(file) => {
            let scene = Scene::new(file.world.mechanism.clone(), file.task.clone());
            scene.map_err(|error| {
                Diagnostics::from(Diagnostic::at(&path.to_string_lossy(), "", 0, error.to_string()))
            })?;
            Vec::new()
        }
        Document::Assemblies(_) | Document::Grasp(_) => Vec::new(),
    };
    Ok((document, warnings))
}

fn text_of_warnings(document: &Document, warnings: &[Warning]) -> String {
    let sources = match document {
        Document::World(world) | Document::Robot(world) => &world.sources[..],
        Document::GraspTask(file) => &file.world.sources[..],
        Document::Sequence(_) | Document::Assemblies(_) | Document::Grasp(_) => &[],
    };
    let lines = warnings.iter().map(|Warning { place, what, help }| {
        Diagnostic::at_place(place, sources, format!("warning: {what}")).with_help(help).to_string()
    });
    lines.collect()
}

/// A group of bodies, joints and devices: a robot, or the objects of a world.
struct Group<'a> {
    name: String,
    bodies: Vec<&'a Body>,
    joints: Vec<&'a Joint>,
    devices: Vec<DeviceInfo>,
    degrees_of_freedom: usize,
    loops: usize,
}

fn groups_of(world: &World) -> Vec<Group<'_>> {
    let robots = world.mechanism.robots.iter().enumerate().map(|(index, robot)| {
        let name = format!("robot {} ({})", robot.name, robot.model);
        group_of(world, Some(RobotId::new(index)), name)
    });
    let objects = group_of(world, None, "objects".into());
    robots.chain((!objects.bodies.is_empty()).then_some(objects)).collect()
}

fn group_of(world: &World, robot: Option<RobotId>, name: String) -> Group<'_> {
    let trees = Graph::new(&world.mechanism.bodies, &world.mechanism.joints).spanning_forest().trees;
    let trees: Vec<_> = trees.iter().filter(|tree| world.mechanism.body(tree.root).robot == robot).collect();
    let roots = trees.iter().filter(|tree| !world.mechanism.body(tree.root).fixed).count();
    let along_trees: usize = trees
        .iter()
        .flat_map(|tree| &tree.edges)
        .map(|edge| world.mechanism.joint(edge.joint).degrees_of_freedom())
        .sum();
    let devices = world.devices.iter().filter(|device| Some(device.robot) == robot);
    Group {
        name,
        bodies: world.mechanism.bodies.iter().filter(|body| body.robot == robot).collect(),
        joints: world.mechanism.joints.iter().filter(|joint| joint.robot == robot).collect(),
        devices: devices.map(|spec| device::describe(spec, world, Timestep::MILLISECOND)).collect(),
        degrees_of_freedom: 6 * roots + along_trees,
        loops: trees.iter().map(|tree| tree.loops.len()).sum(),
    }
}

fn text_of(path: &Path, document: &Document) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = match document {
        Document::Sequence(sequence) => write_sequence(path, sequence, &mut out),
        Document::Assemblies(names) => writeln!(out, "{}: assemblies {}", path.display(), names.join(", ")),
        Document::Grasp(grasp) => writeln!(
            out,
            "{}: grasp {} of '{}' by {} contacts",
            path.display(),
            grasp.name,
            grasp.object.name,
            grasp.contacts.len()
        ),
        Document::GraspTask(file) => writeln!(
            out,
            "{}: grasp tasks {} of '{}', {}",
            path.display(),
            file.task.name,
            file.world.mechanism.body(file.task.object).name,
            match file.task.targets.len() {
                0 => "targets drawn on its surface".to_owned(),
                count => format!("{count} targets"),
            }
        ),
        Document::World(world) => write_world(path, "world", world, &mut out),
        Document::Robot(world) => write_world(path, "robot", world, &mut out),
    };
    out
}

/// Duration of a sequence without its waits for readings, at the default timestep, s.
fn duration_s(timeline: &Timeline) -> f64 {
    Timestep::MILLISECOND.seconds_at(StepIndex(timeline.steps))
}

fn write_sequence(path: &Path, sequence: &Sequence, out: &mut String) -> std::fmt::Result {
    let timeline = sequence.timeline(Timestep::MILLISECOND);
    let (commands, seconds) = (timeline.commands().count(), duration_s(&timeline));
    write!(out, "{}: sequence, {commands} commands in {seconds} s", path.display())?;
    match timeline.conditions().count() {
        0 => writeln!(out),
        1 => writeln!(out, " and a wait for a reading"),
        count => writeln!(out, " and {count} waits for readings"),
    }
}

fn write_ground(ground: &Ground, out: &mut String) -> std::fmt::Result {
    match ground {
        Ground::Plane(plane) => {
            let [x, y, z] = plane.normal.to_array().map(Rounded);
            writeln!(out, "  plane, normal [{x}, {y}, {z}], {} m from the origin", Rounded(plane.distance))
        }
        Ground::Heightfield(field) => {
            let (low, high) = field.bounds();
            let (points, extent) = ((field.points_x, field.points_z), (Rounded(field.width), Rounded(field.depth)));
            let (low, high) = (Rounded(low), Rounded(high));
            write!(
                out,
                "  terrain {}x{} points, {} m x {} m, heights {low} to {high} m",
                points.0, points.1, extent.0, extent.1
            )?;
            match (points.0 - 1) * (points.1 - 1) - field.cells().count() {
                0 => writeln!(out),
                holes => writeln!(out, ", {holes} cells without surface"),
            }
        }
        Ground::Mesh(mesh) => {
            writeln!(out, "  ground of {} triangles between {} points", mesh.triangles.len(), mesh.vertices.len())
        }
    }
}

/// Writes the soil of a ground: the name of a built-in soil, or the parameters of the world's own.
fn write_soil(soil: &Soil, out: &mut String) -> std::fmt::Result {
    if let Some(named) = Soil::NAMED.iter().find(|named| named.soil == *soil) {
        return writeln!(out, "    of {}: {}", named.name, named.description);
    }
    let (cohesion, angle) = (Rounded(soil.cohesion), Rounded(soil.friction_angle.to_degrees()));
    let (exponent, shear) = (Rounded(soil.exponent), Rounded(1e3 * soil.shear_modulus));
    writeln!(
        out,
        "    of a soil of its own: exponent {exponent}, cohesion {cohesion} Pa, angle of friction {angle} degrees, shear modulus {shear} mm"
    )
}

fn write_world(path: &Path, kind: &str, world: &World, out: &mut String) -> std::fmt::Result {
    writeln!(out, "{}: {kind} {}", path.display(), world.name)?;
    for ground in &world.mechanism.grounds {
        write_ground(ground, out)?;
        if let Some(soil) = &ground.material().soil {
            write_soil(soil, out)?;
        }
    }
    for group in groups_of(world) {
        let mass: f64 = group.bodies.iter().filter(|body| !body.fixed).map(|body| body.mass).sum();
        writeln!(
            out,
            "  {}: {} bodies, {} joints, {} kg, {} degrees of freedom, {} closed loops",
            group.name,
            group.bodies.len(),
            group.joints.len(),
            Rounded(mass),
            group.degrees_of_freedom,
            group.loops
        )?;
        for body in &group.bodies {
            let shape = body.shape.as_ref().map_or("particle", |placed| placed.shape.name());
            let mass = if body.fixed { "fixed".to_owned() } else { format!("{} kg", Rounded(body.mass)) };
            writeln!(out, "    body  {:<16} {shape:<12} {mass}", body.name)?;
        }
        for joint in &group.joints {
            let ends = (&world.mechanism.body(joint.parent).name, &world.mechanism.body(joint.child).name);
            let kind = joint.kind.name();
            writeln!(
                out,
                "    joint {:<16} {kind:<12} {} -> {}, {} free",
                joint.name,
                ends.0,
                ends.1,
                joint.degrees_of_freedom()
            )?;
        }
        for device in &group.devices {
            writeln!(out, "    port  {:<16} {:<16} on {}", device.port, device.name, device.attachment.name())?;
        }
    }
    Ok(())
}

fn json_of(path: &Path, document: &Document) -> Value {
    let world = match document {
        Document::Sequence(sequence) => {
            let timeline = sequence.timeline(Timestep::MILLISECOND);
            let seconds = duration_s(&timeline);
            return json!({ "file": path, "ok": true, "kind": "sequence", "commands": timeline.commands().count(), "seconds": seconds,
                "waits": timeline.conditions().count() });
        }
        Document::Assemblies(names) => {
            return json!({ "file": path, "ok": true, "kind": "assemblies", "names": names });
        }
        Document::Grasp(grasp) => {
            return json!({ "file": path, "ok": true, "kind": "grasp", "name": grasp.name, "contacts": grasp.contacts.len() });
        }
        Document::GraspTask(file) => {
            let task = &file.task;
            return json!({ "file": path, "ok": true, "kind": "graspTask", "name": task.name, "targets": task.targets.len() });
        }
        Document::World(world) | Document::Robot(world) => world,
    };
    let groups = groups_of(world).into_iter().map(|group| {
        json!({
            "name": group.name,
            "degrees_of_freedom": group.degrees_of_freedom,
            "closed_loops": group.loops,
            "bodies": group.bodies.iter().map(|body| json!({
                "name": body.name,
                "mass_kg": if body.fixed { None } else { Some(body.mass) },
                "shape": body.shape.as_ref().map(|placed| placed.shape.name()),
            })).collect::<Vec<_>>(),
            "joints": group.joints.iter().map(|joint| json!({
                "name": joint.name,
                "kind": joint.kind.name(),
                "parent": world.mechanism.body(joint.parent).name,
                "child": world.mechanism.body(joint.child).name,
                "degrees_of_freedom": joint.degrees_of_freedom(),
            })).collect::<Vec<_>>(),
            "devices": group.devices.iter().map(super::devices::json_of).collect::<Vec<_>>(),
        })
    });
    let kind = if matches!(document, Document::World(_)) { "world" } else { "robot" };
    json!({ "file": path, "ok": true, "kind": kind, "name": world.name, "groups": groups.collect::<Vec<_>>() })
}

fn json_of_problems(path: &Path, problems: &Diagnostics) -> Value {
    json!({ "file": path, "ok": false, "problems": problems.problems, "more": problems.more })
}

/// The graph of bodies and joints for Graphviz, with each robot as a box around its bodies.
fn graphviz_text(path: &Path, document: &Document) -> String {
    let world = match document {
        Document::World(world) | Document::Robot(world) => world,
        Document::Sequence(_) => return format!("// {}: a sequence has no graph\n", path.display()),
        Document::GraspTask(file) => &file.world,
        Document::Grasp(_) => return format!("// {}: a grasp has no graph\n", path.display()),
        Document::Assemblies(_) => {
            return format!("// {}: assemblies have a graph once a robot places them\n", path.display());
        }
    };
    let mut out = format!("graph {:?} {{\n  node [shape=ellipse];\n", world.name);
    for (index, robot) in world.mechanism.robots.iter().enumerate() {
        out.push_str(&format!("  subgraph cluster_{index} {{ label={:?};", robot.name));
        for (id, _) in world.mechanism.bodies().filter(|(_, body)| body.robot == Some(RobotId::new(index))) {
            out.push_str(&format!(" b{};", id.index()));
        }
        out.push_str(" }\n");
    }
    for (id, body) in world.mechanism.bodies() {
        let mass = if body.fixed { "fixed".to_owned() } else { format!("{} kg", Rounded(body.mass)) };
        out.push_str(&format!("  b{} [label=\"{}\\n{mass}\"];\n", id.index(), body.name));
    }
    for joint in &world.mechanism.joints {
        let (parent, child) = (joint.parent.index(), joint.child.index());
        out.push_str(&format!("  b{parent} -- b{child} [label=\"{}\\n{}\"];\n", joint.name, joint.kind.name()));
    }
    out.push_str("}\n");
    out
}
