-- Where bodies touched, point by point, for runs with log.contacts: those of a step with the largest forces.
CREATE TABLE contactPoint (
    simulationRowID BIGINT NOT NULL,
    bodyID BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    other_bodyID BIGINT,
    x DOUBLE, y DOUBLE, z DOUBLE,
    normal_x DOUBLE, normal_y DOUBLE, normal_z DOUBLE,
    F_x DOUBLE, F_y DOUBLE, F_z DOUBLE,
    gap DOUBLE,
    PRIMARY KEY (simulationRowID, ordinal)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE VIEW contactPointLog AS
    SELECT p.simulationRowID, s.step, s.simulationTime AS time, p.ordinal, r.name AS robot, b.name AS body,
        q.name AS other_robot, o.name AS other_body, p.x, p.y, p.z, p.normal_x, p.normal_y, p.normal_z, p.F_x, p.F_y, p.F_z, p.gap
    FROM contactPoint p JOIN simulationRow s ON s.simulationRowID = p.simulationRowID
    JOIN body b ON b.bodyID = p.bodyID LEFT JOIN robot r ON r.robotID = b.robotID
    LEFT JOIN body o ON o.bodyID = p.other_bodyID LEFT JOIN robot q ON q.robotID = o.robotID;
