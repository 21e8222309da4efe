//! The action `SimulateSteps` of `simulation_interfaces`: steps with feedback after each, until they are complete or
//! cancelled.
//!
//! One goal at a time; the next one waits.

use std::{future::ready, pin::pin, rc::Rc, time::Duration};

use anyhow::{Result, anyhow};
use ros2_client::{
    AsyncActionServer,
    action::{ExecutingGoalHandle, GoalEndStatus},
};
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    interfaces::{OnlyOutcome, Outcome, StepsFeedback, result},
    ros::Ros,
    services::{Simulator, UNREADABLE_PAUSE},
};

/// Time that a result waits for a request.
const RESULT_TIMEOUT: Duration = Duration::from_secs(10);

/// A goal is a number of steps.
type Server = AsyncActionServer<u64, OnlyOutcome, StepsFeedback>;
type Goal = ExecutingGoalHandle<u64>;

/// Offers the action. It ends with the set of tasks.
///
/// # Errors
/// The name is not valid in ROS.
pub fn offer(ros: &mut Ros, simulator: &Rc<Simulator>, tasks: &mut JoinSet<()>) -> Result<()> {
    let name = format!("/{}/simulate_steps", crate::NODE);
    let server = AsyncActionServer::new(ros.action(&name, crate::interfaces::PACKAGE, "SimulateSteps")?);
    let simulator = Rc::clone(simulator);
    tasks.spawn_local(async move {
        loop {
            // An unreadable or abandoned goal does not end the action.
            if serve_goal(&server, &simulator).await.is_err() {
                sleep(UNREADABLE_PAUSE).await;
            }
        }
    });
    Ok(())
}

/// Handles one goal, from its arrival to its result.
async fn serve_goal(server: &Server, simulator: &Simulator) -> Result<()> {
    let handle = server.receive_new_goal().await.map_err(|error| anyhow!("{error:?}"))?;
    let count = server.get_new_goal(handle).unwrap_or(0);
    let accepted = server.accept_goal(handle).await.map_err(|error| anyhow!("{error:?}"))?;
    let executing = server.start_executing_goal(accepted).await.map_err(|error| anyhow!("{error:?}"))?;
    let (status, outcome) = run_steps(server, simulator, executing, count).await;
    let answer = server.send_result_response(executing, status, OnlyOutcome { result: outcome });
    timeout(RESULT_TIMEOUT, answer).await?.map_err(|error| anyhow!("{error:?}"))
}

async fn run_steps(server: &Server, simulator: &Simulator, goal: Goal, count: u64) -> (GoalEndStatus, Outcome) {
    let mut cancelled = pin!(wait_for_cancel(server, goal));
    for completed_steps in 1..=count {
        let is_wanted = tokio::select! {
            biased;
            () = &mut cancelled => false,
            () = ready(()) => true,
        };
        if !is_wanted {
            let what = format!("cancelled after {} steps", completed_steps - 1);
            return (GoalEndStatus::Canceled, Outcome::failed(result::OPERATION_FAILED, what));
        }
        let outcome = simulator.step(1).await;
        if outcome.result != result::OK {
            return (GoalEndStatus::Aborted, outcome);
        }
        let feedback = StepsFeedback { completed_steps, remaining_steps: count - completed_steps };
        // Feedback that finds no place is not worth waiting for.
        let _ = server.publish_feedback(goal, feedback).await;
    }
    (GoalEndStatus::Succeeded, Outcome::ok())
}

/// Waits until this goal is no longer wanted.
async fn wait_for_cancel(server: &Server, goal: Goal) {
    loop {
        let Ok(handle) = server.receive_cancel_request().await else {
            sleep(UNREADABLE_PAUSE).await;
            continue;
        };
        let own = handle.contains_goal(&goal.goal_id()).then(|| goal.goal_id());
        let answered = server.respond_to_cancel_requests(&handle, own.into_iter()).await;
        if own.is_some() && answered.is_ok() {
            return;
        }
    }
}
