//! WorkPartner 1 on ground of friction 0.025 (thesis 4.3): wheels that skid, a caterpillar, rolling walking.

use super::{Bench, Case, Findings, G, Row, Trouble};
use simpartner_plot::{Line, Plot};

/// Coefficient of friction of the ground.
const GROUND_FRICTION: f64 = 0.025;
/// Radius of the wheels, m.
const WHEEL_RADIUS: f64 = 0.235;
/// Weight of the robot, N.
const ROBOT_WEIGHT: f64 = 18.0 * G;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "skidding",
        physics: "All wheels turn at 1 rad/s from the first step on; friction of 0.025 brings the robot up to their speed.",
        source: "Coulomb: it gains mu g t until its wheels roll, at w r = 0.235 m/s after 0.96 s (thesis 4.3.1, figures 13 and 14)",
        tolerance: "0.5 % of the speed, for the settling of the first tenth of a second; 1 % of a wheel's load; a thousandth of the way to the side, since what glides keeps any heading",
        quick: false,
        run: skidding,
    },
    Case {
        name: "caterpillar",
        physics: "Front and rear legs stretch and fold in turn, the pair that pushes with its wheels locked.",
        source: "the thesis's own gait, as the speed to reach (4.3.2, figures 15 and 16); the mean load is the weight",
        tolerance: "at least the thesis's speed; 1 % of a wheel's load; a thousandth of the way to the side, since what glides keeps any heading",
        quick: false,
        run: caterpillar,
    },
    Case {
        name: "rolking",
        physics: "Rolling walking: one leg after the other moves ahead on its turning wheel, the leg beside it follows.",
        source: "the thesis's own gait, as the speed to reach (4.3.3, figures 17 to 19); the mean load is the weight",
        tolerance: "at least the thesis's speed; 1 % of a wheel's load; a thousandth of the way to the side, since what glides keeps any heading",
        quick: false,
        run: rolking,
    },
];

fn skidding(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    // While the robot speeds up, its mean speed is half of the final one; the sequence takes 60 s.
    let gain = WHEEL_RADIUS / (GROUND_FRICTION * G);
    let expected = WHEEL_RADIUS * (1.0 - gain / 2.0 / 60.0);
    let speed = Row::new("mean speed over 60 s", "m/s", expected, 0.005 * expected)
        .thesis(0.0038)
        .note("a net push of 0.014 N over 10 s would give the thesis's figure, where friction holds 4.4 N ready");
    walk(bench, findings, "skidding.xml", 60.0, speed)
}

fn caterpillar(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    walk(bench, findings, "caterpillar.xml", 60.0, Row::at_least("mean speed over 60 s", "m/s", 0.057).thesis(0.057))
}

fn rolking(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    walk(bench, findings, "rolking.xml", 60.0, Row::at_least("mean speed over 60 s", "m/s", 0.048).thesis(0.048))
}

fn walk(bench: &Bench, findings: &mut Findings, sequence: &str, seconds: f64, speed: Row) -> Result<(), Trouble> {
    let rows = [
        speed,
        Row::new("mean force of a wheel", "N", ROBOT_WEIGHT / 4.0, 0.01 * ROBOT_WEIGHT / 4.0).thesis(44.0),
        Row::new("off to the side at the end, of its way", "1", 0.0, 1e-3),
    ];
    findings.measure(rows, |findings| {
        let mut drive = bench.drive(bench.shipped("slippery.xml")?)?;
        drive.play(sequence)?;
        let world = drive.simulation.world().clone();
        let mass: f64 = world.mechanism.bodies.iter().map(|body| body.mass).sum();
        let wheels = drive.bodies(["Wheel1", "Wheel2", "Wheel3", "Wheel4"]);
        let (mut path, mut loads) = (Vec::new(), [const { Vec::new() }; 4]);
        let mut aside = 0.0;
        drive.watch((seconds * 1e3) as u64, |drive| {
            let weighted = world.mechanism.bodies().map(|(id, body)| drive.position(id) * body.mass);
            let centre = weighted.fold(bevy_math::DVec3::ZERO, |sum, part| sum + part) / mass;
            path.push((drive.time(), centre.x));
            aside = centre.z;
            for (line, wheel) in loads.iter_mut().zip(wheels) {
                line.push((drive.time(), drive.force(wheel).y));
            }
        })?;
        let way = path[path.len() - 1].1 - path[0].1;
        let each = loads.iter().map(|line| line.iter().map(|(_, load)| load).sum::<f64>() / line.len() as f64);
        let mean = each.sum::<f64>() / 4.0;
        let plot = Plot::new("Centre of mass", "time in s", "ahead in m");
        findings.plot(plot.line("ours", Line::Measured(0), path));
        let plot = Plot::new("Wheel forces", "time in s", "force in N");
        findings.plot(
            loads.into_iter().enumerate().fold(plot, |plot, (wheel, line)| {
                plot.line(format!("wheel {}", wheel + 1), Line::Measured(wheel), line)
            }),
        );
        Ok([way / seconds, mean, aside / way])
    })
}
