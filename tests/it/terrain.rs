//! Terrain from files: a run stores its files, and `simpartner terrain` describes a file.

use std::fs;

use simpartner_description::dem::Dem;

use crate::{
    cli::{Scratch, output, text},
    replay::{execute, is_the_same},
};

const WORLD: &str = "<world name='T'>
  <surface d='-3'/>
  <heightfield file='hills.tif' heading='0.4' y='0.1' cell='0.5'/>
  <ground><triangleMesh file='ramp.stl'><pose x='8'/></triangleMesh></ground>
  <robot name='R'><body name='Ball'><mass>1</mass><pose x='0.3' y='1.5'/><sphere radius='0.2'/></body>
    <sensor type='PositionSensor' name='Where' body='Ball' port='0'/></robot>
</world>";

/// A world on a GeoTIFF with a hole and on a mesh, with its files beside it.
fn project(scratch: &Scratch) -> String {
    let height = |index: usize| {
        if index == 200 {
            f64::NAN
        } else {
            0.2 * ((index / 21) as f64 * 0.7).sin() * ((index % 21) as f64 * 0.5).cos()
        }
    };
    let dem = Dem {
        points_x: 21,
        points_z: 21,
        spacing: Some([0.5, 0.5]),
        white: None,
        heights: (0..441).map(height).collect(),
    };
    fs::write(scratch.path("hills.tif"), dem.write("hills.tif").unwrap()).unwrap();
    fs::write(scratch.path("ramp.stl"), dem.write("ramp.stl").unwrap()).unwrap();
    scratch.write("world.xml", WORLD)
}

#[test]
fn a_run_on_terrain_is_replayed_and_forked_from_its_log_alone() {
    let scratch = Scratch::new();
    let (world, database) = (project(&scratch), scratch.database("run.db"));
    let made = output(&["run", "--mode", "fast", "--duration", "0.6", "--world", &world, "--database", &database]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let tif = fs::read(scratch.path("hills.tif")).unwrap();
    for file in ["hills.tif", "ramp.stl", "world.xml"] {
        fs::remove_file(scratch.path(file)).unwrap();
    }
    is_the_same(&output(&["replay", "1", "--database", &database]));
    let forked = output(&["fork", "1", "--at", "300", "--database", &database]);
    assert!(forked.status.success(), "{}", text(&forked.stderr));
    is_the_same(&output(&["replay", "2", "--database", &database]));
    // The file is in the log unchanged, under the hash of b3sum.
    let files = "SELECT hex(content) = :bytes AS same, blake3 FROM simulationFile WHERE path LIKE '%hills.tif' AND simulationID = 1";
    let hex: String = tif.iter().map(|byte| format!("{byte:02X}")).collect();
    let files = files.replace(":bytes", &format!("'{hex}'"));
    let found = output(&["query", "1", &files, "--database", &database, "--format", "csv"]);
    let hash = blake3::hash(&tif).to_hex();
    assert!(text(&found.stdout).contains(&format!("1,{hash}")), "{}{}", text(&found.stdout), text(&found.stderr));
    let exported = output(&[
        "export",
        "1",
        "--format",
        "mcap",
        "--database",
        &database,
        "--output",
        &scratch.path("run").to_string_lossy(),
    ]);
    assert!(exported.status.success(), "{}", text(&exported.stderr));
    // A changed byte is reported.
    execute(&scratch, "UPDATE simulationFile SET content = zeroblob(length(content)) WHERE path LIKE '%hills.tif'");
    let made = output(&["replay", "1", "--database", &database]);
    assert!(
        text(&made.stderr).contains("hills.tif in the log is not the one that was logged"),
        "{}",
        text(&made.stderr)
    );
}

#[test]
fn the_verb_tells_converts_and_draws() {
    let scratch = Scratch::new();
    project(&scratch);
    let path = |name: &str| scratch.path(name).to_string_lossy().into_owned();
    let (file, asc, png, relief, svg) =
        (path("hills.tif"), path("h.asc"), path("h.png"), path("relief.png"), path("relief.svg"));
    let made = output(&["terrain", &file, "-o", &asc, "-o", &png, "--relief", &relief, "--json"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let report: serde_json::Value = serde_json::from_slice(&made.stdout).unwrap();
    assert_eq!(
        (&report["samples"], &report["extent_m"]),
        (&serde_json::json!([21, 21]), &serde_json::json!([10.0, 10.0]))
    );
    assert_eq!((report["no_data"].as_u64(), report["holes"].as_u64()), (Some(1), Some(4)));
    assert!(report["slope_max_deg"].as_f64().unwrap() > 1.0);
    let dem = Dem::open(&scratch.path("h.asc")).unwrap();
    assert_eq!((dem.points_x, dem.spacing), (21, Some([0.5, 0.5])));
    assert!(dem.height(9, 11).is_nan());
    // The relief is coloured, so it is no height map.
    assert!(Dem::open(&scratch.path("relief.png")).unwrap_err().to_string().contains("grey levels"));
    let [scale, offset] = [0, 1].map(|place| report["written"][1]["scale_offset"][place].to_string());
    let drawn = output(&[
        "terrain",
        &png,
        "--spacing",
        "0.5",
        "--scale",
        &scale,
        "--offset",
        &offset,
        "--cell",
        "0.25",
        "--relief",
        &svg,
    ]);
    let out = text(&drawn.stdout);
    assert!(
        drawn.status.success() && out.contains("41 x 41 samples") && out.contains("every 0.250000 m"),
        "{out}{}",
        text(&drawn.stderr)
    );
    assert!(fs::read_to_string(&svg).unwrap().contains("10 m x 10 m, heights"));
    for (arguments, told) in [
        (vec!["terrain", &svg], "no known kind of data file"),
        (vec!["terrain", "none.tif"], "cannot open 'none.tif'"),
        (vec!["terrain", &file, "-o", "a.xyz"], "no kind of file that can be written"),
        (vec!["terrain", &png, "-o", &asc], "does not say how far its samples are apart"),
        (vec!["terrain", &file, "--cell", "1e-9"], "at most 33554432 are made"),
        (vec!["terrain", &file, "--cell", "0"], "expected a number above 0"),
    ] {
        let refused = output(&arguments);
        assert!(!refused.status.success() && text(&refused.stderr).contains(told), "{}", text(&refused.stderr));
    }
}
