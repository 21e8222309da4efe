//! Common features of all verbs: flags, units, near names; and output that needs no files.

use super::cli::{SHORT, Scratch, output, simpartner, text};

/// Runs in an empty folder, and returns the text of both outputs, and the exit code.
fn alone(arguments: &[&str]) -> (String, Option<i32>) {
    let scratch = Scratch::new();
    let output = simpartner(arguments).current_dir(scratch.path("")).output().unwrap();
    (text(&output.stdout) + &text(&output.stderr), output.status.code())
}

#[test]
fn a_time_is_in_seconds_or_in_steps_by_its_suffix() {
    let scratch = Scratch::new();
    let (sequence, database) = (scratch.write("short.xml", SHORT), scratch.database("a.db"));
    let call = |arguments: &[&str]| {
        let output = output(&[arguments, &["--database", &database]].concat());
        (text(&output.stdout), text(&output.stderr), output.status.code())
    };
    let run = |duration| call(&["run", "--mode", "fast", "--sequence", &sequence, "--duration", duration]).0;
    for duration in ["0.25", "0.25s", "250steps"] {
        assert!(run(duration).contains("\nsteps             250\n"), "{duration}");
    }
    for until in ["100", "0.1s", "100steps"] {
        let (told, why, _) = call(&["replay", "1", "--until", until]);
        assert!(told.contains("steps made        100,"), "{until}: {told}{why}");
    }
    for at in ["200", "0.2s"] {
        let (told, why, code) = call(&["fork", "1", "--at", at, "--duration", "50steps"]);
        assert!(code == Some(0) && told.contains("\nsteps             50\n"), "{at}: {told}{why}");
    }
    let folder = scratch.path("csv").display().to_string();
    for (from, to) in [("0.1", "0.2s"), ("100steps", "0.2")] {
        let range = ["--from", from, "--to", to, "--every", "0.01s", "--force", "-o", &folder];
        let (told, why, _) =
            call(&[&["export", "1", "--format", "csv", "--tables", "simulationRow"], &range[..]].concat());
        assert!(told.contains("          11  simulationRow\n"), "{told}{why}");
    }
    // A fraction is probably a number of seconds.
    let (_, why, code) = call(&["replay", "1", "--until", "0.1"]);
    assert!(why.contains("in milliseconds as 20ms, or in steps as 2500steps") && code == Some(2), "{why}");
}

#[test]
fn a_negative_number_is_a_value_of_any_flag() {
    for arguments in [
        &["run", "--duration", "-5"][..],
        &["run", "--rate", "-1"],
        &["replay", "last", "--until", "-5"],
        &["export", "last", "--format", "csv", "--from", "-1"],
        &["sequence", "x.xml", "--lead", "-1"],
        &["mobility", "x.xml", "--gravity", "-1"],
    ] {
        let (told, code) = alone(arguments);
        assert!(!told.contains("unexpected argument") && told.contains("expected"), "{arguments:?}: {told}");
        assert!(matches!(code, Some(2 | 3)), "{arguments:?}: {code:?}");
    }
}

#[test]
fn words_of_a_setting_are_choices_of_its_flag() {
    let (told, code) = alone(&["run", "--mode", "fsat"]);
    assert!(told.contains("[possible values: realtime, fast, lockstep]") && told.contains("'fast'"), "{told}");
    assert_eq!(code, Some(2));
    let (script, _) = alone(&["completions", "bash"]);
    assert!(script.contains("\"realtime fast lockstep\""), "the script offers no modes");
}

#[test]
fn json_is_a_format_of_every_report() {
    for verb in [&["devices"][..], &["check", "worlds/flat.xml"], &["terrain", "worlds/jacksboro.asc"], &["list"]] {
        let [format, flag] = [&["--format", "json"][..], &["--json"]].map(|more| output(&[verb, more].concat()).stdout);
        let json: serde_json::Value = serde_json::from_slice(&format).unwrap_or_else(|_| panic!("{verb:?}"));
        assert!(json.is_object() || json.is_array());
        assert_eq!(text(&format), text(&flag), "{verb:?}");
    }
}

#[test]
fn the_program_lists_what_is_built_in_and_takes_it() {
    let (all, _) = alone(&["list"]);
    for path in ["worlds/maze.xml", "robots/rover.xml", "robots/circle.xml", "worlds/grasps/pinch.xml"] {
        assert!(all.contains(&format!("  {path} ")), "{all}");
    }
    let (worlds, _) = alone(&["list", "worlds", "--format", "json"]);
    let worlds: Vec<serde_json::Value> = serde_json::from_str(&worlds).unwrap();
    assert!(worlds.iter().all(|world| world["kind"] == "worlds"));
    assert!(worlds.iter().any(|world| world["path"] == "worlds/flat.xml"));
    let (told, code) = alone(&["grasp", "run", "worlds/grasps/tasks/box.xml", "--task", "0"]);
    assert!(code == Some(0) && told.contains("\"status\""), "{told}");
    // A picture of a built-in world goes into the current folder.
    assert_eq!(alone(&["draw", "worlds/maze.xml"]), ("maze.svg\n".into(), Some(0)));
    let (told, _) = alone(&["draw", "worlds/maze.xml", "-o", "new/folder"]);
    assert_eq!(told, "new/folder/maze.svg\n");
    let (told, code) = alone(&["run", "--world", "worlds/flt.xml", "--database", "none"]);
    assert!(told.contains("did you mean 'worlds/flat.xml', which is built in?") && code == Some(3), "{told}");
}

#[test]
fn the_program_prints_its_protocol_and_puts_it_into_a_project() {
    let (protocol, _) = alone(&["schema", "protocol"]);
    assert!(protocol.starts_with("# The protocol of a SimPartner server\n") && protocol.contains("| `SUB n all` |"));
    let scratch = Scratch::new();
    let made = simpartner(&["init", "."]).current_dir(scratch.path("")).output().unwrap();
    assert!(made.status.success(), "{}", text(&made.stderr));
    assert_eq!(std::fs::read_to_string(scratch.path("PROTOCOL.md")).unwrap(), protocol);
    for file in [
        "docs/reference/log.md",
        "docs/how-to/analyse.md",
        "clients/follow.py",
        "clients/follow.c",
        "worlds/grasps/tasks/box.xml",
    ] {
        assert!(scratch.path(file).exists(), "{file}");
    }
}

/// A client program is run from the folder of this program or from the path, with all of its arguments.
#[cfg(unix)]
#[test]
fn clients_are_verbs() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new();
    // A copy of the program has no client beside it.
    let program = scratch.path("simpartner");
    std::fs::copy(env!("CARGO_BIN_EXE_simpartner"), &program).unwrap();
    let call = |arguments: &[&str], path: &str| {
        // A child of another test may hold the copy open for writing until it becomes its own program.
        let output = loop {
            match std::process::Command::new(&program).args(arguments).env("PATH", path).output() {
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
                ended => break ended.unwrap(),
            }
        };
        (text(&output.stdout) + &text(&output.stderr), output.status.code())
    };
    let (told, code) = call(&["ros2", "--help"], "");
    assert!(told.contains("`cargo install --path clients/ros2`") && code == Some(3), "{told}");
    let client = scratch.path("simpartner-ros2");
    std::fs::write(&client, "#!/bin/sh\necho \"client $*\"\nexit 7\n").unwrap();
    std::fs::set_permissions(&client, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    assert_eq!(call(&["ros2", "--help", "-x", "-5"], &path), ("client --help -x -5\n".into(), Some(7)));
    let (help, _) = call(&["--help"], "");
    for verb in ["sequence", "gamepad", "serial", "ros2"] {
        assert!(help.lines().any(|line| line.trim_start().starts_with(verb)), "{help}");
    }
}

/// Every verb with a name suggests a similar one.
#[test]
fn a_name_that_is_not_there_is_answered_with_the_near_one() {
    let scratch = Scratch::new();
    let (sequence, database) = (scratch.write("short.xml", SHORT), scratch.database("near.db"));
    let run = ["run", "--mode", "fast", "--sequence", &sequence, "--duration", "0.05", "--database", &database];
    assert!(output(&run).status.success());
    let near = |arguments: &[&str], expected: &str| {
        let ended = output(arguments);
        let told = text(&ended.stdout) + &text(&ended.stderr);
        assert!(told.contains(expected) && matches!(ended.status.code(), Some(2 | 3)), "{arguments:?}: {told}");
    };
    let log = ["--database", &database];
    near(&[&["replay", "lst"][..], &log].concat(), "`lst`; did you mean 'last'?");
    near(&[&["replay", "7"][..], &log].concat(), "does not have run 7: it has only run 1");
    near(&[&["db", "prune", "7", "--yes"][..], &log].concat(), "has no run 7: it has only run 1");
    near(&[&["query", "last", "SELECT stp FROM simulationRow"][..], &log].concat(), "did you mean 'step'?");
    near(&[&["plot", "last", "--fields", "Positon.x"][..], &log].concat(), "; did you mean 'Position'?");
    near(&[&["plot", "last", "--fields", "Position.xx"][..], &log].concat(), "; did you mean 'x'?");
    near(&[&["plot", "last", "--fields", "bdy:A.x"][..], &log].concat(), "; did you mean 'body'?");
    near(
        &["run", "--sequence", "circel.xml", "--database", "none"],
        "did you mean 'robots/circle.xml', which is built in?",
    );
    near(&["man", "rplay"], "; did you mean 'replay'?");
    near(&["verify", "--case", "freefall"], "; did you mean free-fall?");
    near(&["mobility", "robots/rover.xml", "--soil", "drySnd"], "; did you mean 'drySand'?");
    near(&["run", "--set", "simulation.sede=1"], "; did you mean simulation.seed?");
    // A column of another table is no help.
    let ended = output(&[&["query", "last", "SELECT tilt FROM simulationRow"][..], &log].concat());
    assert!(!text(&ended.stderr).contains("did you mean"), "{}", text(&ended.stderr));
}

/// An offset applies to the ports of files; a port given on the same command line is used as it is.
#[test]
fn a_port_on_the_line_of_an_offset_is_not_moved() {
    let control = |more: &[&str]| {
        let ended = output(&[&["devices", "--format", "json", "--port-offset", "100"], more].concat());
        let json: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
        json.to_string()
    };
    let (moved, named) = (control(&[]), control(&["--set", "server.control_port=7000"]));
    assert!(moved.contains("6600") && !moved.contains("7000"), "{moved}");
    assert!(named.contains("7000") && !named.contains("7100") && !named.contains("6600"), "{named}");
}

#[test]
fn the_manual_pages_of_all_verbs_are_written_into_a_folder() {
    let scratch = Scratch::new();
    let folder = scratch.path("share/man1");
    let written = simpartner(&["man", "-o"]).arg(&folder).output().unwrap();
    assert!(written.status.success(), "{}", text(&written.stderr));
    for (page, heading) in [("simpartner.1", "simpartner"), ("simpartner-db-verify.1", "simpartner-db-verify")] {
        let text = std::fs::read_to_string(folder.join(page)).unwrap();
        assert!(text.contains(&format!(".TH {heading} 1")), "{page}: {text}");
    }
    let pages = std::fs::read_dir(&folder).unwrap().count();
    assert!(pages > 40, "{pages} pages");
    let file = scratch.write("file", "");
    let refused = output(&["man", "-o", &file]);
    assert!(refused.status.code() == Some(3), "{:?}: {}", refused.status, text(&refused.stderr));
    assert!(text(&refused.stderr).contains("the manual pages cannot be written"), "{}", text(&refused.stderr));
}
