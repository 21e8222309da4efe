SELECT s.simulationTime,p.anchorx,p.anchory,p.anchorz
FROM jointPose p, simulationrow s
WHERE p.jointID IN(
    SELECT reference
    FROM robotComponent
    WHERE robotID IN(
        SELECT robotid
        FROM Robot
        WHERE Simulationid = 4282)
    AND name ='Turner')
AND p.simulationRowID = s.simulationRowID;
