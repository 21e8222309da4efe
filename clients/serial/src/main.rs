//! The `simpartner-serial` command: parses arguments, handles signals, prints events to standard error and the
//! round-trip times at the end.

use std::{process::ExitCode, time::Duration};

use anyhow::Result;
use clap::{ArgGroup, Parser};
use simpartner_serial::{
    bridge::{BridgeEvent, BridgeRequest, run},
    line::Wire,
    server::Robot,
    times::Summary,
};
use simpartner_terminal::{ServerArguments, output};
use tokio::{
    sync::mpsc::{Sender, channel},
    time::sleep,
};

/// Bridges the combined port of a robot in a running SimPartner server to a serial line, so that a microcontroller can
/// control the robot.
///
/// Lines are passed in both directions unchanged; `simpartner schema protocol` prints their format. The bridge
/// reconnects to a side that disconnects. Round-trip times are printed at the end, on SIGUSR1, and with --every at
/// intervals.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Exit codes: 0 ended by Ctrl-C, 1 the line or the robot does not exist, 2 wrong arguments"
)]
#[command(group(ArgGroup::new("wire").required(true)))]
struct Arguments {
    #[command(flatten)]
    server: ServerArguments,
    /// Token of the server, if it requires one
    #[arg(long)]
    token: Option<String>,
    /// Name of the robot
    #[arg(long, value_name = "NAME")]
    robot: String,
    /// Serial line, such as /dev/ttyUSB0 or COM3
    #[arg(long, value_name = "LINE", group = "wire")]
    device: Option<String>,
    /// Rate of the serial line, in bits per second, at least 50
    #[arg(long, default_value_t = 115_200, conflicts_with = "pty", value_parser = clap::value_parser!(u32).range(50..))]
    baud: u32,
    /// Create a pseudo-terminal in place of a serial line, and print its name
    #[arg(long, group = "wire")]
    pty: bool,
    /// Interval at which round-trip times are printed, in seconds, or as 500ms; at least 10 ms
    #[arg(long, value_name = "TIME", value_parser = read_period)]
    every: Option<Duration>,
}

fn main() -> ExitCode {
    let arguments = match output::arguments() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    output::exit(
        match runtime.map_err(anyhow::Error::from).and_then(|runtime| runtime.block_on(run_bridge(arguments))) {
            Ok(times) => {
                output::line(times);
                ExitCode::SUCCESS
            }
            Err(error) => {
                output::note(format_args!("error: {error:#}"));
                ExitCode::FAILURE
            }
        },
    )
}

async fn run_bridge(arguments: Arguments) -> Result<Summary> {
    let Arguments { server, token, robot, device, baud, every, .. } = arguments;
    let server = server.control()?;
    let wire = device.map_or(Wire::Pseudo, |path| Wire::Device { path, baud });
    let (requests, requested) = channel(1);
    tokio::spawn(report_on_signal(requests.clone()));
    if let Some(period) = every {
        tokio::spawn(report_every(requests.clone(), period));
    }
    tokio::spawn(stop_on_signal(requests));
    run(&wire, &Robot { server, token, name: robot }, requested, report).await
}

fn report(event: BridgeEvent) {
    match event {
        // A program that starts the controller reads this.
        BridgeEvent::SerialOpen(Some(name)) => output::line(format_args!("serial {name}")),
        BridgeEvent::SerialOpen(None) => output::note("the serial line is open"),
        BridgeEvent::RobotConnected => output::note("the robot is connected"),
        BridgeEvent::Disconnected(why) => output::note(format_args!("{why}; trying again")),
        BridgeEvent::Times(times) => output::note(times),
    }
}

/// Parses a time in seconds, or in the unit of its suffix.
fn read_period(text: &str) -> Result<Duration, String> {
    let (number, unit_s) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 1e-3),
        (None, Some(number)) => (number, 1.0),
        (None, None) => (text, 1.0),
    };
    let seconds = number.trim_end().parse().ok().map(|number: f64| number * unit_s).filter(|seconds| *seconds >= 0.01);
    let period = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    period.ok_or_else(|| "expected a time from 10 ms on, as 5, 2.5s or 500ms".to_owned())
}

async fn report_every(requests: Sender<BridgeRequest>, period: Duration) {
    loop {
        sleep(period).await;
        if requests.send(BridgeRequest::Times).await.is_err() {
            return;
        }
    }
}

#[cfg(unix)]
async fn report_on_signal(requests: Sender<BridgeRequest>) {
    let Ok(mut signal) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::user_defined1()) else { return };
    while signal.recv().await.is_some() && requests.send(BridgeRequest::Times).await.is_ok() {}
}

#[cfg(not(unix))]
async fn report_on_signal(_requests: Sender<BridgeRequest>) {}

/// Ends the bridge on Ctrl-C or SIGTERM.
async fn stop_on_signal(requests: Sender<BridgeRequest>) {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(mut terminate) => tokio::select! { _ = interrupt => {}, _ = terminate.recv() => {} },
        Err(_) => drop(interrupt.await),
    }
    #[cfg(not(unix))]
    drop(interrupt.await);
    // The bridge may have ended by itself.
    let _ = requests.send(BridgeRequest::Stop).await;
}
