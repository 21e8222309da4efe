//! The bridge: readings of the server out as messages, messages in as commands, from connection to connection.
//!
//! A server that goes away is tried again. Nothing is kept for it meanwhile: a command that is late steers wrong.

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
    robot::{Due, Maker, Order, Robot},
    ros::{Domain, Profile, Publish, Ros, first_port},
    scene::{OtherWorld, Scene, Truth},
    services::Simulator,
};

/// The first pause before another try; each is twice as long as the one before, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How many lines and orders may wait. Behind that the server, or the sender, is not read; the server keeps what it has to send for a while.
const WAITING: usize = 256;

/// How many notices there are in a second at most.
const NOTICES: u32 = 10;

/// How often the world is looked at while no step is made: others may change it then.
const LOOK: Duration = Duration::from_secs(1);

/// How the line ends that a port sends last when what it is for has gone.
const DELETED: &str = "was for what has been deleted";

/// What a bridge needs.
#[derive(Debug, Clone)]
pub struct Options {
    /// The server.
    pub server: Server,
    /// The settings.
    pub config: Config,
    /// The file that they are from.
    pub source: Option<Source>,
}

/// What a running bridge tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// The server is connected; these are the topics of its robots.
    Connected(Vec<String>),
    /// The server is not there, and why. Another try follows.
    Away(String),
    /// Something was refused.
    Notice(String),
}

/// What did not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Losses {
    /// Readings of the server that the bridge was too slow for.
    pub missed: u64,
    /// Messages that reliable readers were too slow for.
    pub unsent: u64,
}

/// Runs a bridge until `stop` is ready. Returns what was lost meanwhile.
///
/// # Errors
/// When the DDS domain cannot be joined or has a bridge already, or the settings do not fit the world.
pub async fn run(options: &Options, stop: impl Future<Output = ()>, mut tell: impl FnMut(News)) -> Result<Losses> {
    let config = &options.config;
    let domain = Domain::join(config.domain, &config.networks, config.services)?;
    tell(News::Notice(exposure(config)));
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
                    tell(News::Connected(session.topics()));
                    session.run(&mut tell).await
                }
                Err(error) if error.is::<ConfigError>() => return error,
                Err(error) => error,
            };
            if end.is::<OtherWorld>() {
                // The node stays, so that its services answer all the while.
                continue;
            }
            node = None;
            tell(News::Away(format!("{end:#}")));
            // One that has lasted was a good one.
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
        None => Ok(Losses { missed: missed.get(), unsent: domain.lost() }),
    }
}

/// Who can reach the bridge, which its `networks` do not tell: RustDDS 0.15.1 binds its sockets to all addresses and has no option for it.
fn exposure(config: &Config) -> String {
    let networks: Vec<String> = config.networks.iter().map(ToString::to_string).collect();
    format!(
        "found on and sends to {} alone, but its UDP ports (from {}) take datagrams on all addresses of this machine: close them by a firewall where others reach it",
        networks.join(", "),
        first_port(config.domain)
    )
}

/// A connection to a server and all that was made for its world.
struct Session {
    simulator: Rc<Simulator>,
    scene: Rc<Scene>,
    links: Rc<Vec<links::Link>>,
    control: Link,
    robots: Vec<Robot>,
    writers: Vec<Writer>,
    /// When the clock, the frames and the joints are due; those of each robot.
    beat_due: Due,
    joints_due: Vec<Due>,
    /// The newest step of each robot.
    steps: Vec<u64>,
    truth: Truth,
    /// When that was asked for.
    beaten: Instant,
    lockstep: Option<Lockstep>,
    outputs: Outputs,
    /// Readings that the server did not send, since this side was too slow for them.
    missed: Rc<Cell<u64>>,
    lines: Receiver<(usize, Result<String>)>,
    orders: Receiver<Order>,
    rate_hz: f64,
    notices: Notices,
    /// They end with the session.
    _tasks: JoinSet<()>,
}

/// The topics of the world as a whole, and those that tell of a robot as a whole.
struct Outputs {
    topics: Vec<String>,
    clock: Publish<Clock>,
    transforms: Publish<TFMessage>,
    static_transforms: Publish<TFMessage>,
    /// Of each robot with a body: its base and its topic.
    odometry: Vec<(usize, Publish<Odometry>)>,
    /// Kept, since whoever comes later is sent the last message.
    _descriptions: Vec<Publish<String_>>,
}

impl Session {
    async fn start(options: &Options, domain: &Domain, missed: Rc<Cell<u64>>, node: &mut Option<Node>) -> Result<Self> {
        let Options { server, source, .. } = options;
        let mut control = server.control().await?;
        let scene = Rc::new(Scene::read(&control.ask("SCENE").await?)?);
        // What the settings name may go later.
        if let Some(source) = source.as_ref().filter(|_| node.is_none()) {
            source.check_world(&options.config, &scene)?;
        }
        let (Node { ros, simulator, config, .. }, view) =
            Node::in_world(node, server, &options.config, domain, &scene)?;
        let (config, links) = (&*config, Rc::clone(&view.links));
        let mut tasks = JoinSet::new();
        let ((order_sender, orders), (line_sender, lines)) = (channel(WAITING), channel(WAITING));
        let ports = control.robots().await?;
        // Names that ROS gives come before those of devices.
        let names: Vec<String> = ports.iter().map(|(name, _)| name.clone()).collect();
        let mut meshes = MeshServer::open(config.networks[0]).await?;
        let outputs = Outputs::open(ros, &scene, &links, &names, config, &mut meshes)?;
        meshes.serve(&mut tasks);
        let (source, orders_to) = (source.as_ref(), &order_sender);
        let mut robots = Vec::new();
        for (place, (name, _)) in ports.iter().enumerate() {
            let (ros, scene, links, tasks) = (&mut *ros, &scene, &links, &mut tasks);
            let mut maker = Maker { ros, scene, links, config, source, server, orders: orders_to, tasks };
            robots.push(maker.robot(name, place).await?);
        }
        let truth = Truth::read(&control.ask("TRUTH").await?, &scene)?;
        let lockstep = Lockstep::of(config, &ports, &robots, &scene, source)?;
        let member = lockstep.as_ref().map(|lockstep| lockstep.robot);
        if let Some(member) = member {
            ensure_ok(&control.ask(&format!("MODE lockstep {}", ports[member].0)).await?)?;
        }
        let writers = join(server, &ports, &robots, member, &line_sender, &mut tasks).await?;
        let due = Due::every(scene.steps_in(1.0 / config.rate_hz));
        let session = Self {
            joints_due: vec![due; robots.len()],
            steps: vec![0; robots.len()],
            beat_due: due,
            simulator: Rc::clone(simulator),
            scene,
            links,
            control,
            robots,
            writers,
            truth,
            beaten: Instant::now(),
            lockstep,
            outputs,
            missed,
            lines,
            orders,
            rate_hz: config.rate_hz,
            notices: Notices::default(),
            _tasks: tasks,
        };
        session.outputs.publish_static(&session.scene, &session.links, &session.robots);
        session.publish_truth();
        session.simulator.go_on_in(view, session.truth.world);
        Ok(session)
    }

    fn topics(&self) -> Vec<String> {
        self.outputs.topics.iter().chain(self.robots.iter().flat_map(|robot| &robot.topics)).cloned().collect()
    }

    /// Passes on what comes, and returns why that ended.
    async fn run(&mut self, tell: &mut impl FnMut(News)) -> anyhow::Error {
        // Where no robot is, nothing comes by itself.
        let mut ticks = interval(Duration::from_secs_f64(1.0 / self.rate_hz));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let is_alone = self.robots.is_empty();
        loop {
            if self.simulator.is_hurried() {
                return OtherWorld.into();
            }
            let done = tokio::select! {
                Some((robot, line)) = self.lines.recv() => match line {
                    Ok(line) => self.on_line(robot, &line, tell).await,
                    Err(error) => Err(error),
                },
                Some(order) = self.orders.recv() => self.on_order(&order, tell).await,
                // While the clock stands, and where no robot is, nothing else comes.
                _ = ticks.tick() => match is_alone || self.beaten.elapsed() > LOOK {
                    true => self.beat().await,
                    false => Ok(()),
                },
                else => Err(anyhow!("all connections are closed")),
            };
            if let Err(error) = done {
                return error;
            }
        }
    }

    /// The robot whose readings the clock and the frames go with.
    fn leader(&self) -> usize {
        self.lockstep.as_ref().map_or(0, |lockstep| lockstep.robot)
    }

    async fn on_line(&mut self, robot: usize, line: &str, tell: &mut impl FnMut(News)) -> Result<()> {
        if line.ends_with(DELETED) {
            return Err(OtherWorld.into());
        }
        if line.starts_with("ERR") {
            self.notices.add(&format!("{}: the server refuses: {line}", self.robots[robot].name), tell);
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
        if robot == self.leader() && self.beat_due.at(step) {
            self.beat().await?;
        }
        let stamp = Time::from_seconds(time);
        self.robots[robot].publish(step, &values, &off);
        if self.joints_due[robot].at(step) {
            self.robots[robot].publish_joints(&self.truth, &stamp);
        }
        match self.lockstep.as_mut().filter(|lockstep| lockstep.robot == robot) {
            Some(lockstep) => {
                lockstep.asked(step, time);
                self.answer().await
            }
            None => {
                let parts = self.robots[robot].at(time);
                self.send(robot, &parts).await
            }
        }
    }

    async fn on_order(&mut self, order: &Order, tell: &mut impl FnMut(News)) -> Result<()> {
        // Between two beats the newest time known is that of the last.
        let part = match self.robots[order.robot].command(&order.wish, self.truth.time) {
            Ok(part) => part,
            Err(error) => {
                self.notices.add(&format!("{}: {error:#}; nothing was done", order.topic), tell);
                return Ok(());
            }
        };
        match self.lockstep.as_mut().filter(|lockstep| lockstep.robot == order.robot) {
            Some(lockstep) => {
                lockstep.commanded(&order.topic, part);
                self.answer().await
            }
            None => self.send(order.robot, &part.into_iter().collect::<Vec<_>>()).await,
        }
    }

    /// Lets the clock go on when its subscriber has commanded.
    async fn answer(&mut self) -> Result<()> {
        let Some(lockstep) = &mut self.lockstep else { return Ok(()) };
        let robot = lockstep.robot;
        let Some(time) = lockstep.is_ready() else { return Ok(()) };
        let wanted = self.robots[robot].at(time);
        let line = lockstep.answer(wanted);
        self.writers[robot].send(&line).await
    }

    async fn send(&mut self, robot: usize, parts: &[String]) -> Result<()> {
        if parts.is_empty() {
            return Ok(());
        }
        self.writers[robot].send(&parts.join(";")).await
    }

    /// The clock and the frames, of the newest step.
    async fn beat(&mut self) -> Result<()> {
        let truth = Truth::read(&self.control.ask("TRUTH").await?, &self.scene)?;
        self.beaten = Instant::now();
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
        (self.outputs.transforms)(links::transforms(&self.links, &self.truth, &stamp));
        for (base, publish) in &self.outputs.odometry {
            let centre = self.scene.bodies[*base].centre_of_mass;
            publish(links::odometry(&self.links[*base], &self.truth.bodies[*base], centre, &stamp));
        }
    }
}

impl Outputs {
    fn open(
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
            odometry: Vec::new(),
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
                outputs.odometry.push((base, Box::new(ros.publisher(&topic, Profile::Stream)?)));
                outputs.topics.push(topic);
            }
        }
        Ok(outputs)
    }

    /// Says where sensors and all that cannot move are.
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

/// Connects to the robots' ports and passes their lines on: all of every so many steps, or of a member of the lockstep when it is asked.
async fn join(
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
        tasks.spawn_local(forward(reader, place, lines.clone()));
    }
    Ok(writers)
}

/// Passes the lines of a robot on, and why they end.
async fn forward(mut reader: Reader, robot: usize, lines: Sender<(usize, Result<String>)>) {
    loop {
        let line = reader.line().await;
        let is_end = line.is_err();
        if lines.send((robot, line)).await.is_err() || is_end {
            return;
        }
    }
}

/// Tells what was refused, but not without bound.
#[derive(Debug, Default)]
struct Notices {
    second: Option<Instant>,
    told: u32,
    left_out: u64,
}

impl Notices {
    fn add(&mut self, text: &str, tell: &mut impl FnMut(News)) {
        if self.second.is_none_or(|began| began.elapsed() > Duration::from_secs(1)) {
            (self.second, self.told) = (Some(Instant::now()), 0);
            if self.left_out > 0 {
                tell(News::Notice(format!("{} more were refused", std::mem::take(&mut self.left_out))));
            }
        }
        match self.told < NOTICES {
            true => {
                self.told += 1;
                tell(News::Notice(text.to_owned()));
            }
            false => self.left_out += 1,
        }
    }
}
