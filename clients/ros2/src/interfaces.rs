//! The messages of `simulation_interfaces` 2.1, field by field as the package defines them.

use ros2_client::Message;
use serde::{Deserialize, Serialize};

use crate::messages::{Accel, Header, Pose, PoseStamped, Twist};

/// The package.
pub const PACKAGE: &str = "simulation_interfaces";

macro_rules! interfaces {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* $(,)? })*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
            #[expect(missing_docs, reason = "the fields are those of the package, which documents them")]
            pub struct $name { $(pub $field: $type,)* }
            impl Message for $name {}
        )*
    };
}

interfaces! {
    /// Result code of a request; see [`result`].
    Outcome { result: u8, error_message: String }
    /// Feature code of a simulator; see [`feature`].
    SimulatorFeatures { features: Vec<u16>, spawn_formats: Vec<String>, custom_info: String }
    /// Category code of an entity; see [`category`].
    EntityCategory { category: u8 }
    /// Tags that an entity has to have.
    TagsFilter { tags: Vec<String>, filter_mode: u8 }
    /// A part of space.
    Bounds { kind: u8, points: Vec<crate::messages::Vector3> }
    /// Which entities are meant.
    EntityFilters { filter: String, categories: Vec<EntityCategory>, tags: TagsFilter, bounds: Bounds }
    /// Category of an entity.
    EntityInfo { category: EntityCategory, description: String, tags: Vec<String> }
    /// Pose and motion of an entity.
    EntityState { header: Header, pose: Pose, twist: Twist, acceleration: Accel }
    /// A file, or its text.
    Resource { uri: String, resource_string: String }
    /// A world.
    WorldResource { name: String, world_resource: Resource, description: String, tags: Vec<String> }
    /// A request about an entity.
    EntityRequest { entity: String }
    /// A request about entities.
    EntitiesRequest { filters: EntityFilters }
    /// `SetEntityState`
    SetEntityState {
        entity: String, state: EntityState, set_pose: bool, set_twist: bool, set_acceleration: bool,
    }
    /// `SetSimulationState`
    SetState { state: u8 }
    /// `StepSimulation`, and the goal of `SimulateSteps`.
    Steps { steps: u64 }
    /// The feedback of `SimulateSteps`.
    StepsFeedback { completed_steps: u64, remaining_steps: u64 }
    /// `ResetSimulation`
    Scope { scope: u8 }
    /// An answer with the outcome only, or with empty further fields.
    OnlyOutcome { result: Outcome }
    /// The answer to `GetSimulatorFeatures`.
    Features { features: SimulatorFeatures }
    /// The answer to `GetSimulationState`.
    State { state: u8, result: Outcome }
    /// The answer to `GetEntities`.
    Entities { result: Outcome, entities: Vec<String> }
    /// The answer to `GetEntityState`.
    EntityStateResponse { result: Outcome, state: EntityState }
    /// The answer to `GetEntitiesStates`.
    EntitiesStates { result: Outcome, entities: Vec<String>, states: Vec<EntityState> }
    /// The answer to `GetEntityInfo`.
    EntityInfoResponse { result: Outcome, info: EntityInfo }
    /// The answer to `GetCurrentWorld`.
    World { result: Outcome, world: WorldResource }
    /// `SpawnEntity`
    Spawn {
        name: String, allow_renaming: bool, entity_resource: Resource, entity_namespace: String, initial_pose: PoseStamped,
    }
    /// `SpawnEntities`
    SpawnAll { spawn_requests: Vec<Spawn> }
    /// The answer to `SpawnEntity`.
    Spawned { result: Outcome, entity_name: String }
    /// The answer to `SpawnEntities`.
    AllSpawned { result: Outcome, results: Vec<Spawned> }
    /// Something that can be spawned.
    Spawnable { entity_resource: Resource, description: String, spawn_bounds: Bounds }
    /// The answer to `GetSpawnables`.
    Spawnables { result: Outcome, spawnables: Vec<Spawnable> }
    /// An answer with a list after the outcome.
    List { result: Outcome, list: Vec<String> }
    /// An answer with bounds after the outcome.
    BoundsResponse { result: Outcome, bounds: Bounds }
}

/// A request without relevant fields. On the wire it may have any fields.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AnyRequest {}

impl Message for AnyRequest {}

/// `Result`
pub mod result {
    #![expect(missing_docs, reason = "the package documents them")]
    pub const FEATURE_UNSUPPORTED: u8 = 0;
    pub const OK: u8 = 1;
    pub const NOT_FOUND: u8 = 2;
    pub const INCORRECT_STATE: u8 = 3;
    pub const OPERATION_FAILED: u8 = 4;
    /// `SetEntityState` alone.
    pub const INVALID_STATE_POSE: u8 = 101;
    /// `SpawnEntity` alone, and so all that follow.
    pub const NAME_NOT_UNIQUE: u8 = 101;
    pub const NAME_INVALID: u8 = 102;
    pub const NO_RESOURCE: u8 = 104;
    pub const NAMESPACE_INVALID: u8 = 105;
    pub const RESOURCE_PARSE_ERROR: u8 = 106;
    pub const INVALID_POSE: u8 = 109;
    /// `SpawnEntities` alone.
    pub const ENTITIES_SPAWN_FAILED: u8 = 150;
    /// `SetSimulationState` alone.
    pub const ALREADY_IN_TARGET_STATE: u8 = 101;
    /// `SetSimulationState` alone.
    pub const INCORRECT_TRANSITION: u8 = 103;
}

/// `SimulationState`
pub mod state {
    #![expect(missing_docs, reason = "the package documents them")]
    pub const STOPPED: u8 = 0;
    pub const PLAYING: u8 = 1;
    pub const PAUSED: u8 = 2;
    pub const QUITTING: u8 = 3;
}

/// `EntityCategory`
pub mod category {
    #![expect(missing_docs, reason = "the package documents them")]
    pub const ROBOT: u8 = 1;
    pub const DYNAMIC_OBJECT: u8 = 4;
    pub const STATIC_OBJECT: u8 = 5;
}

/// `SimulatorFeatures`: the features of this bridge.
pub mod feature {
    #![expect(missing_docs, reason = "the package documents them")]
    pub const SPAWNING: u16 = 0;
    pub const DELETING: u16 = 1;
    pub const ENTITY_CATEGORIES: u16 = 8;
    pub const SPAWNING_RESOURCE_STRING: u16 = 9;
    pub const ENTITY_STATE_GETTING: u16 = 10;
    pub const ENTITY_STATE_SETTING: u16 = 11;
    pub const ENTITY_INFO_GETTING: u16 = 12;
    pub const SPAWNABLES: u16 = 14;
    pub const SIMULATION_RESET: u16 = 20;
    pub const SIMULATION_RESET_TIME: u16 = 21;
    pub const SIMULATION_RESET_STATE: u16 = 22;
    pub const SIMULATION_RESET_SPAWNED: u16 = 23;
    pub const SIMULATION_STATE_GETTING: u16 = 24;
    pub const SIMULATION_STATE_SETTING: u16 = 25;
    pub const SIMULATION_STATE_PAUSE: u16 = 26;
    pub const STEP_SIMULATION_SINGLE: u16 = 31;
    pub const STEP_SIMULATION_MULTIPLE: u16 = 32;
    pub const STEP_SIMULATION_ACTION: u16 = 33;
    pub const WORLD_INFO_GETTING: u16 = 44;
    pub const SPAWNING_ENTITIES: u16 = 50;
    /// Features of a server that can spawn robots.
    pub const OF_SPAWNING: [u16; 6] =
        [SPAWNING, DELETING, SPAWNING_RESOURCE_STRING, SPAWNABLES, SIMULATION_RESET_SPAWNED, SPAWNING_ENTITIES];
    /// Features of every server.
    pub const SUPPORTED: [u16; 14] = [
        ENTITY_CATEGORIES,
        ENTITY_STATE_GETTING,
        ENTITY_STATE_SETTING,
        ENTITY_INFO_GETTING,
        SIMULATION_RESET,
        SIMULATION_RESET_TIME,
        SIMULATION_RESET_STATE,
        SIMULATION_STATE_GETTING,
        SIMULATION_STATE_SETTING,
        SIMULATION_STATE_PAUSE,
        STEP_SIMULATION_SINGLE,
        STEP_SIMULATION_MULTIPLE,
        STEP_SIMULATION_ACTION,
        WORLD_INFO_GETTING,
    ];
}

impl Outcome {
    /// Success.
    pub fn ok() -> Self {
        Self { result: result::OK, error_message: String::new() }
    }

    /// Failure, with a result code and a message.
    pub fn failed(result: u8, message: impl Into<String>) -> Self {
        Self { result, error_message: message.into() }
    }
}
