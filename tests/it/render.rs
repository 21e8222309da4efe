//! `render`: pictures as PNG files, and what the verb says of them.

use std::fs;

use crate::cli::{Scratch, output, text};

/// Width, height, bits and kind of colour of a PNG file, and its bytes.
fn png(path: &std::path::Path) -> ([u32; 2], [u8; 2], Vec<u8>) {
    let bytes = fs::read(path).unwrap();
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"), "{} is no PNG", path.display());
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    ([number(16), number(20)], [bytes[24], bytes[25]], bytes)
}

#[test]
fn a_world_has_one_picture_of_the_size_that_is_asked_for() {
    let scratch = Scratch::new();
    let pictures = ["one.png", "two.png"].map(|name| {
        let path = scratch.path(name);
        let name = path.display().to_string();
        let made = output(&["render", "worlds/maze.xml", "--size", "160x90", "-o", &name]);
        assert!(made.status.success(), "{}", text(&made.stderr));
        assert_eq!(text(&made.stdout).trim_end(), name);
        png(&path)
    });
    // 8 bits of red, green and blue.
    assert_eq!((pictures[0].0, pictures[0].1), ([160, 90], [8, 2]));
    assert_eq!(pictures[0].2, pictures[1].2);
}

#[test]
fn distances_are_grey_and_bodies_are_listed_with_their_colours() {
    let scratch = Scratch::new();
    let path = scratch.path("picture.png");
    let name = path.display().to_string();
    let place = ["--size", "64x48", "--from=-4,3,5", "--look", "0,0.5,0", "-o", &name];
    let of = |flag: &str| output(&[&["render", "worlds/maze.xml", flag], &place[..]].concat());
    let depth = of("--depth");
    assert!(depth.status.success(), "{}", text(&depth.stderr));
    assert_eq!(png(&path).1, [16, 0]);
    let bodies = of("--segmentation");
    let listed = text(&bodies.stdout);
    assert_eq!(png(&path).1, [8, 2]);
    let count = |line: &str| line.split_whitespace().nth(1).and_then(|count| count.parse::<usize>().ok()).unwrap_or(0);
    assert_eq!(listed.lines().map(count).sum::<usize>(), 64 * 48);
    for owner in ["#ffffff ", " ground 1", " EastWall", " WorkPartner/"] {
        assert!(listed.contains(owner), "no '{owner}' in\n{listed}");
    }
}

#[test]
fn flags_that_give_no_picture_are_refused_with_a_remedy() {
    let rows: [(&[&str], &str); 8] = [
        (&["--size", "640"], "such as 640x480"),
        (&["--size", "100000x100000"], "at most 16777216"),
        (&["--size", "0x5"], "at least one"),
        (&["--from", "1,2"], "such as 2,1.5,-3"),
        (&["--from", "1,2,nan"], "such as 2,1.5,-3"),
        (&["--from", "1,2,3", "--look", "1,2,3"], "give another point by --look"),
        (&["--fov", "190"], "degrees from 0.1 to 170"),
        (&["--near", "5", "--far", "2"], "far is larger"),
    ];
    let scratch = Scratch::new();
    let path = scratch.path("picture.png").display().to_string();
    for (flags, remedy) in rows {
        let refused = output(&[&["render", "worlds/flat.xml", "-o", &path], flags].concat());
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{flags:?}: {said}");
        assert!(said.contains(remedy), "{flags:?}: {said}");
    }
    assert!(!scratch.path("picture.png").exists());
}

/// Pictures of a logged run: the first one is that of its world, later ones are others, and a video has all of them.
#[test]
fn pictures_of_a_run_show_its_steps() {
    let scratch = Scratch::new();
    let database = format!("sqlite:{}", scratch.path("log.db").display());
    let sequence = ["--sequence", "robots/circle.xml", "--duration", "0.5", "--no-viewer", "--free-ports"];
    let ran = output(&[&["run", "--mode", "fast", "--database", &database], &sequence[..]].concat());
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let place = ["--size", "64x48", "--from=-2,2,3", "--look", "0,0.5,0"];
    let of = |subject: &[&str], name: &str| {
        let path = scratch.path(name);
        let output = output(&[&["render"], subject, &place, &["-o", &path.display().to_string()]].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        path
    };
    let run = ["last", "--database", &database, "--at"];
    let start = fs::read(of(&["worlds/flat.xml"], "world.png")).unwrap();
    let first = fs::read(of(&[&run[..], &["0"]].concat(), "first.png")).unwrap();
    let last = fs::read(of(&[&run[..], &["500steps"]].concat(), "last.png")).unwrap();
    assert!(start == first && first != last);
    let frames = of(&[&run[..], &["0", "--until", "0.5", "--fps", "4"]].concat(), "frames");
    let frame = |name: &str| fs::read(frames.join(name)).unwrap();
    assert!(frame("00000.png") == first && frame("00002.png") == last && fs::read_dir(&frames).unwrap().count() == 3);
    let video = fs::read(of(&[&run[..], &["0", "--until", "0.5", "--fps", "4"]].concat(), "video.y4m")).unwrap();
    let header = video.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    assert_eq!(video.len(), header + 3 * (6 + 3 * 64 * 48));
    let beyond = output(&["render", "last", "--database", &database, "--at", "9"]);
    assert_eq!(beyond.status.code(), Some(2));
    let said = text(&beyond.stderr);
    assert!(said.contains("has no step 9000: its log has steps 1 to 500, 0.001 to 0.5 s"), "{said}");
    let world = output(&["render", "worlds/flat.xml", "--at", "1"]);
    assert!(text(&world.stderr).contains("since --at is given"), "{}", text(&world.stderr));
}

/// A camera that follows a body has it at one place of the picture, however far the run drives and turns it.
#[test]
fn a_camera_that_follows_a_body_keeps_it_in_sight() {
    let scratch = Scratch::new();
    let database = format!("sqlite:{}", scratch.path("log.db").display());
    let sequence = ["--sequence", "robots/circle.xml", "--duration", "6", "--no-viewer", "--free-ports"];
    let ran = output(&[&["run", "--mode", "fast", "--database", &database], &sequence[..]].concat());
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let picture = scratch.path("picture.png").display().to_string();
    let render = |flags: &[&str]| {
        let run = ["render", "last", "--database", &database, "--size", "80x60", "--segmentation", "-o", &picture];
        output(&[&run[..], flags].concat())
    };
    let pixels = |at: &str, flags: &[&str]| {
        let made = render(&[&["--at", at], flags].concat());
        assert!(made.status.success(), "{}", text(&made.stderr));
        let listed = text(&made.stdout);
        let line = listed.lines().find(|line| line.ends_with(" WorkPartner/FrontChassis"));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok()).unwrap_or(0.0)
    };
    for place in ["-2.5,1,0", "0,3,0.5", "1.5,0.5,1.5"] {
        let flags = ["--follow", "FrontChassis", &format!("--from={place}")];
        let [early, late] = ["2", "6"].map(|at| pixels(at, &flags));
        assert!(early > 30.0 && (early - late).abs() <= 0.05 * early + 4.0, "{place}: {early} and {late} pixels");
    }
    assert!(pixels("6", &["--follow", "WorkPartner/FrontChassis"]) > 8.0);
    for (name, remedy) in [("FrontChasis", "did you mean 'FrontChassis'?"), ("xyz", "there is no body 'xyz'")] {
        let refused = render(&["--at", "1", "--follow", name]);
        assert!(
            refused.status.code() == Some(2) && text(&refused.stderr).contains(remedy),
            "{}",
            text(&refused.stderr)
        );
    }
}

/// Videos of other endings go through ffmpeg, which gets a raw video; what it says of a failure is passed on.
#[cfg(unix)]
#[test]
fn a_video_is_encoded_by_an_installed_ffmpeg() {
    use std::os::unix::fs::PermissionsExt;

    let scratch = Scratch::new();
    let database = format!("sqlite:{}", scratch.path("log.db").display());
    let options = ["--duration", "0.5", "--no-viewer", "--free-ports", "--database", &database];
    let ran = output(&[&["run", "--mode", "fast"], &options[..]].concat());
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let folder = scratch.path("programs");
    fs::create_dir(&folder).unwrap();
    let render = |name: &str| {
        let path = scratch.path(name).display().to_string();
        let run = ["render", "last", "--database", &database, "--at", "0", "--until", "0.4", "--fps", "10"];
        let mut command = crate::cli::simpartner(&[&run[..], &["--size", "63x47", "-o", &path]].concat());
        command.env("PATH", format!("{}:/usr/bin:/bin", folder.display())).output().unwrap()
    };
    let encoder = |script: &str| {
        let program = folder.join("ffmpeg");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    };
    // In place of an encoder, a copy of what comes in.
    encoder("for last; do :; done; cat > \"$last\"");
    for name in ["copy.mp4", "copy.webm", "raw.y4m"] {
        let made = render(name);
        assert!(made.status.success(), "{name}: {}", text(&made.stderr));
    }
    let bytes = |name: &str| fs::read(scratch.path(name)).unwrap();
    assert!(bytes("raw.y4m").len() > 5 * 3 * 63 * 47);
    assert!(bytes("copy.mp4") == bytes("raw.y4m") && bytes("copy.webm") == bytes("raw.y4m"));
    for script in
        ["echo 'Unknown encoder libx264' >&2; exit 8", "cat >/dev/null; echo 'Unknown encoder libx264' >&2; exit 8"]
    {
        encoder(script);
        let refused = render("other.mp4");
        let said = text(&refused.stderr);
        assert!(refused.status.code() == Some(2) && said.contains("other.mp4': Unknown encoder libx264"), "{said}");
    }
}
