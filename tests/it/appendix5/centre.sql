SELECT SimulationRow.simulationTime, avg(Pose.x), avg(Pose.y)
FROM Pose, SimulationRow
WHERE Pose.simulationRowID = simulationRow.simulationrowID
GROUP BY Pose.simulationRowID;
