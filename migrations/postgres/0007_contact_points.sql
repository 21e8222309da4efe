-- Where bodies touched, point by point, for runs with log.contacts: those of a step with the largest forces.
CREATE TABLE contactPoint (
    simulationRowID BIGINT NOT NULL,
    bodyID BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    other_bodyID BIGINT,
    x FLOAT8, y FLOAT8, z FLOAT8,
    normal_x FLOAT8, normal_y FLOAT8, normal_z FLOAT8,
    F_x FLOAT8, F_y FLOAT8, F_z FLOAT8,
    gap FLOAT8,
    PRIMARY KEY (simulationRowID, ordinal)
);

CREATE VIEW contactPointLog AS
    SELECT p.simulationRowID, s.step, s.simulationTime AS time, p.ordinal, r.name AS robot, b.name AS body,
        q.name AS other_robot, o.name AS other_body, p.x, p.y, p.z, p.normal_x, p.normal_y, p.normal_z, p.F_x, p.F_y, p.F_z, p.gap
    FROM contactPoint p JOIN simulationRow s ON s.simulationRowID = p.simulationRowID
    JOIN body b ON b.bodyID = p.bodyID LEFT JOIN robot r ON r.robotID = b.robotID
    LEFT JOIN body o ON o.bodyID = p.other_bodyID LEFT JOIN robot q ON q.robotID = o.robotID;
