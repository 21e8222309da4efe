//! The part of the table that is about what a world stands on beside a plane.

use super::{
    builders::{default, element, maybe, optional},
    element::{
        Content::{Children, Numbers},
        Element,
    },
    kind::{
        Kind,
        Kind::{Fraction, NotNegative, Positive, Real, Text, Whole, Word},
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
    "Terrain: a matrix of heights, each line of it running along z, the lines following each other along x; n heights have n - 1 \
     cells between them, and two triangles in each are the surface. It stands in the element, or in a file beside this one: a .csv of \
     the same form, or a map, whose columns run along x (east) and whose rows follow each other along z (south): an ESRI ASCII grid \
     (.asc), a GeoTIFF of one band (.tif), SRTM (.hgt), a USGS DEM (.dem), a grey PNG of 8 or 16 bits (.png), or the ElevationGrid of \
     a VRML97 file (.wrl). Distances in degrees are those on WGS84 in the middle of the map. A cell with a corner without data is a \
     hole: it holds nothing, and rays pass. What is below the surface is solid. It is cut first, then scaled, resampled and placed.",
    with_material![
        "1",
        optional("rows", Whole(2, 4096), "", "number of grid points along x; taken from the data where not given"),
        optional("columns", Whole(2, 4096), "", "number of grid points along z; taken from the data where not given"),
        optional(
            "width",
            LENGTH,
            "m",
            "extent of all data along x, from the first grid point to the last; a map brings its own"
        ),
        optional("depth", LENGTH, "m", "extent of all data along z; a map brings its own"),
        optional("firstX", NUMBER, "", "the first grid point along x that is kept, counted from 0"),
        optional("lastX", NUMBER, "", "the last one"),
        optional("firstZ", NUMBER, "", "the first grid point along z that is kept"),
        optional("lastZ", NUMBER, "", "the last one"),
        optional(
            "fromX",
            Real,
            "m",
            "in place of firstX: grid points from this distance along x from the first one on are kept"
        ),
        optional("toX", Real, "m", "in place of lastX: grid points up to this distance are kept"),
        optional("fromZ", Real, "m", "in place of firstZ: likewise along z"),
        optional("toZ", Real, "m", "in place of lastZ: likewise along z"),
        optional(
            "noData",
            Real,
            "",
            "the value in the data that stands for no data, beside the one that a map says itself"
        ),
        optional("scale", Real, "", "factor on the heights; 1 where neither it nor white is given"),
        optional(
            "white",
            Real,
            "m",
            "of a PNG file, in place of scale: height of white above black, which is at offset"
        ),
        default("offset", Real, "m", "0", "added to the scaled heights"),
        optional(
            "cell",
            LENGTH,
            "m",
            "distance of grid points to resample to, bilinear, rounded so that a whole number of cells fills the extent",
        ),
        default("x", COORDINATE, "m", "0", "where the middle of what is kept stands"),
        default("y", COORDINATE, "m", "0", "where its height 0 is"),
        default("z", COORDINATE, "m", "0", "where its middle stands"),
        default("heading", Real, "rad", "0", "by how much it is turned about its middle, clockwise seen from above"),
        optional("file", Text, "", "path of the data file, from this file's folder"),
        soil::OF_GROUND,
    ],
    Numbers("m"),
);

/// `<ground>`
pub(super) const GROUND: Element = element(
    "ground",
    "A ground of triangles: the surface of a mesh, which need not be closed. It has two sides and no inside: it holds what comes from \
     either side.",
    with_material!["1", soil::OF_GROUND,],
    Children(&[maybe("triangleMesh")]),
);
