-- Readings of many numbers, each in one row. Written by src/recorder/format/schema/definitions.rs.
CREATE TABLE scan (
    simulationRowID INTEGER NOT NULL,
    componentID INTEGER NOT NULL,
    distances TEXT,
    PRIMARY KEY (simulationRowID, componentID)
) STRICT, WITHOUT ROWID;

DROP VIEW IF EXISTS scannerSensor;
CREATE VIEW scannerSensor AS
    SELECT s.simulationRowID AS simulationRowID,
        s.step AS step,
        s.simulationTime AS time,
        r.name AS robot,
        c.name AS device,
        CASE instr(substr(p.field, 10), '_') WHEN 0 THEN 1 ELSE CAST(substr(p.field, 10) AS INTEGER) END AS layer,
        CAST(substr(substr(p.field, 10), instr(substr(p.field, 10), '_') + 1) AS INTEGER) AS ray,
        p.value AS distance,
        s.simulationID AS simulationID
    FROM simulationRow s CROSS JOIN sensorReading p ON p.simulationRowID = s.simulationRowID
    CROSS JOIN device d ON d.componentID = p.componentID
    CROSS JOIN robotComponent c ON c.componentID = p.componentID CROSS JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'ScannerSensor'
    UNION ALL SELECT s.simulationRowID,
        s.step,
        s.simulationTime,
        r.name,
        c.name,
        CASE instr(substr(f.field, 10), '_') WHEN 0 THEN 1 ELSE CAST(substr(f.field, 10) AS INTEGER) END,
        CAST(substr(substr(f.field, 10), instr(substr(f.field, 10), '_') + 1) AS INTEGER),
        e.value,
        s.simulationID
    FROM simulationRow s CROSS JOIN scan p ON p.simulationRowID = s.simulationRowID
    CROSS JOIN robotComponent c ON c.componentID = p.componentID CROSS JOIN robot r ON r.robotID = c.robotID
    CROSS JOIN json_each(p.distances) e
    CROSS JOIN deviceField f ON f.componentID = p.componentID AND f.ordinal = e.key;
