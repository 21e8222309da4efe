//! Rolling down an incline, with and without slipping.

use simpartner_dynamics::EngineKind;

use super::{Bench, Case, Findings, G, Row, SOLVED_SPEED, Trouble};
use simpartner_plot::{Line, Plot};

pub(super) const CASES: &[Case] = &[Case {
    name: "rolling",
    physics: "A ball and a cylinder roll down 20 degrees: with enough friction without slipping, with too little slipping.",
    source: "Rolling: a = g sin a / (1 + I/(m r²)), 5/7 g sin a for the ball, 2/3 for the cylinder, as long as mu is above tan a \
             times 2/7 or 1/3. Slipping: a = g (sin a - mu cos a), angular acceleration mu m g r cos a / I",
    tolerance: "1e-6 m/s, at which a contact counts as solved; for the turning of what slips, that by the radius",
    quick: true,
    run: rolling,
}];

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

const ROLLERS: [Roller; 2] = [
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
    findings.world("A ball that rolls", &incline_world(&ROLLERS[0], 0.8));
    let soft = "its contacts are springs: at first it sinks in and its weight is not yet carried";
    for roller in &ROLLERS {
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
