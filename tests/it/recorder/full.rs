//! The disk of an SQLite file fills up during a run: the physics continues, and the log ends with a message, or
//! continues on another disk.
//!
//! The disk is a file system in memory that only the test sees; skipped if the system does not permit one.

use std::process::{Command, Stdio};

use super::super::cli::{Scratch, text};
use crate::needs::{Need, met};

/// Mounts a disk with little more space than the log's reserve, fills it during a run, and frees it afterwards. Prints
/// the run's summary, exit codes and the contents.
const SCRIPT: &str = r#"
set -u
server=$1 disk=$2 world=$3 spill=$4
mount -t tmpfs -o size=540m none "$disk" || exit 99
"$server" run --world "$world" --duration 6 --no-viewer --set server.control_port=0 --set log.drain_s=0.2 \
    --set "log.spill_folder=$spill" --database "sqlite:$disk/run.db" &
sleep 2
head -c 60m /dev/zero > "$disk/filler"
wait $!
echo "run ended with $?"
rm "$disk/filler"
"$server" query last "SELECT kind AS first_event FROM event WHERE kind LIKE 'log%'" --format csv --database "sqlite:$disk/run.db"
"$server" run --world "$world" --mode fast --duration 0.01 --set "log.spill_folder=$spill" --database "sqlite:$spill/other.db" >/dev/null
for file in "$spill"/*.spill; do
    if [ -e "$file" ]; then "$server" db import "$file" --database "sqlite:$disk/run.db"; fi
done
"$server" db verify --database "sqlite:$disk/run.db"
echo "verify ended with $?"
"#;

/// Output of the script, with the spill file on the same disk or on another.
fn fill(spill_on_another: bool) -> Option<String> {
    let scratch = Scratch::new();
    let (disk, spill) = (scratch.path("disk"), scratch.path("spill"));
    std::fs::create_dir(&disk).unwrap();
    std::fs::create_dir(&spill).unwrap();
    let spill = if spill_on_another { &spill } else { &disk };
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", SCRIPT, "sh", env!("CARGO_BIN_EXE_simpartner")]);
    let made = command.arg(&disk).arg(scratch.world()).arg(spill).stdin(Stdio::null()).output();
    let filled = match made {
        Ok(made) if made.stdout.starts_with(b"outcome") => Ok(text(&made.stdout) + &text(&made.stderr)),
        Ok(made) if made.status.code() == Some(1) || made.status.code() == Some(99) => {
            Err(format!("no disk can be mounted here: {}", text(&made.stderr)))
        }
        Ok(made) => panic!("{} {}", text(&made.stdout), text(&made.stderr)),
        Err(error) => Err(format!("unshare cannot be run: {error}")),
    };
    met(Need::Mount, filled)
}

#[test]
fn on_a_full_disk_the_log_ends_and_the_physics_goes_on() {
    let Some(said) = fill(false) else { return };
    assert!(said.contains("outcome           completed\nsteps             6000\n"), "{said}");
    assert!(said.contains("run ended with 4\n") && said.contains("\nlogLimit"), "{said}");
    assert!(said.contains("less than 512 MB of disk space are left; free some, or log to another disk"), "{said}");
    assert!(said.contains("; the log is complete up to step "), "{said}");
    assert!(said.contains("are missing, at the end") && said.contains("verify ended with 4\n"), "{said}");
}

#[test]
fn a_spill_file_on_another_disk_takes_what_a_full_one_cannot() {
    let Some(said) = fill(true) else { return };
    assert!(said.contains("outcome           completed\nsteps             6000\n"), "{said}");
    assert!(said.contains("run ended with 11\n"), "{said}");
    // The next run reports the remaining file.
    assert!(said.contains(".spill has steps of a run that was killed"), "{said}");
    assert!(said.contains("complete    6000 steps") && said.contains("verify ended with 0\n"), "{said}");
}
