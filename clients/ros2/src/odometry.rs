//! Wheel odometry: `nav_msgs/Odometry` on `odom`, and the frame `odom` between `map` and a robot's base (REP 105).

use bevy_math::{DQuat, DVec3};

use crate::{
    frames::{Axes, Pose},
    links::{Link, in_map},
    messages::{Header, Odometry, PoseWithCovariance, Time, Twist, TwistWithCovariance},
    scene::{Device, Truth},
};

/// The odometry of a robot, from which the pose of its base in `odom` follows.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// The name of the frame `odom`.
    pub frame: String,
    /// False if something else publishes the transform from `map` to `odom`.
    pub has_map: bool,
    /// The link that carries the vehicle's frame.
    body: usize,
    /// The name of that link's frame.
    child: String,
    /// `link_from_vehicle`, in the axes of ROS.
    mount: Pose,
    /// The last reading: forward and to the left, heading, and their rates; zeros before the first.
    reading: [f64; 6],
}

impl Estimate {
    /// The odometry that a device measures. `None` if the device has no place on a body.
    pub fn new(device: &Device, links: &[Link], frame: String, has_map: bool) -> Option<Self> {
        let (body, pose) = device.body.zip(device.pose)?;
        let link = &links[body];
        let mount = link.on_body().inverse().then(pose.into()).turned(link.axes, Axes::YUp);
        Some(Self { frame, has_map, body, child: link.frame.clone(), mount, reading: [0.0; 6] })
    }

    /// Takes a reading. Fields beyond those of an odometry have no meaning.
    pub fn update(&mut self, fields: &[f64]) {
        for (own, value) in self.reading.iter_mut().zip(fields) {
            *own = *value;
        }
    }

    /// `odom_from_link`
    fn link_pose(&self) -> Pose {
        let [forward, left, heading, ..] = self.reading;
        let vehicle = Pose { position: DVec3::new(forward, left, 0.0), rotation: DQuat::from_rotation_z(heading) };
        vehicle.then(self.mount.inverse())
    }

    /// `odom_from_root`: the base of the robot, whose pose relative to the vehicle's link is the true one.
    pub fn root_pose(&self, root: usize, links: &[Link], truth: &Truth) -> Pose {
        let pose = |link: usize| in_map(&links[link], &truth.bodies[link]);
        self.link_pose().then(pose(self.body).inverse().then(pose(root)))
    }

    /// The message of the last reading.
    pub fn message(&self, stamp: &Time) -> Odometry {
        let [.., forward, left, omega] = self.reading;
        let spin = self.mount.rotation * DVec3::new(0.0, 0.0, omega);
        // The velocity of the link's origin, which is at -mount from the vehicle's.
        let velocity = self.mount.rotation * DVec3::new(forward, left, 0.0) - spin.cross(self.mount.position);
        Odometry {
            header: Header::new(stamp, &self.frame),
            child_frame_id: self.child.clone(),
            pose: PoseWithCovariance { pose: self.link_pose().into(), ..Default::default() },
            twist: TwistWithCovariance {
                twist: Twist { linear: velocity.into(), angular: spin.into() },
                ..Default::default()
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use super::*;
    use crate::scene::{Placement, tests::pendulum};

    /// A vehicle's frame 0.5 m ahead of its body's origin and 0.2 m below it, after a quarter turn to the left.
    #[test]
    fn the_base_is_where_the_odometry_puts_it() {
        let scene = pendulum();
        let config = crate::config::Config::default();
        let links = crate::links::links(&scene, |robot| crate::links::Naming::of(robot, &scene, &config));
        let pose = Placement { position: [0.5, -0.2, 0.0], rotation: [0.0, 0.0, 0.0, 1.0] };
        let device = Device { body: Some(0), pose: Some(pose), ..scene.devices[0].clone() };
        let mut estimate = Estimate::new(&device, &links, "odom".into(), true).unwrap();
        estimate.update(&[1.0, 2.0, FRAC_PI_2, 0.3, 0.0, 0.4]);
        let message = estimate.message(&Time::default());
        assert_eq!((message.header.frame_id.as_str(), message.child_frame_id.as_str()), ("odom", "Base"));
        let place = &message.pose.pose.position;
        // The base is 0.5 m behind the vehicle's frame, which is backwards along y now.
        assert!((DVec3::new(place.x, place.y, place.z) - DVec3::new(1.0, 1.5, 0.2)).length() < 1e-14);
        let twist = &message.twist.twist;
        assert!((DVec3::new(twist.linear.x, twist.linear.y, 0.0) - DVec3::new(0.3, -0.2, 0.0)).length() < 1e-14);
        assert!((twist.angular.z - 0.4).abs() < 1e-15);
    }
}
