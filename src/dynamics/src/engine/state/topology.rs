//! Structure of a kinematic tree, which no step changes: links, packed rows, laws of axes, couplings.

use simpartner_model::FreeAxis;

use super::link::{Link, LinkJoint};
use crate::engine::joints::ball_joint::Ball;

/// Mean square of the lengths of a tree's chains above which it is long: from a chain of 20 hinges or of seven ball
/// joints on. Measured for chains in free motion: at 45 both factors cost the same, at 140 the articulated-body one
/// costs two thirds of packed rows. Chains of robots with legs and arms have 70 to 110, and the constraints of their
/// contacts use packed rows, too.
const MEAN_SQUARE_CHAIN: usize = 140;

/// Largest ratio of masses in a tree that articulated-body inertias factor. The inertia of a light link is the
/// difference of two heavy ones, so rounding errors grow by that ratio. At 10,000 the reactions of a whirling chain of
/// 13 ball joints had a force imbalance of 2e-6.
const MAX_MASS_RATIO: f64 = 1000.0;

/// Two degrees of freedom in a fixed ratio: follower = ratio leader + offset.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Coupling {
    pub(crate) leader: usize,
    pub(crate) follower: usize,
    pub(crate) ratio: f64,
    pub(crate) offset: f64,
}

/// The structure of a tree.
#[derive(Debug, Clone, Default)]
pub(crate) struct Topology {
    pub(crate) links: Vec<Link>,
    /// Number of degrees of freedom.
    pub(crate) freedom: usize,
    /// Mass of all links, kg.
    pub(crate) mass: f64,
    /// Mass of each moving link with all links welded to it, kg; 0 for a welded link, whose mass its carrier has.
    pub(crate) rigid_masses: Vec<f64>,
    /// Smallest and largest of the `rigid_masses` above 0, kg; `None` if there is none.
    pub(crate) mass_range: Option<[f64; 2]>,
    /// Number of ancestors of each degree of freedom.
    pub(crate) depth: Vec<usize>,
    /// Start of its packed row.
    pub(crate) row: Vec<usize>,
    /// The ancestors, root first, itself last, and the start of the packed row of each. Rows are padded to whole groups
    /// of [`LANES`](super::tree::LANES).
    pub(crate) chain: Vec<u32>,
    pub(crate) rows: Vec<u32>,
    /// Largest distance of a point of the shapes of each link from its centre of mass, m.
    pub(crate) reach: Vec<f64>,
    /// Sum of the squares of the lengths of all chains.
    pub(crate) squares: usize,
    /// The link whose joint has each degree of freedom.
    pub(crate) mover: Vec<usize>,
    /// The last degree of freedom that moves each link, if any.
    pub(crate) leaf: Vec<Option<usize>>,
    /// Stops, losses, spring and rotor of each degree of freedom, with the signs of the tree.
    pub(crate) laws: Vec<FreeAxis>,
    pub(crate) couplings: Vec<Coupling>,
    /// True if any axis has stops, dry friction or a coupling, or any ball joint has stops.
    pub(crate) has_rows: bool,
    /// True if the power of any motor is bounded.
    pub(crate) has_powers: bool,
    /// Ball joints of the tree.
    pub(crate) balls: Vec<Ball>,
    /// True if the bias depends on the velocity: a joint turns, or moves on a root that turns.
    pub(crate) has_velocity_bias: bool,
}

impl Topology {
    /// Adds the mass of the newest link, kg, to the link whose joint moves it. The mass of a link welded to a fixed
    /// root is not counted.
    pub(crate) fn add_mass(&mut self, mass: f64) {
        self.mass += mass;
        self.rigid_masses.push(0.0);
        let Some(dof) = self.leaf.last().copied().flatten() else { return };
        self.rigid_masses[self.mover[dof]] += mass;
        let masses = self.rigid_masses.iter().filter(|&&mass| mass > 0.0);
        self.mass_range = masses.fold(None, |range, &mass| {
            let [lightest, heaviest] = range.unwrap_or([mass; 2]);
            Some([mass.min(lightest), mass.max(heaviest)])
        });
    }

    /// Number of unit axes at the start of each chain: six for a free root, along which it moves and about which it
    /// turns. They have no motors, springs or stops.
    #[inline]
    pub(crate) fn free_axes(&self) -> usize {
        if self.links[0].joint == LinkJoint::Free { 6 } else { 0 }
    }

    /// True if its mass matrix is factored by articulated-body inertias instead of packed rows.
    #[inline]
    pub(crate) fn is_long(&self) -> bool {
        self.squares > MEAN_SQUARE_CHAIN * self.freedom
            && self.mass_range.is_none_or(|[lightest, heaviest]| heaviest <= MAX_MASS_RATIO * lightest)
    }

    /// Number of entries in packed rows, padding included.
    pub(crate) fn packed_entry_count(&self) -> usize {
        if self.is_long() { 0 } else { self.chain.len() }
    }
}
