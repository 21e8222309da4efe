//! Generates the SQL of the views with names. The migrations of the three databases are written by this module, so that
//! they differ only in dialect: `UPDATE_GENERATED=1 cargo test --lib -- schema::definitions`.

use super::{
    table::{Table, TableKind},
    views::VIEWS,
};

/// SQL that differs between the databases.
struct Dialect {
    /// Statement that replaces a view and keeps objects that depend on it. SQLite has no such statement, and no such
    /// objects.
    create: &'static str,
    /// True if a view has to be dropped first.
    drops_first: bool,
    /// Join that is executed in the order written. SQLite has no statistics of a log, and would otherwise begin with
    /// small tables and read a large one for each of their rows. The other databases have statistics.
    ordered_join: &'static str,
    /// Columns by which readings are grouped in addition to the step and the sensor, which determine them. SQLite does
    /// not need them; without them it takes the groups as they come, without sorting.
    extra_group_columns: &'static str,
    /// Method by which an inner query computes each column once, although the view names it many times.
    once: ComputeOnce,
    /// Type of a double.
    real: &'static str,
    /// Number of the layer, from the name of a scanner's field, `distance_RAY` or `distance_LAYER_RAY`.
    layer: &'static str,
    /// Number of the ray, from the name of a scanner's field.
    ray: &'static str,
    /// Join with each number of a scan, `e.value`.
    scan_numbers: &'static str,
    /// Index of that number in the scan, from 0.
    number_index: &'static str,
    /// Definition of the table of scans.
    scan_table: &'static str,
}

/// Method to compute each column of an inner query once. All three databases would otherwise merge the inner query into
/// the outer one, and compute a column anew wherever it is named. A condition on simulationRowIDs must still reach the
/// tables, so that a query of one run does not read the others. This excludes LIMIT around the whole inner query.
enum ComputeOnce {
    /// Each row is a group of its own. The rows come in the order of the groups, so nothing is sorted.
    Grouped,
    /// A lateral query for each row, which OFFSET keeps from being merged.
    Lateral,
    /// A union with an empty query, whose result MySQL and MariaDB write to a temporary table.
    Union,
}

const SQLITE: Dialect = Dialect {
    create: "CREATE VIEW",
    drops_first: true,
    ordered_join: "CROSS JOIN",
    extra_group_columns: "",
    once: ComputeOnce::Grouped,
    real: "REAL",
    layer: "CASE instr(substr(p.field, 10), '_') WHEN 0 THEN 1 ELSE CAST(substr(p.field, 10) AS INTEGER) END",
    ray: "CAST(substr(substr(p.field, 10), instr(substr(p.field, 10), '_') + 1) AS INTEGER)",
    scan_numbers: "CROSS JOIN json_each(p.distances) e",
    number_index: "e.key",
    scan_table: "(\n    simulationRowID INTEGER NOT NULL,\n    componentID INTEGER NOT NULL,\n    distances TEXT,\n    \
           PRIMARY KEY (simulationRowID, componentID)\n) STRICT, WITHOUT ROWID",
};

const POSTGRES: Dialect = Dialect {
    create: "CREATE OR REPLACE VIEW",
    drops_first: false,
    ordered_join: "JOIN",
    once: ComputeOnce::Lateral,
    extra_group_columns: ", s.simulationID, s.step, s.simulationTime, r.name, c.name",
    real: "DOUBLE PRECISION",
    layer: "CASE split_part(p.field, '_', 3) WHEN '' THEN 1 ELSE split_part(p.field, '_', 2)::bigint END",
    ray: "coalesce(nullif(split_part(p.field, '_', 3), ''), split_part(p.field, '_', 2))::bigint",
    scan_numbers: "CROSS JOIN LATERAL (SELECT place, number::float8 AS value\n        \
              FROM jsonb_array_elements_text(p.distances::jsonb) WITH ORDINALITY AS numbers (number, place)) e",
    number_index: "e.place - 1",
    scan_table: "(\n    simulationRowID BIGINT NOT NULL,\n    componentID BIGINT NOT NULL,\n    distances TEXT,\n    \
           PRIMARY KEY (simulationRowID, componentID)\n)",
};

const MYSQL: Dialect = Dialect {
    create: "CREATE OR REPLACE VIEW",
    drops_first: false,
    ordered_join: "JOIN",
    once: ComputeOnce::Union,
    extra_group_columns: ", s.simulationID, s.step, s.simulationTime, r.name, c.name",
    real: "DOUBLE",
    layer: "CASE locate('_', substr(p.field, 10)) WHEN 0 THEN 1 ELSE CAST(substring_index(substr(p.field, 10), '_', 1) AS SIGNED) END",
    ray: "CAST(substring_index(p.field, '_', -1) AS SIGNED)",
    scan_numbers: "CROSS JOIN JSON_TABLE(p.distances, '$[*]'\n        COLUMNS (place FOR ORDINALITY, value DOUBLE PATH '$')) e",
    number_index: "e.place - 1",
    scan_table: "(\n    simulationRowID BIGINT NOT NULL,\n    componentID BIGINT NOT NULL,\n    distances LONGTEXT,\n    \
           PRIMARY KEY (simulationRowID, componentID)\n) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
};

/// The step logged before this one, by the run's cadence (`format/cadence.rs`). At the start of a run it may lie before
/// the run's first state.
const STEP_BEFORE: &str = "\
CASE WHEN n.full_steps IS NULL OR s.step <= n.full_steps THEN s.step - n.every_n_steps
        WHEN s.step - n.thinned_every_n_steps > n.full_steps THEN s.step - n.thinned_every_n_steps
        ELSE n.full_steps - n.full_steps % n.every_n_steps END";

/// Number of steps since the step logged before, or since the run's first state. Missing steps (`simulation.gaps`) are
/// ignored.
fn steps_between() -> String {
    let first = "coalesce(n.parent_step, 0)";
    format!("(s.step - CASE WHEN {STEP_BEFORE} < {first} THEN {first} ELSE {STEP_BEFORE} END)")
}

/// Simulated time since the step logged before, s.
fn seconds_between(dialect: &Dialect) -> String {
    format!("CAST({} * n.timestep_ns AS {}) / 1e9", steps_between(), dialect.real)
}

/// Join of the steps, `s`, with the rows of `table`, `p`.
fn step_rows(dialect: &Dialect, table: &str) -> String {
    format!("simulationRow s {} {table} p ON p.simulationRowID = s.simulationRowID", dialect.ordered_join)
}

const RUN_JOIN: &str = "LEFT JOIN simulation n ON n.simulationID = s.simulationID";
const BODY_JOIN: &str = "JOIN body b ON b.bodyID = p.bodyID LEFT JOIN robot r ON r.robotID = b.robotID";

/// Tables that a view selects from: its FROM clause.
fn from_clause(view: &Table, dialect: &Dialect) -> String {
    let order = dialect.ordered_join;
    match view.name {
        "bodyLog" | "contactLog" => format!("{}\n    {BODY_JOIN} {RUN_JOIN}", step_rows(dialect, "body_state")),
        "contactPointLog" => format!(
            "{}\n    {BODY_JOIN} {RUN_JOIN}\n    LEFT JOIN body o ON o.bodyID = p.other_bodyID LEFT JOIN robot q ON q.robotID = o.robotID",
            step_rows(dialect, "contactPoint")
        ),
        "jointLog" => format!(
            "{}\n    JOIN joint j ON j.jointID = p.jointID LEFT JOIN robot r ON r.robotID = j.robotID {RUN_JOIN}\n    \
             LEFT JOIN jointPose q ON q.simulationRowID = p.simulationRowID - {}\n    AND q.jointID = p.jointID",
            step_rows(dialect, "jointPose"),
            steps_between()
        ),
        "motionLog" => motion_query(dialect),
        "wheelLog" => wheel_query(dialect),
        _ => format!(
            "{}\n    {order} device d ON d.componentID = p.componentID\n    \
             {order} robotComponent c ON c.componentID = p.componentID {order} robot r ON r.robotID = c.robotID",
            step_rows(dialect, "sensorReading")
        ),
    }
}

/// Columns of the inner query of `motionLog` that identify the step and the body.
fn named_bodies(dialect: &Dialect) -> String {
    format!(
        "s.simulationRowID, s.simulationID, s.step, s.simulationTime, {} AS dt, r.name AS robot, b.name AS body",
        seconds_between(dialect)
    )
}

/// Inner query of `motionLog`: bodies with the rotation matrix of their orientation, row by row, which takes body axes
/// to world axes (Rodrigues' formula).
fn motion_query(dialect: &Dialect) -> String {
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
         {matrix}\n        FROM {rows}\n        {BODY_JOIN} {RUN_JOIN}) m",
        names = named_bodies(dialect),
        matrix = matrix.join(",\n        "),
        rows = step_rows(dialect, "body_state"),
    )
}

/// Scalar product of a vector w, world axes, with the axle of a wheel. Rodrigues' formula turns the axle a, body axes,
/// to world axes. With the axis n and the angle of the orientation, the product is
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

/// Inner query of `wheelLog`: wheels with the projections of their velocities onto the axle. A positive `rolling` leads
/// in the horizontal direction across the axle, y being up. `sense` has the sign of the velocity in this direction.
fn wheel_query(dialect: &Dialect) -> String {
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
    let rows = format!("FROM {}\n        {BODY_JOIN} {RUN_JOIN}", step_rows(dialect, "body_state"));
    let wheels = "WHERE b.wheel_radius IS NOT NULL";
    match dialect.once {
        ComputeOnce::Grouped => format!(
            "(SELECT {names},\n        {expressions}\n        {rows}\n        {wheels}\n        GROUP BY s.simulationRowID, p.bodyID) m"
        ),
        ComputeOnce::Lateral => format!(
            "(SELECT {names}, c.*\n        {rows}\n        CROSS JOIN LATERAL (SELECT {expressions}\n        OFFSET 0) c\n        {wheels}) m"
        ),
        ComputeOnce::Union => {
            let nothing = ["NULL"; 6 + 6].join(", ");
            format!(
                "(SELECT {names},\n        {expressions}\n        {rows}\n        {wheels}\n        UNION ALL SELECT {nothing} FROM DUAL WHERE FALSE) m"
            )
        }
    }
}

/// Component, in world axes, of a vector given in body axes.
fn world_component(vector: [&str; 3], component: &str) -> String {
    let terms = ["x", "y", "z"].iter().zip(vector).map(|(axis, value)| format!("m.r_{component}{axis} * {value}"));
    format!("({})", terms.collect::<Vec<_>>().join(" + "))
}

/// Scalar product of a vector of the row, given in world axes by the prefix of its columns, with a vector given in body
/// axes.
fn dot_product(columns: &str, vector: [&str; 3]) -> String {
    let terms = ["x", "y", "z"].map(|axis| format!("m.{columns}_{axis} * {}", world_component(vector, axis)));
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

/// The pitch angle by an arc tangent, because rounding can make a sine larger than 1, for which the arc sine is not
/// defined.
fn pitch_angle() -> String {
    let rise = world_component(FORWARD, "y");
    format!(
        "atan2({rise}, sqrt({x} * {x} + {z} * {z}))",
        x = world_component(FORWARD, "x"),
        z = world_component(FORWARD, "z")
    )
}

/// Expression of a computed column of `motionLog`.
fn motion_column(column: &str) -> String {
    let directed = |name: &str, of: &str| match name {
        "forward" => dot_product(of, FORWARD),
        "up" => dot_product(of, UP),
        _ => dot_product(of, RIGHT),
    };
    match column {
        "qx" | "qy" | "qz" => format!("m.axis_{} * sin(m.angle / 2)", &column[1..]),
        "qw" => "cos(m.angle / 2)".into(),
        "heading" => format!("atan2({}, {})", world_component(FORWARD, "z"), world_component(FORWARD, "x")),
        "pitch" => pitch_angle(),
        "roll" => format!("atan2(-{}, {})", world_component(RIGHT, "y"), world_component(UP, "y")),
        "tilt" => {
            let (x, y, z) = (world_component(UP, "x"), world_component(UP, "y"), world_component(UP, "z"));
            format!("atan2(sqrt({x} * {x} + {z} * {z}), {y})")
        }
        "speed" => SPEED.into(),
        _ => match column.split_once('_') {
            Some((of, name)) => directed(name, of),
            None => unreachable!("motionLog.{column}"),
        },
    }
}

/// Square of the speed in the plane of the wheel. The absolute value is taken, because rounding can make the difference
/// negative.
const IN_PLANE_SQUARE: &str = "abs(m.square - m.across * m.across)";

/// Expression of a computed column of `wheelLog`.
fn wheel_column(column: &str) -> String {
    let rolls = format!("m.rolling * m.rolling > {IN_PLANE_SQUARE}");
    // Below 1 mm/s no slip is computed, because the ratio of such small speeds means nothing.
    let moves = "m.rolling * m.rolling >= 1e-6";
    let same_way = "CASE WHEN m.rolling * m.sense < 0 THEN -1 ELSE 1 END";
    match column {
        "contact_force" | "rolling" | "across" => format!("m.{column}"),
        "along" => format!("CASE WHEN m.sense < 0 THEN -1 ELSE 1 END * sqrt({IN_PLANE_SQUARE})"),
        "slip" => format!(
            "CASE WHEN m.contact_force > 0 THEN\n        CASE WHEN {rolls} AND {moves} THEN 1 - {same_way} * sqrt({IN_PLANE_SQUARE}) / abs(m.rolling)\n        \
             WHEN {IN_PLANE_SQUARE} >= 1e-6 THEN abs(m.rolling) / sqrt({IN_PLANE_SQUARE}) - {same_way} END END"
        ),
        "slip_angle" => format!(
            "CASE WHEN m.contact_force > 0 AND ({moves} OR {IN_PLANE_SQUARE} >= 1e-6)\n        THEN atan2(m.across, sqrt({IN_PLANE_SQUARE})) END"
        ),
        _ => unreachable!("wheelLog.{column}"),
    }
}

/// Work of a motor since the step logged before, J. Over a single step it is the effort of the step times the mean of
/// the rates before and after it, times the timestep. Over several steps it is the mean power times the time. A joint
/// without a row in the step before was at rest.
fn energy_column(dialect: &Dialect) -> String {
    let axes = ["1", "2", "3"];
    let sum = |term: &dyn Fn(&str) -> String| axes.map(term).join(" + ");
    let one = sum(&|axis| format!("p.effort_{axis} * (p.rate_{axis} + coalesce(q.rate_{axis}, 0))"));
    let before = sum(&|axis| format!("q.effort_{axis} * q.rate_{axis}"));
    format!(
        "{dt} * CASE {steps} WHEN 1 THEN {one}\n        ELSE {power} + coalesce({before}, 0) END / 2",
        dt = seconds_between(dialect),
        steps = steps_between(),
        power = power_column()
    )
}

/// Power of a motor, W.
fn power_column() -> String {
    ["1", "2", "3"].map(|axis| format!("p.effort_{axis} * p.rate_{axis}")).join(" + ")
}

/// Expression of a column of a view.
fn column_expression(view: &Table, column: &str, dialect: &Dialect) -> String {
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
        "power" => power_column(),
        "energy" => energy_column(dialect),
        "layer" => dialect.layer.into(),
        "ray" => dialect.ray.into(),
        "distance" if view.name == "scannerSensor" => "p.value".into(),
        _ if view.name == "motionLog" => motion_column(column),
        _ if view.name == "wheelLog" => wheel_column(column),
        _ if view.kind == TableKind::SensorView => {
            // The view has a clearer name for the bumper's field `force`.
            let field = if column == "normal_force" && view.name == "bumperSensor" { "force" } else { column };
            format!("max(CASE WHEN p.field = '{field}' THEN p.value END)")
        }
        _ => format!("p.{column}"),
    }
}

/// Conditions and grouping of a view: the clauses behind FROM.
fn final_clauses(view: &Table, dialect: &Dialect) -> String {
    let touched = ["F_x", "F_y", "F_z", "T_x", "T_y", "T_z"].map(|column| format!("p.{column} <> 0")).join(" OR ");
    match view.kind {
        TableKind::SensorView => format!(
            "\n    WHERE d.kind = '{}'\n    GROUP BY s.simulationRowID, p.componentID{}",
            view.doc, dialect.extra_group_columns
        ),
        _ if view.name == "scannerSensor" => "\n    WHERE d.kind = 'ScannerSensor'".into(),
        _ if view.name == "contactLog" => format!("\n    WHERE {touched}"),
        _ => String::new(),
    }
}

/// Statements that define a view.
fn view_definition(view: &Table, dialect: &Dialect) -> String {
    let columns = view.columns().map(|(name, _)| format!("{} AS {name}", column_expression(view, name, dialect)));
    let columns = columns.collect::<Vec<_>>().join(",\n        ");
    let drop = if dialect.drops_first { format!("DROP VIEW IF EXISTS {};\n", view.name) } else { String::new() };
    let (name, create) = (view.name, dialect.create);
    format!(
        "{drop}{create} {name} AS\n    SELECT {columns}\n    FROM {}{};\n",
        from_clause(view, dialect),
        final_clauses(view, dialect)
    )
}

/// Views that a later migration defines anew, with the name of the migration and its comment.
const REDEFINED_VIEWS: [(&str, &str, &str); 1] = [(
    "wheelLog",
    "0014_wheel_log",
    "-- A wheel's columns are computed once for a row, and not wherever the view names them: questions take a third to a tenth of the time. Written by\n\
     -- src/recorder/format/schema/definitions.rs; a later change of the views is another migration.\n",
)];

/// True if a text, the first migration with these views, defines all of them, except for those that a later migration
/// redefines.
fn is_first_migration(text: &str, dialect: &Dialect) -> bool {
    let own = ["commandLog", "eventLog"];
    let is_redefined = |name: &str| REDEFINED_VIEWS.iter().any(|(later, ..)| *later == name);
    let is_in_it = |view: &&Table| view.is_named_view() && !own.contains(&view.name) && !is_redefined(view.name);
    VIEWS.iter().filter(is_in_it).all(|view| text.contains(&view_definition(view, dialect)))
}

/// The migration that adds the table of scans, and redefines scannerSensor, so that it also has a row for each ray of a
/// scan.
fn migration_of_scans(dialect: &Dialect) -> String {
    let view = VIEWS.iter().find(|view| view.name == "scannerSensor").unwrap();
    let order = dialect.ordered_join;
    let columns = view.columns().map(|(name, _)| match name {
        "distance" => "e.value".to_owned(),
        "layer" | "ray" => column_expression(view, name, dialect).replace("p.field", "f.field"),
        name => column_expression(view, name, dialect),
    });
    let columns = columns.collect::<Vec<_>>().join(",\n        ");
    let rows = format!(
        "{}\n    {order} robotComponent c ON c.componentID = p.componentID {order} robot r ON r.robotID = c.robotID\n    \
         {}\n    {order} deviceField f ON f.componentID = p.componentID AND f.ordinal = {}",
        step_rows(dialect, "scan"),
        dialect.scan_numbers,
        dialect.number_index
    );
    format!(
        "-- Readings of many numbers, each in one row. Written by src/recorder/format/schema/definitions.rs.\nCREATE TABLE scan {};\n\n\
         {}\n    UNION ALL SELECT {columns}\n    FROM {rows};\n",
        dialect.scan_table,
        view_definition(view, dialect).trim_end().trim_end_matches(';')
    )
}

#[test]
fn the_migrations_define_the_views_of_the_schema() {
    for (folder, dialect) in [("sqlite", SQLITE), ("postgres", POSTGRES), ("mysql", MYSQL)] {
        let path = |name: &str| format!("{}/../../migrations/{folder}/{name}.sql", env!("CARGO_MANIFEST_DIR"));
        let first = path("0012_views");
        let has_all = is_first_migration(&std::fs::read_to_string(&first).unwrap(), &dialect);
        assert!(has_all, "{first}: a view that differs needs a new migration, and an entry in REDEFINED_VIEWS");
        let later = REDEFINED_VIEWS.into_iter().map(|(name, file, doc)| {
            let view = VIEWS.iter().find(|view| view.name == name).unwrap();
            (file, format!("{doc}{}", view_definition(view, &dialect)))
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
