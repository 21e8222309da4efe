//! Paths of meshes and images that a file of another format names.

use super::{super::reading::Reading, search};
use crate::text::{encoding::percent_decoded, numbers::shorten};

/// The path of a mesh, seen from the file's folder.
pub(super) fn mesh_path(reading: &Reading, offset: usize, file: &str) -> Option<String> {
    path_of(
        reading,
        offset,
        file,
        "the shape is left out; put the package's folder beside the file's, or name the folder it is in by ROS_PACKAGE_PATH",
    )
}

/// The path of an image, likewise; a missing one is a warning.
pub(super) fn image_path(reading: &Reading, offset: usize, file: &str) -> Option<String> {
    let path = path_of(reading, offset, file, "its surface is shown in plain colour")?;
    if reading.files.has(&reading.files.beside(reading.path, &path, "robots")) {
        return Some(path);
    }
    let what = format!("there is no image '{}'", shorten(&path));
    reading.warn_once(offset, what, "its surface is shown in plain colour".into());
    None
}

/// The path of a file, seen from the folder of the one that names it. That of a ROS package is looked for in the
/// folders above, and where ROS and Gazebo look for theirs; `lost` is the effect of a missing one.
fn path_of(reading: &Reading, offset: usize, file: &str, lost: &str) -> Option<String> {
    let Some(in_package) = file.strip_prefix("package://").or_else(|| file.strip_prefix("model://")) else {
        return Some(correct_spelling(reading, file.strip_prefix("file://").unwrap_or(file)));
    };
    if in_package.split('/').any(|part| part == "..") {
        reading.problem(offset, format!("'{file}' leads out of its package"));
        return None;
    }
    let inside = in_package.split_once('/').map_or(in_package, |(_, inside)| inside);
    // In a package of the file's own, or beside one of its parent folders.
    let above = (0..8).map(|levels| "../".repeat(levels));
    let mut candidates = above.flat_map(|up| [format!("{up}{in_package}"), format!("{up}{inside}")]);
    let found = candidates.find_map(|candidate| find_spelled(reading, &candidate));
    let elsewhere = || {
        let mut places = search::possible_places(reading, None, file).into_iter();
        let place = places.find(|place| reading.files.has(&place.to_string_lossy()))?;
        Some(search::seen_from_file(reading, place))
    };
    let found = found.or_else(elsewhere);
    if found.is_none() {
        let what = format!("no package with '{}' is in the folders above, nor where ROS has them", shorten(file));
        reading.warn(offset, what, lost.into());
    }
    found
}

/// The path as it is, or with slashes for backslashes and with `%20` and the like decoded: the first of these with a
/// file.
fn find_spelled(reading: &Reading, file: &str) -> Option<String> {
    let slashes = file.replace('\\', "/");
    let spellings = [file.to_owned(), percent_decoded(file), percent_decoded(&slashes), slashes];
    spellings.into_iter().find(|path| reading.files.has(&reading.files.beside(reading.path, path, "robots")))
}

/// The same, or the original path if there is no such file.
pub(super) fn correct_spelling(reading: &Reading, file: &str) -> String {
    find_spelled(reading, file).unwrap_or_else(|| file.to_owned())
}
