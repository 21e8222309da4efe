//! Cost of a lidar of 64 by 1024 rays at 10 Hz for WorkPartner 3 in real time, with and without a log.

use std::path::{Path, PathBuf};

use simpartner::{realtime::Mode, recorder::Database};
use tempfile::TempDir;

use super::{own, run_of, simulation_of, steps_in_real_time};

const LIDAR: &str = r#"<sensor type="ScannerSensor" name="Lidar" body="FrontChassis" port="1999" rate="10" rays="1024" layers="64"
    halfAngle="3.1385" verticalHalfAngle="0.39" range="100"><pose y="0.5"/></sensor>"#;

/// The world of the pole, with and without the lidar on its robot.
fn worlds(folder: &TempDir) -> [(&'static str, PathBuf); 2] {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).expect("it is in the repository");
    let write = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("there is room");
        path
    };
    write("workpartner_assemblies.xml", read("robots/workpartner_assemblies.xml"));
    let robot = read("robots/workpartner3.xml");
    write("bare.xml", robot.clone());
    write("lidar.xml", robot.replace("</robot>", &format!("{LIDAR}</robot>")));
    let world = |robot: &str| read("worlds/pole.xml").replace("workpartner3.xml", robot);
    [
        ("without the lidar", write("bare_world.xml", world("bare.xml"))),
        ("with the lidar", write("lidar_world.xml", world("lidar.xml"))),
    ]
}

/// Prints the lateness of the steps in real time, and the cost of the log.
pub(crate) fn lateness(places: &[own::Place]) {
    let steps = steps_in_real_time();
    let folder = tempfile::tempdir().expect("there is room");
    let worlds = worlds(&folder);
    println!(
        "\nWorkPartner 3 and a lidar of 64 by 1024 rays at 10 Hz, {steps} steps at 1 kHz: lateness in microseconds"
    );
    println!(
        "{:<18} {:<10} {:>8} {:>8} {:>8} {:>6} {:>10} {:>8} {:>8}",
        "", "log", "p50", "p99", "max", "slips", "rows", "MB", "behind s"
    );
    let logs = std::iter::once(("none", None)).chain(places.iter().map(|place| (place.name, Some(&place.database))));
    for (log, database) in logs {
        for (name, world) in &worlds {
            print_lateness(name, log, world, steps, database);
        }
    }
}

fn print_lateness(name: &str, log: &str, world: &Path, steps: u64, database: Option<&Database>) {
    let (report, summary, seconds) = run_of(simulation_of(world), Mode::RealTime, steps, database);
    let late = report.lateness.unwrap_or_default();
    let rows = summary.as_ref().map_or(0, |log| log.simulations[0].rows);
    let megabytes = summary.as_ref().map_or(0.0, |log| log.bytes as f64 * 1e-6);
    println!(
        "{name:<18} {log:<10} {:>8.1} {:>8.1} {:>8.1} {:>6} {rows:>10} {megabytes:>8.1} {:>8.1}",
        late.p50_us,
        late.p99_us,
        late.max_us,
        report.slips,
        seconds - steps as f64 * 1e-3
    );
}
