//! The figures for programs.

use serde_json::{Value, json};

use super::Verification;

/// All rows: `{"cases":[{"name","unit","reference","thesis","peer":{"name","figure"},"measured","tolerance","pass","note"}]}`. A name is that of the
/// case, a slash, and that of the row. What there is no figure for is null,
/// and so is the tolerance where the reference is a bound from below.
pub fn json(verification: &Verification) -> Value {
    let rows = verification.rows().map(|(case, row)| {
        json!({
            "name": format!("{}/{}", case.name, row.name),
            "unit": row.unit,
            "reference": number(row.reference),
            "thesis": row.thesis,
            "peer": row.peer.as_ref().map(|peer| json!({ "name": peer.name, "figure": peer.figure })),
            "measured": row.measured,
            "tolerance": number(row.tolerance),
            "pass": row.passes(),
            "note": row.note,
        })
    });
    json!({ "cases": rows.collect::<Vec<_>>() })
}

fn number(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
