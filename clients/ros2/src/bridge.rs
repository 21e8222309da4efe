//! The bridge: readings of the server out as messages, messages in as commands, from connection to connection.
//!
//! If the server disconnects, the bridge reconnects. It drops commands that arrive meanwhile, because they are stale.

use std::{
    cell::Cell,
    rc::Rc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, ensure};
use simpartner_wire::protocol::{excerpt, read_numbers};
use tokio::{
    sync::{
        Notify,
        mpsc::{Receiver, Sender, channel},
    },
    task::{JoinSet, LocalSet},
    time::{MissedTickBehavior, interval, sleep},
};

use crate::{
    config::{Config, Source},
    config_error::ConfigError,
    description,
    link::{Link, Reader, Server, Writer},
    links::{self, Naming},
    lockstep::Lockstep,
    mesh::MeshServer,
    messages::{Clock, Odometry, String_, TFMessage, Time},
    node::Node,
    robot::{Command, Robot, RobotBuilder, Schedule},
    ros::{Domain, Profile, Publish, Ros, first_port},
    scene::{OtherWorld, Scene, Truth},
    services::Simulator,
};

/// Delay before the first reconnection; each further one is twice as long, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Capacity of the queues of lines and of commands. The source of a full queue is not read.
const QUEUE_CAPACITY: usize = 256;

/// Largest number of warnings a second. Further ones are counted.
const MAX_WARNINGS_PER_SECOND: u32 = 10;

/// Other clients can edit the world while it is paused; the bridge checks for changes at this interval.
const PAUSED_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// End of the last line of a port whose device or robot has been deleted.
const DELETED_SUFFIX: &str = "was for what has been deleted";

/// Options of a bridge.
#[derive(Debug, Clone)]
pub struct Options {
    /// The server.
    pub server: Server,
    /// The settings.
    pub config: Config,
    /// The file of the settings, for messages with its lines.
    pub source: Option<Source>,
}

/// Status events of a running bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BridgeEvent {
    /// The server is connected; these are the topics of its robots.
    Connected(Vec<String>),
    /// The connection failed or broke, with the reason. The bridge connects again.
    Disconnected(String),
    /// A command or a setting was refused, or the network needs attention.
    Warning(String),
}

/// Messages dropped because the receiver was too slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropCounters {
    /// Readings of the server that the bridge dropped because it was too slow.
    pub missed: u64,
    /// Messages that were dropped because reliable readers were too slow.
    pub unsent: u64,
}

/// Runs a bridge until `stop` is ready. Returns the numbers of dropped messages.
///
/// # Errors
/// When the DDS domain cannot be joined or has a bridge already, or the settings do not fit the world.
pub async fn run(
    options: &Options,
    stop: impl Future<Output = ()>,
    mut on_event: impl FnMut(BridgeEvent),
) -> Result<DropCounters> {
    let config = &options.config;
    let domain = Domain::join(config.domain, &config.networks, config.services)?;
    on_event(BridgeEvent::Warning(describe_exposure(config)));
    domain.check_for_others().await?;
    let connected = Notify::new();
    let elder = async {
        connected.notified().await;
        domain.wait_for_elder().await
    };
    let missed = Rc::new(Cell::new(0));
    let work = LocalSet::new();
    let bridging = work.run_until(async {
        let mut pause = FIRST_PAUSE;
        let mut node = None;
        loop {
            let began = Instant::now();
            let end = match Session::start(options, &domain, Rc::clone(&missed), &mut node).await {
                Ok(mut session) => {
                    connected.notify_one();
                    on_event(BridgeEvent::Connected(session.topics()));
                    session.run(&mut on_event).await
                }
                Err(error) if error.is::<ConfigError>() => return error,
                Err(error) => error,
            };
            if end.is::<OtherWorld>() {
                // The node stays, so that its services answer all the while.
                continue;
            }
            node = None;
            on_event(BridgeEvent::Disconnected(format!("{end:#}")));
            // A long-lasting connection resets the delay.
            if began.elapsed() > LONGEST_PAUSE {
                pause = FIRST_PAUSE;
            }
            sleep(pause).await;
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    });
    let ended = tokio::select! {
        error = bridging => Some(error),
        error = elder => Some(error),
        () = stop => None,
    };
    match ended {
        Some(error) => Err(error),
        None => Ok(DropCounters { missed: missed.get(), unsent: domain.lost() }),
    }
}

/// Describes who can reach the bridge: for any `networks`, RustDDS 0.15.1 binds its sockets to all addresses.
fn describe_exposure(config: &Config) -> String {
    let networks: Vec<String> = config.networks.iter().map(ToString::to_string).collect();
    format!(
        "found on and sends to {} alone, but its UDP ports (from {}) take datagrams on all addresses of this machine: close them by a firewall where others reach it",
        networks.join(", "),
        first_port(config.domain)
    )
}

/// A connection to a server, with the topics of its world.
struct Session {
    simulator: Rc<Simulator>,
    scene: Rc<Scene>,
    links: Rc<Vec<links::Link>>,
    control: Link,
    robots: Vec<Robot>,
    writers: Vec<Writer>,
    /// Schedules of the clock with the frames, and of the joint states of each robot.
    world_schedule: Schedule,
    joint_schedules: Vec<Schedule>,
    /// The newest step of each robot.
    steps: Vec<u64>,
    truth: Truth,
    /// The time of that request.
    truth_requested_at: Instant,
    lockstep: Option<Lockstep>,
    outputs: Outputs,
    /// Readings that the server dropped because this side was too slow.
    missed: Rc<Cell<u64>>,
    lines: Receiver<(usize, Result<String>)>,
    commands: Receiver<Command>,
    rate_hz: f64,
    warnings: WarningLimiter,
    /// They end with the session.
    _tasks: JoinSet<()>,
}

/// The topics of the world, and those of a robot as a whole.
struct Outputs {
    topics: Vec<String>,
    clock: Publish<Clock>,
    transforms: Publish<TFMessage>,
    static_transforms: Publish<TFMessage>,
    /// Base body and topic of each robot with a body.
    ground_truth: Vec<(usize, Publish<Odometry>)>,
    /// Kept open, because late subscribers receive the last message.
    _descriptions: Vec<Publish<String_>>,
}

impl Session {
    async fn start(options: &Options, domain: &Domain, missed: Rc<Cell<u64>>, node: &mut Option<Node>) -> Result<Self> {
        let Options { server, source, .. } = options;
        let mut control = server.control().await?;
        let scene = Rc::new(Scene::read(&control.request("SCENE").await?)?);
        // Robots named in the configuration may be removed later.
        if let Some(source) = source.as_ref().filter(|_| node.is_none()) {
            source.check_world(&options.config, &scene)?;
        }
        let (Node { ros, simulator, config, .. }, view) =
            Node::in_world(node, server, &options.config, domain, &scene)?;
        let (config, links) = (&*config, Rc::clone(&view.links));
        let mut tasks = JoinSet::new();
        let ((command_sender, commands), (line_sender, lines)) = (channel(QUEUE_CAPACITY), channel(QUEUE_CAPACITY));
        let ports = control.robots().await?;
        let names: Vec<String> = ports.iter().map(|(name, _)| name.clone()).collect();
        let mut meshes = MeshServer::open(config.networks[0]).await?;
        let outputs = Outputs::open_topics(ros, &scene, &links, &names, config, &mut meshes)?;
        meshes.serve(&mut tasks);
        let (source, taker) = (source.as_ref(), &command_sender);
        let mut robots = Vec::new();
        for (place, (name, _)) in ports.iter().enumerate() {
            let (ros, scene, links, tasks, missed) = (&mut *ros, &scene, &links, &mut tasks, &missed);
            let mut builder =
                RobotBuilder { ros, scene, links, config, source, server, missed, commands: taker, tasks };
            robots.push(builder.build(name, place).await?);
        }
        let truth = Truth::read(&control.request("TRUTH").await?, &scene)?;
        let lockstep = Lockstep::of(config, &ports, &robots, &scene, source)?;
        let member = lockstep.as_ref().map(|lockstep| lockstep.robot);
        if let Some(member) = member {
            ensure_ok(&control.request(&format!("MODE lockstep {}", ports[member].0)).await?)?;
        }
        let writers = connect_robots(server, &ports, &robots, member, &line_sender, &mut tasks).await?;
        let schedule = Schedule::every(scene.steps_in(1.0 / config.rate_hz));
        let session = Self {
            joint_schedules: vec![schedule; robots.len()],
            steps: vec![0; robots.len()],
            world_schedule: schedule,
            simulator: Rc::clone(simulator),
            scene,
            links,
            control,
            robots,
            writers,
            truth,
            truth_requested_at: Instant::now(),
            lockstep,
            outputs,
            missed,
            lines,
            commands,
            rate_hz: config.rate_hz,
            warnings: WarningLimiter::default(),
            _tasks: tasks,
        };
        session.outputs.publish_static(&session.scene, &session.links, &session.robots);
        session.publish_truth();
        session.simulator.set_world(view, session.truth.world);
        Ok(session)
    }

    fn topics(&self) -> Vec<String> {
        self.outputs.topics.iter().chain(self.robots.iter().flat_map(|robot| &robot.topics)).cloned().collect()
    }

    /// Forwards readings and commands until an error ends the session.
    async fn run(&mut self, on_event: &mut impl FnMut(BridgeEvent)) -> anyhow::Error {
        // Without robots, no readings arrive.
        let mut ticks = interval(Duration::from_secs_f64(1.0 / self.rate_hz));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let is_alone = self.robots.is_empty();
        loop {
            if self.simulator.is_world_awaited() {
                return OtherWorld.into();
            }
            let done = tokio::select! {
                Some((robot, line)) = self.lines.recv() => match line {
                    Ok(line) => self.on_line(robot, &line, on_event).await,
                    Err(error) => Err(error),
                },
                Some(command) = self.commands.recv() => self.on_command(&command, on_event).await,
                // While the clock is paused, and without robots, nothing else arrives.
                _ = ticks.tick() => match is_alone || self.truth_requested_at.elapsed() > PAUSED_POLL_INTERVAL {
                    true => self.update_truth().await,
                    false => Ok(()),
                },
                else => Err(anyhow!("all connections are closed")),
            };
            if let Err(error) = done {
                return error;
            }
        }
    }

    /// The robot whose readings pace the clock and the frames.
    fn pacing_robot(&self) -> usize {
        self.lockstep.as_ref().map_or(0, |lockstep| lockstep.robot)
    }

    async fn on_line(&mut self, robot: usize, line: &str, on_event: &mut impl FnMut(BridgeEvent)) -> Result<()> {
        if line.ends_with(DELETED_SUFFIX) {
            return Err(OtherWorld.into());
        }
        if line.starts_with("ERR") {
            self.warnings.warn(&format!("{}: the server refuses: {line}", self.robots[robot].name), on_event);
            if let Some(lockstep) = self.lockstep.as_mut().filter(|lockstep| lockstep.robot == robot) {
                lockstep.refused();
            }
        }
        let Some(sample) = line.strip_prefix("S ") else { return Ok(()) };
        let mut words = sample.split(' ');
        let mut next = || words.next().with_context(|| format!("expected an S line, got '{}'", excerpt(line)));
        let (step, time, values) = (next()?.parse()?, next()?.parse::<f64>()?, next()?);
        let values = if values.is_empty() { Ok(Vec::new()) } else { read_numbers(values) };
        let values = values.map_err(|refusal| anyhow!("a reading of the server: {refusal}"))?;
        let rest: Vec<&str> = words.collect();
        let word = |name: &str| rest.iter().find_map(|word| word.strip_prefix(name)).unwrap_or_default();
        self.missed.set(self.missed.get() + word("dropped=").parse::<u64>().unwrap_or(0));
        let off: Vec<&str> = word("off=").split(',').collect();
        if step < self.steps[robot] {
            self.robots[robot].reset();
        }
        self.steps[robot] = step;
        if robot == self.pacing_robot() && self.world_schedule.is_due(step) {
            self.update_truth().await?;
        }
        let stamp = Time::from_seconds(time);
        self.robots[robot].publish(step, &values, &off);
        if self.joint_schedules[robot].is_due(step) {
            self.robots[robot].publish_joints(&self.truth, &stamp);
        }
        match self.lockstep.as_mut().filter(|lockstep| lockstep.robot == robot) {
            Some(lockstep) => {
                lockstep.asked(step, time);
                self.answer_lockstep().await
            }
            None => {
                let parts = self.robots[robot].commands_at(time);
                self.send_commands(robot, &parts).await
            }
        }
    }

    async fn on_command(&mut self, command: &Command, on_event: &mut impl FnMut(BridgeEvent)) -> Result<()> {
        // Between two beats the newest time known is that of the last.
        let part = match self.robots[command.robot].command(&command.kind, self.truth.time) {
            Ok(part) => part,
            Err(error) => {
                self.warnings.warn(&format!("{}: {error:#}; nothing was done", command.topic), on_event);
                return Ok(());
            }
        };
        match self.lockstep.as_mut().filter(|lockstep| lockstep.robot == command.robot) {
            Some(lockstep) => {
                lockstep.commanded(&command.topic, part);
                self.answer_lockstep().await
            }
            None => self.send_commands(command.robot, &part.into_iter().collect::<Vec<_>>()).await,
        }
    }

    /// Releases the clock once its subscriber has commanded.
    async fn answer_lockstep(&mut self) -> Result<()> {
        let Some(lockstep) = &mut self.lockstep else { return Ok(()) };
        let robot = lockstep.robot;
        let Some(time) = lockstep.is_ready() else { return Ok(()) };
        let wanted = self.robots[robot].commands_at(time);
        let line = lockstep.answer(wanted);
        self.writers[robot].send(&line).await
    }

    async fn send_commands(&mut self, robot: usize, parts: &[String]) -> Result<()> {
        if parts.is_empty() {
            return Ok(());
        }
        self.writers[robot].send(&parts.join(";")).await
    }

    /// Requests the newest step and publishes its clock and frames.
    async fn update_truth(&mut self) -> Result<()> {
        let truth = Truth::read(&self.control.request("TRUTH").await?, &self.scene)?;
        self.truth_requested_at = Instant::now();
        if truth.world != self.truth.world {
            return Err(OtherWorld.into());
        }
        let is_new = truth.step != self.truth.step;
        self.truth = truth;
        if is_new {
            self.publish_truth();
        }
        Ok(())
    }

    fn publish_truth(&self) {
        let stamp = Time::from_seconds(self.truth.time);
        (self.outputs.clock)(Clock { clock: stamp.clone() });
        let frames: Vec<_> = self.robots.iter().filter_map(|one| one.odometry(&self.links, &self.truth)).collect();
        (self.outputs.transforms)(links::transforms(&self.links, &self.truth, &frames, &stamp));
        for (base, publish) in &self.outputs.ground_truth {
            let (body, state) = (&self.scene.bodies[*base], &self.truth.bodies[*base]);
            publish(links::ground_truth(&self.links[*base], state, body.centre_of_mass, &stamp));
        }
    }
}

impl Outputs {
    fn open_topics(
        ros: &mut Ros,
        scene: &Scene,
        links: &[links::Link],
        robots: &[String],
        config: &Config,
        meshes: &mut MeshServer,
    ) -> Result<Self> {
        let mut outputs = Self {
            topics: ["/clock", "/tf", "/tf_static"].map(str::to_owned).to_vec(),
            clock: Box::new(ros.publisher("/clock", Profile::Clock)?),
            transforms: Box::new(ros.publisher("/tf", Profile::Stream)?),
            static_transforms: Box::new(ros.publisher("/tf_static", Profile::Latched)?),
            ground_truth: Vec::new(),
            _descriptions: Vec::new(),
        };
        for robot in robots {
            let namespace = Naming::of(robot, scene, config).namespace;
            let topic = format!("{namespace}/robot_description");
            let describe: Publish<String_> = Box::new(ros.publisher(&topic, Profile::Latched)?);
            let data = description::urdf(scene, links, robot, &mut |mesh| meshes.publish(mesh));
            describe(String_ { data });
            outputs._descriptions.push(describe);
            outputs.topics.push(topic);
            if let Some(base) = scene.bodies.iter().position(|body| body.robot.as_ref() == Some(robot)) {
                let topic = format!("{namespace}/ground_truth");
                outputs.ground_truth.push((base, Box::new(ros.publisher(&topic, Profile::Stream)?)));
                outputs.topics.push(topic);
            }
        }
        Ok(outputs)
    }

    /// Publishes the static transforms of sensors and fixed bodies.
    fn publish_static(&self, scene: &Scene, links: &[links::Link], robots: &[Robot]) {
        let sensors = robots.iter().flat_map(|robot| &robot.frames);
        let mounts = sensors.map(|sensor| (&scene.devices[sensor.device], sensor.frame.clone(), sensor.axes));
        (self.static_transforms)(links::static_transforms(scene, links, mounts, &Time::default()));
    }
}

fn ensure_ok(answer: &str) -> Result<()> {
    ensure!(answer.starts_with("OK"), "the server refuses: {answer}");
    Ok(())
}

/// Connects to the robots' ports and forwards their lines: each reading at its interval, of a lockstep member always.
async fn connect_robots(
    server: &Server,
    ports: &[(String, u16)],
    robots: &[Robot],
    member: Option<usize>,
    lines: &Sender<(usize, Result<String>)>,
    tasks: &mut JoinSet<()>,
) -> Result<Vec<Writer>> {
    let mut writers = Vec::new();
    for (place, (robot, (_, port))) in robots.iter().zip(ports).enumerate() {
        let Link { reader, mut writer } = server.port(*port).await?;
        writer.send(&if member == Some(place) { "ACK".into() } else { format!("SUB {} all", robot.interval) }).await?;
        writers.push(writer);
        tasks.spawn_local(forward_lines(reader, place, lines.clone()));
    }
    Ok(writers)
}

/// Forwards the lines of a robot, at last the error that ends them.
async fn forward_lines(mut reader: Reader, robot: usize, lines: Sender<(usize, Result<String>)>) {
    loop {
        let line = reader.line().await;
        let is_end = line.is_err();
        if lines.send((robot, line)).await.is_err() || is_end {
            return;
        }
    }
}

/// Warnings of refused commands, limited to a number a second.
#[derive(Debug, Default)]
struct WarningLimiter {
    second: Option<Instant>,
    reported: u32,
    suppressed: u64,
}

impl WarningLimiter {
    fn warn(&mut self, text: &str, on_event: &mut impl FnMut(BridgeEvent)) {
        if self.second.is_none_or(|began| began.elapsed() > Duration::from_secs(1)) {
            (self.second, self.reported) = (Some(Instant::now()), 0);
            if self.suppressed > 0 {
                on_event(BridgeEvent::Warning(format!("{} more were refused", std::mem::take(&mut self.suppressed))));
            }
        }
        if self.reported >= MAX_WARNINGS_PER_SECOND {
            self.suppressed += 1;
            return;
        }
        self.reported += 1;
        on_event(BridgeEvent::Warning(text.to_owned()));
    }
}
