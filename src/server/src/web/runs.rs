//! HTTP requests for recorded runs.

use std::{io, sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::{Path, Query, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde_json::json;
use simpartner_wire::signal::StepRecord;
use tokio::{sync::SemaphorePermit, time::timeout};

use super::{
    archive::{Archive, ArchiveError, LoggedRun, RunModel},
    context::Web,
    frame::{self, Head, RECORDED},
    json::json,
    live,
};
use crate::scene;

/// Largest number of frames in a response.
const MAX_FRAMES: u64 = 1000;

/// Largest length of the frames in a response, bytes. A single frame may be longer.
const MAX_FRAME_BYTES: usize = 16_000_000;

/// Length of the frames that are read from the log at a time, bytes. The next are read when the page has taken these,
/// so a page that does not read takes no more memory than this.
const CHUNK_BYTES: usize = 1024 * 1024;

/// Longest wait of a request for a permit to read the log.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(10);

/// Largest number of events in a response, of each of the two kinds of [`Archive::events`].
const MAX_EVENTS: u64 = 1000;

/// Approximate largest number of entries in a response with the commands of a run.
const MAX_COMMAND_ENTRIES: u64 = 1000;

/// The reason why a request failed.
pub(super) enum RunError {
    /// The log has no run with this number.
    NoRun(i64),
    /// A parameter of the request is wrong; the text says why.
    InvalidParameter(String),
    /// The log cannot be read.
    Log(ArchiveError),
    /// Too many other requests wait for the log.
    Busy,
}

impl From<ArchiveError> for RunError {
    fn from(error: ArchiveError) -> Self {
        Self::Log(error)
    }
}

impl RunError {
    fn status_and_text(self) -> (StatusCode, String) {
        match self {
            Self::NoRun(id) => (StatusCode::NOT_FOUND, format!("the log has no run {id}")),
            Self::InvalidParameter(why) => (StatusCode::BAD_REQUEST, why),
            Self::Log(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
            Self::Busy => {
                (StatusCode::SERVICE_UNAVAILABLE, "too many queries of the log are waiting; try again later".into())
            }
        }
    }
}

impl IntoResponse for RunError {
    fn into_response(self) -> Response {
        let (status, text) = self.status_and_text();
        (status, format!("{text}\n")).into_response()
    }
}

type RunResponse = Result<Response, RunError>;

impl Web {
    fn archive(&self, run: i64) -> Result<&dyn Archive, RunError> {
        self.archive.as_deref().ok_or(RunError::NoRun(run))
    }

    async fn model(&self, run: i64) -> Result<Arc<RunModel>, RunError> {
        self.archive(run)?.model(run).await?.ok_or(RunError::NoRun(run))
    }

    /// Waits for a permit to read the log.
    async fn lookup_permit(&self) -> Result<SemaphorePermit<'_>, RunError> {
        timeout(LOOKUP_TIMEOUT, self.lookups.acquire()).await.ok().and_then(Result::ok).ok_or(RunError::Busy)
    }
}

/// `/runs.json`
pub(super) async fn list(State(web): State<Arc<Web>>) -> RunResponse {
    let _permit = web.lookup_permit().await?;
    let runs = match &web.archive {
        Some(archive) => archive.runs().await?,
        None => Vec::new(),
    };
    let runs: Vec<_> = runs.iter().map(json_of_run).collect();
    Ok(json(json!({ "runs": runs }).to_string()))
}

fn json_of_run(run: &LoggedRun) -> serde_json::Value {
    json!({
        "id": run.id,
        "world": run.world,
        "started": run.started,
        "status": run.status,
        "timestep": run.timestep.seconds(),
        "first": run.steps.map_or(run.every, |(first, _)| first),
        "last": run.steps.map(|(_, last)| last),
        "every": run.every,
        "real_time_factor": run.real_time_factor,
    })
}

/// `/runs/{id}/scene.json`
pub(super) async fn scene(State(web): State<Arc<Web>>, Path(run): Path<i64>) -> RunResponse {
    let _permit = web.lookup_permit().await?;
    let model = web.model(run).await?;
    Ok(json(scene::of_run(run, &model)))
}

/// Parameters of a request for frames.
#[derive(Debug, Deserialize)]
pub(super) struct Steps {
    /// The first step.
    from: u64,
    /// Largest number of frames.
    #[serde(default = "one_frame")]
    count: u64,
    /// Interval between frames, steps; by default the run's logging interval.
    every: Option<u64>,
}

/// Default number of frames.
fn one_frame() -> u64 {
    1
}

/// `/runs/{id}/frames`
pub(super) async fn frames(
    State(web): State<Arc<Web>>,
    Path(run): Path<i64>,
    Query(steps): Query<Steps>,
) -> RunResponse {
    let model = {
        let _permit = web.lookup_permit().await?;
        web.model(run).await?
    };
    let every = steps.every.unwrap_or(model.every);
    if every == 0 || !every.is_multiple_of(model.every) {
        let why = format!("every: expected a multiple of {}, the interval of the logged steps", model.every);
        return Err(RunError::InvalidParameter(why));
    }
    let fit = (MAX_FRAME_BYTES / frame::frame_bytes(&model.layout)).max(1) as u64;
    let count = steps.count.min(MAX_FRAMES).min(fit);
    let mut frames = Frames { web, run, model, from: steps.from, every, count };
    // The first chunk is read before the response begins, so that its errors can still set the status.
    let first = frames.next_chunk().await?;
    let rest = stream::try_unfold(frames, async |mut frames| {
        let chunk = frames.next_chunk().await.map_err(|refused| io::Error::other(refused.status_and_text().1))?;
        Ok::<_, io::Error>((!chunk.is_empty()).then_some((chunk, frames)))
    });
    let body = Body::from_stream(stream::once(async { Ok(first) }).chain(rest));
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], body).into_response())
}

/// The frames of a response that are still to be read.
struct Frames {
    web: Arc<Web>,
    run: i64,
    model: Arc<RunModel>,
    /// Step of the next frame.
    from: u64,
    /// Interval between frames, steps.
    every: u64,
    /// Number of frames still to be read.
    count: u64,
}

impl Frames {
    /// The bytes of the next frames, as many as fit into [`CHUNK_BYTES`]; empty after the last.
    async fn next_chunk(&mut self) -> Result<Vec<u8>, RunError> {
        let length = frame::frame_bytes(&self.model.layout);
        let wanted = self.count.min((CHUNK_BYTES / length).max(1) as u64);
        if wanted == 0 {
            return Ok(Vec::new());
        }
        let logged = {
            let _permit = self.web.lookup_permit().await?;
            self.web.archive(self.run)?.steps(self.run, &self.model, self.from, self.every, wanted).await?
        };
        // Fewer steps than requested mean the end of the log. A step number that overflows does not exist either.
        let next = self.every.checked_mul(wanted).and_then(|steps| self.from.checked_add(steps));
        let ends = (logged.len() as u64) < wanted;
        (self.from, self.count) = next.filter(|_| !ends).map_or((0, 0), |next| (next, self.count - wanted));
        let mut bytes = Vec::with_capacity(length * logged.len());
        for record in logged {
            frame::write_frame(&self.frame_header(&record), &self.model.layout, &record, &mut bytes);
        }
        Ok(bytes)
    }

    fn frame_header(&self, record: &StepRecord) -> Head {
        Head {
            step: record.step.0,
            time_s: self.model.timestep.seconds_at(record.step),
            wall_s: record.timing.wall_ns as f64 * 1e-9,
            late_s: record.timing.late_ns as f64 * 1e-9,
            // The log has neither of these for a step.
            real_time_factor: f64::NAN,
            rate: f64::NAN,
            epoch: record.epoch,
            state: RECORDED,
            ..Head::default()
        }
    }
}

/// `/runs/{id}/events.json`
pub(super) async fn events(State(web): State<Arc<Web>>, Path(run): Path<i64>) -> RunResponse {
    let _permit = web.lookup_permit().await?;
    let events = web.archive(run)?.events(run, MAX_EVENTS).await?;
    let events: Vec<_> = events.iter().map(live::json_of).collect();
    Ok(json(json!({ "events": events }).to_string()))
}

/// `/runs/{id}/commands.json`
pub(super) async fn commands(State(web): State<Arc<Web>>, Path(run): Path<i64>) -> RunResponse {
    let _permit = web.lookup_permit().await?;
    let model = web.model(run).await?;
    let commands = web.archive(run)?.commands(run, &model, MAX_COMMAND_ENTRIES).await?;
    let commands: Vec<_> = commands.iter().map(live::json_of_commands).collect();
    Ok(json(json!({ "commands": commands }).to_string()))
}
