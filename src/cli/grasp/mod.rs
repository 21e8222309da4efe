//! `simpartner grasp`: the laboratory of grasps.

mod chart;
mod check;
mod correlate;
mod import;
mod input;
mod keep;
mod log;
mod quality;
mod run;
mod show;
mod slip;

use clap::Subcommand;

use super::exit::{CliError, ExitStatus};

#[derive(Debug, Subcommand)]
pub(super) enum GraspVerb {
    /// Compute whether a grasp can be in equilibrium, and print contact forces or a proof that there are none.
    Check(check::CheckArguments),
    /// Compute how far gravity can be tilted before a grasp fails, for all directions of tilt.
    Chart(chart::ChartArguments),
    /// Compute quality measures of the grasp wrench space, with lower and upper bounds.
    Quality(quality::QualityArguments),
    /// Simulate the object between fingers that do not move, and report whether it stays, slips or falls.
    Slip(slip::SlipArguments),
    /// Simulate grasp tasks: a gripper grasps and lifts an object, once for each target pose.
    Run(run::RunArguments),
    /// Correlate quality measures with the success of the lifts of `grasp run`.
    Correlate(correlate::CorrelateArguments),
    /// Show a grasp in the browser: contacts, friction cones, forces, and the load that breaks it, for each tilt of
    /// gravity.
    Show(show::ShowArguments),
    /// Convert an object file and a contact file in the format of Harker (1994) to a grasp file.
    Import(import::ImportArguments),
}

pub(super) fn grasp(verb: &GraspVerb) -> Result<ExitStatus, CliError> {
    match verb {
        GraspVerb::Check(arguments) => check::check(arguments),
        GraspVerb::Chart(arguments) => chart::chart(arguments),
        GraspVerb::Quality(arguments) => quality::quality(arguments),
        GraspVerb::Slip(arguments) => slip::slip_of(arguments),
        GraspVerb::Run(arguments) => run::run(arguments),
        GraspVerb::Correlate(arguments) => correlate::correlate(arguments),
        GraspVerb::Show(arguments) => show::show(arguments),
        GraspVerb::Import(arguments) => import::import(arguments),
    }
}
