//! `simpartner grasp`: the user's view of the grasp tools. Their computations are tested in their package.

use std::fs;

use serde_json::Value;
use simpartner_description::xml::{read_grasp, write_grasp};
use simpartner_grasp::harker::Harker;

use crate::cli::{Scratch, output, text};

fn shipped(name: &str) -> String {
    format!("{}/worlds/grasps/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn printed(arguments: &[&str]) -> String {
    let ran = output(&[&["grasp"], arguments].concat());
    assert!(ran.status.success(), "{arguments:?}: {}", text(&ran.stderr));
    text(&ran.stdout)
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(&[arguments, &["--json"]].concat())).unwrap()
}

/// The published chart of case 1, from the files of 1994 and from ours, and the corrected one.
#[test]
fn case_1_is_charted_as_in_1994_and_as_it_is() {
    let [object, contacts, ours] = ["1994/mod.txt", "1994/cod.txt", "harker1.xml"].map(shipped);
    for files in [vec![object.as_str(), &contacts], vec![ours.as_str()]] {
        let chart = printed(&[&["chart", "--as-1994"], &files[..]].concat());
        assert!(
            chart.ends_with("Grasp was in equilibrium for 478 out of 820 perturbations of G, (=58.29 percent)\n"),
            "{chart}"
        );
        let forces = printed(&[&["check", "--as-1994"], &files[..]].concat());
        assert!(forces.contains("force (x,y,z) = (-0.009492, 0.000662, 0.002483)"), "{forces}");
        let corrected = printed(&[&["chart", "--as-1994", "--corrected"], &files[..]].concat());
        assert!(corrected.contains("Grasp was in equilibrium for 840 out of 840 "), "{corrected}");
        let exact = json(&[&["chart"], &files[..]].concat());
        assert_eq!((&exact["holds"], &exact["directions"]), (&1.into(), &840.into()));
    }
}

/// The singular matrices of cases 4 to 6 are refused by name, unless they are asked for as they were.
#[test]
fn singular_matrices_are_refused_unless_as_1994() {
    let [object, contacts] = ["1994/mod.txt", "1994/zod2.txt"].map(shipped);
    for verb in ["check", "chart", "quality", "import"] {
        let ran = output(&["grasp", verb, &object, &contacts]);
        let told = text(&ran.stderr);
        assert_eq!(ran.status.code(), Some(3), "{verb}: {told}");
        assert!(told.contains("zod2.txt: contact 2: its matrix [0 0 0; 0 1 1; 1 0 0] is singular"), "{told}");
    }
    assert!(printed(&["check", "--as-1994", &object, &contacts]).contains("not noticed in 1994: contact 1"));
    assert!(printed(&["chart", "--as-1994", &object, &contacts]).contains(" 802 out of 820 "));
}

/// Imported files equal the built-in ones, and have the numbers of 1994.
#[test]
fn the_cases_that_ship_are_what_import_writes() {
    let scratch = Scratch::new();
    for (name, object, contacts) in [
        ("harker1", "mod", "cod"),
        ("harker2", "mod", "fod"),
        ("harker3", "mod", "zod"),
        ("harker4", "mod", "zod2_corrected"),
        ("harker5", "m2n", "zod2_corrected"),
        ("harker6", "m2p", "zod2_corrected"),
        ("harker7", "m2n", "bod"),
        ("harker8", "mod", "bod"),
    ] {
        let [object, contacts] = [object, contacts].map(|file| shipped(&format!("1994/{file}.txt")));
        let path = scratch.path(&format!("{name}.xml"));
        printed(&["import", &object, &contacts, "--output", path.to_str().unwrap()]);
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            fs::read_to_string(shipped(&format!("{name}.xml"))).unwrap(),
            "{name}"
        );
        let read = read_grasp(&path).unwrap();
        let again = Harker::of(&read).unwrap();
        let (mut case, limits) = Harker::read_object(&fs::read_to_string(&object).unwrap()).unwrap();
        case.contacts = Harker::read_contacts(&fs::read_to_string(&contacts).unwrap(), limits).unwrap();
        for (ours, theirs) in again.contacts.iter().zip(&case.contacts) {
            assert_eq!((ours.kind, ours.patch, ours.limits), (theirs.kind, theirs.patch, theirs.limits));
            // Sines and cosines of right angles.
            assert!((ours.matrix - theirs.matrix).to_cols_array().iter().all(|entry| entry.abs() < 1e-15), "{name}");
        }
        assert_eq!((again.gravity, again.centre), (case.gravity, case.centre));
        assert_eq!(write_grasp(&read, "c").lines().count(), fs::read_to_string(&path).unwrap().lines().count());
    }
}

/// A verdict is not an error; the certificate of case 7 is a motion along which its load does more than its contacts
/// take.
#[test]
fn an_impossible_grasp_is_told_with_its_proof() {
    let found = json(&["check", &shipped("harker7.xml")]);
    let proof = &found["certificate"];
    assert_eq!(found["verdict"], "impossible");
    let [load, contacts] = ["load_W", "contacts_at_most_W"].map(|key| proof[key].as_f64().unwrap());
    assert!(load > contacts, "{proof}");
    assert!(
        printed(&["check", &shipped("harker7.xml")])
            .contains("no equilibrium, and this motion of the object proves it")
    );
}

/// Closed forms through the whole program: 9.81 / mu, and half the torsion of two soft fingers.
#[test]
fn the_pinch_has_its_closed_forms() {
    let found = json(&["check", &shipped("pinch.xml")]);
    let squeeze = found["least"]["squeeze_N"].as_f64().unwrap();
    assert!((squeeze - 9.81 / 0.5).abs() < 1e-6, "{squeeze}");
    let found = json(&["quality", &shipped("pinch.xml")]);
    let epsilon = &found["measures"]["epsilon"];
    let [lower, upper] = ["lower", "upper"].map(|key| epsilon[key].as_f64().unwrap());
    assert!(0.0 < lower && lower <= upper && upper - lower <= 1e-3 * upper, "{epsilon}");
}

#[test]
fn a_chart_is_drawn_and_disturbances_are_listed() {
    let scratch = Scratch::new();
    let picture = scratch.path("chart.svg");
    let told = printed(&[
        "chart",
        &shipped("pinch.xml"),
        "--svg",
        picture.to_str().unwrap(),
        "--force",
        "100",
        "--torque",
        "1",
    ]);
    assert!(
        told.contains("a force beside the load, searched up to 100 N") && told.contains("a torque beside the load"),
        "{told}"
    );
    let svg = fs::read_to_string(picture).unwrap();
    assert_eq!(svg.matches("class=\"cell").count(), 840);
}

#[test]
fn calls_that_make_no_sense_are_refused() {
    let pinch = shipped("pinch.xml");
    for (arguments, code, said) in [
        (vec!["check", &pinch, "--edges", "2"], 3, "a friction pyramid has 3 to 360 edges, not 2"),
        (vec!["check", &pinch, "--edges", "8", "--as-1994"], 2, "cannot be used with"),
        (vec!["chart", &pinch, "--tilt", "200"], 2, "expected degrees above 0 and at most 180"),
        (vec!["quality", &pinch, "--torque-scale", "0"], 2, "expected a number above 0"),
        (vec!["check", "nowhere.xml"], 3, "nowhere.xml"),
        (vec!["show", &pinch, "--tilt", "0"], 2, "expected degrees above 0 and at most 180"),
        (vec!["show", &pinch, "--port", "65536"], 2, "65536"),
        (vec!["show", &pinch, "--output", "x.html", "--port", "8080"], 2, "cannot be used with"),
        (vec!["show", &pinch, "--output", "x.html", "--json"], 2, "cannot be used with"),
        (vec!["show", &pinch, "--edges", "1", "--json"], 3, "a friction pyramid has 3 to 360 edges, not 1"),
        (vec!["show", "nowhere.xml"], 3, "nowhere.xml"),
        (vec!["check", &pinch, &pinch], 3, "line 1: the tolerance: expected a number"),
    ] {
        let ran = output(&[&["grasp"], &arguments[..]].concat());
        let told = text(&ran.stderr);
        assert!(ran.status.code() == Some(code) && told.contains(said), "{arguments:?}: {told}");
    }
}

/// Without gravity's share that friction carries, 9.81 m/s² - 2.37 N / 1 kg, the cube falls out of its patches of 20 mm
/// in 0.0733 s.
#[test]
fn a_weak_pinch_slips_out_in_the_time_of_its_closed_form() {
    let scratch = Scratch::new();
    let strong = fs::read_to_string(shipped("pinch.xml")).unwrap();
    let patch = "<patch range=\"0.02\"/></contact>";
    let weak = strong.replace("maxForce=\"40\"", "maxForce=\"2.37\"").replace("</contact>", patch);
    let found = json(&["slip", &scratch.write("weak.xml", &weak)]);
    let time = found["time_s"].as_f64().unwrap();
    assert_eq!(found["verdict"], "fails");
    assert!((time - 0.0733).abs() < 1e-3, "{time}");
    assert!(printed(&["slip", &shipped("pinch.xml")]).contains("it holds, and never moves"));
}

/// A weak pinch falls in the same time in the engine, and the world that is written falls as the engine's does.
#[test]
fn a_slip_in_the_engine_agrees_and_its_world_runs() {
    let scratch = Scratch::new();
    let weak = fs::read_to_string(shipped("pinch.xml"))
        .unwrap()
        .replace("maxForce=\"40\"", "maxForce=\"2.37\"")
        .replace("type=\"soft\"", "type=\"frictional\"")
        .replace(" radius=\"0.01\"", "")
        .replace("</contact>", "<patch xx=\"-0.5\" range=\"0.02\"/></contact>");
    let (weak, world) = (scratch.write("weak.xml", &weak), scratch.path("world.xml"));
    let found = json(&["slip", &weak, "--engine", "--world", world.to_str().unwrap()]);
    let engine = &found["engine"];
    assert_eq!(
        (&found["verdict"], &engine["verdict"], &engine["agrees"]),
        (&"fails".into(), &"fails".into(), &true.into())
    );
    assert!(engine["soft_fingers_inner_bound"].is_null());
    assert!((found["time_s"].as_f64().unwrap() - engine["time_s"].as_f64().unwrap()).abs() < 2e-3, "{found}");
    let associated = json(&["slip", &weak, "--associated"]);
    assert_eq!(associated["verdict"], "fails");
    let told = printed(&["slip", &weak, "--engine"]);
    assert!(
        told.contains("in the engine: it fails: 'Thumb' is beyond its patch")
            && told.ends_with("  both results agree\n"),
        "{told}"
    );
    // The written file, in the engine, compared step by step with the verb's centre of mass.
    let read = simpartner_description::xml::read_world(&world).unwrap();
    let timestep = simpartner_model::Timestep::MILLISECOND;
    let settings = simpartner_dynamics::Settings::default();
    let mut again = simpartner_dynamics::build(&read.mechanism, timestep, &settings).unwrap();
    let cube = read.mechanism.body_named(None, "Cube").unwrap();
    for place in engine["centre_of_mass"].as_array().unwrap().iter().skip(1) {
        again.step();
        let there = again.body(cube).pose.translation;
        for (axis, value) in there.to_array().into_iter().enumerate() {
            let expected = place[axis + 1].as_f64().unwrap();
            // Angles in the file, quaternions in the verb.
            assert!((value - expected).abs() < 1e-9, "{place} {there}");
        }
    }
    assert!(output(&["check", world.to_str().unwrap()]).status.success());
}

/// For soft fingers, the engine limits friction and torsion separately: both bounds are printed.
#[test]
fn soft_fingers_are_bounded_from_both_sides_in_the_engine() {
    let found = json(&["slip", &shipped("pinch.xml"), "--engine"]);
    let engine = &found["engine"];
    assert_eq!(
        (&engine["verdict"], &engine["soft_fingers_inner_bound"]["verdict"]),
        (&"holds".into(), &"holds".into())
    );
    let scratch = Scratch::new();
    // 2 mu F between 9.81 N and 9.81 N times the root of 2: by one bound it holds, by the other it drops.
    let between = fs::read_to_string(shipped("pinch.xml")).unwrap().replace("maxForce=\"40\"", "maxForce=\"11\"");
    let between = between.replace("</contact>", "<patch range=\"0.02\"/></contact>");
    let told = printed(&["slip", &scratch.write("between.xml", &between), "--engine"]);
    assert!(told.contains("the engine's result is undecided"), "{told}");
}

#[test]
fn what_the_engine_cannot_represent_is_refused_by_name() {
    let scratch = Scratch::new();
    let pinch = fs::read_to_string(shipped("pinch.xml")).unwrap();
    let bent = pinch.replace("</contact>", "<patch xx=\"2\"/></contact>");
    let bulging = pinch.replace("</contact>", "<patch xx=\"1e6\" range=\"0.1\"/></contact>");
    let contact = |k: usize| {
        format!("<contact name=\"F{k}\" type=\"frictionless\"><pose x=\"-0.05\"/><normal x=\"1\"/></contact>")
    };
    let many = pinch.replace("</grasp>", &(0..15).map(contact).chain(["</grasp>".to_owned()]).collect::<String>());
    let loaded = pinch.replace("  <contact name=\"Thumb\"", "  <load x=\"1\"/>\n  <contact name=\"Thumb\"");
    for (grasp, flag, said) in [
        (
            &bent,
            "--engine",
            "in the engine: the curved patch of 'Thumb' has no end, and the engine needs one: give its <patch> a range",
        ),
        (&bulging, "--engine", "in the engine: the patch of 'Thumb' is too curved for 160 x 160 cells of triangles"),
        (&many, "--engine", "in the engine: the engine's collision filters tell 16 fingers apart, not 17"),
        (&loaded, "--world=x.xml", "a world has no <load>"),
    ] {
        let ran = output(&["grasp", "slip", &scratch.write("grasp.xml", grasp), flag]);
        let told = text(&ran.stderr);
        assert!(ran.status.code() == Some(3) && told.contains(said), "{flag}: {told}");
    }
}

/// Results of all verbs become rows of one table, which `query` reads although there is no run.
#[test]
fn answers_are_kept_in_a_database_where_one_is_named() {
    let scratch = Scratch::new();
    let url = format!("sqlite:{}", scratch.path("log.db").display());
    let (pinch, object, contacts) = (shipped("pinch.xml"), shipped("1994/mod.txt"), shipped("1994/fod.txt"));
    let checked = json(&["check", &pinch, "--database", &url]);
    printed(&["chart", &pinch, "--database", &url]);
    printed(&["quality", &pinch, "--database", &url]);
    printed(&["slip", &pinch, "--database", &url]);
    printed(&["check", &object, &contacts, "--as-1994", "--database", &url]);
    let ask = |sql: &str| {
        let ran = output(&["query", "last", sql, "--database", &url, "--format", "json"]);
        assert!(ran.status.success(), "{}", text(&ran.stderr));
        serde_json::from_slice::<Value>(&ran.stdout).unwrap()
    };
    let rows = ask("SELECT * FROM grasp ORDER BY graspID");
    let column = |name: &str| rows.as_array().unwrap().iter().map(|row| row[name].clone()).collect::<Vec<_>>();
    assert_eq!(column("verb"), ["check", "chart", "quality", "slip", "check"]);
    assert_eq!(column("verdict"), ["holds", "", "", "holds", "holds"]);
    assert_eq!(column("name"), ["pinch", "pinch", "pinch", "pinch", ""]);
    assert_eq!(rows[0]["margin"], checked["margin_N"]);
    let answer: Value = serde_json::from_str(rows[0]["answer"].as_str().unwrap()).unwrap();
    assert_eq!(answer, checked);
    assert_eq!(rows[0]["blake3"], blake3::hash(&fs::read(&pinch).unwrap()).to_hex().as_str());
    let both = [fs::read(&object).unwrap(), fs::read(&contacts).unwrap()].concat();
    assert_eq!(rows[4]["blake3"], blake3::hash(&both).to_hex().as_str());
    let epsilon = ["epsilon_lower", "epsilon_upper"].map(|name| rows[2][name].as_f64().unwrap());
    assert!(0.0 < epsilon[0] && epsilon[0] <= epsilon[1] && rows[0]["epsilon_lower"].is_null());
    let all = [&rows[1]["solid_angle"], &rows[1]["safe_tilt"], &rows[3]["slip_time"], &rows[3]["slip_path"]];
    assert!(all.iter().all(|figure| figure.is_number()), "{all:?}");
    let nowhere = output(&["grasp", "check", &pinch, "--database", "nonsense"]);
    assert!(text(&nowhere.stderr).contains("expected a database address"), "{}", text(&nowhere.stderr));
}

/// The program has the grasps of the repository in it, as it has worlds and robots.
#[test]
fn shipped_grasps_are_built_in() {
    let scratch = Scratch::new();
    let ran = std::process::Command::new(env!("CARGO_BIN_EXE_simpartner"))
        .args(["grasp", "check", "worlds/grasps/pinch.xml"])
        .current_dir(scratch.path("."))
        .output()
        .unwrap();
    assert!(ran.status.success() && text(&ran.stdout).contains("in equilibrium"), "{}", text(&ran.stderr));
}

/// The numbers of a list in JSON.
fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().unwrap_or_else(|| panic!("no list: {list}")).iter().map(|number| number.as_f64().unwrap()).collect()
}

fn dot(one: &Value, other: &Value) -> f64 {
    numbers(one).iter().zip(numbers(other)).map(|(one, other)| one * other).sum()
}

fn close(one: f64, other: f64, what: &str) {
    assert!((one - other).abs() <= 1e-9 * (1.0 + other.abs()), "{what}: {one} and {other}");
}

/// The page shows the numbers of the other verbs, for every built-in grasp.
#[test]
fn the_scene_of_a_grasp_has_the_forces_of_check_and_the_cells_of_chart() {
    for name in (1..=8).map(|case| format!("harker{case}.xml")).chain(["pinch.xml".into()]) {
        let file = shipped(&name);
        let [scene, checked, charted] = ["show", "check", "chart"].map(|verb| json(&[verb, &file]));
        let grasp = read_grasp(file.as_ref()).unwrap();
        let (state, contacts) = (&scene["check"], scene["contacts"].as_array().unwrap());
        assert_eq!(state["verdict"], checked["verdict"], "{name}");
        for (told, contact) in contacts.iter().zip(&grasp.contacts) {
            let half_angle = told["half_angle"].as_f64().unwrap();
            close(half_angle.tan(), contact.kind.friction(), &name);
            assert_eq!(told["radius"].is_null(), contact.kind.word() != "soft", "{name}");
            let position = grasp.object.pose.point(contact.position()).to_array();
            assert_eq!(
                (numbers(&told["position"]), told["kind"].as_str()),
                (position.to_vec(), Some(contact.kind.word()))
            );
            for (one, other) in [(&told["normal"], &told["tangents"][0]), (&told["tangents"][0], &told["tangents"][1])]
            {
                assert!(dot(one, other).abs() < 1e-12 && (dot(one, one) - 1.0).abs() < 1e-12, "{name}: {told}");
            }
        }
        if let Some(least) = checked["least"]["contacts"].as_array() {
            for ((force, told), contact) in state["forces"].as_array().unwrap().iter().zip(least).zip(contacts) {
                let force = numbers(force);
                close(force[0], told["normal_N"].as_f64().unwrap(), &name);
                assert_eq!(force[1..3], numbers(&told["tangent_N"]), "{name}");
                for axis in 0..3 {
                    let along = |vector: &Value| vector[axis].as_f64().unwrap();
                    let total = force[0] * along(&contact["normal"])
                        + force[1] * along(&contact["tangents"][0])
                        + force[2] * along(&contact["tangents"][1]);
                    close(total, along(&told["force_N"]), &name);
                }
            }
            close(state["squeeze"].as_f64().unwrap(), checked["least"]["squeeze_N"].as_f64().unwrap(), &name);
        } else {
            // Along the motion that proves it, the work of the breaking load equals the excess of the load over the
            // contacts.
            let (excess, motion) = (&state["excess"], &state["motion"]);
            let power =
                dot(&excess["force"], &motion["velocity"]) + dot(&excess["torque"], &motion["angular_velocity"]);
            close(power, checked["certificate"]["gap_W"].as_f64().unwrap(), &name);
        }
        // The chart derives the forces of a cell from its neighbour's, and the scene solves each cell: cells at the
        // limit may be undecided in one of them.
        let rows = scene["chart"]["rows"].as_array().unwrap();
        for (row, told) in rows.iter().zip(charted["rows"].as_array().unwrap()) {
            for (state, verdict) in row.as_array().unwrap().iter().zip(told["cells"].as_array().unwrap()) {
                let open = [&state["verdict"], verdict].iter().any(|verdict| **verdict == "undecided");
                assert!(open || state["verdict"] == *verdict, "{name}: {state} {verdict}");
            }
        }
        assert_eq!((rows.len(), rows[0].as_array().unwrap().len(), rows[20].as_array().unwrap().len()), (21, 1, 40));
    }
}

#[test]
fn a_grasp_without_gravity_is_shown_without_a_chart_and_its_page_is_one_file() {
    let scratch = Scratch::new();
    let text_of = fs::read_to_string(shipped("pinch.xml")).unwrap();
    let floating =
        text_of.replace("<object name=\"Cube\">", "<gravity x=\"0\" y=\"0\" z=\"0\"/><object name=\"Cube\">");
    let floating = scratch.write("floating.xml", &floating);
    let scene = json(&["show", &floating]);
    assert!(scene["chart"].is_null() && scene["check"]["verdict"] == "holds", "{scene}");
    let page = scratch.path("page.html");
    let ran = output(&["grasp", "show", &floating, "-o", page.to_str().unwrap()]);
    match ran.status.success() {
        true => {
            let html = fs::read_to_string(&page).unwrap();
            assert!(html.contains("id=\"scene\"") && html.contains("<title>pinch - SimPartner</title>"));
            // It makes no requests: no element has an address.
            assert!(!html.contains("src=") || !html.contains("src=\"http"), "it loads something");
        }
        false => assert!(text(&ran.stderr).contains("built without its page"), "{}", text(&ran.stderr)),
    }
    let nowhere = output(&["grasp", "show", &floating, "-o", "/nowhere/page.html"]);
    assert_eq!(nowhere.status.code(), Some(3));
}
