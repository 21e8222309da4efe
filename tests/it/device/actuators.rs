//! Motors: given efforts, stiff positions, the torque-speed line, and the watchdog. The wheel has 1 kg m².

use std::sync::Arc;

use bevy_math::DVec3;
use simpartner::sim::Simulation;
use simpartner_description::{
    Actuator, DeviceSpec, Frame, Law, MotorLimits, OnTimeout, Push, ServoGains, Watchdog, World, xml,
};
use simpartner_dynamics::{EngineKind, Settings};
use simpartner_model::{Axis, JointId, JointKind, Pose, Timestep};
use simpartner_wire::signal::EventKind;

use super::{H, Run, device, faults::wheel, is_exact, near};

fn with(mut world: World, motor: Option<MotorLimits>, watchdog: Option<Watchdog>) -> World {
    let DeviceSpec::Actuator(actuator) = &mut world.devices[0].spec else { panic!("the motor comes first") };
    (actuator.motor, actuator.watchdog) = (motor, watchdog);
    world
}

fn state(run: &Run) -> (f64, f64) {
    let read = run.read("encoder");
    (read[2], read[5])
}

/// Torque over inertia, in both directions, at any speed.
#[test]
fn an_effort_controller_exerts_what_it_is_told() {
    let mut run = Run::of(wheel(Law::Effort));
    run.steps(50);
    assert_eq!(state(&run), (0.0, 0.0), "it holds until it is told");
    let mut expected = 0.0;
    for (effort, steps) in [(3.0, 200), (-7.0, 300), (0.0, 100), (1e-3, 100), (-50.0, 1), (50.0, 1)] {
        run.drive("motor", &[0.0, 0.0, effort]);
        run.steps(steps);
        expected += effort * steps as f64 * H;
        near(&[state(&run).1], &[expected], 1e-9);
        let joint = &run.record.values[run.simulation.layout().joint(simpartner_model::JointId::new(0))];
        near(&[joint[11]], &[effort], 1e-6);
    }
    assert_eq!(run.read("motor"), [0.0, 0.0, 50.0]);
}

/// Like a spring of 1e5 N m/rad with a damper of 1e3 N m s/rad, which on 1 kg m² dies out within 10 ms; a short frame
/// keeps the forces.
#[test]
fn a_position_controller_goes_there_as_fast_as_its_force_allows() {
    let mut run = Run::of(wheel(Law::Position));
    run.drive("motor", &[0.0, 0.0, 4.0, 0.0, 0.0, 0.5]);
    run.steps(100);
    // On its limit all the way: half of 4 rad/s² for 0.1 s.
    near(&[state(&run).0, state(&run).1], &[0.02, 0.4], 1e-3);
    run.drive("motor", &[0.0, 0.0, 1e6, 0.0, 0.0, -0.3]);
    run.steps(500);
    run.drive("motor", &[0.0, 0.0, 0.25]);
    assert_eq!(run.steps(500).read("motor"), [0.0, 0.0, 1e6, 0.0, 0.0, 0.25]);
    near(&[state(&run).0, state(&run).1], &[0.25, 0.0], 1e-6);
}

fn with_gains(law: Law, stiffness: f64, damping: f64, integral: f64) -> World {
    let mut world = wheel(law);
    let DeviceSpec::Actuator(actuator) = &mut world.devices[0].spec else { panic!("the motor comes first") };
    actuator.gains = Some(ServoGains { stiffness, damping, integral });
    world
}

/// A torque about the axle, N m.
const LOAD: f64 = 3.0;

/// The same wheel, turned by a load.
fn under_load(mut world: World) -> World {
    let push = Push { frame: Frame::World, force: DVec3::ZERO, torque: DVec3::Z * LOAD };
    world.devices.push(device("push", Actuator::on(world.mechanism.joints[0].child, Pose::IDENTITY, push)));
    world
}

/// The controller with gains of its own is the spring and damper of these gains, evaluated at the end of each step, on
/// an inertia of 1 kg m².
#[test]
fn a_position_controller_has_the_gains_of_its_file() {
    // The formula is that of the engine `dynamics`.
    if !is_exact() {
        return;
    }
    for (stiffness, damping) in [(100.0, 20.0), (100.0, 2.0), (25.0, 0.0), (1e6, 0.0)] {
        let mut run = Run::of(with_gains(Law::Position, stiffness, damping, 0.0));
        run.drive("motor", &[1e9, 1e9, 1e9, 0.0, 0.0, 0.2]);
        let (mut angle, mut rate) = (0.0, 0.0);
        for _ in 0..300 {
            run.steps(1);
            // v' = v + h (K (target - q - h v') - D v')
            rate = (rate + H * stiffness * (0.2 - angle)) / (1.0 + H * damping + H * H * stiffness);
            angle += H * rate;
            // The engine's angle has the mean of the rates before and after the step, so it lags by h v' / 2.
            near(&[state(&run).0, state(&run).1], &[angle - H * rate / 2.0, rate], 1e-9 * stiffness.sqrt());
        }
    }
}

/// A weak spring gives way to a load by load over stiffness; the integral takes this error away.
#[test]
fn an_integral_takes_the_error_of_a_load_away() {
    let pushed = |integral: f64| {
        let mut run = Run::of(under_load(with_gains(Law::Position, 50.0, 15.0, integral)));
        run.drive("motor", &[100.0, 100.0, 100.0, 0.0, 0.0, 0.2]);
        run.steps(8000);
        state(&run).0
    };
    near(&[pushed(0.0), pushed(60.0)], &[0.2 + LOAD / 50.0, 0.2], 1e-6);
}

/// A velocity controller reaches its target with the time constant inertia / damping. A load makes it faster by load
/// over damping, unless it has an integral. While the effort is at its limit the integral does not grow, so the rate
/// exceeds its target by less than a twentieth. An integral of the whole ramp would let it run to almost the double.
#[test]
fn a_joint_controller_has_the_gains_of_its_file() {
    let mut run = Run::of(with_gains(Law::Velocity, 0.0, 4.0, 0.0));
    run.drive("motor", &[1e9, 1e9, 1e9, 0.0, 0.0, 2.0]);
    let mut rate = 0.0;
    for _ in 0..500 {
        run.steps(1);
        rate = (rate + H * 4.0 * 2.0) / (1.0 + H * 4.0);
        near(&[state(&run).1], &[rate], 1e-9);
    }
    let pushed = |integral: f64| {
        let mut run = Run::of(under_load(with_gains(Law::Velocity, 0.0, 4.0, integral)));
        run.drive("motor", &[100.0, 100.0, 100.0, 0.0, 0.0, 2.0]);
        run.steps(10_000);
        state(&run).1
    };
    near(&[pushed(0.0), pushed(8.0)], &[2.0 + LOAD / 4.0, 2.0], 1e-6);
    let mut run = Run::of(with_gains(Law::Velocity, 0.0, 4.0, 8.0));
    run.drive("motor", &[1.0, 1.0, 1.0, 0.0, 0.0, 2.0]);
    let largest = (0..6000).map(|_| state(run.steps(1)).1).fold(0.0, f64::max);
    assert!((2.0..2.1).contains(&largest), "{largest} rad/s");
}

/// A motor without load approaches its no-load speed w0 as 1 - exp(-t / T) with T = I w0 / (efficiency stall). The law
/// is evaluated at the rate before the step: w' = w + h s (1 - w / w0) / I. The simulation follows the closed form of
/// this to rounding; it deviates from the exponential by a fraction of at most h / 2T.
#[test]
fn a_motor_follows_its_line_of_torque_over_speed() {
    let limits = MotorLimits { stall_effort: 10.0, no_load_rate: 4.0, efficiency: 0.8 };
    for law in [Law::Velocity, Law::Effort] {
        let mut run = Run::of(with(wheel(law), Some(limits), None));
        match law {
            Law::Effort => run.drive("motor", &[0.0, 0.0, 1e6]),
            _ => run.drive("motor", &[0.0, 0.0, 1e6, 0.0, 0.0, 100.0]),
        }
        let time_constant = 1.0 * 4.0 / 8.0;
        for step in [1, 10, 100, 500] {
            let made = run.record.step.0;
            run.steps(step - made);
            let discrete = 4.0 * (1.0 - (1.0 - H / time_constant).powi(step as i32));
            let exact = 4.0 * (1.0 - (-(step as f64) * H / time_constant).exp());
            let rate = state(&run).1;
            println!("{law:?} step {step}: {rate} rad/s, discrete {discrete}, exponential {exact}");
            near(&[rate], &[discrete], if is_exact() { 1e-9 } else { 1e-3 });
            near(&[rate], &[exact], 4.0 * H / time_constant);
        }
        // Against its motion it exerts stall effort over efficiency.
        let before = state(&run).1;
        match law {
            Law::Effort => run.drive("motor", &[0.0, 0.0, -1e6]),
            _ => run.drive("motor", &[0.0, 0.0, 1e6, 0.0, 0.0, -100.0]),
        }
        run.steps(1);
        near(&[state(&run).1], &[before - 12.5 * H], 1e-9);
    }
}

#[test]
fn a_rotor_behind_a_gear_is_heavier_by_the_square_of_the_ratio() {
    let mut world = wheel(Law::Effort);
    let Axis::Free(axis) = &mut world.mechanism.joints[0].axes[2] else { panic!("it is a hinge") };
    axis.armature = 20.0 * 20.0 * 0.01;
    if is_exact() {
        let mut run = Run::of(world);
        run.drive("motor", &[0.0, 0.0, 5.0]);
        run.steps(100);
        near(&[state(&run).1], &[5.0 / (1.0 + 4.0) * 0.1], 1e-9);
    }
}

#[test]
fn a_watchdog_holds_lets_go_or_brakes() {
    for (action, name) in [(OnTimeout::Hold, "hold"), (OnTimeout::Zero, "zero"), (OnTimeout::Brake, "brake")] {
        let watchdog = Watchdog { timeout_s: 0.1, action };
        let mut run = Run::of(with(wheel(Law::Velocity), None, Some(watchdog)));
        run.steps(500);
        assert!(run.told(EventKind::Watchdog).is_empty(), "before the first command there is nothing to miss");
        run.drive("motor", &[0.0, 0.0, 1e4, 0.0, 0.0, 2.0]);
        run.steps(60);
        run.drive("motor", &[0.0, 0.0, 1e4, 0.0, 0.0, 2.0]);
        run.steps(100);
        assert!(run.told(EventKind::Watchdog).is_empty(), "the second command counts anew");
        let (place, rate) = state(&run);
        near(&[rate], &[2.0], 1e-6);
        run.steps(1);
        assert_eq!(
            run.told(EventKind::Watchdog),
            [(660, "robot/motor", &*format!("no command for 0.1 s: {name}"), Some(0.1))]
        );
        run.steps(999);
        let (end, rate) = state(&run);
        match action {
            OnTimeout::Hold => near(&[end, rate], &[place, 0.0], 1e-6),
            OnTimeout::Zero => near(&[end, rate], &[place + 2.0, 2.0], 1e-6),
            OnTimeout::Brake => {
                near(&[rate], &[0.0], 1e-6);
                assert!(end > place && end < place + 0.02, "it comes to rest soon after {place}, at {end}");
            }
        }
        run.drive("motor", &[0.0, 0.0, 1e4, 0.0, 0.0, -1.0]);
        run.steps(50);
        near(&[state(&run).1], &[-1.0], 1e-6);
        assert_eq!(run.told(EventKind::Watchdog).len(), 1);
    }
}

/// The built-in assembly of a hinge with backlash. The motor turns on at 1 rad/s and moves a dial. When it reverses,
/// the dial, which is not braked, continues until the shaft has moved back by the whole backlash of 0.02 rad: with a
/// relative rate of 2 rad/s, for 10 ms. Then it is moved back. The angle between shaft and dial never exceeds half the
/// backlash. (With rapier the dial rattles within the backlash.)
#[test]
fn a_gear_with_backlash_lets_go_for_as_long_as_its_play_lasts() {
    if !is_exact() {
        return;
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/robots/dial.xml");
    let text = r#"<robot name="Dial">
      <include file="gears.xml"/>
      <body name="Hull"><mass>1e6</mass><box x="10" y="10" z="1"/></body>
      <body name="Dial"><mass>1</mass><pose z="2"/><cylinder radius="0.2" length="0.02" axis="z"/></body>
      <place assembly="BacklashHinge" on="Hull"><pose z="1"/><parameter name="driven" value="Dial"/></place>
    </robot>"#;
    let Ok(xml::Document::Robot(mut world)) = xml::read_text(path, text) else { panic!("the robot reads") };
    world.mechanism.gravity = DVec3::ZERO;
    let (motor, play) = (JointId::new(0), JointId::new(1));
    let mut run = Run::of(world);
    let joint = |run: &Run, id| {
        let values = &run.record.values[run.simulation.layout().joint(id)];
        (values[5], values[8])
    };
    run.drive("MotorController", &[0.0, 0.0, 1000.0, 0.0, 0.0, 1.0]);
    run.steps(500);
    let dial = |run: &Run| joint(run, motor).1 + joint(run, play).1;
    near(&[dial(&run), joint(&run, play).0], &[1.0, -0.01], 1e-3);
    run.drive("MotorController", &[0.0, 0.0, 1000.0, 0.0, 0.0, -1.0]);
    let mut turned = 0;
    for step in 1..=200 {
        run.steps(1);
        assert!(joint(&run, play).0.abs() < 0.01 + 1e-6, "step {step}: {:?}", joint(&run, play));
        if turned == 0 && dial(&run) < 0.0 {
            turned = step;
        }
    }
    assert!((10..=13).contains(&turned), "taken back after {turned} ms");
    near(&[dial(&run), joint(&run, play).0], &[-1.0, 0.01], 1e-3);
}

/// Sliding coordinates are in metres and newtons, turning ones in radians and newton metres, for joints of both kinds;
/// the controller moves each coordinate to its own target.
#[test]
fn a_device_on_a_joint_has_the_unit_of_each_coordinate() {
    let targets = [0.1, -0.2, 0.3];
    for (kind, slides) in [
        ("hinge", [false; 3]),
        ("slider", [false, false, true]),
        ("cylindrical", [false, true, false]),
        ("planar", [true, true, false]),
    ] {
        let text = format!(
            r#"<robot name="R"><body name="Base"><mass>1000</mass><box x="1" y="1" z="1"/></body>
<body name="Tip"><mass>1</mass><box x="0.5" y="0.5" z="0.5"/></body>
<joint type="{kind}" name="J"><parent>Base</parent><child>Tip</child></joint>
<sensor type="JointEncoder" name="Encoder" joint="J" port="0"/>
<actuator type="AngleController" name="Controller" joint="J" port="0" p="8"/></robot>"#
        );
        let Ok(xml::Document::Robot(mut world)) = xml::read_text("robot.xml", &text) else { panic!("{kind} reads") };
        world.mechanism.gravity = DVec3::ZERO;
        let axes = world.mechanism.joints[0].axes;
        let mut run = Run::of(world);
        let units = |name: &str| -> Vec<(String, &str)> {
            let info = &run.simulation.layout().devices()[run.id(name).index()];
            info.fields.iter().map(|field| (field.name.clone(), field.unit)).collect()
        };
        let (encoder, controller) = (units("Encoder"), units("Controller"));
        for (index, slides) in slides.into_iter().enumerate() {
            let unit = |turning, sliding| if slides { sliding } else { turning };
            let number = index + 1;
            assert_eq!(encoder[index], (format!("position_{number}"), unit("rad", "m")), "{kind}");
            assert_eq!(encoder[index + 3], (format!("rate_{number}"), unit("rad/s", "m/s")), "{kind}");
            assert_eq!(controller[index], (format!("max_force_{number}"), unit("N m", "N")), "{kind}");
            let target = (format!("{}_{number}", unit("angle", "position")), unit("rad", "m"));
            assert_eq!(controller[index + 3], target, "{kind}");
        }
        run.drive("Controller", &[targets[0], targets[1], targets[2], 8.0, 0.0, 0.0]);
        run.steps(3000);
        let reached = targets.into_iter().zip(axes).map(|(target, axis)| axis.free().map_or(0.0, |_| target));
        near(&run.read("Encoder")[..3], &reached.collect::<Vec<_>>(), 1e-6);
    }
}

/// A ball joint accepts a rotation vector, and reads the same vector. Rapier has no motors there and reports that.
#[test]
fn a_position_controller_turns_a_ball_joint() {
    let mut world = wheel(Law::Position);
    let joint = &mut world.mechanism.joints[0];
    (joint.kind, joint.axes) = (JointKind::Ball, JointKind::Ball.free_axes());
    let rapier = Settings { engine: EngineKind::Rapier, ..Settings::default() };
    let refusal = Simulation::new(Arc::new(world.clone()), Timestep::MILLISECOND, rapier).err().unwrap().to_string();
    assert!(refusal.contains("'rapier' has no motors of ball joints, so 'motor' has nothing to drive"), "{refusal}");
    if !is_exact() {
        return;
    }
    let mut run = Run::of(world);
    let target = [0.5, -1.0, 0.7];
    run.drive("motor", &[100.0, 100.0, 100.0, target[0], target[1], target[2]]);
    run.steps(2000);
    near(&run.read("encoder")[..3], &target, 1e-6);
}
