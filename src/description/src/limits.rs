//! Upper bounds on everything that is read. A file is input like any other: none of them, however it is made, costs
//! more time than its bytes are worth or more memory than a machine has.

/// The largest XML file, bytes. Written by hand it would be a quarter of a million lines.
pub(crate) const MAX_FILE: usize = 16 << 20;
/// All XML files of a world together, bytes: they are kept in memory and go into the log.
pub(crate) const MAX_ALL_FILES: usize = 64 << 20;
/// Meshes of a world and images that other formats name, bytes as they are kept: what the most points and triangles
/// that are seen have as text.
pub(crate) const MAX_ALL_KEPT: usize = 256 << 20;
/// Files that a world may name, those of its robots included.
pub(crate) const MAX_FILE_COUNT: usize = 1_000;
/// Nesting depth of elements. The format itself needs ten; `<repeat>` may be nested at will.
pub(crate) const MAX_DEPTH: usize = 64;
/// Elements of a file, and of a robot with all its assemblies placed: about 60 MB as a tree.
pub(crate) const MAX_ELEMENTS: usize = 200_000;
/// Elements of all files of a world.
pub(crate) const MAX_ALL_ELEMENTS: usize = 1_000_000;
/// Attributes of an element; the format's richest has 20.
pub(crate) const MAX_ATTRIBUTES: usize = 64;
/// Bytes of a name: of an element, an attribute, a body. It fits into a column of a table and into a message.
pub(crate) const MAX_NAME: usize = 128;
/// Bytes of any other value: what a port takes as one message, and the longest path.
pub(crate) const MAX_VALUE: usize = 4096;
/// Nesting depth of assemblies in assemblies.
pub(crate) const MAX_NESTED_ASSEMBLIES: usize = 32;
/// Bytes that placing assemblies may make of a robot's file: 300 for each of its most elements.
pub(crate) const MAX_EXPANDED: usize = 64 << 20;
/// Bodies of a world, and its joints: a step of so many takes a second.
pub(crate) const MAX_BODIES: usize = 10_000;
/// Sensors and actuators of a world; each has a port, of which a machine has 65,535.
pub(crate) const MAX_DEVICES: usize = 10_000;
/// Rays of a scanner: more than any there is sends in one turn.
pub(crate) const MAX_RAYS: usize = 100_000;
/// Rays of all scanners of a world: each is a number in each of the thousand records that a run has in memory.
pub(crate) const MAX_ALL_RAYS: usize = 400_000;
/// Points and triangles of the shapes of a world, each robot counted as often as it is placed.
pub(crate) const MAX_SHAPE_POINTS: usize = 1_000_000;
/// Points and triangles of what is seen of a world in place of its shapes, counted likewise: as much as a browser turns
/// at ease.
pub(crate) const MAX_VISUAL_POINTS: usize = 4_000_000;
/// Grid points of a terrain along one side.
pub(crate) const MAX_GRID_SIDE: usize = 4096;
/// Grid points of all terrains of a world: 256 MB as numbers, and as much again in the engine.
pub(crate) const MAX_ALL_GRID_POINTS: usize = 2 * MAX_GRID_SIDE * MAX_GRID_SIDE;
/// The largest file of heights, bytes: 24 for each grid point of the largest terrain.
pub(crate) const MAX_HEIGHTS_FILE: usize = MAX_GRID_SIDE * MAX_GRID_SIDE * 24;
/// Samples of one file of heights: 256 MB as numbers.
pub const MAX_SAMPLES: usize = 1 << 25;
/// Files of heights of a world together, bytes: they are kept in memory and go into the log.
pub(crate) const MAX_ALL_DATA: usize = 2 * MAX_HEIGHTS_FILE;
/// Planes, terrains and surfaces of triangles that a world may stand on: the engine has eight bits for them.
pub(crate) const MAX_GROUNDS: usize = 256;
/// Triangles of one mesh file: as many as a binary STL file of the greatest size that is read.
pub(crate) const MAX_TRIANGLES: usize = 1_300_000;
/// The largest mesh file, bytes: a million triangles in binary.
pub(crate) const MAX_MESH_FILE: usize = 64 << 20;
/// Commands and pauses that a sequence may unroll to.
pub(crate) const MAX_UNROLLED: u64 = 1_000_000;
/// Bytes of the commands that a sequence unrolls to.
pub(crate) const MAX_UNROLLED_BYTES: u64 = 64 << 20;

/// The bounds as the reference page tells them.
pub(crate) const STATED_LIMITS: &[(&str, u64, &str)] = &[
    ("an XML file", MAX_FILE as u64, "bytes"),
    ("all XML files that belong to a world", MAX_ALL_FILES as u64, "bytes"),
    ("all meshes of a world, as text", MAX_ALL_KEPT as u64, "bytes"),
    ("files that belong to a world", MAX_FILE_COUNT as u64, ""),
    ("depth of elements", MAX_DEPTH as u64, ""),
    ("elements of a file, and of a robot with its assemblies placed", MAX_ELEMENTS as u64, ""),
    ("elements of all files of a world", MAX_ALL_ELEMENTS as u64, ""),
    ("attributes of an element", MAX_ATTRIBUTES as u64, ""),
    ("a name", MAX_NAME as u64, "bytes"),
    ("any other single value", MAX_VALUE as u64, "bytes"),
    ("assemblies placed in assemblies", MAX_NESTED_ASSEMBLIES as u64, "deep"),
    ("expanded text of the assemblies of a robot", MAX_EXPANDED as u64, "bytes"),
    ("bodies of a world; joints of a world", MAX_BODIES as u64, "each"),
    ("sensors and actuators of a world", MAX_DEVICES as u64, ""),
    ("rays of a scanner", MAX_RAYS as u64, ""),
    ("rays of all scanners of a world", MAX_ALL_RAYS as u64, ""),
    ("points and triangles of all shapes of a world", MAX_SHAPE_POINTS as u64, ""),
    ("points and triangles of all visuals of a world", MAX_VISUAL_POINTS as u64, ""),
    ("grid points of a terrain along a side", MAX_GRID_SIDE as u64, ""),
    ("a file of heights", MAX_HEIGHTS_FILE as u64, "bytes"),
    ("heights in a file, before it is cut", MAX_SAMPLES as u64, ""),
    ("files of heights of a world together", MAX_ALL_DATA as u64, "bytes"),
    ("grid points of all terrains of a world", MAX_ALL_GRID_POINTS as u64, ""),
    ("grounds of a world", MAX_GROUNDS as u64, ""),
    ("a mesh file", MAX_MESH_FILE as u64, "bytes"),
    ("commands and pauses that a sequence unrolls to", MAX_UNROLLED, ""),
    ("text of the commands that a sequence unrolls to", MAX_UNROLLED_BYTES, "bytes"),
];
