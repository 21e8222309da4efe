//! Figures of other engines in the same experiments, with their best settings: `peers.json`. The script
//! `tests/bench/peers/accuracy.py` writes that file on machines where the engines are installed.

use serde::Deserialize;

/// A figure of another engine for a row.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Peer {
    row: String,
    /// Engine, version and settings.
    #[serde(rename = "peer")]
    pub name: String,
    /// Its figure, in the unit of the row.
    pub figure: f64,
}

/// All figures, in the order of the file.
pub(super) fn all() -> Vec<Peer> {
    serde_json::from_str(include_str!("peers.json")).expect("a test reads the file, which is built in")
}

/// The figure for a row that is nearest to the reference. The row's name includes its case.
pub(super) fn best_figure(peers: &[Peer], row: &str, reference: f64) -> Option<Peer> {
    let off = |peer: &&Peer| (peer.figure - reference).abs();
    peers.iter().filter(|peer| peer.row == row).min_by(|a, b| off(a).total_cmp(&off(b))).cloned()
}
