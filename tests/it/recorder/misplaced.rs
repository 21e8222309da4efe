//! Spill files of an earlier version, which put commands into a step that was over.

use std::sync::Arc;

use simpartner::recorder::{MovedCommands, Reader, Recorder, Settings, import};
use simpartner_model::StepIndex;
use simpartner_wire::signal::StepRecord;

use super::{
    command, finished, run, steps,
    test_database::{TestDatabase, Value, wait},
};

/// The commands of step 1 are repeated after the last step, as that version wrote them.
fn records() -> Vec<StepRecord> {
    let mut records = steps(1..=20);
    records[0].commands = vec![command(0, "first")];
    records[9].commands = vec![command(0, "tenth")];
    let mut again = StepRecord { step: StepIndex(0), ..StepRecord::new(&run().layout) };
    again.commands = vec![command(0, "late"), command(1, "later")];
    records.push(again);
    records
}

#[test]
fn commands_in_a_step_that_was_over_are_imported_behind_the_last_step_of_their_run() {
    for database in TestDatabase::all() {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings { spill_folder: folder.path().to_owned(), ..Settings::new(database.database.clone()) };
        let recorder = Recorder::start(settings, run()).unwrap();
        let sender = recorder.sender();
        // After an error the log takes no more.
        let _ = records().into_iter().try_for_each(|record| sender.send(Arc::new(record)));
        drop(sender);
        assert!(recorder.finish(finished(20)).is_err(), "{}: two commands cannot have one place", database.name());
        let spill = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        for is_again in [false, true] {
            let imported = import(&spill, &database.database).unwrap();
            assert!(imported.is_complete(), "{}: {imported:?}", database.name());
            let run = imported.runs[0];
            let moved = if is_again { vec![] } else { vec![MovedCommands { run, commands: 2, from: 1, to: 21 }] };
            assert_eq!(imported.moved, moved, "{}", database.name());
            let expected = [(1.0, "first"), (10.0, "tenth"), (21.0, "late"), (21.0, "later")];
            let expected = expected.map(|(step, text)| vec![Value::Number(step), Value::Text(text.into())]);
            assert_eq!(database.rows("SELECT step, text FROM command ORDER BY step, ordinal"), expected);
            let found = wait(Reader::new(&database.database).verify(None)).unwrap();
            assert_eq!(found[0].findings, Vec::<String>::new(), "{}", database.name());
        }
    }
}
