//! MSH, the meshes that MuJoCo saves: the numbers of points, normals, texture coordinates and triangles, then these,
//! all of 32 bits.

use bevy_math::DVec3;

use super::triangles::{Mesh, MeshProblem, problem, too_many_triangles};
use crate::limits::MAX_TRIANGLES;

/// Reads a file.
pub(super) fn read(bytes: &[u8]) -> Result<Mesh, MeshProblem> {
    let (words, rest) = bytes.as_chunks::<4>();
    let counts: Vec<u64> = words.iter().take(4).map(|word| u64::from(u32::from_le_bytes(*word))).collect();
    let [points, normals, textures, triangles] = counts[..] else {
        return Err(problem(None, "the file is shorter than the header of an MSH file".into()));
    };
    let expected = 4 + 3 * points + 3 * normals + 2 * textures + 3 * triangles;
    if expected != words.len() as u64 || !rest.is_empty() {
        let what = format!("an MSH file with this header has {} bytes, this one has {}", 4 * expected, bytes.len());
        return Err(problem(None, what));
    }
    if triangles > MAX_TRIANGLES as u64 {
        return Err(too_many_triangles());
    }
    let (points, skipped) = (points as usize, (3 * normals + 2 * textures) as usize);
    let number = |word: &[u8; 4]| f64::from(f32::from_le_bytes(*word));
    let vertices = words[4..4 + 3 * points].chunks_exact(3);
    let vertices = vertices.map(|point| DVec3::new(number(&point[0]), number(&point[1]), number(&point[2]))).collect();
    let corners: Vec<u32> = words[4 + 3 * points + skipped..].iter().map(|word| u32::from_le_bytes(*word)).collect();
    if let Some(wrong) = corners.iter().find(|corner| **corner as usize >= points) {
        return Err(problem(None, format!("a triangle names point {wrong} of {points}, counted from 0")));
    }
    let triangles = corners.chunks_exact(3).map(|corner| [corner[0], corner[1], corner[2]]).collect();
    Ok(Mesh { vertices, triangles, ..Mesh::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with these numbers of points, normals, texture coordinates and triangles; all numbers are 0 but the
    /// triangles'.
    fn msh(counts: [u32; 4], corners: &[u32]) -> Vec<u8> {
        let zeros = vec![0u32; (3 * counts[0] + 3 * counts[1] + 2 * counts[2]) as usize];
        counts.iter().chain(&zeros).chain(corners).flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn points_and_triangles_are_read_and_the_rest_is_passed_over() {
        let mesh = read(&msh([3, 3, 3, 1], &[0, 2, 1])).unwrap();
        assert_eq!((mesh.vertices, mesh.triangles), (vec![DVec3::ZERO; 3], vec![[0, 2, 1]]));
    }

    #[test]
    fn broken_files_are_told() {
        let mut long = msh([1, 0, 0, 0], &[]);
        long.push(0);
        for (bytes, what) in [
            (vec![0, 0, 0, 127], "shorter than the header"),
            (vec![0xff; 16], "this one has 16"),
            (msh([1, 0, 0, 1], &[0, 0, 1]), "a triangle names point 1 of 1"),
            (long, "has 28 bytes, this one has 29"),
        ] {
            let problem = read(&bytes).expect_err(what);
            assert!(problem.what.contains(what), "{problem:?}");
        }
    }
}
