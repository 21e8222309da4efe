//! `simpartner grasp check`: is a grasp in equilibrium?

use bevy_math::DVec3;
use clap::Args;
use serde_json::{Value, json};
use simpartner_grasp::{Certificate, Equilibrium, Forces, Statics, Verdict, harker};
use simpartner_model::Grasp;
use simpartner_terminal::output::{Rounded, line};

use super::{
    super::exit::{CliError, ExitStatus},
    super::format::ReportArguments,
    input::{Friction, Input, in_world, json_of, program_of_1994, refuse, shown, statics},
    keep::{Answer, Keep, store_answer},
};
use crate::recorder::Database;

#[derive(Debug, Args)]
pub(in crate::cli) struct CheckArguments {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    friction: Friction,
    /// Solve the linear program of 1994, including its errors: pyramids of four edges, friction coefficients used as
    /// angles in radians, torsion in one sense only
    #[arg(long, conflicts_with = "edges")]
    as_1994: bool,
    /// With --as-1994: follow the text of Harker's thesis, with torsion in both senses and friction angles from arc
    /// tangents
    #[arg(long, requires = "as_1994")]
    corrected: bool,
    #[command(flatten)]
    report: ReportArguments,
    #[command(flatten)]
    keep: Keep,
}

pub(super) fn check(arguments: &CheckArguments) -> Result<ExitStatus, CliError> {
    let database = arguments.keep.database()?;
    if arguments.as_1994 {
        return check_as_1994(arguments, database.as_ref());
    }
    let grasp = arguments.input.grasp()?;
    let statics = statics(&grasp, &arguments.friction)?;
    let found = simpartner_grasp::check(&statics);
    let verdict = match found.verdict {
        Verdict::Holds(_) => "holds",
        Verdict::Impossible(_) => "impossible",
        Verdict::Undecided => "undecided",
    };
    let mut figures = Vec::new();
    if let Verdict::Holds(forces) = &found.verdict {
        let least = found.least.as_ref().unwrap_or(forces);
        figures.extend([("margin", forces.margin), ("squeeze", least.squeeze())]);
    }
    let answer = Answer { verb: "check", name: &grasp.name, verdict, figures: &figures };
    store_answer(database.as_ref(), &arguments.input, &answer, || {
        json_of_check(&arguments.input, &grasp, &statics, &found)
    })?;
    if arguments.report.is_json() {
        line(format_args!("{:#}", json_of_check(&arguments.input, &grasp, &statics, &found)));
        return Ok(ExitStatus::Success);
    }
    let [force, torque] = in_world(&grasp, &statics.load);
    line(format_args!(
        "{}: {} contacts, load {} N, {} N m",
        arguments.input.shown(),
        grasp.contacts.len(),
        shown(force),
        shown(torque)
    ));
    match &found.verdict {
        Verdict::Holds(forces) => {
            let spare = Rounded(forces.margin);
            line(format_args!(
                "  in equilibrium: with the best forces each contact has {spare} N of normal force to spare"
            ));
            let least = found.least.as_ref().unwrap_or(forces);
            line(format_args!("  least squeeze, {} N of normal forces:", Rounded(least.squeeze())));
            print_forces(&grasp, &statics, least);
        }
        Verdict::Impossible(certificate) => print_proof(&grasp, &statics, certificate),
        Verdict::Undecided => line(format_args!(
            "  undecided: at the limit, rounding hides both the forces and a proof that there are none"
        )),
    }
    Ok(ExitStatus::Success)
}

fn print_forces(grasp: &Grasp, statics: &Statics, forces: &Forces) {
    for ((contact, map), force) in grasp.contacts.iter().zip(&statics.contacts).zip(&forces.contacts) {
        let [total, _] = in_world(grasp, &map.wrench(force));
        let used = if force.normal > 0.0 { 100.0 * map.needed(force) / force.normal } else { 0.0 };
        let torsion = if map.torsion > 0.0 {
            format!(", torsion {} N m", Rounded((force.torsion * 1e9).round() / 1e9))
        } else {
            String::new()
        };
        let friction =
            if map.friction > 0.0 { format!("{torsion}, {used:.1} % of its friction") } else { String::new() };
        let (name, kind) = (&contact.name, contact.kind.word());
        line(format_args!(
            "    {name:<12} {kind:<12} {} N, normal {} N{friction}",
            shown(total),
            Rounded(force.normal)
        ));
    }
}

fn print_proof(grasp: &Grasp, statics: &Statics, certificate: &Certificate) {
    let [velocity, turning] = in_world(grasp, &certificate.twist);
    line(format_args!("  no equilibrium, and this motion of the object proves it:"));
    line(format_args!("    its centre of mass by {} m/s, turning by {} rad/s", shown(velocity), shown(turning)));
    let most = statics.support(&-certificate.twist);
    let (load, most) = (Rounded(certificate.twist.dot(&statics.load)), Rounded(most));
    line(format_args!("    its load does {load} W, all contacts together can take no more than {most} W"));
}

fn json_of_check(input: &Input, grasp: &Grasp, statics: &Statics, found: &Equilibrium) -> Value {
    let [force, torque] = in_world(grasp, &statics.load);
    let mut report = json!({
        "file": input.shown(),
        "name": grasp.name,
        "load": { "force_N": json_of(force), "torque_Nm": json_of(torque) },
        "length_m": statics.length,
    });
    match &found.verdict {
        Verdict::Holds(forces) => {
            report["verdict"] = json!("holds");
            report["margin_N"] = json!(forces.margin);
            report["best"] = json_of_forces(grasp, statics, forces);
            report["least"] = json_of_forces(grasp, statics, found.least.as_ref().unwrap_or(forces));
        }
        Verdict::Impossible(certificate) => {
            let [velocity, turning] = in_world(grasp, &certificate.twist);
            report["verdict"] = json!("impossible");
            report["certificate"] = json!({
                "velocity_m_s": json_of(velocity),
                "angular_velocity_rad_s": json_of(turning),
                "load_W": certificate.twist.dot(&statics.load),
                "contacts_at_most_W": statics.support(&-certificate.twist),
                "gap_W": certificate.gap(statics),
            });
        }
        Verdict::Undecided => report["verdict"] = json!("undecided"),
    }
    report
}

fn json_of_forces(grasp: &Grasp, statics: &Statics, forces: &Forces) -> Value {
    let each = grasp.contacts.iter().zip(&statics.contacts).zip(&forces.contacts).map(|((contact, map), force)| {
        let [total, torque] = in_world(grasp, &map.wrench(force));
        json!({
            "contact": contact.name,
            "force_N": json_of(total),
            "torque_about_centre_of_mass_Nm": json_of(torque),
            "normal_N": force.normal,
            "tangent_N": force.tangent,
            "torsion_Nm": force.torsion,
            "needed_normal_N": map.needed(force),
        })
    });
    json!({ "squeeze_N": forces.squeeze(), "margin_N": forces.margin, "residual_N": forces.residual, "contacts": each.collect::<Vec<_>>() })
}

fn check_as_1994(arguments: &CheckArguments, database: Option<&Database>) -> Result<ExitStatus, CliError> {
    let case = arguments.input.harker()?;
    let answer = harker::solve(&case, case.gravity, program_of_1994(arguments.corrected)).map_err(refuse)?;
    let flaws: Vec<String> = case.flaws().iter().map(ToString::to_string).collect();
    let contacts = answer.as_ref().map(|answer| {
        let each = answer.contacts.iter().map(|contact| {
            json!({ "force": json_of(contact.force), "torque": json_of(contact.torque), "normal_torque": json_of(contact.normal_torque) })
        });
        each.collect::<Vec<_>>()
    });
    let verdict = if answer.is_some() { "holds" } else { "impossible" };
    let report = json!({
        "file": arguments.input.shown(),
        "model": "1994",
        "verdict": verdict,
        "objective": answer.as_ref().map(|answer| answer.objective),
        "contacts": contacts,
        "flaws": flaws,
    });
    let kept = Answer { verb: "check", name: "", verdict, figures: &[] };
    store_answer(database, &arguments.input, &kept, || report.clone())?;
    if arguments.report.is_json() {
        line(format_args!("{report:#}"));
        return Ok(ExitStatus::Success);
    }
    line(format_args!("{}: {} contacts, as in 1994", arguments.input.shown(), case.contacts.len()));
    flaws.iter().for_each(|flaw| line(format_args!("  not noticed in 1994: {flaw}")));
    let Some(answer) = answer else {
        line(format_args!("  no equilibrium solution"));
        return Ok(ExitStatus::Success);
    };
    line(format_args!("  a state of equilibrium has been found:"));
    for (index, contact) in answer.contacts.iter().enumerate() {
        line(format_args!("  finger {} ({})", index + 1, case.contacts[index].kind.word()));
        for (name, vector) in [("force", contact.force), ("torque", contact.torque), ("tnorm", contact.normal_torque)] {
            // The format of 1994. Adding zero removes negative zeros.
            let DVec3 { x, y, z } = vector + DVec3::ZERO;
            line(format_args!("    {name:<6}(x,y,z) = ({x:.6}, {y:.6}, {z:.6})"));
        }
    }
    Ok(ExitStatus::Success)
}
