//! Coulomb friction: its magnitude, and its direction against the motion (thesis 4.1.2).

use simpartner_dynamics::{EngineKind, Motor};
use simpartner_model::JointId;

use super::{Bench, Case, Findings, G, Row, SOLVED_SPEED, Trouble};
use simpartner_plot::{Line, Plot};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "sliding-cube",
        physics: "A cube of 1 m and 1 kg slides at 10 m/s on a plane with mu = 0.5: it slows down evenly, and stops.",
        source: "v = v0 - mu g t, way v0²/(2 mu g) (thesis 4.1.2, equation 14, figure 4: a stepwise error without a figure)",
        tolerance: "Speed: 1e-6 m/s, at which a contact counts as solved. Way: that for the time it slides, and mu g dt²/2, the way \
                    in which a step differs whose friction ends within it.",
        quick: true,
        run: sliding_cube,
    },
    Case {
        name: "sliding-bar",
        physics: "A bar of 2 x 0.5 x 0.4 m slides at 45 degrees to its length: friction acts against its motion, not along its axes.",
        source: "Coulomb: v = v0 - mu g t on a constant heading, without turning, since the pressure is even",
        tolerance: "1e-6 m/s, at which a contact counts as solved, and the angle that this is of the speed after 1 s",
        quick: true,
        run: sliding_bar,
    },
    Case {
        name: "locked-robot",
        physics: "WorkPartner 1, all motors holding, slides down a slope of tan a = 1.2 that runs at 45 degrees to its wheels.",
        source: "It moves like one body: with g (sin a - mu cos a), 2.512 m/s after 1 s, straight down the slope",
        tolerance: "The motors take the friction up within the 10 ms in which they settle. Until then it may push sideways by mu g cos a \
                    10 ms/2 = 0.025 m/s, and later it only brakes that. So the heading may be off by 0.025 m/s over the speed, and the \
                    acceleration by mu g cos a times half the square of that ratio at 0.5 s.",
        quick: true,
        run: locked_robot,
    },
];

/// Coefficient of friction in the cases of sliding bodies.
const SLIDING_FRICTION: f64 = 0.5;

/// Reason for which rapier misses the speed of a body that begins to slide.
const SOFT_CONTACT_REASON: &str =
    "its contacts are springs: at first the body sinks in and its weight is not yet carried";

/// Reason for which rapier misses if a body slides obliquely.
pub(super) const OBLIQUE_SLIDING_REASON: &str =
    "its friction is not against the motion where the effective mass of a contact is uneven";

fn sliding_world(size: [f64; 3], speed: f64, degrees: f64) -> String {
    let (sine, cosine) = degrees.to_radians().sin_cos();
    format!(
        "<world name=\"sliding\">
  <surface a=\"0\" b=\"1\" c=\"0\" d=\"0\"/>
  <gravity y=\"-{G}\"/>
  <object name=\"body\">
    <mass>1</mass>
    <pose y=\"{}\"/>
    <translationalVelocity><vx>{}</vx><vy>0</vy><vz>{}</vz></translationalVelocity>
    <box x=\"{}\" y=\"{}\" z=\"{}\"/>
    <material friction=\"{SLIDING_FRICTION}\"/>
  </object>
</world>",
        size[1] / 2.0,
        speed * cosine,
        -speed * sine,
        size[0],
        size[1],
        size[2]
    )
}

fn sliding_cube(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    let (start, stop) = (10.0, 10.0 / (SLIDING_FRICTION * G));
    let text = sliding_world([1.0; 3], start, 0.0);
    findings.world("The world", &text);
    let mut speeds = Plot::new("Speed of the sliding cube", "time in s", "speed in m/s");
    let mut errors = Plot::new("Error of the speed (figure 4)", "time in s", "error in m/s").logarithmic();
    for (index, timestep) in [0.001, 0.01].into_iter().enumerate() {
        let milliseconds = timestep * 1e3;
        let way = SOLVED_SPEED * stop + SLIDING_FRICTION * G * timestep * timestep / 2.0;
        let rows = [
            Row::new(format!("speed off while it slides, {milliseconds} ms"), "m/s", 0.0, SOLVED_SPEED),
            Row::new(
                format!("way until it stands, {milliseconds} ms"),
                "m",
                start * start / (2.0 * SLIDING_FRICTION * G),
                way,
            ),
        ];
        let first_order = "first order: it is off by v0 dt/2";
        let [speed, way] = rows;
        let rows = [
            speed.if_missed_by(EngineKind::Rapier, SOFT_CONTACT_REASON),
            way.if_missed_by(EngineKind::Rapier, first_order),
        ];
        findings.measure(rows, |_| {
            let mut scene = bench.scene(&text, timestep)?;
            let mut path = Vec::new();
            scene.watch(3.0, |scene| path.push((scene.time(), scene.body("body").linear_velocity.length())))?;
            let law = |t: f64| (start - SLIDING_FRICTION * G * t).max(0.0);
            let off: Vec<_> = path.iter().map(|(t, v)| (*t, (v - law(*t)).abs())).collect();
            let worst = off.iter().filter(|(t, _)| *t < stop).map(|(_, off)| *off).fold(0.0, f64::max);
            if index == 0 {
                speeds.add("v0 - mu g t", Line::Reference, path.iter().map(|(t, _)| (*t, law(*t))).collect());
                speeds.add("ours, 1 ms", Line::Measured(0), path);
            }
            errors.add(format!("ours, {milliseconds} ms"), Line::Measured(index), off);
            Ok([worst, scene.body("body").pose.translation.x])
        })?;
    }
    findings.plot(speeds);
    findings.plot(errors);
    Ok(())
}

fn sliding_bar(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    let (start, seconds) = (10.0, 1.0);
    let text = sliding_world([2.0, 0.5, 0.4], start, 45.0);
    findings.world("The world", &text);
    let speed = start - SLIDING_FRICTION * G * seconds;
    let turned = (SOLVED_SPEED / speed).to_degrees();
    let rows = [
        Row::new("speed after 1 s", "m/s", speed, SOLVED_SPEED)
            .if_missed_by(EngineKind::Rapier, OBLIQUE_SLIDING_REASON),
        Row::new("heading after 1 s", "deg", 45.0, turned).if_missed_by(EngineKind::Rapier, OBLIQUE_SLIDING_REASON),
        Row::new("turning after 1 s", "rad/s", 0.0, SOLVED_SPEED),
    ];
    findings.measure(rows, |findings| {
        let mut scene = bench.scene(&text, 0.001)?;
        let mut path = Vec::new();
        scene.watch(seconds, |scene| {
            let place = scene.body("body").pose.translation;
            path.push((place.x, -place.z));
        })?;
        let far = 5.5;
        let plot = Plot::new("Path of the bar, seen from above", "x in m", "-z in m").to_scale();
        let plot = plot.line("45 degrees", Line::Reference, [(0.0, 0.0), (far, far)]);
        findings.plot(plot.line("ours", Line::Measured(0), path));
        let state = scene.body("body");
        let v = state.linear_velocity;
        Ok([v.length(), (-v.z).atan2(v.x).to_degrees(), state.angular_velocity.y])
    })
}

/// The slope is modelled as a level plane under an inclined gravity.
fn locked_robot(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    let (slope, mu) = (1.2f64.atan(), 0.8);
    let down = slope.sin() * 0.5f64.sqrt() * G;
    let text = format!(
        "<world name=\"slope\">
  <surface a=\"0\" b=\"1\" c=\"0\" d=\"0\"/>
  <gravity x=\"{down}\" y=\"{}\" z=\"{}\"/>
  <robot file=\"workpartner1.xml\"/>
</world>",
        -G * slope.cos(),
        -down
    );
    findings.world("The world: down is where gravity points", &text);
    let rate = G * (slope.sin() - mu * slope.cos());
    let friction = mu * G * slope.cos();
    let aside = friction * 0.01 / 2.0;
    let rows = [
        Row::new("acceleration from 0.5 s to 1.5 s", "m/s²", rate, friction * (aside / (0.5 * rate)).powi(2) / 2.0),
        Row::new("heading after 1.5 s", "deg", 45.0, (aside / (1.5 * rate)).to_degrees()),
    ];
    let rows = rows.map(|row| row.if_missed_by(EngineKind::Rapier, OBLIQUE_SLIDING_REASON));
    findings.measure(rows, |findings| {
        let mut scene = bench.scene(&text, 0.001)?;
        for joint in 0..scene.world.mechanism.joints.len() {
            for axis in 0..3 {
                scene.engine.set_motor(JointId::new(joint), axis, Motor::Position { target: 0.0, max_effort: 1e5 });
            }
        }
        let mut path = vec![(0.0, 0.0, 0.0)];
        scene.watch(1.5, |scene| {
            let v = scene.momenta().0 / scene.mass() * 0.5f64.sqrt();
            path.push((scene.time(), v.x - v.z, v.x + v.z));
        })?;
        let plot = Plot::new("Off g (sin a - mu cos a) t, and off the line", "time in s", "m/s");
        let plot = plot.line("ahead", Line::Measured(0), path.iter().map(|(t, v, _)| (*t, v - rate * t)));
        findings.plot(plot.line("to the side", Line::Measured(1), path.iter().map(|(t, _, v)| (*t, *v))));
        let (_, ahead, aside) = path[1500];
        Ok([ahead - path[500].1, 45.0 - aside.atan2(ahead).to_degrees()])
    })
}
