//! WorkPartner 1 on a plane (thesis 4.2.1): standing, driving straight and in circles.

use super::{Bench, Case, Findings, G, Row, Trouble};
use crate::verify::{bench::Drive, math::fit_circle};
use bevy_math::DVec3;
use simpartner_description::World;
use simpartner_dynamics::EngineKind;
use simpartner_model::{CrossFriction, FrictionDirection};
use simpartner_plot::{Line, Plot};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "standing",
        physics: "WorkPartner 1 of 18 kg stands, its motors holding: what its wheels carry in every step from 1 s to 5 s.",
        source: "Statics: 18 kg by g in all, a quarter of it each by symmetry (thesis 4.3.1, figure 14: 44 N ideal)",
        tolerance: "1e-6 of the weight, for all and for each: the robot and its motors are mirrored both ways, so nothing but \
                    rounding and what is left of the settling can share the load unevenly.",
        quick: true,
        run: standing,
    },
    Case {
        name: "straight",
        physics: "All wheels at 1 rad/s: the robot drives ahead at their rim speed.",
        source: "v = w r (thesis 4.3.1: 0.235 m/s without skidding)",
        tolerance: "The wheels' motors give way by 1e-4 rad/s for each N m; a robot that no longer speeds up needs less than 1 N m: \
                    1e-4 of the speed.",
        quick: true,
        run: straight,
    },
    Case {
        name: "inner-stress",
        physics: "Shipped robots stand on a plane without commands, and WorkPartner 1 drives straight ahead: the largest horizontal \
                  force on any of their bodies.",
        source: "Statics: on a level plane nothing asks for a horizontal force. Release 14f21ff had 0.07 of the weight at rest and 0.11 \
                 while driving",
        tolerance: "1e-5 of the weight: 2 mN of 177 N",
        quick: true,
        run: inner_stress,
    },
    Case {
        name: "circle",
        physics: "Turner at 0.2 rad, the inner wheels slower than the outer ones as their radii are: a circle without slip, for 100 s.",
        source: "Axles' middles on 0.6 cot(0.1) = 5.980 m (thesis 4.2.1, equation 16). The thesis measures the mean of four wheels, which \
                 is nearer by cos(0.1): 5.950 m, and so its 0.5 % are geometry",
        tolerance: "0.5 %, the thesis's own; and off the circle by the millimetre that the thesis saw",
        quick: false,
        run: circle,
    },
    Case {
        name: "circle-gamepad",
        physics: "Turner at 0.2972 rad, all wheels at the same rate, as from a gamepad: they must slip, and the circle is wider.",
        source: "Balance of friction under what the wheels carry: of all motions the one in which it dissipates least. \
                 Without slip it would be 4.01 m (thesis 4.2.1, equation 16); the thesis's simulator \
                 drove 4.30 m with friction 0.5 along and 1.0 across",
        tolerance: "0.5 %: the balance leaves out v²/(r mu g) = 0.3 % of the friction, which bends the path",
        quick: false,
        run: circle_gamepad,
    },
];

/// WorkPartner 1 on the ground of worlds/flat.xml.
pub(super) const FLAT_WORLD: &str = "<world name=\"flat\">
  <surface a=\"0\" b=\"1\" c=\"0\" d=\"0\" friction=\"1\"/>
  <gravity y=\"-9.81\"/>
  <robot file=\"workpartner1.xml\" name=\"WorkPartner\"/>
</world>";

/// Names of the wheels' bodies.
const WHEEL_NAMES: [&str; 4] = ["Wheel1", "Wheel2", "Wheel3", "Wheel4"];
/// Mass of the robot, kg.
const ROBOT_MASS: f64 = 18.0;
/// Radius of the wheels, m.
const WHEEL_RADIUS: f64 = 0.235;

/// Mean position of the wheels, as the thesis defines it, m: x, and the distance to the left.
fn wheels_mean(drive: &Drive) -> (f64, f64) {
    let sum = drive.bodies(WHEEL_NAMES).map(|wheel| drive.position(wheel)).into_iter().sum::<DVec3>() / 4.0;
    (sum.x, -sum.z)
}

fn standing(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    findings.world("The world", FLAT_WORLD);
    let (weight, each) = (ROBOT_MASS * G, ROBOT_MASS * G / 4.0);
    let rows = [
        Row::new("sum of the wheels' forces, the step that is farthest off", "N", weight, 1e-6 * weight).thesis(176.0),
        Row::new("force of a wheel, the one that is farthest off", "N", each, 1e-6 * weight)
            .thesis(44.0)
            .if_missed_by(EngineKind::Rapier, "its contacts are springs that still give"),
    ];
    findings.measure(rows, |findings| {
        let mut drive = bench.drive(bench.world(FLAT_WORLD)?)?;
        let wheels = drive.bodies(WHEEL_NAMES);
        let farther = |a: f64, b: f64, from: f64| if (b - from).abs() > (a - from).abs() { b } else { a };
        let (mut sum, mut one, mut path) = (weight, each, Vec::new());
        drive.watch(5000, |drive| {
            let forces = wheels.map(|wheel| drive.force(wheel).y);
            path.push((drive.time(), forces.iter().sum::<f64>()));
            if drive.time() > 1.0 {
                sum = farther(sum, forces.iter().sum(), weight);
                one = forces.into_iter().fold(one, |one, force| farther(one, force, each));
            }
        })?;
        path.truncate(1000);
        let plot = Plot::new("Sum of the wheels' forces while it settles", "time in s", "force in N");
        let plot = plot.line("weight", Line::Reference, [(0.0, weight), (1.0, weight)]);
        findings.plot(plot.line("ours", Line::Measured(0), path));
        Ok([sum, one])
    })
}

fn inner_stress(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    const STANDING_ROBOTS: [(&str, &str); 4] = [
        ("WorkPartner 1", "flat.xml"),
        ("WorkPartner 1 with navigation sensors", "navigation.xml"),
        ("WorkPartner 2", "scanner.xml"),
        ("the cart", "square.xml"),
    ];
    let row = |name: String| {
        Row::new(name, "1", 0.0, 1e-5).if_missed_by(EngineKind::Rapier, "its solver leaves inner stress")
    };
    for (name, world) in STANDING_ROBOTS {
        findings.measure([row(format!("horizontal force over weight, {name} at rest"))], |_| {
            let mut drive = bench.drive(bench.shipped(world)?)?;
            drive.watch(1000, |_| {})?;
            let mut worst = 0.0f64;
            drive.watch(1000, |drive| worst = worst.max(largest_horizontal_force(drive)))?;
            Ok([worst])
        })?;
    }
    findings.measure([row("horizontal force over weight, WorkPartner 1 driving straight".into())], |_| {
        let mut drive = bench.drive(bench.shipped("flat.xml")?)?;
        drive.play("straight.xml")?;
        drive.watch(10_000, |_| {})?;
        let mut worst = 0.0f64;
        drive.watch(5000, |drive| worst = worst.max(largest_horizontal_force(drive)))?;
        Ok([worst])
    })
}

/// Largest horizontal contact force on a body of the robots, as a fraction of their weight.
fn largest_horizontal_force(drive: &Drive) -> f64 {
    let bodies = || drive.simulation.world().mechanism.bodies().filter(|(_, body)| body.robot.is_some());
    let weight: f64 = bodies().map(|(_, body)| body.mass * G).sum();
    let each = bodies().map(|(id, _)| drive.force(id)).map(|force| force.x.hypot(force.z));
    each.fold(0.0, f64::max) / weight
}

fn straight(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    let row = Row::new("mean speed from 3 s to 8 s", "m/s", WHEEL_RADIUS, 1e-4 * WHEEL_RADIUS)
        .thesis(0.235)
        .note("thesis: by its own formula");
    let row = row.if_missed_by(EngineKind::Rapier, "its contacts hold by springs, and its wheels creep");
    findings.measure([row], |findings| {
        let mut drive = bench.drive(bench.world(FLAT_WORLD)?)?;
        drive.play("straight.xml")?;
        let mut path = vec![(0.0, 0.0)];
        drive.watch(8000, |drive| path.push((drive.time(), wheels_mean(drive).0)))?;
        let speeds: Vec<_> = path.windows(51).map(|part| (part[50].0, (part[50].1 - part[0].1) / 0.05)).collect();
        let plot = Plot::new("Speed, over 50 ms", "time in s", "speed in m/s");
        let plot = plot.line("w r", Line::Reference, [(0.0, WHEEL_RADIUS), (8.0, WHEEL_RADIUS)]);
        findings.plot(plot.line("ours", Line::Measured(0), speeds));
        Ok([(path[8000].1 - path[3000].1) / 5.0])
    })
}

/// Path of the robot while it drives in a circle. Lengths in m.
struct Circle {
    /// Mean positions of the wheels, one for each step.
    middles: Vec<(f64, f64)>,
    centre: (f64, f64),
    radius: f64,
    /// Radius of the circle of the front axle's middle.
    axles: f64,
    /// Mean load of each wheel, N.
    loads: [f64; 4],
}

fn drive_circle(bench: &Bench, world: World, sequence: &str) -> Result<Circle, Trouble> {
    let mut drive = bench.drive(world)?;
    let timeline = drive.play(sequence)?;
    let wheels = drive.bodies(WHEEL_NAMES);
    let (mut middles, mut fronts, mut loads) = (Vec::new(), Vec::new(), [0.0; 4]);
    // The time in which the joint Turner moves, and in which the robot speeds up or stops, is not part of the circle.
    let (start, end) = (4.0, drive.simulation.timestep().seconds() * timeline.steps as f64 - 1.5);
    drive.watch(timeline.steps, |drive| {
        if drive.time() > start && drive.time() < end {
            let front = (drive.position(wheels[0]) + drive.position(wheels[1])) / 2.0;
            middles.push(wheels_mean(drive));
            fronts.push((front.x, -front.z));
            loads.iter_mut().zip(wheels).for_each(|(load, wheel)| *load += drive.force(wheel).y);
        }
    })?;
    let none = || Trouble::Engine("it did not drive in a circle".into());
    let (centre, radius) = fit_circle(&middles).ok_or_else(none)?;
    let (_, axles) = fit_circle(&fronts).ok_or_else(none)?;
    let loads = loads.map(|load| load / middles.len() as f64);
    Ok(Circle { middles, centre, radius, axles, loads })
}

impl Circle {
    /// Time, s, and distance from the circle, mm, for each step.
    fn errors(&self) -> Vec<(f64, f64)> {
        let off = |(x, y): &(f64, f64)| (x - self.centre.0).hypot(y - self.centre.1) - self.radius;
        self.middles.iter().enumerate().map(|(step, point)| (4.0 + step as f64 / 1e3, 1e3 * off(point))).collect()
    }

    fn plot(&self, title: &str, radius: f64) -> Plot {
        let around = (0..=180).map(|index| {
            let (sine, cosine) = (f64::from(index) * std::f64::consts::TAU / 180.0).sin_cos();
            (self.centre.0 + radius * cosine, self.centre.1 + radius * sine)
        });
        let plot = Plot::new(title, "x in m", "to the left in m").to_scale();
        plot.line("ours", Line::Measured(0), self.middles.iter().copied()).line("reference", Line::Reference, around)
    }
}

fn circle(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    let (sine, cosine) = 0.1f64.sin_cos();
    let (axles, radius) = (0.6 * cosine / sine, 0.6 * cosine * cosine / sine);
    let rows = [
        Row::new("radius of the wheels' mean", "m", radius, 0.005 * radius).thesis(5.9516),
        Row::new("radius of the axles' middles", "m", axles, 0.005 * axles).note("equation 16"),
        Row::new("farthest off the fitted circle", "m", 0.0, 1e-3).thesis(1e-3).note("thesis: within one millimetre"),
    ];
    findings.measure(rows, |findings| {
        let circle = drive_circle(bench, bench.world(FLAT_WORLD)?, "circle.xml")?;
        let errors = circle.errors();
        let worst = errors.iter().map(|(_, error)| error.abs() / 1e3).fold(0.0, f64::max);
        findings.plot(circle.plot("Trajectory, exact wheel speeds (figure 8)", radius));
        let plot = Plot::new("Off the fitted circle (figure 9)", "time in s", "distance in mm");
        findings.plot(plot.line("ours", Line::Measured(0), errors));
        Ok([circle.radius, circle.axles, worst])
    })
}

/// WorkPartner 1 with these coefficients of friction of its wheels, along and across their rolling direction.
fn with_friction(mut world: World, along: f64, across: f64) -> World {
    for body in world.mechanism.bodies.iter_mut().filter(|body| WHEEL_NAMES.contains(&body.name.as_str())) {
        body.material.friction = along;
        let direction = FrictionDirection::AcrossAxle(DVec3::Z);
        body.material.across = (along != across).then_some(CrossFriction { coefficient: across, direction });
    }
    world
}

fn circle_gamepad(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    for (along, across, thesis) in [(0.5, 1.0, Some(4.30)), (0.8, 0.8, None)] {
        let world = with_friction(bench.world(FLAT_WORLD)?, along, across);
        let row = |expected: f64| {
            let name = format!("radius of the wheels' mean, friction {along} along and {across} across");
            let row = Row::new(name, "m", expected, 0.005 * expected);
            let row = row.if_missed_by(EngineKind::Rapier, super::friction::OBLIQUE_SLIDING_REASON);
            thesis.map_or(row.clone(), |radius| row.thesis(radius))
        };
        let circle = match drive_circle(bench, world.clone(), "circle_gamepad.xml") {
            Ok(circle) => circle,
            Err(trouble) => {
                findings.measure([row(f64::NAN)], |_| Err(trouble))?;
                continue;
            }
        };
        let expected = slipping_radius(&bent_wheels(&world, 0.2972, circle.loads), along, across);
        let loads = circle.loads.map(|load| format!("{load:.1}")).join(", ");
        findings.measure([row(expected).note(format!("wheels carry {loads} N"))], |findings| {
            let title = format!("Trajectory, all wheels alike (figure 7), {along} and {across}");
            findings.plot(circle.plot(&title, expected));
            Ok([circle.radius])
        })?;
    }
    Ok(())
}

/// A wheel as seen from above.
struct Roller {
    /// Position, m.
    place: (f64, f64),
    /// Unit vector of the rolling direction.
    ahead: (f64, f64),
    /// Load, N.
    load: f64,
}

/// The wheels of the bent robot. The origin is the joint Turner, x points ahead and y to the left; each half of the
/// robot is rotated by half of the joint's angle.
fn bent_wheels(world: &World, angle: f64, loads: [f64; 4]) -> Vec<Roller> {
    let wheels = world.mechanism.bodies.iter().filter(|body| WHEEL_NAMES.contains(&body.name.as_str()));
    let each = wheels.zip(loads).map(|(body, load)| {
        let (x, y) = (body.pose.translation.x, -body.pose.translation.z);
        let (sine, cosine) = (angle / 2.0).copysign(x).sin_cos();
        Roller { place: (x * cosine - y * sine, x * sine + y * cosine), ahead: (cosine, sine), load }
    });
    each.collect()
}

/// Radius of the circle of the wheels' mean position if all wheels roll at 1 m/s, by the balance of friction, m.
///
/// A wheel of load N that slips with velocity s dissipates N |(mu1 s1, mu2 s2)|, and its friction forces are the
/// gradient of that. The forces therefore balance in the motion (u, v, w) that minimises the sum over the wheels, which
/// is convex.
fn slipping_radius(wheels: &[Roller], along: f64, across: f64) -> f64 {
    let dissipation = |u: f64, v: f64, w: f64| {
        let each = wheels.iter().map(|wheel| {
            let ((x, y), (cosine, sine)) = (wheel.place, wheel.ahead);
            let (vx, vy) = (u - w * y, v + w * x);
            let (ahead, aside) = (vx * cosine + vy * sine - 1.0, vy * cosine - vx * sine);
            wheel.load * (along * ahead).hypot(across * aside)
        });
        each.sum::<f64>()
    };
    let aside = |u: f64, w: f64| argument_of_minimum(-0.1, 0.1, |v| dissipation(u, v, w));
    let turn = |u: f64| argument_of_minimum(0.1, 0.4, |w| dissipation(u, aside(u, w), w));
    let u = argument_of_minimum(0.9, 1.1, |u| dissipation(u, aside(u, turn(u)), turn(u)));
    let (w, count) = (turn(u), wheels.len() as f64);
    let sum = wheels.iter().fold((0.0, 0.0), |sum, wheel| (sum.0 + wheel.place.0, sum.1 + wheel.place.1));
    let (vx, vy) = (u - w * sum.1 / count, aside(u, w) + w * sum.0 / count);
    vx.hypot(vy) / w
}

/// Argument at which a convex function has its minimum, by golden sections.
fn argument_of_minimum(mut low: f64, mut high: f64, of: impl Fn(f64) -> f64) -> f64 {
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    let (mut a, mut b) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut of_a, mut of_b) = (of(a), of(b));
    while high - low > 1e-7 {
        if of_a < of_b {
            (high, b, of_b) = (b, a, of_a);
            a = high - ratio * (high - low);
            of_a = of(a);
        } else {
            (low, a, of_a) = (a, b, of_b);
            b = low + ratio * (high - low);
            of_b = of(b);
        }
    }
    (low + high) / 2.0
}
