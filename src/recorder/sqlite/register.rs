//! A run's own row and its model: written once at the start of a run, closed once at its end.

use sqlx::SqliteConnection;

use crate::{
    model::{Axis, Body, Shape},
    physics::MassProperties,
    recorder::{RunDescription, RunOutcome, SimulationSummary, rows::Keys},
    signal::{Attachment, BodyId, DeviceId, JointId, RobotId},
};

/// Enters the run and everything that belongs to it. The transaction already holds the write lock, so nobody else takes
/// the same numbers.
pub(super) async fn run(
    connection: &mut SqliteConnection,
    run: &RunDescription,
    every_n_steps: u64,
    resets: u64,
) -> Result<Keys, sqlx::Error> {
    let simulation = simulation(connection, run, every_n_steps, resets).await?;
    let largest =
        "SELECT max((SELECT coalesce(max(bodyID), 0) FROM body), (SELECT coalesce(max(jointID), 0) FROM joint),
        (SELECT coalesce(max(componentID), 0) FROM robotComponent))";
    let largest: i64 = sqlx::query_scalar(largest).fetch_one(&mut *connection).await?;
    let keys = Keys { simulation, first_component: largest + 1 };
    files(connection, run, simulation).await?;
    let mut registration = Registration { robots: robots(connection, run, simulation).await?, connection, run, keys };
    registration.bodies().await?;
    registration.joints().await?;
    registration.devices().await?;
    Ok(keys)
}

/// Writes the outcome into the run's row.
pub(super) async fn close(
    connection: &mut SqliteConnection,
    summary: SimulationSummary,
    outcome: &RunOutcome,
) -> Result<(), sqlx::Error> {
    let statement = "UPDATE simulation SET status = ?, ended = strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), steps = ?,
        rows_written = ?, slips = ?, late_p50_us = ?, late_p99_us = ?, late_p99_9_us = ?, late_max_us = ?,
        real_time_factor = ?, stateHash = nullif(?, '') WHERE simulationID = ?";
    let lateness = outcome.lateness;
    sqlx::query(statement)
        .bind(&outcome.status)
        .bind(outcome.steps as i64)
        .bind(summary.rows as i64)
        .bind(outcome.slips as i64)
        .bind(lateness.map(|late| late.p50_us))
        .bind(lateness.map(|late| late.p99_us))
        .bind(lateness.map(|late| late.p99_9_us))
        .bind(lateness.map(|late| late.max_us))
        .bind(outcome.real_time_factor)
        .bind(&outcome.state_hash)
        .bind(summary.simulation_id)
        .execute(connection)
        .await
        .map(drop)
}

async fn simulation(
    connection: &mut SqliteConnection,
    run: &RunDescription,
    every_n_steps: u64,
    resets: u64,
) -> Result<i64, sqlx::Error> {
    let statement = "INSERT INTO simulation (status, started, world, resets, timestep_ns, every_n_steps, clock_mode,
        program_version, engine, engine_version, engine_features, target, realtime_grants)
        VALUES ('running', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let inserted = sqlx::query(statement)
        .bind(&run.world.name)
        .bind(resets as i64)
        .bind(run.timestep.nanoseconds() as i64)
        .bind(every_n_steps as i64)
        .bind(run.mode.name())
        .bind(env!("CARGO_PKG_VERSION"))
        .bind(run.engine.name)
        .bind(run.engine.version)
        .bind(run.engine.features)
        .bind(&run.target)
        .bind(&run.realtime_grants)
        .execute(connection)
        .await?;
    Ok(inserted.last_insert_rowid())
}

async fn files(connection: &mut SqliteConnection, run: &RunDescription, simulation: i64) -> Result<(), sqlx::Error> {
    let models = run.world.sources.iter().map(|file| ("model", file.path.as_str(), file.text.as_str()));
    let properties = ("properties", "", run.properties.as_str());
    for (ordinal, (role, path, text)) in models.chain([properties]).enumerate() {
        sqlx::query("INSERT INTO simulationFile (simulationID, ordinal, role, path, text) VALUES (?, ?, ?, ?, ?)")
            .bind(simulation)
            .bind(ordinal as i64)
            .bind(role)
            .bind(path)
            .bind(text)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Enters the robots and returns their numbers in the order of the world's list.
async fn robots(
    connection: &mut SqliteConnection,
    run: &RunDescription,
    simulation: i64,
) -> Result<Vec<i64>, sqlx::Error> {
    let mut numbers = Vec::new();
    for robot in &run.world.robots {
        let query = sqlx::query("INSERT INTO robot (simulationID, name, model) VALUES (?, ?, ?)");
        let query = query.bind(simulation).bind(&robot.name).bind(&robot.model);
        numbers.push(query.execute(&mut *connection).await?.last_insert_rowid());
    }
    Ok(numbers)
}

struct Registration<'a> {
    connection: &'a mut SqliteConnection,
    run: &'a RunDescription,
    keys: Keys,
    robots: Vec<i64>,
}

impl Registration<'_> {
    fn robot(&self, robot: Option<RobotId>) -> Option<i64> {
        robot.map(|robot| self.robots[robot.index()])
    }

    async fn component(
        &mut self,
        number: i64,
        robot: Option<RobotId>,
        kind: &'static str,
        name: &str,
    ) -> Result<(), sqlx::Error> {
        let Some(robot) = self.robot(robot) else { return Ok(()) };
        let statement =
            "INSERT INTO robotComponent (componentID, robotID, type, name, reference) VALUES (?1, ?2, ?3, ?4, ?1)";
        let query = sqlx::query(statement).bind(number).bind(robot).bind(kind).bind(name);
        query.execute(&mut *self.connection).await.map(drop)
    }

    async fn bodies(&mut self) -> Result<(), sqlx::Error> {
        let run = self.run;
        for ((id, body), mass) in run.world.bodies().zip(&run.masses) {
            self.component(self.keys.body(id), body.robot, "BODY", &body.name).await?;
            self.body(id, body, (!body.fixed).then_some(mass)).await?;
        }
        Ok(())
    }

    async fn body(&mut self, id: BodyId, body: &Body, mass: Option<&MassProperties>) -> Result<(), sqlx::Error> {
        let statement = "INSERT INTO body (bodyID, simulationID, robotID, name, fixed, shape, size_x, size_y, size_z,
            radius, length, mass, com_x, com_y, com_z, I_xx, I_yy, I_zz, I_xy, I_xz, I_yz, friction, restitution,
            rolling_friction) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let shape = body.shape.as_ref().map(|placed| &placed.shape);
        let mut query = sqlx::query(statement)
            .bind(self.keys.body(id))
            .bind(self.keys.simulation)
            .bind(self.robot(body.robot))
            .bind(&body.name)
            .bind(body.fixed)
            .bind(shape.map_or("particle", Shape::name));
        for value in dimensions(shape).into_iter().chain(inertia(mass)) {
            query = query.bind(value);
        }
        let material = &body.material;
        query = query.bind(material.friction).bind(material.restitution).bind(material.rolling_friction);
        query.execute(&mut *self.connection).await.map(drop)
    }

    async fn joints(&mut self) -> Result<(), sqlx::Error> {
        let run = self.run;
        let statement = "INSERT INTO joint (jointID, simulationID, robotID, name, kind, parent_bodyID, child_bodyID,
            anchorx, anchory, anchorz) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        for (id, joint) in run.world.joints() {
            let number = self.keys.joint(&run.layout, id);
            self.component(number, joint.robot, "JOINT", &joint.name).await?;
            sqlx::query(statement)
                .bind(number)
                .bind(self.keys.simulation)
                .bind(self.robot(joint.robot))
                .bind(&joint.name)
                .bind(joint.kind.name())
                .bind(self.keys.body(joint.parent))
                .bind(self.keys.body(joint.child))
                .bind(joint.anchor.x)
                .bind(joint.anchor.y)
                .bind(joint.anchor.z)
                .execute(&mut *self.connection)
                .await?;
            self.axes(id).await?;
        }
        Ok(())
    }

    async fn axes(&mut self, id: JointId) -> Result<(), sqlx::Error> {
        let joint = self.run.world.joint(id);
        let number = self.keys.joint(&self.run.layout, id);
        let directions = bevy_math::DMat3::from_quat(joint.frame);
        let stop = |angle: f64| angle.is_finite().then_some(angle);
        let statement = "INSERT INTO jointAxis (jointID, axis, x, y, z, lower_stop, upper_stop, damping, friction)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
        for (index, axis) in joint.axes.iter().enumerate() {
            let Axis::Free(motion) = axis else { continue };
            let direction = directions.col(index);
            sqlx::query(statement)
                .bind(number)
                .bind(index as i64 + 1)
                .bind(direction.x)
                .bind(direction.y)
                .bind(direction.z)
                .bind(stop(motion.lower))
                .bind(stop(motion.upper))
                .bind(motion.damping)
                .bind(motion.friction)
                .execute(&mut *self.connection)
                .await?;
        }
        Ok(())
    }

    async fn devices(&mut self) -> Result<(), sqlx::Error> {
        let run = self.run;
        for (index, info) in run.layout.devices().iter().enumerate() {
            let id = DeviceId::new(index);
            let robot = run.world.device(id).robot;
            let number = self.keys.device(&run.layout, id);
            let kind = if info.kind.is_actuator() { "ACTUATOR" } else { "SENSOR" };
            self.component(number, Some(robot), kind, &info.name).await?;
            let statement =
                "INSERT INTO device (componentID, kind, port, attached_to, interval_steps) VALUES (?, ?, ?, ?, ?)";
            sqlx::query(statement)
                .bind(number)
                .bind(info.kind.name())
                .bind(info.port.number())
                .bind(self.attachment(robot, &info.attachment))
                .bind(info.interval_steps as i64)
                .execute(&mut *self.connection)
                .await?;
            for (ordinal, field) in info.fields.iter().enumerate() {
                let query =
                    sqlx::query("INSERT INTO deviceField (componentID, ordinal, field, unit) VALUES (?, ?, ?, ?)");
                let query = query.bind(number).bind(ordinal as i64).bind(&field.name).bind(field.unit);
                query.execute(&mut *self.connection).await?;
            }
        }
        Ok(())
    }

    fn attachment(&self, robot: RobotId, attachment: &Attachment) -> i64 {
        let world = &self.run.world;
        let number = match attachment {
            Attachment::Body(name) => world.body_named(Some(robot), name).map(|body| self.keys.body(body)),
            Attachment::Joint(name) => {
                world.joint_named(Some(robot), name).map(|joint| self.keys.joint(&self.run.layout, joint))
            }
        };
        number.expect("a device's attachment was resolved within its robot when the model was read")
    }
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

/// Mass, centre of mass x, y, z, and the tensor's xx, yy, zz, xy, xz, yz.
fn inertia(mass: Option<&MassProperties>) -> [Option<f64>; 10] {
    mass.map_or([None; 10], |MassProperties { mass, centre_of_mass: c, tensor: i }| {
        let [x, y, z] = [i.x_axis, i.y_axis, i.z_axis];
        [*mass, c.x, c.y, c.z, x.x, y.y, z.z, y.x, z.x, z.y].map(Some)
    })
}
