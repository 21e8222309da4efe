//! Rotating and hinged bodies without contact: periods from elliptic integrals, energies, order of the integrator.

use simpartner_dynamics::{EngineKind, Integrator};

use super::{Bench, Case, Findings, G, Row, Trouble};
use crate::verify::{
    bench::Scene,
    math::{crossing, elliptic_k, runge_kutta},
};
use simpartner_plot::{Line, Plot};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "pendulum",
        physics: "A ball on a rod of 1 m swings for 20 s from the horizontal: far beyond small angles.",
        source: "T = 4 K(sin(45 deg)) sqrt(I/(m g l)), K the complete elliptic integral; the energy stays",
        tolerance: "The leapfrog scheme turns dt² (w_max² w0²/24 + w0⁴/12) I of its energy to and fro (second term of its shadow \
                    Hamiltonian), taken twice; its period is off by (w_max dt)²/24 of itself.",
        quick: true,
        run: pendulum,
    },
    Case {
        name: "double-pendulum",
        physics: "Two balls on rods of 0.5 m, both let go from the horizontal: they whirl chaotically. Energy over 60 s, path over 2 s.",
        source: "The energy stays; the path by the equations of motion, integrated apart from the engine with Runge-Kutta's method of \
                 fourth order at a tenth of the timestep",
        tolerance: "Energy: (w dt)⁴/4320 of 10 J, the error constant of Gauss's method, times twenty where all its terms add up; w is \
                    the elbow's, twice the largest of a rod. The midpoint scheme: M l² w_max⁴ dt²/6, twice. Order: half the timestep must bring a \
                    sixteenth (midpoint: a quarter) of the error of the path, to within a tenth of the exponent.",
        quick: true,
        run: double_pendulum,
    },
    Case {
        name: "triple-pendulum",
        physics: "Three bars of 1 kg and 0.4 m, let go from the horizontal, for a minute.",
        source: "The energy stays",
        tolerance: "Of the 18 J that move, what the peer's Runge-Kutta method loses at 1 ms; at 10 ms, where fast joints divide the \
                    step, a thousandth.",
        quick: true,
        run: triple_pendulum,
    },
    Case {
        name: "damped-hinge",
        physics: "A bar on a hinge with a spring and a damper, 10 rad/s and a damping ratio of 0.1, pushed at rest.",
        source: "q = exp(-t) sin(w t)/w, w² = 99/s²",
        tolerance: "The phase, 10 rad in a second, is off by (w dt)⁴/720 of itself, Gauss's method's error for an oscillation, when the \
                    angle is 0.1 rad at most; by w dt where damping acts at the end of a step.",
        quick: true,
        run: damped_hinge,
    },
    Case {
        name: "tumbling-brick",
        physics: "A brick without moments turns nearly about its middle axis of inertia, which is not stable: it flips over and back \
                  (Dzhanibekov's effect).",
        source: "Euler's equations: w2 has the period 4 K(k) sqrt(I1 I2 I3/((I3 - I2)(L² - 2 E I1))) (Landau and Lifshitz, Mechanics, \
                 section 37); energy and angular momentum stay",
        tolerance: "Energy, angular momentum: 1e-13 of themselves, rounding of 40000 halves of steps that falls to either side. Time between flips: (w dt)²/12 of \
                    itself, by which the reader's own interpolation between steps may be off.",
        quick: true,
        run: tumbling_brick,
    },
];

/// Reason for which rapier misses the energies.
const FIRST_ORDER_REASON: &str = "first order: its energy swings with dt, not dt²";

const PENDULUM_WORLD: &str = "<world name=\"pendulum\">
  <gravity y=\"-9.81\"/>
  <object name=\"base\"><static>true</static></object>
  <object name=\"bob\"><mass>1</mass><pose x=\"1\"/><sphere radius=\"0.05\"/></object>
  <joint type=\"hinge\" name=\"pin\"><parent>base</parent><child>bob</child><anchor x=\"0\"/></joint>
</world>";

fn pendulum(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    findings.world("The world", PENDULUM_WORLD);
    let timestep = 0.001;
    let inertia = 1.0 + 0.4 * 0.05 * 0.05;
    // Squares of the angular frequency of small swings and of the largest angular velocity.
    let (slow, fast) = (G / inertia, 2.0 * G / inertia);
    let period = 4.0 * elliptic_k(0.5f64.sqrt()) / slow.sqrt();
    let shadow = timestep * timestep * inertia * (fast * slow / 24.0 + slow * slow / 12.0);
    let rows = [
        Row::new("period, 1 ms", "s", period, period * fast * timestep * timestep / 24.0),
        Row::new("energy off in 20 s, 1 ms", "J", 0.0, 2.0 * shadow)
            .if_missed_by(EngineKind::Rapier, FIRST_ORDER_REASON),
    ];
    findings.measure(rows, |findings| {
        let mut scene = bench.scene(PENDULUM_WORLD, timestep)?;
        let start = scene.energy();
        let (mut energies, mut crossings, mut before) = (Vec::new(), Vec::new(), (0.0, 1.0));
        scene.watch(20.0, |scene| {
            energies.push((scene.time(), (scene.energy() - start).abs()));
            let now = (scene.time(), scene.body("bob").pose.translation.x);
            crossings.extend(crossing(before, now));
            before = now;
        })?;
        let worst = energies.iter().map(|(_, energy)| *energy).fold(0.0, f64::max);
        let plot = Plot::new("Energy of the pendulum", "time in s", "off, in J").logarithmic();
        let plot = plot.line("bound", Line::Reference, [(0.0, 2.0 * shadow), (20.0, 2.0 * shadow)]);
        findings.plot(plot.line("ours, 1 ms", Line::Measured(0), energies));
        Ok([2.0 * mean_interval(&crossings), worst])
    })
}

/// Mean interval between successive times, s.
fn mean_interval(times: &[f64]) -> f64 {
    match times {
        [first, .., last] => (last - first) / (times.len() - 1) as f64,
        _ => f64::NAN,
    }
}

const DOUBLE_WORLD: &str = "<world name=\"double-pendulum\">
  <gravity y=\"-9.81\"/>
  <object name=\"base\"><static>true</static></object>
  <object name=\"upper\"><mass>1</mass><pose x=\"0.5\"/><sphere radius=\"0.05\"/></object>
  <object name=\"lower\"><mass>1</mass><pose x=\"1\"/><sphere radius=\"0.05\"/></object>
  <joint type=\"hinge\" name=\"shoulder\"><parent>base</parent><child>upper</child><anchor x=\"0\"/></joint>
  <joint type=\"hinge\" name=\"elbow\"><parent>upper</parent><child>lower</child><anchor x=\"0.5\"/></joint>
</world>";

/// Time derivatives of the two rods' angles from the downward vertical and of their angular velocities, by Lagrange's
/// equations.
fn double_rate(state: &[f64; 4]) -> [f64; 4] {
    let ([a, b, u, v], l) = (*state, 0.5f64);
    let own = 0.4 * 0.05 * 0.05;
    let (sine, cosine) = (a - b).sin_cos();
    let (upper, cross, lower) = (2.0 * l * l + own, l * l * cosine, l * l + own);
    let first = -l * l * sine * v * v - 2.0 * G * l * a.sin();
    let second = l * l * sine * u * u - G * l * b.sin();
    let determinant = upper * lower - cross * cross;
    [u, v, (first * lower - second * cross) / determinant, (second * upper - first * cross) / determinant]
}

/// Position of the lower ball after each step by theory, m, and the largest angular velocity of a rod, rad/s.
fn double_theory(timestep: f64, seconds: f64) -> (Vec<(f64, f64)>, f64) {
    let (mut path, mut fastest) = (Vec::new(), 0.0f64);
    let mut state = [std::f64::consts::FRAC_PI_2, std::f64::consts::FRAC_PI_2, 0.0, 0.0];
    for _ in 0..(seconds / timestep).round() as usize {
        for _ in 0..10 {
            state = runge_kutta(state, timestep / 10.0, double_rate);
        }
        path.push((0.5 * (state[0].sin() + state[1].sin()), -0.5 * (state[0].cos() + state[1].cos())));
        fastest = fastest.max(state[2].abs()).max(state[3].abs());
    }
    (path, fastest)
}

/// Path of the lower ball, and its largest distance from the theory's path, m.
fn double_path(bench: &Bench, timestep: f64) -> Result<(Vec<(f64, f64)>, f64), Trouble> {
    let mut scene = bench.scene(DOUBLE_WORLD, timestep)?;
    let mut path = Vec::new();
    scene.watch(2.0, |scene| {
        let place = scene.body("lower").pose.translation;
        path.push((place.x, place.y));
    })?;
    let (theory, _) = double_theory(timestep, 2.0);
    let off = path.iter().zip(&theory).map(|(ours, theirs)| (ours.0 - theirs.0).hypot(ours.1 - theirs.1));
    let worst = off.fold(0.0, f64::max);
    Ok((path, worst))
}

fn double_pendulum(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    findings.world("The world", DOUBLE_WORLD);
    let (_, fastest) = double_theory(0.001, 60.0);
    let fourth = bench.settings.dynamics.integrator == Integrator::Gauss;
    let bound = |timestep: f64| match fourth {
        true => 200.0 * (2.0 * fastest * timestep).powi(4) / 4320.0,
        false => 2.0 * 0.25 * fastest.powi(4) * timestep * timestep / 6.0,
    };
    let rows = [(0.001, "1 ms"), (0.01, "10 ms")].map(|(timestep, name)| {
        Row::new(format!("energy off in 60 s, {name}"), "J", 0.0, bound(timestep))
            .note(format!("w_max = {fastest:.1} rad/s"))
            .if_missed_by(EngineKind::Rapier, FIRST_ORDER_REASON)
    });
    findings.measure(rows, |findings| {
        let mut plot = Plot::new("Energy of the double pendulum", "time in s", "off, in J").logarithmic();
        let mut worst = [0.0; 2];
        for (which, (timestep, name)) in [(0.001, "ours, 1 ms"), (0.01, "ours, 10 ms")].into_iter().enumerate() {
            let energies = energies_off(bench, DOUBLE_WORLD, timestep, 60.0)?;
            worst[which] = largest_energy(&energies);
            plot = plot.line(name, Line::Measured(which), energies);
        }
        findings.plot(plot);
        Ok(worst)
    })?;
    let order = if fourth { 4.0 } else { 2.0 };
    let rows = [Row::new("order of the path's error", "1", order, 0.1)
        .if_missed_by(EngineKind::Rapier, "first order: half the timestep brings half the error")];
    findings.measure(rows, |findings| {
        // At 4 ms and 2 ms the error is large compared with rounding.
        let (path, coarse) = double_path(bench, 0.004)?;
        let (_, fine) = double_path(bench, 0.002)?;
        let (theory, _) = double_theory(0.004, 2.0);
        let plot = Plot::new("Path of the lower ball, 2 s", "x in m", "y in m").to_scale();
        findings.plot(plot.line("ours, 4 ms", Line::Measured(0), path).line("theory", Line::Reference, theory));
        Ok([(coarse / fine).log2()])
    })
}

/// Time, s, and absolute energy error, J, after each step of a world.
fn energies_off(bench: &Bench, world: &str, timestep: f64, seconds: f64) -> Result<Vec<(f64, f64)>, Trouble> {
    let mut scene = bench.scene(world, timestep)?;
    let (start, mut energies) = (scene.energy(), Vec::new());
    scene.watch(seconds, |scene| energies.push((scene.time(), (scene.energy() - start).abs())))?;
    Ok(energies)
}

fn largest_energy(energies: &[(f64, f64)]) -> f64 {
    energies.iter().map(|(_, energy)| *energy).fold(0.0, f64::max)
}

const TRIPLE_WORLD: &str = "<world name=\"triple-pendulum\">
  <gravity y=\"-9.81\"/>
  <object name=\"base\"><static>true</static></object>
  <object name=\"upper\"><mass>1</mass><pose x=\"0.2\"/><inertia ixx=\"0.001\" iyy=\"0.0134\" izz=\"0.0134\"/></object>
  <object name=\"middle\"><mass>1</mass><pose x=\"0.6\"/><inertia ixx=\"0.001\" iyy=\"0.0134\" izz=\"0.0134\"/></object>
  <object name=\"lower\"><mass>1</mass><pose x=\"1\"/><inertia ixx=\"0.001\" iyy=\"0.0134\" izz=\"0.0134\"/></object>
  <joint type=\"hinge\" name=\"one\"><parent>base</parent><child>upper</child><anchor x=\"0\"/></joint>
  <joint type=\"hinge\" name=\"two\"><parent>upper</parent><child>middle</child><anchor x=\"0.4\"/></joint>
  <joint type=\"hinge\" name=\"three\"><parent>middle</parent><child>lower</child><anchor x=\"0.8\"/></joint>
</world>";

fn triple_pendulum(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    findings.world("The world", TRIPLE_WORLD);
    let rows = [("1 ms", 3.5e-5), ("10 ms", 0.018)].map(|(name, bound)| {
        Row::new(format!("energy off in 60 s, {name}"), "J", 0.0, bound)
            .if_missed_by(EngineKind::Rapier, FIRST_ORDER_REASON)
    });
    findings.measure(rows, |findings| {
        let fine = energies_off(bench, TRIPLE_WORLD, 0.001, 60.0)?;
        let coarse = energies_off(bench, TRIPLE_WORLD, 0.01, 60.0)?;
        let worst = [largest_energy(&fine), largest_energy(&coarse)];
        let plot = Plot::new("Energy of the triple pendulum", "time in s", "off, in J").logarithmic();
        findings.plot(plot.line("ours, 1 ms", Line::Measured(0), fine).line("ours, 10 ms", Line::Measured(1), coarse));
        Ok(worst)
    })
}

const DAMPED_WORLD: &str = "<world name=\"damped-hinge\">
  <gravity y=\"0\"/>
  <object name=\"base\"><static>true</static></object>
  <object name=\"bar\"><mass>1</mass><rotationalVelocity><omegax>0</omegax><omegay>0</omegay><omegaz>1</omegaz></rotationalVelocity>
    <inertia ixx=\"0.1\" iyy=\"0.1\" izz=\"0.1\"/></object>
  <joint type=\"hinge\" name=\"pin\"><parent>base</parent><child>bar</child><anchor x=\"0\"/><axis z=\"1\"/>
    <free axis=\"3\" stiffness=\"10\" damping=\"0.2\"/></joint>
</world>";

fn damped_hinge(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    findings.world("The world", DAMPED_WORLD);
    // q'' + 2 q' + 100 q = 0 with q = 0 and q' = 1 at the start.
    let theory = |t: f64| (-t).exp() * (99.0f64.sqrt() * t).sin() / 99.0f64.sqrt();
    let fourth = bench.settings.dynamics.integrator == Integrator::Gauss;
    let rows = [(0.001, "1 ms"), (0.01, "10 ms")].map(|(timestep, name)| {
        let phase: f64 = if fourth { (10.0f64 * timestep).powi(4) * 10.0 / 720.0 } else { 10.0 * timestep };
        Row::new(format!("angle off in 3 s, {name}"), "rad", 0.0, 0.1 * phase)
            .if_missed_by(EngineKind::Rapier, "refuses springs in joints")
    });
    findings.measure(rows, |_| {
        let mut worst = [0.0f64; 2];
        for (worst, timestep) in worst.iter_mut().zip([0.001, 0.01]) {
            let mut scene = bench.scene(DAMPED_WORLD, timestep)?;
            let pin = scene.joint("pin");
            scene.watch(3.0, |scene| {
                *worst = worst.max((scene.engine.joint(pin).position[2] - theory(scene.time())).abs());
            })?;
        }
        Ok(worst)
    })
}

const BRICK_WORLD: &str = "<world name=\"brick\">
  <gravity y=\"0\"/>
  <object name=\"brick\">
    <mass>1</mass>
    <rotationalVelocity><omegax>0.1</omegax><omegay>5</omegay><omegaz>0.1</omegaz></rotationalVelocity>
    <box x=\"1\" y=\"0.6\" z=\"0.2\"/>
  </object>
</world>";

/// Time between two flips of the brick by theory, s.
fn flip_time() -> f64 {
    let [i1, i2, i3] = [0.36 + 0.04, 1.0 + 0.04, 1.0 + 0.36].map(|sum: f64| sum / 12.0);
    let spin = [0.1, 5.0, 0.1];
    let moments = [i1, i2, i3];
    let twice_energy = (0..3).map(|i| moments[i] * spin[i] * spin[i]).sum::<f64>();
    let squared = (0..3).map(|i| (moments[i] * spin[i]).powi(2)).sum::<f64>();
    let (far, near) = (twice_energy * i3 - squared, squared - twice_energy * i1);
    let modulus = ((i2 - i1) * far / ((i3 - i2) * near)).sqrt();
    2.0 * elliptic_k(modulus) * (i1 * i2 * i3 / ((i3 - i2) * near)).sqrt()
}

fn tumbling_brick(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    findings.world("The world", BRICK_WORLD);
    let (timestep, seconds) = (0.001, 20.0);
    let time = flip_time();
    let rows = [
        Row::new("time between flips, 1 ms", "s", time, (5.0f64 * timestep).powi(2) / 12.0 * time),
        Row::new("energy off in 20 s, of itself", "1", 0.0, 1e-13),
        Row::new("angular momentum off in 20 s, of itself", "1", 0.0, 1e-13),
    ];
    findings.measure(rows, |findings| {
        let mut scene = bench.scene(BRICK_WORLD, timestep)?;
        let (energy, (_, momentum)) = (scene.energy(), scene.momenta());
        let (mut of_energy, mut of_momentum) = (0.0f64, 0.0f64);
        let (mut spins, mut crossings) = (Vec::new(), Vec::new());
        let mut before = (0.0, 5.0);
        scene.watch(seconds, |scene: &Scene| {
            of_energy = of_energy.max((scene.energy() / energy - 1.0).abs());
            of_momentum = of_momentum.max((scene.momenta().1 - momentum).length() / momentum.length());
            let state = scene.body("brick");
            let spin = state.pose.rotation.inverse() * state.angular_velocity;
            crossings.extend(crossing(before, (scene.time(), spin.y)));
            before = (scene.time(), spin.y);
            spins.push((scene.time(), spin));
        })?;
        let plot = Plot::new("Angular velocity about the brick's own axes", "time in s", "rad/s");
        let about = |axis: usize| spins.iter().map(move |(t, spin)| (*t, spin[axis]));
        let plot = plot.line("long", Line::Measured(0), about(0)).line("middle", Line::Measured(1), about(1));
        findings.plot(plot.line("short", Line::Measured(2), about(2)));
        Ok([mean_interval(&crossings), of_energy, of_momentum])
    })
}
