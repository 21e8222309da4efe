-- What makes a run provably complete, and what is left of the steps between logged ones.

-- Names the run in whatever database it is written to: a spilled part of it finds its row by this.
ALTER TABLE simulation ADD COLUMN runKey TEXT;
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
    mean_F_x FLOAT8, mean_F_y FLOAT8, mean_F_z FLOAT8,
    mean_T_x FLOAT8, mean_T_y FLOAT8, mean_T_z FLOAT8,
    max_F_x FLOAT8, max_F_y FLOAT8, max_F_z FLOAT8,
    max_T_x FLOAT8, max_T_y FLOAT8, max_T_z FLOAT8,
    max_F FLOAT8, max_T FLOAT8,
    PRIMARY KEY (simulationRowID, bodyID)
);
