-- States to go on from, and runs that did.

-- The run that this one goes on from, and the step after which it does. The run may have been pruned, or be in the database
-- that this one was copied from.
ALTER TABLE simulation ADD COLUMN parent_simulationID BIGINT;
ALTER TABLE simulation ADD COLUMN parent_step BIGINT;

-- The whole state after a step, and the chain's head there. Only the engine that made a state reads it. A run that goes on
-- from another one has the state it began with.
CREATE TABLE snapshot (
    simulationID BIGINT NOT NULL,
    step BIGINT NOT NULL,
    chain_head BIGINT NOT NULL,
    state BYTEA NOT NULL,
    PRIMARY KEY (simulationID, step)
);
