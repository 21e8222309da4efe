//! The session of a client of a camera.

use std::{future::pending, sync::Arc};

use simpartner_wire::{
    protocol::{CameraSession, Flow, ImageForm, ImageRequest, Refusal, Session},
    signal::ClientId,
};
use tokio::task::spawn_blocking;

use super::{
    frame::Frame,
    outlet::{Delivery, Subscription},
};
use crate::{
    connection::{CloseReason, Connection, READ_CHUNK, Wakeup},
    device::{enqueue, send_updates, switch_world, wait_for_place, wait_for_update},
    served::Served,
};

/// Length of the parts in which an image is sent, bytes: at the lowest permitted rate of 64 kB a second, 4 s each.
const PART_BYTES: usize = 256 * 1024;

/// A client's subscription to images.
struct ImageStream {
    subscription: Subscription,
    interval: u64,
    form: ImageForm,
    /// Number of the next image that is due; `None` before the first.
    due: Option<u64>,
}

/// Serves the client until it leaves or the server closes. `camera` is the serial number of its port, and `first` holds
/// the bytes received after the token.
pub(crate) async fn serve_camera(
    connection: &mut Connection<'_>,
    mut session: CameraSession,
    mut served: Arc<Served>,
    camera: u32,
    client: ClientId,
    first: &[u8],
) -> Result<(), CloseReason> {
    let shared = Arc::clone(connection.shared);
    let handle = &shared.handle;
    let (mut records, mut changes) = (handle.records(), shared.changes.subscribe());
    let (mut out, mut buffer) = (String::new(), [0; READ_CHUNK]);
    let mut stream: Option<ImageStream> = None;
    let mut received = first;
    let record = records.present();
    switch_world(&mut session, &mut served, &record, &shared)?;
    session.greet(&record, &mut out);
    loop {
        while !received.is_empty() {
            connection.unless_closed(wait_for_place(handle, client)).await?;
            send_updates(connection, &mut session, &mut served, &mut records, &mut out).await?;
            let record = records.present();
            switch_world(&mut session, &mut served, &record, &shared)?;
            let (taken, flow) =
                session.receive(received, &record, |request| enqueue(handle, &served.layout, request), &mut out);
            received = &received[taken..];
            if flow == Flow::Close {
                connection.send(&mut out).await?;
                return Err(CloseReason::Rule("did not speak this protocol"));
            }
            match session.take_request() {
                None => {}
                Some(ImageRequest::Subscribe { interval, form }) => {
                    let subscribe = || shared.cameras.subscribe_to(camera, Delivery::All);
                    stream =
                        (interval > 0).then(|| ImageStream { subscription: subscribe(), interval, form, due: None });
                    out.push_str("OK\n");
                }
                Some(ImageRequest::Newest(form)) => {
                    connection.send(&mut out).await?;
                    match connection.unless_closed(shared.cameras.newest_frame(camera)).await? {
                        Ok(frame) => send_frame(connection, frame, form, 0, &mut out).await?,
                        Err(why) => out.push_str(&format!("{}\n", Refusal::State(why))),
                    }
                }
            }
            connection.send_collected(&mut out).await?;
        }
        connection.send(&mut out).await?;
        connection.set_served(session.is_subscribed() || stream.is_some());
        let mut arrived = None;
        let news = async {
            tokio::select! {
                () = wait_for_update(&mut records, &mut changes, session.is_subscribed()) => {}
                next = next_frame(&mut stream) => arrived = Some(next),
            }
        };
        received = match connection.wait(&mut buffer, session.is_within_message(), news).await? {
            Wakeup::Bytes(count) => {
                connection.note_request();
                &buffer[..count]
            }
            Wakeup::Other => {
                send_updates(connection, &mut session, &mut served, &mut records, &mut out).await?;
                &[]
            }
        };
        if let (Some(frame), Some(stream)) = (arrived, &mut stream)
            && let Some(dropped) = stream.missed_before(&frame)
        {
            send_frame(connection, frame, stream.form, dropped, &mut out).await?;
        }
    }
}

async fn next_frame(stream: &mut Option<ImageStream>) -> Arc<Frame> {
    match stream {
        Some(stream) => stream.subscription.next_frame().await,
        None => pending().await,
    }
}

impl ImageStream {
    /// If the frame is due, the number of images missed before it.
    fn missed_before(&mut self, frame: &Frame) -> Option<u64> {
        let due = self.due.unwrap_or(frame.number);
        if frame.number < due {
            return None;
        }
        let dropped = (frame.number - due) / self.interval;
        self.due = Some(due + (dropped + 1) * self.interval);
        Some(dropped)
    }
}

/// Sends a frame, or the reason why it cannot be sent. Files are encoded on another thread.
async fn send_frame(
    connection: &mut Connection<'_>,
    frame: Arc<Frame>,
    form: ImageForm,
    dropped: u64,
    out: &mut String,
) -> Result<(), CloseReason> {
    let message = spawn_blocking(move || frame.message_in(form, dropped)).await;
    match message {
        Ok(Ok(message)) => {
            connection.send(out).await?;
            // Each part has a time limit of its own, so that a client that does not read is noticed within seconds.
            for part in message.chunks(PART_BYTES) {
                connection.send_bytes(part).await?;
            }
        }
        Ok(Err(why)) => out.push_str(&format!("{}\n", Refusal::State(why))),
        // The encoder panicked, which is a defect of this program.
        Err(_) => out.push_str(&format!("{}\n", Refusal::State("the image could not be encoded".into()))),
    }
    Ok(())
}
