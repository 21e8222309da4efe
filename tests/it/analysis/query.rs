//! `query`, `runs` and `plot`.

use std::path::Path;

use super::{BODIES, JOINTS, Logs, STEPS, python, python_has, simpartner, text};
use crate::xml::assert_current;

#[test]
fn an_answer_comes_as_a_table_as_csv_and_as_json() {
    let logs = Logs::shared();
    let sql = "SELECT step, simulationTime AS t, 'a, \"b\"' AS text, NULL AS none FROM simulationRow WHERE step < 3 ORDER BY step";
    let table = "step  t      text    none\n----  -----  ------  ----\n1     0.001  a, \"b\"\n2     0.002  a, \"b\"\n";
    assert_eq!(logs.printed(&["query", "1", sql]), table);
    let csv = "step,t,text,none\n1,0.001,\"a, \"\"b\"\"\",\n2,0.002,\"a, \"\"b\"\"\",\n";
    assert_eq!(logs.printed(&["query", "1", sql, "--format", "csv"]), csv);
    let json: serde_json::Value =
        serde_json::from_str(&logs.printed(&["query", "1", sql, "--format", "json"])).unwrap();
    assert_eq!(json[1], serde_json::json!({ "step": 2, "t": 0.002, "text": "a, \"b\"", "none": null }));
    let none = logs.printed(&["query", "1", "SELECT step FROM simulationRow WHERE step < 0", "--format", "csv"]);
    assert_eq!(none, "step\n");
}

#[test]
fn a_cell_of_any_length_and_any_character_is_printed() {
    let logs = Logs::shared();
    let wide =
        logs.printed(&["query", "last", "SELECT hex(zeroblob(40000)) AS wide, 1 AS one UNION ALL SELECT 'x', 2"]);
    let lines: Vec<&str> = wide.lines().collect();
    assert_eq!(lines[2], format!("{}  1", "0".repeat(80_000)));
    assert_eq!(lines[3], format!("{:<120}  2", "x"));
    let sql = "SELECT 'a' || char(27) || '[31m' || char(155) || char(0) || char(8238) AS text";
    assert_eq!(logs.printed(&["query", "last", sql]).lines().last(), Some("a\\u001b[31m\\u009b\\u0000\\u202e"));
    let json = logs.printed(&["query", "last", sql, "--format", "json"]);
    assert!(!json.contains(|c: char| c.is_control() && c != '\n'), "{json:?}");
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value[0]["text"], "a\u{1b}[31m\u{9b}\0\u{202e}");
    // Output for programs is exact.
    let csv = logs.printed(&["query", "last", sql, "--format", "csv"]);
    assert_eq!(csv, "text\na\u{1b}[31m\u{9b}\0\u{202e}\n");
}

#[test]
fn tables_show_the_run_alone_unless_all_are_wanted() {
    let logs = Logs::shared();
    let count = |arguments: &[&str]| {
        let printed = logs.printed(&[arguments, &["--format", "csv"]].concat());
        printed.lines().nth(1).unwrap().parse::<usize>().unwrap()
    };
    for (table, rows) in [
        ("pose", STEPS * BODIES),
        ("forceAndTorque", STEPS * BODIES),
        ("jointPose", STEPS * JOINTS),
        ("simulationRow", STEPS),
        ("robot", 1),
        ("body", BODIES),
        ("joint", JOINTS),
        ("command", 2),
    ] {
        let sql = format!("SELECT count(*) FROM {table}");
        assert_eq!(count(&["query", "2", &sql]), rows, "{table}");
        assert_eq!(count(&["query", "2", &sql, "--all-runs"]), 3 * rows, "{table}");
    }
    let own = "SELECT count(*) FROM main.simulation WHERE simulationID = :run";
    assert_eq!(count(&["query", "last", own]), 1);
    assert_eq!(logs.printed(&["query", "last", "SELECT :run AS run", "--format", "csv"]), "run\n3\n");
}

#[test]
fn every_table_of_the_schema_belongs_to_a_run() {
    let logs = Logs::shared();
    let sql = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE '\\_sqlx%' ESCAPE '\\'
        AND name NOT LIKE 'sqlite%' ORDER BY lower(name)";
    let printed = logs.printed(&["query", "1", sql, "--format", "csv"]);
    let mut known: Vec<&str> = simpartner::recorder::inquiry::TABLES.iter().map(|table| table.name).collect();
    known.sort_by_key(|name| name.to_lowercase());
    assert_eq!(printed.lines().skip(1).collect::<Vec<_>>(), known);
}

#[test]
fn the_queries_of_appendix_5_run_as_printed_on_the_run_that_is_meant() {
    let logs = Logs::shared();
    let csv = |sql: &str, alias: &str| {
        let printed = logs.printed(&["query", "2", sql, "--as", alias, "--format", "csv"]);
        printed.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let legs = csv(include_str!("../appendix5/legs.sql"), "4045");
    let turner = csv(include_str!("../appendix5/turner.sql"), "4282");
    let wheels = csv(include_str!("../appendix5/wheels.sql"), "4939");
    let centre = csv(include_str!("../appendix5/centre.sql"), "1");
    assert_eq!([legs.len(), turner.len(), wheels.len(), centre.len()], [4 * STEPS, STEPS, STEPS, STEPS]);
    let times: Vec<&str> = wheels.iter().map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!((times[0], times[STEPS - 1]), ("0.001", "0.5"));
    // 18 kg on the wheels.
    let force: f64 = wheels[200].split(',').nth(1).unwrap().parse().unwrap();
    assert!((force - 18.0 * 9.81).abs() < 20.0, "{force}");
}

#[test]
fn a_fault_in_a_query_is_told_with_its_place() {
    let logs = Logs::shared();
    let failed = |sql: &str| {
        let output = logs.call(&["query", "1", sql]);
        assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    let said = failed("SELECT x\nFORM pose");
    // SQL takes FORM for another name of x.
    assert_eq!(said, "the query failed at line 2, character 6: near \"pose\": syntax error\n  FORM pose\n       ^\n");
    let said = failed("SELECT avg(height) FROM pose");
    let place = format!("{}^", " ".repeat(2 + 11));
    assert!(said.starts_with("the query failed at line 1, character 12: no such column: height\n"), "{said}");
    assert!(said.contains(&format!("{place}\nhelp: pose has simulationRowID, ")), "{said}");
    let said = failed("SELECT avg(omga_x) FROM bodyLog");
    assert!(said.contains("help: did you mean 'omega_x'? bodyLog has "), "{said}");
    let said = failed("SELECT avg(x) FROM simulationrw");
    assert!(said.contains("help: did you mean 'simulationRow'? the log has simulation, "), "{said}");
}

#[test]
fn a_query_changes_nothing() {
    let logs = Logs::shared();
    for sql in [
        "DELETE FROM command",
        "DROP TABLE event",
        "UPDATE simulation SET world = 'x'",
        "INSERT INTO robot VALUES (99, 1, 'a', 'b')",
        "PRAGMA query_only = OFF; DELETE FROM command",
        "WITH a AS (SELECT 1) DELETE FROM command",
    ] {
        let output = logs.call(&["query", "1", sql]);
        assert_eq!(output.status.code(), Some(3), "{sql}: {}", text(&output.stderr));
    }
    assert_eq!(logs.printed(&["query", "1", "SELECT count(*) AS n FROM command", "--format", "csv"]), "n\n2\n");
    let output = simpartner(&["query", "1", "SELECT 1", "--database", &logs.url("nowhere.db")]);
    assert_eq!(output.status.code(), Some(4));
    assert!(text(&output.stderr).contains(" does not exist; name another with --database"), "{}", text(&output.stderr));
    assert!(!logs.path("nowhere.db").exists());
}

#[test]
fn a_run_that_is_not_there_is_told() {
    let logs = Logs::shared();
    let output = logs.call(&["query", "17", "SELECT 1"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("does not have run 17: it has runs 3, 2, 1"), "{}", text(&output.stderr));
}

#[test]
fn runs_are_listed_with_what_they_made() {
    let logs = Logs::shared();
    let table = logs.printed(&["runs"]);
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["run", "started", "status", "steps", "rows", "size", "rtf", "world"]);
    assert_eq!(lines.iter().skip(1).map(|line| line[0]).collect::<Vec<_>>(), ["3", "2", "1"]);
    let json: serde_json::Value = serde_json::from_str(&logs.printed(&["runs", "--json"])).unwrap();
    assert_eq!((&json[0]["run"], &json[0]["steps"], &json[0]["status"]), (&3.into(), &500.into(), &"completed".into()));
    assert_eq!((&json[0]["first_logged_step"], &json[0]["last_logged_step"]), (&1.into(), &500.into()));
    assert!(json[0]["rows"].as_u64().unwrap() > (STEPS * (1 + BODIES + JOINTS)) as u64);
    // About eight bytes a number, for the rows of bodies alone.
    assert!(json[0]["bytes"].as_u64().unwrap() > (STEPS * BODIES * 19 * 8) as u64, "{json}");
    assert_eq!(lines[1][6], "MB", "{table}");
}

#[test]
fn a_plot_has_a_panel_for_each_unit_and_a_line_for_each_field() {
    let logs = Logs::shared();
    let file = logs.path("plot.svg").display().to_string();
    let fields = "body:Wheel*.F_y,Position.x,WorkPartner/Position.z,joint:Turner.position_3,clock:late_ns";
    assert_eq!(logs.printed(&["plot", "3", "--fields", fields, "--output", &file]), format!("{file}\n"));
    let svg = std::fs::read_to_string(&file).unwrap();
    assert_eq!(svg.matches("<polyline").count(), 4 + 2 + 1 + 1);
    for axis in ["F_y in N", "in m", "position_3 in rad", "late_ns in ns"] {
        assert!(svg.contains(&format!(">{axis}</text>")), "{axis}");
    }
    assert!(svg.contains(">WorkPartner/Wheel3.F_y</text>"));
    assert!(xmloxide::Document::parse_str(&svg).is_ok());

    let failed = |fields: &str| text(&logs.call(&["plot", "3", "--fields", fields, "--output", &file]).stderr);
    assert!(failed("body:Wheel9.F_y").starts_with("--fields: 'body:Wheel9.F_y' fits none of WorkPartner/"));
    assert!(failed("Position.w").ends_with("which has x, y, z\n"));
    assert!(failed("Position").ends_with("is no NAME.FIELD\n"));
}

#[cfg(not(feature = "png"))]
#[test]
fn a_build_without_pictures_says_how_to_have_them() {
    let output = Logs::shared().call(&["plot", "3", "--fields", "Position.x", "--output", "nowhere.png"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("--features png"), "{}", text(&output.stderr));
}

#[cfg(feature = "png")]
#[test]
fn a_plot_is_a_picture_where_there_is_a_font() {
    let logs = Logs::shared();
    let file = logs.path("plot.png").display().to_string();
    let output = logs.call(&["plot", "3", "--fields", "body:Wheel*.F_y", "--output", &file]);
    let font = if text(&output.stderr).starts_with("no font was found") { Err("no font is installed") } else { Ok(()) };
    let Some(()) = crate::needs::met(crate::needs::Need::Font, font) else { return };
    assert!(output.status.success(), "{}", text(&output.stderr));
    let bytes = std::fs::read(&file).unwrap();
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"));
    let side = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(side(16), 1120);
    assert!(side(20) > 600);
}

#[test]
fn numbers_read_back_to_the_same_bits() {
    let logs = Logs::shared();
    if !python_has("sqlite3") {
        return;
    }
    let sql = "SELECT x, y, z, angle FROM pose ORDER BY simulationRowID, bodyID LIMIT 2000";
    std::fs::write(logs.path("x.csv"), logs.printed(&["query", "1", sql, "--format", "csv"])).unwrap();
    let program = format!(
        "import csv, sqlite3\nrows = list(csv.reader(open('x.csv')))[1:]\nbase = sqlite3.connect('file:runs.db?mode=ro', uri=True)\n\
         ours = [tuple(map(float, row)) for row in rows]\nassert ours == base.execute({sql:?}).fetchall()\nprint(len(ours))"
    );
    assert_eq!(python(&program, logs.folder.path()), "2000\n");
}

#[test]
fn what_is_told_of_the_log_is_what_it_has() {
    let logs = Logs::shared();
    let told = text(&simpartner(&["schema", "log"]).stdout);
    assert_current(&Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/reference/log.md"), &told);
    for table in simpartner::recorder::inquiry::TABLES.iter() {
        let mut columns: Vec<&str> = table.columns().map(|(name, _)| name).collect();
        let sql = format!("SELECT name FROM pragma_table_info('{}')", table.name);
        let printed = logs.printed(&["query", "1", &sql, "--format", "csv"]);
        let mut there: Vec<&str> = printed.lines().skip(1).collect();
        there.sort_unstable();
        columns.sort_unstable();
        assert_eq!(columns, there, "{}", table.name);
    }
}

/// A kind that was added after the views may lack one: `readingLog` has the numbers of every kind.
#[test]
fn the_view_of_a_kind_of_sensor_has_its_numbers() {
    use simpartner_wire::signal::DeviceKind;
    let logs = Logs::shared();
    let mut views = 0;
    for kind in DeviceKind::ALL.iter().map(|kind| kind.description()) {
        let fields: Vec<&str> = kind.quantities.iter().flat_map(|quantity| quantity.fields.iter().copied()).collect();
        if kind.is_actuator || fields.is_empty() {
            continue;
        }
        let view = kind.name[..1].to_lowercase() + &kind.name[1..];
        if !simpartner::recorder::inquiry::TABLES.iter().any(|table| table.name == view) {
            continue;
        }
        views += 1;
        let columns = fields.iter().map(|field| if *field == "force" { "normal_force" } else { field });
        let sql = format!("SELECT time, robot, device, {} FROM {view}", columns.collect::<Vec<_>>().join(", "));
        assert!(logs.call(&["query", "1", &sql]).status.success(), "{sql}");
    }
    assert!(views >= 14, "{views} views are left of the 14 that the log began with");
}

#[test]
fn views_have_names_and_times_in_them() {
    let logs = Logs::shared();
    let csv = |sql: &str| logs.printed(&["query", "2", sql, "--format", "csv"]);
    let position = csv("SELECT time, robot, device, x, z FROM positionSensor WHERE device = 'Position' ORDER BY step");
    assert_eq!(position.lines().count(), 1 + STEPS);
    assert!(position.lines().nth(STEPS).unwrap().starts_with("0.5,WorkPartner,Position,"), "{position}");
    let first = "SELECT r.field, r.value FROM readingLog r WHERE device = 'Position' AND step = 300 ORDER BY field";
    let wide = csv("SELECT x, y, z FROM positionSensor WHERE device = 'Position' AND step = 300");
    let long: Vec<String> = csv(first).lines().skip(1).map(|line| line[2..].to_owned()).collect();
    assert_eq!(wide.lines().nth(1).unwrap(), long.join(","));
    assert_eq!(csv("SELECT count(*) AS n FROM bodyLog"), format!("n\n{}\n", STEPS * BODIES));
    assert_eq!(csv("SELECT count(*) AS n FROM jointLog"), format!("n\n{}\n", STEPS * JOINTS));
    assert_eq!(
        csv("SELECT time, robot, device, text FROM commandLog ORDER BY step")
            .lines()
            .nth(2)
            .unwrap()
            .split(',')
            .take(3)
            .collect::<Vec<_>>(),
        ["0.301", "WorkPartner", "TurnerController"]
    );
    assert!(csv("SELECT DISTINCT body FROM contactLog ORDER BY body").starts_with("body\nWheel1\n"));
    assert!(csv("SELECT time, kind FROM eventLog ORDER BY eventID LIMIT 1").starts_with("time,kind\n0.0,play"));
    let rays = csv("SELECT layer, max(ray) AS rays, count(DISTINCT ray) AS n FROM scannerSensor GROUP BY layer");
    let ray = rays.lines().nth(1).unwrap().split(',').collect::<Vec<_>>();
    assert_eq!((ray[0], ray[1]), ("1", ray[2]), "{rays}");
}

#[test]
fn sqlite_knows_mathematics() {
    let sql =
        "SELECT sqrt(2.0) AS a, pow(2, 0.5) AS b, atan2(1, 1) * 4 AS c, sin(0.5) AS d, exp(1) AS e, ln(exp(1)) AS f";
    let printed = Logs::shared().printed(&["query", "1", sql, "--format", "csv"]);
    let numbers: Vec<f64> = printed.lines().nth(1).unwrap().split(',').map(|number| number.parse().unwrap()).collect();
    let root = std::f64::consts::SQRT_2;
    for (number, expected) in numbers.iter().zip([root, root, std::f64::consts::PI, 0.5_f64.sin(), 1.0_f64.exp(), 1.0])
    {
        assert!((number - expected).abs() < 1e-15, "{printed}");
    }
}

#[test]
fn one_number_is_drawn_over_another() {
    let logs = Logs::shared();
    let file = logs.path("path.svg").display().to_string();
    let plotted = |fields: &str, over: &str| {
        let output = logs.call(&["plot", "3", "--fields", fields, "--over", over, "--output", &file]);
        (output.status.code(), text(&output.stderr))
    };
    assert_eq!(plotted("Position.x", "Position.z"), (Some(0), String::new()));
    let svg = std::fs::read_to_string(&file).unwrap();
    assert_eq!(svg.matches("<polyline").count(), 1);
    for axis in ["x in m", "WorkPartner/Position.z in m"] {
        assert!(svg.contains(&format!(">{axis}</text>")), "{axis}");
    }
    assert_eq!(plotted("body:Wheel*.F_y", "clock:late_ns").0, Some(0));
    assert_eq!(plotted("body:Wheel*.x", "body:Wheel*.z").0, Some(0));
    let (code, said) = plotted("body:Wheel*.x", "body:Wheel*.[xz]");
    assert_eq!((code, said.contains("--over: 'body:Wheel*.[xz]' names no field of")), (Some(3), true), "{said}");
    let (_, said) = plotted("body:Wheel*.x", "Position.x,Position.z");
    assert_eq!(said, "--over names 2 fields and --fields 4; expected one, or one for each\n");
    // All of a sensor's numbers, and an actuator, which has no readings.
    let plot = |fields: &str| logs.call(&["plot", "3", "--fields", fields, "--output", &file]);
    assert!(plot("Scanner.distance_*").status.success());
    assert!(text(&plot("TurnerController.*").stderr).starts_with("the log has no number of these fields"));
}
