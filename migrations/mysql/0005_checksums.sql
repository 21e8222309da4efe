-- Checksums of the rows as they were logged: `db verify` computes them again and names what was changed since.

-- The version of the checksums that a run has; NULL if it has none. The other is over what is set at the run's end.
ALTER TABLE simulation ADD COLUMN checksums BIGINT;
ALTER TABLE simulation ADD COLUMN end_checksum BIGINT;

-- Over all rows of the step but for commands, events and snapshots.
ALTER TABLE simulationRow ADD COLUMN checksum BIGINT;

-- What was committed at once, numbered from 1, which is the model: the steps of its rows, a checksum over all of them, and sums
-- over each column and each body, joint, device and file (src/recorder/checksum.rs).
CREATE TABLE batch (
    simulationID BIGINT NOT NULL,
    number BIGINT NOT NULL,
    first_step BIGINT,
    last_step BIGINT,
    checksum BIGINT NOT NULL,
    sums LONGBLOB NOT NULL,
    PRIMARY KEY (simulationID, number)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
