//! The `simpartner-ros2` command: arguments and signals in, news to standard error, the topics to standard output.

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
/// Publishes /clock, /tf, /tf_static, and of each robot its description, joint states and sensors; takes commands for
/// joints and wheels; offers the services of simulation_interfaces. Frames have z up. It speaks on loopback alone
/// unless a file says otherwise.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Exit codes: 0 ended by Ctrl-C, 1 the settings or the domain do not fit, 2 wrong arguments"
)]
struct Arguments {
    #[command(flatten)]
    server: ServerArguments,
    /// The server's token, where it wants one
    #[arg(long)]
    token: Option<String>,
    /// Settings; the page "ROS 2 bridge" of the documentation describes them
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// DDS domain, in place of the file's
    #[arg(long, env = "ROS_DOMAIN_ID", value_parser = clap::value_parser!(u16).range(0..=232))]
    domain: Option<u16>,
    /// Whose way of telling services apart, in place of the file's
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

/// Lets this process open as many files as it may. A topic or a service takes three or four.
fn raise_descriptor_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        // Where that is not allowed it stays as it is, and is enough for most robots.
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
    // The task runs now, so Ctrl-C is heard while the domain is being opened, too.
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
