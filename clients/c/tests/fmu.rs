//! Functional mock-up units, made by `simpartner fmu` and imported by FMPy.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use crate::{
    built, library,
    needs::{Need, met},
    root,
};

/// WorkPartner's wheels turn at 1 rad/s, and at 2 rad/s after half a second.
const SEQUENCE: &str = r#"<sequence version="1">
  <command><commandString>1000,1000,100,0,0,1</commandString><port>1027</port></command>
  <command><commandString>1000,1000,100,0,0,1</commandString><port>1028</port></command>
  <command><commandString>1000,1000,100,0,0,1</commandString><port>1029</port></command>
  <command><commandString>1000,1000,100,0,0,1</commandString><port>1030</port></command>
  <command><commandString>0.5</commandString><port>0</port></command>
  <command><commandString>1000,1000,100,0,0,2</commandString><port>1027</port></command>
  <command><commandString>1000,1000,100,0,0,2</commandString><port>1028</port></command>
  <command><commandString>1000,1000,100,0,0,2</commandString><port>1029</port></command>
  <command><commandString>1000,1000,100,0,0,2</commandString><port>1030</port></command>
  <command><commandString>0.5</commandString><port>0</port></command>
</sequence>"#;

/// A ball, whose instances take little time to make.
const BALL: &str = r#"<world name="Ball&amp;co"><gravity y="-10"/>
  <robot name="Ball-1"><body name="b"><mass>1</mass><pose y="2"/><sphere radius="0.1"/></body>
    <sensor type="PositionSensor" name="Place" body="b" port="0"/>
    <actuator type="ForceActuator" name="Fan" body="b" port="0"/></robot></world>"#;

/// The library of this build without what debuggers need, which is most of a debug build; as it is without `strip`.
fn small_library() -> PathBuf {
    static STRIPPED: OnceLock<PathBuf> = OnceLock::new();
    let strip = || {
        let small = Path::new(env!("CARGO_TARGET_TMPDIR")).join("small").join(library().file_name().expect("a file"));
        fs::create_dir_all(small.parent().expect("a folder")).expect("there is room");
        let done = Command::new("strip").args(["-x", "-o"]).arg(&small).arg(library()).status();
        if done.is_ok_and(|status| status.success()) { small } else { library() }
    };
    STRIPPED.get_or_init(strip).clone()
}

/// Runs the program in the workspace's folder with the small library, and returns its output.
fn simpartner(arguments: &[&str]) -> Result<String, String> {
    let mut program = Command::new(built("simpartner"));
    let output = program.env("SIMPARTNER_LIBRARY", small_library()).args(arguments).current_dir(root()).output();
    let output = output.expect("the program runs");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if output.status.success() { Ok(text) } else { Err(text) }
}

fn path_text(path: &Path) -> &str {
    path.to_str().expect("the folder has a plain name")
}

#[test]
fn units_run_in_another_importer_with_the_bits_of_the_server() {
    let found = Command::new("python3").args(["-c", "import fmpy, numpy"]).output();
    let found = match found {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned()),
        Err(error) => Err(format!("python3 cannot be run: {error}")),
    };
    if met(Need::Python, found).is_none() {
        return;
    }
    library();
    let folder = tempfile::tempdir().expect("there is room");
    let file = |name: &str| path_text(&folder.path().join(name)).to_owned();
    fs::write(file("drive.xml"), SEQUENCE).expect("there is room");
    fs::write(file("ball.xml"), BALL).expect("there is room");
    for version in ["2", "3"] {
        let (drive, ball) = (file(&format!("drive{version}.fmu")), file(&format!("ball{version}.fmu")));
        let parameter = ["--parameter", "surface.friction=0.7", "--set", "simulation.seed=7"];
        let made = simpartner(&[&["fmu", "worlds/flat.xml", "-o", &drive, "--fmi", version], &parameter[..]].concat());
        let made = made.expect("the world is built in");
        assert!(made.contains(&format!("FMI {version}.0")), "{made}");
        simpartner(&["fmu", &file("ball.xml"), "-o", &ball, "--fmi", version]).expect("the world is valid");
    }
    let (log, sequence) = (format!("sqlite:{}", file("drive.db")), file("drive.xml"));
    let run = ["run", "--mode", "fast", "--world", "worlds/flat.xml", "--sequence", &sequence, "--database", &log];
    let more = ["--free-ports", "--no-viewer", "--model", "surface.friction=0.7", "--set", "simulation.seed=7"];
    simpartner(&[&run[..], &more[..]].concat()).expect("the sequence fits the world");

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fmu_test.py");
    let mut python = Command::new("python3");
    python.arg("-B").arg(script).env("FOLDER", folder.path()).env("TMPDIR", folder.path());
    let output = python.output().expect("python3 runs");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{text}");
}

#[test]
fn wrong_calls_of_the_verb_say_what_to_do() {
    let folder = tempfile::tempdir().expect("there is room");
    let output = folder.path().join("model.fmu");
    let call = |more: &[&str]| {
        let world = ["fmu", "worlds/flat.xml", "-o", path_text(&output)];
        simpartner(&[&world[..], more].concat()).expect_err("the call is wrong")
    };
    let none = folder.path().join("none.so");
    assert!(call(&["--library", path_text(&none)]).contains("none.so': No such file"));
    let program = built("simpartner");
    assert!(call(&["--library", path_text(&program)]).contains("but not the library of simpartner"));
    let text = root().join("README.md");
    assert!(call(&["--library", path_text(&text)]).contains("it is no shared library for Linux"));
    assert!(call(&["--parameter", "surface.friction"]).contains("expected PATH=VALUE"));
    assert!(call(&["--parameter", "surface.friction=much"]).contains("is no number"));
    assert!(call(&["--parameter", "surface.frictoin=1"]).contains("frictoin"));
    let twice = call(&["--parameter", "surface.friction=1", "--parameter", "surface.friction=2"]);
    assert!(twice.contains("given twice"), "{twice}");
    assert!(call(&["--set", "simulation.seed=3000000000"]).contains("too large for an FMU"));
    assert!(call(&["--fmi", "1"]).contains("possible values: 3, 2"));
    let empty = folder.path().join("empty.xml");
    fs::write(&empty, "<world name='empty'><object name='o'><mass>1</mass><sphere radius='1'/></object></world>")
        .expect("there is room");
    let refused = simpartner(&["fmu", path_text(&empty), "-o", path_text(&output)]).expect_err("it has no device");
    assert!(refused.contains("has no sensor and no actuator"), "{refused}");
    assert!(!output.exists(), "nothing is written");
}

#[test]
fn a_unit_is_the_same_bytes_each_time() {
    let folder = tempfile::tempdir().expect("there is room");
    let file = |name: &str| path_text(&folder.path().join(name)).to_owned();
    fs::write(file("ball.xml"), BALL).expect("there is room");
    let read = || {
        simpartner(&["fmu", &file("ball.xml"), "-o", &file("ball.fmu")]).expect("the world is valid");
        fs::read(file("ball.fmu")).expect("it is written")
    };
    assert!(read() == read());
}
