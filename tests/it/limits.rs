//! Malicious files: the reader's limits, and the linear growth of its work.

use std::{fmt::Write, fs, path::Path, time::Instant};

use simpartner_description::{
    Section, Timeline,
    xml::{Diagnostics, Document, read_any, read_text},
};
use simpartner_model::Timestep;

fn refusal(text: &str) -> Diagnostics {
    read_text("f.xml", text).map(|_| ()).unwrap_err()
}

#[track_caller]
fn check_refused(text: &str, words: &str) {
    let problems = refusal(text);
    assert!(problems.problems[0].message.contains(words), "{problems}");
    // The output is limited, however long the problem is.
    assert!(problems.to_string().len() < 60_000, "{} bytes", problems.to_string().len());
    assert!(problems.problems.iter().all(|problem| problem.message.len() < 1000 && problem.source_line.len() < 1000));
}

const BODY: &str = r#"<body name="B"><mass>1</mass><sphere radius="0.1"/></body>"#;

#[test]
fn repeats_of_nothing_take_no_time() {
    let nested = |count: &str, inner: &str| {
        let open = format!("<repeat count=\"{count}\">").repeat(12);
        format!("<sequence version=\"1\">{open}{inner}{}</sequence>", "</repeat>".repeat(12))
    };
    match read_text("s.xml", &nested("1000000", "")).unwrap() {
        Document::Sequence(sequence) => assert_eq!(
            sequence.timeline(Timestep::MILLISECOND),
            Timeline { sections: vec![Section::default()], steps: 0 }
        ),
        other => panic!("{other:?}"),
    }
    let pause = "<command><port>0</port><commandString>0</commandString></command>";
    check_refused(&nested("1000000", pause), "at most 1000000 are taken");
    // Few commands can still be much text.
    let long = format!("<command><port>2000</port><commandString>{}</commandString></command>", "1".repeat(4000));
    check_refused(&nested("3", &long), "bytes long, at most");
}

/// Assemblies A0, A1, ... each with this content, of which the last contains a body; A0 is placed.
fn chain(length: usize, content: impl Fn(usize) -> String, value: &str) -> String {
    let mut text = "<robot name=\"R\">".to_owned();
    for index in 0..length {
        let inner = content(index + 1);
        write!(text, "<assembly name=\"A{index}\"><parameter name=\"p\" value=\"1\"/>{inner}</assembly>").unwrap();
    }
    write!(text, "<assembly name=\"A{length}\"><parameter name=\"p\" value=\"1\"/>{BODY}</assembly>").unwrap();
    text + &format!("<place assembly=\"A0\"><parameter name=\"p\" value=\"{value}\"/></place></robot>")
}

#[test]
fn assemblies_do_not_expand_without_bound() {
    let place = |index: usize| format!("<place assembly=\"A{index}\"/>");
    assert!(read_text("r.xml", &chain(31, place, "x")).is_ok());
    check_refused(&chain(32, place, "x"), "more than 32 deep");
    check_refused(&chain(20_000, place, "x"), "more than 32 deep");
    let doubled =
        |index: usize| format!("<place assembly=\"A{index}\"><parameter name=\"p\" value=\"${{p}}${{p}}\"/></place>");
    check_refused(&chain(30, doubled, "xxxxxxxxxx"), "at most 4096 are read");
    check_refused(&chain(30, |index| place(index).repeat(2), "x"), "with all assemblies placed");
    // Parameters are passed down to every placed assembly.
    let many: String = (0..2000).map(|index| format!("<parameter name=\"p{index}\" value=\"1\"/>")).collect();
    let places = "<place assembly=\"A\"/>".repeat(3000);
    check_refused(&format!("<robot name=\"R\"><assembly name=\"A\">{many}</assembly>{places}</robot>"), "larger than");
}

#[test]
fn a_placeholder_within_a_placeholder_is_refused() {
    let text = r#"<robot name="R"><assembly name="A"><parameter name="p" value="x"/><body name="B${${p}"><mass>1</mass></body>
        </assembly><place assembly="A"/></robot>"#;
    check_refused(text, "there is no parameter '${p'");
    // Each of these looked for its end behind all others.
    let open = "${".repeat(500_000);
    check_refused(
        &format!("<robot name=\"R\"><assembly name=\"A\"><body name=\"{open}\"/></assembly></robot>"),
        "'${' is never closed",
    );
}

#[test]
fn a_port_that_is_no_port_is_refused_wherever_it_is_moved_to() {
    let port = i64::MAX;
    check_refused(
        &format!(
            "<robot name=\"R\"><assembly name=\"A\">{BODY}<sensor type=\"PoseSensor\" name=\"S\" body=\"B\" port=\"{port}\"/></assembly>\
             <place assembly=\"A\" portOffset=\"10\"/></robot>"
        ),
        "a whole number from 0 to 65535",
    );
}

#[test]
fn long_names_and_values_are_cut_in_messages() {
    for length in [200, 1_000_000] {
        let long = "a".repeat(length);
        check_refused(&format!("<world name=\"w\"><{long}/></world>"), "longer than 128 bytes");
        check_refused(&format!("<world name=\"w\"><gravity {long}=\"1\"/></world>"), "longer than 128 bytes");
        check_refused(&format!("<world name=\"{long}\"/>"), "a name of at most 128 bytes");
        check_refused(&format!("<world name=\"w\"><{long}></world>"), "longer than 128 bytes");
        check_refused(&format!("<world name=\"w\">&{long};</world>"), "is not known");
        check_refused(&format!("<world name=\"&{long};\"/>"), "is not known");
        check_refused(
            &format!(
                "<robot name=\"R\">{BODY}<sensor type=\"PoseSensor\" name=\"S\" body=\"{long}\" port=\"0\"/></robot>"
            ),
            "a name of at most",
        );
    }
    let digits = "1".repeat(1_000_000);
    check_refused(
        &format!("<world name=\"w\"><object name=\"A\"><mass>{digits}</mass></object></world>"),
        "at most 4096 are read",
    );
    check_refused(&format!("<world name=\"w\"><robot file=\"{digits}\"/></world>"), "at most 4096 are read");
    check_refused(
        &format!("<world name=\"w\"><heightfield width=\"1\" depth=\"1\">1 1\n1 {digits}x</heightfield></world>"),
        "expected a finite number",
    );
}

#[test]
fn control_characters_are_refused_wherever_they_stand() {
    for text in ["<world name='a\u{1b}[31m'/>", "<world name='w'><!-- \0 --></world>", "<world>\u{9b}</world>"] {
        check_refused(text, "control character U+");
        assert!(!refusal(text).to_string().contains(|c: char| c.is_control() && c != '\n'));
    }
    check_refused("<world name='&#27;'/>", "control character U+001B");
    check_refused("<world name='w'>&#x9b;</world>", "control character U+009B");
    check_refused("<world name='w'>&#0;</world>", "is not known");
    assert!(read_text("f.xml", "<world\tname='w'>\r\n</world>").is_ok());
}

#[test]
fn what_is_wrong_many_times_is_counted_and_placed() {
    let text = format!("<world name=\"w\">{}</world>", "<xyzzy/>".repeat(20_000));
    let problems = refusal(&text);
    assert_eq!((problems.problems.len(), problems.more), (50, 19_950));
    let last = &problems.problems[49];
    assert_eq!((last.line, last.column), (1, 17 + 49 * 8));
    // The caret is below the element even if only a part of the line is shown.
    let shown = last.to_string();
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(&lines[1][lines[2].find('^').unwrap()..][..8], "<xyzzy/>", "{shown}");
}

#[test]
fn a_world_is_bounded_however_its_parts_are_spread() {
    let folder = tempfile::tempdir().unwrap();
    let bodies: String = (0..101).map(|index| format!("<body name=\"B{index}\"><mass>1</mass></body>")).collect();
    let joint = |index: usize| {
        format!(
            "<joint type=\"fixed\" name=\"J{index}\"><parent>B{index}</parent><child>B{}</child></joint>",
            index + 1
        )
    };
    let joints: String = (0..100).map(joint).collect();
    fs::write(folder.path().join("r.xml"), format!("<robot name=\"R\">{bodies}{joints}</robot>")).unwrap();
    let scanner = "<sensor type=\"ScannerSensor\" name=\"S\" body=\"B\" port=\"0\" rays=\"1000\" layers=\"100\" verticalHalfAngle=\"1\"/>";
    fs::write(folder.path().join("s.xml"), format!("<robot name=\"R\">{BODY}{scanner}</robot>")).unwrap();
    let path = folder.path().join("w.xml");
    let world = |file: &str, count: usize| {
        let placed: String = (0..count).map(|index| format!("<robot file=\"{file}\" name=\"R{index}\"/>")).collect();
        fs::write(&path, format!("<world>{placed}</world>")).unwrap();
        read_any(&path).map(|_| ())
    };
    assert!(world("r.xml", 99).is_ok());
    assert!(world("r.xml", 100).unwrap_err().to_string().contains("10100 bodies, at most 10000"));
    assert!(world("s.xml", 4).is_ok());
    assert!(world("s.xml", 5).unwrap_err().to_string().contains("500000 rays of scanners, at most 400000"));
}

#[cfg(unix)]
#[test]
fn folders_devices_and_pipes_are_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let write = |name: &str, text: String| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    for (file, words) in [
        (pipe.as_path(), "a device or a pipe"),
        (Path::new("/dev/zero"), "a device or a pipe"),
        (folder.path(), "a folder"),
    ] {
        let name = file.display();
        let texts = [
            format!("<world><robot file=\"{name}\"/></world>"),
            format!("<robot name=\"R\"><include file=\"{name}\"/></robot>"),
            format!("<world><heightfield width=\"1\" depth=\"1\" file=\"{name}\"/></world>"),
        ];
        for (index, text) in texts.into_iter().enumerate() {
            let problems = read_any(&write(&format!("{index}.xml"), text)).unwrap_err().to_string();
            assert!(problems.contains(words), "{problems}");
        }
        assert!(read_any(file).unwrap_err().to_string().contains(words));
    }
    // Its length is not known before it is read.
    let csv = write("h.xml", "<world><heightfield width=\"1\" depth=\"1\" file=\"h.csv\"/></world>".into());
    fs::File::create(folder.path().join("h.csv")).unwrap().set_len(500 << 20).unwrap();
    assert!(read_any(&csv).unwrap_err().to_string().contains("bytes, which are the most that are read"));
}

#[test]
fn heights_stay_heights() {
    let field = |attributes: &str, heights: &str| {
        format!("<world><heightfield width=\"1\" depth=\"1\" {attributes}>{heights}</heightfield></world>")
    };
    check_refused(
        &field("scale=\"1e308\" offset=\"1e308\"", "1e308 1\n1 1"),
        "row 1, column 1 is 1e308 x 1e308 + 1e308 m",
    );
    check_refused(&field("", "1 1\n1 -2e6"), "row 2, column 2");
    assert!(read_text("w.xml", &field("scale=\"1e6\"", "1 1\n1 -1")).is_ok());
}

/// Seconds that reading takes, the least of three times.
fn seconds(read: impl Fn()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        read();
        start.elapsed().as_secs_f64()
    };
    (0..3).map(time).fold(f64::INFINITY, f64::min)
}

/// Makes a file of a given number of parts.
type Maker<'a> = &'a dyn Fn(usize) -> String;

/// Ten times the file may take ten times as long, a hundred times is quadratic; a busy machine gets the room between.
#[test]
fn the_work_grows_as_the_file_does() {
    let body = |index: usize| format!("<body name=\"Body{index}\"><mass>1</mass></body>\n");
    let joint = |kind: &str, index: usize| {
        format!(
            "<joint type=\"fixed\" name=\"J{index}\"><parent>{kind}{index}</parent><child>{kind}{}</child></joint>",
            index + 1
        )
    };
    let all = |count: usize, one: &dyn Fn(usize) -> String| (0..count).map(one).collect::<String>();
    let command =
        |index: usize| format!("<command><port>1027</port><commandString>1,1,{index}</commandString></command>\n");
    let makers: [(&str, usize, Maker<'_>); 7] = [
        ("commands", 3000, &|n| format!("<sequence version=\"1\">\n{}</sequence>", all(n, &command))),
        ("bodies and joints", 400, &|n| {
            format!("<robot name=\"R\">\n{}{}</robot>", all(n + 1, &body), all(n, &|index| joint("Body", index)))
        }),
        ("names that are not there", 400, &|n| {
            format!("<robot name=\"R\">\n{}{}</robot>", all(n, &body), all(n, &|index| joint("Bodi", index)))
        }),
        ("elements that do not belong", 3000, &|n| format!("<world>\n{}</world>", "<xyzzy a='b'/>\n".repeat(n))),
        ("one line", 400, &|n| {
            format!("<world>{}</world>", all(n, &|index| format!("<object name=\"B{index}\"><mass>1</mass></object>")))
        }),
        ("blanks by number", 30_000, &|n| format!("<world>{}</world>", "&#32;".repeat(n))),
        ("placeholders", 10_000, &|n| {
            let values = "${p}".repeat(n);
            format!(
                "<robot name='R'><assembly name='A'><parameter name='p' value='1'/>{BODY}<body name='C'><mass>1</mass>\
                     <convexHull><vertices>{values}</vertices></convexHull></body></assembly><place assembly='A'/></robot>"
            )
        }),
    ];
    for (what, count, make) in makers {
        let (small, large) = (make(count), make(10 * count));
        let time = |text: &str| seconds(|| drop(read_text("f.xml", text)));
        check_grows(what, || time(&large) / time(&small));
    }
}

/// A machine that is busy elsewhere gets five attempts.
#[track_caller]
fn check_grows(what: &str, ratio: impl Fn() -> f64) {
    let ratios: Vec<f64> = (0..5).map(|_| ratio()).take_while(|ratio| *ratio > 45.0).collect();
    assert!(ratios.len() < 5, "{what}: ten times the file takes {ratios:.0?} times as long");
}

#[test]
fn the_work_on_a_grid_grows_as_the_grid_does() {
    let folder = tempfile::tempdir().unwrap();
    let grid = |rows: usize| {
        let heights = "1 2\n".repeat(rows);
        fs::write(folder.path().join("g.asc"), format!("ncols 2\nnrows {rows}\ncellsize 1\n{heights}")).unwrap();
        seconds(|| {
            drop(read_text(folder.path().join("w.xml").to_str().unwrap(), "<world><heightfield file='g.asc'/></world>"))
        })
    };
    check_grows("grid", || grid(20_000) / grid(2_000));
}
