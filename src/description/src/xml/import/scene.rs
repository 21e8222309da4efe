//! The content of a file: the ground, fixed bodies, and the robots, which are the parts connected by joints.

use std::collections::{HashMap, HashSet};

use bevy_math::DVec3;

use super::{
    super::{node::Node, reading::Reading, schema::GRAVITY},
    element::{digits, node, value},
    lights::Lights,
    model::{Apart, Device, Joint, Link, Mimic, Model, Motion, Mount, SCOPE_SEPARATOR, Surface, Vehicle, WorldFluids},
    robot::{self, y_up},
    text::{UniqueNames, clean},
};

/// Content of a file of another format, z up.
#[derive(Debug, Default)]
pub(super) struct Scene {
    pub(super) name: String,
    pub(super) offset: usize,
    /// m/s²; `None` if the file has none.
    pub(super) gravity: Option<DVec3>,
    pub(super) fluids: WorldFluids,
    pub(super) geography: Geography,
    pub(super) ground: Option<Ground>,
    pub(super) terrain: Option<Terrain>,
    pub(super) lights: Lights,
    /// Fixed links without joints.
    pub(super) fixtures: Vec<Link>,
    pub(super) robots: Vec<Model>,
    /// True if its parts belong to several models, by which they are named.
    pub(super) has_models: bool,
}

/// A plane that is solid below.
#[derive(Debug)]
pub(super) struct Ground {
    pub(super) normal: DVec3,
    /// From the origin along the normal, metres.
    pub(super) distance: f64,
    pub(super) surface: Surface,
    pub(super) offset: usize,
}

/// Heights over a rectangle around the origin.
#[derive(Debug)]
pub(super) struct Terrain {
    /// Extent along x and y, metres.
    pub(super) size: [f64; 2],
    /// Points along x and y.
    pub(super) points: [usize; 2],
    /// Heights in metres; rows along x, the first one at the smallest y.
    pub(super) heights: Vec<f64>,
    pub(super) surface: Surface,
    pub(super) offset: usize,
}

/// The place of a world on the earth, and its magnetic field.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Geography {
    /// Latitude and longitude in degrees, altitude in metres, heading of the x axis clockwise from north in radians.
    pub(super) origin: Option<[f64; 4]>,
    /// Magnetic flux density, T.
    pub(super) magnetic_field: Option<DVec3>,
}

impl Geography {
    fn elements(&self, offset: usize) -> impl Iterator<Item = Node> {
        let origin = self.origin.map(|numbers| {
            let names = ["latitude", "longitude", "altitude", "heading"];
            let attributes: Vec<_> = names.into_iter().zip(numbers.map(digits)).collect();
            node("geographicOrigin", offset, &attributes)
        });
        let field = self.magnetic_field.map(|field| node("magneticField", offset, &coordinates_of_field(y_up(field))));
        origin.into_iter().chain(field)
    }
}

/// The attributes of a field: its parts are far smaller than lengths are.
fn coordinates_of_field(field: DVec3) -> [(&'static str, String); 3] {
    let [x, y, z] = field.to_array().map(digits);
    [("x", x), ("y", y), ("z", z)]
}

impl Scene {
    /// A scene of one robot only.
    pub(super) fn of(robot: Model) -> Self {
        Self { name: robot.name.clone(), offset: robot.offset, robots: vec![robot], ..Self::default() }
    }

    /// Splits a model whose first link is the world, which carries fixed links, links on joints, and free ones.
    pub(super) fn split(reading: &Reading, mut model: Model, fixed_base: bool) -> Self {
        if fixed_base {
            model
                .joints
                .iter_mut()
                .filter(|joint| joint.motion == Motion::Free)
                .for_each(|joint| joint.motion = Motion::Fixed);
        }
        model.place();
        for joint in model.joints.iter().filter(|joint| joint.parent == WORLD && joint.motion == Motion::Fixed) {
            model.links[joint.child].is_fixed = true;
        }
        model.links[WORLD].is_fixed = true;
        model.unite_pairs(reading);
        let groups = groups(&model);
        let carried = Carried::of(&model);
        let mut scene = Self { name: model.name.clone(), offset: model.offset, ..Self::default() };
        let mut members: Vec<Vec<usize>> = Vec::new();
        let mut number: HashMap<usize, usize> = HashMap::new();
        for link in (0..model.links.len()).filter(|&link| link != WORLD && !model.links[link].is_merged) {
            let place = *number.entry(groups[link]).or_insert(members.len());
            if place == members.len() {
                members.push(Vec::new());
            }
            members[place].push(link);
        }
        for links in &members {
            let part = model.part(links, &carried);
            let moves = part.joints.iter().any(|joint| joint.motion != Motion::Fixed) || !part.loops.is_empty();
            match &part.links[..] {
                [link] if link.is_fixed && part.devices.is_empty() && !moves => scene.fixtures.push(link.clone()),
                _ => scene.robots.push(part),
            }
        }
        let is_kept = |apart: &Apart| groups[apart.links[0]] == groups[apart.links[1]];
        let lost = model.apart.iter().filter(|apart| !is_kept(apart) && apart.links.iter().all(|link| *link != WORLD));
        for apart in lost.filter(|apart| !apart.links.iter().all(|link| model.links[*link].is_fixed)) {
            let [one, other] = apart.links.map(|link| &model.links[link].name);
            let what = format!("'{one}' and '{other}' are told not to collide, and no joint connects them");
            reading.warn(apart.offset, what, "they collide here: only bodies of one robot can be kept apart".into());
        }
        let tops: HashSet<&str> = model.links[WORLD + 1..].iter().map(Link::top_scope).collect();
        scene.has_models = tops.len() > 1;
        if !scene.has_models {
            let name = scene.name.clone();
            let mut robots = scene.robots.iter_mut().filter(|robot| !robot.is_stand());
            if let (Some(only), None) = (robots.next(), robots.next()) {
                only.name = name;
            }
        }
        scene
    }

    /// The name of a body that is an object of the world.
    fn object_name(&self, link: &Link) -> String {
        match (self.has_models, &*link.name) {
            (true, _) => link.name_in_world(),
            (false, "") => "robot".into(),
            (false, name) => clean(name),
        }
    }

    /// The name of a robot: that of its model, or of its first link in a format without models or for a second part of
    /// a model.
    fn robot_name(&self, robot: &Model, taken: &HashSet<String>) -> String {
        let top = clean(robot.own_scope());
        match (self.has_models && !top.is_empty(), taken.contains(&top)) {
            (true, false) => top,
            (true, true) => format!("{top}{SCOPE_SEPARATOR}{}", clean(&robot.name)),
            (false, _) if robot.name.is_empty() => "robot".into(),
            (false, _) => clean(&robot.name),
        }
    }

    /// True if a single `<robot>` can contain everything.
    pub(super) fn is_one_robot(&self) -> bool {
        let is_alone = self.ground.is_none() && self.terrain.is_none() && self.fixtures.is_empty();
        let has_own_fields = self.own_gravity().is_some() || self.geography != Geography::default();
        let is_plain = !has_own_fields && self.fluids == WorldFluids::default();
        self.moving_robots().count() == 1 && is_alone && is_plain
    }

    /// The robots without the stands of the world's cameras.
    fn moving_robots(&self) -> impl Iterator<Item = &Model> {
        self.robots.iter().filter(|robot| !robot.is_stand())
    }

    /// Gravity that is not the earth's, in whichever way that is rounded.
    fn own_gravity(&self) -> Option<DVec3> {
        /// From 9.80 to 9.81, m/s², and a rounding error.
        const GRAVITY_TOLERANCE: f64 = 0.0101;
        self.gravity.filter(|gravity| y_up(*gravity).distance(GRAVITY) > GRAVITY_TOLERANCE)
    }

    /// The robot of it, without the elements of a world.
    pub(super) fn robot(&self, reading: &Reading, first_port: u16) -> Option<Node> {
        let robots: Vec<&Model> = self.moving_robots().collect();
        let &[robot] = &robots[..] else {
            let names: Vec<&str> = robots.iter().map(|robot| robot.name.as_str()).take(10).collect();
            let message = format!("the file holds {} robots, not one: {}", robots.len(), names.join(", "));
            let help = "import it as a world: without --robot, or as the world of a run";
            reading.problem_with_help(self.offset, message, help);
            return None;
        };
        if let Some(fixture) = self.fixtures.first() {
            let what = format!("{} fixed bodies beside the robot are left out", self.fixtures.len());
            reading.warn(fixture.offset, what, "import the file as a world to have them".into());
        }
        for camera in self.robots.iter().filter(|robot| robot.is_stand()).flat_map(|robot| &robot.devices) {
            let what = format!("the camera '{}', which stands in the world, is left out", camera.name);
            reading.warn(camera.offset, what, "import the file as a world to have it".into());
        }
        if let Some(gravity) = self.own_gravity() {
            let what = format!("the file's own gravity of {} m/s\u{b2} is left out", digits(gravity.length()));
            let help = "the world that the robot stands in has its own; import the file as a world to have this one";
            reading.warn(self.offset, what, help.into());
        }
        let ground = self.ground.as_ref().map(|ground| ground.offset);
        if let Some(offset) = ground.or(self.terrain.as_ref().map(|terrain| terrain.offset)) {
            let help = "the world that the robot stands in has its own; import the file as a world to have this one";
            reading.warn(offset, "the ground is left out".into(), help.into());
        }
        let mut port = first_port;
        let element = robot::element(reading, robot, &mut port);
        reading.is_sound().then_some(element)
    }

    /// All of it as a `<world>`.
    pub(super) fn world(&self, reading: &Reading, first_port: u16) -> Option<Node> {
        let name = Some(clean(&self.name)).filter(|name| !name.is_empty()).unwrap_or_else(|| "world".into());
        let mut world = node("world", self.offset, &[("name", name)]);
        if let Some(gravity) = self.gravity {
            let [x, y, z] = y_up(gravity).to_array().map(digits);
            world.children.push(node("gravity", self.offset, &[("x", x), ("y", y), ("z", z)]));
        }
        world.children.extend(self.geography.elements(self.offset));
        let WorldFluids { air, water, .. } = self.fluids;
        world.children.extend(air.map(|density| node("air", self.offset, &[("density", digits(density))])));
        world.children.extend(water.map(|[density, level]| {
            node("water", self.offset, &[("density", digits(density)), ("level", digits(level))])
        }));
        world.children.extend(self.lights.light_elements());
        world.children.extend(self.ground.as_ref().map(|ground| {
            let [a, b, c] = y_up(ground.normal).to_array();
            let mut attributes: Vec<(&str, String)> = [("a", a), ("b", b), ("c", c), ("d", ground.distance)]
                .map(|(name, value)| (name, digits(value)))
                .into();
            attributes.extend(robot::material(&ground.surface));
            node("surface", ground.offset, &attributes)
        }));
        world.children.extend(self.terrain.as_ref().map(heightfield));
        let (mut names, mut robot_names) = (UniqueNames::default(), HashSet::new());
        for fixture in &self.fixtures {
            let name = names.name_of_clean(self.object_name(fixture));
            world.children.push(robot::body(reading, fixture, "object", &name));
        }
        let mut next_port = first_port;
        for model in &self.robots {
            let mut element = match &model.links[..] {
                [single] if model.devices.is_empty() => {
                    let name = names.name_of_clean(self.object_name(single));
                    world.children.push(robot::body(reading, single, "object", &name));
                    continue;
                }
                _ => robot::element(reading, model, &mut next_port),
            };
            let name = names.name_of_clean(self.robot_name(model, &robot_names));
            element
                .attributes
                .iter_mut()
                .filter(|given| given.name == "name")
                .for_each(|given| given.value.clone_from(&name));
            robot_names.insert(name);
            world.children.push(element);
        }
        reading.is_sound().then_some(world)
    }
}

/// The place of the world among the links.
pub(super) const WORLD: usize = 0;

/// The connected groups of links, by the index of their first link: connected by joints, loops and couplings, except
/// through the world.
fn groups(model: &Model) -> Vec<usize> {
    /// Follows links to the first of their group, and lets those on the way point further ahead.
    fn first(group: &mut [usize], mut link: usize) -> usize {
        while group[link] != link {
            group[link] = group[group[link]];
            link = group[link];
        }
        link
    }
    let mut group: Vec<usize> = (0..model.links.len()).collect();
    let mut join = |one: usize, other: usize| {
        if one != WORLD && other != WORLD {
            let (one, other) = (first(&mut group, one), first(&mut group, other));
            group[one.max(other)] = one.min(other);
        }
    };
    for joint in model.joints.iter().chain(&model.loops) {
        join(joint.parent, joint.child);
    }
    for coupling in &model.couplings {
        join(model.joints[coupling.leader].child, model.joints[coupling.follower].child);
    }
    (0..group.len()).map(|link| first(&mut group, link)).collect()
}

/// Which joints and loops each link has an end of, in their order.
struct Carried {
    joints: Vec<Vec<usize>>,
    loops: Vec<Vec<usize>>,
}

impl Carried {
    fn of(model: &Model) -> Self {
        let by_link = |joints: &[Joint]| {
            let mut places = vec![Vec::new(); model.links.len()];
            for (place, joint) in joints.iter().enumerate() {
                places[joint.parent].push(place);
                if joint.child != joint.parent {
                    places[joint.child].push(place);
                }
            }
            places
        };
        Self { joints: by_link(&model.joints), loops: by_link(&model.loops) }
    }

    /// The places of joints or loops that have an end in these links, in their order.
    fn places(of: &[Vec<usize>], links: &[usize]) -> Vec<usize> {
        let mut places: Vec<usize> = links.iter().flat_map(|link| of[*link].iter().copied()).collect();
        places.sort_unstable();
        places.dedup();
        places
    }
}

impl Model {
    /// True if it only carries cameras of the world.
    fn is_stand(&self) -> bool {
        let [only] = &self.links[..] else { return false };
        let is_bare = only.mass.is_none() && only.solids.is_empty() && only.visuals.is_empty();
        only.is_fixed && is_bare && !self.devices.is_empty() && self.devices.iter().all(|one| one.kind.is_camera())
    }

    /// The robot of these links, with the world if a joint connects it.
    fn part(&self, links: &[usize], carried: &Carried) -> Self {
        // Fixed bodies need no joint.
        let stays =
            |joint: &&Joint| joint.motion != Motion::Free && !(joint.motion == Motion::Fixed && joint.parent == WORLD);
        let mut kept = Carried::places(&carried.joints, links);
        kept.retain(|&place| stays(&&self.joints[place]));
        let loops: Vec<&Joint> =
            Carried::places(&carried.loops, links).into_iter().map(|place| &self.loops[place]).collect();
        let on_world = kept.iter().map(|&place| &self.joints[place]).chain(loops.iter().copied());
        let needs_world = on_world.into_iter().any(|joint| joint.parent == WORLD || joint.child == WORLD);
        let mut order: Vec<usize> = needs_world.then_some(WORLD).into_iter().collect();
        order.extend(links);
        let fresh: HashMap<usize, usize> = order.iter().enumerate().map(|(fresh, old)| (*old, fresh)).collect();
        let joint_place: HashMap<usize, usize> = kept.iter().enumerate().map(|(fresh, old)| (*old, fresh)).collect();
        let moved = |joint: &Joint| Joint { parent: fresh[&joint.parent], child: fresh[&joint.child], ..joint.clone() };
        let coupling = |coupling: &Mimic| {
            let place = |old: usize| joint_place.get(&old).copied();
            Some(Mimic { leader: place(coupling.leader)?, follower: place(coupling.follower)?, ..coupling.clone() })
        };
        let device = |device: &Device| {
            let mount = match device.mount {
                Mount::Link { link, pose } => Mount::Link { link: *fresh.get(&link)?, pose },
                Mount::Joint(joint) => Mount::Joint(*joint_place.get(&joint)?),
            };
            Some(Device { mount, ..device.clone() })
        };
        let vehicle = |vehicle: &Vehicle| {
            vehicle.renumbered(|link| fresh.get(&link).copied(), |joint| joint_place.get(&joint).copied())
        };
        let apart = |apart: &Apart| {
            let [one, other] = apart.links.map(|link| fresh.get(&link).copied());
            Some(Apart { links: [one?, other?], ..*apart })
        };
        Self {
            name: self.links[links[0]].name.clone(),
            offset: self.links[links[0]].offset,
            links: order
                .iter()
                .map(|&link| Link {
                    solids: if link == WORLD { Vec::new() } else { self.links[link].solids.clone() },
                    ..self.links[link].clone()
                })
                .collect(),
            joints: kept.iter().map(|&place| moved(&self.joints[place])).collect(),
            loops: loops.into_iter().map(moved).collect(),
            couplings: self.couplings.iter().filter_map(coupling).collect(),
            devices: self.devices.iter().filter_map(device).collect(),
            vehicles: self.vehicles.iter().filter_map(vehicle).collect(),
            fluids: self.fluids,
            apart: self.apart.iter().filter_map(apart).collect(),
            root: 0,
            self_collision: self.self_collision,
        }
    }
}

/// Our lines of heights run along z, which is the file's -y, and follow each other along x.
fn heightfield(terrain: &Terrain) -> Node {
    let [width, depth] = terrain.size.map(|size| size.to_string());
    let [columns, rows] = terrain.points;
    let mut attributes =
        vec![("rows", columns.to_string()), ("columns", rows.to_string()), ("width", width), ("depth", depth)];
    attributes.extend(robot::material(&terrain.surface));
    let lines = (0..columns).map(|x| {
        let line = (0..rows).rev().map(|y| terrain.heights[y * columns + x].to_string());
        line.collect::<Vec<_>>().join(" ")
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    Node { attributes: node("", terrain.offset, &attributes).attributes, ..value("heightfield", terrain.offset, text) }
}
