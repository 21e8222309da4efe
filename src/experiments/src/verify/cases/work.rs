//! WorkPartner 2 to 4 at work (thesis 4.2.2, 4.2.3 and 4.4): a rotating scanner, a pole that is carried, wheel loads, a
//! drive over terrain.

use bevy_math::DVec3;
use simpartner_description::{DeviceSpec, Mount, Scanner, Sensor};
use simpartner_model::{BodyId, DeviceId, Heightfield, Pose};
use simpartner_wire::signal::DeviceKind;

use super::{Bench, Case, Findings, G, Row, Trouble};
use crate::verify::bench::Drive;
use simpartner_plot::{Line, Plot};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "scanner",
        physics: "The torso of WorkPartner 2 turns at 0.01 rad/s before a wall; eleven rays measure how far it is.",
        source: "the wall's plane met by the rays of the torso's logged pose; with an upright torso that is d = L / cos(a0 - w t) \
                 (thesis 4.2.2, equation 19, figure 10)",
        tolerance: "1e-6 m of a reading; the place of the scanner 1 mm, since legs and waist give way under the torso's weight",
        quick: true,
        run: scanner,
    },
    Case {
        name: "pole",
        physics: "WorkPartner 3 takes a pole of 5 kg off two cubes, carries it 2 m and lays it on two others, by a sequence alone.",
        source: "statics: the pole's weight is m g = 49.05 N, wheel loads follow from the place of the centre of mass (thesis \
                 4.2.3, figures 11 and 12)",
        tolerance: "1 % of the pole's weight and of a wheel's load; 5 cm of the way, which is a matter of time alone; the pole lies \
                    on the cubes to 1 mm and rests to 1 mm/s",
        quick: false,
        run: pole,
    },
    Case {
        name: "weight",
        physics: "WorkPartner 4 stands for ten seconds; its wheels carry what those of the robot carried.",
        source: "loads measured on the robot, with 196 N a wheel below the force sensors (thesis 4.4.1, table 1)",
        tolerance: "1 % of each load; the thesis was off by up to 4 %",
        quick: true,
        run: weight,
    },
    Case {
        name: "terrain",
        physics: "WorkPartner 4 drives over a slope, two bumps and a row of waves, its wheels at 1.5 rad/s for 104.75 s.",
        source: "a wheel on a tyre that gives way by d rolls (r - d) w t along the ground (thesis 4.4.2 to 4.4.5: 34.5 m in 104.75 s; \
                 the robot slows down and its forces peak where the terrain says so)",
        tolerance: "1 % of the way, for what wheels slip where the ground bends; 2 % of the time in which a load is a fifth off, or the \
                    robot a tenth slower, may be outside the features",
        quick: false,
        run: terrain,
    },
];

/// Names of the wheels' bodies.
const WHEEL_NAMES: [&str; 4] = ["Wheel1", "Wheel2", "Wheel3", "Wheel4"];

fn scanner(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    let rows = [
        Row::new("farthest any ray is off the wall", "m", 0.0, 1e-6),
        Row::new("rate of the torso", "rad/s", 0.01, 1e-6).thesis(0.01),
        Row::new("distance of scanner and wall", "m", 5.335, 1e-3).thesis(5.335),
    ];
    findings.measure(rows, |findings| {
        let mut drive = bench.drive(bench.shipped("scanner.xml")?)?;
        let timeline = drive.play("scanner.xml")?;
        let [torso] = drive.bodies(["Torso"]);
        let (device, mount, scanner) = find_scanner(&drive);
        let wall = 6.0;
        let (mut worst, mut errors, mut turns) = (0.0f64, Vec::new(), Vec::new());
        let mut readings: [Vec<(f64, f64)>; 3] = Default::default();
        let mut distance = f64::NAN;
        drive.watch(timeline.steps, |drive| {
            if drive.time() < 2.0 || !drive.record().fresh[device.index()] {
                return;
            }
            let pose = drive.pose(torso);
            let ahead = pose.direction(DVec3::X);
            turns.push((drive.time(), f64::atan2(-ahead.z, ahead.x)));
            let origin = pose.point(mount.translation);
            distance = wall - origin.x;
            let values = drive.record().device(drive.simulation.layout(), device);
            let off = values.iter().enumerate().map(|(ray, read)| {
                let angle = scanner.half_angle * (2.0 * ray as f64 / (scanner.rays - 1) as f64 - 1.0);
                let direction = pose.direction(mount.direction(DVec3::new(angle.sin(), 0.0, angle.cos())));
                (read - distance / direction.x).abs()
            });
            let off = off.fold(0.0, f64::max);
            worst = worst.max(off);
            errors.push((drive.time(), 1e9 * off));
            for (line, ray) in readings.iter_mut().zip([0, 5, 10]) {
                line.push((drive.time(), values[ray]));
            }
        })?;
        let mut plot = Plot::new("What three of the rays read (figures 29 and 30)", "time in s", "distance in m");
        for (index, (line, name)) in readings.into_iter().zip(["rightmost", "middle", "leftmost"]).enumerate() {
            plot = plot.line(name, Line::Measured(index), line);
        }
        findings.plot(plot);
        let plot = Plot::new("Farthest any ray is off (figure 10)", "time in s", "distance in nm");
        findings.plot(plot.line("ours", Line::Measured(0), errors));
        let (first, last) = (turns[turns.len() / 10], turns[turns.len() - 1]);
        Ok([worst, (last.1 - first.1) / (last.0 - first.0), distance])
    })
}

/// Record of the vertical wheel forces.
struct Loads {
    wheels: [BodyId; 4],
    /// Time, s, and force of each wheel, N.
    samples: Vec<(f64, [f64; 4])>,
}

impl Loads {
    /// An empty record.
    fn new(drive: &Drive) -> Self {
        Self { wheels: drive.bodies(WHEEL_NAMES), samples: Vec::new() }
    }

    /// Adds the present forces.
    fn add_sample(&mut self, drive: &Drive) {
        self.samples.push((drive.time(), self.wheels.map(|wheel| drive.force(wheel).y)));
    }

    /// Mean force of each wheel between two times, N.
    fn means(&self, from: f64, to: f64) -> [f64; 4] {
        let within: Vec<_> = self.samples.iter().filter(|(time, _)| *time > from && *time <= to).collect();
        std::array::from_fn(|wheel| within.iter().map(|(_, loads)| loads[wheel]).sum::<f64>() / within.len() as f64)
    }

    /// Mean sum of the forces between two times, N.
    fn mean_sum(&self, from: f64, to: f64) -> f64 {
        self.means(from, to).iter().sum()
    }

    /// A function of the loads over time.
    fn through_time(&self, of: impl Fn(&[f64; 4]) -> f64) -> Vec<(f64, f64)> {
        self.samples.iter().map(|(time, loads)| (*time, of(loads))).collect()
    }

    fn plot_each(&self, title: &str) -> Plot {
        (0..4).fold(Plot::new(title, "time in s", "force in N"), |plot, wheel| {
            plot.line(WHEEL_NAMES[wheel], Line::Measured(wheel), self.through_time(|loads| loads[wheel]))
        })
    }
}

/// Loads of a front and of a rear wheel by statics, N. The axles are 0.6 m before and behind the middle of the robot.
fn static_loads(drive: &Drive) -> (f64, f64) {
    let of_robot = drive.simulation.world().mechanism.bodies().filter(|(_, body)| body.robot.is_some());
    let (mass, moment) = of_robot
        .fold((0.0, 0.0), |(mass, moment), (id, body)| (mass + body.mass, moment + body.mass * drive.position(id).x));
    let front = mass * G * (0.6 + moment / mass) / 1.2;
    (front / 2.0, (mass * G - front) / 2.0)
}

fn pole(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    let mut drive = bench.drive(bench.shipped("pole.xml")?)?;
    let timeline = drive.play("pole.xml")?;
    let pole = drive.simulation.world().mechanism.body_named(None, "Pole").expect("the world has it");
    let (mut loads, mut places) = (Loads::new(&drive), vec![drive.position(pole)]);
    let mut watch = |drive: &mut Drive, steps| {
        drive.watch(steps, |drive| {
            loads.add_sample(drive);
            places.push(drive.position(pole));
        })
    };
    // By the sequence, the robot stands with raised manipulators until 6 s, and with the pole from 24 to 26 s.
    watch(&mut drive, 6000)?;
    let (front, rear) = static_loads(&drive);
    watch(&mut drive, timeline.steps - 6000)?;
    show_pole(findings, &loads, &places);
    let share = |name, load: f64| Row::new(name, "N", load, 0.01 * load);
    let rows = [
        Row::new("load step while the pole is carried", "N", 5.0 * G, 0.05 * G).thesis(48.9).note("thesis: as weighed"),
        Row::new("sum of wheel forces before", "N", 202.0 * G, 0.01 * G),
        share("a front wheel before", front).thesis(700.0).note("thesis: about"),
        share("a rear wheel before", rear).thesis(350.0).note("thesis: about"),
        Row::new("way the pole was carried", "m", 2.0, 0.05),
        Row::new("height of the pole at the end", "m", 1.03, 1e-3),
        Row::new("speed of the pole at the end", "m/s", 0.0, 1e-3),
    ];
    findings.measure(rows, |_| {
        let (before, carried) = (loads.means(4.0, 6.0), loads.mean_sum(24.0, 26.0));
        let sum: f64 = before.iter().sum();
        let (fore, aft) = ((before[0] + before[1]) / 2.0, (before[2] + before[3]) / 2.0);
        let [.., last_but_one, last] = places[..] else { return Err(Trouble::Engine("no step was made".into())) };
        Ok([carried - sum, sum, fore, aft, last.x - places[0].x, last.y, (last - last_but_one).length() * 1e3])
    })
}

/// Adds the plots of the work with the pole to the findings.
fn show_pole(findings: &mut Findings, loads: &Loads, places: &[DVec3]) {
    let sums = loads.through_time(|loads| loads.iter().sum());
    let plot = Plot::new("Sum of the wheel forces (figure 11)", "time in s", "force in N");
    findings.plot(plot.line("ours", Line::Measured(0), sums));
    findings.plot(loads.plot_each("Each wheel's force (figure 12)"));
    let through_time = |of: fn(&DVec3) -> f64| {
        let each = places.iter().enumerate().map(|(step, place)| (step as f64 / 1e3, of(place)));
        each.collect::<Vec<_>>()
    };
    let plot = Plot::new("Where the pole is", "time in s", "in m");
    let plot = plot.line("ahead", Line::Measured(0), through_time(|place| place.x));
    findings.plot(plot.line("height", Line::Measured(1), through_time(|place| place.y)));
}

fn weight(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    let targets = [(579.15, 595.6401), (774.9, 785.1331), (669.12, 670.1860), (676.03, 702.6742)];
    let rows: [Row; 4] = std::array::from_fn(|wheel| {
        let (target, thesis) = targets[wheel];
        Row::new(format!("mean force of wheel {}", wheel + 1), "N", target, 0.01 * target).thesis(thesis)
    });
    findings.measure(rows, |findings| {
        let mut drive = bench.drive(bench.shipped("balance.xml")?)?;
        let mut loads = Loads::new(&drive);
        drive.watch(10_000, |drive| loads.add_sample(drive))?;
        findings.plot(loads.plot_each("Wheel forces while it settles"));
        Ok(loads.means(0.0, 10.0))
    })
}

/// Ranges in which worlds/terrain.csv is not level, as distances from the robot's start, m. Each is extended by half of
/// the robot's length on both sides.
const UNEVEN_RANGES: [(f64, f64); 4] = [(5.4, 13.6), (16.6, 20.4), (20.7, 27.3), (28.4, 33.6)];

fn terrain(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    let world = bench.shipped("terrain.xml")?;
    let field = world
        .mechanism
        .heightfields()
        .next()
        .cloned()
        .ok_or_else(|| Trouble::Engine("the world has no terrain".into()))?;
    let (start, seconds, rate) = (-25.0, 104.75, 1.5);
    // Four tyres of 50 kN/m under 275.148 kg.
    let radius = 0.235 - 275.148 * G / 4.0 / 50_000.0;
    let expected = along_ground(&field, start, radius * rate * seconds);
    let rows = [
        Row::new("way ahead in 104.75 s", "m", expected, 0.01 * expected).thesis(34.5),
        Row::new("share of load peaks on the slope, the bumps and the waves", "1", 1.0, 0.02),
        Row::new("share of slow driving there", "1", 1.0, 0.02),
    ];
    findings.measure(rows, |findings| {
        let mut drive = bench.drive(world)?;
        let timeline = drive.play("terrain.xml")?;
        let bodies: Vec<BodyId> = drive.simulation.world().mechanism.bodies().map(|(id, _)| id).collect();
        let mut loads = Loads::new(&drive);
        let mut way = vec![(0.0, 0.0)];
        drive.watch(timeline.steps, |drive| {
            loads.add_sample(drive);
            let mean = bodies.iter().map(|&body| drive.position(body).x).sum::<f64>() / bodies.len() as f64;
            way.push((drive.time(), mean));
        })?;
        let origin = way[1].1;
        way.iter_mut().for_each(|(_, x)| *x -= origin);
        way[0].1 = 0.0;
        // Over a second, as the odometry of the test drive was smoothed.
        let speeds: Vec<_> =
            way.windows(1001).step_by(20).map(|part| (part[500].1, part[1000].1 - part[0].1)).collect();
        let level = loads.means(10.0, 14.0);
        let peaks = |loads: &[f64; 4]| loads.iter().zip(level).any(|(load, level)| (load / level - 1.0).abs() > 0.2);
        let settled = loads.samples.iter().zip(&way[1..]).filter(|((time, _), _)| *time > 2.0);
        let peaks = within_features(settled.filter(|((_, loads), _)| peaks(loads)).map(|(_, (_, x))| *x));
        let usual = radius * rate;
        let slow = speeds.iter().filter(|(x, speed)| *x > 0.5 && *speed < 0.9 * usual);
        let slow = within_features(slow.map(|(x, _)| *x));
        show_terrain(findings, &field, start, &loads, &way, speeds);
        Ok([way[way.len() - 1].1, peaks, slow])
    })
}

/// Fraction of positions that lie on a feature; NaN without positions.
fn within_features(places: impl Iterator<Item = f64>) -> f64 {
    let (inside, all) = places.fold((0u32, 0u32), |(inside, all), x| {
        let is_inside = UNEVEN_RANGES.iter().any(|(from, to)| (*from..=*to).contains(&x));
        (inside + u32::from(is_inside), all + 1)
    });
    f64::from(inside) / f64::from(all)
}

/// Horizontal distance, m, of a point that has travelled a length, m, along the ground.
fn along_ground(field: &Heightfield, start: f64, length: f64) -> f64 {
    let cell = field.width / (field.points_x - 1) as f64;
    let first = ((start + field.width / 2.0) / cell).round() as usize;
    let mut left = length;
    for line in first..field.points_x - 1 {
        let rise = field.height(line + 1, 0) - field.height(line, 0);
        let slant = cell.hypot(rise);
        if slant > left {
            return (line - first) as f64 * cell + left / slant * cell;
        }
        left -= slant;
    }
    f64::NAN
}

/// Adds the plots of the drive over the terrain to the findings.
fn show_terrain(
    findings: &mut Findings,
    field: &Heightfield,
    start: f64,
    loads: &Loads,
    way: &[(f64, f64)],
    speeds: Vec<(f64, f64)>,
) {
    let reached = way[way.len() - 1].1;
    let ground = (0..field.points_x).map(|line| (field.position(line, 0).0 - start, field.height(line, 0)));
    let ground = ground.filter(|(x, _)| (0.0..=reached).contains(x));
    let plot = Plot::new("The ground (figure 22)", "way in m", "height in m");
    findings.plot(plot.line("terrain", Line::Reference, ground));
    let plot = Plot::new("Speed, over 1 s (figure 25)", "way in m", "speed in m/s");
    findings.plot(plot.line("ours", Line::Measured(0), speeds));
    let plot = Plot::new("Wheel forces (figure 26)", "way in m", "force in N");
    findings.plot((0..4).fold(plot, |plot, wheel| {
        let forces = loads.samples.iter().zip(&way[1..]).map(|((_, loads), (_, x))| (*x, loads[wheel]));
        plot.line(WHEEL_NAMES[wheel], Line::Measured(wheel), forces)
    }));
}

/// The last scanner of the world: its device, its pose on its body, and its rays.
fn find_scanner(drive: &Drive) -> (DeviceId, Pose, Scanner) {
    let devices = drive.simulation.world().devices();
    let found = devices.filter_map(|(id, device)| match &device.spec {
        DeviceSpec::Sensor(
            sensor @ Sensor { kind: DeviceKind::ScannerSensor, mount: Mount::Body { pose, .. }, .. },
        ) => Some((id, *pose, sensor.options.rays)),
        _ => None,
    });
    found.last().expect("WorkPartner 2 has a scanner")
}
