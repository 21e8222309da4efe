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
    /// Tell whether a grasp is in equilibrium, with the forces, or with a proof that there are none.
    Check(check::CheckArguments),
    /// Tilt gravity in all directions, and tell how far a grasp holds.
    Chart(chart::ChartArguments),
    /// Measure the grasp wrench space.
    Quality(quality::QualityArguments),
    /// Let the object go, the fingers held still, and tell what becomes of it.
    Slip(slip::SlipArguments),
    /// Let a gripper grasp and lift an object in the engine, again and again at other poses.
    Run(run::RunArguments),
    /// Tell which measure of quality says whether the lifts of a batch succeed.
    Correlate(correlate::CorrelateArguments),
    /// Show a grasp in the browser: contacts, friction cones, forces, and what breaks it, for each tilt of gravity.
    Show(show::ShowArguments),
    /// Turn an object and a contact file of 1994 (Harker) into a grasp file.
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
