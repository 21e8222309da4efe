//! Programs in C, compiled by `cc` and linked to the library.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use simpartner::config::EmbeddedSettings;
use simpartner_embed::{EmbeddedSimulation, read_world};

use crate::{
    build_folder, built, library,
    needs::{Need, met},
    root,
};

/// Compiles a program of this package and runs it in the workspace's folder. Returns its output; `None` without a
/// compiler.
fn run_program(source: &str, arguments: &[&str]) -> Option<String> {
    let ran = Command::new("cc").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    met(Need::Cc, ran.map_err(|error| format!("cc cannot be run: {error}")))?;
    library();
    let folder = tempfile::tempdir().expect("there is room");
    let (program, package) = (folder.path().join("program"), Path::new(env!("CARGO_MANIFEST_DIR")));
    let build = build_folder();
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-D_GNU_SOURCE", "-I"]);
    cc.arg(package.join("include")).arg(package.join(source)).arg("-o").arg(&program);
    cc.arg("-L").arg(&build).arg(format!("-Wl,-rpath,{}", build.display())).args(["-lsimpartner", "-lm"]);
    let output = cc.output().expect("cc runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(&program).args(arguments).current_dir(root()).output().expect("the program runs");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{}: {text}", output.status);
    Some(text)
}

/// The hash in a line that begins with `state`.
fn hash_in(text: &str) -> &str {
    let line = text.lines().find_map(|line| line.strip_prefix("state ")).unwrap_or_default();
    assert_eq!(line.len(), 64, "{text}");
    line
}

#[cfg(unix)]
#[test]
fn a_program_in_c_drives_to_the_bits_of_an_embedded_simulation() {
    let Some(text) = run_program("examples/drive.c", &["worlds/flat.xml", "2"]) else { return };
    let settings = EmbeddedSettings::read(&[("simulation.seed".into(), "7".into())]).expect("the setting is known");
    let world = read_world(Path::new("worlds/flat.xml"), false, &settings.parameters).expect("it is built in");
    let mut simulation = EmbeddedSimulation::new(world, settings.options).expect("the engine knows all of it");
    let commands: Vec<f64> = simulation.actuators().describe(simulation.layout()).iter().map(command_of).collect();
    for _ in 0..20 {
        simulation.command(&commands).expect("in range");
        simulation.advance(100).expect("it does not diverge");
    }
    assert_eq!(hash_in(&text), simulation.state_hash(), "{text}");
    let mut readings = vec![0.0; simulation.sensors().width()];
    simulation.read(&mut readings).expect("the array has that length");
    let x = text.split_once("Position x = ").and_then(|(_, rest)| rest.split_once(" m\n")).map(|(x, _)| x.parse());
    assert_eq!(x, Some(Ok(readings[0])), "{text}");
}

fn command_of(channel: &simpartner_embed::Channel) -> f64 {
    match channel.field.as_str() {
        _ if !channel.device.contains("/WheelMotor") => f64::NAN,
        field if field.starts_with("max_force") => 100.0,
        "velocity_3" => 2.0,
        _ => f64::NAN,
    }
}

#[cfg(unix)]
#[test]
fn a_program_in_c_ends_in_the_state_of_a_fast_run() {
    let Some(text) = run_program("examples/drive.c", &["worlds/flat.xml", "none"]) else { return };
    let mut run = Command::new(built("simpartner"));
    run.args(["run", "--mode", "fast", "--duration", "2", "--database", "none", "--free-ports", "--no-viewer"]);
    run.args(["--world", "worlds/flat.xml", "--set", "simulation.seed=7"]);
    let output = run.current_dir(root()).output().expect("the program runs");
    let ran = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{ran}");
    assert!(ran.contains(hash_in(&text)), "{ran}\n{text}");
}

#[cfg(unix)]
#[test]
fn wrong_calls_are_errors_and_nothing_else() {
    let Some(text) = run_program("tests/attacks.c", &[]) else { return };
    assert_eq!(text, "done\n");
}
