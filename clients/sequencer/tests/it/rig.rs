//! A server with a small robot, started inside the test.

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener},
    sync::Arc,
    thread::JoinHandle,
};

use simpartner::{
    realtime::{ClockReport, ClockSettings, Control, Handle, Mode, Outputs, PhysicsThread, channel, log_queue},
    server::{Server, Settings},
    sim::{SequenceEnd, Simulation},
};
use simpartner_description::{
    Sequence, World,
    xml::{self, Document},
};
use simpartner_wire::signal::{StepIndex, StepRecord, Timestep};
use tokio::sync::oneshot;

/// A trunk with two rotors, which falls freely.
fn robot(ports: [u16; 3]) -> Arc<World> {
    let [left, right, position] = ports;
    let text = format!(
        "<robot name='Spinner'>
        <body name='Trunk'><mass>5</mass><pose x='0' y='0' z='0'/><box x='1' y='0.5' z='0.5'/></body>
        <body name='Left'><mass>1</mass><pose x='1' y='0' z='0'/><box x='0.2' y='0.3' z='0.4'/></body>
        <body name='Right'><mass>2</mass><pose x='-1' y='0' z='0'/><box x='0.2' y='0.3' z='0.4'/></body>
        <joint type='hinge' name='LeftAxle'><parent>Trunk</parent><child>Left</child><axis x='0' y='0' z='1'/></joint>
        <joint type='hinge' name='RightAxle'><parent>Trunk</parent><child>Right</child><axis x='0' y='1' z='0'/></joint>
        <actuator type='JointController' name='LeftMotor' joint='LeftAxle' port='{left}'/>
        <actuator type='JointController' name='RightMotor' joint='RightAxle' port='{right}'/>
        <sensor type='PositionSensor' name='Position' body='Trunk' port='{position}'/>
        <sensor type='JointEncoder' name='Angle' joint='LeftAxle' port='0'/>
        </robot>"
    );
    match xml::read_text("spinner.xml", &text) {
        Ok(Document::Robot(world)) => Arc::new(world),
        other => panic!("{other:?}"),
    }
}

/// The sequence of a text, in a file called `turn.xml`.
pub fn sequence(text: &str) -> Sequence {
    match xml::read_text("turn.xml", text) {
        Ok(Document::Sequence(sequence)) => sequence,
        other => panic!("{other:?}"),
    }
}

fn simulation(world: &Arc<World>) -> Simulation {
    Simulation::new(Arc::clone(world), Timestep::MILLISECOND, Default::default()).unwrap()
}

/// The state after a run that has the sequence inside the process; each command acts `late` steps too late.
pub fn state_hash_in_process(ports: [u16; 3], sequence: &Sequence, late: u64) -> String {
    let mut simulation = simulation(&robot(ports));
    let layout = Arc::clone(simulation.layout());
    let mut timeline = sequence.timeline(Timestep::MILLISECOND);
    timeline.sections[0].commands.iter_mut().for_each(|command| command.after_steps += late);
    simulation.schedule(&timeline).unwrap();
    for _ in 0..timeline.steps {
        simulation.step(&mut StepRecord::new(&layout));
    }
    simulation.state_hash()
}

/// The same for a sequence that waits for readings, with the number of steps and the outcome of the sequence.
pub fn played_in_process(ports: [u16; 3], sequence: &Sequence) -> (String, StepIndex, SequenceEnd) {
    let mut simulation = simulation(&robot(ports));
    let mut record = StepRecord::new(&Arc::clone(simulation.layout()));
    simulation.schedule(&sequence.timeline(Timestep::MILLISECOND)).unwrap();
    while simulation.plays_sequence() {
        simulation.step(&mut record);
    }
    (simulation.state_hash(), simulation.step_index(), simulation.sequence_end().unwrap().clone())
}

/// Reason why a sequence does not fit the robot.
pub fn misfit(ports: [u16; 3], sequence: &Sequence) -> String {
    simulation(&robot(ports)).schedule(&sequence.timeline(Timestep::MILLISECOND)).unwrap_err().to_string()
}

/// A server with its physics thread, paused at step 0.
pub struct Rig {
    runtime: tokio::runtime::Runtime,
    handle: Handle,
    /// `host:port` of the control port.
    pub control: String,
    /// Ports of both motors and of the sensor.
    pub ports: [u16; 3],
    stop: oneshot::Sender<()>,
    server: tokio::task::JoinHandle<()>,
    thread: PhysicsThread,
    log: JoinHandle<Vec<Arc<StepRecord>>>,
}

impl Rig {
    pub fn start(mode: Mode, token: Option<&str>) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        // Sequences name ports of the model, so these must be known; another program may take one first.
        for _ in 0..20 {
            let ports = free_ports();
            let simulation = simulation(&robot(ports));
            let (handle, inbox) = channel(Arc::clone(simulation.layout()), simulation.timestep(), simulation.observe());
            let settings = Settings { token: token.map(str::to_owned), ..Settings::default() };
            let Ok(server) = runtime.block_on(Server::bind(settings, handle.clone())) else { continue };
            let (mut thread, _) = PhysicsThread::prepare(simulation, inbox, clock(mode)).unwrap();
            let (log, logged) = log_queue(1000);
            let log_thread = std::thread::spawn(move || logged.iter().collect());
            thread.start(Outputs { log: Some(log), log_flags: Arc::default() }).unwrap();
            let control = server.control_address().to_string();
            let (stop, stopped) = oneshot::channel();
            let server = runtime.spawn(server.run(stopped));
            return Self { runtime, handle, control, ports, stop, server, thread, log: log_thread };
        }
        panic!("no three ports stayed free");
    }

    /// Sends a request to the clock.
    pub fn request(&self, control: Control) {
        self.runtime.block_on(self.handle.control(control)).unwrap();
    }

    /// Ends everything in order and returns the logged steps.
    pub fn end(self) -> (ClockReport, Vec<Arc<StepRecord>>) {
        // The run may have been ended by the sequencer.
        let _ = self.runtime.block_on(self.handle.control(Control::Quit));
        let report = self.thread.join().unwrap().unwrap();
        drop(self.stop);
        self.runtime.block_on(self.server).unwrap();
        (report, self.log.join().unwrap().into_iter().filter(|record| record.is_step).collect())
    }
}

fn clock(mode: Mode) -> ClockSettings {
    ClockSettings { mode, rate: 0.1, start_paused: true, ..ClockSettings::default() }
}

fn free_ports() -> [u16; 3] {
    let listeners = [0; 3].map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    listeners.map(|listener| listener.local_addr().map(|address: SocketAddr| address.port()).unwrap())
}
