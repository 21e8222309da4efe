//! Robots of other simulators, read by our importers: number of files that load, number that swing under gravity for 10
//! s without an event, and comparison of mass, inertia, joint limits and joint accelerations with independent readers
//! (MuJoCo's compiler, yourdfpy, pinocchio).
//!
//! `cargo bench -p simpartner-dynamics --bench models`, with parts of paths behind `--` for some files only, and
//! `--failed` to list only failures. Needs Python with `mujoco dm_control pybullet gymnasium yourdfpy pin numpy`;
//! missing packages are skipped with a note. Repositories in the cache of `robot_descriptions` are read as well.
//! `readers.py` beside this file lists the files and reads them with the other readers.
//!
//! Robots of URDF files hang on their roots; MJCF files are worlds as they are. Motors are off.

mod figures;

use std::{
    fs,
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use simpartner_description::{
    World,
    xml::{self, Document, ImportOptions},
};
use simpartner_dynamics::{Settings, build};
use simpartner_model::Timestep;

/// Steps of 1 ms that each model swings.
const STEPS: usize = 10_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` only checks that the bench runs.
    if !arguments.iter().any(|argument| argument == "--bench") {
        println!("skipped: cargo bench -p simpartner-dynamics --bench models runs it");
        return ExitCode::SUCCESS;
    }
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    let failed_only = arguments.iter().any(|argument| argument == "--failed");
    let readers = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/models/readers.py");
    let listed = Command::new("python3").arg(&readers).arg("list").stderr(Stdio::null()).output();
    let Ok(listed) = listed else {
        println!("skipped: python3 is not there");
        return ExitCode::SUCCESS;
    };
    let folder = std::env::temp_dir().join(format!("simpartner-models-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder for figures can be made");
    let mut tally = Tally::default();
    for line in String::from_utf8_lossy(&listed.stdout).lines() {
        // Format, tab, path, tab, reason why the reader refuses the file (mostly empty).
        let mut fields = line.split('\t');
        let (Some(format), Some(path)) = (fields.next(), fields.next()) else { continue };
        if wanted.is_empty() || wanted.iter().any(|part| path.contains(part.as_str())) {
            let refused = fields.next().unwrap_or_default();
            examine(format, Path::new(path), refused, &folder, failed_only, &mut tally);
        }
    }
    println!("{tally}");
    let compared = Command::new("python3").arg(&readers).arg("compare").arg(&folder).status();
    fs::remove_dir_all(&folder).expect("the folder can be removed");
    if compared.is_ok_and(|status| status.success()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A count and its total, for each format.
#[derive(Default)]
struct Tally(Vec<Row>);

#[derive(Default)]
struct Row {
    format: String,
    files: usize,
    refused: usize,
    loaded: usize,
    quiet: usize,
}

impl std::fmt::Display for Tally {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for Row { format, files, refused, loaded, quiet } in &self.0 {
            writeln!(
                formatter,
                "{format}: {files} files, of which the format's own reader refuses {refused}; of the others {loaded} load, \
                 {quiet} of these swing for 10 s without a event",
            )?;
        }
        Ok(())
    }
}

fn examine(format: &str, path: &Path, refused: &str, folder: &Path, failed_only: bool, tally: &mut Tally) {
    let place = tally.0.iter().position(|row| row.format == format).unwrap_or_else(|| {
        tally.0.push(Row { format: format.to_owned(), ..Row::default() });
        tally.0.len() - 1
    });
    let row = &mut tally.0[place];
    row.files += 1;
    row.refused += usize::from(!refused.is_empty());
    let result = catch_unwind(AssertUnwindSafe(|| swing(format, path)));
    let (is_loaded, said) = match result {
        Ok(Ok(None)) => {
            row.quiet += usize::from(refused.is_empty());
            (true, None)
        }
        Ok(Ok(Some(event))) => (true, Some(event)),
        Ok(Err(problem)) => (false, Some(problem.lines().next().unwrap_or_default().to_owned())),
        Err(_) => (false, Some("panic".to_owned())),
    };
    row.loaded += usize::from(is_loaded && refused.is_empty());
    let refused = if refused.is_empty() { String::new() } else { format!(" (its own reader: {refused})") };
    match said {
        Some(said) => println!("{} {}: {said}{refused}", if is_loaded { "event" } else { "failed" }, path.display()),
        None if !failed_only => println!("ok {}", path.display()),
        None => {}
    }
    if is_loaded && refused.is_empty() {
        let number = row.files;
        let mut file = fs::File::create(folder.join(format!("{format}{number:05}.txt"))).expect("a file can be made");
        let [(world, changed), (hanging, _)] =
            [false, format == "urdf"].map(|fixed| load(format, path, fixed).expect("it has been loaded before"));
        let text = figures::text(format, path, [&world, &hanging], changed.as_deref());
        write!(file, "{text}").expect("text can be written");
    }
}

/// Loads a file through the text that `simpartner import` writes.
///
/// Also returns the first warning of a changed mass or inertia.
fn load(format: &str, path: &Path, fixed_base: bool) -> Result<(World, Option<String>), String> {
    let options = ImportOptions { fixed_base, first_port: 0, ..ImportOptions::default() };
    let imported = xml::import(path, &options).map_err(|problems| problems.to_string())?;
    let is_change =
        |what: &str| what.contains("inertia") || what.contains("no mass") || what.contains("mass has no formula");
    let changed = imported.warnings.iter().find(|warning| is_change(&warning.what)).map(|warning| warning.what.clone());
    let near: PathBuf = path.with_file_name(format!("imported-{format}.xml"));
    match xml::read_text(&near.to_string_lossy(), &imported.text).map_err(|problems| problems.to_string())? {
        Document::World(world) | Document::Robot(world) => Ok((world, changed)),
        Document::Assemblies(_) | Document::Sequence(_) | Document::Grasp(_) | Document::GraspTask(_) => {
            Err("no world and no robot".into())
        }
    }
}

/// The first notice of 10 s.
fn swing(format: &str, path: &Path) -> Result<Option<String>, String> {
    let (world, _) = load(format, path, format == "urdf")?;
    let mut engine =
        build(&world.mechanism, Timestep::MILLISECOND, &Settings::default()).map_err(|error| error.to_string())?;
    for step in 1..=STEPS {
        engine.step();
        if let Some(event) = engine.step_events().first() {
            return Ok(Some(format!("step {step}: {:?}: {}", event.check, event.text)));
        }
    }
    Ok(None)
}
