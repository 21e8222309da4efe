//! `simpartner sequence`: plays a command sequence to a running server, as the program `simpartner-sequencer` does.

use std::path::PathBuf;

use clap::Args;
use simpartner_description::xml;
use simpartner_model::Moment;
use simpartner_sequencer::{
    command::{play_with_notes, read_lead},
    play::Options,
};
use simpartner_terminal::output::line;

use super::{
    arguments::ConfigurationArguments,
    exit::{CliError, ExitStatus},
    ports,
};

#[derive(Debug, Args)]
pub(super) struct SequenceArguments {
    /// Sequence file
    file: PathBuf,
    /// Address of the server's control port [default: from --ports-file, otherwise from the settings]
    #[arg(long, value_name = "HOST:PORT")]
    server: Option<String>,
    /// Token of the server, if it requires one [default: the setting server.token, if --server is not given]
    #[arg(long)]
    token: Option<String>,
    /// Simulated time from now to the start of the sequence on a playing server, from 0 to 3600 s; in seconds, or in
    /// steps as 200steps
    #[arg(long, value_name = "TIME", default_value = "0.2", value_parser = read_lead)]
    lead: Moment,
    /// End the run of the server after the sequence
    #[arg(long)]
    quit: bool,
    #[command(flatten)]
    configuration: ConfigurationArguments,
}

/// Plays the sequence and prints a summary.
pub(super) fn sequence(arguments: &SequenceArguments) -> Result<ExitStatus, CliError> {
    let sequence = xml::read_sequence(&arguments.file)?;
    let config = arguments.configuration.config(&[])?;
    let server = match &arguments.server {
        Some(server) => server.clone(),
        None => ports::control_address(&config)?.to_string(),
    };
    // The token of the settings belongs to the server of the settings, so it is not sent to --server.
    let token = arguments.token.clone().or(config.server.token.filter(|_| arguments.server.is_none()));
    let options = Options { server, token, lead: arguments.lead, quit: arguments.quit };
    let played = play_with_notes(&sequence, &options);
    line(played.map_err(|error| CliError::Talk(format!("{error:#}").trim_end().to_owned()))?);
    Ok(ExitStatus::Success)
}
