//! Sliding and rolling over bodies that stand side by side.

use simpartner_dynamics::EngineKind;

use super::{Bench, Case, Findings, G, Row, Trouble};

pub(super) const CASES: &[Case] = &[Case {
    name: "seams",
    physics: "A box, a hull, a ball and a cylinder without friction slide over fixed cubes of 1 m, flush and with gaps of 0.1 mm.",
    source: "Newton's first law: nothing on a flat floor without friction has a horizontal force, whatever the floor is made of",
    tolerance: "Speed: 1e-9 of the speed, rounding. Height: 1e-9 m, rounding; overlaps up to 1e-6 m would be allowed.",
    quick: true,
    run: measure_seams,
}];

/// Reason why the other engine misses the rows.
const SEAM_REASON: &str = "its contacts know one pair of shapes only: a body trips over the sides inside of the floor";
/// Speed of the body, m/s, and duration of a run, s.
const SLIDING_SPEED: f64 = 3.0;
const DURATION_S: f64 = 3.0;

const SLIDING_BODIES: [(&str, &str); 4] = [
    ("box", "<box x=\"0.4\" y=\"0.2\" z=\"0.3\"/>"),
    (
        "hull",
        "<convexHull><vertices>-0.2 -0.1 -0.15, 0.2 -0.1 -0.15, -0.2 -0.1 0.15, 0.2 -0.1 0.15, -0.1 0.1 -0.1, 0.1 0.1 -0.1, \
         -0.1 0.1 0.1, 0.1 0.1 0.1</vertices></convexHull>",
    ),
    ("ball", "<sphere radius=\"0.1\"/>"),
    ("cylinder", "<cylinder radius=\"0.1\" length=\"0.3\" axis=\"z\"/>"),
];

/// World of a row of fixed cubes with gaps between them, m, and a body that slides along them.
fn seam_world(shape: &str, gap: f64) -> String {
    let cube = |index: usize| {
        let x = index as f64 * (1.0 + gap);
        format!(
            "  <object name=\"cube{index}\">
    <mass>1</mass>
    <static>true</static>
    <pose x=\"{x}\" y=\"-0.5\"/>
    <box x=\"1\" y=\"1\" z=\"1\"/>
    <material friction=\"0\"/>
  </object>
"
        )
    };
    let cubes: String = (0..12).map(cube).collect();
    format!(
        "<world name=\"seams\">
  <gravity y=\"-{G}\"/>
{cubes}  <object name=\"slider\">
    <mass>2</mass>
    <pose x=\"0\" y=\"0.1\"/>
    <translationalVelocity><vx>{SLIDING_SPEED}</vx><vy>0</vy><vz>0</vz></translationalVelocity>
    {shape}
    <material friction=\"0\"/>
  </object>
</world>"
    )
}

fn measure_seams(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    findings.world("A box over flush cubes", &seam_world(SLIDING_BODIES[0].1, 0.0));
    for (name, shape) in SLIDING_BODIES {
        for (gap, timestep) in [(0.0, 0.001), (1e-4, 0.001), (0.0, 0.01)] {
            let case = format!("{name}, gap {} mm, {} ms", gap * 1e3, timestep * 1e3);
            let rows = [
                Row::new(format!("part of the speed kept, {case}"), "1", 1.0, 1e-9),
                Row::new(format!("lift, {case}"), "m", 0.0, 1e-9),
            ];
            let [speed, lift] = rows.map(|row| row.if_missed_by(EngineKind::Rapier, SEAM_REASON));
            let rows = [speed.note("MuJoCo keeps 0.83 to 1.00 of the speed of boxes, PhysX stops them"), lift];
            findings.measure(rows, |_| {
                let mut scene = bench.scene(&seam_world(shape, gap), timestep)?;
                let mut lift = 0.0f64;
                scene.watch(DURATION_S, |scene| {
                    lift = lift.max((scene.body("slider").pose.translation.y - 0.1).abs());
                })?;
                Ok([scene.body("slider").linear_velocity.x / SLIDING_SPEED, lift])
            })?;
        }
    }
    Ok(())
}
