//! Files of pictures: single ones, folders of them, and videos.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use simpartner_model::Mechanism;
use simpartner_render::{
    Owner, Rendering, View, color_png, depth_png, owner_color, segmentation_png, y4m_frame, y4m_header,
};
use simpartner_terminal::output::line;

use super::super::exit::CliError;

/// Kind of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Color { samples_per_side: u32 },
    Depth,
    Segmentation,
}

pub(super) fn thread_count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn rendering_of(samples_per_side: u32) -> Rendering {
    Rendering { samples_per_side, ..Rendering::default() }
}

/// The PNG file of a view.
pub(super) fn picture_file(view: &View<'_>, kind: Kind) -> Result<Vec<u8>, CliError> {
    let file = match kind {
        Kind::Color { samples_per_side } => {
            color_png(&view.color_image(&rendering_of(samples_per_side), thread_count()))
        }
        Kind::Depth => depth_png(&view.depth_image(thread_count())),
        Kind::Segmentation => segmentation_png(&view.segmentation_image(thread_count())),
    };
    file.map_err(CliError::Input)
}

/// Prints the colour, the pixels and the name of each owner in a picture, in the order of the world.
pub(super) fn list_owners(view: &View<'_>, mechanism: &Mechanism) {
    let mut counts: BTreeMap<Option<Owner>, usize> = BTreeMap::new();
    for owner in view.segmentation_image(thread_count()).pixels {
        *counts.entry(owner).or_default() += 1;
    }
    for (owner, count) in counts {
        let [red, green, blue] = owner_color(owner);
        let name = match owner {
            None => "sky".into(),
            Some(Owner::Ground(number)) => format!("ground {}", number + 1),
            Some(Owner::Body(id)) => mechanism.qualified_name(mechanism.body(id)),
        };
        line(format_args!("#{red:02x}{green:02x}{blue:02x} {count:>8} {name}"));
    }
}

/// The error of a file that cannot be written.
pub(super) fn not_written(path: &Path, error: &std::io::Error) -> CliError {
    CliError::Usage(format!("cannot write '{}': {error}", path.display()))
}

/// Pictures one after the other.
pub(super) enum Video {
    /// A folder of PNG files, numbered from 0.
    Folder(PathBuf, Kind),
    /// A raw video.
    Y4m(PathBuf, BufWriter<File>, u32),
}

impl Video {
    /// Makes the folder, or begins the file.
    pub(super) fn create_at(path: &Path, size: [u32; 2], fps: u32, kind: Kind) -> Result<Self, CliError> {
        let refuse = |error: std::io::Error| not_written(path, &error);
        if path.extension().is_none_or(|extension| extension != "y4m") {
            std::fs::create_dir_all(path).map_err(refuse)?;
            return Ok(Self::Folder(path.to_owned(), kind));
        }
        let Kind::Color { samples_per_side } = kind else {
            return Err(CliError::Usage("a .y4m video has colours; distances and bodies go into a folder".into()));
        };
        let mut file = BufWriter::new(File::create(path).map_err(refuse)?);
        let [width, height] = size.map(|side| side as usize);
        file.write_all(y4m_header(width, height, fps).as_bytes()).map_err(refuse)?;
        Ok(Self::Y4m(path.to_owned(), file, samples_per_side))
    }

    /// Adds the picture of a view.
    pub(super) fn add_picture(&mut self, view: &View<'_>, frame: u64) -> Result<(), CliError> {
        match self {
            Self::Folder(folder, kind) => {
                let path = folder.join(format!("{frame:05}.png"));
                std::fs::write(&path, picture_file(view, *kind)?).map_err(|error| not_written(&path, &error))
            }
            Self::Y4m(path, file, samples_per_side) => {
                let image = view.color_image(&rendering_of(*samples_per_side), thread_count());
                file.write_all(&y4m_frame(&image)).map_err(|error| not_written(path, &error))
            }
        }
    }

    /// Ends the file.
    pub(super) fn finish_file(self) -> Result<(), CliError> {
        match self {
            Self::Folder(..) => Ok(()),
            Self::Y4m(path, mut file, _) => file.flush().map_err(|error| not_written(&path, &error)),
        }
    }
}
