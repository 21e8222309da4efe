//! Files with the images of a camera.

use std::path::{Path, PathBuf};

use simpartner_model::StepIndex;
use simpartner_terminal::output::line;

use super::{super::exit::CliError, video_file::VideoFile};
use crate::camera::{CameraImage, chained_hash};

/// The files for images of a camera.
pub(super) struct ImageFiles {
    path: PathBuf,
    form: Form,
    count: u64,
    /// Chained hash of all images.
    hash: u64,
}

enum Form {
    /// One file; an RgbdCamera has a second one for depths.
    Single { raw: bool },
    /// A folder, with files named by the step.
    Folder { raw: bool },
    /// A video of colours, which begins with the first image.
    Video { fps: f64, file: Option<VideoFile> },
}

impl ImageFiles {
    pub(super) fn single_file(path: &Path, raw: bool) -> Self {
        Self::with_form(path, Form::Single { raw })
    }

    /// A folder, or a video if the path ends as one. `fps` is the camera's rate.
    pub(super) fn many_files(path: &Path, raw: bool, fps: f64) -> Result<Self, CliError> {
        if VideoFile::is_named_by(path) {
            return Ok(Self::with_form(path, Form::Video { fps, file: None }));
        }
        std::fs::create_dir_all(path).map_err(|error| CliError::not_written(path, &error))?;
        Ok(Self::with_form(path, Form::Folder { raw }))
    }

    fn with_form(path: &Path, form: Form) -> Self {
        Self { path: path.to_owned(), form, count: 0, hash: 0 }
    }

    /// Adds the images of a step.
    pub(super) fn add_images(&mut self, step: StepIndex, images: &[CameraImage]) -> Result<(), CliError> {
        self.count += 1;
        self.hash = chained_hash(self.hash, images);
        for (index, image) in images.iter().enumerate() {
            let (path, raw) = match &mut self.form {
                Form::Video { .. } if index > 0 => continue,
                Form::Video { fps, file } => {
                    add_to_video(&self.path, *fps, file, image)?;
                    continue;
                }
                Form::Single { raw } if index == 0 => (self.path.clone(), *raw),
                Form::Single { raw } => {
                    let ending = self.path.extension().unwrap_or_default().to_string_lossy().into_owned();
                    let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
                    (self.path.with_file_name(format!("{stem}-depth.{ending}")), *raw)
                }
                Form::Folder { raw } => {
                    let (part, ending) = (if index == 0 { "" } else { "-depth" }, if *raw { "raw" } else { "png" });
                    (self.path.join(format!("{:08}{part}.{ending}", step.0)), *raw)
                }
            };
            let bytes = match raw {
                true => image.bytes(),
                false => image.png().map_err(|error| CliError::Input(error.to_string()))?,
            };
            std::fs::write(&path, bytes).map_err(|error| CliError::not_written(&path, &error))?;
        }
        Ok(())
    }

    /// Ends the files, and prints the number of images and the hash of all.
    pub(super) fn finish_files(self) -> Result<PathBuf, CliError> {
        if self.count == 0 {
            return Err(CliError::Usage("no image of this camera arrives in this time".into()));
        }
        if let Form::Video { file: Some(video), .. } = self.form {
            video.finish_file()?;
        }
        line(format_args!("images            {}, hash of all {:016x}", self.count, self.hash));
        Ok(self.path)
    }
}

fn add_to_video(path: &Path, fps: f64, video: &mut Option<VideoFile>, image: &CameraImage) -> Result<(), CliError> {
    let CameraImage::Color(image) = image else {
        return Err(CliError::Usage("a video has colours; other images go into a folder".into()));
    };
    let video = match video {
        Some(video) => video,
        None => {
            // A video has a whole number of pictures for each second.
            let fps = (fps.round() as u32).max(1);
            video.insert(VideoFile::create_at(path, [image.width, image.height], fps)?)
        }
    };
    video.add_image(image)
}
