-- Values of the model's files that a run replaced.
CREATE TABLE parameter (
    simulationID BIGINT NOT NULL REFERENCES simulation(simulationID),
    ordinal BIGINT NOT NULL,
    path VARCHAR(512) NOT NULL,
    text LONGTEXT NOT NULL,
    value DOUBLE,
    PRIMARY KEY (simulationID, ordinal)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Sweeps: many runs of one model with different parameters. Their rows belong to no run.
CREATE TABLE sweep (
    sweepID BIGINT AUTO_INCREMENT PRIMARY KEY,
    name VARCHAR(512) NOT NULL,
    hash VARCHAR(64) NOT NULL UNIQUE,
    planned TEXT NOT NULL,          -- UTC, ISO 8601
    program_version TEXT NOT NULL,
    cases BIGINT NOT NULL,
    plan LONGTEXT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE sweepCase (
    sweepID BIGINT NOT NULL,
    caseNumber BIGINT NOT NULL,
    status TEXT NOT NULL,
    cause LONGTEXT NOT NULL,
    steps BIGINT NOT NULL,
    stateHash TEXT NOT NULL,
    simulationID BIGINT,
    ended TEXT NOT NULL,
    PRIMARY KEY (sweepID, caseNumber)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE sweepParameter (
    sweepID BIGINT NOT NULL,
    path VARCHAR(512) NOT NULL,
    caseNumber BIGINT NOT NULL,
    text LONGTEXT NOT NULL,
    value DOUBLE,
    PRIMARY KEY (sweepID, path, caseNumber)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE sweepResult (
    sweepID BIGINT NOT NULL,
    measure VARCHAR(512) NOT NULL,
    caseNumber BIGINT NOT NULL,
    value DOUBLE,
    PRIMARY KEY (sweepID, measure, caseNumber)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE sweepEvent (
    eventID BIGINT AUTO_INCREMENT PRIMARY KEY,
    sweepID BIGINT NOT NULL,
    caseNumber BIGINT NOT NULL,
    noticed TEXT NOT NULL,
    text LONGTEXT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
