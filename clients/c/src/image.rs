//! Images of cameras.

#![expect(unsafe_code, reason = "exported to C")]

use std::ffi::c_char;

use simpartner_wire::protocol::device_named;

use crate::{
    pointer,
    simulation::{keeping_results, simpartner_simulation},
    status::{Failure, simpartner_status},
};

/// An image of a camera. The text stays until the simulation is freed.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct simpartner_image {
    /// The step that it is of.
    pub step: u64,
    /// Number of images of this camera: an RgbdCamera has two, colours and distances.
    pub plane_count: usize,
    /// "rgb8", "mono8", "32FC1" or "32SC2".
    pub encoding: *const c_char,
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Number of bytes. Pixels follow one another row by row; numbers are little-endian.
    pub size: usize,
}

/// Copies the image of a camera that has arrived last into a buffer. `plane` counts the images of the camera from 0.
/// NULL with the capacity 0 asks for the description; the image is not computed again if the next call fetches it.
/// The number of threads that compute it, 0 for one, changes no bit.
///
/// # Safety
/// `device` is NULL or a text, `image` is NULL or of a place, `buffer` is NULL or of `capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simpartner_get_image(
    simulation: *mut simpartner_simulation,
    device: *const c_char,
    plane: usize,
    threads: usize,
    image: *mut simpartner_image,
    buffer: *mut u8,
    capacity: usize,
) -> simpartner_status {
    keeping_results(simulation, |simulation| {
        // SAFETY: the caller vouches for the pointers.
        let (device, result) =
            unsafe { (pointer::read_text(device, "device")?, pointer::result_place(image, "image")?) };
        let id = device_named(simulation.inner.layout(), device, &[])?;
        let (step, images) = match simulation.images.take_if(|(of, ..)| *of == id) {
            Some((_, step, images)) => (step, images),
            None => simulation.inner.images(id, threads.max(1))?,
        };
        let count = images.len();
        let missing = || Failure::of_argument(format!("{device} has no image {plane}; it has {count}, counted from 0"));
        let chosen = images.get(plane).ok_or_else(missing)?;
        let ([width, height], bytes) = (chosen.size(), chosen.bytes());
        let encoding = simulation.name(chosen.encoding().name());
        simulation.images = Some((id, step, images));
        result.set(simpartner_image { step: step.0, plane_count: count, encoding, width, height, size: bytes.len() });
        if buffer.is_null() && capacity == 0 {
            return Ok(());
        }
        if capacity < bytes.len() {
            let text = format!("the image has {} bytes, and the buffer has {capacity}", bytes.len());
            return Err(Failure::new(simpartner_status::SIMPARTNER_BUFFER_TOO_SMALL, text));
        }
        // SAFETY: as above.
        unsafe { pointer::write_array(buffer, bytes.len(), "buffer") }?.copy_from_slice(&bytes);
        Ok(())
    })
}
