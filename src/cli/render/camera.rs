//! Images of a camera of a world or of a logged run, with the bits that its clients get.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use simpartner_description::{Parameters, World, xml};
use simpartner_model::{DeviceId, StepIndex, Timestep};
use simpartner_render::Scene;
use simpartner_wire::{near::did_you_mean, signal::DeviceInfo};

use super::{
    super::{
        exit::CliError,
        logged::{Bar, RunName},
    },
    arguments::RenderArguments,
    image_files::ImageFiles,
    picture::thread_count,
};
use crate::{
    camera::{Arrival, Arrivals, CameraModel},
    device,
    replay::Replay,
    sim::Simulation,
};

/// A camera with what it looks at.
struct Studio {
    scene: Scene,
    device: DeviceId,
    model: CameraModel,
}

/// Writes images of the camera of this name, and returns their path.
pub(super) fn render_camera(arguments: &RenderArguments, camera: &str) -> Result<PathBuf, CliError> {
    match arguments.subject.parse::<RunName>() {
        Ok(run) => render_run(arguments, &run, camera),
        Err(_) if arguments.at.is_some() => {
            Err(CliError::Usage(format!("'{}' is no run, but --at is given", arguments.subject)))
        }
        Err(_) => render_world(arguments, camera),
    }
}

/// The image before the first step.
fn render_world(arguments: &RenderArguments, camera: &str) -> Result<PathBuf, CliError> {
    let file = Path::new(&arguments.subject);
    let world = xml::read_world_or_robot(file, false, &Parameters::default())?;
    let describe = |spec| device::describe(spec, &world, Timestep::MILLISECOND);
    let devices: Vec<DeviceInfo> = world.devices.iter().map(describe).collect();
    // A world alone has the default seed.
    let studio = Studio::of_world(&world, &devices, 0, camera)?;
    let poses: Vec<_> = world.mechanism.bodies.iter().map(|body| body.pose).collect();
    let images = studio.model.images(&studio.scene, &poses, StepIndex(0), thread_count());
    let images = images.map_err(|error| CliError::Input(error.to_string()))?;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let path = arguments.output.clone().unwrap_or_else(|| format!("{stem}.png").into());
    let mut files = ImageFiles::single_file(&path, arguments.raw);
    files.add_images(StepIndex(0), &images)?;
    files.finish_files()
}

/// The image that had arrived by --at, or all that arrive from then to --until. The run is repeated.
fn render_run(arguments: &RenderArguments, name: &RunName, camera: &str) -> Result<PathBuf, CliError> {
    let (inquiry, run) = arguments.log.open(name)?;
    let (number, timestep) = (run.simulation_id, run.timestep);
    let last = run.steps.map_or(StepIndex(0), |(_, last)| StepIndex(last));
    let step_of = |moment: simpartner_model::Moment| StepIndex(moment.steps(timestep));
    let mut replay = Replay::open(inquiry, run)?;
    let until = arguments.until.or(arguments.at).map_or(last, step_of);
    let mut studio = {
        let (world, layout) = (replay.simulation().world(), replay.simulation().layout());
        Studio::of_world(world, layout.devices(), layout.seed(), camera)?
    };
    let is_single = arguments.until.is_none() && arguments.at.is_some();
    // An image that has arrived by then may be of any step before.
    let first = if is_single { StepIndex(0) } else { arguments.at.map_or(StepIndex(0), step_of) };
    let path = arguments.output.clone().unwrap_or_else(|| match is_single {
        true => format!("run-{number}.png").into(),
        false => format!("run-{number}-{}", camera.replace('/', "-")).into(),
    });
    let rate =
        1.0 / (timestep.seconds() * replay.simulation().layout().device_info(studio.device).interval_steps as f64);
    let mut files = match is_single {
        true => ImageFiles::single_file(&path, arguments.raw),
        false => ImageFiles::many_files(&path, arguments.raw, rate)?,
    };
    let (mut expected, mut newest, mut problem) = (Arrivals::default(), None, None);
    replay.visit_steps(until, &mut Bar::new(), |simulation, record| {
        if problem.is_some() || record.arrived.is_empty() && record.exposed.is_empty() {
            return;
        }
        let arrivals = expected.take(&Arc::new(record.clone()), simulation.layout());
        let Some(arrival) = arrivals.into_iter().find(|arrival| arrival.device == studio.device) else { return };
        if is_single {
            newest = Some(arrival);
        } else if record.step >= first {
            problem = studio.add_image(&mut files, simulation, &arrival).err();
        }
    })?;
    if let Some(arrival) = newest {
        problem = studio.add_image(&mut files, replay.simulation(), &arrival).err();
    }
    match problem {
        Some(problem) => Err(problem),
        None => files.finish_files(),
    }
}

impl Studio {
    fn of_world(world: &World, devices: &[DeviceInfo], seed: u64, camera: &str) -> Result<Self, CliError> {
        let full_name = |info: &DeviceInfo| format!("{}/{}", info.robot, info.name);
        let cameras = || devices.iter().enumerate().filter(|(_, info)| info.kind.is_camera());
        let fits = |info: &DeviceInfo| full_name(info) == camera || info.name == camera;
        let found: Vec<usize> = cameras().filter(|(_, info)| fits(info)).map(|(index, _)| index).collect();
        let known: Vec<String> = cameras().map(|(_, info)| full_name(info)).collect();
        let device = match (&found[..], &known[..]) {
            ([one], _) => DeviceId::new(*one),
            (_, []) => return Err(CliError::Usage("--camera: this world has no cameras".into())),
            ([], _) => {
                let names = cameras().map(|(_, info)| info.name.as_str()).chain(known.iter().map(String::as_str));
                let near = did_you_mean(camera, names);
                let what = format!("--camera: there is no '{camera}'{near}");
                return Err(CliError::Usage(format!("{what}; the cameras are {}", known.join(", "))));
            }
            _ => return Err(CliError::Usage(format!("--camera: name one of {}", known.join(", ")))),
        };
        let model = CameraModel::new(world, device, seed)
            .ok_or_else(|| CliError::Usage(format!("--camera: '{camera}' is no camera")))?;
        Ok(Self {
            scene: Scene::new(&world.mechanism).map_err(|error| CliError::Input(error.to_string()))?,
            device,
            model: model.map_err(|error| CliError::Input(error.to_string()))?,
        })
    }

    fn add_image(
        &mut self,
        files: &mut ImageFiles,
        simulation: &Simulation,
        arrival: &Arrival,
    ) -> Result<(), CliError> {
        let layout = simulation.layout();
        let images = self.model.images_from(&arrival.source, &mut self.scene, layout, thread_count());
        files.add_images(arrival.step, &images.map_err(CliError::Input)?)
    }
}
