//! The table of all settings. Parsing, the names of environment variables, error messages and `properties.toml` are derived from
//! it.

pub(super) use super::setting_type::{RawValue, SettingType, SettingValue};

/// A setting.
#[derive(Debug)]
pub(super) struct Setting {
    pub(super) section: &'static str,
    pub(super) key: &'static str,
    pub(super) setting_type: SettingType,
    /// As it would be written on the command line.
    pub(super) default: &'static str,
    pub(super) doc: &'static str,
}

impl Setting {
    /// `section.key`.
    pub(super) fn path(&self) -> String {
        format!("{}.{}", self.section, self.key)
    }

    /// Name of its environment variable.
    pub(super) fn variable(&self) -> String {
        format!("{VARIABLE_PREFIX}{}_{}", self.section, self.key).to_uppercase()
    }
}

/// Variables with that prefix that are no settings: they are for the build (`build.rs`), for the tests (`tests/README.md`) and
/// for programs that start a server.
pub(super) const OTHER_VARIABLES: &[&str] = &[
    "SIMPARTNER_BIN",
    "SIMPARTNER_LONG_TESTS",
    "SIMPARTNER_REQUIRE",
    "SIMPARTNER_TEST_MYSQL",
    "SIMPARTNER_TEST_POSTGRES",
    "SIMPARTNER_VIEWER",
];

/// The prefix of all environment variables.
pub(super) const VARIABLE_PREFIX: &str = "SIMPARTNER_";

const fn setting(
    section: &'static str,
    key: &'static str,
    setting_type: SettingType,
    default: &'static str,
    doc: &'static str,
) -> Setting {
    Setting { section, key, setting_type, default, doc }
}

const fn real(lowest: f64, highest: f64) -> SettingType {
    SettingType::Real { lowest, highest }
}

const fn integer(lowest: i64, highest: i64) -> SettingType {
    SettingType::Integer { lowest, highest }
}

/// Every setting, section by section, in the order of the file.
pub(super) const SETTINGS: &[Setting] = &[
    setting(
        "simulation",
        "world_file",
        SettingType::File,
        "worlds/flat.xml",
        "The world to simulate, or a robot (ours, URDF, SDF), which then stands on level ground.",
    ),
    setting(
        "simulation",
        "fixed_base",
        SettingType::Boolean,
        "false",
        "Whether the root of an imported robot that stands in place of a world is fixed, although it could move.",
    ),
    setting(
        "simulation",
        "mode",
        SettingType::Word(&["realtime", "fast", "lockstep"]),
        "realtime",
        "Whether every step has its deadline, follows the one before at once, or waits until controllers have answered.",
    ),
    setting("simulation", "rate", real(0.001, 1000.0), "1.0", "Simulated seconds per wall second in realtime."),
    setting("simulation", "timestep_s", SettingType::Timestep, "0.001", "Length of a step."),
    setting("simulation", "duration_s", real(0.0, 1e9), "0.0", "Simulated time after which the run ends; 0 is no end."),
    setting(
        "simulation",
        "seed",
        integer(0, i64::MAX),
        "0",
        "What all noise and every garbled reading follow from; each device has its own stream, which its robot's and its own \
         name and this number make.",
    ),
    setting("simulation", "start_paused", SettingType::Boolean, "false", "Whether the clock waits for PLAY."),
    setting(
        "simulation",
        "max_catchup_steps",
        integer(1, 1_000_000),
        "50",
        "How many steps the clock may be behind before it is overrun.",
    ),
    setting(
        "simulation",
        "on_overrun",
        SettingType::Word(&["slip", "stop"]),
        "slip",
        "An overrun clock gives the lost time up and logs it, or ends the run.",
    ),
    setting(
        "lockstep",
        "members",
        SettingType::Names,
        "",
        "The ports that the clock waits for in lockstep: robot/device, or a robot for its combined port; without any the combined \
         ports of all robots.",
    ),
    setting("lockstep", "timeout_s", real(0.001, 1e6), "1.0", "How long a member may take to answer, in wall time."),
    setting(
        "lockstep",
        "on_timeout",
        SettingType::Word(&["hold", "pause", "fail"]),
        "hold",
        "After that time there is an event; then the clock waits on, pauses, or the run ends.",
    ),
    setting(
        "physics",
        "engine",
        SettingType::Word(&["dynamics", "rapier"]),
        "dynamics",
        "The physics engine: articulated dynamics of our own, or Dimforge's rapier.",
    ),
    setting("physics", "substeps", integer(1, 1000), "1", "Solver substeps in a step."),
    setting(
        "physics",
        "contact_max_correcting_velocity_m_per_s",
        real(0.0, 1000.0),
        "3.0",
        "Largest speed at which bodies in each other are pushed apart.",
    ),
    setting(
        "physics",
        "auto_disable",
        SettingType::Boolean,
        "false",
        "Whether objects at rest sleep until something touches them; robots never do.",
    ),
    setting(
        "dynamics",
        "integrator",
        SettingType::Word(&["gauss", "midpoint"]),
        "gauss",
        "How linkages move that touch nothing and that no motor holds: gauss to fourth order, midpoint to second order.",
    ),
    setting(
        "dynamics",
        "impact_law",
        SettingType::Word(&["sequential", "newton"]),
        "sequential",
        "How bounces at the same instant are solved: sequential passes a shock on from pair to pair, newton solves all at once.",
    ),
    setting(
        "dynamics",
        "max_sweeps",
        integer(1, 100_000),
        "6000",
        "Work of a step at most: as much as so many sweeps over the constraints, with its parts and repetitions; the solver stops when they are solved.",
    ),
    setting(
        "dynamics",
        "contact_surface_layer_m",
        real(0.0, 1.0),
        "0.000001",
        "Depth to which bodies may sink into each other without being pushed apart.",
    ),
    setting(
        "dynamics",
        "threads",
        integer(1, 256),
        "1",
        "Threads for worlds of many robots; the results are the same for any number.",
    ),
    setting(
        "dynamics",
        "turn_per_substep_rad",
        real(0.001, 10.0),
        "0.05",
        "Angle that a joint may turn by in a substep; where one turns by more than twice that, the step is divided. What moves freely may turn twice as far.",
    ),
    setting("dynamics", "max_speed_m_per_s", real(0.0, 1e5), "1000.0", "A body faster than this gets an event."),
    setting(
        "dynamics",
        "max_penetration_m",
        real(0.0, 1e3),
        "0.01",
        "Rigid bodies deeper in each other than this get an event.",
    ),
    setting(
        "dynamics",
        "max_joint_error_m",
        real(0.0, 1e3),
        "0.001",
        "A joint that closes a loop and is open by more than this gets an event.",
    ),
    setting(
        "dynamics",
        "max_energy_gain_j",
        real(0.0, 1e9),
        "1.0",
        "A step in which the world gains more energy than this, beside what its motors give, gets an event.",
    ),
    setting(
        "rapier",
        "solver_iterations",
        integer(1, 1000),
        "50",
        "Sweeps over all constraints in a substep; stiff motors need tens of them.",
    ),
    setting(
        "rapier",
        "contact_frequency_hz",
        real(0.1, 10_000.0),
        "30.0",
        "Stiffness of contacts, as the natural frequency of the spring that pushes bodies apart.",
    ),
    setting(
        "rapier",
        "contact_damping_ratio",
        real(0.0, 1000.0),
        "10.0",
        "Damping ratio of that spring; above 1 it does not swing.",
    ),
    setting(
        "rapier",
        "contact_surface_layer_m",
        real(0.0, 1.0),
        "0.005",
        "Depth to which bodies may sink into each other without being pushed apart.",
    ),
    setting("log", "enabled", SettingType::Boolean, "true", "Whether the run is logged."),
    setting(
        "log",
        "database",
        SettingType::Database,
        "sqlite:simpartner.db",
        "The database: sqlite:FILE, created if missing, postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE (MySQL or \
         MariaDB).",
    ),
    setting(
        "log",
        "detail",
        SettingType::Word(&["economical", "full"]),
        "economical",
        "full logs all rows of every step to the end. economical can be left on for days: it leaves out the rows of a robot's bodies \
         and joints, or of an object, while all of them are like those before (what is fixed, asleep or at rest), and thins the \
         steps out after log.thin_after_s. Hashes cover every step all the same, and a run can be made again from either.",
    ),
    setting(
        "log",
        "contacts",
        SettingType::Boolean,
        "false",
        "Whether the points where bodies touch are logged, the 128 of a logged step with the largest forces.",
    ),
    setting(
        "log",
        "thin_after_s",
        real(0.0, 1e9),
        "300.0",
        "Simulated seconds, resets included, after which an economical log has one step in log.thin_to_every_n_steps; contact \
         forces of the steps between are kept as mean and maximum, commands and events as they are.",
    ),
    setting(
        "log",
        "thin_to_every_n_steps",
        integer(1, 1_000_000_000),
        "100",
        "How thin: one step in so many, rounded up to a multiple of log.every_n_steps.",
    ),
    setting(
        "log",
        "every_n_steps",
        integer(1, 1_000_000_000),
        "1",
        "One step in so many is logged, from the first on; commands and events always are.",
    ),
    setting(
        "log",
        "bodies",
        SettingType::Names,
        "*",
        "Bodies whose state is logged: robot/body, or an object's name; * stands for any part of a name.",
    ),
    setting("log", "joints", SettingType::Names, "*", "Joints whose state is logged, in the same way."),
    setting(
        "log",
        "devices",
        SettingType::Names,
        "*",
        "Sensors whose readings are logged, in the same way; commands always are.",
    ),
    setting(
        "log",
        "on_change",
        SettingType::Boolean,
        "false",
        "Whether rows of bodies, joints and sensors are written only where they differ from those before; of every 1000th \
         logged step all are.",
    ),
    setting(
        "log",
        "change_tolerance",
        real(0.0, 1e9),
        "0.0",
        "By how much one of a row's numbers must differ for that, in its own unit.",
    ),
    setting(
        "log",
        "limit_mb",
        integer(1, 1_000_000_000),
        "10240",
        "How much the database may grow in a run, so that a server left alone does not fill the disk.",
    ),
    setting(
        "log",
        "when_full",
        SettingType::Word(&["end_log", "end_run"]),
        "end_log",
        "At that limit the log ends and the simulation goes on, or both end.",
    ),
    setting(
        "log",
        "snapshot_interval_s",
        real(0.0, 1e9),
        "10.0",
        "Simulated seconds from one whole state that is kept to the next, so that a fork need not make the run again from its \
         beginning; 0 keeps none.",
    ),
    setting(
        "log",
        "start_without_database",
        SettingType::Boolean,
        "false",
        "Whether a run may begin while its database cannot be reached; its log then waits in the spill file.",
    ),
    setting(
        "log",
        "spill_folder",
        SettingType::File,
        ".",
        "Folder of the spill file, which takes what the database does not in time; on another disk than an \
         SQLite file's it also takes what that has no room for.",
    ),
    setting(
        "log",
        "spill_limit_mb",
        integer(1, 1_000_000_000),
        "10240",
        "How large the spill file may become; then the run ends.",
    ),
    setting(
        "log",
        "drain_s",
        real(0.0, 1e6),
        "30.0",
        "How long a database that takes nothing is waited for at the end, and in fast and lockstep before anything is spilled.",
    ),
    setting(
        "server",
        "bind",
        SettingType::Address,
        "127.0.0.1",
        "Address of all ports; 0.0.0.0 opens them to the network.",
    ),
    setting("server", "control_port", integer(0, 65_535), "6500", "Port of the control protocol; 0 is any free one."),
    setting(
        "server",
        "port_offset",
        integer(-64_510, 64_510),
        "0",
        "What is added to every port that models and settings name, so that servers of one world run side by side.",
    ),
    setting(
        "server",
        "free_ports",
        SettingType::Boolean,
        "false",
        "Whether everything gets any free port instead; clients find theirs by the control port or the file of ports.",
    ),
    setting(
        "server",
        "ports_file",
        SettingType::OptionalFile,
        "",
        "File that tells in JSON, while the server runs, where everything listens; empty is none.",
    ),
    setting(
        "server",
        "token",
        SettingType::Secret,
        "",
        "What a client must say before anything else; empty asks for nothing.",
    ),
    setting(
        "server",
        "spawn",
        SettingType::Word(&["local", "always", "never"]),
        "local",
        "Whether clients may let robots come and go (SPAWN, REMOVE): local is where the address is a loopback one, so on this machine.",
    ),
    setting(
        "server",
        "connections",
        integer(1, 1_000_000),
        "4096",
        "Connections in all, those of the viewer's page included; fewer where the operating system lets the process open fewer \
         files.",
    ),
    setting(
        "server",
        "connections_per_port",
        integer(1, 1_000_000),
        "256",
        "Connections to one port. Where a bound is reached, a client that has long sent nothing makes room for a new one.",
    ),
    setting("viewer", "enabled", SettingType::Boolean, "true", "Whether the viewer's page is served."),
    setting(
        "viewer",
        "port",
        integer(0, 65_535),
        "6580",
        "Port of the viewer's page; 0 is any free one, which is also taken where this one is not free.",
    ),
    setting("realtime", "priority", integer(0, 99), "80", "SCHED_FIFO priority while steps have deadlines; 0 is none."),
    setting(
        "realtime",
        "fast_niceness",
        integer(0, 19),
        "10",
        "How much nicer than it was started the process is in fast mode, so that it yields to what people do beside it; 0 is not.",
    ),
    setting(
        "realtime",
        "lock_memory",
        SettingType::Boolean,
        "true",
        "Whether to ask for memory that is never swapped out.",
    ),
];
