//! The structure of a kinematic tree, which no step changes: links, packed rows, laws of its axes, couplings.

use simpartner_model::FreeAxis;

use super::{
    ball::Ball,
    tree::{Link, LinkJoint},
};

/// Two degrees of freedom of a tree in a fixed ratio: follower = ratio leader + offset.
#[derive(Debug, Clone, Copy)]
pub(super) struct Coupling {
    pub(super) leader: usize,
    pub(super) follower: usize,
    pub(super) ratio: f64,
    pub(super) offset: f64,
}

/// The structure of a tree.
#[derive(Debug, Clone, Default)]
pub(super) struct Topology {
    pub(super) links: Vec<Link>,
    /// Number of degrees of freedom.
    pub(super) freedom: usize,
    /// The mass of all links.
    pub(super) mass: f64,
    /// The mass of each moving link with all links welded to it, kg. A welded link has 0 here: the link that carries it has its mass.
    pub(super) rigid_masses: Vec<f64>,
    /// The smallest and the largest of the `rigid_masses` above 0, kg; `None` before there is one.
    pub(super) mass_range: Option<[f64; 2]>,
    /// Ancestors of each degree of freedom.
    pub(super) depth: Vec<usize>,
    /// Where its packed row starts.
    pub(super) row: Vec<usize>,
    /// The ancestors, root first, itself last, and where the packed row of each starts. Rows are filled up to whole groups of
    /// [`LANES`].
    pub(super) chain: Vec<u32>,
    pub(super) rows: Vec<u32>,
    /// How far the shapes of each link reach from its centre of mass, m.
    pub(super) reach: Vec<f64>,
    /// The sum of the squares of the lengths of these chains.
    pub(super) squares: usize,
    /// The link whose joint has each degree of freedom.
    pub(super) mover: Vec<usize>,
    /// The last degree of freedom that moves each link, if any.
    pub(super) leaf: Vec<Option<usize>>,
    /// Stops, losses, spring and rotor of each degree of freedom, counted as the tree does.
    pub(super) laws: Vec<FreeAxis>,
    pub(super) couplings: Vec<Coupling>,
    /// True if any axis has stops, dry friction or a coupling, or any ball joint has stops.
    pub(super) has_rows: bool,
    /// True if the power of any motor is bounded.
    pub(super) has_powers: bool,
    /// The ball joints.
    pub(super) balls: Vec<Ball>,
    /// Whether the bias depends on the velocity: where a joint turns, or moves on a root that turns.
    pub(super) whirls: bool,
}

impl Topology {
    /// Adds the mass of the newest link, kg, to the link whose joint moves it. A link that is welded to a fixed root counts nowhere.
    pub(super) fn add_mass(&mut self, mass: f64) {
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
    pub(super) fn free_axes(&self) -> usize {
        if self.links[0].joint == LinkJoint::Free { 6 } else { 0 }
    }
}
