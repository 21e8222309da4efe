//! Files of pictures: single ones, folders of them, and videos.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use simpartner_model::Mechanism;
use simpartner_render::{Owner, Rendering, View, color_png, depth_png, owner_color, segmentation_png};
use simpartner_terminal::output::line;

use super::{super::exit::CliError, video_file::VideoFile};

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

/// Pictures one after the other.
pub(super) enum Pictures {
    /// A folder of PNG files, numbered from 0.
    Folder(PathBuf, Kind),
    /// A video, with the samples along a side of each pixel.
    Video(VideoFile, u32),
}

impl Pictures {
    /// Makes the folder, or begins the video.
    pub(super) fn create_at(path: &Path, size: [u32; 2], fps: u32, kind: Kind) -> Result<Self, CliError> {
        if !VideoFile::is_named_by(path) {
            std::fs::create_dir_all(path).map_err(|error| CliError::not_written(path, &error))?;
            return Ok(Self::Folder(path.to_owned(), kind));
        }
        let Kind::Color { samples_per_side } = kind else {
            return Err(CliError::Usage("a video has colours; distances and bodies go into a folder".into()));
        };
        let video = VideoFile::create_at(path, size.map(|side| side as usize), fps)?;
        Ok(Self::Video(video, samples_per_side))
    }

    /// Adds the picture of a view.
    pub(super) fn add_picture(&mut self, view: &View<'_>, frame: u64) -> Result<(), CliError> {
        match self {
            Self::Folder(folder, kind) => {
                let path = folder.join(format!("{frame:05}.png"));
                std::fs::write(&path, picture_file(view, *kind)?).map_err(|error| CliError::not_written(&path, &error))
            }
            Self::Video(video, samples_per_side) => {
                video.add_image(&view.color_image(&rendering_of(*samples_per_side), thread_count()))
            }
        }
    }

    /// Ends the video.
    pub(super) fn finish_files(self) -> Result<(), CliError> {
        match self {
            Self::Folder(..) => Ok(()),
            Self::Video(video, _) => video.finish_file(),
        }
    }
}
