//! Blocks in a row between two jaws that press on them; friction alone holds them up.
//!
//! As published: cubes of 0.1 m and 1 kg touch each other and the jaws at the start; each jaw is a box of 1 kg on a slider along the row, and
//! pushes with 100 N for each block. Friction has to carry n m g at two faces, so mu >= m g/(2 x 100 N) = 0.049 suffices for any number. The
//! weight bends the row with n² m g a/8, which the thrust n x 100 N carries within faces of edge a up to n = 81. So every block can stay where it is. The published runs had mu = 100 and 1e8, a timestep of 1 ms, and took 100 s.

use std::fmt::Write;

use serde::Serialize;
use simpartner_description::World;
use simpartner_dynamics::Settings;

use super::{BenchmarkError, Clock, Grip, Outcome};

/// The edge of a block, m.
pub const EDGE: f64 = 0.1;
/// The mass of a block and of a jaw, kg.
pub const MASS: f64 = 1.0;
/// With how much a jaw pushes for each block, N.
pub const FORCE: f64 = 100.0;
/// The most blocks of a published run.
pub const MOST: u32 = 11;

/// How high the row is, m.
const HEIGHT: f64 = 0.5;
/// How far away the springs are at rest that push the jaws, m: over a way of 1 mm their force changes by a millionth.
const REST: f64 = 1000.0;

/// A row of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Blocks {
    /// How many.
    pub blocks: u32,
    /// Coulomb's coefficient, of blocks and jaws.
    pub friction: f64,
}

/// The names of the jaws.
const JAWS: [&str; 2] = ["JawLeft", "JawRight"];

impl Blocks {
    /// The name of its world.
    pub fn name(&self) -> String {
        format!("blocks{:02}", self.blocks)
    }

    /// Its world as a file.
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let Self { blocks, friction } = *self;
        let middle = 0.5 * (f64::from(blocks) + 1.0) * EDGE;
        let body = |name: &str, z: f64, [x, y, depth]: [f64; 3]| {
            // Halves of an edge are whole hundredths of a metre, however they were added up.
            let z = (z * 1e4).round() / 1e4 + 0.0;
            format!(
                "  <object name=\"{name}\"><mass>{MASS}</mass><pose y=\"{HEIGHT}\" z=\"{z}\"/>\
                 <box x=\"{x}\" y=\"{y}\" z=\"{depth}\"/><material friction=\"{friction}\"/></object>"
            )
        };
        writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE world SYSTEM \"../world.dtd\">")?;
        writeln!(
            out,
            "<!--\n  {blocks} of the benchmark's blocks between two jaws that push with {FORCE} N for each block; nothing but friction holds them up.\n  \
             A soft spring from {REST} m away is a constant force. `simpartner benchmark grasp blocks` runs it and says how far they move.\n-->"
        )?;
        writeln!(out, "<world name=\"{}\">", self.name())?;
        for (jaw, side) in JAWS.into_iter().zip([-1.0, 1.0]) {
            writeln!(out, "{}", body(jaw, side * middle, [0.2, 0.2, 0.1]))?;
        }
        for index in 0..blocks {
            let z = (f64::from(index) - 0.5 * (f64::from(blocks) - 1.0)) * EDGE;
            writeln!(out, "{}", body(&format!("Block{}", index + 1), z, [EDGE; 3]))?;
        }
        for (jaw, side) in JAWS.into_iter().zip([-1.0, 1.0]) {
            let stiffness = FORCE * f64::from(blocks) / REST;
            let rest = -side * REST;
            writeln!(
                out,
                "  <joint type=\"slider\" name=\"{jaw}Slide\"><parent>world</parent><child>{jaw}</child><axis z=\"1\"/>\
                 <free stiffness=\"{stiffness}\" springPosition=\"{rest}\"/></joint>"
            )?;
        }
        writeln!(out, "</world>")
    }

    /// The world.
    ///
    /// # Errors
    /// When the reader refuses it, such as for a coefficient below zero.
    pub fn world(&self) -> Result<World, BenchmarkError> {
        super::world(&self.text())
    }

    /// Lets so many seconds pass in our engine.
    ///
    /// # Errors
    /// When the engine refuses the world or the timestep.
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
    JAWS.contains(&name)
}

fn is_block(name: &str) -> bool {
    name.starts_with("Block")
}
