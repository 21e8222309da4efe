-- The log of simulation runs. Table and column names in camelCase are those of the thesis (3.4, appendices 4 and 5); SQL
-- ignores their case. Lengths are metres, angles radians, everything else SI; vectors are in world axes where nothing
-- else is said. A number that is not finite (only a diverging simulation has any) is stored as NULL.

-- A run: from the start, or from a reset, to the next reset or the end.
CREATE TABLE simulation (
    simulationID INTEGER PRIMARY KEY,
    -- 'running' until the run is closed: a killed process leaves it so.
    status TEXT NOT NULL,
    started TEXT NOT NULL,           -- UTC, ISO 8601
    ended TEXT,
    world TEXT NOT NULL,
    resets INTEGER NOT NULL,         -- resets of the same process before this run
    timestep_ns INTEGER NOT NULL,
    every_n_steps INTEGER NOT NULL,  -- one step in so many is logged
    clock_mode TEXT NOT NULL,        -- at the start; later changes are events
    program_version TEXT NOT NULL,
    engine TEXT NOT NULL,
    engine_version TEXT NOT NULL,
    engine_features TEXT NOT NULL,
    target TEXT NOT NULL,            -- architecture, system, and what else tells builds apart
    realtime_grants TEXT NOT NULL,   -- what the system granted the physics thread
    steps INTEGER,                   -- steps made, logged or not
    rows_written INTEGER,
    slips INTEGER,                   -- how often the clock was re-anchored
    late_p50_us REAL,                -- lateness of the steps' starts
    late_p99_us REAL,
    late_p99_9_us REAL,
    late_max_us REAL,
    real_time_factor REAL,
    stateHash TEXT                   -- of the final state, hexadecimal
) STRICT;

-- The texts a run was made from: model files as read, and the effective properties.
CREATE TABLE simulationFile (
    simulationID INTEGER NOT NULL REFERENCES simulation,
    ordinal INTEGER NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('model', 'properties')),
    path TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (simulationID, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE robot (
    robotID INTEGER PRIMARY KEY,
    simulationID INTEGER NOT NULL REFERENCES simulation,
    name TEXT NOT NULL,
    model TEXT NOT NULL
) STRICT;
CREATE INDEX robot_of_simulation ON robot (simulationID);

-- What a robot is made of. Bodies, joints and devices are numbered on one line, so that `reference` is unique without
-- `type`: the bodyID, the jointID, or for sensors and actuators the componentID itself. Objects belong to no robot.
CREATE TABLE robotComponent (
    componentID INTEGER PRIMARY KEY,
    robotID INTEGER NOT NULL REFERENCES robot,
    type TEXT NOT NULL CHECK (type IN ('BODY', 'JOINT', 'SENSOR', 'ACTUATOR')),
    name TEXT NOT NULL,
    reference INTEGER NOT NULL
) STRICT;
CREATE INDEX component_of_robot ON robotComponent (robotID);

-- Bodies as the physics used them. Dimensions that a shape does not have are NULL, and so are mass and inertia of fixed
-- bodies. Centre of mass and inertia (about the centre of mass) are in body axes.
CREATE TABLE body (
    bodyID INTEGER PRIMARY KEY,
    simulationID INTEGER NOT NULL REFERENCES simulation,
    robotID INTEGER REFERENCES robot,
    name TEXT NOT NULL,
    fixed INTEGER NOT NULL,
    shape TEXT NOT NULL,             -- element name in XML, or 'particle'
    size_x REAL, size_y REAL, size_z REAL,
    radius REAL, length REAL,
    mass REAL,
    com_x REAL, com_y REAL, com_z REAL,
    I_xx REAL, I_yy REAL, I_zz REAL, I_xy REAL, I_xz REAL, I_yz REAL,
    friction REAL NOT NULL,
    restitution REAL NOT NULL,
    rolling_friction REAL NOT NULL
) STRICT;
CREATE INDEX body_of_simulation ON body (simulationID);

CREATE TABLE joint (
    jointID INTEGER PRIMARY KEY,
    simulationID INTEGER NOT NULL REFERENCES simulation,
    robotID INTEGER REFERENCES robot,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    parent_bodyID INTEGER NOT NULL REFERENCES body,
    child_bodyID INTEGER NOT NULL REFERENCES body,
    anchorx REAL, anchory REAL, anchorz REAL  -- at step 0
) STRICT;
CREATE INDEX joint_of_simulation ON joint (simulationID);

-- The free axes of joints: direction at step 0; stops (NULL where there is none), damping and dry friction in rad, N m
-- and s, or m, N and s for a slider.
CREATE TABLE jointAxis (
    jointID INTEGER NOT NULL REFERENCES joint,
    axis INTEGER NOT NULL CHECK (axis BETWEEN 1 AND 3),
    x REAL, y REAL, z REAL,
    lower_stop REAL, upper_stop REAL,
    damping REAL NOT NULL,
    friction REAL NOT NULL,
    PRIMARY KEY (jointID, axis)
) STRICT, WITHOUT ROWID;

-- Sensors and actuators, and the numbers of their frames.
CREATE TABLE device (
    componentID INTEGER PRIMARY KEY REFERENCES robotComponent,
    kind TEXT NOT NULL,
    port INTEGER NOT NULL,           -- as the model asks for it; 0 is any
    attached_to INTEGER NOT NULL,    -- bodyID of a sensor, jointID of an actuator
    interval_steps INTEGER NOT NULL
) STRICT;
CREATE TABLE deviceField (
    componentID INTEGER NOT NULL REFERENCES device,
    ordinal INTEGER NOT NULL,
    field TEXT NOT NULL,
    unit TEXT NOT NULL,
    PRIMARY KEY (componentID, ordinal)
) STRICT, WITHOUT ROWID;

-- A logged step. simulationRowID is simulationID * 2^32 + step. The bulk tables below have no foreign keys and no second
-- index: at tens of thousands of rows a second each would cost as much as the row itself.
CREATE TABLE simulationRow (
    simulationRowID INTEGER PRIMARY KEY,
    simulationID INTEGER NOT NULL,
    step INTEGER NOT NULL,
    simulationTime REAL NOT NULL,
    wall_ns INTEGER NOT NULL,        -- since the process's first step
    late_ns INTEGER NOT NULL,
    compute_ns INTEGER NOT NULL
) STRICT;

-- The state of a body after a step. The views below give it the names of the thesis.
CREATE TABLE body_state (
    simulationRowID INTEGER NOT NULL,
    bodyID INTEGER NOT NULL,
    x REAL, y REAL, z REAL,
    axis_x REAL, axis_y REAL, axis_z REAL, angle REAL,
    v_x REAL, v_y REAL, v_z REAL,
    omega_x REAL, omega_y REAL, omega_z REAL,
    F_x REAL, F_y REAL, F_z REAL,
    T_x REAL, T_y REAL, T_z REAL,
    PRIMARY KEY (simulationRowID, bodyID)
) STRICT, WITHOUT ROWID;

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
    simulationRowID INTEGER NOT NULL,
    jointID INTEGER NOT NULL,
    anchorx REAL, anchory REAL, anchorz REAL,
    position_1 REAL, position_2 REAL, position_3 REAL,
    rate_1 REAL, rate_2 REAL, rate_3 REAL,
    effort_1 REAL, effort_2 REAL, effort_3 REAL,
    F_x REAL, F_y REAL, F_z REAL,
    T_x REAL, T_y REAL, T_z REAL,
    PRIMARY KEY (simulationRowID, jointID)
) STRICT, WITHOUT ROWID;

-- Sensor readings, in the steps in which they were taken afresh.
CREATE TABLE sensorReading (
    simulationRowID INTEGER NOT NULL,
    componentID INTEGER NOT NULL,
    field TEXT NOT NULL,
    value REAL,
    PRIMARY KEY (simulationRowID, componentID, field)
) STRICT, WITHOUT ROWID;

-- Every command, in the step in which it took effect. Between commands an actuator's setting does not change.
CREATE TABLE command (
    simulationID INTEGER NOT NULL,
    step INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,        -- order within the step, from 0
    port INTEGER NOT NULL,
    componentID INTEGER NOT NULL,
    client INTEGER NOT NULL,         -- number of the connection; 0 for a sequence played inside the process
    text TEXT NOT NULL,
    reply TEXT NOT NULL,
    PRIMARY KEY (simulationID, step, ordinal)
) STRICT, WITHOUT ROWID;

-- What happened beside the plan. wall_ns is NULL for what came after the last step.
CREATE TABLE event (
    eventID INTEGER PRIMARY KEY,
    simulationID INTEGER NOT NULL,
    step INTEGER NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    text TEXT NOT NULL,
    value REAL,
    wall_ns INTEGER
) STRICT;
