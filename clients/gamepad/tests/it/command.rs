//! The command as a user calls it.

use std::{
    path::Path,
    process::{Command, Output},
};

use simpartner_description::xml;
use simpartner_gamepad::mapping::{Mapping, WORKPARTNER};

use crate::{
    needs::{Need, met},
    rig::Rig,
};

fn call(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_simpartner-gamepad")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_script_drives_without_a_pad_and_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(file("script"), "0.1 axis LeftStickY 1\n1.1 axis LeftStickY 0\n2.1 end\n").unwrap();
    std::fs::write(file("mapping.toml"), WORKPARTNER).unwrap();
    let rig = Rig::start("flat.xml", 1.0);
    let (script, mapping, record) = (file("script"), file("mapping.toml"), file("drive.xml"));
    let arguments = ["--server", &rig.control, "--script", &script, "--mapping", &mapping, "--record", &record];
    let output = call(&arguments);
    assert!(output.status.success(), "{output:?}");
    let (said, told) = (text(&output.stdout), text(&output.stderr));
    assert!(said.contains("commands 8\n") && said.contains(&format!("recorded {record}\n")), "{said}");
    assert!(told.contains("driving 13 devices\nthe server has no ClawControllerALeft, "), "{told}");
    assert_eq!(xml::read_sequence(Path::new(&record)).unwrap().unrolled_len(), 8 + 3);
    // An existing file is not overwritten.
    let again = call(&arguments);
    assert!(!again.status.success() && text(&again.stderr).contains("cannot begin the recording"), "{again:?}");
    rig.end();
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_the_robot_and_ends_the_recording() {
    use crate::{values, wait_for};
    use std::process::Stdio;

    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(file("script"), "0.1 axis LeftStickY 1\n1000 end\n").unwrap();
    let rig = Rig::start("flat.xml", 1.0);
    let (script, record) = (file("script"), file("drive.xml"));
    let mut client = Command::new(env!("CARGO_BIN_EXE_simpartner-gamepad"));
    let client = client.args(["--server", &rig.control, "--script", &script, "--record", &record]);
    let mut client = client.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for(&rig, "it drives", |record| values(&rig, record, "WheelMotor1")[5] == 4.0);
    assert!(Command::new("kill").args(["-INT", &client.id().to_string()]).status().unwrap().success());
    assert!(client.wait().unwrap().success());
    assert_eq!(values(&rig, &rig.latest(), "WheelMotor1")[5], 0.0);
    assert_eq!(xml::read_sequence(Path::new(&record)).unwrap().unrolled_len(), 8 + 3);
    rig.end();
}

#[test]
fn a_server_that_is_not_there_is_told_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    std::fs::write(&script, "0 end").unwrap();
    let output = call(&["--server", "127.0.0.1:1", "--script", script.to_str().unwrap()]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(told.starts_with("error: cannot connect to the control port at 127.0.0.1:1: "), "{told}");
    assert!(told.contains("help: start a server with 'simpartner run'"), "{told}");
}

#[test]
fn the_mapping_can_be_printed_as_a_start_for_another() {
    let output = call(&["--print-mapping"]);
    Mapping::read("printed", &text(&output.stdout)).unwrap();
}

/// Without a gamepad the command reports that, and how to drive without one. With one, it connects to the server.
#[test]
fn a_missing_pad_is_told_before_the_server_is_asked() {
    let output = call(&["--server", "127.0.0.1:1"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    let has_one = told.contains("cannot connect to the control port");
    let Some(()) = met(Need::Gamepad, if has_one { Err("this machine has a gamepad") } else { Ok(()) }) else { return };
    let expected = if !cfg!(feature = "pad") {
        "error: this program was built without its feature 'pad' and knows no gamepads\n"
    } else if cfg!(target_os = "linux") && !Path::new("/dev/input").exists() {
        "error: this system has no input devices: there is no /dev/input, as in many containers\n"
    } else {
        "error: no gamepad is connected\n"
    };
    assert!(told.starts_with(expected), "{told}");
    assert!(told.contains("help: --script FILE drives without"), "{told}");
}
