//! External forces on both engines: wrenches at points of bodies, and the actuator that exerts them.

use std::sync::Arc;

use bevy_math::DVec3;
use simpartner::sim::Simulation;
use simpartner_description::xml;
use simpartner_dynamics::{Engine, EngineKind, Motor, Settings, Wrench};
use simpartner_model::{BodyId, DeviceId, JointId, JointKind, Timestep};
use simpartner_wire::signal::{Action, ClientId, Command, Reservation};

use crate::scene::{self, G, Within, body, close, cube, joint};

fn build(world: &simpartner_description::World) -> Box<dyn Engine> {
    simpartner_dynamics::build(&world.mechanism, Timestep::MILLISECOND, &scene::settings()).unwrap()
}

/// A force at a point of a body, and a torque: m a = F, I alpha = r x F + T, for the steps in which they act.
#[test]
fn a_push_accelerates_by_its_force_and_its_torque() {
    let mut world = scene::world();
    world.mechanism.gravity = DVec3::ZERO;
    world.mechanism.bodies.push(body("cube", 2.0, cube(1.0), DVec3::new(1.0, 2.0, 3.0)));
    let mut engine = build(&world);
    let (force, point, torque) = (DVec3::new(0.0, 0.0, 4.0), DVec3::new(0.3, 0.0, 0.0), DVec3::new(0.0, 0.2, 0.0));
    for _ in 0..100 {
        engine.apply_wrench(BodyId::new(0), point, Wrench { force: 0.5 * force, torque });
        engine.apply_wrench(BodyId::new(0), point, Wrench { force: 0.5 * force, torque: DVec3::ZERO });
        engine.step();
        assert!(engine.step_events().is_empty(), "{:?}", engine.step_events());
    }
    let pushed = engine.body(BodyId::new(0));
    close("speed along the force", pushed.linear_velocity.z, 4.0 / 2.0 * 0.1, Within::both(1e-12));
    // x cross z is -y. The point turns away from the force by 1e-4 rad, which costs the square of that.
    let inertia = 2.0 / 6.0;
    let spin = (0.2 - 0.3 * 4.0) / inertia * 0.1;
    close("spin", pushed.angular_velocity.y, spin, Within::both(0.3 * 4.0 / inertia * 0.1 * 0.02 * 0.02));
    (0..100).for_each(|_| engine.step());
    let after = engine.body(BodyId::new(0));
    close("speed after it", after.linear_velocity.z, pushed.linear_velocity.z, Within::both(1e-12));
}

/// A force carries the weight of an arm's link: the arm's motor has no load, and its joint transmits the rest.
#[test]
fn a_push_carries_a_link() {
    let mut world = scene::world();
    world.mechanism.bodies.push(body("base", 1.0, cube(0.2), DVec3::ZERO));
    world.mechanism.bodies[0].fixed = true;
    world.mechanism.bodies.push(body("bar", 5.0, cube(0.2), DVec3::new(1.0, 0.0, 0.0)));
    world.mechanism.joints.push(joint("hinge", JointKind::Hinge, 0, 1, DVec3::ZERO));
    let mut engine = build(&world);
    engine.set_motor(JointId::new(0), 2, Motor::Position { target: 0.0, max_effort: 1000.0 });
    for _ in 0..1000 {
        // Half a metre from the hinge it takes twice the weight.
        let carry = Wrench { force: DVec3::new(0.0, 10.0 * G, 0.0), torque: DVec3::ZERO };
        engine.apply_wrench(BodyId::new(1), DVec3::new(-0.5, 0.0, 0.0), carry);
        engine.step();
        assert!(engine.step_events().is_empty(), "{:?}", engine.step_events());
    }
    let state = engine.joint(JointId::new(0));
    close("moment of the motor", state.effort[2], 0.0, Within::both(1e-8));
    if let Some(load) = state.load {
        close("force of the bearing", load.reaction.force.y, -5.0 * G, Within::both(1e-8));
    }
}

/// A thruster on a rocket of 2 kg acts along the rocket's own axis with 10 N from the start, until a zero command.
#[test]
fn a_force_actuator_pushes_until_it_is_told_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "rocket.xml",
        "<robot name='Rocket'><body name='Hull'><mass>2</mass><pose roll='1.5707963267948966'/><sphere radius='0.5'/></body>
        <actuator type='ForceActuator' name='Thruster' body='Hull' port='0' frame='body'><force y='10'/></actuator></robot>",
    );
    write("space.xml", "<world><gravity y='0'/><robot file='rocket.xml'/></world>");
    let world = xml::read_world(&folder.path().join("space.xml")).unwrap_or_else(|problems| panic!("{problems}"));
    let mut simulation = Simulation::new(Arc::new(world), Timestep::MILLISECOND, scene::settings()).unwrap();
    let mut record = simulation.observe();
    assert_eq!(record.values[simulation.layout().device(DeviceId::new(0))], [0.0, 10.0, 0.0, 0.0, 0.0, 0.0]);
    let mut run = |simulation: &mut Simulation, steps: usize| {
        (0..steps).for_each(|_| simulation.step(&mut record));
        record.values[simulation.layout().twist(BodyId::new(0))][2]
    };
    // The hull's y axis points along the world's z.
    close("speed by the thruster", run(&mut simulation, 100), 10.0 / 2.0 * 0.1, Within::both(1e-9));
    simulation.submit(Command {
        target: DeviceId::new(0).into(),
        at: None,
        client: ClientId(1),
        sequence: 1,
        text: "0,0,0,0,0,0".into(),
        action: Action::Drive(vec![0.0; 6]),
        memory: Reservation::default(),
    });
    close("speed without it", run(&mut simulation, 100), 10.0 / 2.0 * 0.1, Within::both(1e-9));
}

/// A belt whose speed a client sets: at first that of its material, then the commanded one, along the axes of the
/// belt's body. Rapier has none and reports that.
#[test]
fn a_conveyor_controller_moves_a_belt() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let belt = |speed: &str| {
        format!(
            "<robot name='Line'><body name='Belt'><static>true</static><mass>1</mass><pose y='-0.5'/><box x='20' y='1' z='20'/>
            <material friction='0.5' {speed}/></body>
            <actuator type='ConveyorController' name='Drive' body='Belt' port='0' watchdog='2' onTimeout='zero'/></robot>"
        )
    };
    let hall =
        "<world><robot file='belt.xml'/><object name='Box'><mass>2</mass><pose y='0.1'/><box x='0.2' y='0.2' z='0.2'/>
        <material friction='0.5'/></object></world>";
    let read = |speed: &str| {
        write("belt.xml", &belt(speed));
        write("hall.xml", hall);
        xml::read_world(&folder.path().join("hall.xml")).unwrap_or_else(|problems| panic!("{problems}"))
    };
    let rapier = Settings { engine: EngineKind::Rapier, ..Settings::default() };
    let refusal = Simulation::new(Arc::new(read("")), Timestep::MILLISECOND, rapier).err().unwrap().to_string();
    assert!(refusal.contains("'rapier' has no surfaces that move, so 'Drive' has nothing to drive"), "{refusal}");
    if scene::settings().engine == EngineKind::Rapier {
        return;
    }
    let world = read("surfaceVelocityX='0.4'");
    let (thing, _) = world.mechanism.bodies().find(|(_, body)| body.name == "Box").unwrap();
    let mut simulation = Simulation::new(Arc::new(world), Timestep::MILLISECOND, scene::settings()).unwrap();
    let mut record = simulation.observe();
    assert_eq!(record.values[simulation.layout().device(DeviceId::new(0))], [0.4, 0.0, 0.0]);
    let mut run = |simulation: &mut Simulation, steps: usize| {
        (0..steps).for_each(|_| simulation.step(&mut record));
        DVec3::from_slice(&record.values[simulation.layout().twist(thing)])
    };
    let near = |what: &str, found: DVec3, expected: DVec3| {
        assert!((found - expected).length() < 1e-9, "{what}: {found} for {expected}");
    };
    near("with its material's speed", run(&mut simulation, 500), DVec3::X * 0.4);
    simulation.submit(Command {
        target: DeviceId::new(0).into(),
        at: None,
        client: ClientId(1),
        sequence: 1,
        text: "-0.5,0,1".into(),
        action: Action::Drive(vec![-0.5, 0.0, 1.0]),
        memory: Reservation::default(),
    });
    near("as it is told", run(&mut simulation, 1000), DVec3::new(-0.5, 0.0, 1.0));
    near("after its watchdog's time", run(&mut simulation, 2000), DVec3::ZERO);
}
