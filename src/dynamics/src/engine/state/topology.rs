//! The structure of a kinematic tree, which no step changes: links, packed rows, laws of its axes, couplings.

use simpartner_model::FreeAxis;

use super::tree::{Link, LinkJoint};
use crate::engine::joints::ball_joint::Ball;

/// Two degrees of freedom of a tree in a fixed ratio: follower = ratio leader + offset.
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
    /// The mass of all links.
    pub(crate) mass: f64,
    /// The mass of each moving link with all links welded to it, kg. A welded link has 0 here: the link that carries it has its mass.
    pub(crate) rigid_masses: Vec<f64>,
    /// The smallest and the largest of the `rigid_masses` above 0, kg; `None` before there is one.
    pub(crate) mass_range: Option<[f64; 2]>,
    /// Ancestors of each degree of freedom.
    pub(crate) depth: Vec<usize>,
    /// Where its packed row starts.
    pub(crate) row: Vec<usize>,
    /// The ancestors, root first, itself last, and where the packed row of each starts. Rows are filled up to whole groups of
    /// [`LANES`].
    pub(crate) chain: Vec<u32>,
    pub(crate) rows: Vec<u32>,
    /// How far the shapes of each link reach from its centre of mass, m.
    pub(crate) reach: Vec<f64>,
    /// The sum of the squares of the lengths of these chains.
    pub(crate) squares: usize,
    /// The link whose joint has each degree of freedom.
    pub(crate) mover: Vec<usize>,
    /// The last degree of freedom that moves each link, if any.
    pub(crate) leaf: Vec<Option<usize>>,
    /// Stops, losses, spring and rotor of each degree of freedom, counted as the tree does.
    pub(crate) laws: Vec<FreeAxis>,
    pub(crate) couplings: Vec<Coupling>,
    /// True if any axis has stops, dry friction or a coupling, or any ball joint has stops.
    pub(crate) has_rows: bool,
    /// True if the power of any motor is bounded.
    pub(crate) has_powers: bool,
    /// The ball joints.
    pub(crate) balls: Vec<Ball>,
    /// Whether the bias depends on the velocity: where a joint turns, or moves on a root that turns.
    pub(crate) whirls: bool,
}

impl Topology {
    /// Adds the mass of the newest link, kg, to the link whose joint moves it. A link that is welded to a fixed root counts nowhere.
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

    /// The axes at the beginning of each chain that are unit vectors: those of a free root, along which it moves and about which it turns. They have
    /// no motors, springs or stops.
    #[inline]
    pub(crate) fn free_axes(&self) -> usize {
        if self.links[0].joint == LinkJoint::Free { 6 } else { 0 }
    }
}
