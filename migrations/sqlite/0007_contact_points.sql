-- Where bodies touched, point by point, for runs with log.contacts: those of a step with the largest forces.
CREATE TABLE contactPoint (
    simulationRowID INTEGER NOT NULL,
    bodyID INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    other_bodyID INTEGER,
    x REAL, y REAL, z REAL,
    normal_x REAL, normal_y REAL, normal_z REAL,
    F_x REAL, F_y REAL, F_z REAL,
    gap REAL,
    PRIMARY KEY (simulationRowID, ordinal)
) STRICT, WITHOUT ROWID;

CREATE VIEW contactPointLog AS
    SELECT p.simulationRowID, s.step, s.simulationTime AS time, p.ordinal, r.name AS robot, b.name AS body,
        q.name AS other_robot, o.name AS other_body, p.x, p.y, p.z, p.normal_x, p.normal_y, p.normal_z, p.F_x, p.F_y, p.F_z, p.gap
    FROM contactPoint p CROSS JOIN simulationRow s ON s.simulationRowID = p.simulationRowID
    JOIN body b ON b.bodyID = p.bodyID LEFT JOIN robot r ON r.robotID = b.robotID
    LEFT JOIN body o ON o.bodyID = p.other_bodyID LEFT JOIN robot q ON q.robotID = o.robotID;
