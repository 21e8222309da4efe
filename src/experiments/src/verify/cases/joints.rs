//! Joints: their drift, and the loads that they report.

use simpartner_dynamics::{EngineKind, Motor};
use simpartner_model::JointId;

use super::{Bench, Case, Findings, G, Row, Trouble};
use simpartner_plot::{Line, Plot};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "joint-drift",
        physics: "Joints hold together while an arm whirls, WorkPartner drives and a closed loop of four bars is driven.",
        source: "The anchor that the parent carries and the one that the child carries are the same point",
        tolerance: "Trees: 1e-12 m, some thousand units in the last place of a metre. Loop: a joint that a correction of a fifth of the \
                    error per step holds is open by l (w dt)²/2 by 0.2, l = 0.3 m the crank and w = 0.8 rad/s its rate.",
        quick: true,
        run: joint_drift,
    },
    Case {
        name: "linkage",
        physics: "Four bars, one of them the ground, are let go and swing as a closed loop whose crank can go round: 5 s.",
        source: "The energy stays, and the loop stays closed",
        tolerance: "Energy: (w dt)⁴ of the 5 J that move, fourth order at the crank's largest rate w = 18 rad/s. Opening: loops are closed at the end of each \
                    step, to rounding.",
        quick: true,
        run: linkage,
    },
    Case {
        name: "reactions",
        physics: "A cantilever of four boxes of 2 kg, held by a motor at the wall: what each joint carries, the others being welded, or \
                  held by motors too.",
        source: "Statics: the force is the weight of all that hangs on the joint, the moment that weight by its levers",
        tolerance: "1e-6 of the force and the moment. Welded, the motor at the wall gives way by 1e-5 rad for each N m, so by 8e-4 rad, whose \
                    cosine is 3e-7 from 1; held, levers are those of the angles to which the motors have given way. After 2 s they rest.",
        quick: true,
        run: reactions,
    },
    Case {
        name: "welded-cantilever",
        physics: "The same cantilever welded to the wall: nothing in it can move, and its joints carry all the same.",
        source: "Statics, as before",
        tolerance: "1e-9 of the force and the moment, rounding",
        quick: true,
        run: welded,
    },
];

const ARM_WORLD: &str = "<world name=\"arm\">
  <gravity y=\"-9.81\"/>
  <object name=\"base\"><static>true</static></object>
  <object name=\"upper\"><mass>1</mass><pose x=\"0.5\"/><sphere radius=\"0.05\"/></object>
  <object name=\"lower\"><mass>1</mass><pose x=\"1\"/><sphere radius=\"0.05\"/></object>
  <joint type=\"hinge\" name=\"shoulder\"><parent>base</parent><child>upper</child><anchor x=\"0\"/></joint>
  <joint type=\"hinge\" name=\"elbow\"><parent>upper</parent><child>lower</child><anchor x=\"0.5\"/></joint>
</world>";

/// World of three bars between four corners. The first and the last corner are fixed to the ground.
fn four_bar_world(name: &str, corners: [[f64; 2]; 4]) -> String {
    let bars = ["crank", "coupler", "rocker"].into_iter().zip(corners.windows(2)).map(|(bar, ends)| {
        let [x, y] = [0, 1].map(|k| 0.5 * (ends[0][k] + ends[1][k]));
        format!(
            "  <object name=\"{bar}\"><mass>1</mass><pose x=\"{x}\" y=\"{y}\"/><sphere radius=\"0.02\"/></object>\n"
        )
    });
    let ends = [
        ("motor", "base", "crank"),
        ("first", "crank", "coupler"),
        ("second", "coupler", "rocker"),
        ("pivot", "base", "rocker"),
    ];
    let joints = ends.into_iter().zip(corners).map(|((joint, parent, child), [x, y])| {
        format!(
            "  <joint type=\"hinge\" name=\"{joint}\"><parent>{parent}</parent><child>{child}</child><anchor x=\"{x}\" y=\"{y}\"/></joint>\n"
        )
    });
    format!(
        "<world name=\"{name}\">\n  <gravity y=\"-{G}\"/>\n  <object name=\"base\"><static>true</static></object>\n{}{}</world>",
        bars.collect::<String>(),
        joints.collect::<String>()
    )
}

fn joint_drift(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    let four_bar = four_bar_world("four-bar", [[0.0, 0.0], [0.0, 0.3], [1.0, 0.3], [1.0, 0.0]]);
    findings.world("The loop", &four_bar);
    let timestep = 0.001;
    findings.measure([Row::new("arm that whirls for 20 s", "m", 0.0, 1e-12)], |_| {
        let mut scene = bench.scene(ARM_WORLD, timestep)?;
        let mut worst = 0.0f64;
        scene.watch(20.0, |scene| worst = worst.max(scene.joint_gap()))?;
        Ok([worst])
    })?;
    findings.measure([Row::new("WorkPartner 1, driving for 3 s", "m", 0.0, 1e-12)], |_| {
        let world = bench.world(super::driving::FLAT_WORLD)?;
        let mut drive = bench.drive(world)?;
        drive.play("straight.xml")?;
        let mut worst = 0.0f64;
        drive.watch(3000, |drive| worst = worst.max(drive.joint_gap()))?;
        Ok([worst])
    })?;
    let open = 0.3 * (0.8 * timestep).powi(2) / 2.0 / 0.2;
    findings.measure([Row::new("loop of four bars, driven for 10 s", "m", 0.0, open)], |findings| {
        let mut scene = bench.scene(&four_bar, timestep)?;
        let crank = scene.joint("motor");
        scene.engine.set_motor(crank, 2, Motor::Velocity { target: 0.8, max_effort: 100.0 });
        let mut path = Vec::new();
        scene.watch(10.0, |scene| path.push((scene.time(), scene.joint_gap())))?;
        let worst = path.iter().map(|(_, gap)| *gap).fold(0.0, f64::max);
        let plot = Plot::new("Opening of the loop", "time in s", "gap in m").logarithmic();
        let plot = plot.line("bound", Line::Reference, [(0.0, open), (10.0, open)]);
        findings.plot(plot.line("ours, 1 ms", Line::Measured(0), path));
        Ok([worst])
    })
}

fn linkage(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    // The lengths are such that the crank can make full turns.
    let linkage = four_bar_world("linkage", [[0.0, 0.0], [0.0, 0.3], [0.9, 0.48], [1.0, 0.0]]);
    findings.world("The linkage", &linkage);
    let (moving, fastest) = (5.0, 18.0f64);
    let mut plot = Plot::new("Energy of the linkage", "time in s", "off, in J").logarithmic();
    for (which, timestep) in [0.001, 0.01].into_iter().enumerate() {
        let milliseconds = timestep * 1e3;
        let rows = [
            Row::new(format!("energy off in 5 s, {milliseconds} ms"), "J", 0.0, moving * (fastest * timestep).powi(4)),
            Row::new(format!("opening in 5 s, {milliseconds} ms"), "m", 0.0, 1e-12),
        ];
        findings.measure(rows, |_| {
            let mut scene = bench.scene(&linkage, timestep)?;
            let (start, mut opening, mut path) = (scene.energy(), 0.0f64, Vec::new());
            scene.watch(5.0, |scene| {
                opening = opening.max(scene.joint_gap());
                path.push((scene.time(), (scene.energy() - start).abs()));
            })?;
            let worst = path.iter().map(|(_, off)| *off).fold(0.0, f64::max);
            plot.add(format!("ours, {milliseconds} ms"), Line::Measured(which), path);
            Ok([worst, opening])
        })?;
    }
    findings.plot(plot);
    Ok(())
}

/// Number of boxes of the cantilever.
const BOX_COUNT: usize = 4;
/// Length of a box, m.
const BOX_LENGTH: f64 = 0.5;
/// Mass of a box, kg.
const BOX_MASS: f64 = 2.0;

/// World of four boxes in a row: `first` is the type of the joint at the wall, `others` that of the joints between
/// boxes.
fn cantilever_world(first: &str, others: &str) -> String {
    let parts = (0..BOX_COUNT).map(|index| {
        let kind = if index == 0 { first } else { others };
        let (from, parent) = (BOX_LENGTH * index as f64, if index == 0 { "wall".into() } else { format!("box{}", index - 1) });
        format!(
            "  <object name=\"box{index}\"><mass>{BOX_MASS}</mass><pose x=\"{}\"/><box x=\"{}\" y=\"0.1\" z=\"0.1\"/></object>
  <joint type=\"{kind}\" name=\"joint{index}\"><parent>{parent}</parent><child>box{index}</child><anchor x=\"{from}\"/></joint>\n",
            from + BOX_LENGTH / 2.0,
            BOX_LENGTH - 0.02
        )
    });
    format!(
        "<world name=\"cantilever\">\n  <gravity y=\"-{G}\"/>\n  <object name=\"wall\"><static>true</static></object>\n{}</world>",
        parts.collect::<String>()
    )
}

/// Force, N, and moment, N m, that a joint of the level cantilever carries by statics.
fn load_by_statics(joint: usize) -> (f64, f64) {
    let hanging = BOX_COUNT - joint;
    let levers: f64 = (0..hanging).map(|index| BOX_LENGTH * (index as f64 + 0.5)).sum();
    (BOX_MASS * G * hanging as f64, BOX_MASS * G * levers)
}

fn reactions(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    let text = cantilever_world("hinge", "fixed");
    findings.world("Welded, and a motor at the wall", &text);
    let mut plot = Plot::new("Moment along the cantilever", "joint's place in m", "moment in N m");
    let law: Vec<_> = (0..BOX_COUNT).map(|joint| (BOX_LENGTH * joint as f64, load_by_statics(joint).1)).collect();
    plot.add("statics", Line::Reference, law);
    findings.measure(reaction_rows(1e-6), |_| {
        let figures = reported_loads(bench, &text)?;
        let moments = (0..BOX_COUNT).map(|joint| (BOX_LENGTH * joint as f64, figures[2 * joint + 1]));
        plot.add("ours, welded", Line::Marked(0), moments.collect());
        Ok(figures)
    })?;
    measure_motors(bench, findings, &mut plot)?;
    findings.plot(plot);
    Ok(())
}

fn welded(bench: &Bench, findings: &mut Findings) -> Result<(), Trouble> {
    let text = cantilever_world("fixed", "fixed");
    findings.world("The world", &text);
    let [force, moment, ..] = reaction_rows(1e-9);
    findings.measure([force, moment], |_| {
        let [force, moment, ..] = reported_loads(bench, &text)?;
        Ok([force, moment])
    })
}

/// Rows for force and moment of each joint, with a relative tolerance.
fn reaction_rows(share: f64) -> [Row; 2 * BOX_COUNT] {
    std::array::from_fn(|index| {
        let (joint, (force, moment)) = (index / 2 + 1, load_by_statics(index / 2));
        match index % 2 {
            0 => Row::new(format!("force in joint {joint}, welded"), "N", force, share * force),
            _ => Row::new(format!("moment in joint {joint}, welded"), "N m", moment, share * moment),
        }
    })
}

/// Force and moment that each joint reports after 2 s, with the motors holding.
fn reported_loads(bench: &Bench, text: &str) -> Result<[f64; 2 * BOX_COUNT], Trouble> {
    let mut scene = bench.scene(text, 0.001)?;
    scene.engine.set_motor(JointId::new(0), 2, Motor::Position { target: 0.0, max_effort: 1e4 });
    scene.pass(2.0)?;
    let mut figures = [0.0; 2 * BOX_COUNT];
    for joint in 0..BOX_COUNT {
        let load = scene.engine.joint(JointId::new(joint)).load;
        let load = load.ok_or_else(|| Trouble::Engine("this engine does not tell what joints carry".into()))?;
        (figures[2 * joint], figures[2 * joint + 1]) = (load.reaction.force.y, load.reaction.torque.z);
    }
    Ok(figures)
}

/// The cantilever on hinges that motors hold: efforts of the motors, compared with statics at the angles to which they
/// have yielded.
fn measure_motors(bench: &Bench, findings: &mut Findings, plot: &mut Plot) -> Result<(), Trouble> {
    let rows: [Row; BOX_COUNT] = std::array::from_fn(|joint| {
        let moment = load_by_statics(joint).1;
        Row::new(format!("motor {} over its moment", joint + 1), "1", 1.0, 1e-6)
            .note(format!("about {moment:.2} N m"))
            .if_missed_by(EngineKind::Rapier, "its solver stops before the efforts of stiff motors are exact")
    });
    findings.measure(rows, |_| {
        let mut scene = bench.scene(&cantilever_world("hinge", "hinge"), 0.001)?;
        for joint in 0..BOX_COUNT {
            scene.engine.set_motor(JointId::new(joint), 2, Motor::Position { target: 0.0, max_effort: 1e4 });
        }
        scene.pass(2.0)?;
        let states: [_; BOX_COUNT] = std::array::from_fn(|joint| scene.engine.joint(JointId::new(joint)));
        let places: [f64; BOX_COUNT] =
            std::array::from_fn(|index| scene.body(&format!("box{index}")).pose.translation.x);
        plot.add(
            "ours, held by motors",
            Line::Marked(1),
            states.iter().map(|state| (state.anchor.x, state.effort[2])).collect(),
        );
        Ok(std::array::from_fn(|joint| {
            let levers: f64 = places[joint..].iter().map(|place| place - states[joint].anchor.x).sum();
            states[joint].effort[2] / (BOX_MASS * G * levers)
        }))
    })
}
