-- Values of the model's files that a run replaced.
CREATE TABLE parameter (
    simulationID INTEGER NOT NULL REFERENCES simulation(simulationID),
    ordinal INTEGER NOT NULL,
    path TEXT NOT NULL,
    text TEXT NOT NULL,
    value REAL,
    PRIMARY KEY (simulationID, ordinal)
) STRICT, WITHOUT ROWID;

-- Sweeps: many runs of one model with different parameters. Their rows belong to no run.
CREATE TABLE sweep (
    sweepID INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    planned TEXT NOT NULL,          -- UTC, ISO 8601
    program_version TEXT NOT NULL,
    cases INTEGER NOT NULL,
    plan TEXT NOT NULL
) STRICT;

CREATE TABLE sweepCase (
    sweepID INTEGER NOT NULL,
    caseNumber INTEGER NOT NULL,
    status TEXT NOT NULL,
    cause TEXT NOT NULL,
    steps INTEGER NOT NULL,
    stateHash TEXT NOT NULL,
    simulationID INTEGER,
    ended TEXT NOT NULL,
    PRIMARY KEY (sweepID, caseNumber)
) STRICT, WITHOUT ROWID;

CREATE TABLE sweepParameter (
    sweepID INTEGER NOT NULL,
    path TEXT NOT NULL,
    caseNumber INTEGER NOT NULL,
    text TEXT NOT NULL,
    value REAL,
    PRIMARY KEY (sweepID, path, caseNumber)
) STRICT, WITHOUT ROWID;

CREATE TABLE sweepResult (
    sweepID INTEGER NOT NULL,
    measure TEXT NOT NULL,
    caseNumber INTEGER NOT NULL,
    value REAL,
    PRIMARY KEY (sweepID, measure, caseNumber)
) STRICT, WITHOUT ROWID;

CREATE TABLE sweepEvent (
    eventID INTEGER PRIMARY KEY,
    sweepID INTEGER NOT NULL,
    caseNumber INTEGER NOT NULL,
    noticed TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
