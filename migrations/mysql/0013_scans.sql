-- Readings of many numbers, each in one row. Written by src/recorder/format/schema/definitions.rs.
CREATE TABLE scan (
    simulationRowID BIGINT NOT NULL,
    componentID BIGINT NOT NULL,
    distances LONGTEXT,
    PRIMARY KEY (simulationRowID, componentID)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE OR REPLACE VIEW scannerSensor AS
    SELECT s.simulationRowID AS simulationRowID,
        s.step AS step,
        s.simulationTime AS time,
        r.name AS robot,
        c.name AS device,
        CASE locate('_', substr(p.field, 10)) WHEN 0 THEN 1 ELSE CAST(substring_index(substr(p.field, 10), '_', 1) AS SIGNED) END AS layer,
        CAST(substring_index(p.field, '_', -1) AS SIGNED) AS ray,
        p.value AS distance,
        s.simulationID AS simulationID
    FROM simulationRow s JOIN sensorReading p ON p.simulationRowID = s.simulationRowID
    JOIN device d ON d.componentID = p.componentID
    JOIN robotComponent c ON c.componentID = p.componentID JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'ScannerSensor'
    UNION ALL SELECT s.simulationRowID,
        s.step,
        s.simulationTime,
        r.name,
        c.name,
        CASE locate('_', substr(f.field, 10)) WHEN 0 THEN 1 ELSE CAST(substring_index(substr(f.field, 10), '_', 1) AS SIGNED) END,
        CAST(substring_index(f.field, '_', -1) AS SIGNED),
        e.value,
        s.simulationID
    FROM simulationRow s JOIN scan p ON p.simulationRowID = s.simulationRowID
    JOIN robotComponent c ON c.componentID = p.componentID JOIN robot r ON r.robotID = c.robotID
    CROSS JOIN JSON_TABLE(p.distances, '$[*]'
        COLUMNS (place FOR ORDINALITY, value DOUBLE PATH '$')) e
    JOIN deviceField f ON f.componentID = p.componentID AND f.ordinal = e.place - 1;
