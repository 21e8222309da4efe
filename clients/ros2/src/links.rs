//! The frames of a world: the tree of links, and their poses.

use bevy_math::DVec3;

use crate::{
    config::Config,
    frames::{Axes, Pose},
    messages::{Header, Odometry, PoseWithCovariance, TFMessage, Time, TransformStamped, Twist, TwistWithCovariance},
    scene::{BodyState, Device, Scene, Truth, own_name},
};

/// The frame of the world, after REP 105.
pub const MAP: &str = "map";

/// A body as a link. Its origin is that of the joint to its parent, as in URDF, or otherwise that of the body; its axes
/// are those of the body, turned.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// The name of its frame.
    pub frame: String,
    /// Its axes convention.
    pub axes: Axes,
    /// Position of its origin in the body, in SimPartner's axes, m.
    pub origin: DVec3,
    /// The link that it hangs on; `None` is the world.
    pub parent: Option<usize>,
    /// The joint to its parent; `None` for a body without one in the same robot.
    pub joint: Option<usize>,
    /// True if it is fixed.
    pub fixed: bool,
}

/// Prefixes of the names of a robot.
#[derive(Debug, Clone, PartialEq)]
pub struct Naming {
    /// Prefix of its topics: empty, or `/name`.
    pub namespace: String,
    /// Prefix of its frames: empty, or `name/`.
    pub frame_prefix: String,
    /// The axes of its links.
    pub axes: Axes,
}

impl Naming {
    /// The naming of a robot, from the file or by default.
    pub fn of(robot: &str, scene: &Scene, config: &Config) -> Self {
        let own = config.robots.iter().find(|(name, _)| name.get_ref() == robot).map(|(_, robot)| robot);
        let is_alone = scene.robots().len() == 1;
        let default = |text: String| if is_alone { String::new() } else { text };
        let namespace = own.and_then(|own| own.namespace.clone());
        let prefix = own.and_then(|own| own.frame_prefix.clone());
        let namespace = namespace.unwrap_or_else(|| default(format!("/{}", crate::ros::snake_case(robot))));
        Self {
            namespace: if namespace.is_empty() { namespace } else { format!("/{}", namespace.trim_matches('/')) },
            frame_prefix: prefix.unwrap_or_else(|| default(format!("{robot}/"))),
            axes: own.and_then(|own| own.axes()).unwrap_or_else(|| scene.axes_of(robot)),
        }
    }

    /// The frame of a sensor: its name, unless a link has that.
    pub fn sensor_frame(&self, device: &Device, links: &[Link]) -> String {
        let frame = format!("{}{}", self.frame_prefix, device.name);
        if links.iter().any(|link| link.frame == frame) { format!("{frame}_sensor") } else { frame }
    }
}

/// The bodies as links, in the order of the scene.
pub fn links(scene: &Scene, naming: impl Fn(&str) -> Naming) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    for body in &scene.bodies {
        let naming = body.robot.as_deref().map(&naming);
        let prefix = naming.as_ref().map_or("", |naming| &naming.frame_prefix);
        let mut frame = format!("{prefix}{}", own_name(&body.name, body.robot.as_deref()));
        // An object may have the name of a link.
        while frame == MAP || links.iter().any(|link| link.frame == frame) {
            frame.push('_');
        }
        let axes = naming.map_or(Axes::YUp, |naming| naming.axes);
        links.push(Link { frame, axes, origin: DVec3::ZERO, parent: None, joint: None, fixed: body.fixed });
    }
    for (index, joint) in scene.joints.iter().enumerate() {
        let mut above = Some(joint.parent);
        while let Some(link) = above.filter(|&link| link != joint.child) {
            above = links[link].parent;
        }
        // A second joint closes a loop, which a tree of frames cannot show.
        let closes_loop = links[joint.child].parent.is_some() || above.is_some();
        if !closes_loop && !links[joint.child].fixed {
            let link = &mut links[joint.child];
            (link.parent, link.joint, link.origin) = (Some(joint.parent), Some(index), DVec3::from_array(joint.anchor));
        }
    }
    for robot in scene.robots() {
        let own: Vec<usize> = links_of(scene, &robot).collect();
        // A robot is one tree, as in its URDF: links without a parent are children of its root.
        let root = root_of(&links, &own);
        for &other in own.iter().filter(|&&other| Some(other) != root) {
            let link = &mut links[other];
            link.parent = link.parent.or(root.filter(|_| !link.fixed));
        }
    }
    links
}

/// The links of a robot.
pub fn links_of(scene: &Scene, robot: &str) -> impl Iterator<Item = usize> {
    let own = |index: &usize| scene.bodies[*index].robot.as_deref() == Some(robot);
    (0..scene.bodies.len()).filter(own)
}

/// The root of a robot's links: the first that hangs on none of them.
pub fn root_of(links: &[Link], own: &[usize]) -> Option<usize> {
    own.iter().copied().find(|&index| links[index].parent.is_none_or(|parent| !own.contains(&parent)))
}

impl Link {
    /// `body_from_link`, in our axes.
    pub fn on_body(&self) -> Pose {
        Pose { position: self.origin, ..Pose::IDENTITY }
    }
}

/// Pose of a link in `map`.
pub fn in_map(link: &Link, state: &BodyState) -> Pose {
    state.pose.then(link.on_body()).turned(Axes::YUp, link.axes)
}

fn stamped(stamp: &Time, frame: &str, child: &str, pose: Pose) -> TransformStamped {
    TransformStamped { header: Header::new(stamp, frame), child_frame_id: child.to_owned(), transform: pose.into() }
}

/// The frame `odom` of a robot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OdometryFrame<'a> {
    /// The base link.
    pub base: usize,
    /// The name of the frame.
    pub frame: &'a str,
    /// `odom_from_base`, as the odometry estimates it.
    pub base_in_odom: Pose,
    /// False if something else publishes the transform from `map` to `odom`.
    pub has_map: bool,
}

/// `/tf`: the pose of every movable link relative to its parent. The base of a robot with odometry hangs on its frame
/// `odom`, and that on `map`, so that `map` has the true pose of the base. `odometries` are the frames of these robots.
pub fn transforms(links: &[Link], truth: &Truth, odometries: &[OdometryFrame<'_>], stamp: &Time) -> TFMessage {
    let poses: Vec<Pose> = links.iter().zip(&truth.bodies).map(|(link, state)| in_map(link, state)).collect();
    let mut transforms = Vec::new();
    for (index, (link, &pose)) in links.iter().zip(&poses).enumerate().filter(|(_, (link, _))| !link.fixed) {
        let odometry = odometries.iter().find(|odometry| odometry.base == index);
        match (link.parent, odometry) {
            (Some(parent), _) => {
                let relative = poses[parent].inverse().then(pose);
                transforms.push(stamped(stamp, &links[parent].frame, &link.frame, relative));
            }
            (None, None) => transforms.push(stamped(stamp, MAP, &link.frame, pose)),
            (None, Some(odometry)) => {
                transforms.push(stamped(stamp, odometry.frame, &link.frame, odometry.base_in_odom));
                if odometry.has_map {
                    let odom = pose.then(odometry.base_in_odom.inverse());
                    transforms.push(stamped(stamp, MAP, odometry.frame, odom));
                }
            }
        }
    }
    TFMessage { transforms }
}

/// `/tf_static`: fixed links, and sensors on their links. `mounts` are sensors, their frames and axes.
pub fn static_transforms<'a>(
    scene: &Scene,
    links: &[Link],
    mounts: impl Iterator<Item = (&'a Device, String, Axes)>,
    stamp: &Time,
) -> TFMessage {
    let bodies = links.iter().zip(&scene.bodies).filter(|(link, _)| link.fixed);
    let mut transforms: Vec<TransformStamped> = bodies
        .map(|(link, body)| {
            let pose = Pose::from(body.pose).then(link.on_body());
            stamped(stamp, MAP, &link.frame, pose.turned(Axes::YUp, link.axes))
        })
        .collect();
    for (device, frame, axes) in mounts {
        if let Some((body, pose)) = device.body.zip(device.pose) {
            let link = &links[body];
            let pose = link.on_body().inverse().then(pose.into());
            transforms.push(stamped(stamp, &link.frame, &frame, pose.turned(link.axes, axes)));
        }
    }
    TFMessage { transforms }
}

/// Velocity of a link's origin in world axes, m/s; the server sends that of its body's centre of mass.
pub fn origin_velocity(link: &Link, state: &BodyState, centre_of_mass: [f64; 3]) -> DVec3 {
    let lever = state.pose.rotation * (DVec3::from_array(centre_of_mass) - link.origin);
    state.velocity - state.spin.cross(lever)
}

/// The ground truth of a robot's base.
pub fn ground_truth(link: &Link, state: &BodyState, centre_of_mass: [f64; 3], stamp: &Time) -> Odometry {
    let body_from_world = state.pose.rotation.inverse();
    let turn = |vector: DVec3| link.axes.vector(body_from_world * vector).into();
    let twist = Twist { linear: turn(origin_velocity(link, state, centre_of_mass)), angular: turn(state.spin) };
    Odometry {
        header: Header::new(stamp, MAP),
        child_frame_id: link.frame.clone(),
        pose: PoseWithCovariance { pose: in_map(link, state).into(), ..Default::default() },
        twist: TwistWithCovariance { twist, ..Default::default() },
    }
}

#[cfg(test)]
mod tests {
    use bevy_math::DQuat;

    use super::*;
    use crate::{messages::Vector3, scene::tests::pendulum};

    fn state(position: DVec3, rotation: DQuat, velocity: DVec3, spin: DVec3) -> BodyState {
        BodyState { pose: Pose { position, rotation }, velocity, spin }
    }

    #[test]
    fn a_chain_of_transforms_leads_to_where_a_link_is() {
        let scene = pendulum();
        let links = links(&scene, |robot| Naming::of(robot, &scene, &Config::default()));
        assert_eq!(links.iter().map(|link| link.frame.as_str()).collect::<Vec<_>>(), ["Base", "Arm", "Ball"]);
        assert_eq!(links.iter().map(|link| link.parent).collect::<Vec<_>>(), [None, Some(0), None]);
        let [base, arm, ball] = [0.3, 1.2, -0.4].map(|angle| {
            state(DVec3::new(angle, 2.0, -angle), DQuat::from_rotation_x(angle), DVec3::ZERO, DVec3::ZERO)
        });
        let truth = Truth { world: 0, step: 5, time: 0.005, bodies: vec![base, arm, ball], joints: Vec::new() };
        let message = transforms(&links, &truth, &[], &Time::from_seconds(0.005));
        let [base_in_map, arm_on_base, ball_in_map] = &message.transforms[..] else { panic!("{message:?}") };
        let names =
            |transform: &TransformStamped| (transform.header.frame_id.clone(), transform.child_frame_id.clone());
        assert_eq!(names(base_in_map), ("map".into(), "Base".into()));
        assert_eq!(names(arm_on_base), ("Base".into(), "Arm".into()));
        assert_eq!(names(ball_in_map), ("map".into(), "Ball".into()));
        let pose = |transform: &TransformStamped| {
            let crate::messages::Transform { translation: t, rotation: r } = &transform.transform;
            Pose { position: DVec3::new(t.x, t.y, t.z), rotation: DQuat::from_xyzw(r.x, r.y, r.z, r.w) }
        };
        let chain = pose(base_in_map).then(pose(arm_on_base));
        let expected = in_map(&links[1], &arm);
        assert!((chain.position - expected.position).length() < 1e-14);
        assert!(chain.rotation.dot(expected.rotation).abs() > 1.0 - 1e-14);
        // 2 m up.
        assert!((expected.position.z - 2.0).abs() < 1e-15);
    }

    #[test]
    fn a_loop_of_joints_becomes_a_tree() {
        let mut scene = pendulum();
        let joint = |parent, child| crate::scene::Joint { parent, child, ..scene.joints[0].clone() };
        scene.joints = vec![joint(0, 1), joint(1, 2), joint(2, 0), joint(0, 2)];
        let links = links(&scene, |robot| Naming::of(robot, &scene, &Config::default()));
        assert_eq!(links.iter().map(|link| link.parent).collect::<Vec<_>>(), [None, Some(0), Some(1)]);
    }

    #[test]
    fn the_ground_truth_has_the_velocity_of_the_origin_in_the_links_axes() {
        // It turns about the vertical at 2 rad/s, its centre of mass 1 m before its origin, heading to our -z: to the
        // left.
        let heading = DQuat::from_rotation_y(std::f64::consts::FRAC_PI_2);
        let centre = heading * DVec3::X;
        let spin = DVec3::new(0.0, 2.0, 0.0);
        let velocity = heading * DVec3::new(3.0, 0.0, 0.0) + spin.cross(centre);
        let state = state(DVec3::ZERO, heading, velocity, spin);
        let origin = DVec3::ZERO;
        let link = Link { frame: "base".into(), axes: Axes::YUp, origin, parent: None, joint: None, fixed: false };
        let message = ground_truth(&link, &state, [1.0, 0.0, 0.0], &Time::default());
        let near = |got: &Vector3, x: f64, y: f64, z: f64| {
            assert!((DVec3::new(got.x, got.y, got.z) - DVec3::new(x, y, z)).length() < 1e-14, "{got:?}");
        };
        near(&message.twist.twist.linear, 3.0, 0.0, 0.0);
        near(&message.twist.twist.angular, 0.0, 0.0, 2.0);
        let turned = DQuat::from_xyzw(
            message.pose.pose.orientation.x,
            message.pose.pose.orientation.y,
            message.pose.pose.orientation.z,
            message.pose.pose.orientation.w,
        );
        assert!((turned * DVec3::X - DVec3::Y).length() < 1e-14);
    }
}
