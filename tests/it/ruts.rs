//! Ruts of logged runs, written as elevation models by `simpartner replay --ruts`.

use std::process::Output;

use simpartner_description::dem::Dem;

use crate::cli::{Scratch, output, text};

/// Of the roller, m.
const RADIUS: f64 = 0.1;
const WIDTH: f64 = 0.3;

/// A roller, its axle along z, on ground that slopes down towards x; or on level ground with a pulling force.
fn roll(scratch: &Scratch, ground: &str, gravity: [f64; 2], start: [f64; 2]) -> String {
    let ([gx, gy], [x, y]) = (gravity, start);
    let world = format!(
        "<world name='Sand'><gravity x='{gx}' y='{gy}'/>{ground}
           <robot name='R'><body name='Roller'><mass>12</mass><pose x='{x}' y='{y}' z='0.2'/><cylinder radius='{RADIUS}' length='{WIDTH}' axis='z'/></body>
             <sensor type='SoilSensor' name='Soil' body='Roller' port='0'/><sensor type='PositionSensor' name='Where' body='Roller' port='0'/></robot>
         </world>"
    );
    let (world, database) = (scratch.write("world.xml", &world), scratch.database("run.db"));
    let made = output(&["run", "--mode", "fast", "--duration", "1", "--world", &world, "--database", &database]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    database
}

fn replay(database: &str, more: &[&str]) -> Output {
    output(&[&["replay", "last", "--database", database], more].concat())
}

fn ruts(scratch: &Scratch, database: &str, name: &str, more: &[&str]) -> (Dem, String) {
    let path = scratch.path(name);
    let made = replay(database, &[&["--ruts", &path.to_string_lossy()], more].concat());
    assert!(made.status.success(), "{}{}", text(&made.stdout), text(&made.stderr));
    (Dem::open(&path).unwrap(), text(&made.stdout))
}

/// The numbers that a query of the log finds in its first row.
fn logged(database: &str, what: &str, table: &str) -> Vec<f64> {
    let query = format!("SELECT {what} FROM {table}");
    let found = output(&["query", "last", &query, "--database", database, "--format", "csv"]);
    let out = text(&found.stdout);
    let row = out.lines().nth(1).unwrap_or_else(|| panic!("{out}{}", text(&found.stderr)));
    row.split(',').map(|number| number.parse().unwrap()).collect()
}

/// x and z of the middle of the written rectangle.
fn middle(told: &str) -> [f64; 2] {
    ["x = ", "z = "].map(|axis| {
        let number = told.split(axis).nth(1).unwrap().split([',', ';']).next().unwrap();
        number.parse().unwrap()
    })
}

#[test]
fn a_rut_is_where_a_roller_went_and_as_deep_as_it_sank() {
    let scratch = Scratch::new();
    let database = roll(&scratch, "<surface soil='drySand' d='0.5'/>", [3.0, -9.81], [-3.0, 0.5 + RADIUS]);
    let (dem, told) = ruts(&scratch, &database, "ruts.tif", &[]);
    let sunk = logged(&database, "max(sinkage)", "soilSensor")[0];
    let way = logged(&database, "max(x) - min(x)", "positionSensor")[0];
    let (low, high) = dem.range().unwrap();
    println!("{told} sank {sunk} m, from {low} to {high} m, went {way} m");
    assert!((high - 0.5).abs() < 1e-6, "the sand around it is as it was: {high}");
    // Elastic recovery of the sand behind it.
    assert!((0.9..=1.001).contains(&((0.5 - low) / sunk)), "{} of {sunk}", 0.5 - low);
    let [along, across] = [0, 1].map(|axis| 0.01 * ([dem.points_x, dem.points_z][axis] as f64 - 5.0));
    // 36 N pull it out of its initial pit at 0.14 m/s. The soil behind has recovered by p/k_e, 0.04 mm, and exerts no
    // more force. Then soil resists by 0.27 of its load in the closed form, at slips of -0.1 to -0.06: (36 - 0.27 *
    // 118) / (1.5 * 12) = 0.23 m/s² for 0.9 s, 0.14 * 0.9 + 0.23 * 0.9² / 2 = 0.22 m.
    assert!(way > 0.2 && (along - way).abs() < RADIUS, "{along} of {way}");
    assert!((across - WIDTH).abs() < 0.021, "{across}");
    let [x, z] = middle(&told);
    assert!((x - (-3.0 + 0.5 * way)).abs() < 0.5 * RADIUS && (z - 0.2).abs() < 0.011, "{x}, {z}");
    // Half of the way, in larger cells, as another format.
    let (coarse, _) = ruts(&scratch, &database, "ruts.asc", &["--until", "500", "--cell", "0.05"]);
    assert_eq!(coarse.spacing, Some([0.05; 2]));
    assert!(coarse.points_x as f64 * 0.05 < dem.points_x as f64 * 0.01 && coarse.range().unwrap().0 >= low - 1e-6);
}

/// The same slope as a plane, as terrain and as triangles above others, far from the origin, where a small change of
/// the normal would move a position along the ground considerably.
#[test]
fn ruts_on_terrain_and_triangles_are_those_of_the_same_plane() {
    let written = [
        "<surface a='0.3' b='1' d='-10' soil='clay'/>",
        "<heightfield file='slope.csv' width='60' depth='4' soil='clay'/>",
        "<ground soil='clay'><triangleMesh file='slope.obj'/></ground>",
    ]
    .map(|ground| {
        let scratch = Scratch::new();
        let line = |i: u32| format!("{}\n", vec![(-10.0 - 0.3 * (f64::from(i) - 30.0)).to_string(); 5].join(","));
        scratch.write("slope.csv", &(0..=60).map(line).collect::<String>());
        // Its corners are at odd places; the lower layer is never touched.
        let corner = |[x, z, below]: [f64; 3]| format!("v {x} {} {z}\n", -10.0 - 0.3 * x - below);
        let corners = [[-30.0, -2.0, 0.0], [30.0, -2.0, 0.0], [30.0, 2.0, 0.0], [-30.0, 2.0, 0.0], [20.1, 0.21, 0.0]];
        let below = [[-30.0, -2.0, 1.0], [30.0, -2.0, 1.0], [0.0, 2.0, 1.0]];
        let faces = "f 1 5 2\nf 2 5 3\nf 3 5 4\nf 4 5 1\nf 6 7 8\n";
        scratch.write("slope.obj", &(corners.into_iter().chain(below).map(corner).collect::<String>() + faces));
        let start = [20.0, -16.0 + RADIUS * 1.09_f64.sqrt()];
        let database = roll(&scratch, ground, [0.0, -9.81], start);
        let (dem, told) = ruts(&scratch, &database, "ruts.tif", &[]);
        println!("{told}");
        // Lowest height at x in the file, along the middle of the roller.
        let lowest = (0..dem.points_x).map(|i| {
            let x = middle(&told)[0] + 0.01 * (i as f64 - 0.5 * (dem.points_x - 1) as f64);
            -10.0 - 0.3 * x - dem.height(i, dem.points_z / 2)
        });
        (dem.points_x, middle(&told)[0], lowest.fold(0.0, f64::max))
    });
    println!("{written:?}");
    let [plane, others @ ..] = written;
    assert!(plane.0 > 20 && plane.1 > 20.0 && plane.2 > 1e-3, "{written:?}");
    for other in others {
        assert!(plane.0.abs_diff(other.0) <= 2, "{written:?}");
        assert!((plane.1 - other.1).abs() < 0.02, "{written:?}");
        assert!((plane.2 / other.2 - 1.0).abs() < 0.05, "{written:?}");
    }
}

#[test]
fn what_has_no_ruts_and_what_cannot_be_written_is_told() {
    let scratch = Scratch::new();
    let database = roll(&scratch, "<surface/>", [0.0, -9.81], [0.0, RADIUS]);
    let path = scratch.path("ruts.asc");
    for (arguments, told) in [
        (&["--ruts", &*path.to_string_lossy()][..], "no ground with soil and heights was pressed"),
        (&["--ruts", "ruts.asc", "--cell", "0.001"], "expected at least 0.01"),
        (&["--cell", "0.1"], "--ruts"),
    ] {
        let made = replay(&database, arguments);
        assert!(!made.status.success() && text(&made.stderr).contains(told), "{arguments:?}: {}", text(&made.stderr));
    }
    assert!(!path.exists());
}
