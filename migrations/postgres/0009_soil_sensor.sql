-- What soil does to wheels, as a SoilSensor reads it.
CREATE VIEW soilSensor AS
    SELECT p.simulationRowID, s.step, s.simulationTime AS time, r.name AS robot, c.name AS device,
        max(CASE WHEN p.field = 'sinkage' THEN p.value END) AS sinkage,
        max(CASE WHEN p.field = 'slip' THEN p.value END) AS slip,
        max(CASE WHEN p.field = 'slip_angle' THEN p.value END) AS slip_angle,
        max(CASE WHEN p.field = 'normal_force' THEN p.value END) AS normal_force,
        max(CASE WHEN p.field = 'drawbar_pull' THEN p.value END) AS drawbar_pull,
        max(CASE WHEN p.field = 'lateral_force' THEN p.value END) AS lateral_force,
        max(CASE WHEN p.field = 'resistance' THEN p.value END) AS resistance,
        max(CASE WHEN p.field = 'torque' THEN p.value END) AS torque
    FROM sensorReading p JOIN simulationRow s ON s.simulationRowID = p.simulationRowID
    JOIN device d ON d.componentID = p.componentID
    JOIN robotComponent c ON c.componentID = p.componentID JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'SoilSensor'
    GROUP BY p.simulationRowID, p.componentID, s.step, s.simulationTime, r.name, c.name;
