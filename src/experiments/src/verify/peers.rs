//! What other engines make of the same experiments, at the best of their settings: `peers.json`, which
//! `tests/bench/peers/accuracy.py` writes where they are installed.

use serde::Deserialize;

/// A figure of another engine for a row.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Peer {
    row: String,
    /// The engine, its version and its settings.
    #[serde(rename = "peer")]
    pub name: String,
    /// What it measured, in the unit of the row.
    pub figure: f64,
}

/// All figures, in the order of the file.
pub(super) fn all() -> Vec<Peer> {
    serde_json::from_str(include_str!("peers.json")).expect("a test reads the file, which is built in")
}

/// Of the figures for a row, named with its case before it, the one that is nearest to the reference.
pub(super) fn best(peers: &[Peer], row: &str, reference: f64) -> Option<Peer> {
    let off = |peer: &&Peer| (peer.figure - reference).abs();
    peers.iter().filter(|peer| peer.row == row).min_by(|a, b| off(a).total_cmp(&off(b))).cloned()
}
