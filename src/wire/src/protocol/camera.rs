//! The session of a client of a camera: images where other devices send numbers.
//!
//! `GET` and `SUB` ask for images, which somebody else makes: [`CameraSession::take_request`] returns the request, and
//! [`image_header`] is the line before each image. All other messages are those of any sensor.

use std::sync::Arc;

use simpartner_model::{StepIndex, Timestep};

use super::{
    Accepted, CommandBoard, Refusal, Request,
    device::whole_number,
    framing::{Decoder, Flow, verb_and_rest},
    number::excerpt,
    session::{DeviceSession, Session},
};
use crate::signal::{Encoding, Layout, Renumbering, StepRecord};

/// Form in which a client wants images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageForm {
    /// A PNG file in base64, on a line of its own.
    Text,
    /// The bytes of the pixels.
    Raw,
}

/// A client's request for images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageRequest {
    /// `GET`: the image that has arrived last.
    Newest(ImageForm),
    /// `SUB n`: every n-th image from now on; 0 for none.
    Subscribe {
        /// Number of images from one that is sent to the next.
        interval: u64,
        /// Their form.
        form: ImageForm,
    },
}

/// A client of a camera.
#[derive(Debug)]
pub struct CameraSession {
    device: DeviceSession,
    decoder: Decoder,
    request: Option<ImageRequest>,
}

impl CameraSession {
    /// A client of this device.
    pub fn new(device: DeviceSession) -> Self {
        Self { device, decoder: Decoder::default(), request: None }
    }

    /// The request for images that the last message was.
    pub fn take_request(&mut self) -> Option<ImageRequest> {
        self.request.take()
    }

    fn answer_message(
        &mut self,
        text: &str,
        record: &StepRecord,
        send: &mut impl FnMut(Request) -> Result<Accepted, Refusal>,
        out: &mut String,
    ) -> Result<(), Refusal> {
        let (verb, rest) = verb_and_rest(text);
        self.request = match &*verb {
            "GET" => Some(ImageRequest::Newest(image_form("GET", rest)?)),
            "SUB" => {
                let (interval, form) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                let interval = whole_number("SUB", interval)?;
                Some(ImageRequest::Subscribe { interval, form: image_form("SUB n", form.trim_start())? })
            }
            _ => {
                self.device.take(text, record, send, out);
                None
            }
        };
        if matches!(self.request, Some(ImageRequest::Newest(_))) && self.device.is_off(record) {
            self.request = None;
            return Err(Refusal::Off);
        }
        Ok(())
    }
}

/// The form after a verb: nothing, or `raw`.
fn image_form(verb: &str, text: &str) -> Result<ImageForm, Refusal> {
    match text {
        "" => Ok(ImageForm::Text),
        raw if raw.eq_ignore_ascii_case("raw") => Ok(ImageForm::Raw),
        other => Err(Refusal::Parameter(format!("expected {verb} or {verb} raw, got '{}'", excerpt(other)))),
    }
}

/// `F step time width height encoding bytes`, with ` dropped=n` if images were missed. `bytes` is the number of bytes
/// of the PNG file or of the pixels.
pub fn image_header(
    step: StepIndex,
    timestep: Timestep,
    [width, height]: [usize; 2],
    encoding: Encoding,
    bytes: usize,
    dropped: u64,
) -> String {
    let missed = if dropped > 0 { format!(" dropped={dropped}") } else { String::new() };
    format!("F {step} {} {width} {height} {} {bytes}{missed}\n", timestep.seconds_at(step), encoding.name())
}

impl Session for CameraSession {
    fn greet(&self, record: &StepRecord, out: &mut String) {
        self.device.greet(record, out);
    }

    fn receive(
        &mut self,
        bytes: &[u8],
        record: &StepRecord,
        mut send: impl FnMut(Request) -> Result<Accepted, Refusal>,
        out: &mut String,
    ) -> (usize, Flow) {
        // The decoder is taken out, so that the session can be borrowed for the answer.
        let mut decoder = std::mem::take(&mut self.decoder);
        let taken = decoder.answer_next(bytes, out, |text, out| self.answer_message(text, record, &mut send, out));
        self.decoder = decoder;
        taken
    }

    fn sample(&mut self, record: &StepRecord, out: &mut String) {
        self.device.sample(record, out);
    }

    fn go_on_in(&mut self, layout: &Arc<Layout>, board: &Arc<CommandBoard>, numbers: &Renumbering) -> bool {
        self.device.go_on_in(layout, board, numbers)
    }

    fn is_subscribed(&self) -> bool {
        self.device.is_subscribed()
    }

    fn wants_all(&self) -> bool {
        self.device.wants_all()
    }

    fn is_within_message(&self) -> bool {
        self.decoder.is_within_message()
    }
}
