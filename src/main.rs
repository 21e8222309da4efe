//! The `simpartner` command; all of it is in the library's [`cli`](simpartner::cli) room.

use std::process::ExitCode;

fn main() -> ExitCode {
    simpartner::cli::main()
}
