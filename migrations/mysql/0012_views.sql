-- Which way bodies look and what wheels turn about, and views that answer questions about attitude, work and slip. Written by
-- src/recorder/format/schema/definitions.rs; a later change of the views is another migration.
ALTER TABLE body ADD COLUMN up_x DOUBLE;
ALTER TABLE body ADD COLUMN up_y DOUBLE;
ALTER TABLE body ADD COLUMN up_z DOUBLE;
ALTER TABLE body ADD COLUMN forward_x DOUBLE;
ALTER TABLE body ADD COLUMN forward_y DOUBLE;
ALTER TABLE body ADD COLUMN forward_z DOUBLE;
ALTER TABLE body ADD COLUMN wheel_radius DOUBLE;
ALTER TABLE body ADD COLUMN axle_x DOUBLE;
ALTER TABLE body ADD COLUMN axle_y DOUBLE;
ALTER TABLE body ADD COLUMN axle_z DOUBLE;

-- MariaDB joins by hashes only when it is asked to: without these, joins of views by step or by time take the square of the steps.
CREATE INDEX row_of_step ON simulationRow (step);
CREATE INDEX row_of_time ON simulationRow (simulationTime);

CREATE OR REPLACE VIEW bodyLog AS
    SELECT s.simulationRowID AS simulationRowID,
        s.step AS step,
        s.simulationTime AS time,
        r.name AS robot,
        b.name AS body,
        p.x AS x,
        p.y AS y,
        p.z AS z,
        p.axis_x AS axis_x,
        p.axis_y AS axis_y,
        p.axis_z AS axis_z,
        p.angle AS angle,
        p.v_x AS v_x,
        p.v_y AS v_y,
        p.v_z AS v_z,
        p.omega_x AS omega_x,
        p.omega_y AS omega_y,
        p.omega_z AS omega_z,
        p.F_x AS F_x,
        p.F_y AS F_y,
        p.F_z AS F_z,
        p.T_x AS T_x,
        p.T_y AS T_y,
        p.T_z AS T_z,
        s.simulationID AS simulationID,
        CAST((s.step - CASE WHEN CASE WHEN n.full_steps IS NULL OR s.step <= n.full_steps THEN s.step - n.every_n_steps
        WHEN s.step - n.thinned_every_n_steps > n.full_steps THEN s.step - n.thinned_every_n_steps
        ELSE n.full_steps - n.full_steps % n.every_n_steps END < coalesce(n.parent_step, 0) THEN coalesce(n.parent_step, 0) ELSE CASE WHEN n.full_steps IS NULL OR s.step <= n.full_steps THEN s.step - n.every_n_steps
        WHEN s.step - n.thinned_every_n_steps > n.full_steps THEN s.step - n.thinned_every_n_steps
        ELSE n.full_steps - n.full_steps % n.every_n_steps END END) * n.timestep_ns AS DOUBLE) / 1e9 AS dt
    FROM simulationRow s JOIN body_state p ON p.simulationRowID = s.simulationRowID
    JOIN body b ON b.bodyID = p.bodyID LEFT JOIN robot r ON r.robotID = b.robotID LEFT JOIN simulation n ON n.simulationID = s.simulationID;
CREATE OR REPLACE VIEW motionLog AS
    SELECT m.simulationRowID AS simulationRowID,
        m.simulationID AS simulationID,
        m.step AS step,
        m.simulationTime AS time,
        m.dt AS dt,
        m.robot AS robot,
        m.body AS body,
        m.axis_x * sin(m.angle / 2) AS qx,
        m.axis_y * sin(m.angle / 2) AS qy,
        m.axis_z * sin(m.angle / 2) AS qz,
        cos(m.angle / 2) AS qw,
        atan2((m.r_zx * m.ahead_x + m.r_zy * m.ahead_y + m.r_zz * m.ahead_z), (m.r_xx * m.ahead_x + m.r_xy * m.ahead_y + m.r_xz * m.ahead_z)) AS heading,
        atan2((m.r_yx * m.ahead_x + m.r_yy * m.ahead_y + m.r_yz * m.ahead_z), sqrt((m.r_xx * m.ahead_x + m.r_xy * m.ahead_y + m.r_xz * m.ahead_z) * (m.r_xx * m.ahead_x + m.r_xy * m.ahead_y + m.r_xz * m.ahead_z) + (m.r_zx * m.ahead_x + m.r_zy * m.ahead_y + m.r_zz * m.ahead_z) * (m.r_zx * m.ahead_x + m.r_zy * m.ahead_y + m.r_zz * m.ahead_z))) AS pitch,
        atan2(-(m.r_yx * (m.ahead_y * m.u_z - m.ahead_z * m.u_y) + m.r_yy * (m.ahead_z * m.u_x - m.ahead_x * m.u_z) + m.r_yz * (m.ahead_x * m.u_y - m.ahead_y * m.u_x)), (m.r_yx * m.u_x + m.r_yy * m.u_y + m.r_yz * m.u_z)) AS roll,
        atan2(sqrt((m.r_xx * m.u_x + m.r_xy * m.u_y + m.r_xz * m.u_z) * (m.r_xx * m.u_x + m.r_xy * m.u_y + m.r_xz * m.u_z) + (m.r_zx * m.u_x + m.r_zy * m.u_y + m.r_zz * m.u_z) * (m.r_zx * m.u_x + m.r_zy * m.u_y + m.r_zz * m.u_z)), (m.r_yx * m.u_x + m.r_yy * m.u_y + m.r_yz * m.u_z)) AS tilt,
        sqrt(m.v_x * m.v_x + m.v_y * m.v_y + m.v_z * m.v_z) AS speed,
        (m.v_x * (m.r_xx * m.ahead_x + m.r_xy * m.ahead_y + m.r_xz * m.ahead_z) + m.v_y * (m.r_yx * m.ahead_x + m.r_yy * m.ahead_y + m.r_yz * m.ahead_z) + m.v_z * (m.r_zx * m.ahead_x + m.r_zy * m.ahead_y + m.r_zz * m.ahead_z)) AS v_forward,
        (m.v_x * (m.r_xx * m.u_x + m.r_xy * m.u_y + m.r_xz * m.u_z) + m.v_y * (m.r_yx * m.u_x + m.r_yy * m.u_y + m.r_yz * m.u_z) + m.v_z * (m.r_zx * m.u_x + m.r_zy * m.u_y + m.r_zz * m.u_z)) AS v_up,
        (m.v_x * (m.r_xx * (m.ahead_y * m.u_z - m.ahead_z * m.u_y) + m.r_xy * (m.ahead_z * m.u_x - m.ahead_x * m.u_z) + m.r_xz * (m.ahead_x * m.u_y - m.ahead_y * m.u_x)) + m.v_y * (m.r_yx * (m.ahead_y * m.u_z - m.ahead_z * m.u_y) + m.r_yy * (m.ahead_z * m.u_x - m.ahead_x * m.u_z) + m.r_yz * (m.ahead_x * m.u_y - m.ahead_y * m.u_x)) + m.v_z * (m.r_zx * (m.ahead_y * m.u_z - m.ahead_z * m.u_y) + m.r_zy * (m.ahead_z * m.u_x - m.ahead_x * m.u_z) + m.r_zz * (m.ahead_x * m.u_y - m.ahead_y * m.u_x))) AS v_right,
        (m.omega_x * (m.r_xx * m.ahead_x + m.r_xy * m.ahead_y + m.r_xz * m.ahead_z) + m.omega_y * (m.r_yx * m.ahead_x + m.r_yy * m.ahead_y + m.r_yz * m.ahead_z) + m.omega_z * (m.r_zx * m.ahead_x + m.r_zy * m.ahead_y + m.r_zz * m.ahead_z)) AS omega_forward,
        (m.omega_x * (m.r_xx * m.u_x + m.r_xy * m.u_y + m.r_xz * m.u_z) + m.omega_y * (m.r_yx * m.u_x + m.r_yy * m.u_y + m.r_yz * m.u_z) + m.omega_z * (m.r_zx * m.u_x + m.r_zy * m.u_y + m.r_zz * m.u_z)) AS omega_up,
        (m.omega_x * (m.r_xx * (m.ahead_y * m.u_z - m.ahead_z * m.u_y) + m.r_xy * (m.ahead_z * m.u_x - m.ahead_x * m.u_z) + m.r_xz * (m.ahead_x * m.u_y - m.ahead_y * m.u_x)) + m.omega_y * (m.r_yx * (m.ahead_y * m.u_z - m.ahead_z * m.u_y) + m.r_yy * (m.ahead_z * m.u_x - m.ahead_x * m.u_z) + m.r_yz * (m.ahead_x * m.u_y - m.ahead_y * m.u_x)) + m.omega_z * (m.r_zx * (m.ahead_y * m.u_z - m.ahead_z * m.u_y) + m.r_zy * (m.ahead_z * m.u_x - m.ahead_x * m.u_z) + m.r_zz * (m.ahead_x * m.u_y - m.ahead_y * m.u_x))) AS omega_right
    FROM (SELECT s.simulationRowID, s.simulationID, s.step, s.simulationTime, CAST((s.step - CASE WHEN CASE WHEN n.full_steps IS NULL OR s.step <= n.full_steps THEN s.step - n.every_n_steps
        WHEN s.step - n.thinned_every_n_steps > n.full_steps THEN s.step - n.thinned_every_n_steps
        ELSE n.full_steps - n.full_steps % n.every_n_steps END < coalesce(n.parent_step, 0) THEN coalesce(n.parent_step, 0) ELSE CASE WHEN n.full_steps IS NULL OR s.step <= n.full_steps THEN s.step - n.every_n_steps
        WHEN s.step - n.thinned_every_n_steps > n.full_steps THEN s.step - n.thinned_every_n_steps
        ELSE n.full_steps - n.full_steps % n.every_n_steps END END) * n.timestep_ns AS DOUBLE) / 1e9 AS dt, r.name AS robot, b.name AS body,
        p.axis_x, p.axis_y, p.axis_z, p.angle, p.v_x, p.v_y, p.v_z, p.omega_x, p.omega_y, p.omega_z,
        coalesce(b.up_x, 0) AS u_x, coalesce(b.up_y, 1) AS u_y, coalesce(b.up_z, 0) AS u_z,
        coalesce(b.forward_x, 1) AS ahead_x, coalesce(b.forward_y, 0) AS ahead_y, coalesce(b.forward_z, 0) AS ahead_z,
        cos(p.angle) + p.axis_x * p.axis_x * (1 - cos(p.angle)) AS r_xx,
        - p.axis_z * sin(p.angle) + p.axis_x * p.axis_y * (1 - cos(p.angle)) AS r_xy,
        p.axis_y * sin(p.angle) + p.axis_x * p.axis_z * (1 - cos(p.angle)) AS r_xz,
        p.axis_z * sin(p.angle) + p.axis_y * p.axis_x * (1 - cos(p.angle)) AS r_yx,
        cos(p.angle) + p.axis_y * p.axis_y * (1 - cos(p.angle)) AS r_yy,
        - p.axis_x * sin(p.angle) + p.axis_y * p.axis_z * (1 - cos(p.angle)) AS r_yz,
        - p.axis_y * sin(p.angle) + p.axis_z * p.axis_x * (1 - cos(p.angle)) AS r_zx,
        p.axis_x * sin(p.angle) + p.axis_z * p.axis_y * (1 - cos(p.angle)) AS r_zy,
        cos(p.angle) + p.axis_z * p.axis_z * (1 - cos(p.angle)) AS r_zz
        FROM simulationRow s JOIN body_state p ON p.simulationRowID = s.simulationRowID
        JOIN body b ON b.bodyID = p.bodyID LEFT JOIN robot r ON r.robotID = b.robotID LEFT JOIN simulation n ON n.simulationID = s.simulationID) m;
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
    FROM (SELECT a.simulationRowID, a.simulationID, a.step, a.simulationTime, a.dt, a.robot, a.body,
        sqrt(a.F_x * a.F_x + a.F_y * a.F_y + a.F_z * a.F_z) AS contact_force,
        a.wheel_radius * (a.omega_x * a.a_x + a.omega_y * a.a_y + a.omega_z * a.a_z) AS rolling,
        a.v_x * a.a_x + a.v_y * a.a_y + a.v_z * a.a_z AS across, a.v_z * a.a_x - a.v_x * a.a_z AS sense,
        a.v_x * a.v_x + a.v_y * a.v_y + a.v_z * a.v_z AS square
        FROM (SELECT s.simulationRowID, s.simulationID, s.step, s.simulationTime, CAST((s.step - CASE WHEN CASE WHEN n.full_steps IS NULL OR s.step <= n.full_steps THEN s.step - n.every_n_steps
        WHEN s.step - n.thinned_every_n_steps > n.full_steps THEN s.step - n.thinned_every_n_steps
        ELSE n.full_steps - n.full_steps % n.every_n_steps END < coalesce(n.parent_step, 0) THEN coalesce(n.parent_step, 0) ELSE CASE WHEN n.full_steps IS NULL OR s.step <= n.full_steps THEN s.step - n.every_n_steps
        WHEN s.step - n.thinned_every_n_steps > n.full_steps THEN s.step - n.thinned_every_n_steps
        ELSE n.full_steps - n.full_steps % n.every_n_steps END END) * n.timestep_ns AS DOUBLE) / 1e9 AS dt, r.name AS robot, b.name AS body,
        p.v_x, p.v_y, p.v_z, p.omega_x, p.omega_y, p.omega_z, p.F_x, p.F_y, p.F_z, b.wheel_radius,
        b.axle_x * cos(p.angle) + (p.axis_y * b.axle_z - p.axis_z * b.axle_y) * sin(p.angle)
        + p.axis_x * (p.axis_x * b.axle_x + p.axis_y * b.axle_y + p.axis_z * b.axle_z) * (1 - cos(p.angle)) AS a_x,
        b.axle_y * cos(p.angle) + (p.axis_z * b.axle_x - p.axis_x * b.axle_z) * sin(p.angle)
        + p.axis_y * (p.axis_x * b.axle_x + p.axis_y * b.axle_y + p.axis_z * b.axle_z) * (1 - cos(p.angle)) AS a_y,
        b.axle_z * cos(p.angle) + (p.axis_x * b.axle_y - p.axis_y * b.axle_x) * sin(p.angle)
        + p.axis_z * (p.axis_x * b.axle_x + p.axis_y * b.axle_y + p.axis_z * b.axle_z) * (1 - cos(p.angle)) AS a_z
        FROM simulationRow s JOIN body_state p ON p.simulationRowID = s.simulationRowID
        JOIN body b ON b.bodyID = p.bodyID LEFT JOIN robot r ON r.robotID = b.robotID LEFT JOIN simulation n ON n.simulationID = s.simulationID
        WHERE b.wheel_radius IS NOT NULL) a) m;
CREATE OR REPLACE VIEW contactLog AS
    SELECT s.simulationRowID AS simulationRowID,
        s.step AS step,
        s.simulationTime AS time,
        r.name AS robot,
        b.name AS body,
        p.F_x AS F_x,
        p.F_y AS F_y,
        p.F_z AS F_z,
        p.T_x AS T_x,
        p.T_y AS T_y,
        p.T_z AS T_z,
        s.simulationID AS simulationID,
        CAST((s.step - CASE WHEN CASE WHEN n.full_steps IS NULL OR s.step <= n.full_steps THEN s.step - n.every_n_steps
        WHEN s.step - n.thinned_every_n_steps > n.full_steps THEN s.step - n.thinned_every_n_steps
        ELSE n.full_steps - n.full_steps % n.every_n_steps END < coalesce(n.parent_step, 0) THEN coalesce(n.parent_step, 0) ELSE CASE WHEN n.full_steps IS NULL OR s.step <= n.full_steps THEN s.step - n.every_n_steps
        WHEN s.step - n.thinned_every_n_steps > n.full_steps THEN s.step - n.thinned_every_n_steps
        ELSE n.full_steps - n.full_steps % n.every_n_steps END END) * n.timestep_ns AS DOUBLE) / 1e9 AS dt
    FROM simulationRow s JOIN body_state p ON p.simulationRowID = s.simulationRowID
    JOIN body b ON b.bodyID = p.bodyID LEFT JOIN robot r ON r.robotID = b.robotID LEFT JOIN simulation n ON n.simulationID = s.simulationID
    WHERE p.F_x <> 0 OR p.F_y <> 0 OR p.F_z <> 0 OR p.T_x <> 0 OR p.T_y <> 0 OR p.T_z <> 0;
CREATE OR REPLACE VIEW contactPointLog AS
    SELECT s.simulationRowID AS simulationRowID,
        s.step AS step,
        s.simulationTime AS time,
        p.ordinal AS ordinal,
        r.name AS robot,
        b.name AS body,
        q.name AS other_robot,
        o.name AS other_body,
        p.x AS x,
        p.y AS y,
        p.z AS z,
        p.normal_x AS normal_x,
        p.normal_y AS normal_y,
        p.normal_z AS normal_z,
        p.F_x AS F_x,
        p.F_y AS F_y,
        p.F_z AS F_z,
        p.gap AS gap,
        s.simulationID AS simulationID,
        CAST((s.step - CASE WHEN CASE WHEN n.full_steps IS NULL OR s.step <= n.full_steps THEN s.step - n.every_n_steps
        WHEN s.step - n.thinned_every_n_steps > n.full_steps THEN s.step - n.thinned_every_n_steps
        ELSE n.full_steps - n.full_steps % n.every_n_steps END < coalesce(n.parent_step, 0) THEN coalesce(n.parent_step, 0) ELSE CASE WHEN n.full_steps IS NULL OR s.step <= n.full_steps THEN s.step - n.every_n_steps
        WHEN s.step - n.thinned_every_n_steps > n.full_steps THEN s.step - n.thinned_every_n_steps
        ELSE n.full_steps - n.full_steps % n.every_n_steps END END) * n.timestep_ns AS DOUBLE) / 1e9 AS dt
    FROM simulationRow s JOIN contactPoint p ON p.simulationRowID = s.simulationRowID
    JOIN body b ON b.bodyID = p.bodyID LEFT JOIN robot r ON r.robotID = b.robotID LEFT JOIN simulation n ON n.simulationID = s.simulationID
    LEFT JOIN body o ON o.bodyID = p.other_bodyID LEFT JOIN robot q ON q.robotID = o.robotID;
CREATE OR REPLACE VIEW jointLog AS
    SELECT s.simulationRowID AS simulationRowID,
        s.step AS step,
        s.simulationTime AS time,
        r.name AS robot,
        j.name AS joint,
        j.kind AS kind,
        p.anchorx AS anchorx,
        p.anchory AS anchory,
        p.anchorz AS anchorz,
        p.position_1 AS position_1,
        p.position_2 AS position_2,
        p.position_3 AS position_3,
        p.rate_1 AS rate_1,
        p.rate_2 AS rate_2,
        p.rate_3 AS rate_3,
        p.effort_1 AS effort_1,
        p.effort_2 AS effort_2,
        p.effort_3 AS effort_3,
        p.F_x AS F_x,
        p.F_y AS F_y,
        p.F_z AS F_z,
        p.T_x AS T_x,
        p.T_y AS T_y,
        p.T_z AS T_z,
        s.simulationID AS simulationID,
        CAST((s.step - CASE WHEN CASE WHEN n.full_steps IS NULL OR s.step <= n.full_steps THEN s.step - n.every_n_steps
        WHEN s.step - n.thinned_every_n_steps > n.full_steps THEN s.step - n.thinned_every_n_steps
        ELSE n.full_steps - n.full_steps % n.every_n_steps END < coalesce(n.parent_step, 0) THEN coalesce(n.parent_step, 0) ELSE CASE WHEN n.full_steps IS NULL OR s.step <= n.full_steps THEN s.step - n.every_n_steps
        WHEN s.step - n.thinned_every_n_steps > n.full_steps THEN s.step - n.thinned_every_n_steps
        ELSE n.full_steps - n.full_steps % n.every_n_steps END END) * n.timestep_ns AS DOUBLE) / 1e9 AS dt,
        p.effort_1 * p.rate_1 + p.effort_2 * p.rate_2 + p.effort_3 * p.rate_3 AS power,
        CAST((s.step - CASE WHEN CASE WHEN n.full_steps IS NULL OR s.step <= n.full_steps THEN s.step - n.every_n_steps
        WHEN s.step - n.thinned_every_n_steps > n.full_steps THEN s.step - n.thinned_every_n_steps
        ELSE n.full_steps - n.full_steps % n.every_n_steps END < coalesce(n.parent_step, 0) THEN coalesce(n.parent_step, 0) ELSE CASE WHEN n.full_steps IS NULL OR s.step <= n.full_steps THEN s.step - n.every_n_steps
        WHEN s.step - n.thinned_every_n_steps > n.full_steps THEN s.step - n.thinned_every_n_steps
        ELSE n.full_steps - n.full_steps % n.every_n_steps END END) * n.timestep_ns AS DOUBLE) / 1e9 * CASE (s.step - CASE WHEN CASE WHEN n.full_steps IS NULL OR s.step <= n.full_steps THEN s.step - n.every_n_steps
        WHEN s.step - n.thinned_every_n_steps > n.full_steps THEN s.step - n.thinned_every_n_steps
        ELSE n.full_steps - n.full_steps % n.every_n_steps END < coalesce(n.parent_step, 0) THEN coalesce(n.parent_step, 0) ELSE CASE WHEN n.full_steps IS NULL OR s.step <= n.full_steps THEN s.step - n.every_n_steps
        WHEN s.step - n.thinned_every_n_steps > n.full_steps THEN s.step - n.thinned_every_n_steps
        ELSE n.full_steps - n.full_steps % n.every_n_steps END END) WHEN 1 THEN p.effort_1 * (p.rate_1 + coalesce(q.rate_1, 0)) + p.effort_2 * (p.rate_2 + coalesce(q.rate_2, 0)) + p.effort_3 * (p.rate_3 + coalesce(q.rate_3, 0))
        ELSE p.effort_1 * p.rate_1 + p.effort_2 * p.rate_2 + p.effort_3 * p.rate_3 + coalesce(q.effort_1 * q.rate_1 + q.effort_2 * q.rate_2 + q.effort_3 * q.rate_3, 0) END / 2 AS energy
    FROM simulationRow s JOIN jointPose p ON p.simulationRowID = s.simulationRowID
    JOIN joint j ON j.jointID = p.jointID LEFT JOIN robot r ON r.robotID = j.robotID LEFT JOIN simulation n ON n.simulationID = s.simulationID
    LEFT JOIN jointPose q ON q.simulationRowID = p.simulationRowID - (s.step - CASE WHEN CASE WHEN n.full_steps IS NULL OR s.step <= n.full_steps THEN s.step - n.every_n_steps
        WHEN s.step - n.thinned_every_n_steps > n.full_steps THEN s.step - n.thinned_every_n_steps
        ELSE n.full_steps - n.full_steps % n.every_n_steps END < coalesce(n.parent_step, 0) THEN coalesce(n.parent_step, 0) ELSE CASE WHEN n.full_steps IS NULL OR s.step <= n.full_steps THEN s.step - n.every_n_steps
        WHEN s.step - n.thinned_every_n_steps > n.full_steps THEN s.step - n.thinned_every_n_steps
        ELSE n.full_steps - n.full_steps % n.every_n_steps END END)
    AND q.jointID = p.jointID;
CREATE OR REPLACE VIEW readingLog AS
    SELECT s.simulationRowID AS simulationRowID,
        s.step AS step,
        s.simulationTime AS time,
        r.name AS robot,
        c.name AS device,
        d.kind AS kind,
        p.field AS field,
        p.value AS value,
        s.simulationID AS simulationID
    FROM simulationRow s JOIN sensorReading p ON p.simulationRowID = s.simulationRowID
    JOIN device d ON d.componentID = p.componentID
    JOIN robotComponent c ON c.componentID = p.componentID JOIN robot r ON r.robotID = c.robotID;
CREATE OR REPLACE VIEW positionSensor AS
    SELECT s.simulationRowID AS simulationRowID,
        s.step AS step,
        s.simulationTime AS time,
        r.name AS robot,
        c.name AS device,
        max(CASE WHEN p.field = 'x' THEN p.value END) AS x,
        max(CASE WHEN p.field = 'y' THEN p.value END) AS y,
        max(CASE WHEN p.field = 'z' THEN p.value END) AS z,
        s.simulationID AS simulationID
    FROM simulationRow s JOIN sensorReading p ON p.simulationRowID = s.simulationRowID
    JOIN device d ON d.componentID = p.componentID
    JOIN robotComponent c ON c.componentID = p.componentID JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'PositionSensor'
    GROUP BY s.simulationRowID, p.componentID, s.simulationID, s.step, s.simulationTime, r.name, c.name;
CREATE OR REPLACE VIEW poseSensor AS
    SELECT s.simulationRowID AS simulationRowID,
        s.step AS step,
        s.simulationTime AS time,
        r.name AS robot,
        c.name AS device,
        max(CASE WHEN p.field = 'x' THEN p.value END) AS x,
        max(CASE WHEN p.field = 'y' THEN p.value END) AS y,
        max(CASE WHEN p.field = 'z' THEN p.value END) AS z,
        max(CASE WHEN p.field = 'qx' THEN p.value END) AS qx,
        max(CASE WHEN p.field = 'qy' THEN p.value END) AS qy,
        max(CASE WHEN p.field = 'qz' THEN p.value END) AS qz,
        max(CASE WHEN p.field = 'qw' THEN p.value END) AS qw,
        s.simulationID AS simulationID
    FROM simulationRow s JOIN sensorReading p ON p.simulationRowID = s.simulationRowID
    JOIN device d ON d.componentID = p.componentID
    JOIN robotComponent c ON c.componentID = p.componentID JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'PoseSensor'
    GROUP BY s.simulationRowID, p.componentID, s.simulationID, s.step, s.simulationTime, r.name, c.name;
CREATE OR REPLACE VIEW velocitySensor AS
    SELECT s.simulationRowID AS simulationRowID,
        s.step AS step,
        s.simulationTime AS time,
        r.name AS robot,
        c.name AS device,
        max(CASE WHEN p.field = 'vx' THEN p.value END) AS vx,
        max(CASE WHEN p.field = 'vy' THEN p.value END) AS vy,
        max(CASE WHEN p.field = 'vz' THEN p.value END) AS vz,
        max(CASE WHEN p.field = 'omega_x' THEN p.value END) AS omega_x,
        max(CASE WHEN p.field = 'omega_y' THEN p.value END) AS omega_y,
        max(CASE WHEN p.field = 'omega_z' THEN p.value END) AS omega_z,
        s.simulationID AS simulationID
    FROM simulationRow s JOIN sensorReading p ON p.simulationRowID = s.simulationRowID
    JOIN device d ON d.componentID = p.componentID
    JOIN robotComponent c ON c.componentID = p.componentID JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'VelocitySensor'
    GROUP BY s.simulationRowID, p.componentID, s.simulationID, s.step, s.simulationTime, r.name, c.name;
CREATE OR REPLACE VIEW accelerometer AS
    SELECT s.simulationRowID AS simulationRowID,
        s.step AS step,
        s.simulationTime AS time,
        r.name AS robot,
        c.name AS device,
        max(CASE WHEN p.field = 'fx' THEN p.value END) AS fx,
        max(CASE WHEN p.field = 'fy' THEN p.value END) AS fy,
        max(CASE WHEN p.field = 'fz' THEN p.value END) AS fz,
        s.simulationID AS simulationID
    FROM simulationRow s JOIN sensorReading p ON p.simulationRowID = s.simulationRowID
    JOIN device d ON d.componentID = p.componentID
    JOIN robotComponent c ON c.componentID = p.componentID JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'Accelerometer'
    GROUP BY s.simulationRowID, p.componentID, s.simulationID, s.step, s.simulationTime, r.name, c.name;
CREATE OR REPLACE VIEW gyroscope AS
    SELECT s.simulationRowID AS simulationRowID,
        s.step AS step,
        s.simulationTime AS time,
        r.name AS robot,
        c.name AS device,
        max(CASE WHEN p.field = 'omega_x' THEN p.value END) AS omega_x,
        max(CASE WHEN p.field = 'omega_y' THEN p.value END) AS omega_y,
        max(CASE WHEN p.field = 'omega_z' THEN p.value END) AS omega_z,
        s.simulationID AS simulationID
    FROM simulationRow s JOIN sensorReading p ON p.simulationRowID = s.simulationRowID
    JOIN device d ON d.componentID = p.componentID
    JOIN robotComponent c ON c.componentID = p.componentID JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'Gyroscope'
    GROUP BY s.simulationRowID, p.componentID, s.simulationID, s.step, s.simulationTime, r.name, c.name;
CREATE OR REPLACE VIEW imuSensor AS
    SELECT s.simulationRowID AS simulationRowID,
        s.step AS step,
        s.simulationTime AS time,
        r.name AS robot,
        c.name AS device,
        max(CASE WHEN p.field = 'qx' THEN p.value END) AS qx,
        max(CASE WHEN p.field = 'qy' THEN p.value END) AS qy,
        max(CASE WHEN p.field = 'qz' THEN p.value END) AS qz,
        max(CASE WHEN p.field = 'qw' THEN p.value END) AS qw,
        max(CASE WHEN p.field = 'omega_x' THEN p.value END) AS omega_x,
        max(CASE WHEN p.field = 'omega_y' THEN p.value END) AS omega_y,
        max(CASE WHEN p.field = 'omega_z' THEN p.value END) AS omega_z,
        max(CASE WHEN p.field = 'fx' THEN p.value END) AS fx,
        max(CASE WHEN p.field = 'fy' THEN p.value END) AS fy,
        max(CASE WHEN p.field = 'fz' THEN p.value END) AS fz,
        s.simulationID AS simulationID
    FROM simulationRow s JOIN sensorReading p ON p.simulationRowID = s.simulationRowID
    JOIN device d ON d.componentID = p.componentID
    JOIN robotComponent c ON c.componentID = p.componentID JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'ImuSensor'
    GROUP BY s.simulationRowID, p.componentID, s.simulationID, s.step, s.simulationTime, r.name, c.name;
CREATE OR REPLACE VIEW gnssSensor AS
    SELECT s.simulationRowID AS simulationRowID,
        s.step AS step,
        s.simulationTime AS time,
        r.name AS robot,
        c.name AS device,
        max(CASE WHEN p.field = 'latitude' THEN p.value END) AS latitude,
        max(CASE WHEN p.field = 'longitude' THEN p.value END) AS longitude,
        max(CASE WHEN p.field = 'altitude' THEN p.value END) AS altitude,
        s.simulationID AS simulationID
    FROM simulationRow s JOIN sensorReading p ON p.simulationRowID = s.simulationRowID
    JOIN device d ON d.componentID = p.componentID
    JOIN robotComponent c ON c.componentID = p.componentID JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'GnssSensor'
    GROUP BY s.simulationRowID, p.componentID, s.simulationID, s.step, s.simulationTime, r.name, c.name;
CREATE OR REPLACE VIEW compassSensor AS
    SELECT s.simulationRowID AS simulationRowID,
        s.step AS step,
        s.simulationTime AS time,
        r.name AS robot,
        c.name AS device,
        max(CASE WHEN p.field = 'heading' THEN p.value END) AS heading,
        max(CASE WHEN p.field = 'north_x' THEN p.value END) AS north_x,
        max(CASE WHEN p.field = 'north_y' THEN p.value END) AS north_y,
        max(CASE WHEN p.field = 'north_z' THEN p.value END) AS north_z,
        s.simulationID AS simulationID
    FROM simulationRow s JOIN sensorReading p ON p.simulationRowID = s.simulationRowID
    JOIN device d ON d.componentID = p.componentID
    JOIN robotComponent c ON c.componentID = p.componentID JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'CompassSensor'
    GROUP BY s.simulationRowID, p.componentID, s.simulationID, s.step, s.simulationTime, r.name, c.name;
CREATE OR REPLACE VIEW distanceSensor AS
    SELECT s.simulationRowID AS simulationRowID,
        s.step AS step,
        s.simulationTime AS time,
        r.name AS robot,
        c.name AS device,
        max(CASE WHEN p.field = 'distance' THEN p.value END) AS distance,
        s.simulationID AS simulationID
    FROM simulationRow s JOIN sensorReading p ON p.simulationRowID = s.simulationRowID
    JOIN device d ON d.componentID = p.componentID
    JOIN robotComponent c ON c.componentID = p.componentID JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'DistanceSensor'
    GROUP BY s.simulationRowID, p.componentID, s.simulationID, s.step, s.simulationTime, r.name, c.name;
CREATE OR REPLACE VIEW contactSensor AS
    SELECT s.simulationRowID AS simulationRowID,
        s.step AS step,
        s.simulationTime AS time,
        r.name AS robot,
        c.name AS device,
        max(CASE WHEN p.field = 'force_x' THEN p.value END) AS force_x,
        max(CASE WHEN p.field = 'force_y' THEN p.value END) AS force_y,
        max(CASE WHEN p.field = 'force_z' THEN p.value END) AS force_z,
        max(CASE WHEN p.field = 'torque_x' THEN p.value END) AS torque_x,
        max(CASE WHEN p.field = 'torque_y' THEN p.value END) AS torque_y,
        max(CASE WHEN p.field = 'torque_z' THEN p.value END) AS torque_z,
        s.simulationID AS simulationID
    FROM simulationRow s JOIN sensorReading p ON p.simulationRowID = s.simulationRowID
    JOIN device d ON d.componentID = p.componentID
    JOIN robotComponent c ON c.componentID = p.componentID JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'ContactSensor'
    GROUP BY s.simulationRowID, p.componentID, s.simulationID, s.step, s.simulationTime, r.name, c.name;
CREATE OR REPLACE VIEW soilSensor AS
    SELECT s.simulationRowID AS simulationRowID,
        s.step AS step,
        s.simulationTime AS time,
        r.name AS robot,
        c.name AS device,
        max(CASE WHEN p.field = 'sinkage' THEN p.value END) AS sinkage,
        max(CASE WHEN p.field = 'slip' THEN p.value END) AS slip,
        max(CASE WHEN p.field = 'slip_angle' THEN p.value END) AS slip_angle,
        max(CASE WHEN p.field = 'normal_force' THEN p.value END) AS normal_force,
        max(CASE WHEN p.field = 'drawbar_pull' THEN p.value END) AS drawbar_pull,
        max(CASE WHEN p.field = 'lateral_force' THEN p.value END) AS lateral_force,
        max(CASE WHEN p.field = 'resistance' THEN p.value END) AS resistance,
        max(CASE WHEN p.field = 'torque' THEN p.value END) AS torque,
        s.simulationID AS simulationID
    FROM simulationRow s JOIN sensorReading p ON p.simulationRowID = s.simulationRowID
    JOIN device d ON d.componentID = p.componentID
    JOIN robotComponent c ON c.componentID = p.componentID JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'SoilSensor'
    GROUP BY s.simulationRowID, p.componentID, s.simulationID, s.step, s.simulationTime, r.name, c.name;
CREATE OR REPLACE VIEW bumperSensor AS
    SELECT s.simulationRowID AS simulationRowID,
        s.step AS step,
        s.simulationTime AS time,
        r.name AS robot,
        c.name AS device,
        max(CASE WHEN p.field = 'pressed' THEN p.value END) AS pressed,
        max(CASE WHEN p.field = 'force' THEN p.value END) AS normal_force,
        s.simulationID AS simulationID
    FROM simulationRow s JOIN sensorReading p ON p.simulationRowID = s.simulationRowID
    JOIN device d ON d.componentID = p.componentID
    JOIN robotComponent c ON c.componentID = p.componentID JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'BumperSensor'
    GROUP BY s.simulationRowID, p.componentID, s.simulationID, s.step, s.simulationTime, r.name, c.name;
CREATE OR REPLACE VIEW jointEncoder AS
    SELECT s.simulationRowID AS simulationRowID,
        s.step AS step,
        s.simulationTime AS time,
        r.name AS robot,
        c.name AS device,
        max(CASE WHEN p.field = 'position_1' THEN p.value END) AS position_1,
        max(CASE WHEN p.field = 'position_2' THEN p.value END) AS position_2,
        max(CASE WHEN p.field = 'position_3' THEN p.value END) AS position_3,
        max(CASE WHEN p.field = 'rate_1' THEN p.value END) AS rate_1,
        max(CASE WHEN p.field = 'rate_2' THEN p.value END) AS rate_2,
        max(CASE WHEN p.field = 'rate_3' THEN p.value END) AS rate_3,
        s.simulationID AS simulationID
    FROM simulationRow s JOIN sensorReading p ON p.simulationRowID = s.simulationRowID
    JOIN device d ON d.componentID = p.componentID
    JOIN robotComponent c ON c.componentID = p.componentID JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'JointEncoder'
    GROUP BY s.simulationRowID, p.componentID, s.simulationID, s.step, s.simulationTime, r.name, c.name;
CREATE OR REPLACE VIEW forceTorqueSensor AS
    SELECT s.simulationRowID AS simulationRowID,
        s.step AS step,
        s.simulationTime AS time,
        r.name AS robot,
        c.name AS device,
        max(CASE WHEN p.field = 'force_x' THEN p.value END) AS force_x,
        max(CASE WHEN p.field = 'force_y' THEN p.value END) AS force_y,
        max(CASE WHEN p.field = 'force_z' THEN p.value END) AS force_z,
        max(CASE WHEN p.field = 'torque_x' THEN p.value END) AS torque_x,
        max(CASE WHEN p.field = 'torque_y' THEN p.value END) AS torque_y,
        max(CASE WHEN p.field = 'torque_z' THEN p.value END) AS torque_z,
        s.simulationID AS simulationID
    FROM simulationRow s JOIN sensorReading p ON p.simulationRowID = s.simulationRowID
    JOIN device d ON d.componentID = p.componentID
    JOIN robotComponent c ON c.componentID = p.componentID JOIN robot r ON r.robotID = c.robotID
    WHERE d.kind = 'ForceTorqueSensor'
    GROUP BY s.simulationRowID, p.componentID, s.simulationID, s.step, s.simulationTime, r.name, c.name;
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
    WHERE d.kind = 'ScannerSensor';
