//! The table's part on grounds other than planes.

use super::{
    builders::{default, element, maybe, optional},
    element::{
        Content::{Children, Numbers},
        Element,
    },
    kind::{
        Kind,
        Kind::{Fraction, NotNegative, Positive, Real, Text, Whole, Within, Word},
    },
    materials::with_material,
    shared::{COORDINATE, LENGTH},
    soil,
};
use crate::limits::MAX_SAMPLES;

/// The number of a grid point along one side.
const NUMBER: Kind = Whole(0, MAX_SAMPLES as i64);

/// `<heightfield>`
pub(super) const HEIGHTFIELD: Element = element(
    "heightfield",
    "Terrain: a grid of heights. The surface has two triangles in each cell between four grid points, and the ground \
     below it is solid. The heights stand in the element or in a file. In the element and in a .csv file, each line \
     runs along z, and the lines follow each other along x. In a map, the columns run along x (east) and the rows \
     follow each other along z (south). Maps are: ESRI ASCII grid (.asc), GeoTIFF of one band (.tif), SRTM (.hgt), \
     USGS DEM (.dem), grey PNG of 8 or 16 bits (.png), and the ElevationGrid of a VRML97 file (.wrl). A map in degrees \
     gets the distances on WGS84 at its middle. A cell with a corner without data is a hole, through which bodies and \
     rays pass. The data are cut first, then scaled, resampled and placed.",
    with_material![
        "1",
        optional("rows", Whole(2, 4096), "", "number of grid points along x; without it, that of the data"),
        optional("columns", Whole(2, 4096), "", "number of grid points along z; without it, that of the data"),
        optional(
            "width",
            LENGTH,
            "m",
            "extent of all data along x, from the first grid point to the last; a map that states its grid spacing \
             needs none"
        ),
        optional("depth", LENGTH, "m", "extent of all data along z; a map that states its grid spacing needs none"),
        optional("firstX", NUMBER, "", "number of the first grid point along x that is kept, from 0"),
        optional("lastX", NUMBER, "", "number of the last grid point along x that is kept"),
        optional("firstZ", NUMBER, "", "number of the first grid point along z that is kept, from 0"),
        optional("lastZ", NUMBER, "", "number of the last grid point along z that is kept"),
        optional(
            "fromX",
            Real,
            "m",
            "in place of firstX: distance along x from the first grid point of the data; grid points from there on are \
             kept"
        ),
        optional(
            "toX",
            Real,
            "m",
            "in place of lastX: distance along x from the first grid point of the data; grid points up to there are \
             kept"
        ),
        optional("fromZ", Real, "m", "in place of firstZ: the same along z"),
        optional("toZ", Real, "m", "in place of lastZ: the same along z"),
        optional(
            "noData",
            Real,
            "",
            "value in the data that means no data, in addition to the one that a map declares"
        ),
        optional("scale", Real, "", "factor on the heights; without it and without white, 1"),
        optional(
            "white",
            Real,
            "m",
            "for a PNG file, in place of scale: height of white above black; black is at offset"
        ),
        default("offset", Real, "m", "0", "height that is added to the scaled heights"),
        optional(
            "cell",
            LENGTH,
            "m",
            "grid spacing to which the data are resampled (bilinear), rounded so that a whole number of cells fills \
             the extent",
        ),
        default("x", COORDINATE, "m", "0", "x of the middle of the kept terrain"),
        default("y", COORDINATE, "m", "0", "y of the terrain's height 0"),
        default("z", COORDINATE, "m", "0", "z of the middle of the kept terrain"),
        default("heading", Real, "rad", "0", "rotation of the terrain about its middle, clockwise seen from above"),
        optional("file", Text, "", "path of the data file, relative to this file's folder"),
        soil::OF_GROUND,
    ],
    Numbers("m"),
);

/// `<ground>`
pub(super) const GROUND: Element = element(
    "ground",
    "A ground made of triangles: the surface of a mesh, which need not be closed. It has no inside. It stops bodies \
     from both sides.",
    with_material!["1", soil::OF_GROUND,],
    Children(&[maybe("triangleMesh")]),
);
