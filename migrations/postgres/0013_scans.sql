-- Readings of many numbers, each in one row. Written by src/recorder/format/schema/definitions.rs.
CREATE TABLE scan (
    simulationRowID BIGINT NOT NULL,
    componentID BIGINT NOT NULL,
    distances TEXT,
    PRIMARY KEY (simulationRowID, componentID)
);

CREATE OR REPLACE VIEW scannerSensor AS
    SELECT s.simulationRowID AS simulationRowID,
        s.step AS step,
        s.simulationTime AS time,
        r.name AS robot,
        c.name AS device,
        CASE split_part(p.field, '_', 3) WHEN '' THEN 1 ELSE split_part(p.field, '_', 2)::bigint END AS layer,
        coalesce(nullif(split_part(p.field, '_', 3), ''), split_part(p.field, '_', 2))::bigint AS ray,
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
        CASE split_part(f.field, '_', 3) WHEN '' THEN 1 ELSE split_part(f.field, '_', 2)::bigint END,
        coalesce(nullif(split_part(f.field, '_', 3), ''), split_part(f.field, '_', 2))::bigint,
        e.value,
        s.simulationID
    FROM simulationRow s JOIN scan p ON p.simulationRowID = s.simulationRowID
    JOIN robotComponent c ON c.componentID = p.componentID JOIN robot r ON r.robotID = c.robotID
    CROSS JOIN LATERAL (SELECT place, number::float8 AS value
        FROM jsonb_array_elements_text(p.distances::jsonb) WITH ORDINALITY AS numbers (number, place)) e
    JOIN deviceField f ON f.componentID = p.componentID AND f.ordinal = e.place - 1;
