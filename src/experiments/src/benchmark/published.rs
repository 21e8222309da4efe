//! The published runs of the benchmark's authors: `published.json`, from the logs that they published
//! (github.com/PositronicsLab/grasp-data, folder `results`, commit 577f7be). Energies of blocks are summed as in their
//! plots.
//!
//! A run ended when the energy of an object exceeded 1e7 J by the published formula, or after 100 s. Logs that end
//! earlier for no such reason were cut short, or belong to runs that crashed. Some runs have no log.

use serde::Deserialize;

use super::PUBLISHED_SECONDS;

/// A published run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Published {
    /// Scenario and variant, such as `blocks 3` or `arm primitiveall`.
    pub case: String,
    /// Coulomb's coefficient.
    pub friction: f64,
    /// Name of the engine; tuned settings have a name of their own.
    pub engine: String,
    /// Length of the log, s.
    pub seconds: f64,
    /// Largest finite energy in the log, J.
    pub energy_j: Option<f64>,
    /// Time at which the energy exceeded 1e7 J or was no longer finite, s; `None` if it never did.
    pub lost_s: Option<f64>,
}

impl Published {
    /// Duration of the hold as a short text: the seconds until the energy exceeded the limit, the length of the log
    /// with a plus sign if the object was held to the end, or with a question mark if the log ends early for no reason.
    pub fn shown(&self) -> String {
        match self.lost_s {
            Some(lost) => format!("{lost:.2}"),
            None if self.seconds >= PUBLISHED_SECONDS => format!("{:.0}+", self.seconds),
            None => format!("{:.2}?", self.seconds),
        }
    }
}

/// All published runs, in the order of the file.
pub fn all() -> Vec<Published> {
    serde_json::from_str(include_str!("published.json")).expect("a test reads the file, which is built in")
}

/// Names of the engines, in the order of their first runs.
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
