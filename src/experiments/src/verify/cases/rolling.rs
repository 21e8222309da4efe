//! Rolling down an incline, with and without slipping, and rolling of ellipsoids on a plane.

use std::f64::consts::TAU;

use simpartner_dynamics::EngineKind;

use super::{Bench, Case, Findings, G, Row, SOLVED_SPEED, Trouble};
use crate::verify::math::crossing;
use simpartner_plot::{Line, Plot};

pub(super) const CASES: &[Case] = &[ROLLING_CASE, ELLIPSOID_CASE];

const ROLLING_CASE: Case = Case {
    name: "rolling",
    physics: "A ball and a cylinder roll down 20 degrees: with enough friction without slipping, with too little slipping.",
    source: "Rolling: a = g sin a / (1 + I/(m r²)), 5/7 g sin a for the ball, 2/3 for the cylinder, as long as mu is above tan a \
             times 2/7 or 1/3. Slipping: a = g (sin a - mu cos a), angular acceleration mu m g r cos a / I",
    tolerance: "1e-6 m/s, at which a contact counts as solved; for the turning of what slips, that by the radius",
    quick: true,
    run: rolling,
};

const ELLIPSOID_CASE: Case = Case {
    name: "rolling-ellipsoid",
    physics: "A spheroid rolls about its axis of symmetry on a plane for 3 s. A stone with half axes of 0.2, 0.12 and 0.15 m rocks by 1 mrad.",
    source: "Nothing slows the spheroid down. The stone rocks about its lowest position, where its surface has the radius of curvature \
             R = a²/c: w² = m g (R - c)/(I + m c²)",
    tolerance: "Speed: 1e-6 m/s, at which a contact counts as solved. Period: that of the midpoint rule, (w dt)²/24 of it, and as much again \
                for the angle and the reading of the crossings",
    quick: true,
    run: rolling_ellipsoids,
};

/// Angle of the incline, degrees.
const SLOPE_DEGREES: f64 = 20.0;
/// Radius of both rollers, m.
const ROLLER_RADIUS: f64 = 0.235;
/// Time for which a roller rolls down, s.
const DURATION_S: f64 = 2.0;

/// A body that rolls down the incline.
struct Roller {
    name: &'static str,
    /// Shape, as XML of a world.
    shape: &'static str,
    /// Moment of inertia I as a fraction of m r².
    inertia: f64,
}

const ROLLING_BODIES: [Roller; 2] = [
    Roller { name: "ball", shape: "<sphere radius=\"0.235\"/>", inertia: 0.4 },
    Roller { name: "cylinder", shape: "<cylinder radius=\"0.235\" length=\"0.2\" axis=\"z\"/>", inertia: 0.5 },
];

/// World of a plane that falls towards +x, and a roller that touches it.
fn incline_world(roller: &Roller, mu: f64) -> String {
    let (sine, cosine) = SLOPE_DEGREES.to_radians().sin_cos();
    format!(
        "<world name=\"incline\">
  <surface a=\"{sine}\" b=\"{cosine}\" c=\"0\" d=\"0\"/>
  <gravity y=\"-{G}\"/>
  <object name=\"roller\">
    <mass>2</mass>
    <pose x=\"{}\" y=\"{}\"/>
    {}
    <material friction=\"{mu}\"/>
  </object>
</world>",
        ROLLER_RADIUS * sine,
        ROLLER_RADIUS * cosine,
        roller.shape
    )
}

fn rolling(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    let (sine, cosine) = SLOPE_DEGREES.to_radians().sin_cos();
    let mut plot = Plot::new("Speed down the incline, a ball", "time in s", "speed in m/s");
    findings.world("A ball that rolls", &incline_world(&ROLLING_BODIES[0], 0.8));
    let soft = "its contacts are springs: at first it sinks in and its weight is not yet carried";
    for roller in &ROLLING_BODIES {
        for (regime, mu) in [("rolling", 0.8), ("slipping", 0.05)] {
            let slips = regime == "slipping";
            let rate = if slips { G * (sine - mu * cosine) } else { G * sine / (1.0 + roller.inertia) };
            let spin = if slips { mu * G * cosine / (roller.inertia * ROLLER_RADIUS) } else { rate / ROLLER_RADIUS };
            let (name, v) = (roller.name, rate * DURATION_S);
            let note = format!("mu = {mu}");
            let rows = [
                Row::new(format!("{name} {regime}, speed after 2 s"), "m/s", v, SOLVED_SPEED),
                Row::new(
                    format!("{name} {regime}, turning after 2 s"),
                    "rad/s",
                    spin * DURATION_S,
                    SOLVED_SPEED / ROLLER_RADIUS,
                ),
            ];
            let rows = rows.map(|row| row.note(note.clone()).if_missed_by(EngineKind::Rapier, soft));
            findings.measure(rows, |_| {
                let mut scene = bench.scene(&incline_world(roller, mu), 0.001)?;
                let mut path = Vec::new();
                let speed = |scene: &crate::verify::bench::Scene| {
                    let v = scene.body("roller").linear_velocity;
                    v.x * cosine - v.y * sine
                };
                scene.watch(DURATION_S, |scene| path.push((scene.time(), speed(scene))))?;
                if name == "ball" {
                    plot.add(format!("theory, {regime}"), Line::Reference, vec![(0.0, 0.0), (DURATION_S, v)]);
                    plot.add(format!("ours, {regime}"), Line::Measured(usize::from(slips)), path);
                }
                Ok([speed(&scene), -scene.body("roller").angular_velocity.z])
            })?;
        }
    }
    findings.plot(plot);
    Ok(())
}

/// Half axes of the stone along the ground in the plane of its rocking, upright, and across, m.
const STONE_RADII: [f64; 3] = [0.2, 0.12, 0.15];
/// Initial angle of the stone, rad.
const ROCKING_ANGLE: f64 = 1e-3;
/// Time for which the spheroid rolls, s, and its speed, m/s.
const SPHEROID_DURATION_S: f64 = 3.0;
const SPHEROID_SPEED: f64 = 1.0;

/// World of an ellipsoid on a plane. `state` is its pose and velocities in XML.
fn ellipsoid_world([x, y, z]: [f64; 3], state: &str) -> String {
    format!(
        "<world name=\"ellipsoid\">
  <surface a=\"0\" b=\"1\" c=\"0\" d=\"0\"/>
  <gravity y=\"-{G}\"/>
  <object name=\"body\">
    <mass>2</mass>
    {state}
    <ellipsoid radiusX=\"{x}\" radiusY=\"{y}\" radiusZ=\"{z}\"/>
    <material friction=\"1\"/>
  </object>
</world>"
    )
}

fn rolling_ellipsoids(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    let radius = 0.1;
    let state = format!(
        "<pose y=\"{radius}\"/>
    <translationalVelocity><vx>{SPHEROID_SPEED}</vx><vy>0</vy><vz>0</vz></translationalVelocity>
    <rotationalVelocity><omegax>0</omegax><omegay>0</omegay><omegaz>{}</omegaz></rotationalVelocity>",
        -SPHEROID_SPEED / radius
    );
    let spheroid = ellipsoid_world([radius, radius, 2.0 * radius], &state);
    let [a, c, _] = STONE_RADII;
    let height = (a * ROCKING_ANGLE.sin()).hypot(c * ROCKING_ANGLE.cos());
    let stone = ellipsoid_world(STONE_RADII, &format!("<pose y=\"{height}\" yaw=\"{ROCKING_ANGLE}\"/>"));
    findings.world("A spheroid that rolls", &spheroid);
    findings.world("A stone that rocks", &stone);
    let rate = (G * (a * a / c - c) / ((a * a + c * c) / 5.0 + c * c)).sqrt();
    for timestep in [0.001, 0.01] {
        let milliseconds = 1e3 * timestep;
        let row = Row::new(format!("speed after 3 s, {milliseconds} ms"), "m/s", SPHEROID_SPEED, SOLVED_SPEED);
        findings.measure([row], |_| {
            let mut scene = bench.scene(&spheroid, timestep)?;
            scene.pass(SPHEROID_DURATION_S)?;
            Ok([scene.body("body").linear_velocity.x])
        })?;
        let (period, step) = (TAU / rate, rate * timestep);
        let row = Row::new(format!("period, {milliseconds} ms"), "s", period, period * step * step / 12.0);
        findings.measure([row], |_| {
            let mut scene = bench.scene(&stone, timestep)?;
            let (mut before, mut crossings) = (None, Vec::new());
            scene.watch(10.0, |scene| {
                let now = (scene.time(), scene.body("body").angular_velocity.z);
                // The turning point on one side.
                let rises = |before: (f64, f64)| before.1 < 0.0 && now.1 >= 0.0;
                crossings.extend(before.filter(|before| rises(*before)).and_then(|before| crossing(before, now)));
                before = Some(now);
            })?;
            let count = crossings.len().saturating_sub(1) as f64;
            Ok([(crossings.last().unwrap_or(&f64::NAN) - crossings.first().unwrap_or(&f64::NAN)) / count])
        })?;
    }
    Ok(())
}
