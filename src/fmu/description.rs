//! `modelDescription.xml`, by FMI 2.0.5 and FMI 3.0.2.

use std::fmt::Write;

use super::{
    units::{fmi_unit, unit_definitions},
    variables::{Role, Variable, Variables},
};

/// Version of FMI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FmiVersion {
    /// FMI 2.0, for older tools.
    Two,
    /// FMI 3.0.
    Three,
}

/// Content of a description beside its variables.
#[derive(Debug)]
pub(super) struct Header<'a> {
    pub(super) model_name: &'a str,
    /// Name of the binaries, without the ending.
    pub(super) model_identifier: &'a str,
    pub(super) token: &'a str,
    pub(super) timestep_s: f64,
    pub(super) stop_time_s: Option<f64>,
}

/// Categories of messages: their names are those of the library.
const LOG_CATEGORIES: &str = "  <LogCategories>
    <Category name=\"logStatusError\" description=\"Errors\"/>
    <Category name=\"logStatusDiscard\" description=\"Calls that were refused, after which the simulation may continue\"/>
    <Category name=\"logEvents\" description=\"Events of the simulation\"/>
  </LogCategories>
";

/// The text of the description.
pub(super) fn model_description(version: FmiVersion, header: &Header<'_>, variables: &Variables) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    text += &match version {
        FmiVersion::Two => head_2(header),
        FmiVersion::Three => head_3(header),
    };
    let mut used: Vec<&str> = variables.iter().map(|(_, variable)| variable.unit).collect();
    used.sort_unstable();
    used.dedup();
    text += &unit_definitions(&used);
    text += LOG_CATEGORIES;
    let stop = header.stop_time_s.map_or_else(String::new, |stop| format!(" stopTime=\"{stop}\""));
    // Infallible, as all writing into a text is.
    let _ = writeln!(text, "  <DefaultExperiment startTime=\"0\"{stop} stepSize=\"{}\"/>", header.timestep_s);
    text += "  <ModelVariables>\n";
    for (reference, variable) in variables.iter() {
        text += &match version {
            FmiVersion::Two => variable_2(reference, variable),
            FmiVersion::Three => variable_3(reference, variable),
        };
    }
    text += "  </ModelVariables>\n";
    text += &match version {
        FmiVersion::Two => structure_2(variables),
        FmiVersion::Three => structure_3(variables),
    };
    text + "</fmiModelDescription>\n"
}

fn head_2(header: &Header<'_>) -> String {
    let Header { model_name, model_identifier, token, .. } = header;
    format!(
        "<fmiModelDescription fmiVersion=\"2.0\" modelName=\"{}\" guid=\"{token}\"
    generationTool=\"SimPartner {}\" variableNamingConvention=\"structured\" numberOfEventIndicators=\"0\">
  <CoSimulation modelIdentifier=\"{model_identifier}\" canHandleVariableCommunicationStepSize=\"true\"
      canGetAndSetFMUstate=\"true\" canSerializeFMUstate=\"true\" canNotUseMemoryManagementFunctions=\"true\"/>
",
        escape_attribute(model_name),
        env!("CARGO_PKG_VERSION")
    )
}

fn head_3(header: &Header<'_>) -> String {
    let Header { model_name, model_identifier, token, timestep_s, .. } = header;
    format!(
        "<fmiModelDescription fmiVersion=\"3.0\" modelName=\"{}\" instantiationToken=\"{token}\"
    generationTool=\"SimPartner {}\" variableNamingConvention=\"structured\">
  <CoSimulation modelIdentifier=\"{model_identifier}\" canHandleVariableCommunicationStepSize=\"true\"
      fixedInternalStepSize=\"{timestep_s}\" canGetAndSetFMUState=\"true\" canSerializeFMUState=\"true\"/>
",
        escape_attribute(model_name),
        env!("CARGO_PKG_VERSION")
    )
}

fn unit_attribute(variable: &Variable) -> String {
    fmi_unit(variable.unit).map_or_else(String::new, |unit| format!(" unit=\"{unit}\""))
}

/// The attributes `min` and `max` of finite bounds.
fn bound_attributes(variable: &Variable) -> String {
    let mut text = String::new();
    for (name, bound) in [("min", variable.lowest), ("max", variable.highest)] {
        if bound.is_finite() {
            let _ = write!(text, " {name}=\"{bound}\"");
        }
    }
    text
}

/// The attributes `causality` and `variability`, in both versions; `initial` where it is not the default.
fn causality_attributes(variable: &Variable) -> &'static str {
    match variable.role {
        Role::Time => "causality=\"independent\" variability=\"continuous\"",
        Role::Seed | Role::Parameter(_) => "causality=\"parameter\" variability=\"fixed\"",
        Role::Input(_) => "causality=\"input\" variability=\"discrete\"",
        Role::Output(_) => "causality=\"output\" variability=\"discrete\" initial=\"calculated\"",
    }
}

fn variable_2(reference: usize, variable: &Variable) -> String {
    let (name, description) = (escape_attribute(&variable.name), escape_attribute(&variable.description));
    let start = match variable.role {
        Role::Time | Role::Output(_) => String::new(),
        _ => format!(" start=\"{}\"", variable.start),
    };
    let kind = match variable.role {
        Role::Seed => format!("Integer{}{start}", bound_attributes(variable)),
        _ => format!("Real{}{}{start}", unit_attribute(variable), bound_attributes(variable)),
    };
    format!(
        "    <ScalarVariable name=\"{name}\" valueReference=\"{reference}\" {} description=\"{description}\"><{kind}/>\
         </ScalarVariable>\n",
        causality_attributes(variable)
    )
}

fn variable_3(reference: usize, variable: &Variable) -> String {
    let (name, description) = (escape_attribute(&variable.name), escape_attribute(&variable.description));
    let start = match variable.role {
        Role::Time | Role::Output(_) => String::new(),
        _ => format!(" start=\"{}\"", variable.start),
    };
    let tag = if variable.role == Role::Seed { "UInt64" } else { "Float64" };
    format!(
        "    <{tag} name=\"{name}\" valueReference=\"{reference}\" {} description=\"{description}\"{}{}{start}/>\n",
        causality_attributes(variable),
        unit_attribute(variable),
        bound_attributes(variable)
    )
}

fn output_references(variables: &Variables) -> impl Iterator<Item = usize> {
    variables.iter().filter(|(_, variable)| matches!(variable.role, Role::Output(_))).map(|(reference, _)| reference)
}

/// Inputs act from the next step on, so no output depends on one at the same time.
fn structure_2(variables: &Variables) -> String {
    let mut text = String::from("  <ModelStructure>\n");
    // An index counts from 1.
    let lists = [("Outputs", " dependencies=\"\""), ("InitialUnknowns", "")];
    for (list, dependencies) in lists.into_iter().filter(|_| variables.output_count() > 0) {
        let _ = writeln!(text, "    <{list}>");
        for reference in output_references(variables) {
            let _ = writeln!(text, "      <Unknown index=\"{}\"{dependencies}/>", reference + 1);
        }
        let _ = writeln!(text, "    </{list}>");
    }
    text + "  </ModelStructure>\n"
}

fn structure_3(variables: &Variables) -> String {
    let mut text = String::from("  <ModelStructure>\n");
    for reference in output_references(variables) {
        let _ = writeln!(text, "    <Output valueReference=\"{reference}\" dependencies=\"\"/>");
    }
    for reference in output_references(variables) {
        let _ = writeln!(text, "    <InitialUnknown valueReference=\"{reference}\"/>");
    }
    text + "  </ModelStructure>\n"
}

/// A text as the value of an attribute.
fn escape_attribute(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            letter if letter.is_control() => escaped.push(' '),
            letter => escaped.push(letter),
        }
    }
    escaped
}
