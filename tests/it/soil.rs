//! Wheels on soil: comparison with an independent implementation, `soil/scm.py`, which shares nothing with this
//! project; and the port of their sensor.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use simpartner::realtime::{ClockSettings, Mode};
use simpartner_description::xml::{Document, read_text};
use simpartner_dynamics::soil::{Pressure, SteadyWheel};
use simpartner_model::{DeviceId, Soil};

use super::{
    needs::{Need, met},
    server::{Client, Rig, settings},
};

const GRAVITY: f64 = 9.81;
const RADIUS: f64 = 0.09;
const WIDTH: f64 = 0.11;
/// Load of each wheel, N.
const LOAD: f64 = 64.68;
const SOILS: [&str; 6] = ["drySand", "sandyLoam", "clay", "lunar", "lunarSimulant", "regolithSimulant"];
const SLIPS: [f64; 4] = [0.2, 0.4, 0.6, 0.8];

/// Sinkage, m, and pull, N, of the script for each soil and slip. `None` if it cannot be run.
fn scm(slides: &str, stiffer: f64) -> Option<Vec<[f64; 2]>> {
    let numpy = Command::new("python3").args(["-c", "import numpy"]).output();
    let numpy = numpy.map_err(|error| error.to_string()).and_then(|output| {
        if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
    });
    met(Need::Python, numpy)?;
    let mut script = Command::new("python3");
    script.args(["-B", "tests/it/soil/scm.py"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut running = script.spawn().unwrap();
    let mut lines = String::new();
    for (name, slip) in cases() {
        let soil = Soil::named(name).unwrap();
        let modulus = Pressure::new(&soil, WIDTH, 0.0, GRAVITY).modulus;
        let Soil { exponent, cohesion, friction_angle, shear_modulus, .. } = soil;
        let elastic = stiffer * soil.elastic_stiffness;
        let law = format!("{exponent} {modulus} {cohesion} {friction_angle} {shear_modulus} {elastic}");
        lines.push_str(&format!("{name} {slides} {law} {slip}\n"));
    }
    running.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = running.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let figures = text.lines().map(|line| {
        let numbers: Vec<f64> = line.split(' ').skip(2).map(|number| number.parse().unwrap()).collect();
        [numbers[0], numbers[1]]
    });
    Some(figures.collect())
}

/// Sinkage, m, and pull, N, of the closed form, with the largest stress at a part of the entry angle.
fn closed(name: &str, slip: f64, peak: [f64; 2]) -> [f64; 2] {
    let soil = Soil { peak, ..Soil::named(name).unwrap() };
    let wheel =
        SteadyWheel { radius: RADIUS, width: WIDTH, shear_radius: RADIUS, slip, slip_angle: 0.0, gravity: GRAVITY };
    let (sinkage, forces) = wheel.under_load(&soil, LOAD).unwrap();
    [sinkage, forces.drawbar_pull]
}

/// Three soils at two slips, because the script takes seconds for each; all with `SIMPARTNER_LONG_TESTS=1`.
fn cases() -> impl Iterator<Item = (&'static str, f64)> {
    let is_long = std::env::var_os("SIMPARTNER_LONG_TESTS").is_some();
    let (soils, slips) = if is_long { (1, 1) } else { (2, 3) };
    SOILS
        .into_iter()
        .step_by(soils)
        .flat_map(move |name| SLIPS.into_iter().step_by(slips).map(move |slip| (name, slip)))
}

/// With the same assumptions: the largest stress below the axle, soil that does not rise again behind it, and the slide
/// of the rim.
#[test]
fn a_wheel_sinks_and_pulls_as_an_independent_program_has_it() {
    let Some(found) = scm("rim", 1e3) else { return };
    for ((name, slip), [sinkage, pull]) in cases().zip(found) {
        let [depth, force] = closed(name, slip, [0.0; 2]);
        println!("{name} {slip}: {:.3} mm, closed {:.3}; {pull:.3} N, closed {force:.3}", 1e3 * sinkage, 1e3 * depth);
        assert!((sinkage / depth - 1.0).abs() < 0.1, "{name} {slip}: {sinkage}, not {depth}");
        assert!((pull - force).abs() < 0.1 * LOAD, "{name} {slip}: {pull}, not {force}");
    }
}

/// SCM as published is another model, by three assumptions: stress is largest below the axle and not at Wong and
/// Reece's peak in front of it, so the wheel sinks in less; soil rises behind it and carries there; and shear grows
/// with the slide that a place of the ground has seen, which is 1 / (1 - s) times that of the rim, so it pulls more,
/// and more so the more it slips.
#[test]
fn the_soil_contact_model_sinks_less_and_pulls_more_than_wong_and_reece() {
    let Some(found) = scm("node", 1.0) else { return };
    for ((name, slip), [sinkage, pull]) in cases().zip(found) {
        let [depth, force] = closed(name, slip, Soil::PEAK);
        println!("{name} {slip}: {:.3} mm, Wong {:.3}; {pull:.3} N, Wong {force:.3}", 1e3 * sinkage, 1e3 * depth);
        assert!((0.6..0.8).contains(&(sinkage / depth)), "{name} {slip}: {sinkage}, {depth}");
        assert!(pull > force, "{name} {slip}: {pull}, {force}");
    }
}

/// The port of a SoilSensor sends the logged values, in the same step: a wheel at rest carries its weight, and nothing
/// moves.
#[test]
fn the_port_of_a_soil_sensor_reads_what_is_logged() {
    let text = "<world name='sand'><surface soil='drySand'/><gravity y='-9.81'/><robot name='R'>\
                <body name='Wheel'><mass>6.6</mass><pose y='0.1'/><cylinder radius='0.09' length='0.11' axis='z'/></body>\
                <sensor type='SoilSensor' name='Soil' body='Wheel' port='0'/></robot></world>";
    let Document::World(world) = read_text("sand.xml", text).unwrap_or_else(|problems| panic!("{problems}")) else {
        unreachable!("the text is a world")
    };
    let rig = Rig::with(
        world,
        settings(),
        ClockSettings { mode: Mode::Fast, start_paused: true, ..ClockSettings::default() },
    );
    let place = rig.layout().device(DeviceId::new(0));
    assert!(Client::connect(rig.control).ask("STEP 1500").starts_with("OK state=PAUSED step=1500 "));
    let told = Client::connect(rig.devices[0]).ask("<read>");
    let numbers = told.trim_matches(['<', '>']);
    let (_, records) = rig.end();
    let logged = &records.iter().find(|record| record.step.0 == 1500).unwrap().values[place];
    let numbers: Vec<f64> = numbers.split(',').map(|number| number.parse().unwrap()).collect();
    assert_eq!(numbers, logged);
    let [sinkage, slip, _, normal, pull, lateral, _, torque] = numbers[..] else { panic!("{told}") };
    assert!((normal / (6.6 * 9.81) - 1.0).abs() < 1e-3 && sinkage > 0.005 && sinkage < 0.03, "{told}");
    assert!([slip, pull, lateral, torque].iter().all(|number| number.abs() < 1e-3), "{told}");
}
