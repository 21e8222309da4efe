//! Bodies: the nodes of the robot graph, and the objects of the world.

use bevy_math::{DMat3, DVec3};

use super::{Color, FluidProperties, Look, Placed, Pose, Soil, Visual};
use crate::RobotId;

/// A rigid body.
#[derive(Debug, Clone, PartialEq)]
pub struct Body {
    /// Name, unique in its robot or among the objects.
    pub name: String,
    /// The robot it is part of; `None` for an object.
    pub robot: Option<RobotId>,
    /// Pose at step 0, `world_from_body`.
    pub pose: Pose,
    /// Velocity of the centre of mass at step 0, world axes, m/s.
    pub linear_velocity: DVec3,
    /// Angular velocity at step 0, world axes, rad/s.
    pub angular_velocity: DVec3,
    /// True for an immovable body. Its mass and velocities have no meaning.
    pub fixed: bool,
    /// Mass in kg, above zero.
    pub mass: f64,
    /// Centre of mass and inertia, if the file has them; otherwise they follow from shape and mass, and a body without
    /// a shape is a particle.
    pub inertia: Option<Inertia>,
    /// The shape, over which the mass is distributed, and which is displayed if there are no visuals. `None` is a
    /// particle.
    pub shape: Option<Placed>,
    /// Visuals, if they differ from its shape.
    pub visuals: Vec<Visual>,
    /// The collision shape, if it differs from `shape`.
    pub collision: Option<Placed>,
    /// Filter of its collisions.
    pub filter: CollisionFilter,
    /// Surface material.
    pub material: Material,
    /// Materials of the parts of a compound collision shape, in their order; `None` for the body's own. Empty if all
    /// parts have the body's.
    pub part_materials: Vec<Option<Material>>,
    /// Its properties in air and water; `None` if no fluid acts on it.
    pub fluid: Option<Box<FluidProperties>>,
    /// Class in segmentation images; 0 without one.
    pub class: u16,
    /// `file:line:column` of its element, for messages.
    pub source: String,
}

impl Default for Body {
    /// A particle of 1 kg at rest at the origin, without a name.
    fn default() -> Self {
        Self {
            name: String::new(),
            robot: None,
            pose: Pose::default(),
            linear_velocity: DVec3::ZERO,
            angular_velocity: DVec3::ZERO,
            fixed: false,
            mass: 1.0,
            inertia: None,
            shape: None,
            visuals: Vec::new(),
            collision: None,
            filter: CollisionFilter::default(),
            material: Material::default(),
            part_materials: Vec::new(),
            fluid: None,
            class: 0,
            source: String::new(),
        }
    }
}

impl Body {
    /// Velocity at step 0 of its material point at `point`, world frame; `centre` is its centre of mass in its own
    /// frame.
    pub fn velocity_at(&self, point: DVec3, centre: DVec3) -> DVec3 {
        self.linear_velocity + self.angular_velocity.cross(point - self.pose.point(centre))
    }

    /// Visible shapes, each with its colour: its visuals, or else its shape.
    pub fn seen(&self) -> impl Iterator<Item = (&Placed, Option<Color>)> {
        self.looks().map(|(placed, color, _)| (placed, color))
    }

    /// Visible shapes, each with its colour and, for a visual, its look.
    pub fn looks(&self) -> impl Iterator<Item = (&Placed, Option<Color>, Option<&Look>)> {
        let shape = self.shape.as_ref().filter(|_| self.visuals.is_empty());
        let visuals = self.visuals.iter().map(|visual| (&visual.placed, visual.color, Some(&visual.look)));
        visuals.chain(shape.map(|shape| (shape, None, None)))
    }

    /// Material of a part of the collision shape, by its index among the parts of a compound.
    pub fn material_of_part(&self, part: usize) -> &Material {
        self.part_materials.get(part).and_then(Option::as_ref).unwrap_or(&self.material)
    }

    /// All materials of its surface.
    pub fn materials(&self) -> impl Iterator<Item = &Material> {
        [&self.material].into_iter().chain(self.part_materials.iter().flatten())
    }

    /// The shape that collides, if any.
    pub fn collision_shape(&self) -> Option<&Placed> {
        self.collision.as_ref().or(self.shape.as_ref())
    }
}

/// Collision filter: two shapes collide if the category of one of them has a bit that the other collides with. A ground
/// has all bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollisionFilter {
    /// Its categories, one bit each.
    pub category: u16,
    /// The categories that it collides with.
    pub collides_with: u16,
}

impl Default for CollisionFilter {
    /// All bits: it collides with everything that has a category.
    fn default() -> Self {
        Self { category: u16::MAX, collides_with: u16::MAX }
    }
}

impl CollisionFilter {
    /// True if shapes of these two collide.
    #[inline]
    pub fn meets(self, other: Self) -> bool {
        (self.category & other.collides_with) | (other.category & self.collides_with) != 0
    }
}

/// Mass distribution of a body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Inertia {
    /// Centre of mass, body frame, metres.
    pub centre_of_mass: DVec3,
    /// Inertia tensor about the centre of mass, body axes, kg m².
    pub tensor: DMat3,
}

/// Surface properties. For a pair of surfaces, restitution, rolling and torsional friction are the larger of the two,
/// and friction follows the [`FrictionRule`]; two soft surfaces act like springs in series. If the surfaces have
/// different priorities, friction of all kinds and the dimensions are those of the surface with the higher one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Material {
    /// Coulomb friction coefficient, at least 0; of two coefficients, the one along their direction.
    pub friction: f64,
    /// The coefficient across that direction, if it differs.
    pub across: Option<CrossFriction>,
    /// Rule that combines its friction with that of another surface.
    pub friction_rule: FrictionRule,
    /// Priority: friction is that of the surface with the higher priority, or of both for equal priorities.
    pub priority: i32,
    /// The directions in which a contact resists; `None` for those that its coefficients are above zero in.
    pub dimensions: Option<ContactDimensions>,
    /// Coefficient of restitution, 0 (no bounce) to 1.
    pub restitution: f64,
    /// Rolling resistance coefficient Crr, at least 0: a ball, cylinder or capsule of radius r under the force N is
    /// braked by the torque Crr N r.
    pub rolling_friction: f64,
    /// Resistance against turning about the normal, metres: the torque for each newton of normal force. At least 0.
    pub torsional_friction: f64,
    /// Stiffness of each point of contact, N/m; infinite for a rigid surface.
    pub stiffness: f64,
    /// Damping of each contact point, N s/m; without meaning for a rigid surface.
    pub damping: f64,
    /// Creep speed of a sticking contact per newton of friction, m/(s N); 0 for Coulomb's law.
    pub slip: f64,
    /// Velocity of the surface relative to its body, body axes, m/s: that of a conveyor's belt. Of a ground, world
    /// axes. Only its part in the surface counts.
    pub surface_velocity: DVec3,
    /// The way in which the surface velocity moves the surface.
    pub surface_motion: SurfaceMotion,
    /// Height of grousers beyond a wheel's radius, m.
    pub grousers: f64,
    /// Soil of a ground that bodies sink into. `None` for firm ground, and for every body.
    pub soil: Option<Soil>,
}

/// Rule that combines the coefficients of friction of two surfaces to that of their contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FrictionRule {
    /// The smaller one, unless the other surface has the rule of the larger one.
    #[default]
    Smaller,
    /// The larger one, as in MuJoCo.
    Larger,
}

/// The relative motions that a contact resists, each value including the previous ones. A pair has the larger one of
/// its two surfaces (MuJoCo's condim).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContactDimensions {
    /// Approach alone: without friction.
    Normal = 1,
    /// Sliding.
    Sliding = 3,
    /// Turning about the normal.
    Torsional = 4,
    /// Rolling.
    Rolling = 6,
}

impl Material {
    /// The directions in which its contacts resist.
    pub fn contact_dimensions(&self) -> ContactDimensions {
        self.dimensions.unwrap_or(match self {
            Self { rolling_friction, .. } if *rolling_friction > 0.0 => ContactDimensions::Rolling,
            Self { torsional_friction, .. } if *torsional_friction > 0.0 => ContactDimensions::Torsional,
            _ => ContactDimensions::Sliding,
        })
    }
}

impl ContactDimensions {
    /// The words of the formats, from the fewest dimensions on.
    pub const WORDS: [&str; 4] = ["1", "3", "4", "6"];

    /// That of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        let all = [Self::Normal, Self::Sliding, Self::Torsional, Self::Rolling];
        Self::WORDS.iter().position(|known| *known == word).map(|place| all[place])
    }
}

/// Motion of a surface relative to its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SurfaceMotion {
    /// All of the surface moves with the surface velocity v, like the top of a conveyor.
    #[default]
    Uniform,
    /// A belt runs around the body: the surface moves with v x n, n the outward normal. The vector v points along the
    /// axle of the belt's rollers, and its length is the speed of the belt.
    Belt,
}

/// Friction in a second direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CrossFriction {
    /// Coulomb friction coefficient across the direction, at least 0.
    pub coefficient: f64,
    /// The direction along which [`Material::friction`] acts.
    pub direction: FrictionDirection,
}

/// A direction in a surface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FrictionDirection {
    /// A unit vector fixed in the body, or in the world for a ground; its component in the surface counts.
    Along(DVec3),
    /// Across the axle of a wheel, a unit vector fixed in the body: the direction in which it rolls.
    AcrossAxle(DVec3),
    /// Along the rollers on the rim of a mecanum or omni wheel, which turn freely across their axes.
    AlongRollers {
        /// The axle of the wheel, a unit vector fixed in the body.
        axle: DVec3,
        /// Angle from the axle to the axis of the roller that touches, about the normal that points from the other
        /// surface to the wheel, rad.
        angle: f64,
    },
}

impl Default for Material {
    fn default() -> Self {
        Self {
            friction: 0.8,
            across: None,
            friction_rule: FrictionRule::Smaller,
            priority: 0,
            dimensions: None,
            restitution: 0.0,
            rolling_friction: 0.0,
            torsional_friction: 0.0,
            stiffness: f64::INFINITY,
            damping: 0.0,
            slip: 0.0,
            surface_velocity: DVec3::ZERO,
            surface_motion: SurfaceMotion::Uniform,
            grousers: 0.0,
            soil: None,
        }
    }
}
