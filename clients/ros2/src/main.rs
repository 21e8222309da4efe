//! The `simpartner-ros2` command: parses arguments, handles signals, prints events to standard error and topics to
//! standard output.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::Parser;
use simpartner_ros2::{
    bridge::{BridgeEvent, DropCounters, Options, run},
    config::{Config, Source},
    link::Server,
    ros::Services,
};
use simpartner_terminal::{ServerArguments, output};

/// Bridges the robots of a running SimPartner server to ROS 2. ROS need not be installed.
///
/// Publishes /clock, /tf, /tf_static, and the description, joint states and sensors of each robot; subscribes to
/// commands for joints and wheels; offers the services of simulation_interfaces. Frames have z up. Only the loopback
/// interface is used, unless the configuration file names others.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Exit codes: 0 ended by Ctrl-C, 1 invalid configuration or domain in use, 2 wrong arguments"
)]
struct Arguments {
    #[command(flatten)]
    server: ServerArguments,
    /// Token of the server, if it requires one
    #[arg(long)]
    token: Option<String>,
    /// Configuration file; the page "ROS 2 bridge" of the documentation describes it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// DDS domain, from 0 to 232 [default: that of the configuration file, otherwise 0]
    #[arg(long, env = "ROS_DOMAIN_ID", value_parser = clap::value_parser!(u16).range(0..=232))]
    domain: Option<u16>,
    /// Middleware whose mapping of service requests and replies is used [default: that of the configuration file,
    /// otherwise fastdds]
    #[arg(long, value_enum)]
    services: Option<Services>,
}

fn main() -> ExitCode {
    let arguments = match output::arguments() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    raise_descriptor_limit();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    output::exit(
        match runtime.map_err(anyhow::Error::from).and_then(|runtime| runtime.block_on(run_bridge(arguments))) {
            Ok(DropCounters { missed, unsent }) => {
                if missed > 0 {
                    output::note(format_args!(
                        "{missed} readings were missed: the bridge did not keep up with the server"
                    ));
                }
                if unsent > 0 {
                    output::note(format_args!("{unsent} messages were lost: reliable readers did not keep up"));
                }
                ExitCode::SUCCESS
            }
            Err(error) => {
                output::note(format_args!("error: {error:#}"));
                ExitCode::FAILURE
            }
        },
    )
}

/// Raises the limit of open files to the permitted maximum. A topic or a service takes three or four.
fn raise_descriptor_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        // If that is not permitted, the present limit is enough for most robots.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}

async fn run_bridge(arguments: Arguments) -> Result<DropCounters> {
    let Arguments { server, token, config, domain, services } = arguments;
    let server = Server { control: server.control()?, token };
    let (source, mut config) = match config {
        Some(path) => Source::read(&path).map(|(source, config)| (Some(source), config))?,
        None => (None, Config::default()),
    };
    config.domain = domain.unwrap_or(config.domain);
    config.services = services.unwrap_or(config.services);
    let ctrl_c = tokio::spawn(tokio::signal::ctrl_c());
    // The task starts now, so that Ctrl-C works while the domain is being opened.
    tokio::task::yield_now().await;
    let stop = async {
        // Without a handler Ctrl-C ends the process all the same.
        if !matches!(ctrl_c.await, Ok(Ok(()))) {
            std::future::pending().await
        }
    };
    run(&Options { server, config, source }, stop, report).await
}

fn report(event: BridgeEvent) {
    match event {
        BridgeEvent::Connected(topics) => {
            topics.iter().for_each(output::line);
            output::note("connected");
        }
        BridgeEvent::Disconnected(why) => output::note(format_args!("away: {why}")),
        BridgeEvent::Warning(text) => output::note(text),
    }
}
