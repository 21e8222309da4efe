//! Events of robots that tip over or leave the ground: one at each crossing.

use std::sync::Arc;

use bevy_math::DVec3;
use simpartner::sim::Simulation;
use simpartner_description::World;
use simpartner_model::{BodyId, Timestep};
use simpartner_wire::signal::{
    Action, BodyPlacement, ClientId, Command, Event, EventKind, Reservation, StepRecord, Target,
};

use crate::scene::{self, as_robot, ball, body, cube, with_plane};

fn simulation(world: World) -> Simulation {
    Simulation::new(Arc::new(as_robot(world)), Timestep::MILLISECOND, scene::settings()).unwrap()
}

/// The events of a kind within a number of steps.
fn events(simulation: &mut Simulation, kind: EventKind, steps: u64) -> Vec<Event> {
    let mut record = StepRecord::new(simulation.layout());
    (0..steps).for_each(|_| simulation.step(&mut record));
    record.events.into_iter().filter(|event| event.kind == kind).collect()
}

/// A cube that falls freely and turns at 2 rad/s about a level axis: it leans by 60 degrees after pi/6 s, and again a
/// whole turn later.
#[test]
fn a_robot_that_turns_over_tips_over_once_a_turn() {
    let mut world = scene::world();
    let trunk = body("trunk", 1.0, cube(0.2), DVec3::new(0.0, 1.0, 0.0));
    world.mechanism.bodies.push(simpartner_model::Body { angular_velocity: DVec3::new(0.0, 0.0, 2.0), ..trunk });
    let found = events(&mut simulation(world), EventKind::TipOver, 4000);
    let third = std::f64::consts::FRAC_PI_3;
    let at = [third / 2.0, third / 2.0 + std::f64::consts::PI].map(|time| (time * 1e3).ceil() as u64);
    assert_eq!(found.iter().map(|event| event.step.0).collect::<Vec<_>>(), at);
    for event in &found {
        let tilt = event.value.unwrap();
        assert!((third..third + 2.0 * 0.001).contains(&tilt), "{tilt}");
        assert_eq!(event.subject, "robot");
    }
}

/// Rolling bodies are not watched, because they turn over continuously.
#[test]
fn a_ball_that_rolls_does_not_tip_over() {
    let mut world = with_plane(scene::world(), 1.0);
    let rolling = body("ball", 1.0, ball(0.1), DVec3::new(0.0, 0.1, 0.0));
    let (linear_velocity, angular_velocity) = (DVec3::X, DVec3::new(0.0, 0.0, -10.0));
    world.mechanism.bodies.push(simpartner_model::Body { linear_velocity, angular_velocity, ..rolling });
    assert_eq!(events(&mut simulation(world), EventKind::TipOver, 1000), []);
}

/// A cube at rest that is thrown up at 2 m/s flies for 0.41 s; thrown up at 0.4 m/s it is back after 0.08 s, which is
/// no flight.
#[test]
fn a_robot_that_is_thrown_up_has_left_the_ground_a_tenth_of_a_second_later() {
    for (speed, flights) in [(2.0, 1), (0.4, 0)] {
        let mut world = with_plane(scene::world(), 1.0);
        world.mechanism.bodies.push(body("trunk", 1.0, cube(0.2), DVec3::new(0.0, 0.1, 0.0)));
        let mut simulation = simulation(world);
        assert_eq!(events(&mut simulation, EventKind::LeftGround, 50), [], "it rests");
        let thrown = BodyPlacement {
            position: None,
            orientation: None,
            linear_velocity: Some([0.0, speed, 0.0]),
            angular_velocity: None,
        };
        simulation.submit(Command {
            target: Target::Body(BodyId::new(0)),
            at: None,
            client: ClientId(1),
            sequence: 1,
            text: "up".into(),
            action: Action::Place(thrown),
            memory: Reservation::default(),
        });
        let found = events(&mut simulation, EventKind::LeftGround, 700);
        assert_eq!(found.len(), flights, "{found:?}");
        for event in &found {
            assert_eq!((event.step.0, event.value), (150, Some(0.05)), "the last contact was in step 50");
        }
    }
}

/// A run that starts from a snapshot with the robot on its side does not report again that it tipped over.
#[test]
fn what_was_tipped_over_in_a_snapshot_is_not_told_again() {
    let mut world = scene::world();
    let trunk = body("trunk", 1.0, cube(0.2), DVec3::new(0.0, 1.0, 0.0));
    world.mechanism.bodies.push(simpartner_model::Body { angular_velocity: DVec3::new(0.0, 0.0, 2.0), ..trunk });
    let mut first = simulation(world.clone());
    assert_eq!(events(&mut first, EventKind::TipOver, 600).len(), 1);
    let mut second = simulation(world);
    second.restore(&first.snapshot()).unwrap();
    assert_eq!(events(&mut second, EventKind::TipOver, 100), []);
}
