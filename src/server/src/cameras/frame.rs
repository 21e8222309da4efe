//! The images of a camera in one step, with the forms in which clients get them.

use std::sync::{Arc, OnceLock};

use base64::{Engine, engine::general_purpose::STANDARD};
use simpartner_model::{StepIndex, Timestep};
use simpartner_simulation::camera::CameraImage;
use simpartner_wire::protocol::{ImageForm, image_header};

/// The images of a camera in one step. An RgbdCamera has two.
#[derive(Debug)]
pub(crate) struct Frame {
    /// Number of images that had arrived from this camera before.
    pub(super) number: u64,
    /// The step that it is of.
    pub(crate) step: StepIndex,
    pub(super) timestep: Timestep,
    pub(crate) images: Vec<CameraImage>,
    /// The images as PNG files, made when somebody wants them.
    files: OnceLock<Result<Vec<Arc<[u8]>>, String>>,
}

impl Frame {
    pub(super) fn of_images(number: u64, step: StepIndex, timestep: Timestep, images: Vec<CameraImage>) -> Self {
        Self { number, step, timestep, images, files: OnceLock::new() }
    }

    /// Memory of its pixels, bytes.
    pub(super) fn byte_count(&self) -> usize {
        let bytes = |image: &CameraImage| {
            let [width, height] = image.size();
            width * height * image.encoding().pixel_bytes()
        };
        self.images.iter().map(bytes).sum()
    }

    /// The images as PNG files. The first call takes some milliseconds.
    pub(crate) fn png_files(&self) -> Result<&[Arc<[u8]>], String> {
        let encode = || self.images.iter().map(|image| Ok(image.png().map_err(|error| error.to_string())?.into()));
        self.files.get_or_init(|| encode().collect()).as_deref().map_err(Clone::clone)
    }

    /// The message to a client: for each image a header, and the image in this form.
    pub(super) fn message_in(&self, form: ImageForm, dropped: u64) -> Result<Vec<u8>, String> {
        let mut message = Vec::new();
        for (index, image) in self.images.iter().enumerate() {
            let header = |bytes| image_header(self.step, self.timestep, image.size(), image.encoding(), bytes, dropped);
            match form {
                ImageForm::Raw => {
                    let bytes = image.bytes();
                    message.extend_from_slice(header(bytes.len()).as_bytes());
                    message.extend_from_slice(&bytes);
                }
                ImageForm::Text => {
                    let file = &self.png_files()?[index];
                    message.extend_from_slice(header(file.len()).as_bytes());
                    message.extend_from_slice(STANDARD.encode(file).as_bytes());
                    message.push(b'\n');
                }
            }
        }
        Ok(message)
    }
}
