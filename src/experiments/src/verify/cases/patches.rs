//! Friction of lines and faces of contact: turning on cylinders, and plates that slide and spin.

use bevy_math::DVec2;
use simpartner_dynamics::{EngineKind, Motor};
use simpartner_plot::{Line, Plot};

use super::{Bench, Case, Findings, G, Row, Trouble};
use crate::verify::math::runge_kutta;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "line-of-contact",
        physics: "A robot on two cylinder wheels of 2 to 100 mm width and a smooth caster turns on the spot: each wheel touches in a line, \
                  which must slip as it turns.",
        source: "Coulomb friction under even pressure, integrated over both lines: the moments about the vertical balance at a yaw rate \
                 of (v_right - v_left) / sqrt(track² + width²)",
        tolerance: "0.1 %",
        quick: true,
        run: line_of_contact,
    },
    Case {
        name: "spin-down",
        physics: "A thin disc slides at 0.8 m/s and spins at 10 rad/s on the plane: both end at the same time, later than either would alone.",
        source: "Coulomb friction under even pressure, integrated over the disc and over time. The ratio of its speed to that of its rim \
                 tends to 0.653 (Farkas, Bartels, Unger and Wolf 2003, Phys. Rev. Lett. 90, 248302)",
        tolerance: "1 % of time and way; 0.03 of the ratio, taken 20 ms before the end",
        quick: true,
        run: spin_down,
    },
];

const POINTS_NOTE: &str = "friction acts at single points";
/// Track of the robot, and radius of its wheels, m.
const TRACK_WIDTH: f64 = 0.3;
const WHEEL_RADIUS: f64 = 0.05;
/// Rate of the wheels, rad/s.
const WHEEL_RATE: f64 = 3.0;
/// Radius of the disc, m, its friction, speed in m/s and rate in rad/s.
const DISC_RADIUS: f64 = 0.1;
const DISC_FRICTION: f64 = 0.3;
const DISC_START: [f64; 2] = [0.8, 10.0];

fn robot_world(width: f64) -> String {
    let wheel = |name: &str, z: f64| {
        format!(
            "  <object name=\"{name}\">
    <mass>0.4</mass><pose y=\"{WHEEL_RADIUS}\" z=\"{z}\"/>
    <cylinder radius=\"{WHEEL_RADIUS}\" length=\"{width}\" axis=\"z\"/><material friction=\"0.9\"/>
  </object>
  <joint type=\"hinge\" name=\"{name}-axle\"><parent>base</parent><child>{name}</child>\
<anchor y=\"{WHEEL_RADIUS}\" z=\"{z}\"/><axis z=\"-1\"/></joint>\n"
        )
    };
    format!(
        "<world name=\"turning\">
  <surface a=\"0\" b=\"1\" c=\"0\" d=\"0\" friction=\"1\"/>
  <gravity y=\"-{G}\"/>
  <object name=\"base\"><mass>5</mass><pose x=\"0.03\" y=\"0.15\"/><box x=\"0.3\" y=\"0.06\" z=\"0.1\"/></object>
{}{}  <object name=\"caster\">
    <mass>0.05</mass><pose x=\"0.13\" y=\"0.03\"/><sphere radius=\"0.03\"/><material friction=\"0\"/>
  </object>
  <joint type=\"fixed\" name=\"fork\"><parent>base</parent><child>caster</child><anchor x=\"0.13\" y=\"0.03\"/></joint>
</world>",
        wheel("left", -0.5 * TRACK_WIDTH),
        wheel("right", 0.5 * TRACK_WIDTH)
    )
}

fn line_of_contact(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    findings.world("A robot on two cylinders, 30 mm wide", &robot_world(0.03));
    let mut plot = Plot::new("Yaw rate over 2 v / track", "width in m", "ratio");
    let ratio = |width: f64| TRACK_WIDTH / TRACK_WIDTH.hypot(width);
    let curve = (0..=50).map(|k| 0.002 * f64::from(k)).map(|width| (width, ratio(width)));
    plot.add("even pressure", Line::Reference, curve.collect());
    let mut points = Vec::new();
    for width in [0.002, 0.03, 0.06, 0.1] {
        for timestep in [0.001, 0.01] {
            let name = |what: &str| format!("{what}, {:.0} mm, {:.0} ms", 1e3 * width, 1e3 * timestep);
            let rows = [
                Row::new(name("yaw rate over 2 v / track"), "1", ratio(width), 1e-3 * ratio(width))
                    .if_missed_by(EngineKind::Rapier, POINTS_NOTE),
                Row::new(name("its range"), "1", 0.0, 1e-3).if_missed_by(EngineKind::Rapier, POINTS_NOTE),
            ];
            findings.measure(rows, |_| {
                let mut scene = bench.scene(&robot_world(width), timestep)?;
                for (axle, target) in [("left-axle", -WHEEL_RATE), ("right-axle", WHEEL_RATE)] {
                    let joint = scene.joint(axle);
                    scene.engine.set_motor(joint, 2, Motor::Velocity { target, max_effort: 100.0 });
                }
                scene.pass(1.0)?;
                let (mut sum, mut count, mut least, mut most) = (0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY);
                scene.watch(1.0, |scene| {
                    let found = scene.body("base").angular_velocity.y * TRACK_WIDTH / (2.0 * WHEEL_RATE * WHEEL_RADIUS);
                    (sum, count, least, most) = (sum + found, count + 1.0, least.min(found), most.max(found));
                })?;
                if timestep == 0.001 {
                    points.push((width, sum / count));
                }
                Ok([sum / count, most - least])
            })?;
        }
    }
    plot.add("ours, 1 ms", Line::Measured(0), points);
    findings.plot(plot);
    Ok(())
}

fn disc_world() -> String {
    let [speed, rate] = DISC_START;
    let inertia = 0.25 * DISC_RADIUS * DISC_RADIUS;
    format!(
        "<world name=\"spin-down\">
  <surface a=\"0\" b=\"1\" c=\"0\" d=\"0\" friction=\"1\"/>
  <gravity y=\"-{G}\"/>
  <object name=\"disc\">
    <mass>1</mass><inertia ixx=\"{inertia}\" iyy=\"{}\" izz=\"{inertia}\"/><pose y=\"0.001\"/>
    <translationalVelocity><vx>{speed}</vx><vy>0</vy><vz>0</vz></translationalVelocity>
    <rotationalVelocity><omegax>0</omegax><omegay>{rate}</omegay><omegaz>0</omegaz></rotationalVelocity>
    <cylinder radius=\"{DISC_RADIUS}\" length=\"0.002\" axis=\"y\"/><material friction=\"{DISC_FRICTION}\"/>
  </object>
</world>",
        2.0 * inertia
    )
}

/// Slowing of the disc under even pressure: of its speed, m/s², and of its rate, rad/s²; a sum over rings.
fn slowing_rates(speed: f64, rate: f64) -> [f64; 2] {
    const RING_COUNT: usize = 60;
    const POINTS_PER_RING: usize = 120;
    let mut sums = [0.0; 2];
    for ring in 0..RING_COUNT {
        let radius = (ring as f64 + 0.5) / RING_COUNT as f64;
        for place in 0..POINTS_PER_RING {
            let angle = std::f64::consts::TAU * (place as f64 + 0.5) / POINTS_PER_RING as f64;
            let at = DISC_RADIUS * radius * DVec2::from_angle(angle);
            let slip = DVec2::new(speed - rate * at.y, rate * at.x);
            let pull = slip.normalize_or_zero() * (2.0 * radius / (RING_COUNT * POINTS_PER_RING) as f64);
            sums[0] += pull.x;
            sums[1] += at.perp_dot(pull);
        }
    }
    [DISC_FRICTION * G * sums[0], DISC_FRICTION * G * sums[1] / (0.5 * DISC_RADIUS * DISC_RADIUS)]
}

/// Time and way of the disc until it stops, s and m, and the ratio of its speeds 20 ms before that.
fn stopping_time() -> [f64; 3] {
    let [speed, rate] = DISC_START;
    let step = 2e-4;
    let (mut state, mut time) = ([0.0, speed, rate], 0.0);
    let mut ratios = Vec::new();
    while state[1] > 2.0 * DISC_FRICTION * G * step {
        state = runge_kutta(state, step, |&[_, speed, rate]| {
            let [slows, turns] = slowing_rates(speed, rate);
            [speed, -slows, -turns]
        });
        time += step;
        ratios.push(state[1] / (DISC_RADIUS * state[2]));
    }
    let left = state[1] / slowing_rates(state[1], state[2])[0];
    let before = ratios[ratios.len().saturating_sub(((0.02 - left) / step) as usize + 1)];
    [time + left, state[0] + 0.5 * left * state[1], before]
}

fn spin_down(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    findings.world("A disc that slides and spins", &disc_world());
    let [time, way, ratio] = stopping_time();
    let mut plot = Plot::new("Speeds of the disc, 1 ms", "time in s", "speed in m/s");
    for timestep in [0.001, 0.004] {
        let name = |what: &str| format!("{what}, {:.0} ms", 1e3 * timestep);
        let rows = [
            Row::new(name("time until it stops"), "s", time, 0.01 * time + timestep),
            Row::new(name("way until it stops"), "m", way, 0.01 * way),
            Row::new(name("speed over that of the rim, 20 ms before"), "1", ratio, 0.03),
        ];
        let rows = rows.map(|row| row.if_missed_by(EngineKind::Rapier, POINTS_NOTE));
        findings.measure(rows, |_| {
            let mut scene = bench.scene(&disc_world(), timestep)?;
            let mut path = Vec::new();
            scene.watch(0.6, |scene| {
                let disc = scene.body("disc");
                path.push((scene.time(), disc.linear_velocity.length(), DISC_RADIUS * disc.angular_velocity.y.abs()));
            })?;
            let stop = path.iter().position(|&(_, speed, rim)| speed < 1e-3 && rim < 1e-3);
            let stopped = stop.map_or(f64::NAN, |stop| path[stop].0);
            let before = stop.map_or(0, |stop| stop.saturating_sub((0.02 / timestep) as usize));
            if timestep == 0.001 {
                plot.add("sliding", Line::Measured(0), path.iter().map(|&(time, speed, _)| (time, speed)).collect());
                plot.add("rim", Line::Measured(1), path.iter().map(|&(time, _, rim)| (time, rim)).collect());
            }
            let (_, speed, rim) = path[before];
            Ok([stopped, scene.body("disc").pose.translation.x, speed / rim])
        })?;
    }
    findings.plot(plot);
    Ok(())
}
