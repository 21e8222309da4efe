//! Arguments of `simpartner render`.

use std::path::PathBuf;

use bevy_math::DVec3;
use clap::Args;
use simpartner_model::Moment;

use super::super::{arguments::ModelArguments, logged::LogArguments};

#[derive(Debug, Args)]
pub(in crate::cli) struct RenderArguments {
    /// World or robot file, where a robot stands on level ground; with --at a run: a number, `last`, or URL#NUMBER
    #[arg(value_name = "WORLD|RUN")]
    pub(super) subject: String,
    /// The PNG file; with --until a folder of them, or a video: .y4m, or by an installed ffmpeg .mp4 and .webm
    /// [default: the name of the world or run, in this folder]
    #[arg(short, long, value_name = "PATH")]
    pub(super) output: Option<PathBuf>,
    /// Simulated time of a logged run, in seconds, or a step as 2500steps
    #[arg(long, value_name = "TIME", value_parser = Moment::or_seconds)]
    pub(super) at: Option<Moment>,
    /// Makes pictures from --at to this time
    #[arg(long, value_name = "TIME", value_parser = Moment::or_seconds)]
    pub(super) until: Option<Moment>,
    /// Pictures for each simulated second, with --until
    #[arg(long, value_name = "N", default_value_t = 25, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) fps: u32,
    /// A camera of the world, as ROBOT/NAME or NAME: its own images, with the bits that its clients get. Of a run, the
    /// one that had arrived at --at, or all from --at to --until
    #[arg(long, value_name = "NAME", conflicts_with_all = ["from", "follow", "size", "fov", "samples", "depth", "segmentation", "near", "far"])]
    pub(super) camera: Option<String>,
    /// Writes the bytes of pixels as the camera's port sends them, in place of PNG files
    #[arg(long, requires = "camera")]
    pub(super) raw: bool,
    /// Width and height, in pixels
    #[arg(long, value_name = "WIDTHxHEIGHT", default_value = "640x480", value_parser = parse_size)]
    pub(super) size: [u32; 2],
    /// Body that the camera looks at and goes along with, as ROBOT/NAME or NAME
    #[arg(long, value_name = "BODY", conflicts_with = "look")]
    pub(super) follow: Option<String>,
    /// Place of the camera in the world, in metres [default: one from which all robots and objects are seen]. With
    /// --follow its place from the body, where x is ahead, y up and z right [default: -4.2,1.7,0]
    #[arg(long, value_name = "X,Y,Z", value_parser = parse_point, allow_hyphen_values = true)]
    pub(super) from: Option<DVec3>,
    /// Point that it looks at, in metres [default: the middle of all robots and objects]
    #[arg(long, value_name = "X,Y,Z", value_parser = parse_point, allow_hyphen_values = true, requires = "from")]
    pub(super) look: Option<DVec3>,
    /// Horizontal field of view, in degrees
    #[arg(long, value_name = "DEGREES", default_value_t = 60.0, value_parser = parse_field_of_view)]
    pub(super) fov: f64,
    /// Samples of a pixel along each side: 1 is fast, 2 makes smooth edges
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(super) samples: u32,
    /// Distances along the optical axis, as whole millimetres in 16 bits: 65535 is the sky, and what is farther than
    /// 65.534 m
    #[arg(long, conflicts_with = "segmentation")]
    pub(super) depth: bool,
    /// A colour for each body; prints colours, numbers of pixels and names
    #[arg(long)]
    pub(super) segmentation: bool,
    /// Distance at which the camera begins to see, in metres
    #[arg(long, value_name = "METRES", default_value_t = 0.01)]
    pub(super) near: f64,
    /// Distance up to which it sees, in metres [default: without end]
    #[arg(long, value_name = "METRES")]
    pub(super) far: Option<f64>,
    #[command(flatten)]
    pub(super) log: LogArguments,
    #[command(flatten)]
    pub(super) folders: ModelArguments,
}

fn parse_size(text: &str) -> Result<[u32; 2], String> {
    let sides =
        text.split_once(['x', 'X']).and_then(|(width, height)| Some([width.parse().ok()?, height.parse().ok()?]));
    sides.ok_or_else(|| "expected width and height in pixels, such as 640x480".into())
}

fn parse_point(text: &str) -> Result<DVec3, String> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|number| number.trim().parse()).collect();
    match numbers.as_deref() {
        Ok([x, y, z]) if [x, y, z].iter().all(|number| number.is_finite()) => Ok(DVec3::new(*x, *y, *z)),
        _ => Err("expected a point of the world in metres, such as 2,1.5,-3".into()),
    }
}

fn parse_field_of_view(text: &str) -> Result<f64, String> {
    let degrees = text.parse().ok().filter(|degrees| (0.1..=170.0).contains(degrees));
    degrees.ok_or_else(|| "expected degrees from 0.1 to 170".into())
}
