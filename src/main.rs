//! The `simpartner` command; the library's module [`cli`](simpartner::cli) does everything.

use std::process::ExitCode;

fn main() -> ExitCode {
    simpartner::cli::main()
}
