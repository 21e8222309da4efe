//! Impacts, stops, steps and distances: nonsmooth mechanics, for which Siconos is known. Each is compared with its
//! closed form or with an integration from event to event.

use bevy_math::DVec3;
use simpartner_dynamics::EngineKind;
use simpartner_model::{Ground, GroundMesh, Material, random::Stream};

use super::{Bench, CONTACT_LAYER, Case, Findings, G, Row, Trouble};
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

/// Reason for which rapier misses if a case depends on the time of an impact.
const LATE_IMPACT_REASON: &str = "sees an impact up to a step early or late";

// ---- a ball that bounces

/// Radius of the ball, m.
const BALL_RADIUS: f64 = 0.1;
/// Speed of approach below which nothing bounces, m/s.
const MIN_BOUNCE_SPEED: f64 = 0.05;

/// World of a ball between ground and ceiling. `height` of its lowest point and upward `speed` are those at the start;
/// `ceiling` is the height of the lowest point at which the ball touches the ceiling.
fn bouncing_world(restitution: f64, height: f64, speed: f64, ceiling: f64) -> String {
    format!(
        "<world name=\"bounces\">
  <surface a=\"0\" b=\"1\" c=\"0\" d=\"0\"/>
  <gravity y=\"-{G}\"/>
  <object name=\"ceiling\"><static>true</static><pose y=\"{}\"/><box x=\"1\" y=\"0.2\" z=\"1\"/></object>
  <object name=\"ball\">
    <mass>1</mass>
    <pose y=\"{}\"/>
    <translationalVelocity><vx>0</vx><vy>{speed}</vy><vz>0</vz></translationalVelocity>
    <sphere radius=\"{BALL_RADIUS}\"/>
    <material restitution=\"{restitution}\"/>
  </object>
</world>",
        ceiling + 2.0 * BALL_RADIUS + 0.1,
        height + BALL_RADIUS
    )
}

/// Height of the ball's lowest point, m, and its vertical velocity, m/s.
fn ball_state(scene: &Scene) -> (f64, f64) {
    let ball = scene.body("ball");
    (ball.pose.translation.y - BALL_RADIUS, ball.linear_velocity.y)
}

/// Time at which a ball in free flight left the ground, s, computed from its present state.
fn departure_time(scene: &Scene) -> f64 {
    let (height, speed) = ball_state(scene);
    scene.time() - ((speed * speed + 2.0 * G * height).sqrt() - speed) / G
}

fn impact_times(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    findings.world("e = 0.9", &bouncing_world(0.9, 1.0, 0.0, 2.0));
    for (e, count) in [(0.9f64, 6), (0.5, 4)] {
        for timestep in [0.001, 0.005, 0.01] {
            measure_bounces(bench, findings, e, count, timestep)?;
        }
    }
    for (name, overlap) in [("1 nm above", -1e-9), ("1 um below", 1e-6), ("1 mm below", 1e-3)] {
        measure_graze(bench, findings, name, overlap)?;
    }
    Ok(())
}

/// Measures the times of the first `count` bounces, and the time at which the ball comes to rest.
fn measure_bounces(bench: &Bench, findings: &mut Findings, e: f64, count: usize, timestep: f64) -> Result<(), Trouble> {
    let fall = (2.0 / G).sqrt();
    let times = (0..count).map(|n| fall * (1.0 + 2.0 * (1..=n).map(|k| e.powi(k as i32)).sum::<f64>()));
    let times: Vec<f64> = times.collect();
    let rest = fall * (1.0 + e) / (1.0 - e);
    let name = |what: &str| format!("{what}, e = {e}, {} ms", timestep * 1e3);
    let rows = [
        Row::new(name(&format!("times of {count} impacts, farthest off")), "s", 0.0, 1e-9)
            .if_missed_by(EngineKind::Rapier, LATE_IMPACT_REASON),
        Row::new(name("deepest in the ground"), "m", 0.0, CONTACT_LAYER)
            .if_missed_by(EngineKind::Rapier, LATE_IMPACT_REASON),
        Row::new(name("at rest after"), "s", rest, timestep + 2.0 * e * MIN_BOUNCE_SPEED / (G * (1.0 - e)))
            .if_missed_by(EngineKind::Rapier, LATE_IMPACT_REASON),
    ];
    findings.measure(rows, |_| {
        let mut scene = bench.scene(&bouncing_world(e, 1.0, 0.0, 2.0), timestep)?;
        let (mut seen, mut deepest, mut moved, mut before) = (Vec::new(), 0.0f64, 0.0, 0.0);
        scene.watch(rest + 0.5, |scene| {
            let (height, speed) = ball_state(scene);
            if speed > before && seen.len() < count {
                seen.push(departure_time(scene));
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

/// Measures the time at which a ball comes back that was thrown 1 m high, below a ceiling that it passes or just
/// touches.
fn measure_graze(bench: &Bench, findings: &mut Findings, name: &str, overlap: f64) -> Result<(), Trouble> {
    let (e, timestep) = (0.9f64, 0.01);
    let (thrown, touch) = ((2.0 * G).sqrt(), (2.0 * G * overlap.max(0.0)).sqrt());
    // The ball rises to the ceiling or to its peak, and comes down with the speed that the impact has left.
    let height = 1.0 - overlap.max(0.0);
    let down = ((e * touch * e * touch + 2.0 * G * height).sqrt() - e * touch) / G;
    let late = if touch < MIN_BOUNCE_SPEED { (1.0 + e) * touch / G } else { 0.0 };
    let name = format!("back on the ground, ceiling {name} its peak, 10 ms");
    let rows = [Row::new(name, "s", (thrown - touch) / G + down, 1e-9 + late)
        .if_missed_by(EngineKind::Rapier, LATE_IMPACT_REASON)];
    findings.measure(rows, |_| {
        let mut scene = bench.scene(&bouncing_world(e, 0.0, thrown, 1.0 - overlap), timestep)?;
        let (mut back, mut before) = (f64::NAN, 0.0);
        scene.watch(1.2, |scene| {
            let (height, speed) = ball_state(scene);
            if before < 0.0 && speed > 0.0 && height < 0.5 && back.is_nan() {
                back = departure_time(scene);
            }
            before = speed;
        })?;
        Ok([back])
    })
}

// ---- a double pendulum on its stops

/// Radius of the balls, m: so small that they are points, but for 4e-7 of their inertia.
const POINT_RADIUS: f64 = 0.001;
/// The gravity of the example, m/s².
const G_EXAMPLE: f64 = 10.0;

fn stopped_pendulum() -> String {
    let ([a, b], wall) = ([0.1f64, 0.2], -POINT_RADIUS);
    let (x, y) = (a.sin(), -a.cos());
    format!(
        "<world name=\"pendulum-stops\">
  <surface a=\"1\" b=\"0\" c=\"0\" d=\"{wall}\" friction=\"0\"/>
  <gravity y=\"-{G_EXAMPLE}\"/>
  <object name=\"base\"><static>true</static></object>
  <object name=\"upper\"><mass>1</mass><pose x=\"{x}\" y=\"{y}\"/><sphere radius=\"{POINT_RADIUS}\"/><material friction=\"0\" restitution=\"1\"/></object>
  <object name=\"lower\"><mass>1</mass><pose x=\"{}\" y=\"{}\"/><sphere radius=\"{POINT_RADIUS}\"/><material friction=\"0\" restitution=\"0\"/></object>
  <joint type=\"hinge\" name=\"shoulder\"><parent>base</parent><child>upper</child><anchor/></joint>
  <joint type=\"hinge\" name=\"elbow\"><parent>upper</parent><child>lower</child><anchor x=\"{x}\" y=\"{y}\"/></joint>
</world>",
        x + b.sin(),
        y - b.cos()
    )
}

/// Mass matrix for the angles from the vertical: first diagonal entry, off-diagonal entry, second diagonal entry.
fn mass_matrix([a, b, ..]: &[f64; 4]) -> (f64, f64, f64) {
    let own = 0.4 * POINT_RADIUS * POINT_RADIUS;
    (2.0 + own, (a - b).cos(), 1.0 + own)
}

/// Product of the inverse mass matrix and a vector of two torques: angular accelerations.
fn accelerations(state: &[f64; 4], first: f64, second: f64) -> [f64; 2] {
    let (upper, cross, lower) = mass_matrix(state);
    let determinant = upper * lower - cross * cross;
    [(first * lower - second * cross) / determinant, (second * upper - first * cross) / determinant]
}

fn pendulum_rates(state: &[f64; 4]) -> [f64; 4] {
    let [a, b, u, v] = *state;
    let sine = (a - b).sin();
    let [first, second] =
        accelerations(state, -sine * v * v - 2.0 * G_EXAMPLE * a.sin(), sine * u * u - G_EXAMPLE * b.sin());
    [u, v, first, second]
}

fn swing_energy(state: &[f64; 4]) -> f64 {
    let ([a, b, u, v], (upper, cross, lower)) = (*state, mass_matrix(state));
    0.5 * (upper * u * u + lower * v * v) + cross * u * v - G_EXAMPLE * (2.0 * a.cos() + b.cos())
}

/// Distances of the two balls from the wall, m.
fn wall_distances([a, b, ..]: &[f64; 4]) -> [f64; 2] {
    [a.sin(), a.sin() + b.sin()]
}

/// State after the impact of a ball (0 or 1) on the wall.
fn after_impact(state: &[f64; 4], ball: usize) -> [f64; 4] {
    let [a, b, u, v] = *state;
    let row = [a.cos(), if ball == 0 { 0.0 } else { b.cos() }];
    let response = accelerations(state, row[0], row[1]);
    let restitution = if ball == 0 { 1.0 } else { 0.0 };
    let blow = -(1.0 + restitution) * (row[0] * u + row[1] * v) / (row[0] * response[0] + row[1] * response[1]);
    [a, b, u + blow * response[0], v + blow * response[1]]
}

/// Energies in J at times in s.
type Energies = Vec<(f64, f64)>;

/// Theory: times and energies after the impacts that dissipate energy, and the energy over time.
fn stops_in_theory(seconds: f64) -> (Energies, Energies) {
    let (mut state, mut time, step) = ([0.1, 0.2, 0.0, 0.0], 0.0, 1e-4);
    let (mut stops, mut path) = (Vec::new(), vec![(0.0, swing_energy(&state))]);
    while time < seconds {
        let struck = |state: &[f64; 4]| wall_distances(state).iter().position(|distance| *distance < 0.0);
        let next = runge_kutta(state, step, pendulum_rates);
        let Some(ball) = struck(&next) else {
            (state, time) = (next, time + step);
            continue;
        };
        // The time of the impact by bisection. Afterwards the ball moves away from the wall, or leaves it at once.
        let (mut before, mut after) = (0.0, step);
        for _ in 0..60 {
            let middle = 0.5 * (before + after);
            let is_past = struck(&runge_kutta(state, middle, pendulum_rates)).is_some();
            *(if is_past { &mut after } else { &mut before }) = middle;
        }
        (state, time) = (after_impact(&runge_kutta(state, before, pendulum_rates), ball), time + before);
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
    rows.push(Row::new("deepest in the wall", "m", 0.0, CONTACT_LAYER));
    let rows: [Row; 7] = rows.try_into().expect("theory has three stops in 5 s");
    findings.measure(rows.map(|row| row.if_missed_by(EngineKind::Rapier, soft)), |findings| {
        let mut scene = bench.scene(&text, timestep)?;
        let (mut seen, mut deepest, mut path) = (Vec::new(), 0.0f64, Vec::new());
        let mut before = scene.energy();
        scene.watch(seconds, |scene| {
            let energy = scene.energy();
            // The smallest stop dissipates 8e-4 J within two steps; between stops the energy is constant to 1e-6 J.
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

/// Radius of the wheel, m.
const WHEEL_RADIUS: f64 = 0.5;
/// Height of the step, m.
const STEP_HEIGHT: f64 = 0.1;
/// I/(m r²) of a disc.
const DISC_INERTIA: f64 = 0.5;

/// World of a disc that rolls towards +x and is half a metre before the point at which it touches the edge.
fn rolling_disc(rate: f64) -> String {
    let edge = (WHEEL_RADIUS * WHEEL_RADIUS - (WHEEL_RADIUS - STEP_HEIGHT) * (WHEEL_RADIUS - STEP_HEIGHT)).sqrt();
    format!(
        "<world name=\"wheel-step\">
  <surface a=\"0\" b=\"1\" c=\"0\" d=\"0\" friction=\"5\"/>
  <gravity y=\"-{G}\"/>
  <object name=\"step\"><static>true</static><pose x=\"5\" y=\"{}\"/><box x=\"10\" y=\"{STEP_HEIGHT}\" z=\"2\"/><material friction=\"5\"/></object>
  <object name=\"wheel\">
    <mass>10</mass>
    <pose x=\"{}\" y=\"{WHEEL_RADIUS}\"/>
    <translationalVelocity><vx>{}</vx><vy>0</vy><vz>0</vz></translationalVelocity>
    <rotationalVelocity><omegax>0</omegax><omegay>0</omegay><omegaz>{}</omegaz></rotationalVelocity>
    <cylinder radius=\"{WHEEL_RADIUS}\" length=\"0.2\" axis=\"z\"/>
    <material friction=\"5\"/>
  </object>
</world>",
        STEP_HEIGHT / 2.0,
        -edge - 0.5,
        rate * WHEEL_RADIUS,
        -rate
    )
}

fn wheel_step(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    let kept = 1.0 - STEP_HEIGHT / (WHEEL_RADIUS * (1.0 + DISC_INERTIA));
    let inertia = (1.0 + DISC_INERTIA) * WHEEL_RADIUS * WHEEL_RADIUS;
    let slowest = (2.0 * G * STEP_HEIGHT / inertia).sqrt() / kept;
    findings.world("A wheel that gets up", &rolling_disc(1.2 * slowest));
    let mut plot = Plot::new("Height of the wheel's middle", "x in m", "y in m").to_scale();
    for (index, share) in [0.98, 1.02, 1.2].into_iter().enumerate() {
        let (timestep, rate) = (0.001, share * slowest);
        let name = |what: &str| format!("{what}, {share} of the slowest that climbs");
        let off = G * timestep / WHEEL_RADIUS;
        let top = ((kept * rate).powi(2) - 2.0 * G * STEP_HEIGHT / inertia).max(0.0).sqrt();
        let climbs = if share > 1.0 { 1.0 } else { 0.0 };
        let rows = [
            Row::new(name("turning after the edge stopped it"), "rad/s", kept * rate, off),
            Row::new(name("gets up"), "1", climbs, 0.0),
            // An error of the rate at the edge grows as the disc becomes slower.
            Row::new(name("turning on the step"), "rad/s", top, if top > 0.0 { off * kept * rate / top } else { 0.0 }),
        ];
        let rows =
            rows.map(|row| row.if_missed_by(EngineKind::Rapier, "its contacts are springs, and throw the wheel back"));
        findings.measure(rows, |_| {
            let mut scene = bench.scene(&rolling_disc(rate), timestep)?;
            let (mut after, mut path) = (f64::NAN, Vec::new());
            scene.watch(0.5 / (rate * WHEEL_RADIUS) + 2.0, |scene| {
                let wheel = scene.body("wheel");
                let turning = -wheel.angular_velocity.z;
                if after.is_nan() && turning < (1.0 + kept) / 2.0 * rate {
                    after = turning;
                }
                path.push((wheel.pose.translation.x, wheel.pose.translation.y));
            })?;
            plot.add(format!("{share}"), Line::Measured(index), path);
            let wheel = scene.body("wheel");
            let is_up = wheel.pose.translation.y > WHEEL_RADIUS + STEP_HEIGHT - CONTACT_LAYER;
            let top = if is_up { -wheel.angular_velocity.z } else { 0.0 };
            Ok([after, f64::from(u8::from(is_up)), top])
        })?;
    }
    findings.plot(plot);
    Ok(())
}

// ---- a point and a triangle

/// A random point in the cube of 2 m about the origin.
fn random_point(stream: &mut Stream) -> DVec3 {
    let mut number = || 2.0 * stream.uniform() - 1.0;
    DVec3::new(number(), number(), number())
}

/// The point of a triangle that is nearest to a given point, by search. The flags are true for the sides on which it
/// lies.
fn nearest_point([a, b, c]: [DVec3; 3], point: DVec3) -> (DVec3, [bool; 3]) {
    const GRID_CELLS: i32 = 8;
    let at = |[s, t]: [f64; 2]| a + (b - a) * s + (c - a) * t;
    let (mut best, mut width) = ([1.0 / 3.0, 1.0 / 3.0], 1.0);
    while width > 1e-17 {
        let middle = best;
        for i in -GRID_CELLS..=GRID_CELLS {
            for j in -GRID_CELLS..=GRID_CELLS {
                let s = (middle[0] + width * f64::from(i) / f64::from(GRID_CELLS)).clamp(0.0, 1.0);
                let t = (middle[1] + width * f64::from(j) / f64::from(GRID_CELLS)).clamp(0.0, 1.0 - s);
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
    /// Speed of the balls towards the triangle, m/s. They have to press, because only then the engine reports a
    /// contact.
    const SPEED: f64 = 1e-3;
    /// Timestep, s.
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
            let corners = [(); 3].map(|()| random_point(&mut stream));
            let centre = random_point(&mut stream) * 2.0;
            let (nearest, region) = nearest_point(corners, centre);
            let gap = (centre - nearest).length();
            // The ball just overlaps the triangle.
            let radius = gap + 0.1 * CONTACT_LAYER;
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
            // The reported gap is that in the middle of the step.
            distance_off = distance_off.max((contact.gap + radius - gap + 0.5 * TIMESTEP * SPEED).abs());
            normal_off = normal_off.max((contact.normal - outward).length());
            regions.insert(region);
        }
        Ok([distance_off, normal_off, regions.len() as f64])
    })
}
