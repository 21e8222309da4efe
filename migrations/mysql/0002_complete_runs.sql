-- What makes a run provably complete, and what is left of the steps between logged ones.

-- Names the run in whatever database it is written to: a spilled part of it finds its row by this.
ALTER TABLE simulation ADD COLUMN runKey VARCHAR(64);
CREATE UNIQUE INDEX simulation_of_key ON simulation (runKey);
-- How many portions of the log are committed. It moves in the transaction of the portion, so that none is written twice.
ALTER TABLE simulation ADD COLUMN position BIGINT NOT NULL DEFAULT 0;
-- 1 if rows of state are written only where they differ from the row before.
ALTER TABLE simulation ADD COLUMN on_change BIGINT NOT NULL DEFAULT 0;
-- Rows in body_state and jointPose that each logged step has; with on_change the most that one has.
ALTER TABLE simulation ADD COLUMN bodies_logged BIGINT;
ALTER TABLE simulation ADD COLUMN joints_logged BIGINT;
-- Known at the end: logged steps, stretches of steps that are missing though they should be there, and the last step's chain.
ALTER TABLE simulation ADD COLUMN steps_logged BIGINT;
ALTER TABLE simulation ADD COLUMN gaps BIGINT;
ALTER TABLE simulation ADD COLUMN chain_head BIGINT;

-- Hash of this step's record and of the one before it: a chain over every step, logged or not.
ALTER TABLE simulationRow ADD COLUMN state_hash BIGINT;
-- Rows that belong to the step.
ALTER TABLE simulationRow ADD COLUMN bodies BIGINT;
ALTER TABLE simulationRow ADD COLUMN joints BIGINT;
ALTER TABLE simulationRow ADD COLUMN readings BIGINT;

-- Where steps are thinned out: contact force and torque over the steps since the last logged one, this one included. Mean and
-- greatest magnitude of each component (with its sign), and of the vectors.
CREATE TABLE forceAndTorqueInterval (
    simulationRowID BIGINT NOT NULL,
    bodyID BIGINT NOT NULL,
    steps BIGINT NOT NULL,
    mean_F_x DOUBLE, mean_F_y DOUBLE, mean_F_z DOUBLE,
    mean_T_x DOUBLE, mean_T_y DOUBLE, mean_T_z DOUBLE,
    max_F_x DOUBLE, max_F_y DOUBLE, max_F_z DOUBLE,
    max_T_x DOUBLE, max_T_y DOUBLE, max_T_z DOUBLE,
    max_F DOUBLE, max_T DOUBLE,
    PRIMARY KEY (simulationRowID, bodyID)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The spellings of the thesis's queries, where the server tells them apart. Views of tables, since a view of a view of nearly
-- the same name is taken for one of itself.
SET @spelling = if(@@lower_case_table_names = 0, 'CREATE VIEW Pose AS SELECT simulationRowID, bodyID, x, y, z, axis_x, axis_y,
    axis_z, angle FROM body_state', 'DO 0');
PREPARE spelling FROM @spelling;
EXECUTE spelling;
SET @spelling = if(@@lower_case_table_names = 0, 'CREATE VIEW ForceAndTorque AS SELECT simulationRowID, bodyID, F_x, F_y, F_z,
    T_x, T_y, T_z FROM body_state', 'DO 0');
PREPARE spelling FROM @spelling;
EXECUTE spelling;
SET @spelling = if(@@lower_case_table_names = 0, 'CREATE VIEW SimulationRow AS SELECT * FROM simulationRow', 'DO 0');
PREPARE spelling FROM @spelling;
EXECUTE spelling;
SET @spelling = if(@@lower_case_table_names = 0, 'CREATE VIEW simulationrow AS SELECT * FROM simulationRow', 'DO 0');
PREPARE spelling FROM @spelling;
EXECUTE spelling;
SET @spelling = if(@@lower_case_table_names = 0, 'CREATE VIEW Robot AS SELECT * FROM robot', 'DO 0');
PREPARE spelling FROM @spelling;
EXECUTE spelling;
SET @spelling = if(@@lower_case_table_names = 0, 'CREATE VIEW RobotComponent AS SELECT * FROM robotComponent', 'DO 0');
PREPARE spelling FROM @spelling;
EXECUTE spelling;
DEALLOCATE PREPARE spelling;
