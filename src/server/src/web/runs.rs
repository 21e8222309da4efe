//! Recorded runs, from the archive to the page.

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

/// The most frames in an answer.
const FRAMES: u64 = 1000;

/// The most bytes of frames in an answer; it holds at least one.
const BYTES: usize = 16_000_000;

/// How many bytes of them are read from the log at a time. The next are read when the page has taken these, so that one that
/// does not read takes no more memory than this.
const PIECE: usize = 1024 * 1024;

/// How long a question waits for its turn at the log.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most events in an answer.
const EVENTS: u64 = 1000;

/// About how many parts an answer has for the commands of a run.
const COMMANDS: u64 = 1000;

/// Why there is no answer.
pub(super) enum Refused {
    /// There is no such run.
    NoRun(i64),
    /// The question makes no sense; why.
    Question(String),
    /// The log cannot be read.
    Log(ArchiveError),
    /// Others ask too much of the log.
    Busy,
}

impl From<ArchiveError> for Refused {
    fn from(error: ArchiveError) -> Self {
        Self::Log(error)
    }
}

impl Refused {
    fn explain(self) -> (StatusCode, String) {
        match self {
            Self::NoRun(id) => (StatusCode::NOT_FOUND, format!("the log has no run {id}")),
            Self::Question(why) => (StatusCode::BAD_REQUEST, why),
            Self::Log(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
            Self::Busy => {
                (StatusCode::SERVICE_UNAVAILABLE, "too many questions wait for the log; ask again later".into())
            }
        }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let (status, text) = self.explain();
        (status, format!("{text}\n")).into_response()
    }
}

type Answered = Result<Response, Refused>;

impl Web {
    fn archive(&self, run: i64) -> Result<&dyn Archive, Refused> {
        self.archive.as_deref().ok_or(Refused::NoRun(run))
    }

    async fn model(&self, run: i64) -> Result<Arc<RunModel>, Refused> {
        self.archive(run)?.model(run).await?.ok_or(Refused::NoRun(run))
    }

    /// Waits for its turn at the log.
    async fn turn(&self) -> Result<SemaphorePermit<'_>, Refused> {
        timeout(PATIENCE, self.lookups.acquire()).await.ok().and_then(Result::ok).ok_or(Refused::Busy)
    }
}

/// `/runs.json`
pub(super) async fn list(State(web): State<Arc<Web>>) -> Answered {
    let _turn = web.turn().await?;
    let runs = match &web.archive {
        Some(archive) => archive.runs().await?,
        None => Vec::new(),
    };
    let runs: Vec<_> = runs.iter().map(json_of).collect();
    Ok(json(json!({ "runs": runs }).to_string()))
}

fn json_of(run: &LoggedRun) -> serde_json::Value {
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
pub(super) async fn scene(State(web): State<Arc<Web>>, Path(run): Path<i64>) -> Answered {
    let _turn = web.turn().await?;
    let model = web.model(run).await?;
    Ok(json(scene::of_run(run, &model)))
}

/// The steps asked for.
#[derive(Debug, Deserialize)]
pub(super) struct Steps {
    from: u64,
    #[serde(default = "one")]
    count: u64,
    every: Option<u64>,
}

fn one() -> u64 {
    1
}

/// `/runs/{id}/frames`
pub(super) async fn frames(State(web): State<Arc<Web>>, Path(run): Path<i64>, Query(steps): Query<Steps>) -> Answered {
    let model = {
        let _turn = web.turn().await?;
        web.model(run).await?
    };
    let every = steps.every.unwrap_or(model.every);
    if every == 0 || !every.is_multiple_of(model.every) {
        let why = format!("every: expected a multiple of {}, since so many steps are between two logged", model.every);
        return Err(Refused::Question(why));
    }
    let fit = (BYTES / frame::length(&model.layout)).max(1) as u64;
    let count = steps.count.min(FRAMES).min(fit);
    let mut frames = Frames { web, run, model, from: steps.from, every, count };
    // A fault of the log is reported before anything is sent, as far as it can be known by then.
    let first = frames.next_piece().await?;
    let rest = stream::try_unfold(frames, async |mut frames| {
        let piece = frames.next_piece().await.map_err(|refused| io::Error::other(refused.explain().1))?;
        Ok::<_, io::Error>((!piece.is_empty()).then_some((piece, frames)))
    });
    let body = Body::from_stream(stream::once(async { Ok(first) }).chain(rest));
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], body).into_response())
}

/// Frames that are still to be read.
struct Frames {
    web: Arc<Web>,
    run: i64,
    model: Arc<RunModel>,
    from: u64,
    every: u64,
    count: u64,
}

impl Frames {
    /// The next frames, as many as fit into a piece; none when there are no more.
    async fn next_piece(&mut self) -> Result<Vec<u8>, Refused> {
        let length = frame::length(&self.model.layout);
        let wanted = self.count.min((PIECE / length).max(1) as u64);
        if wanted == 0 {
            return Ok(Vec::new());
        }
        let logged = {
            let _turn = self.web.turn().await?;
            self.web.archive(self.run)?.steps(self.run, &self.model, self.from, self.every, wanted).await?
        };
        // The log ends where it has fewer steps than asked for; what does not fit into a step's number does not exist.
        let next = self.every.checked_mul(wanted).and_then(|steps| self.from.checked_add(steps));
        let ends = (logged.len() as u64) < wanted;
        (self.from, self.count) = next.filter(|_| !ends).map_or((0, 0), |next| (next, self.count - wanted));
        let mut bytes = Vec::with_capacity(length * logged.len());
        for record in logged {
            frame::write(&self.head(&record), &self.model.layout, &record, &mut bytes);
        }
        Ok(bytes)
    }

    fn head(&self, record: &StepRecord) -> Head {
        Head {
            step: record.step.0,
            time_s: self.model.timestep.seconds_at(record.step),
            wall_s: record.timing.wall_ns as f64 * 1e-9,
            late_s: record.timing.late_ns as f64 * 1e-9,
            // The log does not have these of a step.
            real_time_factor: f64::NAN,
            rate: f64::NAN,
            epoch: record.epoch,
            state: RECORDED,
            ..Head::default()
        }
    }
}

/// `/runs/{id}/events.json`
pub(super) async fn events(State(web): State<Arc<Web>>, Path(run): Path<i64>) -> Answered {
    let _turn = web.turn().await?;
    let events = web.archive(run)?.events(run, EVENTS).await?;
    let events: Vec<_> = events.iter().map(live::json_of).collect();
    Ok(json(json!({ "events": events }).to_string()))
}

/// `/runs/{id}/commands.json`
pub(super) async fn commands(State(web): State<Arc<Web>>, Path(run): Path<i64>) -> Answered {
    let _turn = web.turn().await;
    let model = web.model(run).await?;
    let commands = web.archive(run)?.commands(run, &model, COMMANDS).await?;
    let commands: Vec<_> = commands.iter().map(live::json_of_commands).collect();
    Ok(json(json!({ "commands": commands }).to_string()))
}
