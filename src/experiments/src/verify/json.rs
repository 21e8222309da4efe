//! The figures of the verification as JSON, for programs.

use serde_json::{Value, json};

use super::Verification;

/// All rows:
/// `{"cases":[{"name","unit","reference","thesis","peer":{"name","figure"},"measured","tolerance","pass","note"}]}`.
///
/// A name consists of the name of the case, a slash, and the name of the row. Missing figures are null, and so is the
/// tolerance if the reference is a lower bound.
pub fn json(verification: &Verification) -> Value {
    let rows = verification.rows().map(|(case, row)| {
        json!({
            "name": format!("{}/{}", case.name, row.name),
            "unit": row.unit,
            "reference": finite_or_null(row.reference),
            "thesis": row.thesis,
            "peer": row.peer.as_ref().map(|peer| json!({ "name": peer.name, "figure": peer.figure })),
            "measured": row.measured,
            "tolerance": finite_or_null(row.tolerance),
            "pass": row.passes(),
            "note": row.note,
        })
    });
    json!({ "cases": rows.collect::<Vec<_>>() })
}

fn finite_or_null(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
