SELECT s.simulationTime, sum(f.F_y)
FROM ForceAndTorque f, simulationrow s
WHERE bodyID IN(
    SELECT reference
    FROM RobotComponent
    WHERE robotID IN(
        SELECT robotID
        FROM Robot
        WHERE simulationID=4939)
    AND type='BODY'
    AND name like 'Wheel%')
AND s.simulationrowID = f.simulationrowID
GROUP BY simulationTime
ORDER BY simulationTime ASC;
