//! Recording of a drive as a sequence file (`simpartner schema reference`): pauses in simulated time put every command
//! into the step in which it acted.
//!
//! The sequence counts from step 0 of the world, so it replays to the same bits in a fresh world, if no other client
//! has commanded the robot. The file is complete after every command, so that a killed client leaves a valid recording.

use std::{
    fs::{File, OpenOptions},
    io::{Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use simpartner_wire::{
    protocol,
    signal::{StepIndex, Timestep},
};

/// The most commands and pauses a recording takes: a sequence may have a million.
const MAX_ITEMS: u64 = 999_000;
const SEQUENCE_END: &str = "</sequence>\n";

/// A command that took effect.
#[derive(Debug, Clone, PartialEq)]
pub struct Acted {
    /// The first step in which it acted.
    pub step: StepIndex,
    /// The device's port in the model.
    pub port: u16,
    /// The command.
    pub frame: Vec<f64>,
}

/// A sequence file that is being written.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    file: File,
    timestep: Timestep,
    /// Steps that the pauses written so far add up to.
    paused_steps: u64,
    items: u64,
    /// Commands written.
    pub commands: u64,
}

impl Recording {
    /// Begins a new file.
    ///
    /// # Errors
    /// When there is a file of that name already, or it cannot be written.
    pub fn create(path: &Path, timestep: Timestep) -> Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        let mut file = file.with_context(|| format!("cannot begin the recording {}", path.display()))?;
        let head = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE sequence SYSTEM \"sequence.dtd\">\n<!--\n  Driven by \
             gamepad. The first pause counts from step 0 of a fresh world; with steps of {} s this replays to the same bits.\n\
             -->\n<sequence version=\"1\">\n",
            timestep.seconds()
        );
        file.write_all(format!("{head}{SEQUENCE_END}").as_bytes()).with_context(|| cannot_write(path))?;
        Ok(Self { path: path.to_owned(), file, timestep, paused_steps: 0, items: 0, commands: 0 })
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds commands, in the order in which they acted.
    ///
    /// # Errors
    /// The file cannot be written, or has reached the length limit of sequences; it then ends with the commands before.
    pub fn add(&mut self, commands: &[Acted]) -> Result<()> {
        let mut text = String::new();
        for command in commands {
            // A command before any step acts in the first one.
            self.pause_until(command.step.0.saturating_sub(1), &mut text);
            let frame = protocol::frame(&command.frame);
            let frame = frame.trim_start_matches('<').trim_end_matches('>');
            text.push_str(&item(frame, command.port));
        }
        let items = self.items + text.lines().count() as u64;
        ensure!(
            items <= MAX_ITEMS,
            "the recording {} is as long as a sequence may be and ends here",
            self.path.display()
        );
        self.items = items;
        self.commands += commands.len() as u64;
        self.append(&text)
    }

    /// Ends it with the last step that was driven.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self, last: StepIndex) -> Result<()> {
        let mut text = String::new();
        self.pause_until(last.0, &mut text);
        self.append(&text)
    }

    fn pause_until(&mut self, steps: u64, text: &mut String) {
        let pause = steps.saturating_sub(self.paused_steps);
        if pause > 0 {
            text.push_str(&item(&seconds(pause * self.timestep.nanoseconds()), 0));
            self.paused_steps = steps;
        }
    }

    /// Puts text before the closing tag, which moves.
    fn append(&mut self, text: &str) -> Result<()> {
        let mut write = || {
            self.file.seek(SeekFrom::End(-(SEQUENCE_END.len() as i64)))?;
            self.file.write_all(format!("{text}{SEQUENCE_END}").as_bytes())
        };
        write().with_context(|| cannot_write(&self.path))
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write the recording {}", path.display())
}

fn item(text: &str, port: u16) -> String {
    format!("  <command><commandString>{text}</commandString><port>{port}</port></command>\n")
}

/// Seconds as an exact decimal.
fn seconds(nanoseconds: u64) -> String {
    let text = format!("{}.{:09}", nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use simpartner_description::xml;

    fn acted(step: u64, port: u16, value: f64) -> Acted {
        Acted { step: StepIndex(step), port, frame: vec![1000.0, value] }
    }

    #[test]
    fn every_command_comes_back_in_the_step_it_acted_in() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("drive.xml");
        for timestep in [1e-3, 3e-4, 0.0123].map(|seconds| Timestep::from_seconds(seconds).unwrap()) {
            let mut recording = Recording::create(&path, timestep).unwrap();
            let steps = [1, 1, 7, 8, 100_003, 100_004, 86_400_001];
            for pair in steps.chunks(2) {
                let commands: Vec<Acted> = pair.iter().map(|&step| acted(step, 1027, step as f64 / 3.0)).collect();
                recording.add(&commands).unwrap();
                xml::read_sequence(&path).expect("it is whole at any time");
            }
            recording.finish(StepIndex(86_400_007)).unwrap();
            let timeline = xml::read_sequence(&path).unwrap().timeline(timestep);
            let back: Vec<u64> = timeline.commands().map(|command| command.after_steps + 1).collect();
            assert_eq!((back.as_slice(), timeline.steps), (steps.as_slice(), 86_400_007));
            assert_eq!(*timeline.sections[0].commands[2].text, *format!("1000,{}", 7.0 / 3.0));
            std::fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn a_file_that_is_there_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("drive.xml");
        std::fs::write(&path, "precious").unwrap();
        let refused = format!("{:#}", Recording::create(&path, Timestep::MILLISECOND).unwrap_err());
        assert!(refused.contains("cannot begin the recording") && refused.contains("exists"), "{refused}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    }

    #[test]
    fn seconds_are_exact_decimals() {
        assert_eq!([1, 1_000_000, 2_000_000_000, 1_500_000_000].map(seconds), ["0.000000001", "0.001", "2", "1.5"]);
    }
}
