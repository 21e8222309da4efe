//! Upper bounds on all input. Files are untrusted: none of them may take more time or memory than its size justifies.

/// Size of the largest XML file, bytes: a quarter of a million lines of handwritten text.
pub(crate) const MAX_FILE: usize = 16 << 20;
/// Total size of the XML files of a world, bytes: they are kept in memory and logged.
pub(crate) const MAX_ALL_FILES: usize = 64 << 20;
/// Total size of the meshes of a world and of images that other formats name, as kept text, bytes: that of the largest
/// permitted number of visual points and triangles.
pub(crate) const MAX_ALL_KEPT: usize = 256 << 20;
/// Files that a world may name, those of its robots included.
pub(crate) const MAX_FILE_COUNT: usize = 1_000;
/// Nesting depth of elements. The format itself needs ten; `<repeat>` may be nested freely.
pub(crate) const MAX_DEPTH: usize = 64;
/// Elements of a file, and of a robot with all its assemblies placed: about 60 MB as a tree.
pub(crate) const MAX_ELEMENTS: usize = 200_000;
/// Elements of all files of a world.
pub(crate) const MAX_ALL_ELEMENTS: usize = 1_000_000;
/// Attributes of an element; the format's richest has 20.
pub(crate) const MAX_ATTRIBUTES: usize = 64;
/// Bytes of a name: of an element, an attribute, a body. It fits into a column of a table and into a message.
pub(crate) const MAX_NAME: usize = 128;
/// Size of any other value, bytes: the longest message of a port, and the longest path.
pub(crate) const MAX_VALUE: usize = 4096;
/// Nesting depth of assemblies in assemblies.
pub(crate) const MAX_NESTED_ASSEMBLIES: usize = 32;
/// Size of a robot's file after the placement of assemblies, bytes: 300 for each of the permitted elements.
pub(crate) const MAX_EXPANDED: usize = 64 << 20;
/// Number of bodies of a world, and of its joints: a step of a world of this size takes a second.
pub(crate) const MAX_BODIES: usize = 10_000;
/// Sensors and actuators of a world; each has a port, of which a machine has 65,535.
pub(crate) const MAX_DEVICES: usize = 10_000;
/// Number of rays of a scanner: more than any real one sends in a turn.
pub(crate) const MAX_RAYS: usize = 100_000;
/// Rays of all scanners of a world: each is a number in each of the thousand records that a run has in memory.
pub(crate) const MAX_ALL_RAYS: usize = 400_000;
/// Pixels of an image of each camera of a world: 100 MB of colours, of which each camera keeps one image.
pub(crate) const MAX_ALL_PIXELS: usize = 1 << 25;
/// Number of points and triangles of the shapes of a world, with each placement of a robot counted.
pub(crate) const MAX_SHAPE_POINTS: usize = 1_000_000;
/// Number of points and triangles of the visuals of a world, counted likewise: as many as a browser displays smoothly.
pub(crate) const MAX_VISUAL_POINTS: usize = 4_000_000;
/// Number of grid points of a terrain along one side.
pub(crate) const MAX_GRID_SIDE: usize = 4096;
/// Grid points of all terrains of a world: 256 MB as numbers, and as much again in the engine.
pub(crate) const MAX_ALL_GRID_POINTS: usize = 2 * MAX_GRID_SIDE * MAX_GRID_SIDE;
/// The largest file of heights, bytes: 24 for each grid point of the largest terrain.
pub(crate) const MAX_HEIGHTS_FILE: usize = MAX_GRID_SIDE * MAX_GRID_SIDE * 24;
/// Number of samples of one elevation file: 256 MB as numbers.
pub const MAX_SAMPLES: usize = 1 << 25;
/// Total size of the elevation files of a world, bytes: they are kept in memory and logged.
pub(crate) const MAX_ALL_DATA: usize = 2 * MAX_HEIGHTS_FILE;
/// Number of planes, terrains and triangle meshes that are grounds of a world: the engine has eight bits for them.
pub(crate) const MAX_GROUNDS: usize = 256;
/// Number of triangles of one mesh file: that of the largest permitted binary STL file.
pub(crate) const MAX_TRIANGLES: usize = 1_300_000;
/// The largest mesh file, bytes: a million triangles in binary.
pub(crate) const MAX_MESH_FILE: usize = 64 << 20;
/// Columns and rows of a texture; a larger one has more pixels than a picture of the largest size shows.
pub(crate) const MAX_TEXTURE_SIDE: usize = 8192;
/// Pixels of a texture, and of all textures of a world: 256 MB in memory.
pub(crate) const MAX_TEXTURE_PIXELS: usize = 1 << 26;
/// The largest image file, bytes.
pub(crate) const MAX_IMAGE_FILE: usize = 64 << 20;
/// Commands and pauses that a sequence may unroll to.
pub(crate) const MAX_UNROLLED: u64 = 1_000_000;
/// Bytes of the commands that a sequence unrolls to.
pub(crate) const MAX_UNROLLED_BYTES: u64 = 64 << 20;

/// The bounds as the reference page states them.
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
    ("pixels of all cameras of a world", MAX_ALL_PIXELS as u64, ""),
    ("points and triangles of all shapes of a world", MAX_SHAPE_POINTS as u64, ""),
    ("points and triangles of all visuals of a world", MAX_VISUAL_POINTS as u64, ""),
    ("grid points of a terrain along a side", MAX_GRID_SIDE as u64, ""),
    ("a file of heights", MAX_HEIGHTS_FILE as u64, "bytes"),
    ("heights in a file, before it is cut", MAX_SAMPLES as u64, ""),
    ("files of heights of a world together", MAX_ALL_DATA as u64, "bytes"),
    ("grid points of all terrains of a world", MAX_ALL_GRID_POINTS as u64, ""),
    ("grounds of a world", MAX_GROUNDS as u64, ""),
    ("a mesh file", MAX_MESH_FILE as u64, "bytes"),
    ("columns and rows of a texture", MAX_TEXTURE_SIDE as u64, "each"),
    ("pixels of all textures of a world", MAX_TEXTURE_PIXELS as u64, ""),
    ("an image file of a texture", MAX_IMAGE_FILE as u64, "bytes"),
    ("commands and pauses that a sequence unrolls to", MAX_UNROLLED, ""),
    ("text of the commands that a sequence unrolls to", MAX_UNROLLED_BYTES, "bytes"),
];
