//! Grounds of a world.

use bevy_math::DVec3;

use super::{Heightfield, Material, Mechanism};

/// A ground. It does not move, and it collides with bodies of all categories.
#[derive(Debug, Clone, PartialEq)]
pub enum Ground {
    /// A plane without end.
    Plane(Plane),
    /// Heights over a grid.
    Heightfield(Heightfield),
    /// Triangles.
    Mesh(GroundMesh),
}

/// The surface plane a x + b y + c z = d (thesis equation 6); the half space against the normal is solid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plane {
    /// Unit normal (a, b, c), world frame.
    pub normal: DVec3,
    /// Distance of the plane from the origin along the normal, in metres.
    pub distance: f64,
    /// Surface material.
    pub material: Material,
}

/// A triangle mesh. It has two sides and no inside: it stops bodies from either side.
#[derive(Debug, Clone, PartialEq)]
pub struct GroundMesh {
    /// Corners, world frame, metres.
    pub vertices: Vec<DVec3>,
    /// Indices of the corners of each triangle.
    pub triangles: Vec<[u32; 3]>,
    /// Surface material.
    pub material: Material,
}

impl Ground {
    /// Surface material.
    pub fn material(&self) -> &Material {
        match self {
            Self::Plane(plane) => &plane.material,
            Self::Heightfield(field) => &field.material,
            Self::Mesh(mesh) => &mesh.material,
        }
    }

    /// The same, to change it.
    pub fn material_mut(&mut self) -> &mut Material {
        match self {
            Self::Plane(plane) => &mut plane.material,
            Self::Heightfield(field) => &mut field.material,
            Self::Mesh(mesh) => &mut mesh.material,
        }
    }
}

impl Plane {
    /// Its height at x and z, metres; `None` for a vertical surface or a ceiling.
    pub fn height_at(&self, x: f64, z: f64) -> Option<f64> {
        (self.normal.y > 0.0).then(|| (self.distance - self.normal.x * x - self.normal.z * z) / self.normal.y)
    }
}

impl From<Plane> for Ground {
    fn from(plane: Plane) -> Self {
        Self::Plane(plane)
    }
}

impl From<Heightfield> for Ground {
    fn from(field: Heightfield) -> Self {
        Self::Heightfield(field)
    }
}

impl From<GroundMesh> for Ground {
    fn from(mesh: GroundMesh) -> Self {
        Self::Mesh(mesh)
    }
}

impl Mechanism {
    /// Its grounds that are planes.
    pub fn planes(&self) -> impl Iterator<Item = &Plane> {
        self.grounds.iter().filter_map(|ground| match ground {
            Ground::Plane(plane) => Some(plane),
            Ground::Heightfield(_) | Ground::Mesh(_) => None,
        })
    }

    /// Its grounds that are heights over a grid.
    pub fn heightfields(&self) -> impl Iterator<Item = &Heightfield> {
        self.grounds.iter().filter_map(|ground| match ground {
            Ground::Heightfield(field) => Some(field),
            Ground::Plane(_) | Ground::Mesh(_) => None,
        })
    }

    /// Its grounds that are triangles.
    pub fn ground_meshes(&self) -> impl Iterator<Item = &GroundMesh> {
        self.grounds.iter().filter_map(|ground| match ground {
            Ground::Mesh(mesh) => Some(mesh),
            Ground::Plane(_) | Ground::Heightfield(_) => None,
        })
    }
}
