//! The images of cameras for clients: who wants them, and the thread that makes them.
//!
//! The publisher of records passes on those in which images are taken or arrive ([`ImageSink`]). A thread of ordinary
//! priority, the [studio](studio), makes the images that somebody wants and hands them to the sessions. Nobody waits
//! for it while steps have deadlines. At other times the clock waits, so that subscribers get every image.

mod exchange;
mod frame;
mod outlet;
mod session;
mod studio;

pub(super) use self::{
    exchange::{Cameras, Work},
    frame::Frame,
    outlet::Delivery,
    session::serve_camera,
    studio::start_studio,
};
