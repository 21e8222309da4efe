//! The rows of a run's beginning and end: its own row, its files, and the model with everything that rows of state refer to.

use std::sync::Arc;

use simpartner_dynamics::MassProperties;
use simpartner_model::{Axis, Body, DeviceId, JointId, RobotId, Shape, StepIndex};
use simpartner_wire::signal::Attachment;

use super::{
    Cadence, Origin, RunDescription, RunOutcome,
    cell::{self, Cell},
    change::Rows,
    checksum,
    table::{Batch, Table},
};

/// What a run's row says of its selection, besides what the description knows.
#[derive(Debug, Clone)]
pub(super) struct Beginning {
    pub(super) run_key: String,
    pub(super) started: String,
    pub(super) resets: u64,
    pub(super) cadence: Cadence,
    pub(super) rows: Rows,
    pub(super) bodies_logged: u64,
    pub(super) joints_logged: u64,
}

/// All rows that stand for a run before its first step.
pub(super) fn begin(run: &RunDescription, beginning: &Beginning) -> Batch {
    let mut batch = Batch::default();
    let text = |text: &str| Cell::from(text);
    // A reset goes back to the model, wherever the run came from.
    let origin = run.origin.as_ref().filter(|_| beginning.resets == 0);
    let thinned = beginning.cadence.thinned();
    let row = [
        text(&beginning.run_key),
        text("running"),
        text(&beginning.started),
        text(&run.world.name),
        beginning.resets.into(),
        run.timestep.nanoseconds().into(),
        beginning.cadence.every().into(),
        text(run.mode.name()),
        text(env!("CARGO_PKG_VERSION")),
        text(run.engine.name),
        text(run.engine.version),
        text(run.engine.features),
        text(&run.target),
        text(&run.realtime_grants),
        beginning.rows.number().into(),
        beginning.bodies_logged.into(),
        beginning.joints_logged.into(),
        origin.map_or(Cell::Null, |origin| Cell::Integer(origin.parent)),
        origin.map_or(Cell::Null, |origin| origin.step.0.into()),
        thinned.map_or(Cell::Null, |(after, _)| after.into()),
        thinned.map_or(Cell::Null, |(_, every)| every.into()),
        checksum::VERSION.into(),
    ];
    batch.push(Table::Simulation, row);
    if let Some(Origin { step, chain_head, state, .. }) = origin {
        push_snapshot(&mut batch, *step, *chain_head, state);
    }
    files(&mut batch, run);
    for (index, robot) in run.world.mechanism.robots.iter().enumerate() {
        let row = [robot_cell(Some(RobotId::new(index))), Cell::Run, text(&robot.name), text(&robot.model)];
        batch.push(Table::Robot, row);
    }
    bodies(&mut batch, run);
    joints(&mut batch, run);
    devices(&mut batch, run);
    batch
}

/// Adds a state that was kept.
pub(super) fn push_snapshot(batch: &mut Batch, step: StepIndex, chain_head: u64, state: &Arc<[u8]>) {
    batch.push(Table::Snapshot, [Cell::Run, step.0.into(), chain_head.into(), Cell::Bytes(Arc::clone(state))]);
}

/// What is set in a run's row at its end, but for the checksum over it, in the order of [`end`].
pub(super) const END_COLUMNS: [&str; 14] = [
    "status",
    "ended",
    "steps",
    "rows_written",
    "steps_logged",
    "gaps",
    "chain_head",
    "slips",
    "late_p50_us",
    "late_p99_us",
    "late_p99_9_us",
    "late_max_us",
    "real_time_factor",
    "stateHash",
];

/// Writes the outcome into a run's row; the values are [`end`]'s.
pub(super) const END: &str =
    "UPDATE simulation SET status = ?, ended = ?, steps = ?, rows_written = ?, steps_logged = ?, gaps = ?,
    chain_head = ?, slips = ?, late_p50_us = ?, late_p99_us = ?, late_p99_9_us = ?, late_max_us = ?,
    real_time_factor = ?, stateHash = nullif(?, ''), end_checksum = ? WHERE simulationID = ?";

/// What was written of a run, for its row.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Written {
    pub(super) rows: u64,
    pub(super) steps: u64,
    pub(super) gaps: u64,
    pub(super) chain_head: u64,
}

/// The values of [`END`].
pub(super) fn end(outcome: &RunOutcome, written: Written, ended: &str) -> Vec<Cell> {
    let late = outcome.lateness;
    let mut values: Vec<Cell> = vec![
        outcome.status.as_str().into(),
        ended.into(),
        outcome.steps.into(),
        written.rows.into(),
        written.steps.into(),
        written.gaps.into(),
        written.chain_head.into(),
        outcome.slips.into(),
        late.map(|late| late.p50_us).into(),
        late.map(|late| late.p99_us).into(),
        late.map(|late| late.p99_9_us).into(),
        late.map(|late| late.max_us).into(),
        Cell::Real(outcome.real_time_factor),
        if outcome.state_hash.is_empty() { Cell::Null } else { outcome.state_hash.as_str().into() },
    ];
    let checksum = checksum::end(&values);
    values.extend([checksum.into(), Cell::Run]);
    values
}

fn files(batch: &mut Batch, run: &RunDescription) {
    let models = run.world.sources.iter().map(|file| ("model", file.path.as_str(), file.text.as_str()));
    let properties = ("properties", "", run.properties.as_str());
    for (ordinal, (role, path, text)) in models.chain([properties]).enumerate() {
        let row = [Cell::Run, (ordinal as u64).into(), role.into(), path.into(), text.into()];
        batch.push(Table::SimulationFile, row);
    }
}

fn robot_cell(robot: Option<RobotId>) -> Cell {
    // A world has at most 200 000 elements.
    robot.map_or(Cell::Null, |robot| Cell::Robot(u32::try_from(robot.index()).unwrap_or(u32::MAX)))
}

fn component(batch: &mut Batch, part: &Cell, robot: Option<RobotId>, kind: &'static str, name: &str) {
    if robot.is_some() {
        let row = [part.clone(), robot_cell(robot), kind.into(), name.into(), part.clone()];
        batch.push(Table::RobotComponent, row);
    }
}

fn bodies(batch: &mut Batch, run: &RunDescription) {
    for ((id, body), mass) in run.world.mechanism.bodies().zip(&run.masses) {
        component(batch, &cell::body(id), body.robot, "BODY", &body.name);
        let shape = body.shape.as_ref().map(|placed| &placed.shape);
        let cells = batch.of(Table::Body);
        cells.extend([cell::body(id), Cell::Run, robot_cell(body.robot)]);
        cells.extend([body.name.as_str().into(), u64::from(body.fixed).into()]);
        cells.push(shape.map_or("particle", Shape::name).into());
        cells.extend(dimensions(shape).map(Cell::from));
        cells.extend(inertia(body, mass).map(Cell::from));
        let material = &body.material;
        cells.extend([material.friction, material.restitution, material.rolling_friction].map(Cell::Real));
    }
}

fn joints(batch: &mut Batch, run: &RunDescription) {
    for (id, joint) in run.world.mechanism.joints() {
        let part = cell::joint(&run.layout, id);
        component(batch, &part, joint.robot, "JOINT", &joint.name);
        let row = [
            part,
            Cell::Run,
            robot_cell(joint.robot),
            joint.name.as_str().into(),
            joint.kind.name().into(),
            cell::body(joint.parent),
            cell::body(joint.child),
            Cell::Real(joint.anchor.x),
            Cell::Real(joint.anchor.y),
            Cell::Real(joint.anchor.z),
        ];
        batch.push(Table::Joint, row);
        axes(batch, run, id);
    }
}

fn axes(batch: &mut Batch, run: &RunDescription, id: JointId) {
    let joint = run.world.mechanism.joint(id);
    let directions = bevy_math::DMat3::from_quat(joint.frame);
    for (index, axis) in joint.axes.iter().enumerate() {
        let Axis::Free(motion) = axis else { continue };
        let direction = directions.col(index);
        let cells = batch.of(Table::JointAxis);
        cells.extend([cell::joint(&run.layout, id), (index as u64 + 1).into()]);
        // A stop that is not there is infinite, which is stored as NULL.
        let numbers = [motion.lower, motion.upper, motion.damping, motion.friction];
        cells.extend(direction.to_array().into_iter().chain(numbers).map(Cell::Real));
    }
}

fn devices(batch: &mut Batch, run: &RunDescription) {
    for (index, info) in run.layout.devices().iter().enumerate() {
        let id = DeviceId::new(index);
        let robot = run.world.device(id).robot;
        let part = cell::device(&run.layout, id);
        let kind = if info.kind.is_actuator() { "ACTUATOR" } else { "SENSOR" };
        component(batch, &part, Some(robot), kind, &info.name);
        let row = [
            part.clone(),
            info.kind.name().into(),
            u64::from(info.port.number()).into(),
            attachment(run, robot, &info.attachment),
            info.interval_steps.into(),
        ];
        batch.push(Table::Device, row);
        for (ordinal, field) in info.fields.iter().enumerate() {
            let row = [part.clone(), (ordinal as u64).into(), field.name.as_str().into(), field.unit.into()];
            batch.push(Table::DeviceField, row);
        }
    }
}

fn attachment(run: &RunDescription, robot: RobotId, attachment: &Attachment) -> Cell {
    let cell = match attachment {
        Attachment::Body(name) => run.world.mechanism.body_named(Some(robot), name).map(cell::body),
        Attachment::Joint(name) => {
            run.world.mechanism.joint_named(Some(robot), name).map(|joint| cell::joint(&run.layout, joint))
        }
    };
    cell.expect("a device's attachment was resolved within its robot when the model was read")
}

/// Edge lengths x, y, z, radius and length, as far as the shape has them.
fn dimensions(shape: Option<&Shape>) -> [Option<f64>; 5] {
    match shape {
        Some(Shape::Box { size }) => [Some(size.x), Some(size.y), Some(size.z), None, None],
        Some(Shape::Sphere { radius }) => [None, None, None, Some(*radius), None],
        Some(
            Shape::Cylinder { radius, length } | Shape::Capsule { radius, length } | Shape::Cone { radius, length },
        ) => [None, None, None, Some(*radius), Some(*length)],
        Some(Shape::ConvexHull { .. } | Shape::TriangleMesh { .. } | Shape::Compound { .. }) | None => [None; 5],
    }
}

/// Mass, centre of mass x, y, z, and the tensor's xx, yy, zz, xy, xz, yz; a fixed body has none.
fn inertia(body: &Body, mass: &MassProperties) -> [Option<f64>; 10] {
    if body.fixed {
        return [None; 10];
    }
    let MassProperties { mass, centre_of_mass: c, tensor: i } = mass;
    let [x, y, z] = [i.x_axis, i.y_axis, i.z_axis];
    [*mass, c.x, c.y, c.z, x.x, y.y, z.z, y.x, z.x, z.y].map(Some)
}
