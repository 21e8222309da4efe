//! Where the camera of a picture stands: at one place, or behind a body that it follows.

use bevy_math::{DQuat, DVec3};
use simpartner_model::{Body, BodyId, Mechanism, Pose};
use simpartner_render::{Camera, Scene, bodies_middle, looking_at, overview};
use simpartner_wire::near::did_you_mean;

use super::{super::exit::CliError, arguments::RenderArguments};

/// Place of a camera that follows a body, from it, in m: behind and above, as in the page's chase.
const CHASE_OFFSET: DVec3 = DVec3::new(-4.2, 1.7, 0.0);

/// Place of a camera.
pub(super) enum Station {
    /// World from optical frame, for all pictures.
    Fixed(Pose),
    /// Looks at a body. The place from its origin turns with the heading of the body alone, so the horizon stays level.
    Following { body: BodyId, offset: DVec3 },
}

impl Station {
    /// The place that the arguments ask for, in a world whose bodies are where the first picture has them.
    pub(super) fn of_arguments(
        arguments: &RenderArguments,
        scene: &Scene,
        mechanism: &Mechanism,
        camera: &Camera,
    ) -> Result<Self, CliError> {
        if let Some(name) = &arguments.follow {
            let body = find_body(mechanism, name)?;
            let offset = arguments.from.unwrap_or(CHASE_OFFSET);
            return match looking_at(offset, DVec3::ZERO) {
                Some(_) => Ok(Self::Following { body, offset }),
                None => Err(CliError::Usage("--from: with --follow, give a place away from the body's origin".into())),
            };
        }
        let Some(from) = arguments.from else {
            let eye = overview(scene, mechanism, camera).map_err(|error| CliError::Input(error.to_string()))?;
            return Ok(Self::Fixed(eye));
        };
        let to = arguments.look.unwrap_or_else(|| bodies_middle(mechanism));
        looking_at(from, to).map(Self::Fixed).ok_or_else(|| {
            let DVec3 { x, y, z } = to;
            let what = format!("--from: the camera is at {x},{y},{z}, where it looks");
            CliError::Usage(format!("{what}; give another point by --look"))
        })
    }

    /// Pose of the camera, world from optical frame, with the bodies where the mechanism has them.
    pub(super) fn eye_pose(&self, mechanism: &Mechanism) -> Pose {
        match self {
            Self::Fixed(eye) => *eye,
            Self::Following { body, offset } => {
                let Pose { translation, rotation } = mechanism.body(*body).pose;
                let from = translation + DQuat::from_rotation_y(heading_of(rotation)) * *offset;
                // Next to a body that is very far from the origin, both points may round to one.
                looking_at(from, translation).unwrap_or(Pose { translation: from, ..Pose::IDENTITY })
            }
        }
    }
}

/// Angle about the vertical from the world's x axis to a body's own, rad; 0 where that is vertical.
fn heading_of(rotation: DQuat) -> f64 {
    let ahead = rotation * DVec3::X;
    libm::atan2(-ahead.z, ahead.x)
}

/// The body of this name: of an object, `ROBOT/BODY`, or `BODY` where one robot alone has it.
fn find_body(mechanism: &Mechanism, name: &str) -> Result<BodyId, CliError> {
    let find = |is_it: &dyn Fn(&Body) -> bool| -> Vec<BodyId> {
        mechanism.bodies().filter(|(_, body)| is_it(body)).map(|(id, _)| id).collect()
    };
    let qualified = find(&|body| mechanism.qualified_name(body) == name);
    let bare = find(&|body| body.name == name);
    match (&qualified[..], &bare[..]) {
        ([body, ..], _) | ([], [body]) => Ok(*body),
        ([], []) => {
            let known: Vec<String> = mechanism.bodies.iter().map(|body| mechanism.qualified_name(body)).collect();
            let bare = mechanism.bodies.iter().map(|body| body.name.as_str());
            let near = did_you_mean(name, known.iter().map(String::as_str).chain(bare));
            Err(CliError::Usage(format!("--follow: there is no body '{name}'{near}")))
        }
        ([], several) => {
            let names: Vec<String> = several.iter().map(|id| mechanism.qualified_name(mechanism.body(*id))).collect();
            Err(CliError::Usage(format!(
                "--follow: '{name}' is one of several bodies; name one of {}",
                names.join(", ")
            )))
        }
    }
}
