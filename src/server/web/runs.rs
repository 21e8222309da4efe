//! Recorded runs, from the archive to the page.

use std::sync::Arc;

use axum::{
    extract::{Path, Query, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::json;

use super::{
    Archive, ArchiveError, LoggedRun, RunModel, Web,
    frame::{self, Head, RECORDED},
    json, live, scene,
};

/// The most frames in an answer.
const FRAMES: u64 = 1000;

/// The most bytes of frames in an answer; it holds at least one.
const BYTES: usize = 16_000_000;

/// The most events in an answer.
const EVENTS: u64 = 1000;

/// Why there is no answer.
pub(super) enum Refused {
    /// There is no such run.
    NoRun(i64),
    /// The question makes no sense; why.
    Question(String),
    /// The log cannot be read.
    Log(ArchiveError),
}

impl From<ArchiveError> for Refused {
    fn from(error: ArchiveError) -> Self {
        Self::Log(error)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let (status, text) = match self {
            Self::NoRun(id) => (StatusCode::NOT_FOUND, format!("the log has no run {id}")),
            Self::Question(why) => (StatusCode::BAD_REQUEST, why),
            Self::Log(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
        };
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
    async fn turn(&self) -> Option<tokio::sync::SemaphorePermit<'_>> {
        self.lookups.acquire().await.ok()
    }
}

/// `/runs.json`
pub(super) async fn list(State(web): State<Arc<Web>>) -> Answered {
    let _turn = web.turn().await;
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
    let _turn = web.turn().await;
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
    let _turn = web.turn().await;
    let model = web.model(run).await?;
    let every = steps.every.unwrap_or(model.every);
    if every == 0 || !every.is_multiple_of(model.every) {
        let why = format!("every: expected a multiple of {}, since so many steps are between two logged", model.every);
        return Err(Refused::Question(why));
    }
    let length = frame::length(&model.layout);
    let fit = (BYTES / length).max(1) as u64;
    let count = steps.count.min(FRAMES).min(fit);
    let logged = web.archive(run)?.steps(run, &model, steps.from, every, count).await?;
    let mut bytes = Vec::with_capacity(length * logged.len());
    for record in logged {
        let head = Head {
            step: record.step.0,
            time_s: model.timestep.seconds_at(record.step),
            wall_s: record.timing.wall_ns as f64 * 1e-9,
            late_s: record.timing.late_ns as f64 * 1e-9,
            // The log does not have these of a step.
            real_time_factor: f64::NAN,
            rate: f64::NAN,
            epoch: record.epoch,
            state: RECORDED,
            ..Head::default()
        };
        frame::write(&head, &model.layout, &record, &mut bytes);
    }
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response())
}

/// `/runs/{id}/events.json`
pub(super) async fn events(State(web): State<Arc<Web>>, Path(run): Path<i64>) -> Answered {
    let _turn = web.turn().await;
    let events = web.archive(run)?.events(run, EVENTS).await?;
    let events: Vec<_> = events.iter().map(live::json_of).collect();
    Ok(json(json!({ "events": events }).to_string()))
}
