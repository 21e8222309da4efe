-- What `simpartner grasp` found, where it was asked to keep it. It belongs to no run.
CREATE TABLE grasp (
    graspID BIGINT AUTO_INCREMENT PRIMARY KEY,
    asked TEXT NOT NULL,             -- UTC, ISO 8601
    verb TEXT NOT NULL,
    file LONGTEXT NOT NULL,
    blake3 TEXT NOT NULL,
    name TEXT NOT NULL,
    verdict TEXT NOT NULL,
    margin DOUBLE, squeeze DOUBLE,
    solid_angle DOUBLE,
    safe_tilt DOUBLE,
    epsilon_lower DOUBLE, epsilon_upper DOUBLE,
    volume_lower DOUBLE, volume_upper DOUBLE,
    slip_time DOUBLE,
    slip_path DOUBLE,
    answer LONGTEXT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
