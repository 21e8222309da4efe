//! Rings of links. The engine cuts a ring by its masses, and by names only between equal masses, never by order. In
//! free motion the cut has no effect.

use std::f64::consts::TAU;

use bevy_math::{DQuat, DVec3};
use simpartner_description::World;
use simpartner_dynamics::{Engine, Motor};
use simpartner_model::{Axis, Body, BodyId, FreeAxis, Joint, JointId, JointKind, Mechanism, Shape, random::Stream};

use crate::{
    build,
    scene::{self, body, joint},
    steps,
};

/// A ring of links that flies and turns: link k hangs on link k + 1 by joint k. Springs that are not at rest, dampers
/// and rotors set it moving.
struct Ring {
    links: Vec<Body>,
    joints: Vec<Joint>,
}

impl Ring {
    fn new(kinds: &[JointKind], planar: bool, seed: u64) -> Self {
        let (mut stream, count) = (Stream::from_number(seed), kinds.len());
        let mut next = || stream.between(-1.0, 1.0);
        let corners: Vec<DVec3> = (0..count)
            .map(|k| {
                let angle = TAU * (k as f64 + 0.25 * next()) / count as f64;
                DVec3::new(angle.cos(), angle.sin(), if planar { 0.0 } else { 0.3 * next() })
            })
            .collect();
        let spin = DVec3::new(0.0, 0.0, 1.0) + if planar { DVec3::ZERO } else { DVec3::new(next(), next(), next()) };
        let links = (0..count).map(|k| {
            let middle = 0.5 * (corners[k] + corners[(k + count - 1) % count]);
            let size = DVec3::new(0.3 + 0.1 * next(), 0.2, 0.4 + 0.1 * next());
            let mut link = body(&format!("link {k}"), 2.0, Some(Shape::Box { size }), middle);
            (link.angular_velocity, link.linear_velocity) = (spin, spin.cross(middle));
            link
        });
        let links: Vec<Body> = links.collect();
        let joints = kinds.iter().enumerate().map(|(k, &kind)| {
            let mut own = joint(&format!("joint {k}"), kind, k, (k + 1) % count, corners[k]);
            if !planar {
                own.frame = DQuat::from_scaled_axis(DVec3::new(next(), next(), next()));
            } else if kind == JointKind::Slider {
                own.frame = DQuat::from_rotation_arc(DVec3::Z, DVec3::new(next(), 1.0, 0.0).normalize());
            }
            for axis in own.axes.iter_mut().filter(|axis| kind != JointKind::Ball && axis.free().is_some()) {
                *axis = Axis::Free(FreeAxis {
                    damping: 0.2,
                    stiffness: 4.0,
                    spring_position: 0.4 * next(),
                    armature: 0.3,
                    ..FreeAxis::default()
                });
            }
            own
        });
        let joints = joints.collect();
        Self { links, joints }
    }

    /// The same ring with links of different masses, whose heaviest link is neither first nor last.
    fn of_different_masses(mut self) -> Self {
        for (link, mass) in self.links.iter_mut().zip([2.0, 2.3, 1.8, 2.1, 1.9, 2.2, 2.4, 1.7]) {
            link.mass = mass;
        }
        self
    }

    /// The world in which it is written in that order.
    fn world(&self, order: Order) -> World {
        let mut world = scene::world();
        let count = self.links.len();
        world.mechanism.bodies = (0..count).map(|place| self.links[(order.first + place) % count].clone()).collect();
        world.mechanism.joints = (0..count).map(|place| self.joints[(order.first + place) % count].clone()).collect();
        for joint in &mut world.mechanism.joints {
            for end in [&mut joint.parent, &mut joint.child] {
                *end = BodyId::new(order.place_of(end.index(), count));
            }
        }
        if order.backwards {
            world.mechanism.joints.reverse();
        }
        // The links of a robot do not meet.
        scene::as_robot(world)
    }

    /// The same, with names that follow the order.
    fn renamed_world(&self, order: Order) -> World {
        let mut world = self.world(order);
        let Mechanism { bodies, joints, .. } = &mut world.mechanism;
        bodies.iter_mut().enumerate().for_each(|(place, link)| link.name = format!("link {place}"));
        joints.iter_mut().enumerate().for_each(|(place, joint)| joint.name = format!("joint {place}"));
        world
    }

    /// For each link: position, m; linear velocity, m/s; and the force, N, and moment, N m, that its joint transmits.
    fn read(&self, engine: &dyn Engine, order: Order) -> Vec<[DVec3; 4]> {
        let count = self.links.len();
        let read = |k: usize| {
            let state = engine.body(BodyId::new(order.place_of(k, count)));
            let joint = engine.joint(order.joint(k, count));
            let load = joint.load.expect("the engine tells what joints transmit").reaction;
            [state.pose.translation, state.linear_velocity, load.force, load.torque]
        };
        (0..count).map(read).collect()
    }

    /// The largest difference after a run between two orders: in position and velocity, m and m/s, and in loads, N and
    /// N m.
    fn differ(&self, run: impl Fn(Order) -> Vec<[DVec3; 4]>) -> [f64; 2] {
        let reference = run(Order { first: 0, backwards: false });
        let mut worst = [0.0f64; 2];
        for first in 0..self.links.len() {
            for backwards in [false, true] {
                for (a, b) in run(Order { first, backwards }).iter().zip(&reference) {
                    let off = [0, 1, 2, 3].map(|k| (a[k] - b[k]).length());
                    worst = [worst[0].max(off[0]).max(off[1]), worst[1].max(off[2]).max(off[3])];
                }
            }
        }
        worst
    }
}

/// The order of a ring in the file: its first link, and whether its joints are reversed.
#[derive(Debug, Clone, Copy)]
struct Order {
    first: usize,
    backwards: bool,
}

impl Order {
    /// Index of link `k` of `count` in this order.
    fn place_of(self, k: usize, count: usize) -> usize {
        (k + count - self.first) % count
    }

    fn joint(self, k: usize, count: usize) -> JointId {
        let place = self.place_of(k, count);
        JointId::new(if self.backwards { count - 1 - place } else { place })
    }
}

const RINGS: [(&str, &[JointKind], bool); 10] = {
    use JointKind::{Ball, Constrained, Cylindrical, Hinge, Planar, Slider, Universal};
    [
        ("four bars", &[Hinge; 4], true),
        ("five bars", &[Hinge; 5], true),
        ("crank and slider", &[Hinge, Hinge, Hinge, Slider], true),
        ("hinge, universal, ball, slider", &[Hinge, Universal, Ball, Slider], false),
        ("eight hinges", &[Hinge; 8], false),
        ("constrained, hinge, universal, hinge", &[Constrained, Hinge, Universal, Hinge], false),
        ("planar and three hinges", &[Planar, Hinge, Hinge, Hinge], true),
        ("hinge and three cylindrical", &[Hinge, Cylindrical, Cylindrical, Cylindrical], false),
        ("cylindrical, universal, hinge, ball", &[Cylindrical, Universal, Hinge, Ball], false),
        ("planar, cylindrical, universal, hinge", &[Planar, Cylindrical, Universal, Hinge], false),
    ]
};

/// The cut of a ring changes free motion only by rounding over a thousand steps, and at longer steps by the fourth
/// power of the timestep. Names that follow the order move the cut.
#[test]
fn a_ring_moves_alike_wherever_it_is_cut() {
    for (name, kinds, planar) in RINGS {
        for seed in 1..=2 {
            let ring = Ring::new(kinds, planar, seed);
            for (h, bound) in [(0.0005, 1e-12), (0.001, 1e-12), (0.005, 1e-9)] {
                let [motion, loads] = ring.differ(|order| {
                    let mut engine = build(&ring.renamed_world(order), h);
                    for _ in 0..steps(h, 1.0) {
                        engine.step();
                        assert!(engine.step_events().is_empty(), "{:?}", engine.step_events());
                    }
                    ring.read(&*engine, order)
                });
                println!("{name} {seed}, h {h}: cut elsewhere {motion:.1e} off, loads {loads:.1e}");
                assert!(motion < bound && loads < 10.0 * bound, "{name} {seed}, h {h}: {motion} {loads}");
            }
        }
    }
}

/// With motors or with a fall on a plane, the order of a ring changes no bit, nor do names if masses differ.
#[test]
fn the_order_in_which_a_ring_is_written_changes_no_bit() {
    for ((name, kinds, planar), [falls, renamed]) in RINGS
        .into_iter()
        .flat_map(|ring| [[false, false], [false, true], [true, false], [true, true]].map(|case| (ring, case)))
    {
        let ring = Ring::new(kinds, planar, 1);
        let ring = if renamed { ring.of_different_masses() } else { ring };
        let h = 0.002;
        let [motion, loads] = ring.differ(|order| {
            let mut world = if renamed { ring.renamed_world(order) } else { ring.world(order) };
            if falls {
                world = scene::with_plane(world, 0.7);
                move_up(&mut world, 1.5);
            }
            let mut engine = build(&world, h);
            let motors = [Motor::Velocity { target: 1.5, max_effort: 20.0 }, Motor::Effort(3.0)];
            for (k, motor) in [0, 2].into_iter().zip(motors) {
                if let Some(axis) = ring.joints[k].axes.iter().position(|axis| axis.free().is_some()) {
                    engine.set_motor(order.joint(k, kinds.len()), axis, motor);
                }
            }
            (0..steps(h, 0.8)).for_each(|_| engine.step());
            ring.read(&*engine, order)
        });
        assert_eq!([motion, loads], [0.0; 2], "{name}, falls {falls}, renamed {renamed}");
    }
}

fn move_up(world: &mut World, by: f64) {
    world.mechanism.bodies.iter_mut().for_each(|body| body.pose.translation.y += by);
    world.mechanism.joints.iter_mut().for_each(|joint| joint.anchor.y += by);
}
