//! `simpartner grasp show`: a grasp in the browser, with contacts, friction cones, forces, and the disturbance that
//! breaks it.

use std::{fs, path::PathBuf};

use clap::Args;
use futures_util::StreamExt;
use simpartner_terminal::output::line;
use tokio::runtime;

use super::{
    super::{
        exit::{CliError, ExitStatus},
        format::ReportArguments,
        signals,
    },
    input::{Friction, Input, refuse},
};
use crate::{
    run::RunError,
    server::{GraspServer, grasp_page, grasp_scene},
};

#[derive(Debug, Args)]
pub(in crate::cli) struct ShowArguments {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    friction: Friction,
    /// Largest tilt of gravity, in degrees, above 0 and up to 180 [default: that of the file]
    #[arg(long, value_name = "DEGREES", value_parser = super::chart::parse_degrees)]
    tilt: Option<f64>,
    /// Port of 127.0.0.1 on which the page is served until Ctrl-C; 0 is any free port
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Write the page into this file, which needs no server, instead of serving it
    #[arg(short, long, value_name = "FILE.html", conflicts_with_all = ["port", "json"])]
    output: Option<PathBuf>,
    #[command(flatten)]
    report: ReportArguments,
}

pub(super) fn show(arguments: &ShowArguments) -> Result<ExitStatus, CliError> {
    let grasp = arguments.input.grasp()?;
    let tilt = arguments.tilt.map_or(grasp.tilt, f64::to_radians);
    let scene = grasp_scene(&grasp, arguments.friction.section(), tilt).map_err(refuse)?;
    if arguments.report.is_json() {
        line(format_args!("{scene:#}"));
        return Ok(ExitStatus::Success);
    }
    let page = grasp_page(&scene).ok_or_else(|| {
        CliError::Input(
            "this program was built without its page\nhelp: install Node 20 or newer and build it again after `touch src/server/build.rs`; --json prints \
             what the page would draw"
                .into(),
        )
    })?;
    if let Some(path) = &arguments.output {
        let write = fs::write(path, page);
        write.map_err(|error| CliError::Input(format!("cannot write '{}': {error}", path.display())))?;
        line(format_args!("{}: open it in a browser", path.display()));
        return Ok(ExitStatus::Success);
    }
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut signals = Box::pin(signals::termination());
        let stop = async move { signals.next().await.unwrap_or_default() };
        let server = GraspServer::bind(arguments.port).map_err(RunError::from)?;
        line(format_args!("http://{}/ shows {}; Ctrl-C ends it", server.address(), arguments.input.shown()));
        server.serve(page, stop).await.map_err(CliError::from)
    })?;
    Ok(ExitStatus::Success)
}
