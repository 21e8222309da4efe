//! The views with names as SQL. The migrations of the three databases are written by this, so that they cannot differ in more than
//! dialect: `UPDATE_GENERATED=1 cargo test --lib -- schema::definitions`.

use super::{
    table::{Table, TableKind},
    views::VIEWS,
};

/// What the databases write differently.
struct Dialect {
    /// Replaces a view, keeping what others have built on it; SQLite has no statement for it, and nothing to keep.
    create: &'static str,
    /// Whether a view has to be dropped first.
    drops: bool,
    /// Joins in the order written. SQLite, which has no statistics of a log, would begin with small tables and read a large one for each of
    /// their rows; the others have statistics.
    in_order: &'static str,
    /// What a reading's columns are grouped by behind its step and sensor, which determine them. SQLite does not want them named, and then
    /// takes the groups as they come, without sorting.
    determined: &'static str,
    /// How the inner query of a view that names its columns many times computes each of them once.
    once: Once,
    /// The type of a double.
    real: &'static str,
    /// Of a scanner's field, `distance_RAY` or `distance_LAYER_RAY`.
    layer: &'static str,
    ray: &'static str,
    /// Joins each number of a scan, `e.value`.
    numbers: &'static str,
    /// Its place in the scan, from 0.
    place: &'static str,
    /// The table of scans.
    scan: &'static str,
}

/// All three databases would otherwise merge an inner query into the outer one, and compute a column anew wherever it is named. A condition on the
/// rows' numbers still has to reach the tables, so that a question to one run reads no other: that rules out LIMIT around all of it.
enum Once {
    /// Each row is a group of its own. The rows come in the order of the groups, so nothing is sorted.
    Grouped,
    /// A lateral query for each row, which OFFSET keeps from being merged.
    Lateral,
    /// A union with nothing, which MySQL and MariaDB write to a temporary table.
    Union,
}

const SQLITE: Dialect = Dialect {
    create: "CREATE VIEW",
    drops: true,
    in_order: "CROSS JOIN",
    determined: "",
    once: Once::Grouped,
    real: "REAL",
    layer: "CASE instr(substr(p.field, 10), '_') WHEN 0 THEN 1 ELSE CAST(substr(p.field, 10) AS INTEGER) END",
    ray: "CAST(substr(substr(p.field, 10), instr(substr(p.field, 10), '_') + 1) AS INTEGER)",
    numbers: "CROSS JOIN json_each(p.distances) e",
    place: "e.key",
    scan: "(\n    simulationRowID INTEGER NOT NULL,\n    componentID INTEGER NOT NULL,\n    distances TEXT,\n    \
           PRIMARY KEY (simulationRowID, componentID)\n) STRICT, WITHOUT ROWID",
};

const POSTGRES: Dialect = Dialect {
    create: "CREATE OR REPLACE VIEW",
    drops: false,
    in_order: "JOIN",
    once: Once::Lateral,
    determined: ", s.simulationID, s.step, s.simulationTime, r.name, c.name",
    real: "DOUBLE PRECISION",
    layer: "CASE split_part(p.field, '_', 3) WHEN '' THEN 1 ELSE split_part(p.field, '_', 2)::bigint END",
    ray: "coalesce(nullif(split_part(p.field, '_', 3), ''), split_part(p.field, '_', 2))::bigint",
    numbers: "CROSS JOIN LATERAL (SELECT place, number::float8 AS value\n        \
              FROM jsonb_array_elements_text(p.distances::jsonb) WITH ORDINALITY AS numbers (number, place)) e",
    place: "e.place - 1",
    scan: "(\n    simulationRowID BIGINT NOT NULL,\n    componentID BIGINT NOT NULL,\n    distances TEXT,\n    \
           PRIMARY KEY (simulationRowID, componentID)\n)",
};

const MYSQL: Dialect = Dialect {
    create: "CREATE OR REPLACE VIEW",
    drops: false,
    in_order: "JOIN",
    once: Once::Union,
    determined: ", s.simulationID, s.step, s.simulationTime, r.name, c.name",
    real: "DOUBLE",
    layer: "CASE locate('_', substr(p.field, 10)) WHEN 0 THEN 1 ELSE CAST(substring_index(substr(p.field, 10), '_', 1) AS SIGNED) END",
    ray: "CAST(substring_index(p.field, '_', -1) AS SIGNED)",
    numbers: "CROSS JOIN JSON_TABLE(p.distances, '$[*]'\n        COLUMNS (place FOR ORDINALITY, value DOUBLE PATH '$')) e",
    place: "e.place - 1",
    scan: "(\n    simulationRowID BIGINT NOT NULL,\n    componentID BIGINT NOT NULL,\n    distances LONGTEXT,\n    \
           PRIMARY KEY (simulationRowID, componentID)\n) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
};

/// The step logged before this one by the run's cadence (`format/cadence.rs`), or else the one that the run goes on from.
const STEP_BEFORE: &str = "\
CASE WHEN n.full_steps IS NULL OR s.step <= n.full_steps THEN s.step - n.every_n_steps
        WHEN s.step - n.thinned_every_n_steps > n.full_steps THEN s.step - n.thinned_every_n_steps
        ELSE n.full_steps - n.full_steps % n.every_n_steps END";

/// Steps since the step logged before. Steps that are missing (`simulation.gaps`) are not looked for.
fn steps_between() -> String {
    let first = "coalesce(n.parent_step, 0)";
    format!("(s.step - CASE WHEN {STEP_BEFORE} < {first} THEN {first} ELSE {STEP_BEFORE} END)")
}

fn seconds_between(dialect: &Dialect) -> String {
    format!("CAST({} * n.timestep_ns AS {}) / 1e9", steps_between(), dialect.real)
}

/// Tables of a step's rows, `p` being those of `table`.
fn step_rows(dialect: &Dialect, table: &str) -> String {
    format!("simulationRow s {} {table} p ON p.simulationRowID = s.simulationRowID", dialect.in_order)
}

const RUN: &str = "LEFT JOIN simulation n ON n.simulationID = s.simulationID";
const BODY: &str = "JOIN body b ON b.bodyID = p.bodyID LEFT JOIN robot r ON r.robotID = b.robotID";

/// What a view selects from.
fn sources(view: &Table, dialect: &Dialect) -> String {
    let order = dialect.in_order;
    match view.name {
        "bodyLog" | "contactLog" => format!("{}\n    {BODY} {RUN}", step_rows(dialect, "body_state")),
        "contactPointLog" => format!(
            "{}\n    {BODY} {RUN}\n    LEFT JOIN body o ON o.bodyID = p.other_bodyID LEFT JOIN robot q ON q.robotID = o.robotID",
            step_rows(dialect, "contactPoint")
        ),
        "jointLog" => format!(
            "{}\n    JOIN joint j ON j.jointID = p.jointID LEFT JOIN robot r ON r.robotID = j.robotID {RUN}\n    \
             LEFT JOIN jointPose q ON q.simulationRowID = p.simulationRowID - {}\n    AND q.jointID = p.jointID",
            step_rows(dialect, "jointPose"),
            steps_between()
        ),
        "motionLog" => rotated(dialect),
        "wheelLog" => rolled(dialect),
        _ => format!(
            "{}\n    {order} device d ON d.componentID = p.componentID\n    \
             {order} robotComponent c ON c.componentID = p.componentID {order} robot r ON r.robotID = c.robotID",
            step_rows(dialect, "sensorReading")
        ),
    }
}

/// What the inner queries of `motionLog` and `wheelLog` select, beside their own.
fn named_bodies(dialect: &Dialect) -> String {
    format!(
        "s.simulationRowID, s.simulationID, s.step, s.simulationTime, {} AS dt, r.name AS robot, b.name AS body",
        seconds_between(dialect)
    )
}

/// Bodies with the matrix of their orientation, row by row, which takes body axes to world axes (Rodrigues' formula).
fn rotated(dialect: &Dialect) -> String {
    let axes = ["x", "y", "z"];
    let mut matrix = Vec::new();
    for (i, row) in axes.iter().enumerate() {
        for (j, column) in axes.iter().enumerate() {
            let symmetric = format!("p.axis_{row} * p.axis_{column} * (1 - cos(p.angle))");
            let rest = match (3 + j - i) % 3 {
                0 => "cos(p.angle) + ".to_owned(),
                1 => format!("- p.axis_{} * sin(p.angle) + ", axes[3 - i - j]),
                _ => format!("p.axis_{} * sin(p.angle) + ", axes[3 - i - j]),
            };
            matrix.push(format!("{rest}{symmetric} AS r_{row}{column}"));
        }
    }
    format!(
        "(SELECT {names},\n        p.axis_x, p.axis_y, p.axis_z, p.angle, p.v_x, p.v_y, p.v_z, p.omega_x, p.omega_y, p.omega_z,\n        \
         coalesce(b.up_x, 0) AS u_x, coalesce(b.up_y, 1) AS u_y, coalesce(b.up_z, 0) AS u_z,\n        \
         coalesce(b.forward_x, 1) AS ahead_x, coalesce(b.forward_y, 0) AS ahead_y, coalesce(b.forward_z, 0) AS ahead_z,\n        \
         {matrix}\n        FROM {rows}\n        {BODY} {RUN}) m",
        names = named_bodies(dialect),
        matrix = matrix.join(",\n        "),
        rows = step_rows(dialect, "body_state"),
    )
}

/// The product of a vector in world axes with the axle of a wheel, which Rodrigues' formula turns: with axis n, angle and axle a it is
/// (w a) cos + (w (n x a)) sin + (w n) (n a) (1 - cos).
fn along_axle(vector: [&str; 3]) -> String {
    let axes = ["x", "y", "z"];
    let dot = |name: &dyn Fn(usize) -> String| {
        let terms = (0..3).filter(|&i| vector[i] != "0").map(|i| format!("{} * {}", vector[i], name(i)));
        format!("({})", terms.collect::<Vec<_>>().join(" + "))
    };
    let cross = |i: usize| {
        let (next, last) = (axes[(i + 1) % 3], axes[(i + 2) % 3]);
        format!("(p.axis_{next} * b.axle_{last} - p.axis_{last} * b.axle_{next})")
    };
    format!(
        "({} * cos(p.angle)\n        + {} * sin(p.angle)\n        \
         + {} * (p.axis_x * b.axle_x + p.axis_y * b.axle_y + p.axis_z * b.axle_z) * (1 - cos(p.angle)))",
        dot(&|i| format!("b.axle_{}", axes[i])),
        dot(&cross),
        dot(&|i| format!("p.axis_{}", axes[i])),
    )
}

/// Wheels with what their axle makes of their velocities. Where a positive `rolling` leads is across the axle, up being the world's y axis: `sense`
/// has the sign of the way there.
fn rolled(dialect: &Dialect) -> String {
    let names = "s.simulationRowID, s.simulationID, s.step, s.simulationTime, r.name AS robot, b.name AS body";
    let computed = [
        ("dt", seconds_between(dialect)),
        ("contact_force", "sqrt(p.F_x * p.F_x + p.F_y * p.F_y + p.F_z * p.F_z)".into()),
        ("rolling", format!("b.wheel_radius * {}", along_axle(["p.omega_x", "p.omega_y", "p.omega_z"]))),
        ("across", along_axle(["p.v_x", "p.v_y", "p.v_z"])),
        ("sense", along_axle(["p.v_z", "0", "- p.v_x"])),
        ("square", "p.v_x * p.v_x + p.v_y * p.v_y + p.v_z * p.v_z".into()),
    ];
    let expressions = computed.each_ref().map(|(name, expression)| format!("{expression} AS {name}"));
    let expressions = expressions.join(",\n        ");
    let rows = format!("FROM {}\n        {BODY} {RUN}", step_rows(dialect, "body_state"));
    let wheels = "WHERE b.wheel_radius IS NOT NULL";
    match dialect.once {
        Once::Grouped => format!(
            "(SELECT {names},\n        {expressions}\n        {rows}\n        {wheels}\n        GROUP BY s.simulationRowID, p.bodyID) m"
        ),
        Once::Lateral => format!(
            "(SELECT {names}, c.*\n        {rows}\n        CROSS JOIN LATERAL (SELECT {expressions}\n        OFFSET 0) c\n        {wheels}) m"
        ),
        Once::Union => {
            let nothing = ["NULL"; 6 + 6].join(", ");
            format!(
                "(SELECT {names},\n        {expressions}\n        {rows}\n        {wheels}\n        UNION ALL SELECT {nothing} FROM DUAL WHERE FALSE) m"
            )
        }
    }
}

/// A component of a vector, body axes, in world axes.
fn world(vector: [&str; 3], component: &str) -> String {
    let terms = ["x", "y", "z"].iter().zip(vector).map(|(axis, value)| format!("m.r_{component}{axis} * {value}"));
    format!("({})", terms.collect::<Vec<_>>().join(" + "))
}

/// The product of a vector of the row, in world axes, with one in body axes.
fn along(of: &str, vector: [&str; 3]) -> String {
    let terms = ["x", "y", "z"].map(|axis| format!("m.{of}_{axis} * {}", world(vector, axis)));
    format!("({})", terms.join(" + "))
}

const FORWARD: [&str; 3] = ["m.ahead_x", "m.ahead_y", "m.ahead_z"];
const UP: [&str; 3] = ["m.u_x", "m.u_y", "m.u_z"];
const RIGHT: [&str; 3] = [
    "(m.ahead_y * m.u_z - m.ahead_z * m.u_y)",
    "(m.ahead_z * m.u_x - m.ahead_x * m.u_z)",
    "(m.ahead_x * m.u_y - m.ahead_y * m.u_x)",
];
const SPEED: &str = "sqrt(m.v_x * m.v_x + m.v_y * m.v_y + m.v_z * m.v_z)";

/// By an arc tangent: rounding may lead a sine beyond 1, of which there is no arc sine.
fn pitch() -> String {
    let rise = world(FORWARD, "y");
    format!("atan2({rise}, sqrt({x} * {x} + {z} * {z}))", x = world(FORWARD, "x"), z = world(FORWARD, "z"))
}

fn motion(column: &str) -> String {
    let directed = |name: &str, of: &str| match name {
        "forward" => along(of, FORWARD),
        "up" => along(of, UP),
        _ => along(of, RIGHT),
    };
    match column {
        "qx" | "qy" | "qz" => format!("m.axis_{} * sin(m.angle / 2)", &column[1..]),
        "qw" => "cos(m.angle / 2)".into(),
        "heading" => format!("atan2({}, {})", world(FORWARD, "z"), world(FORWARD, "x")),
        "pitch" => pitch(),
        "roll" => format!("atan2(-{}, {})", world(RIGHT, "y"), world(UP, "y")),
        "tilt" => {
            let (x, y, z) = (world(UP, "x"), world(UP, "y"), world(UP, "z"));
            format!("atan2(sqrt({x} * {x} + {z} * {z}), {y})")
        }
        "speed" => SPEED.into(),
        _ => match column.split_once('_') {
            Some((of, name)) => directed(name, of),
            None => unreachable!("motionLog.{column}"),
        },
    }
}

/// Square of the velocity in the plane of the wheel; rounding may make it less than zero.
const IN_PLANE: &str = "abs(m.square - m.across * m.across)";

fn wheel(column: &str) -> String {
    let rolls = format!("m.rolling * m.rolling > {IN_PLANE}");
    // Below 1 mm/s slip is no ratio of speeds.
    let moves = "m.rolling * m.rolling >= 1e-6";
    let same_way = "CASE WHEN m.rolling * m.sense < 0 THEN -1 ELSE 1 END";
    match column {
        "contact_force" | "rolling" | "across" => format!("m.{column}"),
        "along" => format!("CASE WHEN m.sense < 0 THEN -1 ELSE 1 END * sqrt({IN_PLANE})"),
        "slip" => format!(
            "CASE WHEN m.contact_force > 0 THEN\n        CASE WHEN {rolls} AND {moves} THEN 1 - {same_way} * sqrt({IN_PLANE}) / abs(m.rolling)\n        \
             WHEN {IN_PLANE} >= 1e-6 THEN abs(m.rolling) / sqrt({IN_PLANE}) - {same_way} END END"
        ),
        "slip_angle" => format!(
            "CASE WHEN m.contact_force > 0 AND ({moves} OR {IN_PLANE} >= 1e-6)\n        THEN atan2(m.across, sqrt({IN_PLANE})) END"
        ),
        _ => unreachable!("wheelLog.{column}"),
    }
}

/// Work of a motor since the logged step before. Of a single step it is the effort of the step times the mean of the rates before and
/// after; over several, mean power times time. A joint without a row in the step before was at rest.
fn energy(dialect: &Dialect) -> String {
    let axes = ["1", "2", "3"];
    let sum = |term: &dyn Fn(&str) -> String| axes.map(term).join(" + ");
    let one = sum(&|axis| format!("p.effort_{axis} * (p.rate_{axis} + coalesce(q.rate_{axis}, 0))"));
    let before = sum(&|axis| format!("q.effort_{axis} * q.rate_{axis}"));
    format!(
        "{dt} * CASE {steps} WHEN 1 THEN {one}\n        ELSE {power} + coalesce({before}, 0) END / 2",
        dt = seconds_between(dialect),
        steps = steps_between(),
        power = power()
    )
}

fn power() -> String {
    ["1", "2", "3"].map(|axis| format!("p.effort_{axis} * p.rate_{axis}")).join(" + ")
}

/// What a column of a view is.
fn expression(view: &Table, column: &str, dialect: &Dialect) -> String {
    let is_derived = matches!(view.name, "motionLog" | "wheelLog");
    match column {
        "simulationRowID" | "simulationID" | "step" | "dt" | "robot" | "body" if is_derived => format!("m.{column}"),
        "time" if is_derived => "m.simulationTime".into(),
        "simulationRowID" | "simulationID" | "step" => format!("s.{column}"),
        "time" => "s.simulationTime".into(),
        "dt" => seconds_between(dialect),
        "robot" => "r.name".into(),
        "body" => "b.name".into(),
        "joint" => "j.name".into(),
        "device" => "c.name".into(),
        "other_robot" => "q.name".into(),
        "other_body" => "o.name".into(),
        "kind" if view.name == "jointLog" => "j.kind".into(),
        "kind" => "d.kind".into(),
        "power" => power(),
        "energy" => energy(dialect),
        "layer" => dialect.layer.into(),
        "ray" => dialect.ray.into(),
        "distance" if view.name == "scannerSensor" => "p.value".into(),
        _ if view.name == "motionLog" => motion(column),
        _ if view.name == "wheelLog" => wheel(column),
        _ if view.kind == TableKind::SensorView => {
            // The view says what the bumper's force is.
            let field = if column == "normal_force" && view.name == "bumperSensor" { "force" } else { column };
            format!("max(CASE WHEN p.field = '{field}' THEN p.value END)")
        }
        _ => format!("p.{column}"),
    }
}

/// What is left out or put together of the rows.
fn ending(view: &Table, dialect: &Dialect) -> String {
    let touched = ["F_x", "F_y", "F_z", "T_x", "T_y", "T_z"].map(|column| format!("p.{column} <> 0")).join(" OR ");
    match view.kind {
        TableKind::SensorView => format!(
            "\n    WHERE d.kind = '{}'\n    GROUP BY s.simulationRowID, p.componentID{}",
            view.doc, dialect.determined
        ),
        _ if view.name == "scannerSensor" => "\n    WHERE d.kind = 'ScannerSensor'".into(),
        _ if view.name == "contactLog" => format!("\n    WHERE {touched}"),
        _ => String::new(),
    }
}

fn definition(view: &Table, dialect: &Dialect) -> String {
    let columns = view.columns().map(|(name, _)| format!("{} AS {name}", expression(view, name, dialect)));
    let columns = columns.collect::<Vec<_>>().join(",\n        ");
    let drop = if dialect.drops { format!("DROP VIEW IF EXISTS {};\n", view.name) } else { String::new() };
    let (name, create) = (view.name, dialect.create);
    format!(
        "{drop}{create} {name} AS\n    SELECT {columns}\n    FROM {}{};\n",
        sources(view, dialect),
        ending(view, dialect)
    )
}

/// Views that a later migration defines anew, with its number and what it says about itself.
const LATER: [(&str, &str, &str); 1] = [(
    "wheelLog",
    "0014_wheel_log",
    "-- A wheel's columns are computed once for a row, and not wherever the view names them: questions take a third to a tenth of the time. Written by\n\
     -- src/recorder/format/schema/definitions.rs; a later change of the views is another migration.\n",
)];

/// The first migration with these views; what it says of views that are defined anew later is not looked at.
fn is_first_migration(text: &str, dialect: &Dialect) -> bool {
    let own = ["commandLog", "eventLog"];
    let is_later = |name: &str| LATER.iter().any(|(later, ..)| *later == name);
    let is_in_it = |view: &&Table| view.is_named_view() && !own.contains(&view.name) && !is_later(view.name);
    VIEWS.iter().filter(is_in_it).all(|view| text.contains(&definition(view, dialect)))
}

/// The migration with scans: their table, and scannerSensor with a row for each of their rays as well.
fn migration_of_scans(dialect: &Dialect) -> String {
    let view = VIEWS.iter().find(|view| view.name == "scannerSensor").unwrap();
    let order = dialect.in_order;
    let columns = view.columns().map(|(name, _)| match name {
        "distance" => "e.value".to_owned(),
        "layer" | "ray" => expression(view, name, dialect).replace("p.field", "f.field"),
        name => expression(view, name, dialect),
    });
    let columns = columns.collect::<Vec<_>>().join(",\n        ");
    let rows = format!(
        "{}\n    {order} robotComponent c ON c.componentID = p.componentID {order} robot r ON r.robotID = c.robotID\n    \
         {}\n    {order} deviceField f ON f.componentID = p.componentID AND f.ordinal = {}",
        step_rows(dialect, "scan"),
        dialect.numbers,
        dialect.place
    );
    format!(
        "-- Readings of many numbers, each in one row. Written by src/recorder/format/schema/definitions.rs.\nCREATE TABLE scan {};\n\n\
         {}\n    UNION ALL SELECT {columns}\n    FROM {rows};\n",
        dialect.scan,
        definition(view, dialect).trim_end().trim_end_matches(';')
    )
}

#[test]
fn the_migrations_define_the_views_of_the_schema() {
    for (folder, dialect) in [("sqlite", SQLITE), ("postgres", POSTGRES), ("mysql", MYSQL)] {
        let path = |name: &str| format!("{}/../../migrations/{folder}/{name}.sql", env!("CARGO_MANIFEST_DIR"));
        let first = path("0012_views");
        let has_all = is_first_migration(&std::fs::read_to_string(&first).unwrap(), &dialect);
        assert!(has_all, "{first}: a view that differs needs a new migration, and an entry in LATER");
        let later = LATER.into_iter().map(|(name, file, doc)| {
            let view = VIEWS.iter().find(|view| view.name == name).unwrap();
            (file, format!("{doc}{}", definition(view, &dialect)))
        });
        for (file, text) in later.chain([("0013_scans", migration_of_scans(&dialect))]) {
            let path = path(file);
            if std::env::var_os("UPDATE_GENERATED").is_some() {
                std::fs::write(&path, &text).unwrap();
            }
            assert!(std::fs::read_to_string(&path).unwrap() == text, "{path}: UPDATE_GENERATED=1 writes it anew");
        }
    }
}
