//! What is parked on a slope of soil stays where it is.

use bevy_math::DQuat;

use super::{run, slope, soil, steps};
use crate::{build, six_wheels};

#[test]
fn parked_probe() {
    let env = |name: &str, default: f64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let only = env("HEADING", -1.0);
    let only_h = env("STEP", -1.0);
    let angle = env("ANGLE", 15.0).to_radians();
    let settle = env("SETTLE", 15.0);
    let name = std::env::var("SOIL").unwrap_or("drySand".into());
    for h in [0.001, 0.002, 0.005, 0.01] {
        if only_h >= 0.0 && h != only_h { continue; }
        let (mut held, mut worst) = (0, 0.0f64);
        let mut line = String::new();
        for k in 0..40 {
            if only >= 0.0 && f64::from(k) != only { continue; }
            let heading = f64::from(k) * std::f64::consts::TAU / 40.0;
            let mut world = slope(soil(&name), angle);
            let turn = DQuat::from_rotation_z(-angle);
            let rover = six_wheels::add(&mut world, bevy_math::DVec3::ZERO, turn * DQuat::from_rotation_y(heading));
            let mut engine = build(&world, h);
            rover.park(&mut *engine);
            let mut notices = 0;
            for _ in 0..steps(h, settle) { engine.step(); notices += engine.notices().len(); }
            let before = engine.body(rover.chassis).pose.translation;
            if only >= 0.0 {
                let per = steps(h, env("EVERY", 0.5)).max(1);
                for step in 0..steps(h, 10.0) {
                    engine.step();
                    if step % per == 0 {
                        let moved = engine.body(rover.chassis).pose.translation - before;
                        let v = engine.body(rover.chassis).linear_velocity;
                        let each: Vec<String> = rover.wheels.iter().map(|&w| { let s = engine.soil(w); let v = engine.body(w).linear_velocity; s.map_or("-".into(), |s| format!("{:.2}/{:.0}/{:.0}/{:.0} v{:.1e}", 1e3*s.sinkage, s.normal_force, s.drawbar_pull, s.lateral_force, v.length())) }).collect();
                        println!("{:.3} moved {:.5} {:.5} {:.5} mm v {:.1e} | {}", h * step as f64, 1e3*moved.x, 1e3*moved.y, 1e3*moved.z, v.length(), each.join(" | "));
                    }
                }
            } else {
                for _ in 0..steps(h, 10.0) { engine.step(); notices += engine.notices().len(); }
            }
            let drift = 1e3 * (engine.body(rover.chassis).pose.translation - before).length();
            if drift < 0.1 { held += 1; }
            worst = worst.max(drift);
            line += &format!("{k}:{drift:.1e}({notices}) ");
        }
        println!("{name} {h}: {held} of 40 hold, worst {worst:.3} mm; {line}");
    }
    run(&mut *build(&slope(soil(&name), 0.0), 0.001), 0.001, 0.0);
}
