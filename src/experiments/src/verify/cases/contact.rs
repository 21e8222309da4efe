//! Impacts and held loads: bouncing, grasping and stacking (thesis 4.1.3).

use bevy_math::DVec3;
use simpartner_dynamics::{EngineKind, Motor};

use super::{Bench, CONTACT_LAYER, Case, Findings, G, Row, SOLVED_SPEED, Trouble};
use simpartner_plot::{Line, Plot};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "two-spheres",
        physics: "Two equal balls of 0.5 m fly at each other, collide, fall to the ground and go on: all of it mirrored, to the last bit.",
        source: "Symmetry; place and height of the collision by free fall (thesis 4.1.3, figures 5 and 6: the asymmetry grows without \
                 end once they have touched the ground)",
        tolerance: "Asymmetry: 0. Collision: it is seen at the end of a step, so the distance may be off by 2 v dt (and 1e-9 m for rounding) and the height by \
                    v_y dt, v_y that of the step after. Speed after it: rounding, 1e-12 m/s.",
        quick: true,
        run: two_spheres,
    },
    Case {
        name: "bouncing-ball",
        physics: "A ball falls by 4.5 m and bounces with e = 0.5 and 0.9: each peak is e² times the one before.",
        source: "Newton's law of impact and free flight: h' = e² h",
        tolerance: "The ball turns at the ground; a peak is seen at the nearest step, g dt²/8 too low, and rounding.",
        quick: true,
        run: bouncing_ball,
    },
    Case {
        name: "cradle",
        physics: "Newton's cradle: a ball of 1 m/s meets four at rest in a row, elastic all of them, with gaps of 0.1 mm or touching.",
        source: "Two equal elastic balls exchange their velocities, and the blow goes from pair to pair: the last ball leaves with 1 m/s",
        tolerance: "1e-9, rounding, on the speed and the energy, of which there is 1 (of what came)",
        quick: true,
        run: cradle,
    },
    Case {
        name: "grasp",
        physics: "Two fingers of 0.1 kg press a pole of up to 20 kg so that friction can carry 1.5 times its weight, and lift it: it does not \
                  creep.",
        source: "Coulomb: what is held does not slip at all, and is carried with m g",
        tolerance: "Way: 1e-6 m/s, at which a contact counts as solved, for 10 s. Force: the mass times that speed, by the timestep.",
        quick: false,
        run: grasp,
    },
    Case {
        name: "stack",
        physics: "Ten cubes of 0.5 m and 10 kg stand on each other for 20 s.",
        source: "Statics: the middle of the topmost is at 4.75 m, the ground carries 981 N, and nothing moves",
        tolerance: "Height: 1e-6 m to which a contact may be pressed in, ten times. Force: 100 kg times 1e-6 m/s, at which a contact \
                    counts as solved, by the timestep. Speed: that speed.",
        quick: false,
        run: stack,
    },
    Case {
        name: "mass-ratio",
        physics: "A cube of 1000 kg stands on one of 1 kg for 5 s.",
        source: "Statics: its middle stays at 0.75 m",
        tolerance: "1e-6 m to which a contact may be pressed in, twice",
        quick: true,
        run: mass_ratio,
    },
];

fn spheres_world(restitution: f64) -> String {
    let ball = |name: &str, side: f64| {
        format!(
            "  <object name=\"{name}\">
    <mass>1</mass>
    <pose x=\"{}\" y=\"5\"/>
    <translationalVelocity><vx>{}</vx><vy>0</vy><vz>0</vz></translationalVelocity>
    <sphere radius=\"0.5\"/>
    <material restitution=\"{restitution}\"/>
  </object>",
            3.0 * side,
            -5.0 * side
        )
    };
    format!(
        "<world name=\"spheres\">
  <surface a=\"0\" b=\"1\" c=\"0\" d=\"0\"/>
  <gravity y=\"-{G}\"/>
{}
{}
</world>",
        ball("right", 1.0),
        ball("left", -1.0)
    )
}

fn two_spheres(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    let (timestep, meeting) = (0.001, 0.5);
    findings.world("Elastic balls", &spheres_world(1.0));
    let mut plot = Plot::new("Paths of the balls (figure 5)", "x in m", "y in m").to_scale();
    for (index, restitution) in [1.0, 0.0].into_iter().enumerate() {
        let name = |what: &str| format!("{what}, e = {restitution}");
        let fall = 5.0 - G * meeting * meeting / 2.0;
        let rows = [
            Row::new(name("asymmetry in 10 s"), "m", 0.0, 0.0)
                .note("thesis: grows from the first touch of the ground on, no figure"),
            Row::new(name("asymmetry of velocities"), "m/s", 0.0, 0.0),
            Row::new(name("least distance of the centres"), "m", 1.0, 2.0 * 5.0 * timestep + 1e-9).thesis(1.0),
            Row::new(name("height where they meet"), "m", fall, G * (meeting + timestep) * timestep)
                .if_missed_by(EngineKind::Rapier, "first order: it has fallen by g/2 dt t too far"),
            Row::new(name("speed apart 20 ms after it"), "m/s", 10.0 * restitution, 1e-12),
        ];
        findings.measure(rows, |_| {
            let mut scene = bench.scene(&spheres_world(restitution), timestep)?;
            let (mut place, mut speed, mut nearest, mut height) = (0.0f64, 0.0f64, f64::INFINITY, f64::NAN);
            let mut apart = f64::NAN;
            let mut paths = [Vec::new(), Vec::new()];
            scene.watch(10.0, |scene| {
                let (right, left) = (scene.body("right"), scene.body("left"));
                let mirrored = DVec3::new(-1.0, 1.0, 1.0);
                let off = |a: DVec3, b: DVec3| (a - b * mirrored).abs().max_element();
                place = place.max(off(right.pose.translation, left.pose.translation));
                speed = speed.max(off(right.linear_velocity, left.linear_velocity));
                nearest = nearest.min((right.pose.translation - left.pose.translation).length());
                if height.is_nan() && right.linear_velocity.x > -4.5 {
                    height = right.pose.translation.y;
                }
                if apart.is_nan() && scene.time() >= meeting + 0.02 {
                    apart = right.linear_velocity.x - left.linear_velocity.x;
                }
                for (path, state) in paths.iter_mut().zip([right, left]) {
                    path.push((state.pose.translation.x, state.pose.translation.y));
                }
            })?;
            if index == 0 {
                let shown = |path: &[(f64, f64)]| path.iter().take(2500).copied().collect();
                plot.add("right ball", Line::Measured(0), shown(&paths[0]));
                plot.add("left ball", Line::Measured(1), shown(&paths[1]));
            }
            Ok([place, speed, nearest, height, apart])
        })?;
    }
    findings.plot(plot);
    Ok(())
}

fn ball_world(restitution: f64) -> String {
    format!(
        "<world name=\"bounce\">
  <surface a=\"0\" b=\"1\" c=\"0\" d=\"0\"/>
  <gravity y=\"-{G}\"/>
  <object name=\"ball\">
    <mass>1</mass>
    <pose y=\"5\"/>
    <sphere radius=\"0.5\"/>
    <material restitution=\"{restitution}\"/>
  </object>
</world>"
    )
}

/// Height of the ball's lowest point at a time, by the closed form, m.
fn bounce_law(drop: f64, e: f64, time: f64) -> f64 {
    let first = (2.0 * drop / G).sqrt();
    if time < first {
        return drop - G * time * time / 2.0;
    }
    let (mut speed, mut start) = (e * G * first, first);
    // The infinitely many bounces that are left out are lower than 0.13 mm each.
    while speed > 0.05 {
        let length = 2.0 * speed / G;
        if time < start + length {
            let t = time - start;
            return speed * t - G * t * t / 2.0;
        }
        (start, speed) = (start + length, e * speed);
    }
    0.0
}

fn bouncing_ball(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    let (drop, radius) = (4.5f64, 0.5);
    findings.world("e = 0.9", &ball_world(0.9));
    for e in [0.5f64, 0.9] {
        let mut plot = Plot::new(format!("Height of the lowest point, e = {e}"), "time in s", "height in m");
        for timestep in [0.001, 0.01] {
            let milliseconds = timestep * 1e3;
            let off = G * timestep * timestep / 8.0 + 1e-9;
            let rows = [1, 2, 3].map(|number| {
                Row::new(format!("peak {number}, e = {e}, {milliseconds} ms"), "m", drop * e.powi(2 * number), off)
                    .if_missed_by(
                        EngineKind::Rapier,
                        "sees an impact up to a step early or late, up to v dt from the ground",
                    )
            });
            findings.measure(rows, |_| {
                let mut scene = bench.scene(&ball_world(e), timestep)?;
                let (mut peaks, mut highest, mut rising, mut path) = (Vec::new(), 0.0f64, false, Vec::new());
                scene.watch(10.0, |scene| {
                    let state = scene.body("ball");
                    let height = state.pose.translation.y - radius;
                    path.push((scene.time(), height));
                    if state.linear_velocity.y > 0.0 {
                        (rising, highest) = (true, highest.max(height));
                    } else if rising {
                        peaks.push(std::mem::take(&mut highest).max(height));
                        rising = false;
                    }
                })?;
                if timestep == 0.001 {
                    path.retain(|(t, _)| *t < 4.0);
                    plot.add(
                        "closed form",
                        Line::Reference,
                        path.iter().map(|(t, _)| (*t, bounce_law(drop, e, *t))).collect(),
                    );
                    plot.add("ours, 1 ms", Line::Measured(0), path);
                }
                Ok([0, 1, 2].map(|index| peaks.get(index).copied().unwrap_or(f64::NAN)))
            })?;
        }
        findings.plot(plot);
    }
    Ok(())
}

fn cradle(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    for (gap, name) in [(1e-4, "gaps of 0.1 mm"), (0.0, "touching")] {
        let balls = (0..5).map(|index| {
            let x = (0.1 + gap) * f64::from(index) - if index == 0 { 0.1 } else { 0.0 };
            let speed = if index == 0 {
                "<translationalVelocity><vx>1</vx><vy>0</vy><vz>0</vz></translationalVelocity>"
            } else {
                ""
            };
            format!(
                "  <object name=\"ball{index}\"><mass>1</mass><pose x=\"{x}\"/>{speed}<sphere radius=\"0.05\"/>\
                 <material friction=\"0\" restitution=\"1\"/></object>\n"
            )
        });
        let text = format!("<world name=\"cradle\">\n  <gravity y=\"0\"/>\n{}</world>", balls.collect::<String>());
        findings.world(format!("The cradle, {name}"), &text);
        let soft = "its law solves all impacts of a step at once";
        let rows = [
            Row::new(format!("speed of the last ball, {name}"), "m/s", 1.0, 1e-9),
            Row::new(format!("energy left, {name}"), "1", 1.0, 1e-9),
        ];
        findings.measure(rows.map(|row| row.if_missed_by(EngineKind::Rapier, soft)), |_| {
            let mut scene = bench.scene(&text, 0.001)?;
            scene.watch(1.0, |_| {})?;
            let speeds = (0..5).map(|index| scene.body(&format!("ball{index}")).linear_velocity);
            let squares = speeds.map(|velocity| velocity.length_squared()).sum();
            Ok([scene.body("ball4").linear_velocity.x, squares])
        })?;
    }
    Ok(())
}

fn gripper_world(mass: f64) -> String {
    let finger = |name: &str, z: f64| {
        format!(
            "  <object name=\"{name}\">
    <mass>0.1</mass>
    <pose y=\"0.5\" z=\"{z}\"/>
    <box x=\"0.04\" y=\"0.06\" z=\"0.02\"/>
  </object>
  <joint type=\"slider\" name=\"close_{name}\"><parent>palm</parent><child>{name}</child></joint>"
        )
    };
    format!(
        "<world name=\"gripper\">
  <surface a=\"0\" b=\"1\" c=\"0\" d=\"0\"/>
  <gravity y=\"-{G}\"/>
  <object name=\"post\"><static>true</static></object>
  <object name=\"palm\"><mass>1</mass><pose y=\"0.6\"/></object>
  <joint type=\"slider\" name=\"lift\"><parent>post</parent><child>palm</child><axis y=\"1\"/></joint>
{}
{}
  <object name=\"pole\">
    <mass>{mass}</mass>
    <pose y=\"0.5\"/>
    <cylinder radius=\"0.02\" length=\"1\"/>
  </object>
</world>",
        finger("near", 0.031),
        finger("far", -0.031)
    )
}

/// The fingers close on the standing pole, and the palm rises by 5 cm within a second. After that nothing may move.
fn grasp(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    let (timestep, mu, seconds) = (0.001, 0.8, 10.0);
    findings.world("The gripper", &gripper_world(5.0));
    let mut plot = Plot::new("Creep of the held pole", "time in s", "way in m").logarithmic();
    for (index, mass) in [0.5, 5.0, 20.0].into_iter().enumerate() {
        let rows = [
            Row::new(format!("way of {mass} kg in 10 s"), "m", 0.0, SOLVED_SPEED * seconds)
                .if_missed_by(EngineKind::Rapier, "its friction gives way to a steady load"),
            Row::new(format!("friction that carries {mass} kg"), "N", mass * G, mass * SOLVED_SPEED / timestep),
        ];
        findings.measure(rows, |_| {
            let mut scene = bench.scene(&gripper_world(mass), timestep)?;
            let max_effort = 1.5 * mass * G / (2.0 * mu);
            for (name, target) in [("close_near", -1.0), ("close_far", 1.0)] {
                let joint = scene.joint(name);
                scene.engine.set_motor(joint, 2, Motor::Velocity { target, max_effort });
            }
            let lift = scene.joint("lift");
            let height = |time: f64| 0.025 * (1.0 - ((time - 0.5).clamp(0.0, 1.0) * std::f64::consts::PI).cos());
            while scene.time() < 2.0 {
                let target = height(scene.time());
                scene.engine.set_motor(lift, 2, Motor::Position { target, max_effort: 1e4 });
                scene.step()?;
            }
            let hangs = |scene: &crate::verify::bench::Scene| {
                scene.body("pole").pose.translation.y - scene.body("near").pose.translation.y
            };
            let (start, mut path) = (hangs(&scene), Vec::new());
            scene.watch(seconds, |scene| path.push((scene.time() - 2.0, (hangs(scene) - start).abs())))?;
            plot.add(format!("{mass} kg"), Line::Measured(index), path);
            Ok([(hangs(&scene) - start).abs(), scene.body("pole").force.y])
        })?;
    }
    findings.plot(plot);
    Ok(())
}

fn stack(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    let (count, timestep) = (10, 0.001);
    let boxes: Vec<String> = (0..count)
        .map(|index| {
            let (x, y) = (0.001 * f64::from(index % 2), 0.25 + 0.5 * f64::from(index));
            format!(
                "  <object name=\"box{index}\"><mass>10</mass><pose x=\"{x}\" y=\"{y}\"/><box x=\"0.5\" y=\"0.5\" z=\"0.5\"/><material \
                 friction=\"0.5\"/></object>"
            )
        })
        .collect();
    let text = format!(
        "<world name=\"stack\">\n  <surface a=\"0\" b=\"1\" c=\"0\" d=\"0\"/>\n  <gravity y=\"-{G}\"/>\n{}\n</world>",
        boxes.join("\n")
    );
    findings.world("The world", &text);
    let sinks = "its contacts are springs and sink in by its surface layer";
    let rows = [
        Row::new("height of the topmost after 20 s", "m", 4.75, f64::from(count) * CONTACT_LAYER)
            .if_missed_by(EngineKind::Rapier, sinks),
        Row::new("what the ground carries", "N", 100.0 * G, 100.0 * SOLVED_SPEED / timestep),
        Row::new("fastest after 20 s", "m/s", 0.0, SOLVED_SPEED)
            .if_missed_by(EngineKind::Rapier, "its contacts are springs that still give"),
    ];
    findings.measure(rows, |findings| {
        let mut scene = bench.scene(&text, timestep)?;
        let mut path = Vec::new();
        scene.watch(20.0, |scene| path.push((scene.time(), (scene.body("box9").pose.translation.y - 4.75).abs())))?;
        let ground = scene.engine.contacts().iter().filter(|contact| contact.bodies[0].is_none());
        let carried: f64 = ground.map(|contact| contact.wrench.force.y).sum();
        let speeds = (0..count).map(|index| scene.body(&format!("box{index}")).linear_velocity.length());
        let fastest = speeds.fold(0.0, f64::max);
        let plot = Plot::new("Height of the topmost box", "time in s", "off 4.75 m, in m").logarithmic();
        findings.plot(plot.line("ours", Line::Measured(0), path));
        Ok([scene.body("box9").pose.translation.y, carried, fastest])
    })
}

fn mass_ratio(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    let cube = |name: &str, mass: f64, y: f64| {
        format!(
            "  <object name=\"{name}\"><mass>{mass}</mass><pose y=\"{y}\"/><box x=\"0.5\" y=\"0.5\" z=\"0.5\"/><material friction=\"0.5\"/></object>"
        )
    };
    let text = format!(
        "<world name=\"mass-ratio\">\n  <surface a=\"0\" b=\"1\" c=\"0\" d=\"0\"/>\n  <gravity y=\"-{G}\"/>\n{}\n{}\n</world>",
        cube("light", 1.0, 0.25),
        cube("heavy", 1000.0, 0.75)
    );
    findings.world("The world", &text);
    let rows = [Row::new("height of 1000 kg on 1 kg after 5 s", "m", 0.75, 2.0 * CONTACT_LAYER)
        .if_missed_by(EngineKind::Rapier, "its contacts are springs and sink in by its surface layer")];
    findings.measure(rows, |_| {
        let mut scene = bench.scene(&text, 0.001)?;
        scene.watch(5.0, |_| {})?;
        Ok([scene.body("heavy").pose.translation.y])
    })
}
