//! Images of a mechanism by rays on the CPU: colour, depth and segmentation.
//!
//! A [`Scene`] is made once of a mechanism. A [`View`] places its shapes at the poses of one moment around a
//! [`Camera`], and gives images. Spheres, boxes, cylinders, capsules, cones and planes are met in closed form,
//! heightfields by walking over their cells, hulls and meshes by a tree of boxes. The nearest triangle is found in f32;
//! where it is met is computed in f64.
//!
//! Images have the same bits on every number of threads and on every processor: no sum depends on the order of threads,
//! nothing is contracted, and sines and powers are those of `libm`. The crate knows nothing of engines and servers.

mod beam;
mod camera;
mod framing;
mod image;
mod jpeg_file;
mod lamp;
mod light;
mod look;
mod mesh;
mod png_file;
mod rut;
mod scene;
mod shape;
mod solid;
mod surface;
mod terrain;
mod texture;
mod tree;
mod video;
mod view;

pub use camera::{Camera, CameraError, Distortion, MAX_PIXELS, Optics, looking_at};
pub use framing::{bodies_middle, overview};
pub use image::{ColorImage, DepthImage, Image, MAX_SAMPLES_PER_SIDE, Rendering, SegmentationImage};
pub use jpeg_file::{color_jpeg, grey_jpeg};
pub use light::Light;
pub use png_file::{color_png, depth_png, grey_png, owner_color, segmentation_png};
pub use scene::{Scene, SceneError};
pub use shape::Owner;
pub use solid::Ray;
pub use video::{y4m_frame, y4m_header};
pub use view::{Sight, View};
