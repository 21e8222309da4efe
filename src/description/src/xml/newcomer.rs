//! Robots that come to a running world.

use bevy_math::{DQuat, DVec3};
use simpartner_model::Pose;
use simpartner_wire::protocol::{Spawn, SpawnSource};

/// A robot to be added to a world.
#[derive(Debug, Clone)]
pub struct Newcomer<'a> {
    /// Its name; `None` for the name of its model.
    pub name: Option<&'a str>,
    /// True to number its name if a robot or an object has it already.
    pub may_rename: bool,
    /// Its source.
    pub file: NewcomerFile<'a>,
    /// `world_from_robot`.
    pub pose: Pose,
    /// True to fix the root of an imported robot that could move.
    pub fixed_base: bool,
    /// Offset of its ports.
    pub port_offset: PortOffset,
}

/// Source of a newcomer.
#[derive(Debug, Clone, Copy)]
pub enum NewcomerFile<'a> {
    /// A file beside the world, in `robots` beside its folder, or built in, by its relative name.
    Named(&'a str),
    /// The text of such a file. Those that it names have to be there, too.
    Text(&'a str),
}

/// Offset of the ports of a newcomer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortOffset {
    /// The first multiple of 100 with which no port is taken.
    Free,
    /// A given offset.
    By(i64),
}

impl<'a> Newcomer<'a> {
    /// The robot that a client asks for.
    pub fn of_spawn(spawn: &'a Spawn) -> Self {
        let placement = &spawn.placement;
        Self {
            name: spawn.name.as_deref(),
            may_rename: spawn.may_rename,
            file: match &spawn.source {
                SpawnSource::File(file) => NewcomerFile::Named(file),
                SpawnSource::Text(text) => NewcomerFile::Text(text),
            },
            pose: Pose {
                translation: placement.position.map_or(DVec3::ZERO, DVec3::from_array),
                rotation: placement.orientation.map_or(DQuat::IDENTITY, DQuat::from_array),
            },
            fixed_base: spawn.fixed_base,
            port_offset: spawn.port_offset.map_or(PortOffset::Free, PortOffset::By),
        }
    }
}
