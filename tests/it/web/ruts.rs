//! Ruts sent to pages: all ruts of the engine, for a page that opens at any time, and without effect on the computation
//! of a step.

use std::collections::BTreeMap;

use serde_json::json;
use simpartner::{realtime::Control, sim::Simulation};
use simpartner_description::{World, xml};
use simpartner_dynamics::{RUT_CELL, RUT_TILE};
use simpartner_model::Timestep;
use simpartner_wire::signal::StepRecord;

use super::{
    Rig,
    client::{Page, Ruts, get},
    settings,
};
use crate::{cli::Scratch, scene};

/// Cells by ground and number, and their depths.
type Cells = BTreeMap<(u32, [i64; 2]), f32>;

/// Two rollers with pulling forces; the second on another ground, far below a firm one.
fn rollers() -> World {
    let roller = |name: &str, y: f64, z: f64| {
        format!(
            "<object name='{name}'><mass>12</mass><pose x='-0.7' y='{y}' z='{z}'/><cylinder radius='0.1' length='0.3' axis='z'/></object>"
        )
    };
    let text = format!(
        "<world name='Sand'><gravity x='3' y='-9.81'/><heightfield width='1' depth='1'>-9 -9\n-9 -9</heightfield><surface soil='drySand'/>{}</world>",
        roller("R", 0.1, 0.25)
    );
    let scratch = Scratch::new();
    xml::read_world(std::path::Path::new(&scratch.write("sand.xml", &text))).unwrap()
}

/// The same world without a server.
fn alone(steps: u64) -> (Simulation, StepRecord) {
    let mut simulation = Simulation::new(rollers().into(), Timestep::MILLISECOND, scene::settings()).unwrap();
    let mut record = StepRecord::new(simulation.layout());
    (0..steps).for_each(|_| simulation.step(&mut record));
    (simulation, record)
}

fn pressed(simulation: &Simulation) -> Cells {
    let grounds = 0..simulation.world().mechanism.grounds.len();
    let cell = |along: f64| (along / RUT_CELL).floor() as i64;
    let of = |ground: usize| {
        let ruts = simulation.ruts(ground).into_iter();
        ruts.map(move |rut| ((ground as u32, rut.centre.map(cell)), rut.depth as f32))
    };
    grounds.flat_map(of).collect()
}

/// Adds a message to the page's known cells.
fn take(known: &mut Cells, Ruts { anew, tiles, .. }: Ruts) {
    if anew {
        known.clear();
    }
    for (ground, tile, depths) in tiles {
        for (index, depth) in depths.into_iter().enumerate().filter(|(_, depth)| *depth > 0.0) {
            let place = [index % RUT_TILE, index / RUT_TILE];
            let cell = [0, 1].map(|axis| i64::from(tile[axis]) * RUT_TILE as i64 + place[axis] as i64);
            known.insert((ground, cell), depth);
        }
    }
}

/// Reads until the page knows these cells; requested data arrives in a bounded time, otherwise the page is abandoned.
fn until(page: &mut Page, known: &mut Cells, wanted: &Cells) {
    while known != wanted {
        take(known, page.ruts());
    }
}

#[test]
fn a_page_knows_all_ruts_that_the_engine_has_whenever_it_comes() {
    let rig = Rig::of(rollers(), settings(), None);
    let mut idle = Page::open(rig.page);
    let mut early = Page::open(rig.page);
    early.say(json!({ "ruts": { "hz": 10 } }));
    let mut known = Cells::new();
    // A row of the rollers has 30 cells. In 0.3 s they move by 4 cm out of their initial pits, which do not push them.
    for (more, steps) in [(300, 300), (200, 500)] {
        rig.step(more);
        let wanted = pressed(&alone(steps).0);
        println!("{} cells after {steps} steps", wanted.len());
        assert!(wanted.len() > 100 && wanted.keys().all(|(ground, _)| *ground == 1));
        until(&mut early, &mut known, &wanted);
    }
    let mut late = Page::open(rig.page);
    late.say(json!({ "ruts": { "hz": 5 } }));
    let first = late.ruts();
    assert!(first.anew && !first.tiles.is_empty());
    let mut found = Cells::new();
    take(&mut found, first);
    until(&mut late, &mut found, &known);
    // A page that has not asked is sent none.
    let frame = idle.frame_that(|frame| frame.step == 500);
    assert!(frame.number < 10);
    // The same bits as without a page.
    let log = rig.end();
    let (_, record) = alone(500);
    let bits = |record: &StepRecord| record.values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(log.last().unwrap()), bits(&record));
}

#[test]
fn after_a_reset_a_page_forgets_and_learns_again() {
    let rig = Rig::of(rollers(), settings(), None);
    let mut page = Page::open(rig.page);
    page.say(json!({ "ruts": { "hz": 10 } }));
    let mut known = Cells::new();
    rig.step(300);
    until(&mut page, &mut known, &pressed(&alone(300).0));
    rig.runtime.block_on(rig.handle.control(Control::Reset)).unwrap();
    until(&mut page, &mut known, &Cells::new());
    rig.step(100);
    until(&mut page, &mut known, &pressed(&alone(100).0));
    // Switched off and on again, a page continues from its known cells.
    page.say(json!({ "ruts": { "hz": 0 } }));
    rig.step(100);
    page.say(json!({ "ruts": { "hz": 10 } }));
    let next = page.ruts();
    assert!(!next.anew);
    take(&mut known, next);
    until(&mut page, &mut known, &pressed(&alone(200).0));
    rig.end();
}

#[test]
fn the_scene_says_which_grounds_have_ruts_and_how_their_cells_are_counted() {
    let rig = Rig::of(rollers(), settings(), None);
    let grounds = get(rig.page, "/scene.json", &[]).json()["grounds"].clone();
    assert_eq!(grounds[0]["ruts"], json!(null));
    assert_eq!(grounds[1]["ruts"], json!({ "cell": 0.01, "tile": 32, "axes": [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]] }));
    let mut page = Page::open(rig.page);
    for nonsense in ["{\"ruts\":5}", "{\"ruts\":{\"hz\":\"5\"}}", "{\"ruts\":{}}"] {
        page.socket.send(tungstenite::Message::text(nonsense)).unwrap();
        assert!(page.reply(&json!(null)).contains("of watch, of ruts or of on_close"), "{nonsense}");
    }
    rig.end();
}
