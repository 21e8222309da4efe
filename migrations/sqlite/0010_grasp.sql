-- What `simpartner grasp` found, where it was asked to keep it. It belongs to no run.
CREATE TABLE grasp (
    graspID INTEGER PRIMARY KEY,
    asked TEXT NOT NULL,             -- UTC, ISO 8601
    verb TEXT NOT NULL,
    file TEXT NOT NULL,
    blake3 TEXT NOT NULL,
    name TEXT NOT NULL,
    verdict TEXT NOT NULL,
    margin REAL, squeeze REAL,
    solid_angle REAL,
    safe_tilt REAL,
    epsilon_lower REAL, epsilon_upper REAL,
    volume_lower REAL, volume_upper REAL,
    slip_time REAL,
    slip_path REAL,
    answer TEXT NOT NULL
) STRICT;
