//! The database becomes unavailable, and returns or not: nothing is lost, and in real time the physics does not wait.

use std::{
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use simpartner::{
    realtime::LogSender,
    recorder::{Completeness, Reader, RecorderStatus, import},
};

use super::{
    test_database::{TestDatabase, wait},
    *,
};

/// A way to a server that can be cut, closed and stopped.
pub(super) struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
}

struct State {
    target: String,
    refuses: AtomicBool,
    stalls: AtomicBool,
    /// Connections with a smaller number transmit nothing any more, and are not closed.
    first_living: AtomicUsize,
    connections: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    fn to(target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let state = Arc::new(State {
            target: target.to_owned(),
            refuses: AtomicBool::new(false),
            stalls: AtomicBool::new(false),
            first_living: AtomicUsize::new(0),
            connections: Mutex::default(),
        });
        let (address, shared) = (listener.local_addr().unwrap(), Arc::clone(&state));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if !shared.refuses.load(Ordering::Acquire) {
                    let server = TcpStream::connect(&shared.target).unwrap();
                    shared.carry(&client, &server);
                    shared.carry(&server, &client);
                }
            }
        });
        Self { address, state }
    }

    /// Ends all connections and accepts no more.
    fn cut(&self) {
        self.state.refuses.store(true, Ordering::Release);
        for connection in self.state.connections.lock().unwrap().drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    fn mend(&self) {
        self.state.refuses.store(false, Ordering::Release);
    }

    /// Existing connections die without notice to either side, as with a pulled cable. New ones are accepted.
    fn abandon(&self) {
        let connections = self.state.connections.lock().unwrap().len();
        self.state.first_living.store(connections, Ordering::Release);
    }

    /// Data is held back, as by a stopped server.
    pub(super) fn stall(&self, stalls: bool) {
        self.state.stalls.store(stalls, Ordering::Release);
    }
}

impl State {
    fn carry(self: &Arc<Self>, from: &TcpStream, to: &TcpStream) {
        let (mut from, mut to, state) = (from.try_clone().unwrap(), to.try_clone().unwrap(), Arc::clone(self));
        let mut connections = self.connections.lock().unwrap();
        let number = connections.len();
        connections.push(from.try_clone().unwrap());
        drop(connections);
        thread::spawn(move || {
            let mut bytes = [0; 1 << 16];
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                if number < state.first_living.load(Ordering::Acquire) {
                    // Neither socket is closed while this thread owns it.
                    thread::park();
                }
                while state.stalls.load(Ordering::Acquire) {
                    thread::sleep(Duration::from_millis(1));
                }
                if to.write_all(&bytes[..count]).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Both);
        });
    }
}

/// A log through a proxy.
pub(super) struct Line {
    pub(super) target: TestDatabase,
    pub(super) proxy: Proxy,
    pub(super) settings: Settings,
    folder: tempfile::TempDir,
}

impl Line {
    pub(super) fn to_all() -> impl Iterator<Item = Self> {
        ["postgres", "mysql"].into_iter().filter_map(|scheme| {
            let target = TestDatabase::on(scheme)?;
            let (before, rest) = target.url.split_once('@').unwrap();
            let (host, name) = rest.split_once('/').unwrap();
            let proxy = Proxy::to(host);
            let database = Database::parse(&format!("{before}@{}/{name}", proxy.address)).unwrap();
            let folder = tempfile::tempdir().unwrap();
            let settings = Settings { spill_folder: folder.path().to_owned(), ..Settings::new(database) };
            Some(Self { target, proxy, settings, folder })
        })
    }

    fn start(&self, mode: Mode) -> Recorder {
        Recorder::start(self.settings.clone(), RunDescription { mode, ..run() }).unwrap()
    }

    /// Non-empty files of the spill folder; an empty one exists during a run.
    fn spilled(&self) -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap());
        entries.filter(|entry| entry.metadata().is_ok_and(|file| file.len() > 0)).map(|entry| entry.path()).collect()
    }

    /// All runs there are, complete or not.
    fn verify(&self) -> Vec<Completeness> {
        wait(Reader::new(&self.target.database).verify(None)).unwrap()
    }

    #[track_caller]
    fn check_complete(&self, steps: u64) {
        let found = self.verify();
        assert_eq!(found.len(), 1, "{}", self.target.name());
        assert_eq!((found[0].steps, &found[0].findings), (steps, &Vec::new()), "{}", self.target.name());
    }
}

pub(super) fn send(sender: &LogSender, range: std::ops::RangeInclusive<u64>) {
    for record in steps(range) {
        sender.send(Arc::new(record)).unwrap();
    }
}

/// Until the writer has committed some rows.
pub(super) fn wait_for_rows(status: &RecorderStatus) {
    while status.rows() == 0 {
        thread::yield_now();
    }
}

#[test]
fn a_database_that_goes_away_and_comes_back_misses_nothing() {
    for line in Line::to_all() {
        let recorder = line.start(Mode::RealTime);
        let (sender, status) = (recorder.sender(), recorder.status());
        send(&sender, 1..=500);
        wait_for_rows(&status);
        line.proxy.cut();
        send(&sender, 501..=3000);
        while line.spilled().is_empty() {
            thread::yield_now();
        }
        line.proxy.mend();
        send(&sender, 3001..=4000);
        drop(sender);
        let summary = recorder.finish(finished(4000)).unwrap();
        assert_eq!(summary.simulations[0].steps_logged, 4000, "{}", line.target.name());
        line.check_complete(4000);
        assert_eq!(std::fs::read_dir(line.folder.path()).unwrap().count(), 0, "an empty spill file is gone");
        assert!(
            line.target.number("SELECT count(*) FROM event WHERE kind = 'logOutage'") >= 1,
            "{}",
            line.target.name()
        );
        assert!(!status.failed());
    }
}

/// The abandoned session keeps the row of the run locked in a transaction until it is terminated.
#[test]
fn a_connection_that_dies_without_a_word_is_replaced_and_its_session_ended() {
    for line in Line::to_all() {
        let recorder = line.start(Mode::RealTime);
        let (sender, status) = (recorder.sender(), recorder.status());
        send(&sender, 1..=500);
        wait_for_rows(&status);
        // While it commits batch after batch, so that the connection dies within a transaction as a rule.
        let sent = thread::spawn(move || send(&sender, 501..=10_000));
        line.proxy.abandon();
        sent.join().unwrap();
        let summary = recorder.finish(finished(10_000)).unwrap();
        assert_eq!(summary.simulations[0].steps_logged, 10_000, "{}", line.target.name());
        line.check_complete(10_000);
        assert!(!status.failed());
    }
}

#[test]
fn a_database_that_answers_nothing_for_a_while_makes_nobody_wait() {
    for line in Line::to_all() {
        let recorder = line.start(Mode::RealTime);
        let (sender, status) = (recorder.sender(), recorder.status());
        send(&sender, 1..=500);
        wait_for_rows(&status);
        line.proxy.stall(true);
        // More than half of the queue and the data in transit: the sender has not waited for the database.
        send(&sender, 501..=14_000);
        while line.spilled().is_empty() {
            thread::yield_now();
        }
        line.proxy.stall(false);
        drop(sender);
        recorder.finish(finished(14_000)).unwrap();
        line.check_complete(14_000);
    }
}

#[test]
fn without_deadlines_the_physics_waits_and_nothing_is_spilled() {
    for line in Line::to_all() {
        let recorder = line.start(Mode::Fast);
        let (sender, status) = (recorder.sender(), recorder.status());
        send(&sender, 1..=500);
        wait_for_rows(&status);
        line.proxy.cut();
        let sent = thread::spawn(move || send(&sender, 501..=14_000));
        // More than all queues hold: the run cannot end before the database returns.
        thread::sleep(Duration::from_millis(300));
        assert!(!sent.is_finished() && line.spilled().is_empty(), "{}", line.target.name());
        line.proxy.mend();
        sent.join().unwrap();
        recorder.finish(finished(14_000)).unwrap();
        line.check_complete(14_000);
    }
}

/// `MODE fast` and then `MODE realtime` while the database does not answer: waiting records are spilled.
#[test]
fn a_run_that_is_turned_to_real_time_waits_no_longer() {
    for line in Line::to_all() {
        let recorder = line.start(Mode::Fast);
        let (sender, status) = (recorder.sender(), recorder.status());
        send(&sender, 1..=500);
        wait_for_rows(&status);
        line.proxy.stall(true);
        let sent = thread::spawn(move || send(&sender, 501..=14_000));
        status.flags().set_deadlines(true);
        // More than all queues hold, so that this ends only with a spill file.
        sent.join().unwrap();
        assert!(!line.spilled().is_empty(), "{}", line.target.name());
        line.proxy.stall(false);
        let summary = recorder.finish(finished(14_000)).unwrap();
        assert!(summary.batches.longest == summary.batches.capacity, "{:?}", summary.batches);
        line.check_complete(14_000);
    }
}

#[test]
fn what_has_not_come_in_at_the_end_waits_in_a_file_and_is_brought_home_once() {
    for mut line in Line::to_all() {
        line.settings.drain = Duration::from_millis(200);
        let recorder = line.start(Mode::RealTime);
        let (sender, status) = (recorder.sender(), recorder.status());
        send(&sender, 1..=500);
        wait_for_rows(&status);
        line.proxy.cut();
        send(&sender, 501..=2000);
        drop(sender);
        let error = recorder.finish(finished(2000)).unwrap_err();
        let RecorderError::Undelivered { path, .. } = &error else { panic!("{error}") };
        let command =
            format!("simpartner db import {} --database {}", path.display(), line.settings.database.shown_url());
        assert!(error.to_string().ends_with(&command), "{error}");
        assert!(!line.verify()[0].findings.is_empty());
        let imported = import(path, &line.target.database).unwrap();
        assert_eq!((imported.is_complete(), imported.runs.len()), (true, 1));
        line.check_complete(2000);
        // Again, with the end torn off: all of it is there already.
        let bytes = std::fs::read(path).unwrap();
        std::fs::write(path, &bytes[..bytes.len() - 5]).unwrap();
        let again = import(path, &line.target.database).unwrap();
        assert!(again.is_complete() && (again.batches, again.new_batches) == (imported.batches - 1, 0), "{again:?}");
        line.check_complete(2000);
    }
}

#[test]
fn a_run_may_begin_without_its_database_where_that_is_asked_for() {
    for mut line in Line::to_all() {
        line.proxy.cut();
        let error = Recorder::start(line.settings.clone(), run()).expect_err("nobody is there");
        assert!(error.to_string().contains("log.start_without_database = true"), "{error}");
        line.settings.start_without_database = true;
        line.settings.drain = Duration::from_millis(100);
        let recorder = line.start(Mode::RealTime);
        let sender = recorder.sender();
        send(&sender, 1..=300);
        drop(sender);
        let error = recorder.finish(finished(300)).unwrap_err();
        let RecorderError::Undelivered { path, .. } = error else { panic!("{error}") };
        let schema = if line.target.name() == "mysql" { line.target.url.rsplit('/').next().unwrap() } else { "public" };
        let tables = format!("SELECT 1 FROM information_schema.tables WHERE table_schema = '{schema}'");
        assert_eq!(line.target.rows(&tables).len(), 0, "{}", line.target.name());
        import(&path, &line.target.database).unwrap();
        line.check_complete(300);
    }
}

#[test]
fn where_neither_database_nor_spill_file_takes_them_the_steps_are_named() {
    for mut line in Line::to_all() {
        line.settings.drain = Duration::from_millis(100);
        line.settings.spill_folder = line.folder.path().join("not there");
        let recorder = line.start(Mode::RealTime);
        let (sender, status) = (recorder.sender(), recorder.status());
        send(&sender, 1..=500);
        wait_for_rows(&status);
        line.proxy.cut();
        // The run ends, and a sender does not wait forever.
        send(&sender, 501..=14_000);
        assert!(status.failed() && status.flags().run_is_to_end());
        drop(sender);
        let error = recorder.finish(finished(14_000)).unwrap_err();
        let RecorderError::Lost { first, last: 14_000, .. } = error else { panic!("{error}") };
        let there = line.target.number("SELECT max(step) FROM simulationRow") as u64;
        assert_eq!(first, there + 1, "{}", line.target.name());
        assert_eq!(line.target.number("SELECT count(*) FROM body_state"), there as i64 * BODIES);
    }
}

#[test]
fn a_table_that_is_gone_ends_the_run_and_what_is_left_waits_until_it_is_back() {
    for target in TestDatabase::all() {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings { spill_folder: folder.path().to_owned(), ..Settings::new(target.database.clone()) };
        let recorder = Recorder::start(settings, run()).unwrap();
        target.execute("ALTER TABLE jointPose RENAME TO elsewhere");
        let (sender, status) = (recorder.sender(), recorder.status());
        send(&sender, 1..=3_000);
        drop(sender);
        let error = recorder.finish(finished(3_000)).unwrap_err();
        let RecorderError::Undelivered { path, source, .. } = error else { panic!("{error}") };
        assert!(
            matches!(source.as_deref(), Some(RecorderError::NotALog { .. } | RecorderError::Database { .. })),
            "{source:?}"
        );
        assert!(status.failed() && status.flags().run_is_to_end());
        target.execute("ALTER TABLE elsewhere RENAME TO jointPose");
        import(&path, &target.database).unwrap();
        let found = wait(Reader::new(&target.database).verify(None)).unwrap();
        assert_eq!((found[0].steps, &found[0].findings), (3_000, &Vec::new()), "{}", target.name());
    }
}
