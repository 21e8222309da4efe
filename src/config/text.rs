//! Settings as text: the default `properties.toml`, and the effective values for the log.

use simpartner_description::Parameters;

use super::table::{SETTINGS, Setting, SettingType, SettingValue};
use crate::recorder;

/// Comment at the top of the default properties file.
const FILE_HEADER: &str = "\
# Settings of simpartner, each with its default. Lengths, times and speeds carry their unit in the name.
#
# The value of a setting comes from the last of these sources that has it: the default, the properties file (this one, or the
# one named by --properties FILE), the environment variable SIMPARTNER_SECTION_KEY, the command line.
#
# `simpartner schema properties` prints this file from the table of settings; a test compares the two.
#
# Settings that replace the parameters of the thesis (code example A):
#   dbname, dbserver           log.database, one address for both
#   log                        log.enabled
#   logEveryStep               log.detail = full with log.every_n_steps = 1; a larger number thins the log
#   environment                simulation.world_file
#   stepsize                   simulation.timestep_s
#   contactMaxCorrectingVel    physics.contact_max_correcting_velocity_m_per_s
#   contactSurfaceLayer        dynamics.contact_surface_layer_m, rapier.contact_surface_layer_m
#   autoDisableFlag            physics.auto_disable
#   globalERP                  none: the fraction of an error that ODE corrects in a step depends on the timestep. The engine
#                              dynamics has no such error in contacts and joints. For contacts of the engine rapier,
#                              rapier.contact_frequency_hz and rapier.contact_damping_ratio have the same purpose, and do
#                              not depend on the timestep
";

/// The section of parameters in the default file, where it is empty.
const MODEL_SECTION: &str = "
# Values of world and robot files that this run replaces, by their paths, such as
#   surface.friction = 0.4
#   \"WorkPartner.Wheel*.mass\" = \"*1.1\"    the number in the file times 1.1
[model]
";

/// The text of `properties.toml` in the repository.
pub fn default_properties() -> String {
    let mut text = FILE_HEADER.to_owned();
    let defaults = super::layers::Layers::defaults().values;
    for (index, (setting, value)) in SETTINGS.iter().zip(&defaults).enumerate() {
        begin_section(&mut text, index);
        let comment = match setting.setting_type {
            SettingType::File
            | SettingType::OptionalFile
            | SettingType::Names
            | SettingType::Secret
            | SettingType::Address
            | SettingType::Database => setting.doc.to_owned(),
            setting_type => format!("{} Takes {}.", setting.doc, setting_type.expected()),
        };
        text += &format!("\n# {comment}\n{} = {}\n", setting.key, toml_text(value));
    }
    text + MODEL_SECTION
}

/// All values as a properties file, without comments. Tokens and passwords are left out, because logs are passed on.
pub(super) fn effective_text(values: &[SettingValue], parameters: &Parameters) -> String {
    let mut text = String::new();
    for (index, (setting, value)) in SETTINGS.iter().zip(values).enumerate() {
        begin_section(&mut text, index);
        text += &match setting {
            Setting { setting_type: SettingType::Secret, key, .. } if *value != SettingValue::Text(String::new()) => {
                format!("# {key} is set, and is not shown\n")
            }
            Setting { setting_type: SettingType::Database, key, .. } => {
                let SettingValue::Text(address) = value else {
                    unreachable!("an address is a text, but this is {value:?}")
                };
                format!("{key} = {}\n", toml_text(&SettingValue::Text(recorder::without_password(address))))
            }
            Setting { key, .. } => format!("{key} = {}\n", toml_text(value)),
        };
    }
    if !parameters.is_empty() {
        text += "\n[model]\n";
    }
    for parameter in parameters.iter() {
        // A basic string of TOML, which is a key as well; its escapes are those of JSON.
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        text += &format!("{} = {}\n", quoted(parameter.path.as_str()), quoted(&parameter.value.to_string()));
    }
    text
}

fn begin_section(text: &mut String, index: usize) {
    let section = SETTINGS[index].section;
    if index == 0 || SETTINGS[index - 1].section != section {
        let gap = if text.is_empty() { "" } else { "\n" };
        *text += &format!("{gap}[{section}]\n");
    }
}

fn toml_text(value: &SettingValue) -> String {
    match value {
        SettingValue::Boolean(value) => value.to_string(),
        SettingValue::Integer(value) => value.to_string(),
        SettingValue::Real(value) => format!("{value:?}"),
        SettingValue::Text(text) => toml::Value::from(text.as_str()).to_string(),
    }
}
