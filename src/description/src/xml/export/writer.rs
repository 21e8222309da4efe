//! The writer of a file, and its warnings.

use simpartner_model::{Body, Mechanism};

use crate::source::Warning;

/// State of an export: the mechanism, warnings and mesh files.
pub(super) struct Writer<'w> {
    pub(super) mechanism: &'w Mechanism,
    /// All distinct friction coefficients of surfaces; empty if every surface has the rule of the larger one.
    pub(super) frictions: Vec<f64>,
    pub(super) warnings: Vec<Warning>,
    pub(super) meshes: Vec<(String, String)>,
}

impl Writer<'_> {
    /// Warns once of a property that the format does not have.
    pub(super) fn warn(&mut self, source: &str, what: impl Into<String>, help: &str) {
        let warning = Warning { place: source.to_owned(), what: what.into(), help: help.to_owned() };
        if !self.warnings.iter().any(|known| known.what == warning.what && known.place == warning.place) {
            self.warnings.push(warning);
        }
    }

    /// Warns about surface properties that neither format has.
    pub(super) fn warn_of_surface(&mut self, body: &Body) {
        let material = &body.material;
        let given = [
            ("restitution", material.restitution > 0.0),
            ("secondFriction", material.across.is_some()),
            ("stiffness", material.stiffness.is_finite()),
            ("slip", material.slip > 0.0),
            ("surfaceVelocity", material.surface_velocity.length_squared() > 0.0),
        ];
        for (name, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
            self.warn(
                &body.source,
                format!("the {name} of '{}' is left out", body.name),
                "the format's contacts are as its simulator has them",
            );
        }
        if body.linear_velocity.length_squared() + body.angular_velocity.length_squared() > 0.0 && !body.fixed {
            self.warn(
                &body.source,
                format!("the initial velocity of '{}' is left out", body.name),
                "it begins at rest",
            );
        }
    }
}

/// Numbers with blanks between them, to the last bit.
pub(super) fn join(numbers: &[f64]) -> String {
    let texts: Vec<String> = numbers.iter().map(|number| (number + 0.0).to_string()).collect();
    texts.join(" ")
}
