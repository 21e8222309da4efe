//! Sweeps: each case once, the same results whoever simulates it, on every database.

use std::{
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use crate::{
    cli::{Scratch, output, simpartner, summary, text},
    examples::is_here,
    needs::Need,
    recorder::test_database::TestDatabase,
};

/// Friction by a grid, and mass.
const FRICTION: &str = r#"
duration_s = 0.1
world = "world.xml"

[vary]
surface.friction = { from = 0.2, to = 0.5, count = 4 }
"Ball.mass" = [1, 2, 3]

[measure]
x = "body:Ball.x"
speed = { field = "body:Ball.v_x", statistic = "mean", from_s = 0.05 }
"#;

/// A ball that slides on a plane until it rolls.
const WORLD: &str = "<world name='w'><surface/><object name='Ball'><mass>1</mass><pose y='0.1'/>\
    <translationalVelocity><vx>2</vx><vy>0</vy><vz>0</vz></translationalVelocity><sphere radius='0.1'/></object></world>";

fn sweep(arguments: &[&str]) -> (Option<i32>, String, String) {
    let made = output(&[&["sweep"], arguments].concat());
    (made.status.code(), text(&made.stdout).to_owned(), text(&made.stderr).to_owned())
}

#[track_caller]
fn done(arguments: &[&str]) -> String {
    let (code, out, error) = sweep(arguments);
    assert_eq!(code, Some(0), "{out}{error}");
    out
}

fn friction(scratch: &Scratch) -> String {
    scratch.write("world.xml", WORLD);
    scratch.write("friction.toml", FRICTION)
}

/// The sliding ball loses mu g t until it rolls at 5/7 of its speed: v = 2 - mu 9.81 t, whatever its mass.
#[test]
fn results_are_those_of_the_cases_on_every_database() {
    let scratch = Scratch::new();
    let file = friction(&scratch);
    let mut tables = Vec::new();
    for database in [Some(scratch.database("a.db")), on("postgres"), on("mysql")].into_iter().flatten() {
        let planned = done(&["plan", &file, "--database", &database]);
        assert!(planned.contains("case      0  Ball.mass=1  surface.friction=0.2"), "{planned}");
        assert!(planned.contains("friction: 12 cases, sweep 1"), "{planned}");
        let run = done(&["run", &file, "--database", &database, "--threads", "3"]);
        assert!(run.contains("12 cases simulated, 0 failed, 1200 steps; 12 stored"), "{run}");
        let again = done(&["run", &file, "--database", &database]);
        assert!(again.contains("0 cases simulated"), "{again}");
        let compared = done(&["run", &file, "--database", &database, "--cases", "3..6"]);
        assert!(compared.contains("compared with stored cases: 4 equal, 0 different"), "{compared}");
        let status = done(&["status", "--database", &database]);
        assert!(status.contains("12 of 12 cases: completed 12"), "{status}");
        tables.push(done(&["results", "friction", "--format", "csv", "--database", &database]));
    }
    assert!(tables.iter().all(|table| *table == tables[0]));
    let mut lines = tables[0].lines();
    assert_eq!(lines.next(), Some("case,status,Ball.mass,surface.friction,speed,x"));
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let [mu, speed, x] = [3, 4, 5].map(|place: usize| cells[place].parse::<f64>().unwrap());
        // Friction of the two is that of the plane times 1; steps of 1 ms make the order of the error.
        assert!((x - (0.2 - mu * 9.81 * 0.005)).abs() < 0.002 * mu, "{line}");
        assert!((speed - (2.0 - mu * 9.81 * 0.075)).abs() < 0.02 * mu, "{line}");
    }
}

fn on(scheme: &str) -> Option<String> {
    // The database is left to the server of the tests, which is thrown away.
    TestDatabase::on(scheme).map(|database| {
        let url = database.url.clone();
        std::mem::forget(database);
        url
    })
}

/// The command that `sweep case` prints makes the state of the case.
#[test]
fn a_case_is_the_run_that_its_command_makes() {
    let scratch = Scratch::new();
    let file = friction(&scratch);
    let database = scratch.database("a.db");
    done(&["run", &file, "--database", &database]);
    let command = done(&["case", &file, "7", "--database", &database]);
    let world = scratch.path("world.xml").display().to_string();
    let words: Vec<String> =
        command.trim().replace("'world.xml'", &world).replace('\'', "").split(' ').map(str::to_owned).collect();
    let words: Vec<&str> = words.iter().skip(1).map(String::as_str).chain(["--database", "none"]).collect();
    let made = output(&words);
    let hash =
        output(&["query", "last", "--database", &database, "SELECT stateHash FROM sweepCase WHERE caseNumber = 7"]);
    assert!(
        text(&hash.stdout).contains(&summary(&made, "state")),
        "{command}{}{}",
        text(&hash.stdout),
        text(&hash.stderr)
    );
}

/// A sweep that is killed anywhere goes on where it was, and has each case once.
#[test]
fn a_killed_sweep_goes_on() {
    let scratch = Scratch::new();
    scratch.write("world.xml", WORLD);
    let plan = FRICTION.replace("count = 4", "count = 100").replace("duration_s = 0.1", "duration_s = 1");
    let file = scratch.write("killed.toml", &plan);
    let (killed, whole) = (scratch.database("killed.db"), scratch.database("whole.db"));
    for round in 0..4 {
        let mut child = simpartner(&["sweep", "run", &file, "--database", &killed]).spawn().unwrap();
        thread::sleep(Duration::from_millis(150 + 130 * round));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    done(&["run", &file, "--database", &killed]);
    done(&["run", &file, "--database", &whole]);
    let results = |database: &str| done(&["results", "killed", "--format", "csv", "--database", database]);
    assert_eq!(results(&killed).lines().count(), 301);
    assert_eq!(results(&killed), results(&whole));
}

/// Parts by several processes into files of their own, merged, are the whole sweep.
#[test]
fn parts_of_several_processes_merge_to_the_whole() {
    let scratch = Scratch::new();
    let file = friction(&scratch);
    let whole = scratch.database("whole.db");
    done(&["run", &file, "--database", &whole]);
    let parts: Vec<String> = (1..=3).map(|part| scratch.database(&format!("{part}.db"))).collect();
    let children: Vec<_> = (1..=3)
        .map(|part| {
            let of = format!("{part}/3");
            simpartner(&["sweep", "run", &file, "--database", &parts[part - 1], "--part", &of]).spawn().unwrap()
        })
        .collect();
    children.into_iter().for_each(|mut child| assert!(child.wait().unwrap().success()));
    let merged = scratch.database("merged.db");
    let urls: Vec<&str> = parts.iter().map(String::as_str).collect();
    let out = done(&[&["merge"], &urls[..], &["--database", &merged]].concat());
    assert_eq!(out.matches("4 cases copied, 0 were there").count(), 3, "{out}");
    let results = |database: &str| done(&["results", "friction", "--format", "csv", "--database", database]);
    assert_eq!(results(&merged), results(&whole));
}

#[test]
fn a_case_that_differs_from_the_stored_one_is_an_event() {
    let scratch = Scratch::new();
    let file = friction(&scratch);
    let database = scratch.database("run.db");
    done(&["run", &file, "--database", &database]);
    assert_eq!(crate::replay::execute(&scratch, "UPDATE sweepCase SET stateHash = 'x' WHERE caseNumber = 5"), 1);
    let (code, out, _) = sweep(&["run", &file, "--database", &database, "--cases", "4..6"]);
    assert_eq!(code, Some(10));
    assert!(out.contains("2 equal, 1 different") && out.contains("case 5: stateHash was x and is "), "{out}");
    assert!(done(&["status", "--database", &database]).contains("case 5 was simulated again with another result"));
}

#[test]
fn logs_of_cases_are_kept_and_asked() {
    let scratch = Scratch::new();
    scratch.write("world.xml", WORLD);
    let plan = "log = \"full\"\nduration_s = 0.1\nworld = \"world.xml\"\n[vary]\nsurface.friction = [0.2, 0.4]\n\
                [measure]\nhighest = { sql = \"SELECT max(x) FROM pose\" }\nlast = \"body:Ball.x\"\n";
    let file = scratch.write("logged.toml", plan);
    let database = scratch.database("run.db");
    done(&["run", &file, "--database", &database]);
    let csv = done(&["results", "logged", "--format", "csv", "--database", &database]);
    for line in csv.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells[3], cells[4], "{csv}");
    }
    let runs = output(&["runs", "--database", &database]);
    assert!(text(&runs.stdout).contains("w  surface.friction=0.4"), "{}", text(&runs.stdout));
    crate::replay::is_the_same(&output(&["replay", "2", "--database", &database]));
}

#[test]
fn a_failing_case_does_not_stop_the_others() {
    let scratch = Scratch::new();
    scratch.write("world.xml", WORLD);
    let plan = "duration_s = 0.1\nworld = \"world.xml\"\n[vary]\nsurface.friction = [0.2, -1]\n[measure]\nx = \"body:Ball.x\"\n";
    let file = scratch.write("bad.toml", plan);
    let database = scratch.database("run.db");
    let (code, out, _) = sweep(&["run", &file, "--database", &database]);
    assert_eq!(code, Some(6), "{out}");
    assert!(out.contains("2 cases simulated, 1 failed"), "{out}");
    let results = done(&["results", "bad", "--database", &database]);
    assert!(
        results.contains("case 1 failed: parameter surface.friction=-1: expected a number not below 0"),
        "{results}"
    );
    assert!(done(&["retry", "bad", "--database", &database]).contains("1 failed cases removed"));
    assert!(done(&["status", "--database", &database]).contains("1 of 2 cases: completed 1"));
}

/// A controller in Python drives each case in lockstep; one that hangs, and one that is not there, end their case.
#[test]
fn a_controller_is_started_for_each_case() {
    if !is_here(Need::Python, "python3") {
        return;
    }
    let scratch = Scratch::new();
    let client = std::path::absolute("clients/python").unwrap();
    let controller = format!(
        "import os, sys, time\nsys.path.insert(0, {client:?})\nimport simpartner\n\
         if os.environ['SIMPARTNER_CASE'] == '1': time.sleep(60)\n\
         with simpartner.connect(ports_file=os.environ['SIMPARTNER_PORTS_FILE']) as sim:\n\
         \x20   with sim.lockstep(['Position', 'TurnerController'], timeout=10) as steps:\n\
         \x20       for turn in steps:\n\
         \x20           turn.command('TurnerController', angle_3=0.1)\n"
    );
    let controller = scratch.write("controller.py", &controller);
    let world = scratch.world();
    let plan = |program: &str| {
        format!(
            "duration_s = 0.02\nworld = {world:?}\ncontroller = [{program:?}, {controller:?}]\ntimeout_s = 5\n[vary]\nsurface.friction = [0.2, 0.4]\n[measure]\nn = {{ sql = \"SELECT count(*) FROM command\" }}\n"
        )
    };
    let file = scratch.write("driven.toml", &plan("python3"));
    let database = scratch.database("run.db");
    let (code, out, error) = sweep(&["run", &file, "--database", &database, "--threads", "2"]);
    let results = sweep(&["results", "driven", "--database", &database]).1;
    assert_eq!(code, Some(6), "{out}{error}{results}");
    assert!(results.contains("case 1 failed: the case did not end within 5 s"), "{results}");
    let csv = done(&["results", "driven", "--format", "csv", "--database", &database]);
    let first = csv.lines().nth(1).unwrap_or_default();
    assert!(first.starts_with("0,completed,0.2,") && !first.ends_with(','), "{csv}{error}");
    let missing = scratch.write("missing.toml", &plan("no-such-program"));
    sweep(&["run", &missing, "--database", &database]);
    let results = sweep(&["results", "missing", "--database", &database]).1;
    assert!(results.contains("the controller 'no-such-program' cannot be started"), "{results}");
}

#[test]
fn bad_sweep_files_are_refused_before_anything_is_stored() {
    let scratch = Scratch::new();
    scratch.write("world.xml", WORLD);
    let head = "world = \"world.xml\"\n";
    for (file, expected) in [
        ("x = 1", "unknown field `x`"),
        ("duration_s = 1", "[vary] has nothing that varies"),
        ("duration_s = -1\n[vary]\nsurface.friction = [1]", "expected seconds above 0 and at most"),
        ("[vary]\nsurface.friction = [1]", "a case has no end"),
        ("[vary]\nsurface.friction = []", "surface.friction: the list is empty"),
        ("[vary]\nsurface.friction = 1", "expected a list, or a range"),
        ("[vary]\nsurface.friction = { from = 1 }", "expected exactly one of"),
        ("[vary]\nsurface.friction = { uniform = [1, 1] }\n", "is an empty range"),
        ("[vary]\nsurface.friction = { from = 1, to = 2, cont = 3 }", "did you mean 'count'?"),
        ("cases = 3\n[vary]\nsurface.friction = { normal = [1, 0] }", "a deviation above 0"),
        ("cases = 3\n[vary]\nsurface.friction = { log_uniform = [0, 1] }", "begins above 0"),
        ("[vary]\nsurface.friction = { normal = [1, 0.1] }", "a distribution has no grid"),
        ("cases = 1000000000000\n[vary]\nsurface.friction = { uniform = [0, 1] }", "at most 1000000 are taken"),
        ("[vary]\na.b = { from = 0, to = 1, count = 1000000 }\nc.d = { integers = [1, 1000000] }", "at most 1000000"),
        ("sampling = \"sobol\"\ncases = 70000\n[vary]\nsurface.friction = { uniform = [0, 1] }", "sobol has at most"),
        ("sampling = \"gird\"\n[vary]\nsurface.friction = [1]", "unknown variant `gird`"),
        ("duration_s = 1\n[vary]\nsurface.frction = [1]", "did you mean 'friction'?"),
        ("duration_s = 1\n[vary]\nsettings.simulation.sed = [1]", "did you mean simulation.seed?"),
        ("duration_s = 1\n[vary]\nworld = [\"none.xml\"]", "none.xml"),
        ("duration_s = 1\n[vary]\nsurface.friction = [1]\n[measure]\nx = \"body:Bal.x\"", "did you mean 'Ball'?"),
        ("duration_s = 1\n[vary]\nsurface.friction = [1]\n[measure]\nx = \"body:Ball.vx\"", "did you mean 'v_x'?"),
        ("duration_s = 1\n[vary]\nsurface.friction = [1]\n[measure]\nx = \"body:Ball.x meen\"", "did you mean 'mean'?"),
        ("duration_s = 1\n[vary]\nsurface.friction = [1]\n[measure]\nx = { fild = \"a.b\" }", "unknown field `fild`"),
        ("duration_s = 1\nstop = \"body:Ball.x\"\n[vary]\nsurface.friction = [1]", "expected FIELD > NUMBER"),
    ] {
        let head = if file.contains("vary]\nworld") { "" } else { head };
        let path = scratch.write("bad.toml", &format!("{head}{file}\n"));
        let (code, out, error) = sweep(&["run", &path, "--database", &scratch.database("bad.db")]);
        assert_eq!(code, Some(3), "{file}: {out}{error}");
        assert!(error.contains(expected), "{file}: {error}");
        assert!(!scratch.path("bad.db").exists(), "{file}");
    }
}

/// A stop condition ends a case; samples fill their ranges, and do not depend on who draws them.
#[test]
fn samples_and_stops() {
    let scratch = Scratch::new();
    scratch.write("world.xml", WORLD);
    for sampling in ["random", "latin", "sobol"] {
        let plan = format!(
            "name = \"{sampling}\"\nsampling = \"{sampling}\"\ncases = 64\nduration_s = 1\nstop = \"body:Ball.x > 0.1\"\nworld = \"world.xml\"\n\
             [vary]\nsurface.friction = {{ uniform = [0, 1] }}\nBall.mass = {{ log_uniform = [0.1, 10] }}\n\
             settings.simulation.seed = {{ integers = [1, 1000] }}\n[measure]\nx = \"body:Ball.x\"\n"
        );
        let file = scratch.write("sampled.toml", &plan);
        let [one, other] = ["one", "other"].map(|name| {
            let database = scratch.database(&format!("{sampling}-{name}.db"));
            done(&["run", &file, "--database", &database, "--threads", if name == "one" { "1" } else { "4" }]);
            done(&["results", sampling, "--format", "csv", "--database", &database])
        });
        assert_eq!(one, other);
        let mut friction: Vec<f64> = Vec::new();
        for line in one.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            assert_eq!(cells[1], "stopped", "{line}");
            friction.push(cells[4].parse().unwrap());
            let x: f64 = cells[5].parse().unwrap();
            assert!((0.1..0.1021).contains(&x), "{line}");
        }
        friction.sort_by(f64::total_cmp);
        // A gap of more than 12 times the mean has a probability of 64 exp(-12) = 4e-4; the seed is fixed.
        assert!(
            friction.windows(2).all(|pair| pair[1] - pair[0] < 12.0 / 64.0)
                && friction[0] >= 0.0
                && friction[63] <= 1.0
        );
        if sampling == "latin" {
            assert!(friction.iter().enumerate().all(|(place, value)| (value * 64.0) as usize == place), "{friction:?}");
        }
    }
}

#[test]
fn scripts_for_engines_are_those_of_a_shell() {
    let scratch = Scratch::new();
    let file = friction(&scratch);
    let to = ["--database", "postgres://me@host/db", "--tasks", "5", "--print"];
    for (engine, part) in [("slurm", "$((1 + $SLURM_ARRAY_TASK_ID))"), ("hyperqueue", "$HQ_TASK_ID")] {
        let script = done(&[&["submit", &file, "--engine", engine][..], &to[..]].concat());
        assert!(script.contains(&format!("--part \"{part}/5\"")), "{script}");
        let checked = Command::new("sh").arg("-n").stdin(Stdio::piped()).spawn().and_then(|mut child| {
            use std::io::Write;
            child.stdin.take().expect("it is piped").write_all(script.as_bytes())?;
            child.wait()
        });
        assert!(checked.unwrap().success(), "{script}");
    }
    let (code, _, error) = sweep(&["submit", &file, "--engine", "slurm", "--database", &scratch.database("a.db")]);
    assert_eq!(code, Some(2));
    assert!(error.contains("need a database server"), "{error}");
}

/// A sweep file has one hash by whatever path it is named, so that tasks of a cluster add to the planned sweep.
#[test]
fn a_sweep_is_the_same_by_any_path() {
    let scratch = Scratch::new();
    let file = friction(&scratch);
    let database = scratch.database("run.db");
    done(&["plan", &file, "--database", &database]);
    let folder = scratch.path("friction.toml").parent().unwrap().to_owned();
    let relative = ["sweep", "run", "friction.toml", "--database", &database];
    assert!(simpartner(&relative).current_dir(folder).status().unwrap().success());
    let status = done(&["status", "--database", &database]);
    assert!(status.contains("12 of 12 cases") && status.lines().count() == 1, "{status}");
}

#[test]
fn a_wrong_name_of_a_database_creates_nothing() {
    let scratch = Scratch::new();
    let (missing, other) = (scratch.database("missing.db"), scratch.database("other.db"));
    for arguments in [&["status"][..], &["results", "friction"], &["retry", "friction"]] {
        let (code, _, error) = sweep(&[arguments, &["--database", &missing]].concat());
        assert!(code != Some(0) && error.contains("does not exist"), "{arguments:?}: {error}");
    }
    assert_ne!(sweep(&["merge", &missing, "--database", &other]).0, Some(0));
    assert!(!scratch.path("missing.db").exists());
}

#[test]
fn sweeps_of_the_repository_simulate_their_first_case() {
    let scratch = Scratch::new();
    for (name, cases) in [("friction", 200), ("circle", 60), ("soil", 64)] {
        let file = format!("worlds/sweeps/{name}.toml");
        let database = scratch.database(&format!("{name}.db"));
        let planned = done(&["plan", &file, "--database", &database]);
        assert!(planned.contains(&format!("{name}: {cases} cases")), "{planned}");
    }
    let database = scratch.database("soil.db");
    let run = done(&["run", "worlds/sweeps/soil.toml", "--cases", "0..0", "--database", &database]);
    assert!(run.contains("1 cases simulated, 0 failed"), "{run}");
}
