//! `simpartner render`: pictures of a world as a camera sees it before the first step, or of steps of a logged run.

mod arguments;
mod camera;
mod image_files;
mod picture;
mod station;
mod subject;
mod video_file;

use std::path::{Path, PathBuf};

use simpartner_description::{Parameters, xml};
use simpartner_model::{Mechanism, Moment};
use simpartner_render::{Camera, Optics, Scene, View};
use simpartner_terminal::output::line;

pub(super) use self::arguments::RenderArguments;
use self::{
    picture::{Kind, Pictures, picture_file},
    station::Station,
    subject::LoggedWorld,
};
use super::{
    exit::{CliError, ExitStatus},
    logged::Bar,
};
use crate::analysis::Progress;

/// Writes the pictures and prints their path.
pub(super) fn render_pictures(arguments: &RenderArguments) -> Result<ExitStatus, CliError> {
    arguments.folders.search()?;
    if let Some(camera) = &arguments.camera {
        line(camera::render_camera(arguments, camera)?.display());
        return Ok(ExitStatus::Success);
    }
    if arguments.until.is_some() && arguments.at.is_none() {
        return Err(CliError::Usage("--until: give --at as well".into()));
    }
    let [width, height] = arguments.size;
    let optics = Optics {
        near: arguments.near,
        far: arguments.far.unwrap_or(f64::INFINITY),
        ..Optics::pinhole(width, height, arguments.fov.to_radians())
    };
    let camera = Camera::new(optics).map_err(|error| CliError::Usage(error.to_string()))?;
    let path = match arguments.at {
        Some(at) => render_run(arguments, camera, at)?,
        None => {
            let file = Path::new(&arguments.subject);
            let world = xml::read_world_or_robot(file, false, &Parameters::default())?;
            let stem = file.file_stem().unwrap_or_default().to_string_lossy();
            let path = arguments.output.clone().unwrap_or_else(|| format!("{stem}.png").into());
            let shot = Shot::of_mechanism(arguments, camera, &world.mechanism)?;
            shot.write_picture(&world.mechanism, &path)?;
            path
        }
    };
    line(path.display());
    Ok(ExitStatus::Success)
}

/// Pictures of a logged run: of one step, or from one on.
fn render_run(arguments: &RenderArguments, camera: Camera, at: Moment) -> Result<PathBuf, CliError> {
    let name =
        arguments.subject.parse().map_err(|problem| CliError::Usage(format!("{problem}, since --at is given")))?;
    let mut logged = LoggedWorld::open_run(&name, &arguments.log)?;
    let number = logged.run_number();
    let first = logged.step_of(at);
    logged.go_to(first)?;
    let mut shot = Shot::of_mechanism(arguments, camera, &logged.world.mechanism)?;
    shot.scene.set_ruts(&logged.present_ruts());
    let Some(until) = arguments.until else {
        let path = arguments.output.clone().unwrap_or_else(|| format!("run-{number}.png").into());
        shot.write_picture(&logged.world.mechanism, &path)?;
        return Ok(path);
    };
    let last = logged.step_of(until);
    if last < first {
        return Err(CliError::Usage("--until: it is before --at".into()));
    }
    let path = arguments.output.clone().unwrap_or_else(|| format!("run-{number}-pictures").into());
    let spacing = logged.steps_per_second() / f64::from(arguments.fps);
    let step = |frame: u64| first + (frame as f64 * spacing).round() as u64;
    let count = (0..).take_while(|frame| step(*frame) <= last).count() as u64;
    let mut pictures = Pictures::create_at(&path, arguments.size, arguments.fps, shot.kind)?;
    let mut bar = Bar::new();
    bar.begin("pictures", count);
    for frame in 0..count {
        logged.go_to(step(frame))?;
        shot.scene.set_ruts(&logged.present_ruts());
        pictures.add_picture(&shot.view_of(&logged.world.mechanism)?, frame)?;
        bar.reach(frame + 1);
    }
    pictures.finish_files()?;
    Ok(path)
}

/// A scene, a camera and its place.
struct Shot {
    scene: Scene,
    camera: Camera,
    station: Station,
    kind: Kind,
}

impl Shot {
    fn of_mechanism(arguments: &RenderArguments, camera: Camera, mechanism: &Mechanism) -> Result<Self, CliError> {
        let scene = Scene::new(mechanism).map_err(|error| CliError::Input(error.to_string()))?;
        let station = Station::of_arguments(arguments, &scene, mechanism, &camera)?;
        let kind = match (arguments.depth, arguments.segmentation) {
            (true, _) => Kind::Depth,
            (_, true) => Kind::Segmentation,
            _ => Kind::Color { samples_per_side: arguments.samples },
        };
        Ok(Self { scene, camera, station, kind })
    }

    fn view_of(&self, mechanism: &Mechanism) -> Result<View<'_>, CliError> {
        let view = View::of_start(&self.scene, mechanism, self.camera, self.station.eye_pose(mechanism));
        view.map_err(|error| CliError::Input(error.to_string()))
    }

    fn write_picture(&self, mechanism: &Mechanism, path: &Path) -> Result<(), CliError> {
        let view = self.view_of(mechanism)?;
        if self.kind == Kind::Segmentation {
            picture::list_owners(&view, mechanism);
        }
        let file = picture_file(&view, self.kind)?;
        std::fs::write(path, file).map_err(|error| CliError::not_written(path, &error))
    }
}
