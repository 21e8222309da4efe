//! Encodes the rows of a run's start and end: the run's own row, its source files, and the model with everything that
//! rows of state refer to.

use std::sync::Arc;

use bevy_math::{DQuat, DVec3};
use simpartner_description::{Content, Parameters, SourceFile};
use simpartner_dynamics::MassProperties;
use simpartner_model::{Axis, Body, DeviceId, JointId, Mechanism, RobotId, Shape, StepIndex};
use simpartner_wire::signal::Attachment;

use super::description::{Origin, RunDescription, RunOutcome};
use crate::format::{
    cadence::Cadence,
    cell::{self, Cell},
    checksum,
    row_policy::RowPolicy,
    schema::{self, TableId},
    table_rows::TableRows,
};

/// Values of a run's row that are not in its [`RunDescription`].
#[derive(Debug, Clone)]
pub(super) struct RunStart {
    pub(super) run_key: String,
    pub(super) started: String,
    pub(super) resets: u64,
    pub(super) cadence: Cadence,
    pub(super) row_policy: RowPolicy,
    pub(super) bodies_logged: u64,
    pub(super) joints_logged: u64,
}

/// Encodes all rows of a run before its first step.
pub(super) fn encode_run_start(run: &RunDescription, start: &RunStart) -> TableRows {
    let mut rows = TableRows::default();
    let text = |text: &str| Cell::from(text);
    let origin = run.origin.as_ref();
    let thinned = start.cadence.thinned();
    let row = [
        text(&start.run_key),
        text("running"),
        text(&start.started),
        text(&run.world.name),
        start.resets.into(),
        run.timestep.nanoseconds().into(),
        start.cadence.every().into(),
        text(run.mode.name()),
        text(env!("CARGO_PKG_VERSION")),
        text(run.engine.name),
        text(run.engine.version),
        text(run.engine.features),
        text(&run.target),
        text(&run.realtime_grants),
        start.row_policy.number().into(),
        start.bodies_logged.into(),
        start.joints_logged.into(),
        origin.and_then(|origin| origin.parent).map_or(Cell::Null, Cell::Integer),
        origin.map_or(Cell::Null, |origin| origin.step.0.into()),
        thinned.map_or(Cell::Null, |(after, _)| after.into()),
        thinned.map_or(Cell::Null, |(_, every)| every.into()),
        checksum::SCHEME_VERSION.into(),
    ];
    rows.push(TableId::Simulation, row);
    if let Some(Origin { step, chain_head, state, .. }) = origin {
        push_snapshot(&mut rows, *step, *chain_head, state);
    }
    push_files(&mut rows, run);
    push_parameters(&mut rows, run);
    for (index, robot) in run.world.mechanism.robots.iter().enumerate() {
        let row = [robot_cell(Some(RobotId::new(index))), Cell::Run, text(&robot.name), text(&robot.model)];
        rows.push(TableId::Robot, row);
    }
    push_bodies(&mut rows, run);
    push_joints(&mut rows, run);
    push_devices(&mut rows, run);
    rows
}

/// Adds the row of a snapshot.
pub(super) fn push_snapshot(rows: &mut TableRows, step: StepIndex, chain_head: u64, state: &Arc<[u8]>) {
    rows.push(TableId::Snapshot, [Cell::Run, step.0.into(), chain_head.into(), Cell::Bytes(Arc::clone(state))]);
}

/// Totals of a run, for its row. `gaps` is the number of places where steps are missing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RunTotals {
    pub(super) rows: u64,
    pub(super) steps: u64,
    pub(super) gaps: u64,
    pub(super) chain_head: u64,
}

/// Encodes the values that complete a run's row at its end: those of `schema::columns_at_end`, the checksum over them,
/// and the run's number.
pub(super) fn encode_run_end(outcome: &RunOutcome, totals: RunTotals, ended: &str) -> Vec<Cell> {
    let late = outcome.lateness;
    let value = |column: &str| match column {
        "status" => outcome.status.as_str().into(),
        "ended" => ended.into(),
        "steps" => outcome.steps.into(),
        "rows_written" => totals.rows.into(),
        "steps_logged" => totals.steps.into(),
        "gaps" => totals.gaps.into(),
        "chain_head" => totals.chain_head.into(),
        "slips" => outcome.slips.into(),
        "late_p50_us" => late.map(|late| late.p50_us).into(),
        "late_p99_us" => late.map(|late| late.p99_us).into(),
        "late_p99_9_us" => late.map(|late| late.p99_9_us).into(),
        "late_max_us" => late.map(|late| late.max_us).into(),
        "real_time_factor" => Cell::Real(outcome.real_time_factor),
        "stateHash" => outcome.state_hash.as_str().into(),
        other => unreachable!("simulation.{other} is written at the end of a run, which has no value for it"),
    };
    let mut values: Vec<Cell> = schema::columns_at_end().into_iter().map(value).collect();
    let checksum = checksum::end_checksum(&values);
    values.extend([checksum.into(), Cell::Run]);
    values
}

/// Adds the rows of the model's source files and of the effective properties.
fn push_files(rows: &mut TableRows, run: &RunDescription) {
    let properties = SourceFile::new("", run.properties.as_str());
    let models = run.world.sources.iter().map(|file| ("model", file));
    for (ordinal, (role, file)) in models.chain([("properties", &properties)]).enumerate() {
        let content = match &file.content {
            Content::Text(_) => Cell::Null,
            Content::Bytes(bytes) => Cell::Bytes(Arc::clone(bytes)),
        };
        let hash = blake3::hash(file.bytes()).to_hex();
        let (path, text) = (file.path.as_str().into(), file.text().into());
        let row = [Cell::Run, (ordinal as u64).into(), role.into(), path, text, content, hash.as_str().into()];
        rows.push(TableId::SimulationFile, row);
    }
}

/// Adds the rows of the values that the run replaces in its model.
fn push_parameters(rows: &mut TableRows, run: &RunDescription) {
    for (ordinal, parameter) in Parameters::of_sources(&run.world.sources).iter().enumerate() {
        let (path, text) = (parameter.path.as_str().into(), parameter.value.to_string().as_str().into());
        let value = parameter.value.number().map_or(Cell::Null, Cell::Real);
        rows.push(TableId::ModelParameter, [Cell::Run, (ordinal as u64).into(), path, text, value]);
    }
}

fn robot_cell(robot: Option<RobotId>) -> Cell {
    // A world has at most 200 000 elements.
    robot.map_or(Cell::Null, |robot| Cell::Robot(u32::try_from(robot.index()).unwrap_or(u32::MAX)))
}

/// Adds the row that makes a body, joint or device a component of its robot; none for objects.
fn push_component(rows: &mut TableRows, number: &Cell, robot: Option<RobotId>, kind: &'static str, name: &str) {
    if robot.is_some() {
        let row = [number.clone(), robot_cell(robot), kind.into(), name.into(), number.clone()];
        rows.push(TableId::RobotComponent, row);
    }
}

fn push_bodies(rows: &mut TableRows, run: &RunDescription) {
    let axles = wheel_axles(&run.world.mechanism);
    for ((id, body), mass) in run.world.mechanism.bodies().zip(&run.masses) {
        push_component(rows, &cell::body(id), body.robot, "BODY", &body.name);
        let shape = body.shape.as_ref().map(|placed| &placed.shape);
        let cells = rows.cells_mut(TableId::Body);
        cells.extend([cell::body(id), Cell::Run, robot_cell(body.robot)]);
        cells.extend([body.name.as_str().into(), u64::from(body.fixed).into()]);
        cells.push(shape.map_or("particle", Shape::name).into());
        cells.extend(shape_dimensions(shape).map(Cell::from));
        cells.extend(mass_and_inertia(body, mass).map(Cell::from));
        let material = &body.material;
        cells.extend([material.friction, material.restitution, material.rolling_friction].map(Cell::Real));
        let into_body = body.pose.rotation.inverse();
        let directions = [into_body * DVec3::Y, into_body * level_axis(body.pose.rotation)];
        cells.extend(directions.into_iter().flat_map(|direction| direction.to_array()).map(Cell::Real));
        let axle = axles[id.index()];
        let radius = axle.map(|(radius, _)| radius);
        cells.push(radius.into());
        let axis = axle.map_or([None; 3], |(_, axis)| (into_body * axis).to_array().map(Some));
        cells.extend(axis.map(Cell::from));
    }
}

/// For each body that is a wheel, its radius, m, and its rotation axis at step 0, a unit vector in the world frame. A
/// positive rate of the wheel's joint turns the wheel about the axis by the right-hand rule.
fn wheel_axles(mechanism: &Mechanism) -> Vec<Option<(f64, DVec3)>> {
    let mut axles = vec![None; mechanism.bodies.len()];
    for joint in &mechanism.joints {
        if let Some(wheel) = mechanism.wheel(joint) {
            let axis = if wheel.body == joint.child { wheel.axis } else { -wheel.axis };
            axles[wheel.body.index()].get_or_insert((wheel.radius, axis));
        }
    }
    axles
}

/// The x axis of a body with this orientation, projected onto the horizontal plane and normalised: a unit vector, world
/// frame. If that projection is at most 0.1 long, the one of the other two axes with the longer projection is taken
/// instead.
fn level_axis(rotation: DQuat) -> DVec3 {
    let level = |axis: DVec3| (rotation * axis).with_y(0.0);
    let (x, y, z) = (level(DVec3::X), level(DVec3::Y), level(DVec3::Z));
    let other = if y.length() > z.length() { y } else { z };
    let chosen = if x.length() > 0.1 { x } else { other };
    chosen / chosen.length()
}

fn push_joints(rows: &mut TableRows, run: &RunDescription) {
    for (id, joint) in run.world.mechanism.joints() {
        let number = cell::joint(&run.layout, id);
        push_component(rows, &number, joint.robot, "JOINT", &joint.name);
        let row = [
            number,
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
        rows.push(TableId::Joint, row);
        push_joint_axes(rows, run, id);
    }
}

fn push_joint_axes(rows: &mut TableRows, run: &RunDescription, id: JointId) {
    let joint = run.world.mechanism.joint(id);
    for (index, coordinate) in joint.free_coordinates() {
        let (Axis::Free(motion), direction) = (&joint.axes[index], joint.direction(coordinate)) else { continue };
        let cells = rows.cells_mut(TableId::JointAxis);
        cells.extend([cell::joint(&run.layout, id), (index as u64 + 1).into()]);
        // A joint without a stop has an infinite limit, which is stored as NULL.
        let numbers = [motion.lower, motion.upper, motion.damping, motion.friction];
        cells.extend(direction.to_array().into_iter().chain(numbers).map(Cell::Real));
    }
}

fn push_devices(rows: &mut TableRows, run: &RunDescription) {
    for (index, info) in run.layout.devices().iter().enumerate() {
        let id = DeviceId::new(index);
        let robot = run.world.device(id).robot;
        let number = cell::device(&run.layout, id);
        let kind = if info.kind.is_actuator() { "ACTUATOR" } else { "SENSOR" };
        push_component(rows, &number, Some(robot), kind, &info.name);
        let row = [
            number.clone(),
            info.kind.name().into(),
            u64::from(info.port.number()).into(),
            attachment_cell(run, robot, &info.attachment),
            info.interval_steps.into(),
        ];
        rows.push(TableId::Device, row);
        for (ordinal, field) in info.fields.iter().enumerate() {
            let row = [number.clone(), (ordinal as u64).into(), field.name.as_str().into(), field.unit.into()];
            rows.push(TableId::DeviceField, row);
        }
    }
}

/// The component number of the body or joint that a device is attached to.
fn attachment_cell(run: &RunDescription, robot: RobotId, attachment: &Attachment) -> Cell {
    let cell = match attachment {
        Attachment::Body(name) => run.world.mechanism.body_named(Some(robot), name).map(cell::body),
        Attachment::Joint(name) => {
            run.world.mechanism.joint_named(Some(robot), name).map(|joint| cell::joint(&run.layout, joint))
        }
    };
    cell.expect("a device's attachment was resolved within its robot when the model was read")
}

/// Edge lengths or full lengths x, y, z, radius and length of a shape, m; `None` where the shape has no such dimension.
fn shape_dimensions(shape: Option<&Shape>) -> [Option<f64>; 5] {
    match shape {
        Some(Shape::Box { size }) => [Some(size.x), Some(size.y), Some(size.z), None, None],
        Some(Shape::Ellipsoid { radii }) => [Some(2.0 * radii.x), Some(2.0 * radii.y), Some(2.0 * radii.z), None, None],
        Some(Shape::Sphere { radius }) => [None, None, None, Some(*radius), None],
        Some(
            Shape::Cylinder { radius, length } | Shape::Capsule { radius, length } | Shape::Cone { radius, length },
        ) => [None, None, None, Some(*radius), Some(*length)],
        Some(Shape::ConvexHull { .. } | Shape::TriangleMesh { .. } | Shape::Compound { .. }) | None => [None; 5],
    }
}

/// Mass, kg, centre of mass x, y, z, m, and the inertia tensor's xx, yy, zz, xy, xz, yz, kg m^2; all `None` for a fixed
/// body.
fn mass_and_inertia(body: &Body, mass: &MassProperties) -> [Option<f64>; 10] {
    if body.fixed {
        return [None; 10];
    }
    let MassProperties { mass, centre_of_mass: c, tensor: i } = mass;
    let [x, y, z] = [i.x_axis, i.y_axis, i.z_axis];
    [*mass, c.x, c.y, c.z, x.x, y.y, z.z, y.x, z.x, z.y].map(Some)
}
