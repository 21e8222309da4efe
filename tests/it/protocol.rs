//! The protocol without sockets: answers to all requests, and robustness against any input.

use std::sync::Arc;

use simpartner_model::{DeviceId, RobotId, StepIndex, Timestep};
use simpartner_wire::{
    protocol::{Accepted, CommandBoard, DeviceSession, Flow, Request, RobotSession, Session, command, read_control},
    signal::{
        Action, Attachment, ClientId, Command, Configuration, DeviceInfo, DeviceKind, Fault, Field, Layout,
        NoiseFigure, Port, StepRecord,
    },
};

fn fields(names: &[&str], lowest: f64, highest: f64) -> Vec<Field> {
    names.iter().map(|name| Field { name: (*name).into(), unit: "m", lowest, highest }).collect()
}

/// One device of each kind.
fn layout() -> Arc<Layout> {
    let device = |name: &str, kind, fields| DeviceInfo {
        name: name.into(),
        kind,
        robot: "robot".into(),
        attachment: Attachment::Body("trunk".into()),
        port: Port::ANY,
        fields,
        interval_steps: 10,
        camera: None,
        source: "robot.xml:1".into(),
    };
    let six = ["f1", "f2", "f3", "v1", "v2", "v3"];
    let nine = ["f1", "f2", "f3", "a1", "a2", "a3", "p", "i", "d"];
    let devices = vec![
        device("echo", DeviceKind::EchoSensor, vec![]),
        device("position", DeviceKind::PositionSensor, fields(&["x", "y", "z"], -1e9, 1e9)),
        device("scanner", DeviceKind::ScannerSensor, fields(&["d1", "d2"], 0.0, 10.0)),
        device("joint", DeviceKind::JointController, fields(&six, -1e6, 1e6)),
        device("angle", DeviceKind::AngleController, fields(&nine, -1e6, 1e6)),
    ];
    Arc::new(Layout::new(0, 0, devices))
}

const ECHO: DeviceId = DeviceId::new(0);
const POSITION: DeviceId = DeviceId::new(1);
const SCANNER: DeviceId = DeviceId::new(2);
const JOINT: DeviceId = DeviceId::new(3);
const ANGLE: DeviceId = DeviceId::new(4);

/// A record of step 1000 whose numbers count up.
fn record(layout: &Layout) -> StepRecord {
    let mut record = StepRecord::new(layout);
    record.step = StepIndex(1000);
    record.values.iter_mut().enumerate().for_each(|(index, value)| *value = index as f64);
    record
}

struct Talk<S = DeviceSession> {
    session: S,
    record: StepRecord,
    sent: Vec<Command>,
    /// The acknowledged steps; their effect on the clock is tested elsewhere.
    seen: Vec<Option<StepIndex>>,
    joined: bool,
}

impl Talk {
    fn with(device: DeviceId) -> Self {
        let layout = layout();
        let board = Arc::new(CommandBoard::new(&layout));
        let record = record(&layout);
        let session = DeviceSession::new(layout, board, Timestep::MILLISECOND, device, ClientId(7), 1027);
        Self { session, record, sent: Vec::new(), seen: Vec::new(), joined: false }
    }
}

impl<S: Session> Talk<S> {
    fn says(&mut self, bytes: &[u8]) -> String {
        let mut out = String::new();
        let mut send = |request| {
            match request {
                Request::Commands(commands) => self.sent.extend(commands),
                Request::Acknowledge(answer, commands) => {
                    self.seen.push(answer.seen.step);
                    self.sent.extend(commands);
                    if !std::mem::replace(&mut self.joined, true) {
                        return Ok(Accepted::Joined);
                    }
                }
            }
            Ok(Accepted::Queued)
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            let (taken, flow) = self.session.receive(rest, &self.record, &mut send, &mut out);
            rest = &rest[taken..];
            if flow == Flow::Close {
                out.push_str("(closed)");
                break;
            }
        }
        out
    }
}

#[track_caller]
fn check(device: DeviceId, conversation: &[(&str, &str)]) {
    let mut talk = Talk::with(device);
    for (said, expected) in conversation {
        assert_eq!(talk.says(said.as_bytes()), *expected, "to {said:?}");
    }
}

#[test]
fn a_sensor_speaks_first_and_answers_polls() {
    let mut greeting = String::new();
    let talk = Talk::with(POSITION);
    talk.session.greet(&talk.record, &mut greeting);
    assert_eq!(greeting, "<0,1,2>\n");
    check(
        POSITION,
        &[
            ("<>", "<0,1,2>\n"),
            ("\r\n", ""),
            ("\n", "<0,1,2>\n"),
            ("GET\r\n", "S 1000 1 0,1,2\n"),
            (
                "INFO\n",
                "OK name=position kind=PositionSensor robot=robot body=trunk port=1027 rate=100 fields=x[m],y[m],z[m]\n",
            ),
            ("<1,2>", "ERR 1 expected <>, GET, SUB n [all], INFO, CFG key=value, FAULT mode or ACK step, got '1,2'\n"),
            (
                "FETCH\n",
                "ERR 1 expected <>, GET, SUB n [all], INFO, CFG key=value, FAULT mode or ACK step, got 'FETCH'\n",
            ),
            ("SUB many\n", "ERR 8 expected a whole number behind SUB, got 'many'\n"),
            ("SUB 10 every\n", "ERR 8 expected SUB n or SUB n all, got 'every' behind the number\n"),
        ],
    );
}

#[test]
fn an_actuator_answers_a_frame_with_the_state_before_it() {
    let before = "<5,6,7,8,9,10>\n";
    check(
        JOINT,
        &[
            // The second frame reads the first one's state although no step was made in between.
            ("<1000,1000,100,0,0,0.2>1,2,3,4,5,6\n<>", &format!("{before}<1000,1000,100,0,0,0.2>\n<1,2,3,4,5,6>\n")),
            ("<1,2,3>", "ERR 2 expected 6 numbers, got 3\n"),
            ("<1,2,3,4,5,nan>", "ERR 3 number 6: expected a finite decimal, got 'nan'\n"),
            ("<1,2,3,4,5,1e7>", "ERR 4 v3: expected -1000000 to 1000000 m, got 10000000\n"),
            ("SET @1000 1,1,1,1,1,1\n", "ERR 7 step 1000 has been made already; the present one is 1000\n"),
            ("SET @1001 <1,1,1,1,1,1>\n", "OK\n"),
            ("CFG rate=10\n", "ERR 8 a JointController has no parameters\n"),
            ("<>", "<1,2,3,4,5,6>\n"),
        ],
    );
}

#[test]
fn six_numbers_leave_an_angle_controllers_forces_as_they_are() {
    check(
        ANGLE,
        &[
            ("<0,0,0.1,0.5,0.1,0.1>", "<11,12,13,14,15,16,17,18,19>\n"),
            ("<>", "<11,12,13,0,0,0.1,0.5,0.1,0.1>\n"),
            ("<1000,1000,100,0,0,0.1,0.5,0.1,0.1>", "<11,12,13,0,0,0.1,0.5,0.1,0.1>\n"),
            ("<1,2,3,4,5,6,7>", "ERR 2 expected 6 or 9 numbers, got 7\n"),
        ],
    );
    let mut talk = Talk::with(ANGLE);
    talk.says(b"SET @1500 1,2,3,4,5,6\n");
    assert_eq!(talk.sent[0].at, Some(StepIndex(1500)));
    assert_eq!(talk.sent[0].action, Action::Drive(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
}

#[test]
fn a_pending_state_gives_way_to_the_record_once_applied_or_reset() {
    let mut talk = Talk::with(JOINT);
    talk.says(b"<1,2,3,4,5,6>");
    assert_eq!(talk.says(b"<>"), "<1,2,3,4,5,6>\n");
    talk.record.applied[JOINT.index()] = talk.sent[0].sequence;
    assert_eq!(talk.says(b"<>"), "<5,6,7,8,9,10>\n");
    talk.says(b"<1,2,3,4,5,6>");
    talk.record.epoch = 1;
    assert_eq!(talk.says(b"<>"), "<5,6,7,8,9,10>\n");
}

#[test]
fn an_echo_sensor_returns_what_it_hears() {
    let mut talk = Talk::with(ECHO);
    assert_eq!(talk.says(b"<hello, robot>"), "<hello, robot>\n");
    assert_eq!(talk.says(b"<>"), "<hello, robot>\n");
    assert_eq!((talk.sent[0].text.as_str(), &talk.sent[0].action), ("hello, robot", &Action::Hear));
}

#[test]
fn a_scanner_takes_parameters_within_what_it_was_made_for() {
    let mut talk = Talk::with(SCANNER);
    assert_eq!(talk.says(b"CFG rate=50 range=5\n"), "OK\n");
    let expected = vec![Configuration::RateHz(50.0), Configuration::RangeM(5.0)];
    assert_eq!(talk.sent[0].action, Action::Configure(expected));
    assert_eq!(talk.says(b"CFG range=20\n"), "ERR 4 range: expected above 0 to 10, got 20\n");
    let known = "rate=HZ, range=M, latency=S, dropout=P, noise=SD, bias=B, drift=D or quantisation=Q";
    assert_eq!(talk.says(b"CFG colour=red\n"), format!("ERR 8 expected {known}, got 'colour=red'\n"));
    assert_eq!(talk.says(b"CFG\n"), format!("ERR 8 expected {known}\n"));
    assert_eq!(talk.says(b"CFG dropout=0 bias=-2 distance.noise=0.1 latency=0.5\n"), "OK\n");
    let noise = |quantity, figure, value| Configuration::Noise { quantity, figure, value };
    let expected = vec![
        Configuration::Dropout(0.0),
        noise(None, NoiseFigure::Bias, -2.0),
        noise(Some(0), NoiseFigure::StandardDeviation, 0.1),
        Configuration::LatencyS(0.5),
    ];
    assert_eq!(talk.sent[1].action, Action::Configure(expected));
    assert_eq!(talk.says(b"CFG dropout=1.5\n"), "ERR 4 dropout: expected 0 to 1, got 1.5\n");
}

#[test]
fn a_device_that_is_off_says_so_and_takes_faults_only() {
    let mut talk = Talk::with(JOINT);
    talk.says(b"SUB 10\n");
    talk.record.off[JOINT.index()] = true;
    let off = "ERR 10 the device is off; FAULT ok brings it back\n";
    assert_eq!(talk.says(b"<1,2,3,4,5,6>"), off);
    assert_eq!(talk.says(b"GET\n"), off);
    assert!(talk.sent.is_empty());
    let sample = |talk: &mut Talk, step| {
        let mut out = String::new();
        talk.record.step = StepIndex(step);
        talk.session.sample(&talk.record, &mut out);
        out
    };
    assert_eq!(sample(&mut talk, 1020), "");
    assert_eq!(
        talk.says(b"FAULT intermittent 0.5\nFAULT ok now\nSET @2000 FAULT off\n"),
        "OK\nERR 8 expected ok, off, stuck, garbage, delayed SECONDS or intermittent PROBABILITY, got 'ok now'\nOK\n"
    );
    assert_eq!(talk.sent[0].action, Action::Fault(Fault::Intermittent(0.5)));
    talk.record.off[JOINT.index()] = false;
    // Omitted samples are counted.
    assert!(sample(&mut talk, 1040).ends_with(" dropped=3\n"));
}

#[test]
fn a_subscriber_is_told_what_it_missed() {
    let mut talk = Talk::with(POSITION);
    assert_eq!(talk.says(b"SUB 10\n"), "OK\n");
    let mut sample = |step| {
        let mut out = String::new();
        talk.record.step = StepIndex(step);
        talk.session.sample(&talk.record, &mut out);
        out
    };
    assert_eq!(sample(1009), "");
    assert_eq!(sample(1010), "S 1010 1.01 0,1,2\n");
    assert_eq!(sample(1011), "");
    assert_eq!(sample(1043), "S 1043 1.043 0,1,2 dropped=2\n");
    assert_eq!(sample(1050), "S 1050 1.05 0,1,2\n");
}

#[test]
fn a_subscriber_says_whether_it_wants_what_it_is_late_for() {
    let mut talk = Talk::with(POSITION);
    for (said, wants_all) in
        [("SUB 10 all\n", true), ("SUB 10\n", false), ("SUB 1  all\n", true), ("SUB 0 all\n", false)]
    {
        assert_eq!(talk.says(said.as_bytes()), "OK\n");
        assert_eq!(talk.session.wants_all(), wants_all, "{said}");
    }
    // A member of the lockstep answers for the newest step.
    talk.says(b"SUB 10 all\n");
    talk.says(b"ACK\n");
    assert!(talk.session.is_subscribed() && !talk.session.wants_all());
}

#[test]
fn an_http_request_closes_the_connection_without_an_answer() {
    for request in ["GET / HTTP/1.1\r\n", "POST /x HTTP/1.0\r\nHost: a\r\n\r\n<1,2,3,4,5,6>", "OPTIONS * HTTP/2\n"] {
        let mut talk = Talk::with(JOINT);
        assert_eq!(talk.says(request.as_bytes()), "(closed)");
        assert!(talk.sent.is_empty(), "a web page must not drive a robot");
    }
}

#[test]
fn a_sequences_frame_is_read_like_a_clients() {
    let layout = layout();
    let joint = layout.device_info(JOINT);
    assert_eq!(command(joint, " <1,2,3,4,5,6> "), command(joint, "1,2,3,4,5,6"));
    assert!(command(joint, "GET").is_err());
}

/// A client of the whole robot: sensors `position` and `scanner`, actuators `joint` and `angle`.
fn robot() -> Talk<RobotSession> {
    let layout = layout();
    let board = Arc::new(CommandBoard::new(&layout));
    let record = record(&layout);
    let session = RobotSession::new(layout, board, Timestep::MILLISECOND, RobotId::new(0), ClientId(7), 6501);
    Talk { session, record, sent: Vec::new(), seen: Vec::new(), joined: false }
}

#[test]
fn a_combined_port_tells_all_readings_in_one_line() {
    let mut talk = robot();
    let mut greeting = String::new();
    talk.session.greet(&talk.record, &mut greeting);
    assert_eq!(greeting, "<0,1,2,3,4>\n");
    assert_eq!(talk.says(b"<>GET\nSUB 10\n"), "<0,1,2,3,4>\nS 1000 1 0,1,2,3,4\nOK\n");
    let info = talk.says(b"INFO\n");
    let start = "OK name=robot kind=Robot port=6501 readings=position.x[m],position.y[m],position.z[m],scanner.d1[m],scanner.d2[m] \
                 commands=joint.f1[m],";
    assert!(info.starts_with(start) && info.ends_with(",angle.i[m],angle.d[m]\n"), "{info}");
    let mut out = String::new();
    talk.record.step = StepIndex(1030);
    talk.record.off[SCANNER.index()] = true;
    talk.record.off[JOINT.index()] = true;
    talk.session.sample(&talk.record, &mut out);
    assert_eq!(out, "S 1030 1.03 0,1,2,3,4 dropped=2 off=scanner,joint\n");
}

#[test]
fn a_combined_line_commands_some_actuators_or_all_or_none() {
    let mut talk = robot();
    assert_eq!(talk.says(b"angle=0,0,0.1,5,0,0; joint=1,2,3,4,5,6\n"), "OK\n");
    let sent: Vec<_> = talk.sent.drain(..).map(|c| (c.target.device().unwrap(), c.at, c.sequence, c.text)).collect();
    let text = |text: &str| text.to_owned();
    assert_eq!(sent, [(JOINT, None, 1, text("1,2,3,4,5,6")), (ANGLE, None, 1, text("0,0,0.1,5,0,0"))]);
    assert_eq!(talk.says(b"<1,2,3,4,5,6,7,8,9,10,11,12,13,14,15>SET @1500 joint=1,1,1,0,0,0;\n"), "OK\nOK\n");
    let sent: Vec<_> = talk.sent.drain(..).map(|c| (c.target.device().unwrap(), c.at, c.sequence, c.text)).collect();
    assert_eq!(sent[1], (ANGLE, None, 2, text("7,8,9,10,11,12,13,14,15")));
    assert_eq!(sent[2], (JOINT, Some(StepIndex(1500)), 3, text("1,1,1,0,0,0")));
    for (said, heard) in [
        ("joint=1,2,3,4,5,6;angle=1,2", "ERR 2 angle: expected 6 or 9 numbers, got 2\n"),
        ("joint=1,2,3,4,5,6;angle=0,0,x,5,0,0", "ERR 3 angle: number 3: expected a finite decimal, got 'x'\n"),
        ("joint=1,2,3,4,5,2e6", "ERR 4 joint: v3: expected -1000000 to 1000000 m, got 2000000\n"),
        ("joint=1,1,1,0,0,0;joint=1,1,1,0,0,0", "ERR 8 expected each actuator once, got 'joint' again\n"),
        ("position=1,2,3", "ERR 8 expected one of joint, angle, got 'position'\n"),
        ("joint=FAULT off", "ERR 1 expected a frame with the numbers of all actuators, "),
        ("1,2,3,4,5,6", "ERR 2 expected 15 numbers, got 6\n"),
        ("SET @1000 joint=1,1,1,0,0,0", "ERR 7 step 1000 has been made already; the present one is 1000\n"),
        ("DANCE", "ERR 1 expected a frame with the numbers of all actuators, Name=v,v,...;Name2=v,v,..., "),
        ("ACK often", "ERR 8 expected a whole number behind ACK, got 'often'\n"),
        ("ACK 7+", "ERR 8 expected a whole number behind ACK step+, got ''\n"),
        ("ACK 7+0", "ERR 8 expected at least one step behind ACK step+, got 0\n"),
        ("ACK +7", "ERR 8 expected a whole number behind ACK, got ''\n"),
        ("ACK 7 +7", "ERR 2 expected 15 numbers, got 1\n"),
    ] {
        let answer = talk.says(format!("{said}\n").as_bytes());
        assert!(answer.starts_with(heard), "{said}: {answer}");
    }
    assert!(talk.sent.is_empty(), "all are taken or none");
    // It has room for robots of many actuators.
    assert_eq!(
        talk.says(&[vec![b'1'; 70_000], b"\n".to_vec()].concat()),
        "ERR 5 expected a message of at most 65536 bytes\n"
    );
}

#[test]
fn a_member_of_the_lockstep_is_told_every_step_and_the_one_after_a_reset() {
    fn check(mut talk: Talk<impl Session>, values: &str) {
        // The first ACK joins, and is answered by the clock's step; the others are answered by the steps.
        assert_eq!(talk.says(b"ACK 3\n"), format!("S 1000 1 {values}\n"));
        assert_eq!(talk.says(b"ACK 1000\n"), "");
        assert_eq!(talk.seen, [Some(StepIndex(3)), Some(StepIndex(1000))]);
        let mut sample = |step, epoch| {
            let mut out = String::new();
            (talk.record.step, talk.record.epoch) = (StepIndex(step), epoch);
            talk.session.sample(&talk.record, &mut out);
            out
        };
        assert_eq!(sample(1000, 0), "");
        assert_eq!(sample(1001, 0), format!("S 1001 1.001 {values}\n"));
        assert_eq!(sample(0, 1), format!("S 0 0 {values}\n"));
        assert_eq!(sample(1, 1), format!("S 1 0.001 {values}\n"));
    }
    check(Talk::with(POSITION), "0,1,2");
    check(robot(), "0,1,2,3,4");
}

/// Small and fast, and the same numbers every time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// Parts of random messages.
const WILD: [&[u8]; 18] = [
    b"ACK 1000\n",
    b"joint=1,2,3,4,5,6;angle=1,2,3,4,5,6\n",
    b"MODE lockstep robot/joint\n",
    b"<1000,1000,100,0,0,0.2>",
    b"1,2,3,4,5,6\n",
    b"<>",
    b"GET\n",
    b"SUB 10\n",
    b"INFO\n",
    b"SET @1200 1,2,3,4,5,6\n",
    b"CFG rate=10 range=2\n",
    b"FAULT delayed 0.5\n",
    b"STEP 10\n",
    b"RUNTO 12.5\n",
    b"PLAY 2\n",
    b"GET / HTTP/1.1\n",
    b"SYNC abc\n",
    b"\xff\xfe<\x00>\n",
];

/// 100,000 messages (a million with `SIMPARTNER_LONG_TESTS=1`), some of them nearly right, most of them not: no panic,
/// and each is answered, closes the connection or is a command that the device can take.
#[test]
fn wild_messages_are_all_answered() {
    let count = if std::env::var_os("SIMPARTNER_LONG_TESTS").is_some() { 1_000_000 } else { 100_000 };
    let mut random = Random(0x2008_0811);
    let (mut messages, mut answers, mut closed) = (0u32, 0u64, 0u32);
    let mut whole = robot();
    let mut talks: Vec<Talk> = [ECHO, POSITION, SCANNER, JOINT, ANGLE].map(Talk::with).into();
    while messages < count {
        let mut message = WILD[random.below(WILD.len())].to_vec();
        for _ in 0..random.below(4) {
            let at = random.below(message.len());
            match random.below(4) {
                0 => message[at] = random.below(256) as u8,
                1 => message.insert(at, b"<>,.-+e@=\n 019"[random.below(14)]),
                2 => drop(message.remove(at)),
                _ => message.extend_from_within(at..),
            }
            if message.is_empty() {
                break;
            }
        }
        if message.last() != Some(&b'\n') {
            message.push(b'\n');
        }
        let which = random.below(talks.len());
        let answer = talks[which].says(&message);
        messages += 1;
        answers += answer.matches('\n').count() as u64;
        if answer.ends_with("(closed)") {
            closed += 1;
            talks[which] = Talk::with([ECHO, POSITION, SCANNER, JOINT, ANGLE][which]);
        }
        if whole.says(&message).ends_with("(closed)") {
            whole = robot();
        }
        for sent in talks[which].sent.drain(..).chain(whole.sent.drain(..)) {
            if let Action::Drive(values) = &sent.action {
                assert!(values.iter().all(|value| value.is_finite()), "{sent:?}");
            }
        }
        // The control port reads the same text, and refusals are printable.
        if let Err(refusal) = read_control(String::from_utf8_lossy(&message).trim()) {
            assert!(refusal.to_string().starts_with("ERR "));
        }
    }
    // A frame without its `>` waits for more, so some answers come later than their messages.
    assert!(answers + u64::from(closed) > u64::from(count / 10 * 9), "{answers} answers, {closed} closed");
}

#[test]
fn one_message_is_answered_at_a_time() {
    let mut talk = Talk::with(SCANNER);
    let (mut out, segment) = (String::new(), [b'\n'; 1024]);
    let send = |_| Ok(Accepted::Queued);
    let (taken, flow) = talk.session.receive(&segment, &talk.record, send, &mut out);
    assert_eq!((taken, flow, out.lines().count()), (1, Flow::Open, 1));
    // Bytes without a message end are consumed at once.
    assert_eq!(talk.session.receive(b"INF", &talk.record, send, &mut out), (3, Flow::Open));
    assert!(talk.session.is_within_message());
    assert_eq!(talk.session.receive(b"O\nGET\n", &talk.record, send, &mut out), (2, Flow::Open));
    assert!(!talk.session.is_within_message());
}
