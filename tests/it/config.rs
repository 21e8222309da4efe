//! Configuration through its public interface: precedence of the layers, and messages about mistakes.

use simpartner::{
    config::{Config, Override, PropertiesFile, default_properties},
    realtime::Mode,
};

fn load(text: &str, variables: &[(&str, &str)], overrides: &[Override<'_>]) -> Result<Config, String> {
    let file = PropertiesFile { path: "p.toml", text };
    let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
    Config::load(Some(file), variables, overrides).map_err(|error| error.to_string())
}

#[test]
fn the_file_in_the_repository_is_the_table_of_settings() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/properties.toml");
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        std::fs::write(path, default_properties()).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(written, default_properties(), "run this test with UPDATE_GENERATED=1 to write the file anew");
}

#[test]
fn the_file_in_the_repository_says_the_defaults() {
    let defaults = Config::load(None, [], &[]).unwrap();
    assert_eq!(load(&default_properties(), &[], &[]), Ok(defaults));
}

#[test]
fn only_variables_of_settings_have_to_be_text() {
    use std::{ffi::OsString, os::unix::ffi::OsStringExt};

    let bytes = || OsString::from_vec(vec![b'x', 0xff]);
    assert!(Config::load(None, [("PWD".into(), bytes()), (bytes(), bytes())], &[]).is_ok());
    let error = Config::load(None, [("SIMPARTNER_SIMULATION_RATE".into(), bytes())], &[]).unwrap_err();
    assert_eq!(error.to_string(), "SIMPARTNER_SIMULATION_RATE: expected text in UTF-8, got other bytes");
}

#[test]
fn a_token_is_a_line_of_text_and_is_never_shown() {
    for bad in ["geheim\n", " geheim", "geheim\t", "ge\nheim"] {
        let error = load("", &[("SIMPARTNER_SERVER_TOKEN", bad)], &[]).unwrap_err();
        assert!(error.starts_with("SIMPARTNER_SERVER_TOKEN: server.token: expected a text"), "{error}");
        assert!(!error.contains("heim"), "{error}");
    }
}

#[test]
fn overrides_win_over_the_environment_and_that_over_the_file() {
    let text = "[simulation]\nrate = 2\nmode = \"fast\"\ntimestep_s = 0.002\n";
    let variables = [("SIMPARTNER_SIMULATION_RATE", "3"), ("SIMPARTNER_SIMULATION_TIMESTEP_S", "0.003"), ("HOME", "/")];
    let overrides = [Override { name: "--rate", key: "simulation.rate", text: "4" }];
    let simulation = load(text, &variables, &overrides).unwrap().simulation;
    assert_eq!((simulation.rate, simulation.timestep.nanoseconds(), simulation.mode), (4.0, 3_000_000, Mode::Fast));
}

#[test]
fn the_effective_text_reads_back_as_the_same_settings() {
    let text = "[log]\nenabled = false\ndatabase = 'sqlite:C:\\logs\\\"a\".db'\n[physics]\nsubsteps = 7\n";
    let config = load(text, &[], &[]).unwrap();
    assert_eq!(load(config.effective_text(), &[], &[]), Ok(config));
}

#[test]
fn a_token_does_not_go_into_the_log() {
    let config = load("[server]\ntoken = 'hush'\n", &[], &[]).unwrap();
    assert_eq!(config.server.token.as_deref(), Some("hush"));
    assert!(!config.effective_text().contains("hush"));
}

#[test]
fn all_mistakes_are_told_at_once_with_their_places() {
    let text = "[simulation]\nrate = -1\nmode = \"slow\"\nworld = \"a.xml\"\n\n[logg]\nenabled = true\n\n[log]\nlimit_mb = \"many\"\n\
                database = \"oracle:x\"\nevery_n_step = 2\n[physics]\nsubsteps = 1.5\n";
    let variables = [("SIMPARTNER_SIMULATION_TIMESTEP_S", "1"), ("SIMPARTNER_SERVER_BINT", "::1")];
    let overrides = [Override { name: "--duration", key: "simulation.duration_s", text: "nan" }];
    let expected = "\
p.toml:2: simulation.rate: expected a number from 0.001 to 1000, got `-1`
p.toml:3: simulation.mode: expected \"realtime\" or \"fast\" or \"lockstep\", got `\"slow\"`
p.toml:4: simulation.world is not a setting; did you mean simulation.world_file?
p.toml:6: [logg] is not a section of settings; did you mean log?
p.toml:10: log.limit_mb: expected a whole number from 1 to 1000000000, got `\"many\"`
p.toml:11: log.database: expected a database address of the form sqlite:FILE, postgres://USER@HOST/DATABASE or \
mysql://USER@HOST/DATABASE, got `\"oracle:***\"`
p.toml:12: log.every_n_step is not a setting; did you mean log.every_n_steps?
p.toml:14: physics.substeps: expected a whole number from 1 to 1000, got `1.5`
SIMPARTNER_SIMULATION_TIMESTEP_S: simulation.timestep_s: expected a number from 0.000001 to 0.1 that is a whole number \
of nanoseconds, got `1`
SIMPARTNER_SERVER_BINT: no setting has this variable; did you mean SIMPARTNER_SERVER_BIND?
--duration: simulation.duration_s: expected a number from 0 to 1000000000, got `nan`";
    assert_eq!(load(text, &variables, &overrides).unwrap_err(), expected);
}

#[test]
fn a_file_that_is_not_toml_says_where() {
    let message = load("[log]\nenabled = true\nlimit_mb = = 3\n", &[], &[]).unwrap_err();
    assert!(message.starts_with("p.toml:3: "), "{message}");
    let message = load("log = 3\n", &[], &[]).unwrap_err();
    assert_eq!(message, "p.toml:1: log: expected a section, [log], got 3");
}

#[test]
fn a_setting_that_is_none_gets_the_one_that_is_meant_or_the_place_in_the_model() {
    for (key, expected) in [
        ("simulation.sed", "did you mean simulation.seed?"),
        ("sever.bind", "did you mean server.bind?"),
        ("physics.max_sweeps", "did you mean dynamics.max_sweeps?"),
        ("rate", "did you mean simulation.rate?"),
        ("control_prt", "did you mean server.control_port?"),
        ("log.every", "did you mean log.every_n_steps?"),
        ("simulation.gravity", "<gravity> is an element of world and robot files"),
        ("simulation.friction", "'friction' is an attribute of <"),
        ("simulation.colour", "`simpartner schema properties` lists all"),
        ("", "lists all"),
        (".", "lists all"),
    ] {
        let told = load("", &[], &[Override { name: "--set", key, text: "1" }]).unwrap_err();
        assert!(told.starts_with(&format!("--set: {key} is not a setting; ")) && told.contains(expected), "{told}");
    }
}
