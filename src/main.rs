//! The `simpartner` command.

fn main() {}
