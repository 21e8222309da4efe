//! Blocks in a row between two jaws that press on them; friction alone holds them up.
//!
//! As published, cubes of 0.1 m and 1 kg touch each other and the jaws at the start. Each jaw is a box of 1 kg on a
//! slider along the row, and pushes with 100 N for each block. The published runs had mu = 100 and 1e8, a timestep of 1
//! ms, and took 100 s.
//!
//! Every block can stay in place: friction has to carry n m g at two faces, so mu >= m g/(2 x 100 N) = 0.049 suffices
//! for any number n. The weight bends the row with a moment of n² m g a/8, which the thrust n x 100 N carries within
//! faces of edge a up to n = 81.

use std::fmt::Write;

use serde::Serialize;
use simpartner_description::World;
use simpartner_dynamics::Settings;

use super::{BenchmarkError, Clock, Grip, Outcome};

/// Edge of a block, m.
pub const EDGE: f64 = 0.1;
/// Mass of a block and of a jaw, kg.
pub const MASS: f64 = 1.0;
/// Force of a jaw for each block, N.
pub const FORCE: f64 = 100.0;
/// Largest number of blocks of a published run.
pub const MOST: u32 = 11;

/// Height of the row's middle, m.
const ROW_HEIGHT: f64 = 0.5;
/// Distance of a jaw from the rest position of the spring that pushes it, m. It is so large that over 1 mm the force
/// changes by a millionth.
const SPRING_DISTANCE: f64 = 1000.0;

/// A case with a row of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Blocks {
    /// Number of blocks.
    pub blocks: u32,
    /// Coulomb's coefficient, of blocks and jaws.
    pub friction: f64,
}

/// Names of the jaws.
const JAW_NAMES: [&str; 2] = ["JawLeft", "JawRight"];

impl Blocks {
    /// Name of the case's world.
    pub fn name(&self) -> String {
        format!("blocks{:02}", self.blocks)
    }

    /// The XML text of the case's world.
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_world(&mut out);
        out
    }

    fn write_world(&self, out: &mut String) -> std::fmt::Result {
        let Self { blocks, friction } = *self;
        let middle = 0.5 * (f64::from(blocks) + 1.0) * EDGE;
        let body = |name: &str, z: f64, [x, y, depth]: [f64; 3]| {
            // Positions are multiples of half an edge, so this only removes rounding.
            let z = (z * 1e4).round() / 1e4 + 0.0;
            format!(
                "  <object name=\"{name}\"><mass>{MASS}</mass><pose y=\"{ROW_HEIGHT}\" z=\"{z}\"/>\
                 <box x=\"{x}\" y=\"{y}\" z=\"{depth}\"/><material friction=\"{friction}\"/></object>"
            )
        };
        writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE world SYSTEM \"../world.dtd\">")?;
        writeln!(
            out,
            "<!--\n  {blocks} of the benchmark's blocks between two jaws that push with {FORCE} N for each block; nothing but friction holds them up.\n  \
             A soft spring from {SPRING_DISTANCE} m away is a constant force. `simpartner benchmark grasp blocks` runs it and says how far they move.\n-->"
        )?;
        writeln!(out, "<world name=\"{}\">", self.name())?;
        for (jaw, side) in JAW_NAMES.into_iter().zip([-1.0, 1.0]) {
            writeln!(out, "{}", body(jaw, side * middle, [0.2, 0.2, 0.1]))?;
        }
        for index in 0..blocks {
            let z = (f64::from(index) - 0.5 * (f64::from(blocks) - 1.0)) * EDGE;
            writeln!(out, "{}", body(&format!("Block{}", index + 1), z, [EDGE; 3]))?;
        }
        for (jaw, side) in JAW_NAMES.into_iter().zip([-1.0, 1.0]) {
            let stiffness = FORCE * f64::from(blocks) / SPRING_DISTANCE;
            let rest = -side * SPRING_DISTANCE;
            writeln!(
                out,
                "  <joint type=\"slider\" name=\"{jaw}Slide\"><parent>world</parent><child>{jaw}</child><axis z=\"1\"/>\
                 <free stiffness=\"{stiffness}\" springPosition=\"{rest}\"/></joint>"
            )?;
        }
        writeln!(out, "</world>")
    }

    /// The case's world, read from its text.
    ///
    /// # Errors
    /// The reader refuses it, for example because of a coefficient below zero.
    pub fn world(&self) -> Result<World, BenchmarkError> {
        super::read_world(&self.text())
    }

    /// Simulates the case in our engine for this time, s.
    ///
    /// # Errors
    /// The engine refuses the world or the timestep.
    pub fn run(
        &self,
        timestep_s: f64,
        seconds: f64,
        settings: &Settings,
        clock: Clock,
    ) -> Result<Outcome, BenchmarkError> {
        let grip = Grip::new(&self.world()?, timestep_s, settings, is_jaw, is_block)?;
        Ok(grip.run(seconds, clock, &mut ()))
    }
}

pub(super) fn is_jaw(name: &str) -> bool {
    JAW_NAMES.contains(&name)
}

fn is_block(name: &str) -> bool {
    name.starts_with("Block")
}
