//! Elevation models written by GDAL and PIL (`dem/make.py`), sample by sample; writing and reading back; and malicious
//! files.

#![allow(clippy::unwrap_used)]

use std::{fs, path::PathBuf};

use simpartner_description::{
    dem::{Dem, Survey},
    mesh::Mesh,
    xml,
};
use simpartner_model::{Ground, Heightfield, random::Stream};

const COLUMNS: usize = 7;
const ROWS: usize = 5;

fn file(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/dem", name].iter().collect()
}

fn open(name: &str) -> Dem {
    Dem::open(&file(name)).unwrap_or_else(|problem| panic!("{name}: {problem}"))
}

/// The height of column i from the west and row j from the north, as in `make.py`; NaN at its hole.
fn height(i: usize, j: usize) -> f64 {
    let (x, z) = (i as f64, j as f64);
    if (i, j) == (2, 1) { f64::NAN } else { 100.0 + 7.0 * x - 3.0 * z + x * z + 0.125 * x }
}

#[track_caller]
fn check(name: &str, spacing: Option<[f64; 2]>, expected: impl Fn(usize, usize) -> f64) {
    let dem = open(name);
    assert_eq!((dem.points_x, dem.points_z), (COLUMNS, ROWS), "{name}");
    for (i, j) in (0..COLUMNS).flat_map(|i| (0..ROWS).map(move |j| (i, j))) {
        let (found, expected) = (dem.height(i, j), expected(i, j));
        let same = found == expected || found.is_nan() && expected.is_nan();
        assert!(same, "{name}, column {i}, row {j}: {found} in place of {expected}");
    }
    match (dem.spacing, spacing) {
        (Some(found), Some(expected)) => {
            let off = (0..2).map(|k| (found[k] / expected[k] - 1.0).abs()).fold(0.0, f64::max);
            assert!(off < 1e-8, "{name}: {found:?} in place of {expected:?}");
        }
        (found, expected) => assert_eq!(found, expected, "{name}"),
    }
}

/// Arc seconds at 60 degrees north, metres: the lengths of a degree are those of Snyder's table of the ellipsoid.
const SECOND: [f64; 2] = [55_800.257 / 3600.0, 111_412.274 / 3600.0];

#[test]
fn files_of_other_programs_hold_what_they_wrote() {
    let metres = Some([10.0, 10.0]);
    for name in ["float32.tif", "float64_big.tif", "float32_tiled.tif", "gdal.asc"] {
        check(name, metres, height);
    }
    let whole = |i, j| height(i, j).floor();
    for name in ["int16_lzw.tif", "int32.tif", "usgs.dem"] {
        check(name, metres, whole);
    }
    // GDAL turned the hole into the least value of the type.
    for name in ["byte.tif", "uint16_big_endian.tif"] {
        check(name, metres, whole);
    }
    check("scaled.tif", metres, |i, j| whole(i, j) * 0.1 + 5.0);
    check("feet.tif", Some([10.0 * 1200.0 / 3937.0; 2]), whole);
    // GDAL marks the no-data level by transparency.
    check("gdal16.png", None, whole);
    check("grey16.png", None, |i, j| if (i, j) == (2, 1) { 0.0 } else { whole(i, j) });
    check("grey8.png", None, |i, j| if (i, j) == (2, 1) { 0.0 } else { whole(i, j) });
    check("grey8_alpha.png", None, whole);
}

#[test]
fn degrees_are_as_long_as_on_the_ellipsoid() {
    for name in ["degrees.tif", "usgs_degrees.dem"] {
        let dem = open(name);
        let [across, along] = dem.spacing.unwrap();
        assert!((across / SECOND[0] - 1.0).abs() < 1e-4 && (along / SECOND[1] - 1.0).abs() < 1e-4, "{across} {along}");
        assert_eq!(dem.height(6, 4), height(6, 4).floor());
    }
}

#[test]
fn srtm_tiles_are_a_degree_each_way() {
    for (name, samples, latitude) in
        [("N60E024.hgt", 3601, Some(60.5)), ("s33w070.hgt", 1201, Some(-32.5)), ("x.hgt", 1201, None)]
    {
        let mut bytes = Vec::new();
        for (row, column) in (0..samples).flat_map(|row| (0..samples).map(move |column| (row, column))) {
            let value = if (row, column) == (3, 5) { -32_768 } else { (row % 100 * 100 + column % 100) as i16 - 500 };
            bytes.extend(value.to_be_bytes());
        }
        let dem = Dem::read(name, &bytes).unwrap();
        assert_eq!((dem.points_x, dem.points_z, dem.height(7, 99)), (samples, samples, 9407.0));
        assert!(dem.height(5, 3).is_nan() && Survey::of(&dem).no_data == 1);
        let along = dem.spacing.map(|[_, along]| along * (samples - 1) as f64);
        assert_eq!(along.is_some(), latitude.is_some(), "{name}");
        assert!(along.is_none_or(|along| (110_800.0..111_500.0).contains(&along)), "{along:?}");
    }
}

const ELEVATION_GRID: &str = "#VRML V2.0 utf8\n# from a modeller\nTransform { children [ Shape {\n  appearance Appearance { \
    material Material { diffuseColor 1 0 0 } }\n  geometry DEF G ElevationGrid { xDimension 3 zDimension 2, xSpacing 2.5 zSpacing .5\n \
    solid FALSE creaseAngle 0.8 height [ 1 2 3, 4 5 6.5 ] } } ] }\nROUTE G.x TO G.y\n";

#[test]
fn an_elevation_grid_lies_along_x_and_z() {
    let dem = Dem::read("g.wrl", ELEVATION_GRID.as_bytes()).unwrap();
    assert_eq!((dem.points_x, dem.points_z, dem.spacing), (3, 2, Some([2.5, 0.5])));
    assert_eq!((dem.height(0, 0), dem.height(2, 0), dem.height(2, 1)), (1.0, 3.0, 6.5));
}

/// One file may be terrain and a mesh of the same world: the log has its bytes, and the text of the mesh.
#[test]
fn a_file_that_is_heights_and_a_mesh_is_kept_as_both() {
    let faces = "Shape { geometry IndexedFaceSet { coord Coordinate { point [0 0 0, 1 0 0, 1 0 -1] } coordIndex [0 1 2 -1] } }\n";
    let scratch = tempfile::tempdir().unwrap();
    std::fs::write(scratch.path().join("g.wrl"), format!("{ELEVATION_GRID}{faces}")).unwrap();
    let heights = r#"<heightfield file="g.wrl"/>"#;
    let mesh = r#"<ground><triangleMesh file="g.wrl"/></ground>"#;
    for both in [format!("{heights}{mesh}"), format!("{mesh}{heights}")] {
        let world = scratch.path().join("w.xml");
        std::fs::write(&world, format!("<world>{both}</world>")).unwrap();
        let world = xml::read_world(&world).unwrap_or_else(|problems| panic!("{problems}"));
        let again = xml::read_kept(&world.sources).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!((world.sources.len(), again.mechanism.grounds.len()), (3, 2));
        assert_eq!(again.mechanism.grounds, world.mechanism.grounds);
    }
}

/// Written files are read back, including holes: exactly for text and TIFF, to half a level for PNG.
#[test]
fn every_format_that_is_written_reads_back() {
    let dem = open("float32.tif");
    let same = |one: f64, other: f64| one == other || one.is_nan() && other.is_nan();
    for name in ["a.asc", "a.tif"] {
        let back = Dem::read(name, &dem.write(name).unwrap()).unwrap();
        assert_eq!(back.spacing, dem.spacing);
        assert!(back.heights.iter().zip(&dem.heights).all(|(one, other)| same(*one, *other)), "{name}");
    }
    let mut back = Dem::read("a.csv", &dem.write("a.csv").unwrap()).unwrap();
    back.without(-9999.0);
    assert!(back.heights.iter().zip(&dem.heights).all(|(one, other)| same(*one, *other)));
    let back = Dem::read("a.png", &dem.write("a.png").unwrap()).unwrap();
    let [scale, offset] = dem.png_scale();
    for (level, height) in back.heights.iter().zip(&dem.heights) {
        let off = level * scale + offset - height;
        assert!(off.abs() <= 0.5001 * scale || off.is_nan() && height.is_nan(), "{off}");
    }
    for name in ["a.obj", "a.stl"] {
        let mesh = Mesh::read(name, &dem.write(name).unwrap(), |_| None).unwrap();
        // All cells but the four around the hole; the hole itself, and the point north of it that has no other cells,
        // are left out.
        assert_eq!((mesh.triangles.len(), mesh.vertices.len()), (2 * (6 * 4 - 4), COLUMNS * ROWS - 2), "{name}");
        let up = mesh.triangles.iter().map(|corners| corners.map(|corner| mesh.vertices[corner as usize]));
        assert!(up.into_iter().all(|[a, b, c]| (b - a).cross(c - a).y > 0.0), "{name}");
    }
}

/// A tilted plane: extent and slopes are known.
#[test]
fn a_survey_says_extent_range_and_slopes() {
    let heights = (0..21 * 11).map(|index| 2.0 * (index / 11) as f64).collect();
    let mut dem = Dem { points_x: 21, points_z: 11, spacing: Some([2.0, 3.0]), white: None, heights };
    let survey = Survey::of(&dem);
    assert_eq!(
        (survey.extent_m, survey.range_m, survey.no_data, survey.holes),
        (Some([40.0, 30.0]), Some([0.0, 40.0]), 0, 0)
    );
    for slope in [survey.slope_mean_deg, survey.slope_p95_deg, survey.slope_max_deg] {
        assert!((slope.unwrap() - 45.0).abs() < 1e-5, "{slope:?}");
    }
    dem.heights[5 * 11 + 5] = f64::NAN;
    let survey = Survey::of(&dem);
    assert_eq!((survey.no_data, survey.holes), (1, 4));
}

fn world(name: &str, attributes: &str) -> Result<Heightfield, String> {
    let text = format!("<world><heightfield file=\"{name}\" {attributes}/></world>");
    let document = xml::read_text(file("w.xml").to_str().unwrap(), &text).map_err(|problems| problems.to_string())?;
    let xml::Document::World(world) = document else { panic!("no world") };
    match world.mechanism.grounds.into_iter().next() {
        Some(Ground::Heightfield(field)) => Ok(field),
        other => panic!("{other:?}"),
    }
}

#[test]
fn terrain_is_cut_scaled_resampled_and_placed() {
    let whole = world("float32.tif", "").unwrap();
    assert_eq!((whole.width, whole.depth, whole.cells().count()), (60.0, 40.0, 24 - 4));
    assert_eq!((whole.height(6, 0), whole.point(6, 0).to_array()), (height(6, 0), [30.0, height(6, 0), -20.0]));
    let part = world("float32.tif", "firstX='3' lastX='5' firstZ='1' scale='2' offset='-1'").unwrap();
    assert_eq!((part.points_x, part.points_z, part.width, part.depth), (3, 4, 20.0, 30.0));
    assert_eq!(part.height(0, 0), 2.0 * height(3, 1) - 1.0);
    // From 25 m on, the first point is at 30 m, and up to 54 m the last one at 50 m.
    let same = world("float32.tif", "fromX='25' toX='54' fromZ='10' toZ='40' scale='2' offset='-1'").unwrap();
    assert_eq!(same, part);
    let fine = world("float32.tif", "firstX='3' cell='4.9'").unwrap();
    assert_eq!((fine.points_x, fine.points_z, fine.width), (7, 9, 30.0));
    assert_eq!(fine.height(1, 2), 0.5 * (height(3, 1) + height(4, 1)));
    let placed = world("float32.tif", "x='100' y='-50' z='7' heading='1.5707963267948966'").unwrap();
    // A clockwise rotation seen from above takes its east, x, to south, z.
    let corner = placed.point(6, 0);
    assert!((corner - bevy_math::DVec3::new(120.0, height(6, 0) - 50.0, 37.0)).length() < 1e-9, "{corner}");
    // A PNG file has no spacing, and its hole is a value.
    let levels = world("grey8.png", "width='6' depth='4' noData='0'").unwrap();
    assert!(levels.height(2, 1).is_nan() && levels.width == 6.0);
}

#[test]
fn what_cannot_be_cut_or_resampled_is_told() {
    for (attributes, told) in [
        ("firstX='6'", "of 7 grid points fewer than two are left between firstX or fromX and lastX or toX"),
        ("firstX='4' lastX='2'", "fewer than two are left"),
        ("fromZ='100'", "of 5 grid points fewer than two are left"),
        ("firstX='1' toX='20'", "firstX and toX both say where to cut; leave one out"),
        ("cell='0.001'", "a terrain has from 2 x 2 to 4096 x 4096 heights, this one 60001 x 40001"),
        (
            "noData='100' firstX='1' lastX='2' firstZ='0' lastZ='1'",
            "no cell of this terrain has heights at all of its corners",
        ),
        ("rows='8'", "rows is 8, but the data hold 7"),
        ("scale='1e300'", "heights are from -1e6 to 1e6 m"),
        ("cell='0'", "expected a number above 0"),
        ("heading='x'", "expected a finite number"),
    ] {
        let problem = world("float32.tif", attributes).expect_err(attributes);
        assert!(problem.contains(told), "{attributes}: {problem}");
    }
    let problem = world("grey16.png", "").unwrap_err();
    assert!(problem.contains("lacks the attribute 'width'"), "{problem}");
    assert!(world("none.tif", "").unwrap_err().contains("cannot open"));
    assert!(world("make.py", "").unwrap_err().contains("it takes .csv, .asc, .tif"));
}

#[test]
fn all_terrains_together_are_bounded() {
    let largest = "<heightfield width='4095' depth='4095' cell='1'>1 1\n1 1</heightfield>";
    let read = |count: usize| xml::read_text("w.xml", &format!("<world>{}</world>", largest.repeat(count)));
    assert!(read(2).is_ok());
    let problem = read(3).unwrap_err().to_string();
    assert!(problem.contains("with this terrain there are more than 33554432 grid points"), "{problem}");
    let planes =
        xml::read_text("w.xml", &format!("<world>{}</world>", "<surface/>".repeat(257))).unwrap_err().to_string();
    assert!(planes.contains("a world has at most 256 grounds"), "{planes}");
}

/// A surface that trimesh wrote, and the same as VRML97 with a transform.
#[test]
fn surfaces_come_from_meshes() {
    let stands = |name: &str, attributes: &str| {
        let text = format!(
            "<world><ground><triangleMesh file=\"{name}\" {attributes}><pose y=\"1\"/></triangleMesh></ground></world>"
        );
        match xml::read_text(file("w.xml").to_str().unwrap(), &text) {
            Ok(xml::Document::World(world)) => world.mechanism.ground_meshes().next().unwrap().clone(),
            other => panic!("{name}: {other:?}"),
        }
    };
    for name in ["surface.stl", "surface.obj"] {
        let mesh = stands(name, "");
        assert_eq!((mesh.vertices.len(), mesh.triangles.len()), (COLUMNS * ROWS, 2 * 6 * 4), "{name}");
        for (i, j) in (0..COLUMNS).flat_map(|i| (0..ROWS).map(move |j| (i, j))) {
            let height = if (i, j) == (2, 1) { 0.0 } else { height(i, j) };
            let point = bevy_math::DVec3::new(10.0 * i as f64, height + 1.0, 10.0 * j as f64);
            assert!(mesh.vertices.contains(&point), "{name}: {point}");
        }
    }
    let text = "#VRML V2.0 utf8\nTransform { translation 0 2 0 scale 2 1 1 children Transform { rotation 0 1 0 1.5707963267948966 children [\n\
        Shape { geometry IndexedFaceSet { coord DEF C Coordinate { point [0 0 0, 1 0 0, 1 0 -1, 0 0 -1] } coordIndex [0 1 2 3 -1] } }\n\
        Shape { geometry IndexedFaceSet { ccw FALSE coord USE C coordIndex [0, 1, 2, -1, 0, 2, 3] } } ] } }\n";
    let mesh = Mesh::read("s.wrl", text.as_bytes(), |_| None).unwrap();
    assert_eq!((mesh.vertices.len(), mesh.triangles.len()), (8, 4));
    // A quarter turn about y takes x to -z, and -z to -x, which is then twice as long.
    assert!((mesh.vertices[2] - bevy_math::DVec3::new(-2.0, 2.0, -1.0)).length() < 1e-12, "{}", mesh.vertices[2]);
    let up = |corners: [u32; 3]| {
        let [a, b, c] = corners.map(|corner| mesh.vertices[corner as usize]);
        (b - a).cross(c - a).y > 0.0
    };
    assert_eq!(mesh.triangles.iter().map(|corners| up(*corners)).collect::<Vec<_>>(), [true, true, false, false]);
}

/// Sets bytes of a file.
fn with(name: &str, at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = fs::read(file(name)).unwrap();
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

/// The name of a file, its bytes, and its error.
type Broken = (&'static str, Vec<u8>, &'static str);

fn broken_text() -> Vec<Broken> {
    vec![
        ("a.csv", b"".to_vec(), "at least 2 x 2"),
        ("a.csv", b"1,2,3".to_vec(), "this one 1 x 3"),
        ("a.csv", b"1\n2\n3".to_vec(), "this one 3 x 1"),
        ("a.csv", b"1,2\n3".to_vec(), "this row holds 1 heights, the first one 2"),
        ("a.csv", b"1,2\n3,x".to_vec(), "expected a finite number, got 'x'"),
        ("a.csv", b"1,2\n3,1e999".to_vec(), "expected a finite number"),
        ("a.csv", b"1,2\n3,inf".to_vec(), "expected a finite number"),
        ("a.csv", b"1,2\n3,\xff".to_vec(), "not UTF-8 text from byte 6 on"),
        ("a.asc", b"".to_vec(), "an ASCII grid holds"),
        ("a.asc", b"ncols 2\nnrows 2\ncellsize 0\n1 2\n3 4\n".to_vec(), "a cellsize above 0"),
        ("a.asc", b"ncols 2\nnrows 2\ncellsize -1\n1 2\n3 4\n".to_vec(), "a cellsize above 0"),
        ("a.asc", b"ncols 2\nnrows 3\ncellsize 1\n1 2\n3 4\n".to_vec(), "this one has 2 x 3 and 4 heights"),
        ("a.asc", b"ncols 99999999999\nnrows 99999999999\ncellsize 1\n1 2\n".to_vec(), "99999999999 x 99999999999"),
        ("a.asc", b"ncols 2\nnrows 2\ncellsize x\n1 2\n3 4\n".to_vec(), "expected a finite number, got 'x'"),
        ("a.asc", b"ncols 2\nbogus 2\n".to_vec(), "'bogus' is not part of"),
        ("a.asc", b"ncols -2\nnrows -2\ncellsize 1\n1 2\n3 4\n".to_vec(), "0 x 0"),
    ]
}

fn broken_images() -> Vec<Broken> {
    vec![
        ("a.hgt", vec![], "this one has 0 bytes"),
        ("a.hgt", vec![0; 1201 * 1201 * 2 - 1], "samples of 2 bytes"),
        ("a.xyz", vec![], "no known kind of data file"),
        ("noending", vec![], "no known kind of data file"),
        ("a.png", vec![], "the PNG file cannot be read"),
        ("a.png", b"GIF89a".to_vec(), "the PNG file cannot be read"),
        ("a.png", with("grey16.png", 16, &u32::MAX.to_be_bytes()), "PNG file cannot be read"),
        ("a.png", with("grey16.png", 20, &[0; 4]), "PNG file cannot be read"),
        ("a.png", with("grey16.png", 24, &[77]), "PNG file cannot be read"),
        ("a.png", fs::read(file("grey16.png")).unwrap()[..60].to_vec(), "PNG file cannot be read"),
        ("a.tif", vec![], "the TIFF file cannot be read"),
        ("a.tif", b"II*\0".to_vec(), "the TIFF file cannot be read"),
        ("a.tif", b"MM\0*\xff\xff\xff\xff".to_vec(), "the TIFF file cannot be read"),
        ("a.tif", with("float32.tif", 0, b"XX"), "the TIFF file cannot be read"),
        ("a.tif", with("float32.tif", 4, &u32::MAX.to_le_bytes()), "the TIFF file cannot be read"),
        ("a.tif", fs::read(file("float32.tif")).unwrap()[..200].to_vec(), "the TIFF file cannot be read"),
        ("a.tif", fs::read(file("float64_big.tif")).unwrap()[..300].to_vec(), "the TIFF file cannot be read"),
    ]
}

fn broken_usgs() -> Vec<Broken> {
    let usgs = |at: usize, text: &str| with("usgs.dem", at, text.as_bytes());
    vec![
        ("a.dem", vec![], "the file ends within the record at byte 0"),
        ("a.dem", vec![b' '; 1024], "expected the unit of the ground's coordinates at byte 528, got ''"),
        ("a.dem", vec![0xff; 4096], "the file ends within the record"),
        ("a.dem", usgs(528, "     7"), "not 7"),
        ("a.dem", usgs(528, "     x"), "got 'x'"),
        ("a.dem", usgs(534, "     3"), "1 (feet) or 2 (metres), not 3"),
        ("a.dem", usgs(816, "0.000000D+00"), "resolutions are above 0"),
        ("a.dem", usgs(828, "-1.00000D+01"), "resolutions are above 0"),
        ("a.dem", usgs(840, "         NaN"), "the resolution of elevations"),
        ("a.dem", usgs(858, "     1"), "at least 2 profiles"),
        ("a.dem", usgs(858, "999999"), "the file ends within the record"),
        ("a.dem", usgs(1024 + 12, "     9"), "expected an elevation"),
        ("a.dem", usgs(1024 + 12, "999999"), "more elevations than the file"),
        ("a.dem", usgs(1024 + 12, "    -5"), "more elevations than the file"),
        ("a.dem", usgs(1024 + 72, "   x"), "the datum of a profile"),
        ("a.dem", usgs(1024 + 48, "                1.0D+300"), "at most 33554432 samples"),
        ("a.dem", fs::read(file("usgs.dem")).unwrap()[..4000].to_vec(), "the file ends within the record"),
    ]
}

fn broken_vrml() -> Vec<Broken> {
    let vrml = |text: &str| format!("#VRML V2.0 utf8\n{text}").into_bytes();
    vec![
        ("a.wrl", vec![], "a VRML97 file begins with"),
        ("a.wrl", b"#VRML V1.0 ascii\n".to_vec(), "a VRML97 file begins with"),
        ("a.wrl", vrml(""), "no ElevationGrid"),
        ("a.wrl", vrml("ElevationGrid {"), "the file ends where '}' is expected"),
        ("a.wrl", vrml("ElevationGrid { xDimension 2 zDimension 2 height [1 2 3] }"), "2 x 2 samples and 3 heights"),
        ("a.wrl", vrml("ElevationGrid { xDimension 1e9 zDimension 1e9 }"), "1000000000 x 1000000000"),
        ("a.wrl", vrml("ElevationGrid { xDimension 2 zDimension 2 xSpacing 0 height [1 2 3 4] }"), "are above 0"),
        ("a.wrl", vrml("ElevationGrid { xDimension 2 zDimension 2 height [1 2 3 4x] }"), "got '4x'"),
        ("a.wrl", vrml("ElevationGrid { xDimension 2 zDimension 2 height [1 2 3 1e999] }"), "finite number"),
        ("a.wrl", vrml("PROTO A [] { Group {} }"), "PROTO is not read"),
        ("a.wrl", vrml("USE A"), "there is no node 'A' before it"),
        ("a.wrl", vrml("Group [ ]"), "expected '{' behind 'Group', got '['"),
        ("a.wrl", vrml("Group { 5 }"), "expected the name of a field, got '5'"),
        ("a.wrl", vrml(&"Group { children ".repeat(100_000)), "more than 64 deep"),
        ("a.wrl", vrml("\"never ends"), "expected a node"),
    ]
}

#[test]
fn broken_files_are_told() {
    let cases = [broken_text(), broken_images(), broken_usgs(), broken_vrml()].concat();
    assert!(cases.len() >= 60, "{}", cases.len());
    for (name, bytes, told) in cases {
        let problem = Dem::read(name, &bytes).expect_err(told);
        assert!(problem.what.contains(told), "{name}: '{}' in place of '{told}'", problem.what);
    }
}

/// A surface with a false size, or with more than the permitted size.
#[test]
fn broken_surfaces_are_told() {
    let mut nested = String::from(
        "#VRML V2.0 utf8\nDEF A0 Shape { geometry IndexedFaceSet { coord Coordinate { point [0 0 0 1 0 0 0 0 1] } coordIndex [0 1 2] } }\n",
    );
    for level in 0..40 {
        nested += &format!("DEF A{} Group {{ children [ USE A{level} USE A{level} ] }}\n", level + 1);
    }
    for (text, told) in [
        (nested.as_str(), "more than 1300000 triangles"),
        ("#VRML V2.0 utf8\nIndexedFaceSet { coordIndex [0 1 2] }", "has 0 points, and a face one of number 0"),
        (
            "#VRML V2.0 utf8\nIndexedFaceSet { coord Coordinate { point [0 0 0 1 1 1] } coordIndex [0 1] }",
            "fewer than three corners",
        ),
        ("#VRML V2.0 utf8\nIndexedFaceSet { coord Coordinate { point [0 0 0] } coordIndex [0 0.5 0] }", "number 0.5"),
    ] {
        let problem = Mesh::read("a.wrl", text.as_bytes(), |_| None).expect_err(told);
        assert!(problem.what.contains(told) && problem.line.is_some(), "{problem:?}");
    }
}

/// Files damaged anywhere are read or refused; no file panics or takes more memory than permitted.
#[test]
fn damaged_files_are_read_or_refused() {
    let mut stream = Stream::from_number(1);
    let mut random = |count| stream.below(count);
    for entry in fs::read_dir(file("")).unwrap().flatten() {
        let (name, bytes) = (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap());
        for _ in 0..300 {
            let mut damaged = bytes.clone();
            for _ in 0..=random(4) {
                let at = random(damaged.len());
                damaged[at] = random(256) as u8;
            }
            damaged.truncate(if random(4) == 0 { random(bytes.len()) } else { bytes.len() });
            if let Ok(dem) = Dem::read(&name, &damaged) {
                assert_eq!(dem.points_x * dem.points_z, dem.heights.len(), "{name}");
            }
        }
    }
}
