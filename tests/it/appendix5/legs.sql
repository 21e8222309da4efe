SELECT s.simulationtime,p.bodyID,p.x,p.z
FROM pose p, simulationrow s WHERE bodyID IN(
    SELECT reference
    FROM RobotComponent
    WHERE robotID IN(
        SELECT robotID
        FROM Robot
        WHERE simulationID=4045)
    AND type='BODY'
    AND name LIKE 'Calf%')
AND p.simulationRowID = s.simulationRowID;
