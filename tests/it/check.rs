//! `check` and `run` agree on worlds that can be simulated, and warn about probable mistakes.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::Arc,
};

use simpartner::sim::{self, Simulation};
use simpartner_description::{
    World,
    xml::{Document, read_any, read_text},
};
use simpartner_dynamics::Settings;
use simpartner_model::Timestep;
use simpartner_wire::signal::StepRecord;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Calls the binary in a folder.
fn call(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_simpartner"));
    command.args(arguments).env_remove("RUST_LOG").current_dir(folder).output().unwrap()
}

/// Exit codes and messages of `check` and of a run of one step of a world.
fn both(folder: &Path, file: &str) -> [(i32, String); 2] {
    let run = ["run", "--world", file, "--mode", "fast", "--duration", "0.001", "--database", "none"];
    [call(folder, &["check", file]), call(folder, &run)]
        .map(|output| (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).trim_end().to_owned()))
}

fn world(text: &str) -> World {
    match read_text("w.xml", text).unwrap_or_else(|problems| panic!("{problems}\n{text}")) {
        Document::World(world) => world,
        other => panic!("{other:?}"),
    }
}

fn warnings(text: &str) -> Vec<String> {
    sim::warnings(&world(text), false).unwrap().iter().map(ToString::to_string).collect()
}

/// A world of this content on level ground warns once, in these words, at this line; on `repaired` content it does not.
#[track_caller]
fn check_warns(content: &str, repaired: &str, line: usize, words: &str) {
    let ground = |content: &str| format!("<world name=\"w\"><surface/>\n{content}\n</world>");
    let told = warnings(&ground(content));
    assert!(told.len() == 1 && told[0].contains(words), "{told:#?}");
    assert!(told[0].starts_with(&format!("w.xml:{line}:")), "{told:#?}");
    assert_eq!(warnings(&ground(repaired)), Vec::<String>::new());
}

fn crate_at(name: &str, x: f64, y: f64) -> String {
    format!(
        "<object name=\"{name}\"><mass>5</mass><pose x=\"{x}\" y=\"{y}\"/><box x=\"1\" y=\"1\" z=\"1\"/></object>\n"
    )
}

#[test]
fn overlaps_are_warned_of_unless_a_joint_joins() {
    let two = [crate_at("A", 0.0, 0.5), crate_at("B", 0.7, 0.5)].concat();
    let apart = [crate_at("A", 0.0, 0.5), crate_at("B", 1.0, 0.5)].concat();
    check_warns(&two, &apart, 3, "'B' and 'A' (w.xml:2:1) overlap by 0.300 m at the start");
    let joined = format!("{two}<joint type=\"fixed\" name=\"J\"><parent>A</parent><child>B</child></joint>");
    check_warns(&two, &joined, 3, "overlap");
    let ball = |name: &str, x: f64| {
        format!("<object name=\"{name}\"><mass>1</mass><pose x=\"{x}\" y=\"0.5\"/><sphere radius=\"0.5\"/></object>\n")
    };
    // Two objects whose <pose> was forgotten.
    check_warns(
        &[ball("A", 0.0), ball("B", 0.0)].concat(),
        &[ball("A", 0.0), ball("B", 1.0)].concat(),
        3,
        "overlap by 1.000 m",
    );
}

#[test]
fn what_begins_in_the_ground_is_warned_of() {
    check_warns(&crate_at("A", 0.0, 0.4), &crate_at("A", 0.0, 0.5), 2, "'A' begins 0.100 m deep in the ground");
    check_warns(&crate_at("A", 0.0, -7.0), &crate_at("A", 0.0, 7.0), 2, "'A' begins 7.500 m deep in the ground");
    // Terrain is a surface without an inside.
    let terrain = |y: f64| {
        let crates = crate_at("A", 0.0, y);
        format!("<world name=\"w\"><heightfield width=\"9\" depth=\"9\">2 2\n2 2</heightfield>\n{crates}</world>")
    };
    let told = warnings(&terrain(-3.0));
    assert!(told[0].contains("'A' begins 5.000 m deep in the ground"), "{told:?}");
    assert_eq!(warnings(&terrain(2.5)), Vec::<String>::new());
    // Fixed bodies may overlap the ground.
    let wall = "<object name=\"W\"><static>true</static><box x=\"1\" y=\"1\" z=\"1\"/></object>";
    assert_eq!(warnings(&format!("<world><surface/>{wall}</world>")), Vec::<String>::new());
}

#[test]
fn what_falls_for_ever_is_warned_of() {
    let told = warnings(&format!("<world name=\"w\">\n{}</world>", crate_at("A", 0.0, 0.5)));
    assert!(told.len() == 1 && told[0].contains("there is no ground"), "{told:?}");
    assert_eq!(
        warnings(&format!("<world><gravity y=\"0\"/>{}</world>", crate_at("A", 0.0, 0.5))),
        Vec::<String>::new()
    );
    let table = "<object name=\"T\"><static>true</static><box x=\"1\" y=\"1\" z=\"1\"/></object>\n";
    let beside = warnings(&format!("<world>\n{table}{}</world>", crate_at("A", 3.0, 1.0)));
    assert!(beside.len() == 1 && beside[0].contains("nothing is below 'A'"), "{beside:?}");
    assert_eq!(warnings(&format!("<world>{table}{}</world>", crate_at("A", 0.2, 4.0))), Vec::<String>::new());
    check_warns(
        "<object name=\"P\"><mass>1</mass><pose y=\"1\"/></object>",
        "",
        2,
        "'P' has no shape, so it falls through",
    );
}

#[test]
fn masses_and_sizes_out_of_proportion_are_warned_of() {
    let pair = |mass: &str| {
        format!(
            "<object name=\"A\"><mass>50</mass><pose y=\"0.5\"/><box x=\"1\" y=\"1\" z=\"1\"/></object>\n\
             <object name=\"B\"><mass>{mass}</mass><pose y=\"1.1\"/><box x=\"0.2\" y=\"0.2\" z=\"0.2\"/></object>\n\
             <joint type=\"hinge\" name=\"J\"><parent>A</parent><child>B</child></joint>"
        )
    };
    check_warns(&pair("0.001"), &pair("1"), 3, "their masses are 50000 to 1");
    // A body between two joints may have no mass.
    let between = |mass: &str| {
        format!(
            "<object name=\"A\"><mass>50</mass><pose y=\"0.5\"/><box x=\"1\" y=\"1\" z=\"1\"/></object>\n\
             <object name=\"B\"><mass>{mass}</mass><pose y=\"1.1\"/></object>\n\
             <joint type=\"hinge\" name=\"J\"><parent>A</parent><child>B</child></joint>"
        )
    };
    check_warns(&between("0.001"), &between("1e-12"), 3, "their masses are 50000 to 1");
    let ball = |mass: &str, radius: &str, y: &str| {
        format!("<object name=\"A\"><mass>{mass}</mass><pose y=\"{y}\"/><sphere radius=\"{radius}\"/></object>")
    };
    check_warns(&ball("500", "0.02", "0.02"), &ball("0.5", "0.02", "0.02"), 2, "denser than any metal");
    check_warns(&ball("1", "50", "50"), &ball("1", "0.05", "0.05"), 2, "thinner than a hundredth of air");
}

/// A cart of a hull and wheels at these heights.
fn cart(hull: f64, wheels: [f64; 4]) -> World {
    let mut text = format!(
        "<robot name=\"Cart\">\n<body name=\"Hull\"><mass>5</mass><pose y=\"{hull}\"/><box x=\"1\" y=\"0.1\" z=\"0.3\"/></body>\n"
    );
    for (index, height) in wheels.into_iter().enumerate() {
        let (x, z) = (if index < 2 { -0.4 } else { 0.4 }, if index % 2 == 0 { -0.2 } else { 0.2 });
        text += &format!(
            "<body name=\"W{index}\"><mass>1</mass><pose x=\"{x}\" y=\"{height}\" z=\"{z}\"/><cylinder radius=\"0.1\" length=\"0.05\" axis=\"z\"/></body>\n\
             <joint type=\"hinge\" name=\"J{index}\"><parent>Hull</parent><child>W{index}</child></joint>\n\
             <actuator type=\"JointController\" name=\"M{index}\" joint=\"J{index}\" port=\"0\"/>\n"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("cart.xml"), text + "</robot>").unwrap();
    let path = folder.path().join("w.xml");
    fs::write(&path, "<world><surface/><robot file=\"cart.xml\"/></world>").unwrap();
    match read_any(&path).unwrap() {
        Document::World(world) => world,
        other => panic!("{other:?}"),
    }
}

#[test]
fn wheels_and_robots_in_the_air_are_warned_of() {
    let told = |hull, wheels| -> Vec<String> {
        sim::warnings(&cart(hull, wheels), false).unwrap().into_iter().map(|warning| warning.what).collect()
    };
    assert_eq!(told(0.2, [0.1; 4]), Vec::<String>::new());
    assert_eq!(
        told(0.2, [0.1, 0.1, 0.1, 0.13]),
        ["wheel 'Cart/W3' begins 0.030 m above what is below it, so it drives nothing"]
    );
    assert_eq!(told(0.05, [0.2; 4]).len(), 4, "it stands on its hull");
    assert_eq!(told(0.5, [0.4; 4]), ["robot 'Cart' begins 0.300 m above what is below it, and falls onto it"]);
}

#[test]
fn no_shipped_file_is_warned_of() {
    let mut seen = 0;
    for folder in ["worlds", "robots"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "xml") {
                continue;
            }
            let document = read_any(&path).unwrap();
            let alone = matches!(document, Document::Robot(_));
            if let Document::World(world) | Document::Robot(world) = document {
                assert_eq!(sim::warnings(&world, alone).unwrap(), Vec::new(), "{}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen >= 15, "{seen}");
}

#[test]
fn check_and_run_refuse_the_same_in_the_same_words() {
    let folder = tempfile::tempdir().unwrap();
    let object = |shape: &str| {
        format!("<world name=\"w\">\n<surface/>\n  <object name=\"A\"><mass>1</mass>{shape}</object>\n</world>")
    };
    let mesh = |triangles: &str| {
        let vertices = "0 0 0 1 0 0 0 1 0 0 0 1";
        object(&format!(
            "<triangleMesh><vertices>{vertices}</vertices><triangles>{triangles}</triangles></triangleMesh>"
        ))
    };
    let flat = mesh("0 1 2");
    let open = mesh("0 2 1 0 1 3 0 3 2");
    for text in [&flat, &open] {
        fs::write(folder.path().join("w.xml"), text).unwrap();
        let [check, run] = both(folder.path(), "w.xml");
        assert_eq!(check, run);
        assert_eq!(check.0, 3);
        assert!(
            check.1.starts_with("w.xml:3:3: the triangleMesh is not closed") && check.1.contains("\n    ^"),
            "{}",
            check.1
        );
    }
    fs::write(folder.path().join("w.xml"), mesh("0 2 1 0 1 3 0 3 2 1 2 3")).unwrap();
    let [check, run] = both(folder.path(), "w.xml");
    assert_eq!((check.0, run.0), (0, 0), "{}{}", check.1, run.1);
    // A warning is printed by both, and is an error only with --strict.
    fs::write(folder.path().join("w.xml"), object("<pose y=\"-1\"/><sphere radius=\"0.1\"/>")).unwrap();
    let [check, run] = both(folder.path(), "w.xml");
    assert_eq!((check.0, run.0), (0, 0));
    assert!(check.1.contains("w.xml:3:3: warning: 'A' begins") && run.1.contains("'A' begins"), "{}{}", check.1, run.1);
    assert_eq!(call(folder.path(), &["check", "--strict", "w.xml"]).status.code(), Some(3));
    let json = call(folder.path(), &["check", "--format", "json", "w.xml"]).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["files"][0]["warnings"][0]["place"], "w.xml:3:3");
}

#[test]
fn a_sequence_is_checked_with_the_world_it_is_for() {
    let check = |arguments: &[&str]| call(&root(), &[&["check"], arguments].concat());
    assert_eq!(check(&["robots/circle.xml"]).status.code(), Some(0));
    assert_eq!(check(&["--world", "worlds/flat.xml", "robots/circle.xml"]).status.code(), Some(0));
    let wrong = check(&["--world", "worlds/square.xml", "robots/circle.xml"]);
    assert_eq!(wrong.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("no device of this world has port"));
}

#[test]
fn angles_in_degrees_are_recognised() {
    let sensor = |angle: &str| {
        let text = format!(
            "<robot name=\"R\"><body name=\"B\"><mass>1</mass></body>\n\
             <sensor type=\"ScannerSensor\" name=\"S\" body=\"B\" port=\"0\" halfAngle=\"{angle}\"/></robot>"
        );
        read_text("r.xml", &text).map(|_| ()).map_err(|problems| problems.to_string())
    };
    assert!(sensor("3.14159265").is_ok() && sensor("3.141592653589793").is_ok());
    let above = sensor("3.1416").unwrap_err();
    assert!(above.contains("at most pi = 3.14159265, got '3.1416'"), "{above}");
    let degrees = sensor("90").unwrap_err();
    assert!(degrees.contains("help: angles are in radians: 90 degrees are 1.57079632"), "{degrees}");
    // Values within the bounds that still cause a warning.
    check_warns(
        &crate_at("A", 0.0, 0.5).replace("y=\"0.5\"", "y=\"0.5\" pitch=\"90\""),
        &crate_at("A", 0.0, 0.5).replace("y=\"0.5\"", "y=\"0.5\" pitch=\"1.57079632\""),
        2,
        "attribute 'pitch': 90 rad are 14.3 turns; angles are in radians: 90 degrees are 1.57079632",
    );
}

/// One of every shape, joint and device.
const EVERYTHING: &str = r#"<robot name="R" selfCollision="true">
<body name="A"><mass>5</mass><pose y="1"/><box x="0.4" y="0.2" z="0.3"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0.01"/></body>
<body name="B"><mass>1</mass><pose x="1" y="1" roll="0.3"/><sphere radius="0.1"/><material friction="0.5" rollingFriction="0.01"/></body>
<body name="C"><mass>1</mass><pose x="2" y="1"/><cylinder radius="0.1" length="0.2" axis="z"/></body>
<body name="D"><mass>1</mass><pose x="3" y="1"/><capsule radius="0.1" length="0.2"/></body>
<body name="E"><mass>1</mass><pose x="4" y="1"/><cone radius="0.1" length="0.2"/><collision><sphere radius="0.1"/></collision></body>
<body name="F"><mass>1</mass><pose x="5" y="1"/><convexHull><vertices>0 0 0 1 0 0 0 1 0 0 0 1</vertices></convexHull></body>
<body name="G"><mass>1</mass><pose x="6" y="1"/><triangleMesh><vertices>0 0 0 1 0 0 0 1 0 0 0 1</vertices><triangles>0 2 1 0 1 3 0 3 2 1 2 3</triangles></triangleMesh></body>
<body name="H"><mass>1</mass><pose x="8" y="1"/><compound><box x="0.1" y="0.1" z="0.1"/><sphere radius="0.1"><pose x="0.2"/></sphere></compound></body>
<body name="I"><mass>1</mass><pose x="9" y="1"/></body>
<body name="J"><mass>1</mass><pose x="10" y="1"/></body>
<joint type="hinge" name="J1"><parent>A</parent><child>B</child><axis y="1"/><free lower="-1" upper="1" damping="0.1" friction="0.1"/></joint>
<joint type="slider" name="J2"><parent>B</parent><child>C</child><anchor x="1.5" y="1"/></joint>
<joint type="ball" name="J3"><parent>C</parent><child>D</child><free swing="1" lower="-0.5" upper="0.5" damping="0.1"/></joint>
<joint type="universal" name="J4"><parent>D</parent><child>E</child><axis1 x="1"/><axis3 z="1"/></joint>
<joint type="constrained" name="J5"><parent>E</parent><child>F</child><free axis="1"/><free axis="2" stiffness="5" springPosition="0.1"/></joint>
<joint type="fixed" name="J6"><parent>F</parent><child>G</child></joint>
<joint type="hinge" name="J7"><parent>G</parent><child>H</child><free axis="3" armature="0.1"/></joint>
<joint type="cylindrical" name="J8"><parent>H</parent><child>I</child><axis y="1"/><free axis="2" lower="-0.1" upper="0.1"/></joint>
<joint type="planar" name="J9"><parent>I</parent><child>J</child><axis1 x="1"/><axis3 y="1"/><free axis="3" damping="0.1"/></joint>
<sensor type="EchoSensor" name="S1" body="A" port="2001"/>
<sensor type="PoseSensor" name="S2" body="B" port="2002" rate="10"><pose x="0.1"/><noise of="position" standardDeviation="0.02"/></sensor>
<sensor type="ImuSensor" name="S3" body="A" port="2003" latency="0.005" dropout="0.1"/>
<sensor type="GnssSensor" name="S4" body="A" port="2004"/>
<sensor type="CompassSensor" name="S5" body="A" port="2005"/>
<sensor type="DistanceSensor" name="S6" body="A" port="2006" range="4"/>
<sensor type="ScannerSensor" name="S7" body="A" port="2007" rays="9" halfAngle="1.5" layers="3" verticalHalfAngle="0.2"/>
<sensor type="ContactSensor" name="S8" body="A" port="2008" frame="world"/>
<sensor type="BumperSensor" name="S9" body="A" port="2009" threshold="5"/>
<sensor type="JointEncoder" name="S10" joint="J1" port="2010"/>
<sensor type="ForceTorqueSensor" name="S11" joint="J6" port="2011" frame="child"/>
<sensor type="VelocitySensor" name="S12" body="A" port="2012" frame="sensor"/>
<actuator type="JointController" name="A1" joint="J1" port="2021" watchdog="0.5" onTimeout="brake"><motor stallTorque="0.5" noLoadSpeed="300" gearRatio="50"/></actuator>
<actuator type="AngleController" name="A2" joint="J4" port="2022" p="8" i="1"/>
<actuator type="EffortController" name="A3" joint="J5" port="2023"/>
<actuator type="PositionController" name="A4" joint="J2" port="2024"/>
</robot>
"#;

/// Random numbers from xorshift, without dependencies.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most as u64) as usize
    }
}

/// The text with one to three of its values replaced by invalid ones, or with an element removed.
fn mutated(chance: &mut Chance) -> String {
    const VALUES: [&str; 16] = [
        "0", "-1", "1e308", "-1e308", "1e-308", "nan", "", "A", "J1", "2001", "1e6", "1e-9", "90", "0.5", "3",
        "0 0 0 0",
    ];
    let mut text = EVERYTHING.to_owned();
    for _ in 0..=chance.below(3) {
        if chance.below(8) == 0 {
            let mut lines: Vec<&str> = text.lines().collect();
            let line = 1 + chance.below(lines.len() - 2);
            lines.remove(line);
            text = lines.join("\n");
            continue;
        }
        let values: Vec<(usize, usize)> =
            text.match_indices("=\"").map(|(at, _)| (at + 2, at + 2 + text[at + 2..].find('"').unwrap())).collect();
        let (start, end) = values[chance.below(values.len())];
        text.replace_range(start..end, VALUES[chance.below(VALUES.len())]);
    }
    text
}

fn long() -> bool {
    std::env::var_os("SIMPARTNER_LONG_TESTS").is_some()
}

/// Every world that the reader accepts is built or refused with its position, and can be displayed and stepped.
#[test]
fn what_is_read_is_simulated_or_refused() {
    let mut chance = Chance(0x9E37_79B9_7F4A_7C15);
    let count = if long() { 5000 } else { 150 };
    let (mut read, mut built) = (0, 0);
    for _ in 0..count {
        let text = mutated(&mut chance);
        let Ok(Document::Robot(world)) = read_text("r.xml", &text) else { continue };
        read += 1;
        let world = Arc::new(world);
        match Simulation::new(Arc::clone(&world), Timestep::MILLISECOND, Settings::default()) {
            Ok(mut simulation) => {
                built += 1;
                sim::warnings(&world, false).unwrap();
                let mut record = StepRecord::new(simulation.layout());
                simulation.step(&mut record);
            }
            Err(error) => assert_eq!(error.place.split(':').count(), 3, "{error}"),
        }
    }
    assert!(read > count / 10 && built > count / 10 && read < count, "{built} built, {read} read of {count}");
}

#[test]
fn what_check_takes_run_starts() {
    let mut chance = Chance(0xD1B5_4A32_D192_ED03);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("w.xml"), "<world name=\"w\"><surface/><robot file=\"r.xml\"/></world>").unwrap();
    let mut codes = [0; 2];
    for _ in 0..if long() { 700 } else { 10 } {
        let text = mutated(&mut chance);
        fs::write(folder.path().join("r.xml"), &text).unwrap();
        let [check, run] = both(folder.path(), "w.xml");
        // A world that starts may diverge in its first step.
        assert!(matches!(check.0, 0 | 3) && matches!(run.0, 0 | 3 | 5), "{check:?} {run:?}\n{text}");
        assert_eq!(check.0 == 0, run.0 != 3, "{check:?} {run:?}\n{text}");
        codes[usize::from(check.0 == 0)] += 1;
    }
    assert!(codes.iter().all(|count| *count > 0), "{codes:?}");
}
