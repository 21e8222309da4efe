//! Warnings before the first step: the world can be simulated, but parts of it are probably mistakes.

use std::collections::BTreeMap;

use bevy_math::DVec3;
use simpartner_description::{DeviceSpec, Law, Warning, World};
use simpartner_dynamics::{BuildError, ContactPoint, Probe};
use simpartner_model::{Body, BodyId, Fluids, Graph, Tree};

/// Largest overlap, or depth in the ground, that the first steps correct without a visible effect, metres.
const INVISIBLE_DEPTH: f64 = 1e-3;

/// Largest initial height above the ground at which a robot may be meant to fall, metres.
const MAX_DROP: f64 = 0.05;

/// Largest initial height above the ground from which a wheel touches it in normal driving, metres.
const MAX_WHEEL_DROP: f64 = 0.01;

/// Depth to which the ground is searched, metres: the length of the longest shape that the reader accepts.
const SEARCH_DEPTH: f64 = 1e6;

/// Largest mass of an auxiliary body, kg. Such a body has no shape and no motion of its own, for example between the
/// joints of an imported body.
const MASSLESS_LIMIT: f64 = 1e-9;

/// Largest mass ratio of two bodies that are joined or touch. Beyond it, the solver's tolerance of 1e-9 and timesteps
/// of a millisecond make the lighter body's motion inaccurate. Real robots stay below 1000.
const MAX_MASS_RATIO: f64 = 1e4;

/// Plausible densities, kg/m³: from a hundredth of air (1.2) to osmium (22590). Outside of this range, a length is
/// probably in millimetres or a mass in grams.
const PLAUSIBLE_DENSITIES: std::ops::RangeInclusive<f64> = 0.01..=25_000.0;

/// Largest number of warnings of one kind that are reported singly: more than anybody reads.
const MAX_WARNINGS_PER_KIND: usize = 20;

/// All warnings of a world, those of its reader first. A robot that is checked `alone`, without a world, needs no
/// ground.
///
/// # Errors
/// When something in the world cannot be built. A simulation cannot be built then either.
pub fn warnings(world: &World, alone: bool) -> Result<Vec<Warning>, BuildError> {
    let mut found = world.warnings.clone();
    let mut probe = Probe::new(&world.mechanism)?;
    let contacts = probe.contacts();
    let scene = StartScene { world, probe, contacts, down: world.mechanism.gravity.try_normalize() };
    found.extend(limit_warnings(scene.overlap_warnings()));
    found.extend(limit_warnings(scene.ground_depth_warnings()));
    found.extend(limit_warnings(scene.density_warnings()));
    found.extend(limit_warnings(scene.mass_ratio_warnings()));
    if !alone && let Some(down) = scene.down {
        match scene.missing_ground_warning() {
            Some(warning) => found.push(warning),
            None => found.extend(limit_warnings(scene.falling_warnings(down))),
        }
        found.extend(limit_warnings(scene.wheel_warnings(down)));
    }
    Ok(found)
}

/// The first warnings of a kind; the last of them says how many more there are.
fn limit_warnings(mut warnings: Vec<Warning>) -> Vec<Warning> {
    let more = warnings.len().saturating_sub(MAX_WARNINGS_PER_KIND);
    warnings.truncate(MAX_WARNINGS_PER_KIND);
    if let Some(last) = warnings.last_mut().filter(|_| more > 0) {
        last.help.push_str(&format!(" (and {more} more of this sort)"));
    }
    warnings
}

/// The world at step 0, with its contacts.
struct StartScene<'a> {
    world: &'a World,
    probe: Probe,
    contacts: Vec<ContactPoint>,
    /// The direction of gravity; `None` without gravity.
    down: Option<DVec3>,
}

impl StartScene<'_> {
    /// A warning at the place of a body in its file.
    fn body_warning(&self, body: BodyId, what: String, help: &str) -> Warning {
        Warning { place: self.world.mechanism.body(body).source.clone(), what, help: help.into() }
    }

    fn body_name(&self, body: BodyId) -> String {
        self.world.mechanism.qualified_name(self.world.mechanism.body(body))
    }

    fn overlap_warnings(&self) -> Vec<Warning> {
        let mut depths: BTreeMap<(BodyId, BodyId), f64> = BTreeMap::new();
        for contact in &self.contacts {
            if let [Some(a), Some(b)] = contact.bodies {
                let depth = depths.entry((a.min(b), a.max(b))).or_default();
                *depth = depth.max(-contact.gap);
            }
        }
        let deep = depths.into_iter().filter(|(_, depth)| *depth > INVISIBLE_DEPTH);
        let warnings = deep.map(|((a, b), depth)| {
            let what = format!(
                "'{}' and '{}' ({}) overlap by {depth:.3} m at the start, so they are pushed apart, at no more than \
                 physics.contact_max_correcting_velocity_m_per_s",
                self.body_name(b),
                self.body_name(a),
                self.world.mechanism.body(a).source
            );
            let help = "move one of them, give one a smaller <collision>, or join them: bodies that share a joint do not collide";
            self.body_warning(b, what, help)
        });
        warnings.collect()
    }

    fn ground_depth_warnings(&self) -> Vec<Warning> {
        let mut depths: BTreeMap<BodyId, f64> = BTreeMap::new();
        for contact in self.contacts.iter().filter(|contact| contact.bodies[0].is_none()) {
            if let Some(body) = contact.bodies[1] {
                let depth = depths.entry(body).or_default();
                *depth = depth.max(-contact.gap);
            }
        }
        // Terrain is a surface without an inside, so a body that is wholly below it has no contact.
        let moving = self.world.mechanism.bodies().filter(|(_, body)| !body.fixed && body.collision_shape().is_some());
        for (id, _) in moving {
            if let Some(depth) = self.probe.depth_in_terrain(id) {
                let known = depths.entry(id).or_default();
                *known = known.max(depth);
            }
        }
        let deep = depths.into_iter().filter(|(_, depth)| *depth > INVISIBLE_DEPTH);
        let warnings = deep.map(|(body, depth)| {
            let what = format!(
                "'{}' begins {depth:.3} m deep in the ground, which throws it out or holds it",
                self.body_name(body)
            );
            self.body_warning(body, what, "raise it by that much, in its <pose> or in that of its robot")
        });
        warnings.collect()
    }

    fn density_warnings(&self) -> Vec<Warning> {
        let density = |body: &Body| {
            let shape = body.shape.as_ref().filter(|_| !body.fixed && body.inertia.is_none())?;
            Some(body.mass / simpartner_dynamics::volume(shape).ok()?)
        };
        let dense = self.world.mechanism.bodies().filter_map(|(id, body)| Some((id, density(body)?)));
        let odd = dense.filter(|(_, density)| !PLAUSIBLE_DENSITIES.contains(density));
        let warnings = odd.map(|(id, density)| {
            let likeness = if density < 1.0 { "thinner than a hundredth of air" } else { "denser than any metal" };
            let what = format!("'{}' has {density:.3e} kg/m³, which is {likeness}", self.body_name(id));
            self.body_warning(
                id,
                what,
                "lengths are in metres and masses in kilograms; an <inertia> says that it is meant",
            )
        });
        warnings.collect()
    }

    fn mass_ratio_warnings(&self) -> Vec<Warning> {
        let joined = self.world.mechanism.joints.iter().map(|joint| (joint.parent, joint.child, "joined"));
        let touching = self.contacts.iter().filter_map(|contact| match contact.bodies {
            [Some(a), Some(b)] => Some((a, b, "in contact")),
            _ => None,
        });
        let mut pairs: Vec<_> = joined.chain(touching).map(|(a, b, how)| (a.min(b), a.max(b), how)).collect();
        pairs.sort_unstable();
        pairs.dedup_by_key(|(a, b, _)| (*a, *b));
        let ratio = |a: BodyId, b: BodyId| {
            let (a, b) = (self.world.mechanism.body(a), self.world.mechanism.body(b));
            let is_massless = |body: &Body| body.shape.is_none() && body.mass <= MASSLESS_LIMIT;
            let is_exempt = a.fixed || b.fixed || is_massless(a) || is_massless(b);
            if is_exempt { 1.0 } else { a.mass.max(b.mass) / a.mass.min(b.mass) }
        };
        let odd = pairs.into_iter().filter(|(a, b, _)| ratio(*a, *b) > MAX_MASS_RATIO);
        let warnings = odd.map(|(a, b, how)| {
            let what = format!(
                "'{}' of {} kg and '{}' of {} kg are {how}: their masses are {:.0} to 1, which makes the lighter one's \
                 motion inaccurate",
                self.body_name(a),
                self.world.mechanism.body(a).mass,
                self.body_name(b),
                self.world.mechanism.body(b).mass,
                ratio(a, b)
            );
            self.body_warning(b, what, "give the lighter one more mass, or make both one body")
        });
        warnings.collect()
    }

    /// A warning if the world has gravity, but neither ground nor a fixed body.
    fn missing_ground_warning(&self) -> Option<Warning> {
        let world = self.world;
        let fixed = world.mechanism.bodies.iter().any(|body| body.fixed);
        let falls = |body: &Body| !body.fixed && (body.robot.is_some() || body.collision_shape().is_some());
        if !world.mechanism.grounds.is_empty() || fixed || !world.mechanism.bodies.iter().any(falls) {
            return None;
        }
        let place = world.sources.first().map_or(String::new(), |source| format!("{}:1:1", source.path));
        let help =
            "add <surface/>, a plane through the origin, or a <heightfield>; or leave out gravity: <gravity y=\"0\"/>";
        Some(Warning { place, what: "there is no ground, so everything falls for ever".into(), help: help.into() })
    }

    /// Warnings of robots and objects without contact at the start, which fall forever or onto something.
    fn falling_warnings(&self, down: DVec3) -> Vec<Warning> {
        let forest = Graph::new(&self.world.mechanism.bodies, &self.world.mechanism.joints).spanning_forest();
        let mut part_of = vec![0; self.world.mechanism.bodies.len()];
        for (part, tree) in forest.trees.iter().enumerate() {
            tree.bodies().for_each(|body| part_of[body.index()] = part);
        }
        let mut touched = vec![false; forest.trees.len()];
        for contact in &self.contacts {
            let parts = contact.bodies.map(|body| body.map(|body| part_of[body.index()]));
            if parts[0] != parts[1] {
                parts.into_iter().flatten().for_each(|part| touched[part] = true);
            }
        }
        let loose = forest.trees.iter().zip(touched).filter(|(_, touched)| !touched).map(|(tree, _)| tree);
        loose
            .filter(|tree| !self.world.mechanism.body(tree.root).fixed)
            .filter_map(|tree| self.falling_warning(tree, down))
            .collect()
    }

    fn falling_warning(&self, tree: &Tree, down: DVec3) -> Option<Warning> {
        let world = self.world;
        let who = match world.mechanism.body(tree.root).robot {
            Some(robot) => format!("robot '{}'", world.mechanism.robot(robot).name),
            None => format!("'{}'", self.body_name(tree.root)),
        };
        let has_ground = !world.mechanism.grounds.is_empty() || world.mechanism.bodies.iter().any(|body| body.fixed);
        if tree.bodies().all(|body| world.mechanism.body(body).collision_shape().is_none()) {
            // Without a ground, a particle in free fall is a deliberate experiment.
            if !has_ground {
                return None;
            }
            let what = format!("{who} has no shape, so it falls through the ground");
            return Some(self.body_warning(tree.root, what, "give a body a shape, such as <sphere radius=\"0.1\"/>"));
        }
        let is_buoyant = |body| world.mechanism.body(body).fluid.as_ref().is_some_and(|fluid| fluid.is_buoyant);
        if world.mechanism.fluids != Fluids::default() && tree.bodies().any(is_buoyant) {
            return None;
        }
        let below =
            tree.bodies().filter_map(|body| self.probe.clearance(body, down, SEARCH_DEPTH)).min_by(f64::total_cmp);
        match below {
            None => {
                let what = format!("nothing is below {who}, so it falls for ever");
                Some(self.body_warning(tree.root, what, "place it above the ground, or make the ground larger"))
            }
            Some(height) if height > MAX_DROP && world.mechanism.body(tree.root).robot.is_some() => {
                let what = format!("{who} begins {height:.3} m above what is below it, and falls onto it");
                Some(self.body_warning(tree.root, what, "lower the robot's <pose> by that much"))
            }
            Some(_) => None,
        }
    }

    /// Warnings of driven wheels in the air, for robots that have other wheels and touch something.
    fn wheel_warnings(&self, down: DVec3) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for (index, _) in self.world.mechanism.robots.iter().enumerate() {
            let wheels: Vec<BodyId> = self.driven_wheels(index).collect();
            let stands = |body: &BodyId| self.contacts.iter().any(|contact| contact.bodies.contains(&Some(*body)));
            let of_robot =
                |body: BodyId| self.world.mechanism.body(body).robot.is_some_and(|robot| robot.index() == index);
            // A single wheel may be a tool, and `falling_warnings` reports robots that touch nothing.
            if wheels.len() < 2 || !self.contacts.iter().flat_map(|contact| contact.bodies).flatten().any(of_robot) {
                continue;
            }
            for wheel in wheels.iter().filter(|wheel| !stands(wheel)) {
                let height = self.probe.clearance(*wheel, down, SEARCH_DEPTH);
                let above = match height {
                    Some(height) if height <= MAX_WHEEL_DROP => continue,
                    Some(height) => format!("{height:.3} m above what is below it"),
                    None => "above nothing".into(),
                };
                let what = format!("wheel '{}' begins {above}, so it drives nothing", self.body_name(*wheel));
                warnings.push(self.body_warning(
                    *wheel,
                    what,
                    "lower it, or lengthen what carries it, until it touches the ground",
                ));
            }
        }
        warnings
    }

    /// Bodies of round shape at the end of a joint that a velocity-controlled motor turns.
    fn driven_wheels(&self, robot: usize) -> impl Iterator<Item = BodyId> {
        let world = self.world;
        let driven = world.devices.iter().filter(move |device| device.robot.index() == robot);
        let joints = driven.flat_map(|device| match &device.spec {
            DeviceSpec::Actuator(actuator) if matches!(actuator.law, Law::Velocity) => {
                device.spec.joint().into_iter().collect()
            }
            DeviceSpec::Vehicle(vehicle) => {
                let driven = vehicle.wheels.iter().filter(|wheel| wheel.is_driven);
                driven.map(|wheel| wheel.joint).collect()
            }
            _ => Vec::new(),
        });
        let joints = joints.map(|joint| world.mechanism.joint(joint));
        let is_round =
            |body: &Body| body.collision_shape().is_some_and(|placed| placed.shape.rolling_radius().is_some());
        let carries = move |body: BodyId| world.mechanism.joints.iter().any(|joint| joint.parent == body);
        let ends = joints
            .filter(|joint| joint.free_coordinates().any(|(_, coordinate)| !coordinate.linear))
            .map(|joint| joint.child);
        ends.filter(move |body| is_round(world.mechanism.body(*body)) && !carries(*body))
    }
}
