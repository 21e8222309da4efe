//! The node with its services. It persists when robots are added or removed, while the topics of all robots are created
//! again.

use std::rc::Rc;

use anyhow::Result;
use tokio::task::JoinSet;
use toml::Spanned;

use crate::{
    NODE, action,
    config::Config,
    entities,
    link::Server,
    links::{self, Naming},
    ros::{Domain, Ros},
    scene::Scene,
    services::{self, Services, Simulator, View},
};

/// The node with its services, from world to world of a server.
pub struct Node {
    /// The node of ROS.
    pub ros: Ros,
    /// The simulator behind its services.
    pub simulator: Rc<Simulator>,
    /// The configuration, with the prefixes of topics and frames of earlier robots: those of a robot do not change when
    /// another one is added.
    pub config: Config,
    /// They end with the node.
    _tasks: JoinSet<()>,
}

impl Node {
    /// The node, created if necessary, ready for the topics of a world, and the world for its services.
    ///
    /// # Errors
    /// A name is not valid in ROS.
    pub fn in_world<'n>(
        node: &'n mut Option<Self>,
        server: &Server,
        config: &Config,
        domain: &Domain,
        scene: &Rc<Scene>,
    ) -> Result<(&'n mut Self, View)> {
        let view = |config| View {
            scene: Rc::clone(scene),
            links: Rc::new(links::links(scene, |robot| Naming::of(robot, scene, config))),
        };
        let node = match node {
            Some(node) => node,
            None => node.insert(Self::new(server, config, domain, view(config))?),
        };
        node.keep_names(scene);
        node.ros.forget_topics();
        let view = view(&node.config);
        Ok((node, view))
    }

    /// With all services, for a world.
    fn new(server: &Server, config: &Config, domain: &Domain, view: View) -> Result<Self> {
        let (mut ros, mut tasks) = (domain.node(NODE)?, JoinSet::new());
        let simulator = Rc::new(Simulator::new(server.clone(), view));
        let mut services = Services::new(&mut ros, &simulator, &mut tasks);
        services::offer(&mut services)?;
        entities::offer(&mut services)?;
        action::offer(&mut ros, &simulator, &mut tasks)?;
        Ok(Self { ros, simulator, config: config.clone(), _tasks: tasks })
    }

    /// Keeps the names of the robots of a world.
    fn keep_names(&mut self, scene: &Scene) {
        for robot in scene.robots() {
            let namespace = self.simulator.namespace_of(&robot);
            let naming = Naming::of(&robot, scene, &self.config);
            let place =
                self.config.robots.iter().find(|(name, _)| *name.get_ref() == robot).map(|(name, _)| name.clone());
            let own = self.config.robots.entry(place.unwrap_or_else(|| Spanned::new(0..0, robot))).or_default();
            own.namespace = namespace.or(Some(naming.namespace));
            own.frame_prefix = Some(naming.frame_prefix);
        }
    }
}
