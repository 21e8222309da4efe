-- The log of simulation runs, the same tables as in the SQLite log. Table and column names in camelCase are those of the
-- thesis (3.4, appendices 4 and 5). MySQL and MariaDB tell tables apart by case where file systems do, unless the server was
-- set up with lower_case_table_names = 1; where it does, views of the next file give them the thesis's other spellings.
-- Lengths are metres, angles radians, everything else SI; vectors are in world axes where nothing
-- else is said. A number that is not finite (only a diverging simulation has any) is stored as NULL.

-- A run: from the start, or from a reset, to the next reset or the end.
CREATE TABLE simulation (
    simulationID BIGINT AUTO_INCREMENT PRIMARY KEY,
    -- 'running' until the run is closed: a killed process leaves it so.
    status TEXT NOT NULL,
    started TEXT NOT NULL,           -- UTC, ISO 8601
    ended TEXT,
    world TEXT NOT NULL,
    resets BIGINT NOT NULL,          -- resets of the same process before this run
    timestep_ns BIGINT NOT NULL,
    every_n_steps BIGINT NOT NULL,   -- one step in so many is logged
    clock_mode TEXT NOT NULL,        -- at the start; later changes are events
    program_version TEXT NOT NULL,
    engine TEXT NOT NULL,
    engine_version TEXT NOT NULL,
    engine_features TEXT NOT NULL,
    target TEXT NOT NULL,            -- architecture, system, and what else tells builds apart
    realtime_grants TEXT NOT NULL,   -- what the system granted the physics thread
    steps BIGINT,                    -- steps made, logged or not
    rows_written BIGINT,
    slips BIGINT,                    -- how often the clock was re-anchored
    late_p50_us DOUBLE,              -- lateness of the steps' starts
    late_p99_us DOUBLE,
    late_p99_9_us DOUBLE,
    late_max_us DOUBLE,
    real_time_factor DOUBLE,
    stateHash TEXT                   -- of the final state, hexadecimal
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The texts a run was made from: model files as read, and the effective properties.
CREATE TABLE simulationFile (
    simulationID BIGINT NOT NULL REFERENCES simulation (simulationID),
    ordinal BIGINT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('model', 'properties')),
    path TEXT NOT NULL,
    text LONGTEXT NOT NULL,
    PRIMARY KEY (simulationID, ordinal)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE robot (
    robotID BIGINT PRIMARY KEY,
    simulationID BIGINT NOT NULL REFERENCES simulation (simulationID),
    name TEXT NOT NULL,
    model TEXT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX robot_of_simulation ON robot (simulationID);

-- What a robot is made of. Bodies, joints and devices are numbered on one line, so that `reference` is unique without
-- `type`: the bodyID, the jointID, or for sensors and actuators the componentID itself. Objects belong to no robot.
CREATE TABLE robotComponent (
    componentID BIGINT PRIMARY KEY,
    robotID BIGINT NOT NULL REFERENCES robot (robotID),
    type TEXT NOT NULL CHECK (type IN ('BODY', 'JOINT', 'SENSOR', 'ACTUATOR')),
    name TEXT NOT NULL,
    reference BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX component_of_robot ON robotComponent (robotID);

-- Bodies as the physics used them. Dimensions that a shape does not have are NULL, and so are mass and inertia of fixed
-- bodies. Centre of mass and inertia (about the centre of mass) are in body axes.
CREATE TABLE body (
    bodyID BIGINT PRIMARY KEY,
    simulationID BIGINT NOT NULL REFERENCES simulation (simulationID),
    robotID BIGINT REFERENCES robot (robotID),
    name TEXT NOT NULL,
    fixed BIGINT NOT NULL,
    shape TEXT NOT NULL,             -- element name in XML, or 'particle'
    size_x DOUBLE, size_y DOUBLE, size_z DOUBLE,
    radius DOUBLE, length DOUBLE,
    mass DOUBLE,
    com_x DOUBLE, com_y DOUBLE, com_z DOUBLE,
    I_xx DOUBLE, I_yy DOUBLE, I_zz DOUBLE, I_xy DOUBLE, I_xz DOUBLE, I_yz DOUBLE,
    friction DOUBLE NOT NULL,
    restitution DOUBLE NOT NULL,
    rolling_friction DOUBLE NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX body_of_simulation ON body (simulationID);

CREATE TABLE joint (
    jointID BIGINT PRIMARY KEY,
    simulationID BIGINT NOT NULL REFERENCES simulation (simulationID),
    robotID BIGINT REFERENCES robot (robotID),
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    parent_bodyID BIGINT NOT NULL REFERENCES body (bodyID),
    child_bodyID BIGINT NOT NULL REFERENCES body (bodyID),
    anchorx DOUBLE, anchory DOUBLE, anchorz DOUBLE -- at step 0
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX joint_of_simulation ON joint (simulationID);

-- The free axes of joints: direction at step 0; stops (NULL where there is none), damping and dry friction in rad, N m
-- and s, or m, N and s for a slider.
CREATE TABLE jointAxis (
    jointID BIGINT NOT NULL REFERENCES joint (jointID),
    axis BIGINT NOT NULL CHECK (axis BETWEEN 1 AND 3),
    x DOUBLE, y DOUBLE, z DOUBLE,
    lower_stop DOUBLE, upper_stop DOUBLE,
    damping DOUBLE NOT NULL,
    friction DOUBLE NOT NULL,
    PRIMARY KEY (jointID, axis)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Sensors and actuators, and the numbers of their frames.
CREATE TABLE device (
    componentID BIGINT PRIMARY KEY REFERENCES robotComponent (componentID),
    kind TEXT NOT NULL,
    port BIGINT NOT NULL,            -- as the model asks for it; 0 is any
    attached_to BIGINT NOT NULL,     -- bodyID of a sensor, jointID of an actuator
    interval_steps BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE TABLE deviceField (
    componentID BIGINT NOT NULL REFERENCES device (componentID),
    ordinal BIGINT NOT NULL,
    field VARCHAR(100) NOT NULL,
    unit TEXT NOT NULL,
    PRIMARY KEY (componentID, ordinal)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- A logged step. simulationRowID is simulationID * 2^32 + step. The bulk tables below have no foreign keys and no second
-- index: at tens of thousands of rows a second each would cost as much as the row itself.
CREATE TABLE simulationRow (
    simulationRowID BIGINT PRIMARY KEY,
    simulationID BIGINT NOT NULL,
    step BIGINT NOT NULL,
    simulationTime DOUBLE NOT NULL,
    wall_ns BIGINT NOT NULL,         -- since the process's first step
    late_ns BIGINT NOT NULL,
    compute_ns BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The state of a body after a step. The views below give it the names of the thesis.
CREATE TABLE body_state (
    simulationRowID BIGINT NOT NULL,
    bodyID BIGINT NOT NULL,
    x DOUBLE, y DOUBLE, z DOUBLE,
    axis_x DOUBLE, axis_y DOUBLE, axis_z DOUBLE, angle DOUBLE,
    v_x DOUBLE, v_y DOUBLE, v_z DOUBLE,
    omega_x DOUBLE, omega_y DOUBLE, omega_z DOUBLE,
    F_x DOUBLE, F_y DOUBLE, F_z DOUBLE,
    T_x DOUBLE, T_y DOUBLE, T_z DOUBLE,
    PRIMARY KEY (simulationRowID, bodyID)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Position of the body's origin and orientation as axis and angle, 0 to pi (thesis equations 2 to 5).
CREATE VIEW pose AS
    SELECT simulationRowID, bodyID, x, y, z, axis_x, axis_y, axis_z, angle FROM body_state;

-- Linear velocity of the centre of mass and angular velocity.
CREATE VIEW velocity AS
    SELECT simulationRowID, bodyID, v_x, v_y, v_z, omega_x, omega_y, omega_z FROM body_state;

-- What contacts applied to the body in the step: force, and torque about the centre of mass.
CREATE VIEW forceAndTorque AS
    SELECT simulationRowID, bodyID, F_x, F_y, F_z, T_x, T_y, T_z FROM body_state;

-- The state of a joint after a step: anchor in the world; position, rate and motor effort of its axes (a locked axis reads
-- 0); force and torque of the reaction. The reaction is NULL: the rapier engine does not report it.
CREATE TABLE jointPose (
    simulationRowID BIGINT NOT NULL,
    jointID BIGINT NOT NULL,
    anchorx DOUBLE, anchory DOUBLE, anchorz DOUBLE,
    position_1 DOUBLE, position_2 DOUBLE, position_3 DOUBLE,
    rate_1 DOUBLE, rate_2 DOUBLE, rate_3 DOUBLE,
    effort_1 DOUBLE, effort_2 DOUBLE, effort_3 DOUBLE,
    F_x DOUBLE, F_y DOUBLE, F_z DOUBLE,
    T_x DOUBLE, T_y DOUBLE, T_z DOUBLE,
    PRIMARY KEY (simulationRowID, jointID)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Sensor readings, in the steps in which they were taken afresh.
CREATE TABLE sensorReading (
    simulationRowID BIGINT NOT NULL,
    componentID BIGINT NOT NULL,
    field VARCHAR(100) NOT NULL,
    value DOUBLE,
    PRIMARY KEY (simulationRowID, componentID, field)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Every command, in the step in which it took effect. Between commands an actuator's setting does not change.
CREATE TABLE command (
    simulationID BIGINT NOT NULL,
    step BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,         -- order within the step, from 0
    port BIGINT NOT NULL,
    componentID BIGINT NOT NULL,
    client BIGINT NOT NULL,          -- number of the connection; 0 for a sequence played inside the process
    text LONGTEXT NOT NULL,
    reply LONGTEXT NOT NULL,
    PRIMARY KEY (simulationID, step, ordinal)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What happened beside the plan. wall_ns is NULL for what came after the last step.
CREATE TABLE event (
    eventID BIGINT AUTO_INCREMENT PRIMARY KEY,
    simulationID BIGINT NOT NULL,
    step BIGINT NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    text LONGTEXT NOT NULL,
    value DOUBLE,
    wall_ns BIGINT
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
