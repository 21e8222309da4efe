//! A robot as other formats have it: a tree of links, z up.

use bevy_math::{DMat3, DVec3};
use simpartner_model::{ContactDimensions, Pose};
use simpartner_wire::signal::DeviceKind;

use super::{super::reading::Reading, finish::Finish};
use crate::ServoGains;

/// A robot, or all that moves in a world.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) name: String,
    /// Position of the robot's element in its file.
    pub(super) offset: usize,
    pub(super) links: Vec<Link>,
    /// Joints from a link to one that no other joint carries.
    pub(super) joints: Vec<Joint>,
    /// Loop joints: from a link to one that another joint carries. Their poses have no meaning.
    pub(super) loops: Vec<Joint>,
    pub(super) couplings: Vec<Mimic>,
    pub(super) devices: Vec<Device>,
    pub(super) vehicles: Vec<Vehicle>,
    /// Air and water of its world.
    pub(super) fluids: WorldFluids,
    /// Pairs of links that never collide, in addition to those with a common joint.
    pub(super) apart: Vec<Apart>,
    /// The link that no joint carries.
    pub(super) root: usize,
    /// True if its links collide with each other.
    pub(super) self_collision: bool,
}

/// Separator between the names of models in each other, as in SDF.
pub(super) const SCOPE_SEPARATOR: &str = "::";

/// A body.
#[derive(Debug, Default, Clone)]
pub(super) struct Link {
    pub(super) name: String,
    /// The names of the models around it, joined by [`SCOPE_SEPARATOR`]; empty in formats without models.
    pub(super) scope: String,
    pub(super) offset: usize,
    /// In the file's frame while all coordinates are 0, once [`Model::place`] has set it.
    pub(super) pose: Pose,
    /// True if it is fixed.
    pub(super) is_fixed: bool,
    /// True if it may have no mass: a carrier link between several joints of the same two bodies.
    pub(super) is_carrier: bool,
    pub(super) mass: Option<MassOf>,
    /// Collision shapes and visuals.
    pub(super) solids: Vec<Solid>,
    pub(super) visuals: Vec<Solid>,
    pub(super) surface: Surface,
    /// Collision category and mask, one bit each.
    pub(super) filter: Option<[u16; 2]>,
    /// Class in images of segmentation; 0 without one.
    pub(super) class: u16,
    pub(super) rollers: Option<Rollers>,
    /// Its wings: poses of their frames, and attributes.
    pub(super) wings: Vec<(Pose, Vec<(&'static str, String)>)>,
    /// Attributes of its damping in water, in its own axes.
    pub(super) damping: Vec<(&'static str, String)>,
    /// True if water carries it.
    pub(super) is_buoyant: bool,
    /// True for a link that was merged into another one.
    pub(super) is_merged: bool,
}

/// Mass, centre of mass in the link's frame, and inertia tensor about it in the link's axes.
#[derive(Debug, Clone, Copy)]
pub(super) struct MassOf {
    pub(super) mass: f64,
    pub(super) centre: DVec3,
    pub(super) tensor: DMat3,
    pub(super) offset: usize,
}

/// A link of less mass, kg, is a frame: a thousandth of the lightest that moves by itself.
const FRAME_MASS: f64 = 1e-6;

impl Link {
    /// True if it is only a frame: next to no mass, no collision shape.
    pub(super) fn is_frame(&self) -> bool {
        self.solids.is_empty() && self.mass.as_ref().is_none_or(|mass| mass.mass < FRAME_MASS)
    }
}

/// A shape in its link.
#[derive(Debug, Clone)]
pub(super) struct Solid {
    /// Its contact properties, if they differ from its link's.
    pub(super) surface: Option<Surface>,
    pub(super) pose: Pose,
    pub(super) form: Form,
    /// Look of a visual.
    pub(super) finish: Finish,
    pub(super) offset: usize,
}

/// A shape. The axis of round shapes is z; lengths in metres.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Form {
    Box {
        size: DVec3,
    },
    Sphere {
        radius: f64,
    },
    Cylinder {
        radius: f64,
        length: f64,
    },
    Capsule {
        radius: f64,
        length: f64,
    },
    Ellipsoid {
        radii: DVec3,
    },
    /// Its frame is in the middle of its axis, its tip at +length/2.
    Cone {
        radius: f64,
        length: f64,
    },
    /// A mesh, with its path relative to the file's folder. Its collision shape is its convex hull.
    Mesh {
        file: String,
        scale: DVec3,
    },
    /// The convex hull of points; its visual has the triangles between them, if there are any.
    Points {
        points: Vec<DVec3>,
        triangles: Vec<[u32; 3]>,
    },
}

impl Form {
    /// Its edges, radii and lengths; a mesh has none.
    pub(super) fn lengths(&self) -> Vec<f64> {
        match self {
            Self::Box { size } => size.to_array().to_vec(),
            Self::Sphere { radius } => vec![*radius],
            Self::Cylinder { radius, length } | Self::Capsule { radius, length } | Self::Cone { radius, length } => {
                vec![*radius, *length]
            }
            Self::Ellipsoid { radii } => radii.to_array().to_vec(),
            Self::Mesh { .. } | Self::Points { .. } => Vec::new(),
        }
    }
}

/// Contact properties of a link's surface, in our terms.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Surface {
    pub(super) friction: Option<f64>,
    /// The friction across a direction of the link, along which the other one acts.
    pub(super) across: Option<Across>,
    pub(super) restitution: Option<f64>,
    pub(super) torsional_friction: Option<f64>,
    pub(super) rolling_friction: Option<f64>,
    pub(super) stiffness: Option<f64>,
    pub(super) damping: Option<f64>,
    /// True if a pair of surfaces has the larger of their frictions.
    pub(super) takes_larger: bool,
    pub(super) priority: i32,
    pub(super) dimensions: Option<ContactDimensions>,
}

impl Surface {
    /// The same on a link in whose frame its own is turned by the pose.
    pub(super) fn turned(&self, pose: &Pose) -> Self {
        let turn = |across: Across| Across { direction: pose.direction(across.direction), ..across };
        Self { across: self.across.map(turn), ..*self }
    }
}

/// Friction that differs from that along a direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Across {
    pub(super) friction: f64,
    /// A unit vector along an axis of the link.
    pub(super) direction: DVec3,
}

/// Motion of a link relative to its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Motion {
    Fixed,
    Turning,
    Sliding,
    /// In the plane across the axis, and about it.
    Planar,
    /// About all axes.
    Ball,
    /// Free motion: the link is not connected.
    Free,
}

/// Command quantity of a joint's drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DriveKind {
    Position,
    Velocity,
    Effort,
}

/// Drive of a joint.
#[derive(Debug, Clone)]
pub(super) struct Drive {
    pub(super) kind: DriveKind,
    /// Gains that the file gives, in the units of our joints.
    pub(super) gains: Option<ServoGains>,
    /// Its name; `None` for the name of the joint with `_motor` appended.
    pub(super) name: Option<String>,
    pub(super) offset: usize,
}

/// A joint.
#[derive(Debug, Clone)]
pub(super) struct Joint {
    pub(super) name: String,
    /// The names of the models around it, as of a [`Link`].
    pub(super) scope: String,
    pub(super) offset: usize,
    pub(super) motion: Motion,
    /// True to keep the two links as separate bodies although they cannot move relative to each other.
    pub(super) keeps_links: bool,
    pub(super) parent: usize,
    pub(super) child: usize,
    /// The child's frame in the parent's, at coordinate 0.
    pub(super) pose: Pose,
    /// Axis as a unit vector in the child's frame, and a point on it.
    pub(super) axis: DVec3,
    pub(super) anchor: DVec3,
    /// Limits; for a ball joint those of its twist.
    pub(super) limits: Option<[f64; 2]>,
    /// Swing limit of a ball joint: the half angle of a cone, rad.
    pub(super) swing: Option<f64>,
    /// Initial position, within its stops.
    pub(super) initial: f64,
    /// Largest effort of its motor, and the rate above which the motor exerts none.
    pub(super) max_effort: Option<f64>,
    pub(super) max_rate: Option<f64>,
    pub(super) damping: f64,
    pub(super) friction: f64,
    pub(super) stiffness: f64,
    pub(super) spring_position: f64,
    pub(super) armature: f64,
    /// The drive; `None` without one.
    pub(super) drive: Option<Drive>,
}

impl Joint {
    /// A joint without limits, losses and drive, at the origin of its child.
    pub(super) fn new(name: String, offset: usize, motion: Motion, [parent, child]: [usize; 2]) -> Self {
        Self {
            name,
            scope: String::new(),
            offset,
            motion,
            keeps_links: false,
            parent,
            child,
            pose: Pose::IDENTITY,
            axis: DVec3::Z,
            anchor: DVec3::ZERO,
            limits: None,
            swing: None,
            initial: 0.0,
            max_effort: None,
            max_rate: None,
            damping: 0.0,
            friction: 0.0,
            stiffness: 0.0,
            spring_position: 0.0,
            armature: 0.0,
            drive: None,
        }
    }
}

/// A sensor on a link or a joint, or an actuator on a link; the drive of a joint is a [`Drive`].
#[derive(Debug, Clone)]
pub(super) struct Device {
    pub(super) kind: DeviceKind,
    pub(super) name: String,
    pub(super) offset: usize,
    pub(super) mount: Mount,
    /// Its other attributes.
    pub(super) attributes: Vec<(&'static str, String)>,
    /// Standard deviation of the noise of a quantity, or of all.
    pub(super) noise: Vec<Noise>,
    /// Its other elements, in the order of our format.
    pub(super) parts: Vec<Part>,
}

/// Air and water.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct WorldFluids {
    /// Density of the air, kg/m³.
    pub(super) air: Option<f64>,
    /// Density of the water, kg/m³, and height of its surface, m.
    pub(super) water: Option<[f64; 2]>,
    /// True if it carries all bodies.
    pub(super) is_buoyant: bool,
}

/// A vehicle controller, with an odometry.
#[derive(Debug, Clone)]
pub(super) struct Vehicle {
    pub(super) kind: DeviceKind,
    pub(super) offset: usize,
    /// The link whose velocity is commanded.
    pub(super) chassis: usize,
    /// `link_from_vehicle`
    pub(super) pose: Pose,
    pub(super) wheels: Vec<VehicleWheel>,
    /// Its other attributes.
    pub(super) attributes: Vec<(&'static str, String)>,
}

/// A driven wheel.
#[derive(Debug, Clone, Copy)]
pub(super) struct VehicleWheel {
    pub(super) joint: usize,
    pub(super) steering: Option<usize>,
    /// Radius, m; `None` for that of its shape.
    pub(super) radius: Option<f64>,
}

impl Vehicle {
    /// The same with other places of links and joints. `None` if one of them has no place any more.
    pub(super) fn renumbered(
        &self,
        link: impl Fn(usize) -> Option<usize>,
        joint: impl Fn(usize) -> Option<usize>,
    ) -> Option<Self> {
        let mut vehicle = Self { chassis: link(self.chassis)?, ..self.clone() };
        for wheel in &mut vehicle.wheels {
            wheel.joint = joint(wheel.joint)?;
            if let Some(steering) = &mut wheel.steering {
                *steering = joint(*steering)?;
            }
        }
        Some(vehicle)
    }
}

/// The rollers of a mecanum wheel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rollers {
    /// The wheel's axle, a unit vector in its link's axes.
    pub(super) axle: DVec3,
    /// Angle from the axle to the roller at the ground, to the left, rad.
    pub(super) angle: f64,
}

/// An element of a device without content: its name and its attributes.
pub(super) type Part = (&'static str, Vec<(&'static str, String)>);

/// Mount of a device.
#[derive(Debug, Clone, Copy)]
pub(super) enum Mount {
    Link { link: usize, pose: Pose },
    Joint(usize),
}

/// Noise of a quantity, or of all quantities without a name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Noise {
    pub(super) of: Option<&'static str>,
    pub(super) standard_deviation: f64,
    pub(super) bias: f64,
}

/// Two links that never collide.
#[derive(Debug, Clone, Copy)]
pub(super) struct Apart {
    pub(super) links: [usize; 2],
    pub(super) offset: usize,
}

/// A joint that follows another: follower = ratio leader + offset.
#[derive(Debug, Clone)]
pub(super) struct Mimic {
    pub(super) leader: usize,
    pub(super) follower: usize,
    pub(super) ratio: f64,
    pub(super) constant: f64,
    pub(super) offset: usize,
}

impl MassOf {
    /// The same in the frame that the pose leads out to.
    pub(super) fn moved(&self, pose: &Pose) -> Self {
        let turn = DMat3::from_quat(pose.rotation);
        Self { centre: pose.point(self.centre), tensor: turn * self.tensor * turn.transpose(), ..*self }
    }

    /// The combined mass of two bodies.
    pub(super) fn with(&self, other: &Self) -> Self {
        let mass = self.mass + other.mass;
        let centre = (self.centre * self.mass + other.centre * other.mass) / mass;
        let about = |of: &Self| of.tensor + shifted(of.mass, of.centre - centre);
        Self { mass, centre, tensor: about(self) + about(other), offset: self.offset }
    }
}

/// The inertia tensor of a point about another, at a distance from it (Steiner).
fn shifted(mass: f64, r: DVec3) -> DMat3 {
    let outer = DMat3::from_cols(r * r.x, r * r.y, r * r.z);
    (DMat3::from_diagonal(DVec3::splat(r.length_squared())) - outer) * mass
}

impl Model {
    /// True if something of it measures the magnetic field.
    pub(super) fn measures_field(&self) -> bool {
        self.devices.iter().any(|device| device.kind == DeviceKind::MagnetometerSensor)
    }

    /// Fixes the root to the world if requested, or if it has no mass.
    pub(super) fn fix_root(&mut self, reading: &Reading, is_wanted: bool) {
        let has_joint = self.joints.iter().any(|joint| joint.parent == self.root);
        let root = &mut self.links[self.root];
        root.is_fixed = is_wanted || root.mass.is_none();
        if root.is_fixed && !is_wanted && has_joint && root.name != WORLD_LINK {
            let what = format!("the root '{}' has no mass", root.name);
            reading.warn(root.offset, what, "it is fixed to the world".into());
        }
    }

    /// Sets the pose of each link at zero coordinates, in the frame of the root, which is that of the file.
    pub(super) fn place(&mut self) {
        let mut carried = vec![Vec::new(); self.links.len()];
        for (place, joint) in self.joints.iter().enumerate() {
            carried[joint.parent].push(place);
        }
        let mut reached = vec![self.root];
        while let Some(link) = reached.pop() {
            for joint in carried[link].iter().map(|&place| &self.joints[place]) {
                self.links[joint.child].pose = self.links[link].pose.then(&joint.pose);
                reached.push(joint.child);
            }
        }
    }
}

impl Model {
    /// The same with the world as its first link, in which these links are free, or fixed if they have no mass.
    pub(super) fn on_world(mut self, roots: &[usize]) -> Self {
        let world = Link { name: WORLD_LINK.to_owned(), offset: self.offset, ..Link::default() };
        self.links.insert(0, world);
        for joint in self.joints.iter_mut().chain(&mut self.loops) {
            (joint.parent, joint.child) = (joint.parent + 1, joint.child + 1);
        }
        for device in &mut self.devices {
            if let Mount::Link { link, .. } = &mut device.mount {
                *link += 1;
            }
        }
        self.vehicles.iter_mut().for_each(|vehicle| vehicle.chassis += 1);
        self.apart.iter_mut().flat_map(|apart| &mut apart.links).for_each(|link| *link += 1);
        self.root = 0;
        for link in roots.iter().map(|root| root + 1) {
            let Link { offset, pose, mass, .. } = self.links[link];
            let motion = if mass.is_some() { Motion::Free } else { Motion::Fixed };
            self.joints.push(Joint { pose, ..Joint::new(String::new(), offset, motion, [0, link]) });
        }
        self
    }
}

/// Name of the root link that means the world in a URDF file.
pub(super) const WORLD_LINK: &str = "world";

/// Reason why joints cannot be coupled.
pub(super) const UNCOUPLED: &str = "a coupling ties two different joints, each with one axis, in a ratio other than 0";

impl Model {
    /// Couples a joint to another one, if both have one axis and the follower has no coupling yet.
    pub(super) fn couple(&mut self, coupling: Mimic) -> bool {
        let moves = |place: usize| [Motion::Turning, Motion::Sliding].contains(&self.joints[place].motion);
        let Mimic { leader, follower, ratio, .. } = coupling;
        let is_taken = self.couplings.iter().any(|known| known.follower == follower);
        let fits = ratio != 0.0 && leader != follower && !is_taken && moves(leader) && moves(follower);
        self.couplings.extend(fits.then_some(coupling));
        fits
    }
}
