//! The table of all settings, from which parsing, names of environment variables and `properties.toml` are derived.

pub(super) use super::setting_type::{RawValue, SettingType, SettingValue};

/// A setting.
#[derive(Debug)]
pub(super) struct Setting {
    pub(super) section: &'static str,
    pub(super) key: &'static str,
    pub(super) setting_type: SettingType,
    /// Default value, as it would be written on the command line.
    pub(super) default: &'static str,
    pub(super) doc: &'static str,
}

impl Setting {
    /// Path of the setting, `section.key`.
    pub(super) fn path(&self) -> String {
        format!("{}.{}", self.section, self.key)
    }

    /// Name of the setting's environment variable.
    pub(super) fn variable(&self) -> String {
        format!("{VARIABLE_PREFIX}{}_{}", self.section, self.key).to_uppercase()
    }
}

/// Prefix of all environment variables.
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

/// All settings, in the order of the file: section by section.
pub(super) const SETTINGS: &[Setting] = &[
    setting(
        "simulation",
        "world_file",
        SettingType::File,
        "worlds/flat.xml",
        "File of the world, or of a robot (own format, URDF, MJCF or SDF). A robot then stands on level ground.",
    ),
    setting(
        "simulation",
        "fixed_base",
        SettingType::Boolean,
        "false",
        "Fixes the root of an imported robot to the ground; only for a robot file in place of a world.",
    ),
    setting(
        "simulation",
        "mode",
        SettingType::Word(&["realtime", "fast", "lockstep"]),
        "realtime",
        "Mode of the clock. realtime: each step has a deadline. fast: each step follows the previous one at once. \
         lockstep: each step waits until all members have answered.",
    ),
    setting(
        "simulation",
        "rate",
        real(0.001, 1000.0),
        "1.0",
        "Simulated seconds per wall second, in the mode realtime.",
    ),
    setting("simulation", "timestep_s", SettingType::Timestep, "0.001", "Timestep, in seconds."),
    setting(
        "simulation",
        "duration_s",
        real(0.0, 1e9),
        "0.0",
        "Simulated time after which the run ends, in seconds; 0 is no end.",
    ),
    setting(
        "simulation",
        "seed",
        integer(0, i64::MAX),
        "0",
        "Seed of all random streams, for noise and for faults. Each device has a stream of its own, which follows from \
         the seed, the name of its robot and its own name.",
    ),
    setting(
        "simulation",
        "start_paused",
        SettingType::Boolean,
        "false",
        "Starts with a paused clock, which waits for PLAY on the control port.",
    ),
    setting(
        "simulation",
        "max_catchup_steps",
        integer(1, 1_000_000),
        "50",
        "Largest backlog of the clock in realtime, in steps. With a larger one the clock is overrun.",
    ),
    setting(
        "simulation",
        "on_overrun",
        SettingType::Word(&["slip", "stop"]),
        "slip",
        "Reaction to an overrun clock. slip: it gives up the lost time and logs an event. stop: the run ends.",
    ),
    setting(
        "lockstep",
        "members",
        SettingType::Names,
        "",
        "Members that the clock waits for in lockstep: robot/device is a device's port, a robot's name is its combined \
         port. An empty list means the combined ports of all robots.",
    ),
    setting("lockstep", "timeout_s", real(0.001, 1e6), "1.0", "Wall time in which a member has to answer, in seconds."),
    setting(
        "lockstep",
        "on_timeout",
        SettingType::Word(&["hold", "pause", "fail"]),
        "hold",
        "Reaction to a member that did not answer in time, after an event. hold: the clock keeps waiting. pause: it \
         pauses. fail: the run ends.",
    ),
    setting(
        "physics",
        "engine",
        SettingType::Word(&["dynamics", "rapier"]),
        "dynamics",
        "Physics engine. dynamics is SimPartner's own engine, rapier is Dimforge's.",
    ),
    setting("physics", "substeps", integer(1, 1000), "1", "Number of solver substeps in a step."),
    setting(
        "physics",
        "contact_max_correcting_velocity_m_per_s",
        real(0.0, 1000.0),
        "3.0",
        "Largest speed at which overlapping bodies are pushed apart, in m/s.",
    ),
    setting(
        "physics",
        "auto_disable",
        SettingType::Boolean,
        "false",
        "Lets objects at rest sleep until something touches them. Robots never sleep.",
    ),
    setting(
        "dynamics",
        "integrator",
        SettingType::Word(&["gauss", "midpoint"]),
        "gauss",
        "Integrator of linkages without contacts and without motors: gauss is of fourth order, midpoint of second \
         order.",
    ),
    setting(
        "dynamics",
        "impact_law",
        SettingType::Word(&["sequential", "newton"]),
        "sequential",
        "Law of simultaneous impacts. sequential passes a shock on from pair to pair, newton solves all pairs at once.",
    ),
    setting(
        "dynamics",
        "max_sweeps",
        integer(1, 100_000),
        "6000",
        "Work budget of a step, in sweeps over the constraints, substeps and repetitions included. The solver stops \
         earlier when the constraints are solved.",
    ),
    setting(
        "dynamics",
        "contact_surface_layer_m",
        real(0.0, 1.0),
        "0.000001",
        "Depth of overlap up to which bodies are not pushed apart, in m.",
    ),
    setting(
        "dynamics",
        "threads",
        integer(1, 256),
        "1",
        "Number of threads of the engine, for worlds of many robots. It does not change the results.",
    ),
    setting(
        "dynamics",
        "turn_per_substep_rad",
        real(0.001, 10.0),
        "0.05",
        "Angle that a joint should turn in a substep at most, in rad. A step is divided if a joint turns by more than \
         twice this angle. Linkages in free motion may turn twice as far.",
    ),
    setting(
        "dynamics",
        "max_speed_m_per_s",
        real(0.0, 1e5),
        "1000.0",
        "Speed of a body above which an event is logged, in m/s.",
    ),
    setting(
        "dynamics",
        "max_penetration_m",
        real(0.0, 1e3),
        "0.01",
        "Overlap of rigid bodies above which an event is logged, in m.",
    ),
    setting(
        "dynamics",
        "max_joint_error_m",
        real(0.0, 1e3),
        "0.001",
        "Opening of a loop-closing joint above which an event is logged, in m.",
    ),
    setting(
        "dynamics",
        "max_energy_gain_j",
        real(0.0, 1e9),
        "1.0",
        "Energy that the world gains in a step beyond the work of its motors, above which an event is logged, in J.",
    ),
    setting(
        "rapier",
        "solver_iterations",
        integer(1, 1000),
        "50",
        "Number of sweeps over all constraints in a substep. Stiff motors need tens of sweeps.",
    ),
    setting(
        "rapier",
        "contact_frequency_hz",
        real(0.1, 10_000.0),
        "30.0",
        "Stiffness of contacts, as the natural frequency of the spring that pushes overlapping bodies apart, in Hz.",
    ),
    setting(
        "rapier",
        "contact_damping_ratio",
        real(0.0, 1000.0),
        "10.0",
        "Damping ratio of this spring; with 1 or more it does not oscillate.",
    ),
    setting(
        "rapier",
        "contact_surface_layer_m",
        real(0.0, 1.0),
        "0.005",
        "Depth of overlap up to which bodies are not pushed apart, in m.",
    ),
    setting("log", "enabled", SettingType::Boolean, "true", "Logs the run."),
    setting(
        "log",
        "database",
        SettingType::Database,
        "sqlite:simpartner.db",
        "Address of the database: sqlite:FILE, which is created if missing, postgres://USER@HOST/DATABASE, or \
         mysql://USER@HOST/DATABASE (MySQL or MariaDB).",
    ),
    setting(
        "log",
        "detail",
        SettingType::Word(&["economical", "full"]),
        "economical",
        "Detail of the log. full: all rows of every step. economical, for runs of days: no rows of a robot or object \
         at rest, and thinned steps after log.thin_after_s. With either, hashes cover every step, and a run can be \
         replayed.",
    ),
    setting(
        "log",
        "contacts",
        SettingType::Boolean,
        "false",
        "Logs points of contact: those 128 of a logged step that have the largest forces.",
    ),
    setting(
        "log",
        "images",
        SettingType::Word(&["none", "hash"]),
        "none",
        "hash: the log has the hash of each image of a camera that a client is sent, and `replay` compares it.",
    ),
    setting(
        "log",
        "thin_after_s",
        real(0.0, 1e9),
        "300.0",
        "Simulated time after which an economical log is thinned to one step in log.thin_to_every_n_steps, in seconds. \
         The time counts from the start of the server, across resets. Contact forces of the steps between are kept as \
         mean and maximum. Commands and events are always logged.",
    ),
    setting(
        "log",
        "thin_to_every_n_steps",
        integer(1, 1_000_000_000),
        "100",
        "Logging interval of a thinned log, in steps, rounded up to a multiple of log.every_n_steps.",
    ),
    setting(
        "log",
        "every_n_steps",
        integer(1, 1_000_000_000),
        "1",
        "Logging interval, in steps, from the first step on. Commands and events are always logged.",
    ),
    setting(
        "log",
        "bodies",
        SettingType::Names,
        "*",
        "Bodies whose state is logged, as robot/body, or as the name of an object. * stands for any part of a name.",
    ),
    setting(
        "log",
        "joints",
        SettingType::Names,
        "*",
        "Joints whose state is logged, as robot/joint. * stands for any part of a name.",
    ),
    setting(
        "log",
        "devices",
        SettingType::Names,
        "*",
        "Sensors whose readings are logged, as robot/device. * stands for any part of a name. Commands are always \
         logged.",
    ),
    setting(
        "log",
        "on_change",
        SettingType::Boolean,
        "false",
        "Writes a row of a body, joint or sensor only if it differs from the previous row. Every 1000th logged step \
         has all rows.",
    ),
    setting(
        "log",
        "change_tolerance",
        real(0.0, 1e9),
        "0.0",
        "Tolerance of log.on_change: a row differs if one of its numbers differs by more than this, in the unit of the \
         number.",
    ),
    setting(
        "log",
        "limit_mb",
        integer(1, 1_000_000_000),
        "10240",
        "Largest growth of the database in a run, in MB of 10^6 bytes, so that an unattended server does not fill the \
         disk.",
    ),
    setting(
        "log",
        "when_full",
        SettingType::Word(&["end_log", "end_run"]),
        "end_log",
        "Reaction to this limit. end_log: the log ends and the simulation continues. end_run: both end.",
    ),
    setting(
        "log",
        "snapshot_interval_s",
        real(0.0, 1e9),
        "10.0",
        "Interval of snapshots, in simulated seconds; 0 takes none. A fork starts from a snapshot in place of the \
         beginning of the run.",
    ),
    setting(
        "log",
        "start_without_database",
        SettingType::Boolean,
        "false",
        "Lets a run begin while its database cannot be reached. Its log then waits in the spill file.",
    ),
    setting(
        "log",
        "spill_folder",
        SettingType::File,
        ".",
        "Folder of the spill file, which takes the rows that the database does not accept in time. On another disk \
         than that of an SQLite file it also takes rows when the disk of the SQLite file is full.",
    ),
    setting(
        "log",
        "spill_limit_mb",
        integer(1, 1_000_000_000),
        "10240",
        "Largest size of the spill file, in MB of 10^6 bytes. At this size the run ends.",
    ),
    setting(
        "log",
        "drain_s",
        real(0.0, 1e6),
        "30.0",
        "Wall time to wait for a database that accepts nothing, in seconds: at the end of a run, and in the modes fast \
         and lockstep before rows go into the spill file.",
    ),
    setting(
        "server",
        "bind",
        SettingType::Address,
        "127.0.0.1",
        "IP address on which all ports listen. 127.0.0.1 is this machine only, 0.0.0.0 opens the ports to the network.",
    ),
    setting("server", "control_port", integer(0, 65_535), "6500", "Port of the control protocol; 0 is any free port."),
    setting(
        "server",
        "port_offset",
        integer(-64_510, 64_510),
        "0",
        "Number that is added to every port of models and settings, so that several servers of one world can run side \
         by side.",
    ),
    setting(
        "server",
        "free_ports",
        SettingType::Boolean,
        "false",
        "Gives every device and service any free port, in place of the ports of models and settings. Clients find the \
         ports by the control port or by server.ports_file.",
    ),
    setting(
        "server",
        "ports_file",
        SettingType::OptionalFile,
        "",
        "JSON file that lists all ports while the server runs; empty writes none.",
    ),
    setting("server", "token", SettingType::Secret, "", "Token that a client must send first; empty requires none."),
    setting(
        "server",
        "spawn",
        SettingType::Word(&["local", "always", "never"]),
        "local",
        "Permission of clients to add and remove robots (SPAWN, REMOVE). local grants it if server.bind is a loopback \
         address, so on this machine only.",
    ),
    setting(
        "server",
        "connections",
        integer(1, 1_000_000),
        "4096",
        "Largest number of connections in all, with those of the viewer's page; fewer if the operating system allows \
         the process fewer open files.",
    ),
    setting(
        "server",
        "connections_per_port",
        integer(1, 1_000_000),
        "256",
        "Largest number of connections to one port. At a limit, a new client replaces one that has sent nothing for \
         long.",
    ),
    setting("viewer", "enabled", SettingType::Boolean, "true", "Serves the viewer's page."),
    setting(
        "viewer",
        "port",
        integer(0, 65_535),
        "6580",
        "Port of the viewer's page; 0 is any free port. If the port is taken, the page gets any free one.",
    ),
    setting(
        "realtime",
        "priority",
        integer(0, 99),
        "80",
        "SCHED_FIFO priority of the physics thread while steps have deadlines; 0 asks for none.",
    ),
    setting(
        "realtime",
        "fast_niceness",
        integer(0, 19),
        "10",
        "Increase of the niceness of the process in the mode fast, so that it yields to other programs; 0 changes \
         nothing.",
    ),
    setting(
        "realtime",
        "lock_memory",
        SettingType::Boolean,
        "true",
        "Asks the operating system to keep the memory of the process from being swapped out.",
    ),
];
