-- Logs that are thinned out after a while and how large they are, and views for people.

-- Up to this step one in every_n_steps is logged, and then one in thinned_every_n_steps; NULL where nothing is thinned out.
-- simulation.on_change is 2 where a robot's rows, or an object's, are left out as long as all of them are like the ones before.
ALTER TABLE simulation ADD COLUMN full_steps INTEGER;
ALTER TABLE simulation ADD COLUMN thinned_every_n_steps INTEGER;
-- How much was written, about: eight bytes a value. It moves with the position.
ALTER TABLE simulation ADD COLUMN log_bytes INTEGER;

-- Views with the names of things in them, for people. `simpartner schema log` tells what each column is.
CREATE VIEW bodyLog AS
    SELECT p.simulationRowID, s.step, s.simulationTime AS time, r.name AS robot, b.name AS body, p.x, p.y, p.z,
        p.axis_x, p.axis_y, p.axis_z, p.angle, p.v_x, p.v_y, p.v_z, p.omega_x, p.omega_y, p.omega_z, p.F_x, p.F_y, p.F_z,
        p.T_x, p.T_y, p.T_z
    FROM body_state p CROSS JOIN simulationRow s ON s.simulationRowID = p.simulationRowID
    JOIN body b ON b.bodyID = p.bodyID LEFT JOIN robot r ON r.robotID = b.robotID;
CREATE VIEW contactLog AS
    SELECT p.simulationRowID, s.step, s.simulationTime AS time, r.name AS robot, b.name AS body, p.F_x, p.F_y, p.F_z,
        p.T_x, p.T_y, p.T_z
    FROM body_state p CROSS JOIN simulationRow s ON s.simulationRowID = p.simulationRowID
    JOIN body b ON b.bodyID = p.bodyID LEFT JOIN robot r ON r.robotID = b.robotID
    WHERE p.F_x <> 0 OR p.F_y <> 0 OR p.F_z <> 0 OR p.T_x <> 0 OR p.T_y <> 0 OR p.T_z <> 0;
CREATE VIEW jointLog AS
    SELECT p.simulationRowID, s.step, s.simulationTime AS time, r.name AS robot, j.name AS joint, j.kind, p.anchorx,
        p.anchory, p.anchorz, p.position_1, p.position_2, p.position_3, p.rate_1, p.rate_2, p.rate_3, p.effort_1,
        p.effort_2, p.effort_3, p.F_x, p.F_y, p.F_z, p.T_x, p.T_y, p.T_z
    FROM jointPose p CROSS JOIN simulationRow s ON s.simulationRowID = p.simulationRowID
    JOIN joint j ON j.jointID = p.jointID LEFT JOIN robot r ON r.robotID = j.robotID;
CREATE VIEW readingLog AS
    SELECT p.simulationRowID, s.step, s.simulationTime AS time, r.name AS robot, c.name AS device, d.kind, p.field, p.value
    FROM sensorReading p CROSS JOIN simulationRow s ON s.simulationRowID = p.simulationRowID
    CROSS JOIN device d ON d.componentID = p.componentID
    CROSS JOIN robotComponent c ON c.componentID = p.componentID CROSS JOIN robot r ON r.robotID = c.robotID;
CREATE VIEW commandLog AS
    SELECT c.simulationID, c.step, c.step * s.timestep_ns / 1e9 AS time, c.ordinal, r.name AS robot,
        o.name AS device, d.kind, c.client, c.text, c.reply
    FROM command c JOIN simulation s ON s.simulationID = c.simulationID
    LEFT JOIN robotComponent o ON o.componentID = c.componentID LEFT JOIN robot r ON r.robotID = o.robotID
    LEFT JOIN device d ON d.componentID = c.componentID;
CREATE VIEW eventLog AS
    SELECT e.simulationID, e.eventID, e.step, e.step * s.timestep_ns / 1e9 AS time, e.kind,
        e.subject, e.text, e.value
    FROM event e JOIN simulation s ON s.simulationID = e.simulationID;

-- The readings of each kind of sensor, a column for each of its numbers.
CREATE VIEW positionSensor AS
    SELECT p.simulationRowID, s.step, s.simulationTime AS time, r.name AS robot, c.name AS device,
        max(CASE WHEN p.field = 'x' THEN p.value END) AS x, max(CASE WHEN p.field = 'y' THEN p.value END) AS y,
        max(CASE WHEN p.field = 'z' THEN p.value END) AS z
    FROM sensorReading p CROSS JOIN simulationRow s ON s.simulationRowID = p.simulationRowID
    CROSS JOIN device d ON d.componentID = p.componentID
    CROSS JOIN robotComponent c ON c.componentID = p.componentID CROSS JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'PositionSensor'
    GROUP BY p.simulationRowID, p.componentID, s.step, s.simulationTime, r.name, c.name;
CREATE VIEW poseSensor AS
    SELECT p.simulationRowID, s.step, s.simulationTime AS time, r.name AS robot, c.name AS device,
        max(CASE WHEN p.field = 'x' THEN p.value END) AS x, max(CASE WHEN p.field = 'y' THEN p.value END) AS y,
        max(CASE WHEN p.field = 'z' THEN p.value END) AS z, max(CASE WHEN p.field = 'qx' THEN p.value END) AS qx,
        max(CASE WHEN p.field = 'qy' THEN p.value END) AS qy, max(CASE WHEN p.field = 'qz' THEN p.value END) AS qz,
        max(CASE WHEN p.field = 'qw' THEN p.value END) AS qw
    FROM sensorReading p CROSS JOIN simulationRow s ON s.simulationRowID = p.simulationRowID
    CROSS JOIN device d ON d.componentID = p.componentID
    CROSS JOIN robotComponent c ON c.componentID = p.componentID CROSS JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'PoseSensor'
    GROUP BY p.simulationRowID, p.componentID, s.step, s.simulationTime, r.name, c.name;
CREATE VIEW velocitySensor AS
    SELECT p.simulationRowID, s.step, s.simulationTime AS time, r.name AS robot, c.name AS device,
        max(CASE WHEN p.field = 'vx' THEN p.value END) AS vx, max(CASE WHEN p.field = 'vy' THEN p.value END) AS vy,
        max(CASE WHEN p.field = 'vz' THEN p.value END) AS vz,
        max(CASE WHEN p.field = 'omega_x' THEN p.value END) AS omega_x,
        max(CASE WHEN p.field = 'omega_y' THEN p.value END) AS omega_y,
        max(CASE WHEN p.field = 'omega_z' THEN p.value END) AS omega_z
    FROM sensorReading p CROSS JOIN simulationRow s ON s.simulationRowID = p.simulationRowID
    CROSS JOIN device d ON d.componentID = p.componentID
    CROSS JOIN robotComponent c ON c.componentID = p.componentID CROSS JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'VelocitySensor'
    GROUP BY p.simulationRowID, p.componentID, s.step, s.simulationTime, r.name, c.name;
CREATE VIEW accelerometer AS
    SELECT p.simulationRowID, s.step, s.simulationTime AS time, r.name AS robot, c.name AS device,
        max(CASE WHEN p.field = 'fx' THEN p.value END) AS fx, max(CASE WHEN p.field = 'fy' THEN p.value END) AS fy,
        max(CASE WHEN p.field = 'fz' THEN p.value END) AS fz
    FROM sensorReading p CROSS JOIN simulationRow s ON s.simulationRowID = p.simulationRowID
    CROSS JOIN device d ON d.componentID = p.componentID
    CROSS JOIN robotComponent c ON c.componentID = p.componentID CROSS JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'Accelerometer'
    GROUP BY p.simulationRowID, p.componentID, s.step, s.simulationTime, r.name, c.name;
CREATE VIEW gyroscope AS
    SELECT p.simulationRowID, s.step, s.simulationTime AS time, r.name AS robot, c.name AS device,
        max(CASE WHEN p.field = 'omega_x' THEN p.value END) AS omega_x,
        max(CASE WHEN p.field = 'omega_y' THEN p.value END) AS omega_y,
        max(CASE WHEN p.field = 'omega_z' THEN p.value END) AS omega_z
    FROM sensorReading p CROSS JOIN simulationRow s ON s.simulationRowID = p.simulationRowID
    CROSS JOIN device d ON d.componentID = p.componentID
    CROSS JOIN robotComponent c ON c.componentID = p.componentID CROSS JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'Gyroscope'
    GROUP BY p.simulationRowID, p.componentID, s.step, s.simulationTime, r.name, c.name;
CREATE VIEW imuSensor AS
    SELECT p.simulationRowID, s.step, s.simulationTime AS time, r.name AS robot, c.name AS device,
        max(CASE WHEN p.field = 'qx' THEN p.value END) AS qx, max(CASE WHEN p.field = 'qy' THEN p.value END) AS qy,
        max(CASE WHEN p.field = 'qz' THEN p.value END) AS qz, max(CASE WHEN p.field = 'qw' THEN p.value END) AS qw,
        max(CASE WHEN p.field = 'omega_x' THEN p.value END) AS omega_x,
        max(CASE WHEN p.field = 'omega_y' THEN p.value END) AS omega_y,
        max(CASE WHEN p.field = 'omega_z' THEN p.value END) AS omega_z,
        max(CASE WHEN p.field = 'fx' THEN p.value END) AS fx, max(CASE WHEN p.field = 'fy' THEN p.value END) AS fy,
        max(CASE WHEN p.field = 'fz' THEN p.value END) AS fz
    FROM sensorReading p CROSS JOIN simulationRow s ON s.simulationRowID = p.simulationRowID
    CROSS JOIN device d ON d.componentID = p.componentID
    CROSS JOIN robotComponent c ON c.componentID = p.componentID CROSS JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'ImuSensor'
    GROUP BY p.simulationRowID, p.componentID, s.step, s.simulationTime, r.name, c.name;
CREATE VIEW gnssSensor AS
    SELECT p.simulationRowID, s.step, s.simulationTime AS time, r.name AS robot, c.name AS device,
        max(CASE WHEN p.field = 'latitude' THEN p.value END) AS latitude,
        max(CASE WHEN p.field = 'longitude' THEN p.value END) AS longitude,
        max(CASE WHEN p.field = 'altitude' THEN p.value END) AS altitude
    FROM sensorReading p CROSS JOIN simulationRow s ON s.simulationRowID = p.simulationRowID
    CROSS JOIN device d ON d.componentID = p.componentID
    CROSS JOIN robotComponent c ON c.componentID = p.componentID CROSS JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'GnssSensor'
    GROUP BY p.simulationRowID, p.componentID, s.step, s.simulationTime, r.name, c.name;
CREATE VIEW compassSensor AS
    SELECT p.simulationRowID, s.step, s.simulationTime AS time, r.name AS robot, c.name AS device,
        max(CASE WHEN p.field = 'heading' THEN p.value END) AS heading,
        max(CASE WHEN p.field = 'north_x' THEN p.value END) AS north_x,
        max(CASE WHEN p.field = 'north_y' THEN p.value END) AS north_y,
        max(CASE WHEN p.field = 'north_z' THEN p.value END) AS north_z
    FROM sensorReading p CROSS JOIN simulationRow s ON s.simulationRowID = p.simulationRowID
    CROSS JOIN device d ON d.componentID = p.componentID
    CROSS JOIN robotComponent c ON c.componentID = p.componentID CROSS JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'CompassSensor'
    GROUP BY p.simulationRowID, p.componentID, s.step, s.simulationTime, r.name, c.name;
CREATE VIEW distanceSensor AS
    SELECT p.simulationRowID, s.step, s.simulationTime AS time, r.name AS robot, c.name AS device,
        max(CASE WHEN p.field = 'distance' THEN p.value END) AS distance
    FROM sensorReading p CROSS JOIN simulationRow s ON s.simulationRowID = p.simulationRowID
    CROSS JOIN device d ON d.componentID = p.componentID
    CROSS JOIN robotComponent c ON c.componentID = p.componentID CROSS JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'DistanceSensor'
    GROUP BY p.simulationRowID, p.componentID, s.step, s.simulationTime, r.name, c.name;
CREATE VIEW contactSensor AS
    SELECT p.simulationRowID, s.step, s.simulationTime AS time, r.name AS robot, c.name AS device,
        max(CASE WHEN p.field = 'force_x' THEN p.value END) AS force_x,
        max(CASE WHEN p.field = 'force_y' THEN p.value END) AS force_y,
        max(CASE WHEN p.field = 'force_z' THEN p.value END) AS force_z,
        max(CASE WHEN p.field = 'torque_x' THEN p.value END) AS torque_x,
        max(CASE WHEN p.field = 'torque_y' THEN p.value END) AS torque_y,
        max(CASE WHEN p.field = 'torque_z' THEN p.value END) AS torque_z
    FROM sensorReading p CROSS JOIN simulationRow s ON s.simulationRowID = p.simulationRowID
    CROSS JOIN device d ON d.componentID = p.componentID
    CROSS JOIN robotComponent c ON c.componentID = p.componentID CROSS JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'ContactSensor'
    GROUP BY p.simulationRowID, p.componentID, s.step, s.simulationTime, r.name, c.name;
CREATE VIEW bumperSensor AS
    SELECT p.simulationRowID, s.step, s.simulationTime AS time, r.name AS robot, c.name AS device,
        max(CASE WHEN p.field = 'pressed' THEN p.value END) AS pressed,
        max(CASE WHEN p.field = 'force' THEN p.value END) AS normal_force
    FROM sensorReading p CROSS JOIN simulationRow s ON s.simulationRowID = p.simulationRowID
    CROSS JOIN device d ON d.componentID = p.componentID
    CROSS JOIN robotComponent c ON c.componentID = p.componentID CROSS JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'BumperSensor'
    GROUP BY p.simulationRowID, p.componentID, s.step, s.simulationTime, r.name, c.name;
CREATE VIEW jointEncoder AS
    SELECT p.simulationRowID, s.step, s.simulationTime AS time, r.name AS robot, c.name AS device,
        max(CASE WHEN p.field = 'position_1' THEN p.value END) AS position_1,
        max(CASE WHEN p.field = 'position_2' THEN p.value END) AS position_2,
        max(CASE WHEN p.field = 'position_3' THEN p.value END) AS position_3,
        max(CASE WHEN p.field = 'rate_1' THEN p.value END) AS rate_1,
        max(CASE WHEN p.field = 'rate_2' THEN p.value END) AS rate_2,
        max(CASE WHEN p.field = 'rate_3' THEN p.value END) AS rate_3
    FROM sensorReading p CROSS JOIN simulationRow s ON s.simulationRowID = p.simulationRowID
    CROSS JOIN device d ON d.componentID = p.componentID
    CROSS JOIN robotComponent c ON c.componentID = p.componentID CROSS JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'JointEncoder'
    GROUP BY p.simulationRowID, p.componentID, s.step, s.simulationTime, r.name, c.name;
CREATE VIEW forceTorqueSensor AS
    SELECT p.simulationRowID, s.step, s.simulationTime AS time, r.name AS robot, c.name AS device,
        max(CASE WHEN p.field = 'force_x' THEN p.value END) AS force_x,
        max(CASE WHEN p.field = 'force_y' THEN p.value END) AS force_y,
        max(CASE WHEN p.field = 'force_z' THEN p.value END) AS force_z,
        max(CASE WHEN p.field = 'torque_x' THEN p.value END) AS torque_x,
        max(CASE WHEN p.field = 'torque_y' THEN p.value END) AS torque_y,
        max(CASE WHEN p.field = 'torque_z' THEN p.value END) AS torque_z
    FROM sensorReading p CROSS JOIN simulationRow s ON s.simulationRowID = p.simulationRowID
    CROSS JOIN device d ON d.componentID = p.componentID
    CROSS JOIN robotComponent c ON c.componentID = p.componentID CROSS JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'ForceTorqueSensor'
    GROUP BY p.simulationRowID, p.componentID, s.step, s.simulationTime, r.name, c.name;
-- Of a scanner, a row for each ray: `distance_RAY`, or with several layers `distance_LAYER_RAY`.
CREATE VIEW scannerSensor AS
    SELECT p.simulationRowID, s.step, s.simulationTime AS time, r.name AS robot, c.name AS device,
        CASE instr(substr(p.field, 10), '_') WHEN 0 THEN 1 ELSE CAST(substr(p.field, 10) AS INTEGER) END
            AS layer,
        CAST(substr(substr(p.field, 10), instr(substr(p.field, 10), '_') + 1) AS INTEGER) AS ray,
        p.value AS distance
    FROM sensorReading p CROSS JOIN simulationRow s ON s.simulationRowID = p.simulationRowID
    CROSS JOIN device d ON d.componentID = p.componentID
    CROSS JOIN robotComponent c ON c.componentID = p.componentID CROSS JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'ScannerSensor';
