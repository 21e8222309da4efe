//! What the engines of the benchmark's authors did: `published.json`, from the logs that they published (github.com/PositronicsLab/grasp-data,
//! folder `results`, commit 577f7be; the energies of blocks are summed up as in their plots).
//!
//! A run ended when the energy of an object passed 1e7 J by the published formula, or after 100 s. Logs that end earlier without that were cut
//! short or are of runs that crashed. Of some runs there is no log.

use serde::Deserialize;

use super::PUBLISHED_SECONDS;

/// A published run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Published {
    /// The scenario and its variant, such as `blocks 3` or `arm primitiveall`.
    pub case: String,
    /// Coulomb's coefficient.
    pub friction: f64,
    /// The engine; tuned settings are told by its name.
    pub engine: String,
    /// How long its log is, s.
    pub seconds: f64,
    /// The largest finite energy of its log, J.
    pub energy_j: Option<f64>,
    /// When the energy passed 1e7 J, or was no number any more, s.
    pub lost_s: Option<f64>,
}

impl Published {
    /// How long it held on, in a few characters: the seconds until its energy passed the limit; with a plus sign if it held on until the
    /// end, with a question mark if its log ends before without a reason.
    pub fn shown(&self) -> String {
        match self.lost_s {
            Some(lost) => format!("{lost:.2}"),
            None if self.seconds >= PUBLISHED_SECONDS => format!("{:.0}+", self.seconds),
            None => format!("{:.2}?", self.seconds),
        }
    }
}

/// All runs, in the order of the file.
pub fn all() -> Vec<Published> {
    serde_json::from_str(include_str!("published.json")).expect("a test reads the file, which is built in")
}

/// The engines, in the order of their first runs.
pub fn engines(all: &[Published]) -> Vec<&str> {
    let mut engines: Vec<&str> = Vec::new();
    for run in all {
        if !engines.contains(&run.engine.as_str()) {
            engines.push(&run.engine);
        }
    }
    engines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_eleven_blocks_every_published_engine_lost_one_within_nine_seconds_or_has_no_log() {
        let all = all();
        assert_eq!(engines(&all), ["Bullet", "DART", "ODE", "RPI direct", "RPI indirect", "ODE tuned"]);
        let eleven: Vec<&Published> = all.iter().filter(|run| run.case == "blocks 11").collect();
        assert_eq!(eleven.len(), 6);
        assert!(eleven.iter().all(|run| run.seconds < 9.0), "{eleven:?}");
        let shown = |case: &str, engine: &str| {
            let run = all.iter().find(|run| run.case == case && run.engine == engine && run.friction == 100.0);
            run.map(Published::shown)
        };
        assert_eq!(shown("blocks 1", "ODE"), Some("100+".into()));
        assert_eq!(shown("arm primitiveall", "DART"), Some("33.35".into()));
        assert_eq!(shown("blocks 8", "RPI direct"), Some("0.01?".into()));
        assert_eq!(shown("blocks 4", "DART"), None);
    }
}
