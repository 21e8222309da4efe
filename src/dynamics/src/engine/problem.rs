//! The constraints of one island as blocks of rows in whitened coordinates.
//!
//! With M + h D = Lᵀ Dg L of each tree and w the sum of Y l over all blocks, where Y = Dg^(-1/2) L⁻ᵀ Jᵀ, the velocity of a block
//! is u = J v_free + Yᵀ w and its own matrix A = Yᵀ Y. No matrix over all contacts is formed: a visit costs the length of a
//! block's columns, whatever the number of contacts, and memory is linear. Blocks: a contact (normal and two tangents,
//! friction coefficients multiplied in), the resistance of a contact against rolling (two rows) and against turning about
//! its normal (one), bound by its normal impulse, and single rows with bounds (stops, dry friction, everything of joints that close loops).

use bevy_math::DVec3;

use super::{
    closure::{Closure, Row as ClosureRow},
    collide::{Contact, Side},
    cone::{Cone, Mode},
    path::Path,
    solve::{Correction, Solution},
    tree::Tree,
};

/// Approach below this does not bounce, m/s.
const BOUNCE_SPEED: f64 = 0.05;
/// A surface nearer than this has arrived, metres. Gaps of points of one face that are zero but for rounding then ask for the
/// same; taken as they are they contradict each other by rounding over h, and no impulses can satisfy all of them.
const SKIN: f64 = 1e-6;
/// Part of its slip by which a surface yields to what presses on it: how contacts share that then has one answer.
const YIELD: f64 = 0.01;
/// A row that is smaller than this share of what it is the difference of is nothing but rounding.
const ROUNDING: f64 = 1e-10;
/// A stop is looked at when its axis could come nearer than this, rad or m.
const STOP_MARGIN: f64 = 1e-3;

/// What a block stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A contact, by its place in the list of contacts.
    Contact(usize),
    /// The rolling resistance of a contact, by its place in the list and that of its block.
    Rolling { contact: usize, block: usize },
    /// The resistance of a contact against turning about its normal, likewise.
    Torsion { contact: usize, block: usize },
    /// A stop or the dry friction of a degree of freedom: tree of the island, degree of freedom, and which of the three.
    Axis { tree: usize, dof: usize, which: usize },
    /// A row of a joint that closes a loop, by its place in [`Problem::closure_rows`].
    Closure(usize),
}

/// Up to three rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    pub(super) kind: Kind,
    /// Its columns in [`Problem::columns`].
    pub(super) start: usize,
    pub(super) length: usize,
    pub(super) cone: Cone,
    /// Velocity without any impulse, with what restitution, gap or target add.
    pub(super) bias: [f64; 3],
    pub(super) impulse: [f64; 3],
    /// Compliance of each row: u + R l in place of u.
    pub(super) compliance: [f64; 3],
    /// Velocity without any impulse.
    pub(super) free: [f64; 3],
    /// Velocity at the start of the step.
    pub(super) before: [f64; 3],
    /// What to add to the bias to solve without restitution.
    pub(super) without_bounce: f64,
    /// Bounds of a single row's impulse; a rolling block's bound in metres is `high`.
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) gap: f64,
    /// Whether its surface has a stiffness, against which nothing takes penetration out.
    pub(super) soft: bool,
    /// -1 for an upper stop.
    pub(super) sign: f64,
}

/// The part of a step's settings that the assembly needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scheme {
    /// Seconds of the step.
    pub(super) h: f64,
    /// What part of the timestep that is.
    pub(super) share: f64,
    pub(super) gravity: DVec3,
    /// Part of a position error that is taken out in a step.
    pub(super) correction: f64,
    /// Largest speed at which penetration is taken out, m/s.
    pub(super) correction_speed: f64,
    /// Penetration that is left alone, m.
    pub(super) surface_layer: f64,
    /// Sweeps at most.
    pub(super) sweeps: usize,
}

/// All blocks of an island. Kept from step to step for its memory only.
#[derive(Debug, Default)]
pub(super) struct Problem {
    pub(super) blocks: Vec<Block>,
    previous: Vec<Block>,
    pub(super) columns: Vec<[f64; 4]>,
    /// Which unknown each column entry belongs to.
    pub(super) index: Vec<u32>,
    /// The whitened impulses' sum.
    pub(super) w: Vec<f64>,
    /// The rows of closures: which closure, and the row's number in it.
    pub(super) closure_rows: Vec<(usize, usize, ClosureRow)>,
    /// Those of one closure, while they are added.
    rows_of_one: Vec<ClosureRow>,
    scratch: Vec<[f64; 4]>,
    pub(super) correction: Correction,
    /// The solutions with restitution and without, while they are blended.
    pub(super) solutions: [Vec<Solution>; 2],
    pub(super) path: Path,
}

/// What an island is made of.
pub(super) struct Parts<'a, 'b> {
    pub(super) trees: &'a mut [&'b mut Tree],
    /// For each tree of the world, its place in its island.
    pub(super) slots: &'a [usize],
    pub(super) contacts: &'a [Contact],
    /// Those of this island.
    pub(super) own_contacts: &'a [usize],
    pub(super) closures: &'a [Closure],
    pub(super) own_closures: &'a [usize],
}

/// Velocities of a block's rows: without impulses, and at the start.
type Velocities = ([f64; 3], [f64; 3]);

impl Problem {
    /// Assembles all blocks at the midpoint. `again` keeps the impulses found so far.
    pub(super) fn assemble(&mut self, parts: &mut Parts, scheme: &Scheme, again: bool) {
        if again {
            std::mem::swap(&mut self.blocks, &mut self.previous);
        }
        self.blocks.clear();
        self.columns.clear();
        self.index.clear();
        self.closure_rows.clear();
        let unknowns: usize = parts.trees.iter().map(|tree| tree.topology.freedom).sum();
        self.w.clear();
        self.w.resize(unknowns, 0.0);
        for k in 0..parts.own_contacts.len() {
            self.add_contact(parts, parts.own_contacts[k], scheme, again);
        }
        for k in 0..parts.own_closures.len() {
            self.add_closure(parts, parts.own_closures[k], scheme);
        }
        for slot in 0..parts.trees.len() {
            if parts.trees[slot].topology.has_rows {
                self.add_axes(parts.trees[slot], slot, scheme);
            }
        }
        if again && self.previous.len() == self.blocks.len() {
            for (block, old) in self.blocks.iter_mut().zip(&self.previous).filter(|(block, old)| block.kind == old.kind)
            {
                block.impulse = old.impulse;
                block.cone.slip = old.cone.slip;
            }
        }
        self.sum_up();
        // Both lists grow together, so that a motion made again finds enough memory in either.
        self.previous.reserve(self.blocks.capacity().saturating_sub(self.previous.len()));
    }

    /// w from the impulses.
    pub(super) fn sum_up(&mut self) {
        self.w.fill(0.0);
        for block in self.blocks.iter().filter(|block| block.impulse != [0.0; 3]) {
            let range = block.start..block.start + block.length;
            for (column, &index) in self.columns[range.clone()].iter().zip(&self.index[range]) {
                let l = &block.impulse;
                self.w[index as usize] += column[0] * l[0] + column[1] * l[1] + column[2] * l[2];
            }
        }
    }

    /// The normal impulse of the contact that a block which resists rolling or turning belongs to.
    pub(super) fn normal_impulse(&self, place: usize) -> f64 {
        match self.blocks[place].kind {
            Kind::Rolling { block, .. } | Kind::Torsion { block, .. } => self.blocks[block].impulse[0],
            _ => 0.0,
        }
    }

    /// The velocity of a block with all impulses, its bias included.
    pub(super) fn velocity(&self, block: &Block) -> [f64; 3] {
        let mut u = [block.bias[0], block.bias[1], block.bias[2], 0.0];
        let range = block.start..block.start + block.length;
        for (column, &index) in self.columns[range.clone()].iter().zip(&self.index[range]) {
            let w = self.w[index as usize];
            for c in 0..4 {
                u[c] += column[c] * w;
            }
        }
        [u[0], u[1], u[2]]
    }

    fn add_contact(&mut self, parts: &mut Parts, index: usize, scheme: &Scheme, again: bool) {
        let (contact, h) = (&parts.contacts[index], scheme.h);
        let surface = &contact.surface;
        let [first, second] = surface.friction;
        let directions = [contact.normal, contact.tangents[0] * first, contact.tangents[1] * second];
        let ends = [contact.a.map(|side| (side, contact.point)), Some((contact.b, contact.point))];
        let start = self.columns.len();
        let (free, before) = self.add_columns(parts, ends, directions, false);
        // A soft surface presses with -k g' - d u, taken at the end of the step where the gap is g' = g + h u.
        let soft = surface.stiffness.is_finite();
        let rigidity = h * surface.stiffness + surface.damping;
        let creep = surface.slip / h;
        let give = if soft { 1.0 / (h * rigidity) } else { YIELD * creep };
        let mut block = self.block(
            Kind::Contact(index),
            start,
            [give, creep * first * first, creep * second * second],
            free,
            before,
        );
        (block.gap, block.soft) = (contact.gap, soft);
        let room = (contact.gap - SKIN).max(0.0);
        let closing = contact.gap + h * free[0] < 0.0;
        let impact = BOUNCE_SPEED + 2.0 * scheme.gravity.length() * h;
        if closing && before[0] < -impact && !again && !soft {
            for side in contact.a.into_iter().chain([contact.b]) {
                if let Some(tree) = parts.slots.get(side.tree).and_then(|&slot| parts.trees.get_mut(slot)) {
                    tree.work.impact = true;
                }
            }
        }
        // Newton's law of impact on the velocity at the start of the step; else the surface must not be crossed before the
        // next midpoint.
        if surface.restitution > 0.0 && closing && before[0] < -BOUNCE_SPEED && !soft {
            block.bias[0] += surface.restitution * before[0];
            block.without_bounce = room / h - surface.restitution * before[0];
        } else if soft && contact.gap < 0.0 {
            block.bias[0] += surface.stiffness * contact.gap / rigidity;
        } else {
            block.bias[0] += room / h;
            if give > 0.0 {
                // What yields is brought back as far as nothing else takes a penetration out.
                block.bias[0] += scheme.correction * contact.gap.clamp(-scheme.surface_layer, 0.0) / h;
            }
        }
        block.impulse = contact.start();
        block.cone.slip = contact.slip;
        self.blocks.push(block);
        let place = self.blocks.len() - 1;
        let (tangents, none) = (contact.tangents, DVec3::ZERO);
        if surface.rolling > 0.0 {
            let kind = Kind::Rolling { contact: index, block: place };
            self.add_spin(parts, kind, [tangents[0], tangents[1], none], surface.rolling);
        }
        if surface.torsion > 0.0 {
            let kind = Kind::Torsion { contact: index, block: place };
            self.add_spin(parts, kind, [parts.contacts[index].normal, none, none], surface.torsion);
        }
    }

    /// The moment that resists rolling, or turning about the normal, bound by a length times the normal impulse.
    fn add_spin(&mut self, parts: &mut Parts, kind: Kind, directions: [DVec3; 3], bound: f64) {
        let (Kind::Rolling { contact, .. } | Kind::Torsion { contact, .. }) = kind else { return };
        let contact = &parts.contacts[contact];
        let ends = [contact.a.map(|side| (side, contact.point)), Some((contact.b, contact.point))];
        let start = self.columns.len();
        let (free, before) = self.add_columns(parts, ends, directions, true);
        let mut block = self.block(kind, start, [0.0; 3], free, before);
        block.impulse = directions.map(|direction| contact.spin_impulse.dot(direction));
        block.high = bound;
        block.gap = contact.gap;
        self.blocks.push(block);
    }

    fn add_closure(&mut self, parts: &mut Parts, index: usize, scheme: &Scheme) {
        let closure = &parts.closures[index];
        let mut rows = std::mem::take(&mut self.rows_of_one);
        rows.clear();
        closure.add_rows(scheme, &mut rows);
        for (number, &row) in rows.iter().enumerate() {
            let ClosureRow { direction, points, angular, offset, compliance, low, high, gap, .. } = row;
            let start = self.columns.len();
            let ends = [Some((closure.a, points[0])), Some((closure.b, points[1]))];
            let (free, before) = self.add_columns(parts, ends, [direction, DVec3::ZERO, DVec3::ZERO], angular);
            let kind = Kind::Closure(self.closure_rows.len());
            self.closure_rows.push((index, number, row));
            let mut block = self.block(kind, start, [compliance, 0.0, 0.0], free, before);
            block.bias[0] += offset;
            (block.low, block.high, block.gap) = (low, high, gap);
            block.impulse[0] = closure.impulses.get(number).copied().unwrap_or(0.0).clamp(low, high);
            self.blocks.push(block);
        }
        self.rows_of_one = rows;
    }

    /// Stops and dry friction of a tree.
    fn add_axes(&mut self, tree: &Tree, slot: usize, scheme: &Scheme) {
        for dof in 0..tree.topology.freedom {
            let law = tree.topology.laws[dof];
            let (q, v) = (tree.state.q[dof], tree.work.v_free[dof]);
            let bound = law.friction * scheme.h;
            let rows = [
                (q - law.lower, 1.0, 0.0, f64::INFINITY),
                (law.upper - q, -1.0, 0.0, f64::INFINITY),
                (0.0, 1.0, -bound, bound),
            ];
            for (which, (gap, sign, low, high)) in rows.into_iter().enumerate() {
                let near = which < 2 && gap + 2.0 * scheme.h * (sign * v).min(0.0) < STOP_MARGIN;
                if !(near || which == 2 && bound > 0.0) {
                    continue;
                }
                let start = self.columns.len();
                let (row, depth) = (tree.topology.row[dof], tree.topology.depth[dof]);
                for k in 0..=depth {
                    self.columns.push([if k == depth { sign } else { 0.0 }, 0.0, 0.0, 0.0]);
                    self.index.push(to_index(tree.work.base) + tree.topology.chain[row + k]);
                }
                tree.whiten_chain(row, &mut self.columns[start..]);
                let velocity = |v: f64| [sign * v, 0.0, 0.0];
                let kind = Kind::Axis { tree: slot, dof, which };
                let mut block = self.block(kind, start, [0.0; 3], velocity(v), velocity(tree.state.v[dof]));
                block.bias[0] += gap.max(0.0) / scheme.h;
                (block.low, block.high, block.gap, block.sign) = (low, high, gap, sign);
                block.impulse[0] = tree.state.row_impulses[dof][which].clamp(low, high);
                self.blocks.push(block);
            }
        }
    }

    /// A block over the columns from `start` on.
    fn block(&self, kind: Kind, start: usize, compliance: [f64; 3], free: [f64; 3], before: [f64; 3]) -> Block {
        let mut a = [0.0; 6];
        for y in &self.columns[start..] {
            a[0] += y[0] * y[0];
            a[1] += y[0] * y[1];
            a[2] += y[0] * y[2];
            a[3] += y[1] * y[1];
            a[4] += y[1] * y[2];
            a[5] += y[2] * y[2];
        }
        a[0] += compliance[0];
        a[3] += compliance[1];
        a[5] += compliance[2];
        let cone = match kind {
            Kind::Contact(_) => Cone::new(a),
            Kind::Rolling { .. } | Kind::Torsion { .. } | Kind::Axis { .. } | Kind::Closure(_) => Cone::bare(a),
        };
        Block {
            kind,
            start,
            length: self.columns.len() - start,
            cone,
            bias: free,
            impulse: [0.0; 3],
            compliance,
            free,
            before,
            without_bounce: 0.0,
            low: f64::NEG_INFINITY,
            high: f64::INFINITY,
            gap: 0.0,
            soft: false,
            sign: 1.0,
        }
    }

    /// Appends the whitened Jacobian of (second end) - (first end) along three directions, of points or of angles.
    fn add_columns(
        &mut self,
        parts: &Parts,
        ends: [Option<(Side, DVec3)>; 2],
        directions: [DVec3; 3],
        angular: bool,
    ) -> Velocities {
        if let [Some((a, at_a)), Some((b, at_b))] = ends
            && a.tree == b.tree
        {
            return self.add_columns_within(parts, [(a, at_a), (b, at_b)], directions, angular);
        }
        let (mut free, mut before) = ([0.0; 4], [0.0; 4]);
        for (end, sign) in ends.into_iter().zip([-1.0, 1.0]) {
            let Some((side, point)) = end else { continue };
            // A side that nothing moves belongs to no island; its columns would be empty.
            let Some(&slot) = parts.slots.get(side.tree).filter(|slot| **slot < parts.trees.len()) else { continue };
            let tree = &*parts.trees[slot];
            let Some(leaf) = tree.topology.leaf[side.link] else { continue };
            let (row, length) = (tree.topology.row[leaf], tree.topology.depth[leaf] + 1);
            let start = self.columns.len();
            jacobian(tree, row..row + length, point, directions, sign, angular, &mut self.columns);
            let (chain, base) = (&tree.topology.chain[row..row + length], to_index(tree.work.base));
            self.index.extend(chain.iter().map(|dof| base + dof));
            let (v_free, v) = (&tree.work.v_free[..], &tree.state.v[..]);
            for (column, &dof) in self.columns[start..].iter().zip(chain) {
                let (after, now) = (v_free[dof as usize], v[dof as usize]);
                for c in 0..4 {
                    free[c] += column[c] * after;
                    before[c] += column[c] * now;
                }
            }
            tree.whiten_chain(row, &mut self.columns[start..]);
        }
        ([free[0], free[1], free[2]], [before[0], before[1], before[2]])
    }

    /// The same for two links of one tree: columns over the whole tree.
    fn add_columns_within(
        &mut self,
        parts: &Parts,
        ends: [(Side, DVec3); 2],
        directions: [DVec3; 3],
        angular: bool,
    ) -> Velocities {
        let (mut free, mut before) = ([0.0; 3], [0.0; 3]);
        let tree = &*parts.trees[parts.slots[ends[0].0.tree]];
        let start = self.columns.len();
        self.columns.resize(start + tree.topology.freedom, [0.0; 4]);
        let mut scale = [0.0; 3];
        for ((side, point), sign) in ends.into_iter().zip([-1.0, 1.0]) {
            let Some(leaf) = tree.topology.leaf[side.link] else { continue };
            let (row, length) = (tree.topology.row[leaf], tree.topology.depth[leaf] + 1);
            self.scratch.clear();
            jacobian(tree, row..row + length, point, directions, sign, angular, &mut self.scratch);
            for (column, &dof) in self.scratch.iter().zip(&tree.topology.chain[row..row + length]) {
                for c in 0..3 {
                    self.columns[start + dof as usize][c] += column[c];
                    scale[c] += column[c] * column[c];
                }
            }
        }
        // What is nil but for rounding is held by the tree already; nothing can push there.
        let rest = |c: usize| self.columns[start..].iter().map(|column| column[c] * column[c]).sum::<f64>();
        let held = [0, 1, 2].map(|c| rest(c) < ROUNDING * ROUNDING * scale[c]);
        for column in &mut self.columns[start..] {
            (0..3).filter(|&c| held[c]).for_each(|c| column[c] = 0.0);
        }
        for dof in 0..tree.topology.freedom {
            let column = &self.columns[start + dof];
            for c in 0..3 {
                free[c] += column[c] * tree.work.v_free[dof];
                before[c] += column[c] * tree.state.v[dof];
            }
            self.index.push(to_index(tree.work.base + dof));
        }
        tree.whiten_all(&mut self.columns[start..]);
        (free, before)
    }
}

/// The rows of the three directions over a chain of degrees of freedom, for the point's or the link's angular velocity.
fn jacobian(
    tree: &Tree,
    chain: std::ops::Range<usize>,
    point: DVec3,
    directions: [DVec3; 3],
    sign: f64,
    angular: bool,
    out: &mut Vec<[f64; 4]>,
) {
    let lever = point - tree.work.origin;
    let moments = if angular { directions } else { directions.map(|direction| lever.cross(direction)) };
    let mut chain = &tree.topology.chain[chain];
    let signed = |a: f64, b: f64, c: f64| [sign * a, sign * b, sign * c, 0.0];
    if tree.is_free() {
        // The free root's axes are unit vectors.
        let ([a, b, c], [u, v, w]) = (if angular { [DVec3::ZERO; 3] } else { directions }, moments);
        out.extend([signed(a.x, b.x, c.x), signed(a.y, b.y, c.y), signed(a.z, b.z, c.z)]);
        out.extend([signed(u.x, v.x, w.x), signed(u.y, v.y, w.y), signed(u.z, v.z, w.z)]);
        chain = &chain[6..];
    }
    let axes = &tree.work.axis[..];
    out.extend(chain.iter().map(|&dof| {
        let axis = &axes[dof as usize];
        let turning = moments.map(|moment| axis.angular.dot(moment));
        let sliding = if angular { [0.0; 3] } else { directions.map(|direction| axis.linear.dot(direction)) };
        signed(turning[0] + sliding[0], turning[1] + sliding[1], turning[2] + sliding[2])
    }));
}

fn to_index(place: usize) -> u32 {
    u32::try_from(place).expect("an island has fewer unknowns than a u32 counts")
}

impl Block {
    /// How many rows of it count in the present mode.
    pub(super) fn active_rows(&self) -> usize {
        match (self.kind, self.cone.mode) {
            (_, Mode::Open) => 0,
            (Kind::Contact(_), _) if self.cone.friction => 3,
            (Kind::Rolling { .. }, _) => 2,
            _ => 1,
        }
    }
    /// Takes an impulse that is out of its bounds back to them.
    pub(super) fn bring_into_bounds(&mut self, normal: f64) {
        let l = &mut self.impulse;
        match self.kind {
            Kind::Axis { .. } | Kind::Closure(_) => l[0] = l[0].clamp(self.low, self.high),
            Kind::Contact(_) => {
                l[0] = l[0].max(0.0);
                let length = l[1].hypot(l[2]);
                if length > l[0] {
                    let scale = l[0] / length;
                    (l[1], l[2]) = (l[1] * scale, l[2] * scale);
                }
            }
            Kind::Rolling { .. } | Kind::Torsion { .. } => {
                let (length, bound) = (l[0].hypot(l[1]), self.high * normal);
                if length > bound {
                    let scale = bound / length;
                    (l[0], l[1]) = (l[0] * scale, l[1] * scale);
                }
            }
        }
    }
}
