-- A wheel's columns are computed once for a row, and not wherever the view names them: questions take a third to a tenth of the time. Written by
-- src/recorder/format/schema/definitions.rs; a later change of the views is another migration.
CREATE OR REPLACE VIEW wheelLog AS
    SELECT m.simulationRowID AS simulationRowID,
        m.simulationID AS simulationID,
        m.step AS step,
        m.simulationTime AS time,
        m.dt AS dt,
        m.robot AS robot,
        m.body AS body,
        m.contact_force AS contact_force,
        m.rolling AS rolling,
        CASE WHEN m.sense < 0 THEN -1 ELSE 1 END * sqrt(abs(m.square - m.across * m.across)) AS along,
        m.across AS across,
        CASE WHEN m.contact_force > 0 THEN
        CASE WHEN m.rolling * m.rolling > abs(m.square - m.across * m.across) AND m.rolling * m.rolling >= 1e-6 THEN 1 - CASE WHEN m.rolling * m.sense < 0 THEN -1 ELSE 1 END * sqrt(abs(m.square - m.across * m.across)) / abs(m.rolling)
        WHEN abs(m.square - m.across * m.across) >= 1e-6 THEN abs(m.rolling) / sqrt(abs(m.square - m.across * m.across)) - CASE WHEN m.rolling * m.sense < 0 THEN -1 ELSE 1 END END END AS slip,
        CASE WHEN m.contact_force > 0 AND (m.rolling * m.rolling >= 1e-6 OR abs(m.square - m.across * m.across) >= 1e-6)
        THEN atan2(m.across, sqrt(abs(m.square - m.across * m.across))) END AS slip_angle
    FROM (SELECT s.simulationRowID, s.simulationID, s.step, s.simulationTime, r.name AS robot, b.name AS body, c.*
        FROM simulationRow s JOIN body_state p ON p.simulationRowID = s.simulationRowID
        JOIN body b ON b.bodyID = p.bodyID LEFT JOIN robot r ON r.robotID = b.robotID LEFT JOIN simulation n ON n.simulationID = s.simulationID
        CROSS JOIN LATERAL (SELECT CAST((s.step - CASE WHEN CASE WHEN n.full_steps IS NULL OR s.step <= n.full_steps THEN s.step - n.every_n_steps
        WHEN s.step - n.thinned_every_n_steps > n.full_steps THEN s.step - n.thinned_every_n_steps
        ELSE n.full_steps - n.full_steps % n.every_n_steps END < coalesce(n.parent_step, 0) THEN coalesce(n.parent_step, 0) ELSE CASE WHEN n.full_steps IS NULL OR s.step <= n.full_steps THEN s.step - n.every_n_steps
        WHEN s.step - n.thinned_every_n_steps > n.full_steps THEN s.step - n.thinned_every_n_steps
        ELSE n.full_steps - n.full_steps % n.every_n_steps END END) * n.timestep_ns AS DOUBLE PRECISION) / 1e9 AS dt,
        sqrt(p.F_x * p.F_x + p.F_y * p.F_y + p.F_z * p.F_z) AS contact_force,
        b.wheel_radius * ((p.omega_x * b.axle_x + p.omega_y * b.axle_y + p.omega_z * b.axle_z) * cos(p.angle)
        + (p.omega_x * (p.axis_y * b.axle_z - p.axis_z * b.axle_y) + p.omega_y * (p.axis_z * b.axle_x - p.axis_x * b.axle_z) + p.omega_z * (p.axis_x * b.axle_y - p.axis_y * b.axle_x)) * sin(p.angle)
        + (p.omega_x * p.axis_x + p.omega_y * p.axis_y + p.omega_z * p.axis_z) * (p.axis_x * b.axle_x + p.axis_y * b.axle_y + p.axis_z * b.axle_z) * (1 - cos(p.angle))) AS rolling,
        ((p.v_x * b.axle_x + p.v_y * b.axle_y + p.v_z * b.axle_z) * cos(p.angle)
        + (p.v_x * (p.axis_y * b.axle_z - p.axis_z * b.axle_y) + p.v_y * (p.axis_z * b.axle_x - p.axis_x * b.axle_z) + p.v_z * (p.axis_x * b.axle_y - p.axis_y * b.axle_x)) * sin(p.angle)
        + (p.v_x * p.axis_x + p.v_y * p.axis_y + p.v_z * p.axis_z) * (p.axis_x * b.axle_x + p.axis_y * b.axle_y + p.axis_z * b.axle_z) * (1 - cos(p.angle))) AS across,
        ((p.v_z * b.axle_x + - p.v_x * b.axle_z) * cos(p.angle)
        + (p.v_z * (p.axis_y * b.axle_z - p.axis_z * b.axle_y) + - p.v_x * (p.axis_x * b.axle_y - p.axis_y * b.axle_x)) * sin(p.angle)
        + (p.v_z * p.axis_x + - p.v_x * p.axis_z) * (p.axis_x * b.axle_x + p.axis_y * b.axle_y + p.axis_z * b.axle_z) * (1 - cos(p.angle))) AS sense,
        p.v_x * p.v_x + p.v_y * p.v_y + p.v_z * p.v_z AS square
        OFFSET 0) c
        WHERE b.wheel_radius IS NOT NULL) m;
