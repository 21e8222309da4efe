//! Impacts, stops, steps and distances of the nonsmooth mechanics that Siconos is known for: each beside its closed form, or
//! beside an integration from event to event.

use bevy_math::DVec3;
use simpartner_dynamics::EngineKind;
use simpartner_model::{Ground, GroundMesh, Material, random::Stream};

use super::{Bench, Case, Findings, G, LAYER, Row, Trouble};
use crate::verify::{bench::Scene, math::runge_kutta};
use simpartner_plot::{Line, Plot};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "impact-times",
        physics: "A ball falls by 1 m and bounces with e = 0.9 and 0.5 until it lies; another one grazes a ceiling.",
        source: "Newton's law of impact and free flight: t0 = sqrt(2 h/g), t_n = t0 (1 + 2 (e + ... + e^n)), at rest after t0 (1 + e)/(1 - e)",
        tolerance: "Times: 1e-9 s. What approaches at less than v = 0.05 m/s does not bounce: a ball lies up to 2 e v/(g (1 - e)) early, and is seen at \
                    the end of a step; from a ceiling it is back up to (1 + e) v/g late, v its speed there. Depth: the 1e-6 m to which a contact may be pressed in.",
        quick: true,
        run: impact_times,
    },
    Case {
        name: "pendulum-stops",
        physics: "A double pendulum swings against a wall, 5 s in steps of 0.5 ms: the upper ball bounces from it (e = 1), the lower one does \
                  not (e = 0). The example of Siconos.",
        source: "Lagrange's equations by Runge-Kutta's method of fourth order from event to event; at one v+ = v - (1 + e) M⁻¹ Gᵀ (G M⁻¹ Gᵀ)⁻¹ G v",
        tolerance: "Energy: of the 0.229 J that the first stop takes, a step's share, w dt with w = sqrt(g/l), for a stop without rebound is \
                    solved together with the step that it falls into. Times: the step. Depth: the 1e-6 m to which a contact may be pressed in.",
        quick: true,
        run: pendulum_stops,
    },
    Case {
        name: "wheel-step",
        physics: "A disc of 0.5 m rolls at a step of 0.1 m: it stops at the edge, turns about it, and gets up if it came fast enough.",
        source: "Angular momentum about the edge: w+/w- = (I + m r (r - s))/(I + m r²) = 1 - 2 s/(3 r); it climbs if (I + m r²) w+²/2 > m g s",
        tolerance: "Rates: what gravity changes in the step that the impact is solved with, g dt/r",
        quick: true,
        run: wheel_step,
    },
    Case {
        name: "point-triangle",
        physics: "2000 balls touch random triangles: inside, at their edges and at their corners.",
        source: "The nearest point by search: a grid over the triangle, refined around its best point until rounding is left",
        tolerance: "Distance: 1e-12 m. Direction: what the search leaves of it, 1e-7, the root of rounding",
        quick: true,
        run: point_triangle,
    },
];

const SEES_STEPS: &str = "sees an impact up to a step early or late";

// ---- a ball that bounces

const RADIUS: f64 = 0.1;
/// What approaches more slowly does not bounce, m/s.
const BOUNCES: f64 = 0.05;

/// A ball whose lowest point is at a height and moves up at a speed; below it the ground, and above its top a ceiling.
fn bouncing(restitution: f64, height: f64, speed: f64, ceiling: f64) -> String {
    format!(
        "<world name=\"bounces\">
  <surface a=\"0\" b=\"1\" c=\"0\" d=\"0\"/>
  <gravity y=\"-{G}\"/>
  <object name=\"ceiling\"><static>true</static><pose y=\"{}\"/><box x=\"1\" y=\"0.2\" z=\"1\"/></object>
  <object name=\"ball\">
    <mass>1</mass>
    <pose y=\"{}\"/>
    <translationalVelocity><vx>0</vx><vy>{speed}</vy><vz>0</vz></translationalVelocity>
    <sphere radius=\"{RADIUS}\"/>
    <material restitution=\"{restitution}\"/>
  </object>
</world>",
        ceiling + 2.0 * RADIUS + 0.1,
        height + RADIUS
    )
}

/// The height of the ball's lowest point, and its speed.
fn flight(scene: &Scene) -> (f64, f64) {
    let ball = scene.body("ball");
    (ball.pose.translation.y - RADIUS, ball.linear_velocity.y)
}

/// When a ball in free flight left the ground, from its state now.
fn departure(scene: &Scene) -> f64 {
    let (height, speed) = flight(scene);
    scene.time() - ((speed * speed + 2.0 * G * height).sqrt() - speed) / G
}

fn impact_times(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    findings.world("e = 0.9", &bouncing(0.9, 1.0, 0.0, 2.0));
    for (e, count) in [(0.9f64, 6), (0.5, 4)] {
        for timestep in [0.001, 0.005, 0.01] {
            bounces(bench, findings, e, count, timestep)?;
        }
    }
    for (name, overlap) in [("1 nm above", -1e-9), ("1 um below", 1e-6), ("1 mm below", 1e-3)] {
        grazes(bench, findings, name, overlap)?;
    }
    Ok(())
}

/// The first so many bounces, and when the ball lies.
fn bounces(bench: &Bench, findings: &mut Findings, e: f64, count: usize, timestep: f64) -> Result<(), Trouble> {
    let fall = (2.0 / G).sqrt();
    let times = (0..count).map(|n| fall * (1.0 + 2.0 * (1..=n).map(|k| e.powi(k as i32)).sum::<f64>()));
    let times: Vec<f64> = times.collect();
    let rest = fall * (1.0 + e) / (1.0 - e);
    let name = |what: &str| format!("{what}, e = {e}, {} ms", timestep * 1e3);
    let rows = [
        Row::new(name(&format!("times of {count} impacts, farthest off")), "s", 0.0, 1e-9)
            .if_missed_by(EngineKind::Rapier, SEES_STEPS),
        Row::new(name("deepest in the ground"), "m", 0.0, LAYER).if_missed_by(EngineKind::Rapier, SEES_STEPS),
        Row::new(name("at rest after"), "s", rest, timestep + 2.0 * e * BOUNCES / (G * (1.0 - e)))
            .if_missed_by(EngineKind::Rapier, SEES_STEPS),
    ];
    findings.measure(rows, |_| {
        let mut scene = bench.scene(&bouncing(e, 1.0, 0.0, 2.0), timestep)?;
        let (mut seen, mut deepest, mut moved, mut before) = (Vec::new(), 0.0f64, 0.0, 0.0);
        scene.watch(rest + 0.5, |scene| {
            let (height, speed) = flight(scene);
            if speed > before && seen.len() < count {
                seen.push(departure(scene));
            }
            if speed.abs() > 1e-4 {
                moved = scene.time();
            }
            (before, deepest) = (speed, deepest.max(-height));
        })?;
        let off = times.iter().zip(&seen).map(|(theory, seen)| (theory - seen).abs()).fold(0.0, f64::max);
        Ok([if seen.len() == count { off } else { f64::NAN }, deepest, moved + timestep])
    })
}

/// A throw of 1 m that passes a ceiling or just touches it: when it comes back.
fn grazes(bench: &Bench, findings: &mut Findings, name: &str, overlap: f64) -> Result<(), Trouble> {
    let (e, timestep) = (0.9f64, 0.01);
    let (thrown, touch) = ((2.0 * G).sqrt(), (2.0 * G * overlap.max(0.0)).sqrt());
    // Up to the ceiling or the peak, and down again with a share of the speed that is left there.
    let height = 1.0 - overlap.max(0.0);
    let down = ((e * touch * e * touch + 2.0 * G * height).sqrt() - e * touch) / G;
    let late = if touch < BOUNCES { (1.0 + e) * touch / G } else { 0.0 };
    let name = format!("back on the ground, ceiling {name} its peak, 10 ms");
    let rows =
        [Row::new(name, "s", (thrown - touch) / G + down, 1e-9 + late).if_missed_by(EngineKind::Rapier, SEES_STEPS)];
    findings.measure(rows, |_| {
        let mut scene = bench.scene(&bouncing(e, 0.0, thrown, 1.0 - overlap), timestep)?;
        let (mut back, mut before) = (f64::NAN, 0.0);
        scene.watch(1.2, |scene| {
            let (height, speed) = flight(scene);
            if before < 0.0 && speed > 0.0 && height < 0.5 && back.is_nan() {
                back = departure(scene);
            }
            before = speed;
        })?;
        Ok([back])
    })
}

// ---- a double pendulum on its stops

/// Radius of its balls, so small that they are points but for 4e-7 of their inertia.
const POINT: f64 = 0.001;
/// The gravity of the example, m/s².
const G_EXAMPLE: f64 = 10.0;

fn stopped_pendulum() -> String {
    let ([a, b], wall) = ([0.1f64, 0.2], -POINT);
    let (x, y) = (a.sin(), -a.cos());
    format!(
        "<world name=\"pendulum-stops\">
  <surface a=\"1\" b=\"0\" c=\"0\" d=\"{wall}\" friction=\"0\"/>
  <gravity y=\"-{G_EXAMPLE}\"/>
  <object name=\"base\"><static>true</static></object>
  <object name=\"upper\"><mass>1</mass><pose x=\"{x}\" y=\"{y}\"/><sphere radius=\"{POINT}\"/><material friction=\"0\" restitution=\"1\"/></object>
  <object name=\"lower\"><mass>1</mass><pose x=\"{}\" y=\"{}\"/><sphere radius=\"{POINT}\"/><material friction=\"0\" restitution=\"0\"/></object>
  <joint type=\"hinge\" name=\"shoulder\"><parent>base</parent><child>upper</child><anchor/></joint>
  <joint type=\"hinge\" name=\"elbow\"><parent>upper</parent><child>lower</child><anchor x=\"{x}\" y=\"{y}\"/></joint>
</world>",
        x + b.sin(),
        y - b.cos()
    )
}

/// The mass matrix of the angles from the vertical: its diagonal, and what couples them.
fn masses([a, b, ..]: &[f64; 4]) -> (f64, f64, f64) {
    let own = 0.4 * POINT * POINT;
    (2.0 + own, (a - b).cos(), 1.0 + own)
}

/// Angles and angular velocities after M⁻¹ times these.
fn accelerations(state: &[f64; 4], first: f64, second: f64) -> [f64; 2] {
    let (upper, cross, lower) = masses(state);
    let determinant = upper * lower - cross * cross;
    [(first * lower - second * cross) / determinant, (second * upper - first * cross) / determinant]
}

fn swing(state: &[f64; 4]) -> [f64; 4] {
    let [a, b, u, v] = *state;
    let sine = (a - b).sin();
    let [first, second] =
        accelerations(state, -sine * v * v - 2.0 * G_EXAMPLE * a.sin(), sine * u * u - G_EXAMPLE * b.sin());
    [u, v, first, second]
}

fn swing_energy(state: &[f64; 4]) -> f64 {
    let ([a, b, u, v], (upper, cross, lower)) = (*state, masses(state));
    0.5 * (upper * u * u + lower * v * v) + cross * u * v - G_EXAMPLE * (2.0 * a.cos() + b.cos())
}

/// Distances of the two balls from the wall.
fn distances([a, b, ..]: &[f64; 4]) -> [f64; 2] {
    [a.sin(), a.sin() + b.sin()]
}

/// The impact of a ball (0 or 1) on the wall.
fn strike(state: &[f64; 4], ball: usize) -> [f64; 4] {
    let [a, b, u, v] = *state;
    let row = [a.cos(), if ball == 0 { 0.0 } else { b.cos() }];
    let response = accelerations(state, row[0], row[1]);
    let restitution = if ball == 0 { 1.0 } else { 0.0 };
    let blow = -(1.0 + restitution) * (row[0] * u + row[1] * v) / (row[0] * response[0] + row[1] * response[1]);
    [a, b, u + blow * response[0], v + blow * response[1]]
}

/// Energies in J at times in s.
type Energies = Vec<(f64, f64)>;

/// What theory says: times and energies after the impacts that take energy, and the energy all along.
fn stops_in_theory(seconds: f64) -> (Energies, Energies) {
    let (mut state, mut time, step) = ([0.1, 0.2, 0.0, 0.0], 0.0, 1e-4);
    let (mut stops, mut path) = (Vec::new(), vec![(0.0, swing_energy(&state))]);
    while time < seconds {
        let struck = |state: &[f64; 4]| distances(state).iter().position(|distance| *distance < 0.0);
        let next = runge_kutta(state, step, swing);
        let Some(ball) = struck(&next) else {
            (state, time) = (next, time + step);
            continue;
        };
        // The moment by bisection; from it on the ball moves away from the wall, or along it for no time.
        let (mut before, mut after) = (0.0, step);
        for _ in 0..60 {
            let middle = 0.5 * (before + after);
            let is_past = struck(&runge_kutta(state, middle, swing)).is_some();
            *(if is_past { &mut after } else { &mut before }) = middle;
        }
        (state, time) = (strike(&runge_kutta(state, before, swing), ball), time + before);
        if ball == 1 {
            path.extend([(time, path[path.len() - 1].1), (time, swing_energy(&state))]);
            stops.push((time, swing_energy(&state)));
        }
    }
    path.push((seconds, swing_energy(&state)));
    (stops, path)
}

fn pendulum_stops(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    let (timestep, seconds, text) = (5e-4, 5.0, stopped_pendulum());
    findings.world("The world", &text);
    let (stops, theory) = stops_in_theory(seconds);
    let share = 0.229 * G_EXAMPLE.sqrt() * timestep;
    let soft = "its contacts are springs, which take energy at the stops that bounce, too";
    let mut rows = Vec::new();
    for (index, (time, energy)) in stops.iter().take(3).enumerate() {
        let number = index + 1;
        rows.push(Row::new(format!("time of stop {number}"), "s", *time, timestep));
        rows.push(Row::new(format!("energy after stop {number}"), "J", *energy, share));
    }
    rows.push(Row::new("deepest in the wall", "m", 0.0, LAYER));
    let rows: [Row; 7] = rows.try_into().expect("theory has three stops in 5 s");
    findings.measure(rows.map(|row| row.if_missed_by(EngineKind::Rapier, soft)), |findings| {
        let mut scene = bench.scene(&text, timestep)?;
        let (mut seen, mut deepest, mut path) = (Vec::new(), 0.0f64, Vec::new());
        let mut before = scene.energy();
        scene.watch(seconds, |scene| {
            let energy = scene.energy();
            // The smallest stop takes 8e-4 J, within two steps; between stops energy stays to 1e-6 J.
            let is_new = seen.last().is_none_or(|last| scene.time() - last > 0.1);
            if before - energy > 1e-4 && is_new {
                seen.push(scene.time());
            }
            for ball in ["upper", "lower"] {
                deepest = deepest.max(-scene.body(ball).pose.translation.x);
            }
            path.push((scene.time(), energy));
            before = energy;
        })?;
        let after = |time: f64| path.iter().find(|(t, _)| *t >= time + 0.02).map_or(f64::NAN, |(_, energy)| *energy);
        let plot = Plot::new("Energy of the double pendulum on its stops", "time in s", "energy in J");
        let plot = plot.line("from event to event", Line::Reference, theory);
        findings.plot(plot.line("ours, 0.5 ms", Line::Measured(0), path.clone()));
        let stop = |index: usize| seen.get(index).copied().unwrap_or(f64::NAN);
        let [first, second, third] = [stop(0), stop(1), stop(2)];
        Ok([first, after(first), second, after(second), third, after(third), deepest])
    })
}

// ---- a wheel at a step

const WHEEL: f64 = 0.5;
const STEP: f64 = 0.1;
/// I/(m r²) of a disc.
const DISC: f64 = 0.5;

/// A disc that rolls towards +x and is half a metre from the edge.
fn rolling_disc(rate: f64) -> String {
    let edge = (WHEEL * WHEEL - (WHEEL - STEP) * (WHEEL - STEP)).sqrt();
    format!(
        "<world name=\"wheel-step\">
  <surface a=\"0\" b=\"1\" c=\"0\" d=\"0\" friction=\"5\"/>
  <gravity y=\"-{G}\"/>
  <object name=\"step\"><static>true</static><pose x=\"5\" y=\"{}\"/><box x=\"10\" y=\"{STEP}\" z=\"2\"/><material friction=\"5\"/></object>
  <object name=\"wheel\">
    <mass>10</mass>
    <pose x=\"{}\" y=\"{WHEEL}\"/>
    <translationalVelocity><vx>{}</vx><vy>0</vy><vz>0</vz></translationalVelocity>
    <rotationalVelocity><omegax>0</omegax><omegay>0</omegay><omegaz>{}</omegaz></rotationalVelocity>
    <cylinder radius=\"{WHEEL}\" length=\"0.2\" axis=\"z\"/>
    <material friction=\"5\"/>
  </object>
</world>",
        STEP / 2.0,
        -edge - 0.5,
        rate * WHEEL,
        -rate
    )
}

fn wheel_step(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    let kept = 1.0 - STEP / (WHEEL * (1.0 + DISC));
    let inertia = (1.0 + DISC) * WHEEL * WHEEL;
    let slowest = (2.0 * G * STEP / inertia).sqrt() / kept;
    findings.world("A wheel that gets up", &rolling_disc(1.2 * slowest));
    let mut plot = Plot::new("Height of the wheel's middle", "x in m", "y in m").to_scale();
    for (index, share) in [0.98, 1.02, 1.2].into_iter().enumerate() {
        let (timestep, rate) = (0.001, share * slowest);
        let name = |what: &str| format!("{what}, {share} of the slowest that climbs");
        let off = G * timestep / WHEEL;
        let top = ((kept * rate).powi(2) - 2.0 * G * STEP / inertia).max(0.0).sqrt();
        let climbs = if share > 1.0 { 1.0 } else { 0.0 };
        let rows = [
            Row::new(name("turning after the edge stopped it"), "rad/s", kept * rate, off),
            Row::new(name("gets up"), "1", climbs, 0.0),
            // What an error of the rate below becomes where it is slower.
            Row::new(name("turning on the step"), "rad/s", top, if top > 0.0 { off * kept * rate / top } else { 0.0 }),
        ];
        let rows =
            rows.map(|row| row.if_missed_by(EngineKind::Rapier, "its contacts are springs, and throw the wheel back"));
        findings.measure(rows, |_| {
            let mut scene = bench.scene(&rolling_disc(rate), timestep)?;
            let (mut after, mut path) = (f64::NAN, Vec::new());
            scene.watch(0.5 / (rate * WHEEL) + 2.0, |scene| {
                let wheel = scene.body("wheel");
                let turning = -wheel.angular_velocity.z;
                if after.is_nan() && turning < (1.0 + kept) / 2.0 * rate {
                    after = turning;
                }
                path.push((wheel.pose.translation.x, wheel.pose.translation.y));
            })?;
            plot.add(format!("{share}"), Line::Measured(index), path);
            let wheel = scene.body("wheel");
            let is_up = wheel.pose.translation.y > WHEEL + STEP - LAYER;
            let top = if is_up { -wheel.angular_velocity.z } else { 0.0 };
            Ok([after, f64::from(u8::from(is_up)), top])
        })?;
    }
    findings.plot(plot);
    Ok(())
}

// ---- a point and a triangle

/// A point in the cube of 2 m about the origin.
fn point(stream: &mut Stream) -> DVec3 {
    let mut number = || 2.0 * stream.uniform() - 1.0;
    DVec3::new(number(), number(), number())
}

/// The point of a triangle that is nearest to a point, by search, and how many of its corners it is not between.
fn nearest([a, b, c]: [DVec3; 3], point: DVec3) -> (DVec3, [bool; 3]) {
    const CELLS: i32 = 8;
    let at = |[s, t]: [f64; 2]| a + (b - a) * s + (c - a) * t;
    let (mut best, mut width) = ([1.0 / 3.0, 1.0 / 3.0], 1.0);
    while width > 1e-17 {
        let middle = best;
        for i in -CELLS..=CELLS {
            for j in -CELLS..=CELLS {
                let s = (middle[0] + width * f64::from(i) / f64::from(CELLS)).clamp(0.0, 1.0);
                let t = (middle[1] + width * f64::from(j) / f64::from(CELLS)).clamp(0.0, 1.0 - s);
                if (at([s, t]) - point).length_squared() < (at(best) - point).length_squared() {
                    best = [s, t];
                }
            }
        }
        width *= 0.5;
    }
    let [s, t] = best;
    (at(best), [s < 1e-9, t < 1e-9, s + t > 1.0 - 1e-9])
}

fn point_triangle(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    const COUNT: usize = 2000;
    /// The balls come this fast, m/s, in a step of so many seconds: a contact is told if it presses.
    const SPEED: f64 = 1e-3;
    const TIMESTEP: f64 = 1e-6;
    let rows = [
        Row::new("distance, farthest off", "m", 0.0, 1e-12),
        Row::new("normal, farthest off", "rad", 0.0, 1e-7),
        Row::new("regions of a triangle that were met", "1", 7.0, 0.0).note("its face, three edges, three corners"),
    ];
    findings.measure(rows, |_| {
        let (mut stream, mut regions) = (Stream::from_number(18), std::collections::BTreeSet::new());
        let (mut distance_off, mut normal_off) = (0.0f64, 0.0f64);
        for _ in 0..COUNT {
            let corners = [(); 3].map(|()| point(&mut stream));
            let centre = point(&mut stream) * 2.0;
            let (nearest, region) = nearest(corners, centre);
            let gap = (centre - nearest).length();
            // A ball that reaches just into the triangle.
            let radius = gap + 0.1 * LAYER;
            let outward = (centre - nearest) / gap;
            let velocity = -SPEED * outward;
            let text = format!(
                "<world><gravity y=\"0\"/><object name=\"ball\"><mass>1</mass><pose x=\"{}\" y=\"{}\" z=\"{}\"/>
  <translationalVelocity><vx>{}</vx><vy>{}</vy><vz>{}</vz></translationalVelocity><sphere radius=\"{radius}\"/></object></world>",
                centre.x, centre.y, centre.z, velocity.x, velocity.y, velocity.z
            );
            let mut world = bench.world(&text)?;
            let triangles = vec![[0, 1, 2]];
            world.mechanism.grounds.clear();
            world.mechanism.grounds.push(Ground::Mesh(GroundMesh {
                vertices: corners.to_vec(),
                triangles,
                material: Material::default(),
            }));
            let mut scene = bench.stage(world, TIMESTEP)?;
            scene.step()?;
            let contacts = scene.engine.contacts();
            let [contact] = contacts else {
                return Err(Trouble::Engine(format!("a ball on a triangle has {} contacts", contacts.len())));
            };
            // The gap is that of the middle of the step.
            distance_off = distance_off.max((contact.gap + radius - gap + 0.5 * TIMESTEP * SPEED).abs());
            normal_off = normal_off.max((contact.normal - outward).length());
            regions.insert(region);
        }
        Ok([distance_off, normal_off, regions.len() as f64])
    })
}
