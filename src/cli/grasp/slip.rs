//! `simpartner grasp slip`: what becomes of the object once it is let go.

use clap::Args;
use serde_json::json;
use simpartner_grasp::slip::{Outcome, SlipOptions, slip};
use simpartner_terminal::output::{Rounded, line};

use super::{
    super::exit::{CliError, ExitStatus},
    Input, refuse, shown,
};

#[derive(Debug, Args)]
pub(in crate::cli) struct SlipArguments {
    #[command(flatten)]
    input: Input,
    /// Timestep, from 1e-5 s to 0.01 s
    #[arg(long, value_name = "SECONDS", default_value_t = SlipOptions::default().timestep, value_parser = timestep)]
    timestep: f64,
    /// Simulated time after which there is no verdict, up to 1000 s
    #[arg(long, value_name = "SECONDS", default_value_t = SlipOptions::default().duration, value_parser = duration)]
    duration: f64,
    /// Print JSON, with the way of the centre of mass
    #[arg(long)]
    json: bool,
}

fn timestep(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|value| (1e-5..=0.01).contains(value)).ok_or("expected seconds from 1e-5 to 0.01".into())
}

fn duration(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|value| *value > 0.0 && *value <= 1000.0)
        .ok_or("expected seconds above 0 and at most 1000".into())
}

pub(super) fn slip_of(arguments: &SlipArguments) -> Result<ExitStatus, CliError> {
    let grasp = arguments.input.grasp()?;
    let options = SlipOptions { timestep: arguments.timestep, duration: arguments.duration };
    let found = slip(&grasp, &options).map_err(refuse)?;
    let name = |contact: usize| &grasp.contacts[contact].name;
    let (word, sentence) = match found.outcome {
        Outcome::Holds => ("holds", "it holds, and never moves".to_owned()),
        Outcome::Rests => ("rests", "it slips, and comes to rest".to_owned()),
        Outcome::Misses(contact) => {
            ("fails", format!("it fails: the line of force of '{}' misses the object", name(contact)))
        }
        Outcome::OutOfRange(contact) => ("fails", format!("it fails: '{}' is beyond its patch", name(contact))),
        Outcome::TimeOut => ("undecided", "it still moves".to_owned()),
    };
    if arguments.json {
        let way = found.trace.iter().map(|(time, place)| json!([time, place.x, place.y, place.z]));
        let report = json!({
            "file": arguments.input.shown(),
            "name": grasp.name,
            "verdict": word,
            "reason": sentence,
            "time_s": found.time,
            "path_m": found.path,
            "pose": found.pose.to_array(),
            "centre_of_mass": way.collect::<Vec<_>>(),
        });
        line(format_args!("{report:#}"));
        return Ok(ExitStatus::Success);
    }
    line(format_args!("{}: {sentence}", arguments.input.shown()));
    let (time, path) = (Rounded(found.time), Rounded(found.path));
    line(format_args!("  after {time} s, its centre of mass has gone {path} m"));
    let rpy = shown(found.pose.roll_pitch_yaw());
    line(format_args!("  the object is at {} m, roll, pitch, yaw {rpy} rad", shown(found.pose.translation)));
    Ok(ExitStatus::Success)
}
