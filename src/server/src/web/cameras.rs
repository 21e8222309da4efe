//! HTTP requests for the images of cameras.

use std::{convert::Infallible, sync::Arc};

use axum::{
    body::{Body, Bytes},
    extract::{Path, Query, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use serde::Deserialize;
use serde_json::{Value, json};
use simpartner_model::DeviceId;
use simpartner_wire::{near::did_you_mean, signal::DeviceInfo};
use tokio::task::spawn_blocking;

use super::{context::Web, json::json as json_response};
use crate::cameras::{Delivery, Frame};

/// Boundary between the images of a stream.
const IMAGE_BOUNDARY: &str = "simpartner-image";

/// Parameters of a request.
#[derive(Debug, Deserialize)]
pub(super) struct Which {
    /// Index of the image, for an RgbdCamera: 0 for colours, 1 for depths.
    #[serde(default)]
    image: usize,
}

/// A request that has no image.
pub(super) enum ImageProblem {
    /// Nothing has this name.
    Unknown(String),
    /// There is no image now.
    None(String),
}

impl IntoResponse for ImageProblem {
    fn into_response(self) -> Response {
        match self {
            Self::Unknown(why) => (StatusCode::NOT_FOUND, format!("{why}\n")),
            Self::None(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
        }
        .into_response()
    }
}

/// The cameras of the running world.
pub(super) async fn list_cameras(State(web): State<Arc<Web>>) -> Response {
    let served = web.shared.current();
    let timestep = web.shared.handle.timestep().seconds();
    let cameras = served.layout.devices().iter().zip(&served.devices).filter_map(|(info, port)| {
        let optics = info.camera?;
        let images = optics.encodings(info.kind).iter().enumerate().map(|(index, encoding)| {
            let path = |ending: &str| match index {
                0 => format!("/cameras/{}/{}.{ending}", info.robot, info.name),
                _ => format!("/cameras/{}/{}.{ending}?image={index}", info.robot, info.name),
            };
            json!({ "encoding": encoding.name(), "png": path("png"), "mjpeg": path("mjpeg") })
        });
        Some(json!({
            "robot": info.robot,
            "name": info.name,
            "kind": info.kind.name(),
            "port": port.address.port(),
            "width": optics.width,
            "height": optics.height,
            "rate": 1.0 / (info.interval_steps as f64 * timestep),
            "images": images.collect::<Vec<Value>>(),
        }))
    });
    json_response(Value::from(cameras.collect::<Vec<Value>>()).to_string())
}

/// The newest image of a camera as `NAME.png`, or its images as they come as `NAME.mjpeg`.
pub(super) async fn camera_image(
    State(web): State<Arc<Web>>,
    Path((robot, file)): Path<(String, String)>,
    Query(Which { image }): Query<Which>,
) -> Result<Response, ImageProblem> {
    let served = web.shared.current();
    let (name, ending) = file.rsplit_once('.').unwrap_or((&file, ""));
    let place = served.layout.devices().iter().position(|info| info.camera.is_some() && is_named(info, &robot, name));
    let device = place.map(DeviceId::new).ok_or_else(|| unknown_camera(served.layout.devices(), &robot, name))?;
    let info = served.layout.device_info(device);
    let count = info.camera.map_or(0, |optics| optics.encodings(info.kind).len());
    if image >= count {
        return Err(ImageProblem::Unknown(format!("{name} has {count} images, which are counted from 0")));
    }
    let camera = served.devices[device.index()].number;
    match ending {
        "png" => {
            let frame = web.shared.cameras.newest_frame(camera).await.map_err(ImageProblem::None)?;
            let file = encode_image(frame, move |frame| Ok(frame.png_files()?[image].to_vec())).await?;
            Ok(([(header::CONTENT_TYPE, "image/png")], file).into_response())
        }
        "mjpeg" => Ok(image_stream(&web, camera, image)),
        _ => Err(ImageProblem::Unknown("an image is called NAME.png, and a video NAME.mjpeg".into())),
    }
}

fn is_named(info: &DeviceInfo, robot: &str, name: &str) -> bool {
    info.robot == robot && info.name == name
}

fn unknown_camera(devices: &[DeviceInfo], robot: &str, name: &str) -> ImageProblem {
    let full = |info: &DeviceInfo| format!("{}/{}", info.robot, info.name);
    let known: Vec<String> = devices.iter().filter(|info| info.camera.is_some()).map(full).collect();
    let near = did_you_mean(&format!("{robot}/{name}"), known.iter().map(String::as_str));
    ImageProblem::Unknown(format!("there is no camera {robot}/{name}{near}; /cameras lists all"))
}

/// All images of a camera from now on, as far as the client takes them.
fn image_stream(web: &Web, camera: u32, image: usize) -> Response {
    let subscription = web.shared.cameras.subscribe_to(camera, Delivery::Newest);
    let closed = web.closed.clone();
    let parts = stream::unfold((subscription, closed), move |(mut subscription, mut closed)| async move {
        let frame = tokio::select! {
            frame = subscription.next_frame() => frame,
            _ = closed.wait_for(|closed| *closed) => return None,
        };
        let encode = move |frame: &Frame| frame.images[image].jpeg().map_err(|error| error.to_string());
        let file = encode_image(frame, encode).await.ok()?;
        let head = format!("--{IMAGE_BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: {}\r\n\r\n", file.len());
        let part = [head.as_bytes(), &file, b"\r\n"].concat();
        Some((Ok::<_, Infallible>(Bytes::from(part)), (subscription, closed)))
    });
    let kind = format!("multipart/x-mixed-replace; boundary={IMAGE_BOUNDARY}");
    ([(header::CONTENT_TYPE, kind)], Body::from_stream(parts)).into_response()
}

/// An image as a file, encoded on another thread.
async fn encode_image(
    frame: Arc<Frame>,
    encode: impl FnOnce(&Frame) -> Result<Vec<u8>, String> + Send + 'static,
) -> Result<Vec<u8>, ImageProblem> {
    let defect = |_| Err("the image could not be encoded".into());
    spawn_blocking(move || encode(&frame)).await.unwrap_or_else(defect).map_err(ImageProblem::None)
}
