//! The node: publishers, subscriptions and services by their names in ROS.

use std::{cell::Cell, collections::HashSet, net::IpAddr, rc::Rc, time::Duration};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use ros2_client::{
    ActionServer, ActionTypeName, Context, Message, MessageTypeName, Name, Node, NodeName, NodeOptions, Publisher,
    Server, ServiceMapping, ServiceTypeName, Subscription,
    action::ActionServerQosPolicies,
    qos::{Durability, History, QosProfile, WhenFull},
};
use rustdds::{DomainParticipantBuilder, GUID, QosPolicies, QosPolicyBuilder, RTPSEntity, TopicKind, policy};
use serde::Deserialize;
use tokio::time::sleep;

use crate::{
    config_error::ConfigError,
    messages::{RosMessage, type_name},
};

/// Time in which a participant discovers the others in its domain.
const DISCOVERY_TIME: Duration = Duration::from_millis(1500);

/// Delivery profile of a topic, after REP 2003 and the packages that define the topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// `/clock`: the newest, best effort.
    Clock,
    /// Continuous data for readers that want every message: reliable, the last 100.
    Stream,
    /// Sensor data for readers that want the newest: best effort, the last 5.
    BestEffort,
    /// Reliable, and late subscribers receive the last message: `/tf_static`, `/robot_description`.
    Latched,
    /// Commands and services: reliable, the last 10.
    Command,
}

impl Profile {
    fn qos(self) -> QosProfile {
        let keep = |depth| QosProfile::default().history(History::KeepLast { depth });
        // A slow reader does not delay others: messages that do not fit its queue are dropped and counted.
        let reliable = |depth| keep(depth).reliability_reliable(WhenFull::Fail);
        match self {
            Self::Clock => keep(1).reliability_best_effort(),
            Self::Stream => reliable(100),
            Self::BestEffort => keep(5).reliability_best_effort(),
            Self::Latched => reliable(1).durability(Durability::TransientLocal),
            // An answer is worth waiting for.
            Self::Command => keep(10).reliability_reliable(WhenFull::Wait(Duration::from_millis(100))),
        }
    }
}

/// Mapping that pairs requests with replies of services; it differs among the middlewares of ROS 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Services {
    /// As `rmw_fastrtps_cpp` does, the default of ROS 2.
    #[default]
    Fastdds,
    /// As `rmw_cyclonedds_cpp` does.
    Cyclonedds,
}

impl Services {
    fn mapping(self) -> ServiceMapping {
        match self {
            Self::Fastdds => ServiceMapping::Enhanced,
            Self::Cyclonedds => ServiceMapping::Cyclone,
        }
    }
}

/// Largest number of images that wait for a reliable reader. They are large; a reader that is slower misses some.
const MAX_WAITING_IMAGES: i32 = 8;

/// The delivery of images: as those of sensors, but with few that wait.
fn qos_of_images(is_reliable: bool) -> QosPolicies {
    let reliability = match is_reliable {
        true => policy::Reliability::Reliable { max_blocking_time: rustdds::Duration::ZERO },
        false => policy::Reliability::BestEffort,
    };
    QosPolicyBuilder::new()
        .durability(policy::Durability::Volatile)
        .reliability(reliability)
        .history(policy::History::KeepLast { depth: 5 })
        .resource_limits(policy::ResourceLimits {
            max_samples: MAX_WAITING_IMAGES,
            max_instances: 1,
            max_samples_per_instance: MAX_WAITING_IMAGES,
        })
        .build()
}

/// The subscribers that a domain has on topics.
#[derive(Clone)]
pub struct Subscribers(Context);

impl Subscribers {
    /// True if somebody subscribes to one of these topics.
    pub fn is_any_on(&self, topics: &[String]) -> bool {
        let readers = self.0.domain_participant().discovered_readers();
        readers.iter().any(|reader| {
            let name = reader.subscription_topic_data.topic_name().strip_prefix("rt");
            name.is_some_and(|name| topics.iter().any(|topic| topic == name))
        })
    }
}

/// A function that publishes a message.
pub type Publish<M> = Box<dyn Fn(M)>;

/// A participant of a DDS domain.
#[derive(Clone)]
pub struct Domain {
    context: Context,
    services: Services,
    lost: Rc<Cell<u64>>,
}

/// A node of ROS.
pub struct Ros {
    node: Node,
    context: Context,
    services: Services,
    lost: Rc<Cell<u64>>,
    topics: HashSet<String>,
}

/// The first UDP port of a DDS domain, by the DDSI-RTPS specification.
pub fn first_port(domain: u16) -> u32 {
    7400 + 250 * u32::from(domain)
}

impl Domain {
    /// Joins a domain on the networks of these addresses alone.
    ///
    /// # Errors
    /// When no socket can be had.
    pub fn join(number: u16, networks: &[IpAddr], services: Services) -> Result<Self> {
        let builder = DomainParticipantBuilder::new(number).with_only_networks(networks.iter().copied());
        let participant = builder.build().map_err(|error| anyhow!("{error:?}"));
        let what = || format!("cannot join the DDS domain {number}; are its ports (from {}) free?", first_port(number));
        let context = participant.and_then(|participant| {
            Context::from_domain_participant(participant).map_err(|error| anyhow!("{error:?}"))
        });
        Ok(Self { context: context.with_context(what)?, services, lost: Rc::default() })
    }

    /// Waits until the other participants of the domain are discovered.
    ///
    /// # Errors
    /// One of them publishes on `/clock`.
    pub async fn check_for_others(&self) -> Result<()> {
        sleep(DISCOVERY_TIME).await;
        self.refuse(self.clocks().any(|clock| clock.prefix != self.guid().prefix))
    }

    /// Returns an error if a participant with a smaller GUID began to publish on `/clock` at the same moment as this
    /// one; otherwise it never returns. Such participants discover each other when they already publish; the one with
    /// the smallest GUID continues.
    pub async fn wait_for_elder(&self) -> anyhow::Error {
        sleep(DISCOVERY_TIME).await;
        match self.refuse(self.clocks().any(|clock| clock.prefix < self.guid().prefix)) {
            Ok(()) => std::future::pending().await,
            Err(error) => error,
        }
    }

    fn refuse(&self, is_taken: bool) -> Result<()> {
        let domain = self.context.domain_participant().domain_id();
        ensure!(
            !is_taken,
            "somebody publishes /clock in the DDS domain {domain} already; end the other bridge, or give this one another domain"
        );
        Ok(())
    }

    fn guid(&self) -> GUID {
        self.context.domain_participant().guid()
    }

    /// The writers of `/clock`.
    fn clocks(&self) -> impl Iterator<Item = GUID> + use<> {
        let writers = self.context.domain_participant().discovered_writers().into_iter();
        let topics = writers.map(|writer| writer.publication_topic_data);
        topics.filter(|topic| topic.topic_name == "rt/clock").map(|topic| topic.key)
    }

    /// Messages lost because a reliable reader had not taken those before.
    pub fn lost(&self) -> u64 {
        self.lost.get()
    }

    /// Adds a node.
    ///
    /// # Errors
    /// The name is not valid in ROS.
    pub fn node(&self, name: &str) -> Result<Ros> {
        let node_name = NodeName::new("/", name).map_err(|error| anyhow!("the node's name '{name}': {error}"))?;
        let options = NodeOptions::new().enable_rosout(false).start_parameter_services(false);
        let node =
            self.context.new_node(node_name, options).map_err(|error| anyhow!("cannot make a node: {error:?}"))?;
        Ok(Ros {
            node,
            context: self.context.clone(),
            services: self.services,
            lost: Rc::clone(&self.lost),
            topics: HashSet::new(),
        })
    }
}

impl Ros {
    /// Drops all topics, so that their names are free for another world.
    pub fn forget_topics(&mut self) {
        self.topics.clear();
    }

    /// A function that publishes on a topic.
    ///
    /// # Errors
    /// The topic's name is not valid in ROS.
    pub fn publisher<M: RosMessage>(&mut self, topic: &str, profile: Profile) -> Result<impl Fn(M) + use<M>> {
        let qos = profile.qos();
        let topic = self.topic::<M>(topic, &qos)?;
        self.publisher_on(&topic)
    }

    /// A function that publishes images on a topic. Images that a reader does not take in time are dropped.
    ///
    /// # Errors
    /// The topic's name is not valid in ROS.
    pub fn image_publisher<M: RosMessage>(&mut self, topic: &str, is_reliable: bool) -> Result<impl Fn(M) + use<M>> {
        self.reserve_name(topic)?;
        parse(topic)?;
        let name = format!("rt{topic}");
        let kind = format!("{}::msg::dds_::{}_", M::PACKAGE, type_name::<M>());
        let participant = self.context.domain_participant();
        let made = participant.create_topic(name, kind, &qos_of_images(is_reliable), TopicKind::NoKey);
        self.publisher_on(&made.map_err(|error| anyhow!("the topic '{topic}': {error:?}"))?)
    }

    /// The subscribers of the node's domain.
    pub fn subscribers(&self) -> Subscribers {
        Subscribers(self.context.clone())
    }

    fn publisher_on<M: RosMessage>(&mut self, topic: &rustdds::Topic) -> Result<impl Fn(M) + use<M>> {
        let publisher: Publisher<M> = self.node.create_publisher(topic, None).map_err(|error| anyhow!("{error:?}"))?;
        let lost = Rc::clone(&self.lost);
        Ok(move |message| {
            if publisher.publish(message).is_err() {
                lost.set(lost.get() + 1);
            }
        })
    }

    /// The messages of a topic. Unreadable ones are skipped.
    ///
    /// # Errors
    /// The topic's name is not valid in ROS.
    pub fn subscription<M: RosMessage>(&mut self, topic: &str) -> Result<Subscription<M>> {
        let topic = self.topic::<M>(topic, &Profile::Command.qos())?;
        self.node.create_subscription(&topic, None).map_err(|error| anyhow!("{error:?}"))
    }

    /// A service.
    ///
    /// # Errors
    /// The name is not valid in ROS.
    pub fn service<Q, S>(&mut self, name: &str, package: &str, kind: &str) -> Result<Server<Q, S>>
    where
        Q: Message + Clone + 'static,
        S: Message + 'static,
    {
        let mapping = self.services.mapping();
        let (qos, kind) = (Profile::Command.qos(), ServiceTypeName::new(package, kind));
        let server = self.node.create_server(mapping, &parse(name)?, &kind, qos.clone(), qos);
        server.map_err(|error| anyhow!("the service '{name}': {error:?}"))
    }

    /// An action.
    ///
    /// # Errors
    /// The name is not valid in ROS.
    pub fn action<G, R, F>(&mut self, name: &str, package: &str, kind: &str) -> Result<ActionServer<G, R, F>>
    where
        G: Message + Clone + 'static,
        R: Message + Clone + 'static,
        F: Message + 'static,
    {
        let qos = ActionServerQosPolicies {
            goal_service: Profile::Command.qos(),
            result_service: Profile::Command.qos(),
            cancel_service: Profile::Command.qos(),
            feedback_publisher: Profile::Stream.qos(),
            status_publisher: Profile::Latched.qos(),
        };
        let (mapping, kind) = (self.services.mapping(), ActionTypeName::new(package, kind));
        let server = self.node.create_action_server(mapping, &parse(name)?, &kind, qos);
        server.map_err(|error| anyhow!("the action '{name}': {error:?}"))
    }

    /// This name, or if a topic has it already, with a number behind it.
    pub fn free_name(&self, name: &str) -> String {
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        names.find(|name| !self.topics.contains(name)).unwrap_or_default()
    }

    /// Takes a topic's name, which nobody else may have.
    fn reserve_name(&mut self, name: &str) -> Result<()> {
        if !self.topics.insert(name.to_owned()) {
            bail!(ConfigError::new(format!(
                "two topics would be called '{name}'; give one of them another name or namespace"
            )));
        }
        Ok(())
    }

    fn topic<M: RosMessage>(&mut self, name: &str, qos: &QosProfile) -> Result<rustdds::Topic> {
        self.reserve_name(name)?;
        let kind = MessageTypeName::new(M::PACKAGE, type_name::<M>());
        let topic = self.node.create_topic(&parse(name)?, kind, qos);
        topic.map_err(|error| anyhow!("the topic '{name}': {error:?}"))
    }
}

/// A name of a topic or a service, with its namespace.
///
/// # Errors
/// When ROS does not allow it.
pub fn parse(name: &str) -> Result<Name> {
    let rule = "expected letters, digits, '_' and '/', no digit first, such as /scan";
    Name::parse(name).map_err(|error| anyhow!("the name '{name}': {error}; {rule}"))
}

/// A name as ROS writes it, `laser_scanner` of `LaserScanner` or `Laser scanner`: for topics and namespaces.
pub fn snake_case(name: &str) -> String {
    let mut text = String::new();
    let mut before = '_';
    for character in name.chars() {
        let starts_word = character.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit());
        before = character;
        let character = if character.is_ascii_alphanumeric() { character.to_ascii_lowercase() } else { '_' };
        if starts_word || (text.is_empty() && character.is_ascii_digit()) {
            text.push('_');
        }
        // ROS reserves names with two of them.
        if character != '_' || !text.ends_with('_') {
            text.push(character);
        }
    }
    if text.is_empty() { "_".into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_those_of_ros() {
        for (name, expected) in [
            ("Scanner", "scanner"),
            ("WheelMotor1", "wheel_motor1"),
            ("WorkPartner", "work_partner"),
            ("laser scanner-2", "laser_scanner_2"),
            ("lbr_iiwa_joint_1", "lbr_iiwa_joint_1"),
            ("2ndEye", "_2nd_eye"),
            ("a__b", "a_b"),
            ("Ä", "_"),
            ("", "_"),
        ] {
            assert_eq!(snake_case(name), expected);
            parse(&format!("/{}", snake_case(name))).unwrap();
        }
    }

    #[test]
    fn a_name_that_ros_does_not_allow_is_refused_with_the_rule() {
        let error = parse("/1 scan").unwrap_err().to_string();
        assert!(error.starts_with("the name '/1 scan': ") && error.contains("such as /scan"), "{error}");
    }
}
