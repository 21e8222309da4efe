//! `simpartner grasp quality`: measures of a grasp's quality.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use simpartner_grasp::quality::{self, Bounds, Ended, Norm, Options, Quality, Scaling};
use simpartner_model::Grasp;
use simpartner_terminal::output::{Rounded, line};

use super::{
    super::exit::{CliError, ExitStatus},
    super::format::ReportArguments,
    input::{Friction, Input, in_world, json_of, shown, statics},
    keep::{Answer, Keep, store_answer},
};

#[derive(Debug, Args)]
pub(in crate::cli) struct QualityArguments {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    friction: Friction,
    /// Limit on the normal forces: `l1` limits their sum, `linf` each of them
    #[arg(long, value_enum, default_value = "l1")]
    norm: NormWord,
    /// Size of this limit: `unit` is 1 N, `limits` is the largest force of each contact
    #[arg(long, value_enum, default_value = "unit")]
    scaling: ScalingWord,
    /// Factor that makes torques comparable with forces, in 1/m, above 0 and up to 1e9 [default: 1 / the largest
    /// distance of a contact from the centre of mass]
    #[arg(long, value_name = "FACTOR", value_parser = parse_positive)]
    torque_scale: Option<f64>,
    /// Largest gap between the lower and upper bound of a measure, as a fraction of the upper bound
    #[arg(long, value_name = "PART", default_value_t = Options::default().tolerance, value_parser = parse_positive)]
    tolerance: f64,
    /// Largest gap between the bounds of the volume, as a fraction of the upper bound
    #[arg(long, value_name = "PART", default_value_t = Options::default().volume_tolerance, value_parser = parse_positive)]
    volume_tolerance: f64,
    /// Number of facets of the wrench space at which the search ends, even if the gap is larger; from 7 to 1000000
    #[arg(long, value_name = "COUNT", default_value_t = Options::default().facets, value_parser = parse_facets)]
    facets: usize,
    #[command(flatten)]
    report: ReportArguments,
    #[command(flatten)]
    keep: Keep,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum NormWord {
    L1,
    Linf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ScalingWord {
    Unit,
    Limits,
}

fn parse_positive(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|value| *value > 0.0 && *value <= 1e9)
        .ok_or("expected a number above 0 and at most 1e9".into())
}

fn parse_facets(text: &str) -> Result<usize, String> {
    // The upper limit bounds the memory: a facet takes 200 bytes.
    text.parse().ok().filter(|count| (7..=1_000_000).contains(count)).ok_or("expected 7 to 1000000".into())
}

pub(super) fn quality(arguments: &QualityArguments) -> Result<ExitStatus, CliError> {
    let database = arguments.keep.database()?;
    let grasp = arguments.input.grasp()?;
    let statics = statics(&grasp, &arguments.friction)?;
    let found = quality::quality(&statics, &arguments.options());
    let (epsilon, volume) = (found.epsilon, found.volume);
    let figures = [
        ("epsilon_lower", epsilon.lower),
        ("epsilon_upper", epsilon.upper),
        ("volume_lower", volume.lower),
        ("volume_upper", volume.upper),
    ];
    let answer = Answer { verb: "quality", name: &grasp.name, verdict: "", figures: &figures };
    store_answer(database.as_ref(), &arguments.input, &answer, || json_of_quality(arguments, &grasp, &found))?;
    if arguments.report.is_json() {
        line(format_args!("{:#}", json_of_quality(arguments, &grasp, &found)));
        return Ok(ExitStatus::Success);
    }
    let (file, scale) = (arguments.input.shown(), Rounded(found.torque_scale));
    line(format_args!("{file}: quality of {} contacts, torques times {scale} 1/m", grasp.contacts.len()));
    for (_, name, bounds, ended) in measures(&found) {
        let (lower, upper) = (Rounded(bounds.lower), Rounded(bounds.upper));
        let open = match ended {
            Ended::Met => String::new(),
            Ended::Facets => format!(", not closed with {} facets, the most that --facets allows", arguments.facets),
            Ended::Rounding => ", as close as rounding permits".to_owned(),
        };
        line(format_args!("  {name:<36} {lower} to {upper}{}{open}", gap_text(&bounds)));
    }
    if let Some(average) = found.average_facet_distance {
        line(format_args!("  {:<36} {}", "average facet distance", Rounded(average)));
    }
    line(format_args!("  {:<36} {}", "centre of contacts", Rounded(found.centroid)));
    match &found.reason {
        Some(reason) => line(format_args!("  epsilon is 0: {reason}")),
        None => {
            let [force, torque] = in_world(&grasp, &-found.weakest);
            line(format_args!("  breaks first by force {} with scaled torque {}", shown(force), shown(torque)));
        }
    }
    Ok(ExitStatus::Success)
}

impl QualityArguments {
    fn options(&self) -> Options {
        let norm = match self.norm {
            NormWord::L1 => Norm::L1,
            NormWord::Linf => Norm::LInfinity,
        };
        let scaling = match self.scaling {
            ScalingWord::Unit => Scaling::Unit,
            ScalingWord::Limits => Scaling::Limits,
        };
        let Self { torque_scale, tolerance, volume_tolerance, facets, .. } = *self;
        Options { norm, scaling, torque_scale, tolerance, volume_tolerance, facets }
    }
}

fn json_of_quality(arguments: &QualityArguments, grasp: &Grasp, found: &Quality) -> Value {
    let bounds = measures(found).map(|(key, _, bounds, ended)| {
        let ended = match ended {
            Ended::Met => "met",
            Ended::Facets => "facets",
            Ended::Rounding => "rounding",
        };
        (key.to_owned(), json!({ "lower": bounds.lower, "upper": bounds.upper, "gap": bounds.gap(), "ended": ended }))
    });
    let [force, torque] = in_world(grasp, &-found.weakest);
    json!({
        "file": arguments.input.shown(),
        "name": grasp.name,
        "measures": bounds.into_iter().collect::<serde_json::Map<_, _>>(),
        "breaks_first_by": { "force": json_of(force), "scaled_torque": json_of(torque) },
        "average_facet_distance": found.average_facet_distance,
        "centroid": found.centroid,
        "torque_scale_per_m": found.torque_scale,
        "tolerance": arguments.tolerance,
        "facets": found.facets,
        "reason": found.reason,
    })
}

/// Text of the gap between the bounds of a measure, empty if the upper bound is zero.
fn gap_text(bounds: &Bounds) -> String {
    if bounds.upper > 0.0 { format!("  (gap {:.2} %)", 100.0 * bounds.gap()) } else { String::new() }
}

/// Key, name and bounds of each measure, and why its search ended.
fn measures(found: &Quality) -> [(&'static str, &'static str, Bounds, Ended); 5] {
    let [epsilon, force, under_torque, torque, volume] = found.ended;
    [
        ("epsilon", "epsilon", found.epsilon, epsilon),
        ("force", "force in every direction", found.force, force),
        ("force_under_worst_torque", "the same under the worst torque", found.force_under_torque, under_torque),
        ("torque", "torque about every axis", found.torque, torque),
        ("volume", "volume", found.volume, volume),
    ]
}
