//! First use with the program alone: `tests/first_hour.sh`, and the built-in files.

use std::{path::Path, process::Command};

use simpartner_description::xml;

use super::{
    cli::{Scratch, simpartner, summary, text},
    needs::{Need, met},
};

#[cfg(unix)]
#[test]
fn the_first_hour_works_with_the_program_alone() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/first_hour.sh");
    let ran = Command::new("sh").arg(script).arg(env!("CARGO_BIN_EXE_simpartner")).env_remove("RUST_LOG").output();
    let ran = ran.unwrap();
    let (told, why) = (text(&ran.stdout), text(&ran.stderr));
    let skip = told.lines().find_map(|line| line.strip_prefix("skipped: "));
    met(Need::Curl, skip.map_or(Ok(()), Err));
    assert!(ran.status.success() && told.ends_with("all passed\n"), "{told}{why}");
}

/// A program in a folder of its own gives the same bits as one beside the files, and its log can be replayed anywhere.
#[test]
fn built_in_files_are_run_replayed_and_overruled() {
    let (scratch, elsewhere) = (Scratch::new(), Scratch::new());
    let at =
        |scratch: &Scratch, arguments: &[&str]| simpartner(arguments).current_dir(scratch.path("")).output().unwrap();
    let database = scratch.database("a.db");
    let run = ["run", "--mode", "fast", "--sequence", "robots/stop.xml", "--duration", "0.2", "--database"];
    let alone = at(&scratch, &[&run[..], &[&database]].concat());
    assert!(alone.status.success(), "{}", text(&alone.stderr));
    assert!(text(&alone.stderr).contains("world     built-in/worlds/flat.xml\n"), "{}", text(&alone.stderr));
    let beside = simpartner(&[&run[..], &["none"]].concat()).output().unwrap();
    assert_eq!(summary(&alone, "state"), summary(&beside, "state"));
    let replayed = at(&elsewhere, &["replay", "last", "--database", &database]);
    assert!(replayed.status.success(), "{}", text(&replayed.stderr));
    // The user's own world finds the built-in robots, with a message.
    let mine =
        scratch.write("mine.xml", "<world><surface a='0' b='1' c='0' d='0'/><robot file='workpartner2.xml'/></world>");
    let run = ["run", "--mode", "fast", "--duration", "0.01", "--database", "none", "--world"];
    let told = text(&at(&scratch, &[&run[..], &[&mine]].concat()).stderr);
    let used = "built in  built-in/robots/workpartner2.xml, built-in/robots/workpartner_assemblies.xml\n";
    assert!(told.contains(used), "{told}");
    // A file in the file system takes precedence, even an invalid one.
    std::fs::create_dir(scratch.path("worlds")).unwrap();
    scratch.write("worlds/flat.xml", "<world><gravity q='1'/></world>");
    let told = at(&scratch, &["check", "worlds/flat.xml"]);
    assert_eq!(told.status.code(), Some(3));
    assert!(text(&told.stderr).starts_with("worlds/flat.xml:1:17: <gravity> has no attribute 'q'"));
    assert!(at(&scratch, &["check", "built-in/worlds/flat.xml"]).status.success());
    // The error of a missing file lists the existing ones.
    let told = text(&at(&elsewhere, &["check", "flat.xml"]).stderr);
    assert!(told.contains("cannot open 'flat.xml'") && told.contains("a file worlds/flat.xml is built in"), "{told}");
}

#[test]
fn every_built_in_file_can_be_read_without_any_folder() {
    let scratch = Scratch::new();
    let paths: Vec<&str> = xml::BUILT_IN.iter().map(|file| file.path).filter(|path| path.ends_with(".xml")).collect();
    let checked = simpartner(&[&["check"], &paths[..]].concat()).current_dir(scratch.path("")).output().unwrap();
    assert!(checked.status.success(), "{}", text(&checked.stderr));
    assert_eq!(text(&checked.stdout).matches("built-in/").count(), paths.len());
}

#[test]
fn init_overwrites_nothing_unless_told_to() {
    let scratch = Scratch::new();
    let folder = scratch.path("project").display().to_string();
    let init = |more: &[&str]| simpartner(&[&["init", &folder], more].concat()).output().unwrap();
    assert!(init(&[]).status.success());
    // The same files again are no loss.
    assert!(init(&[]).status.success());
    let mine = scratch.path("project/worlds/my_world.xml");
    std::fs::write(&mine, "<world/>").unwrap();
    std::fs::remove_file(scratch.path("project/properties.toml")).unwrap();
    let refused = init(&[]);
    assert_eq!(refused.status.code(), Some(3));
    let told = text(&refused.stderr);
    assert!(told.contains("under these names: worlds/my_world.xml\n") && told.contains("--force"), "{told}");
    assert_eq!(std::fs::read_to_string(&mine).unwrap(), "<world/>");
    assert!(!scratch.path("project/properties.toml").exists(), "nothing is written where something is in the way");
    assert!(init(&["--force"]).status.success());
    assert!(std::fs::read_to_string(&mine).unwrap().contains("MyWorld"));
    let ran = simpartner(&["run", "--mode", "fast", "--duration", "0.1", "--world", "worlds/my_world.xml"])
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", text(&ran.stderr));
}
