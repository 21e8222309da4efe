//! `simpartner man` and `simpartner completions`: manual pages and shell completions. Both are made from the
//! definitions by which the program parses its verbs and flags.

use std::{fs, path::PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;
use simpartner_terminal::output;
use simpartner_wire::near::did_you_mean;

use super::exit::{CliError, ExitStatus};

#[derive(Debug, Args)]
pub(super) struct ManArguments {
    /// Verb whose page is printed, such as `run` or `db verify` [default: the page of the program]
    verb: Vec<String>,
    /// Write the pages of the program and of all verbs into this folder
    #[arg(short, long, value_name = "FOLDER", conflicts_with = "verb")]
    output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct CompletionsArguments {
    /// Name of the shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the manual page of the program, or of one of its verbs, in roff, for `man -l -`; or writes the pages of all
/// verbs into a folder.
pub(super) fn man(arguments: &ManArguments, mut command: Command) -> Result<ExitStatus, CliError> {
    if let Some(folder) = &arguments.output {
        let written = fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(command, folder));
        return match written {
            Ok(()) => Ok(ExitStatus::Success),
            Err(error) => {
                Err(CliError::Input(format!("{}: the manual pages cannot be written: {error}", folder.display())))
            }
        };
    }
    command.build();
    for verb in &arguments.verb {
        let near = did_you_mean(verb, command.get_subcommands().map(clap::Command::get_name));
        let found = command.find_subcommand(verb).cloned();
        command = found.ok_or_else(|| CliError::Usage(format!("man: there is no verb '{verb}'{near}")))?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page).map_err(|error| CliError::Usage(format!("man: {error}")))?;
    output::print(String::from_utf8_lossy(&page));
    Ok(ExitStatus::Success)
}

/// Prints a script that completes the verbs and flags of the program.
pub(super) fn completions(arguments: &CompletionsArguments, mut command: Command) -> ExitStatus {
    let mut script = Vec::new();
    let name = command.get_name().to_owned();
    clap_complete::generate(arguments.shell, &mut command, name, &mut script);
    output::print(String::from_utf8_lossy(&script));
    ExitStatus::Success
}
