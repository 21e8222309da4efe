//! Adding robots, and removing robots and objects, by `simulation_interfaces`. A service answers when the topics of the
//! edited world exist.

use std::time::Duration;

use anyhow::{Result, ensure};
use simpartner_wire::protocol::word;
use tokio::time::timeout;

use crate::{
    interfaces::*,
    services::{Services, Simulator, operation_failed},
    spawning,
};

/// Wall time that a service waits for the topics of a world that it has changed.
const TOPICS_TIMEOUT: Duration = Duration::from_secs(10);

impl Simulator {
    /// Adds a robot and its topics.
    async fn spawn_entity(&self, request: &Spawn) -> Spawned {
        let failed = |result: Outcome| Spawned { result, ..Spawned::default() };
        let line = match spawning::line(request) {
            Ok(line) => line,
            Err(outcome) => return failed(outcome),
        };
        let spawned = match self.request_change(&line).await {
            Ok(answer) => spawning::outcome(&answer),
            Err(error) => return failed(operation_failed(&error)),
        };
        if spawned.result.result == result::OK {
            let name = spawned.entity_name.clone();
            if !request.entity_namespace.is_empty() {
                self.namespaces.borrow_mut().push((name.clone(), spawning::namespace(&request.entity_namespace)));
            }
            self.spawned.borrow_mut().push(name);
            self.wait_for_topics().await;
        }
        spawned
    }

    async fn spawn_all(&self, requests: &[Spawn]) -> AllSpawned {
        let mut results = Vec::new();
        for request in requests {
            results.push(self.spawn_entity(request).await);
        }
        let failed = results.iter().filter(|spawned| spawned.result.result != result::OK).count();
        let result = match failed {
            0 => Outcome::ok(),
            _ => Outcome::failed(result::ENTITIES_SPAWN_FAILED, format!("{failed} of {} did not come", results.len())),
        };
        AllSpawned { result, results }
    }

    pub(crate) async fn delete(&self, name: &str) -> Outcome {
        if let Err(outcome) = self.find_entity(name) {
            return outcome;
        }
        match self.request_change(&format!("REMOVE {name}")).await {
            Ok(answer) if answer.starts_with("OK") => {
                self.spawned.borrow_mut().retain(|spawned| spawned != name);
                self.namespaces.borrow_mut().retain(|(robot, _)| robot != name);
                self.wait_for_topics().await;
                Outcome::ok()
            }
            Ok(answer) => Outcome::failed(result::OPERATION_FAILED, answer),
            Err(error) => operation_failed(&error),
        }
    }

    async fn request_change(&self, line: &str) -> Result<String> {
        self.server.control().await?.ask_patiently(line).await
    }

    /// Waits until the topics are those of the world that the server has now.
    async fn wait_for_topics(&self) {
        let Ok(answer) = self.request("TRUTH").await else { return };
        let now = word(&answer, "world").and_then(|world| world.parse().ok()).unwrap_or(0_u64);
        self.is_world_awaited.set(*self.world.borrow() < now);
        let mut world = self.world.subscribe();
        // After the timeout the answer is still correct; the topics follow later.
        let _ = timeout(TOPICS_TIMEOUT, world.wait_for(|world| *world >= now)).await;
    }

    async fn spawnables(&self) -> Result<Vec<Spawnable>> {
        let mut control = self.server.control().await?;
        let (mut found, mut line) = (Vec::new(), control.request("SPAWNABLES").await?);
        while let Some(file) = line.strip_prefix("SPAWNABLE file=") {
            let entity_resource = Resource { uri: file.to_owned(), ..Resource::default() };
            found.push(Spawnable { entity_resource, ..Spawnable::default() });
            line = control.reader.line().await?;
        }
        ensure!(line.starts_with("OK"), "{line}");
        Ok(found)
    }

    pub(crate) async fn features(&self) -> SimulatorFeatures {
        let mut features = feature::SUPPORTED.to_vec();
        if self.spawnables().await.is_ok() {
            features.extend(feature::OF_SPAWNING);
        }
        SimulatorFeatures {
            features,
            spawn_formats: ["urdf", "sdf", "mjcf", "simpartner"].map(str::to_owned).to_vec(),
            custom_info: "https://github.com/ros-simulation/simulation_interfaces 2.1 by simpartner-ros2".into(),
        }
    }
}

/// Offers the services that add and remove entities, and the list of features.
pub(crate) fn offer(services: &mut Services<'_>) -> Result<()> {
    services.add("GetSimulatorFeatures", async |simulator, _: AnyRequest| Features {
        features: simulator.features().await,
    })?;
    services.add("SpawnEntity", async |simulator, request: Spawn| simulator.spawn_entity(&request).await)?;
    services.add("SpawnEntities", async |simulator, request: SpawnAll| {
        simulator.spawn_all(&request.spawn_requests).await
    })?;
    services.add("DeleteEntity", async |simulator, request: EntityRequest| OnlyOutcome {
        result: simulator.delete(&request.entity).await,
    })?;
    services.add("GetSpawnables", async |simulator, _: AnyRequest| match simulator.spawnables().await {
        Ok(spawnables) => Spawnables { result: Outcome::ok(), spawnables },
        Err(error) => Spawnables { result: operation_failed(&error), ..Spawnables::default() },
    })
}
