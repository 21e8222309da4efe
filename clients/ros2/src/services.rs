//! The services of `simulation_interfaces`, under the node's name. Unsupported requests are answered with
//! FEATURE_UNSUPPORTED.

use std::{
    cell::{Cell, RefCell},
    future::Future,
    rc::Rc,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use ros2_client::{Message, Server as RosServer};
use simpartner_wire::protocol::word;
use tokio::{sync::watch, task::JoinSet, time::sleep};

use crate::{
    interfaces::*,
    link::Server,
    links::{self, MAP, origin_velocity},
    messages::{Header, Time, Twist},
    placing,
    ros::Ros,
    scene::{Scene, Truth, own_name},
};

/// The pause after a request that cannot be read, so that a flood of them takes little time.
pub(crate) const UNREADABLE_PAUSE: Duration = Duration::from_millis(10);

/// The simulator behind the services. Each request has its own connection, so none waits for a step.
pub struct Simulator {
    view: RefCell<View>,
    pub(crate) server: Server,
    /// The number of the world whose topics are there.
    pub(crate) world: watch::Sender<u64>,
    /// True if the session has to check the world at once.
    pub(crate) is_world_awaited: Cell<bool>,
    /// Robots that a service has added and not removed.
    pub(crate) spawned: RefCell<Vec<String>>,
    /// Topic namespaces of robots that a service has set.
    pub(crate) namespaces: RefCell<Vec<(String, String)>>,
}

/// The present world.
#[derive(Clone)]
pub struct View {
    /// Its scene as the server describes it.
    pub scene: Rc<Scene>,
    /// Its links.
    pub links: Rc<Vec<links::Link>>,
}

/// A robot or a loose object.
pub(crate) struct Entity {
    name: String,
    /// Its body, of a robot the first.
    body: usize,
    category: u8,
}

impl Simulator {
    /// The simulator behind a server.
    pub fn new(server: Server, view: View) -> Self {
        let (view, world) = (RefCell::new(view), watch::Sender::new(0));
        let (is_world_awaited, spawned, namespaces) = Default::default();
        Self { view, server, world, is_world_awaited, spawned, namespaces }
    }

    /// Sets the world; its topics are open.
    pub fn set_world(&self, view: View, world: u64) {
        *self.view.borrow_mut() = view;
        self.is_world_awaited.set(false);
        self.world.send_replace(world);
    }

    /// True if a service waits for the topics of another world.
    pub fn is_world_awaited(&self) -> bool {
        self.is_world_awaited.get()
    }

    /// The topic namespace of a robot, if `SpawnEntity` has set it.
    pub fn namespace_of(&self, robot: &str) -> Option<String> {
        let namespaces = self.namespaces.borrow();
        namespaces.iter().rfind(|(name, _)| name == robot).map(|(_, namespace)| namespace.clone())
    }

    fn view(&self) -> View {
        self.view.borrow().clone()
    }

    pub(crate) async fn request(&self, question: &str) -> Result<String> {
        self.server.control().await?.request(question).await
    }

    fn entities(&self) -> Vec<Entity> {
        let mut entities: Vec<Entity> = Vec::new();
        for (body, item) in self.view().scene.bodies.iter().enumerate() {
            let (name, category) = match &item.robot {
                Some(robot) => (robot.clone(), category::ROBOT),
                None => {
                    let category = if item.fixed { category::STATIC_OBJECT } else { category::DYNAMIC_OBJECT };
                    (own_name(&item.name, None).to_owned(), category)
                }
            };
            let is_known = |entity: &Entity| entity.category == category::ROBOT && entity.name == name;
            if item.robot.is_none() || !entities.iter().any(is_known) {
                entities.push(Entity { name, body, category });
            }
        }
        entities
    }

    /// The entities that a filter lets through.
    fn filter_entities(&self, filters: &EntityFilters) -> Result<Vec<Entity>, Outcome> {
        let unsupported = |what: &str| Err(Outcome::failed(result::FEATURE_UNSUPPORTED, what));
        if !filters.tags.tags.is_empty() {
            return unsupported("entities have no tags");
        }
        if filters.bounds.kind != 0 {
            return unsupported("entities have no bounds");
        }
        let pattern = regex_lite::Regex::new(&filters.filter)
            .map_err(|error| Outcome::failed(result::OPERATION_FAILED, format!("the filter: {error}")))?;
        let wanted = |entity: &Entity| {
            let categories = &filters.categories;
            let fits = categories.is_empty() || categories.iter().any(|item| item.category == entity.category);
            fits && pattern.is_match(&entity.name)
        };
        Ok(self.entities().into_iter().filter(wanted).collect())
    }

    pub(crate) fn find_entity(&self, name: &str) -> Result<Entity, Outcome> {
        let found = self.entities().into_iter().find(|entity| entity.name == name);
        found.ok_or_else(|| {
            Outcome::failed(result::NOT_FOUND, format!("there is no entity '{name:.100}'; GetEntities lists them"))
        })
    }

    async fn request_truth(&self) -> Result<Truth, Outcome> {
        let answer = self.request("TRUTH").await;
        answer.and_then(|answer| Truth::read(&answer, &self.view().scene)).map_err(|error| operation_failed(&error))
    }

    fn state_of(&self, entity: &Entity, truth: &Truth) -> EntityState {
        let View { scene, links } = self.view();
        let state = &truth.bodies[entity.body];
        let turn = |vector| crate::frames::Axes::YUp.vector(vector).into();
        let centre = scene.bodies[entity.body].centre_of_mass;
        let linear = turn(origin_velocity(&links[entity.body], state, centre));
        EntityState {
            header: Header::new(&Time::from_seconds(truth.time), MAP),
            pose: links::in_map(&links[entity.body], state).into(),
            twist: Twist { linear, angular: turn(state.spin) },
            ..EntityState::default()
        }
    }

    async fn set_entity_state(&self, request: SetEntityState) -> Outcome {
        let entity = match self.find_entity(&request.entity) {
            Ok(entity) => entity,
            Err(outcome) => return outcome,
        };
        if entity.category == category::STATIC_OBJECT {
            return Outcome::failed(result::OPERATION_FAILED, "a static object stays where it is");
        }
        let View { scene, links } = self.view();
        let (link, centre) = (&links[entity.body], scene.bodies[entity.body].centre_of_mass);
        let line = self
            .request_truth()
            .await
            .and_then(|truth| placing::line(&request, &entity.name, link, centre, &truth.bodies[entity.body]));
        match line {
            Ok(Some(line)) => match self.request(&line).await {
                Ok(answer) => placing::outcome(&answer),
                Err(error) => operation_failed(&error),
            },
            Ok(None) => Outcome::ok(),
            Err(outcome) => outcome,
        }
    }

    async fn simulation_state(&self) -> Result<u8> {
        let answer = self.request("STATE").await?;
        let step = word(&answer, "step").context("the state has no step")?;
        Ok(match word(&answer, "state") {
            Some("PLAYING") => state::PLAYING,
            Some("QUITTING") => state::QUITTING,
            _ if step == "0" => state::STOPPED,
            _ => state::PAUSED,
        })
    }

    async fn get_state(&self) -> State {
        match self.simulation_state().await {
            Ok(state) => State { state, result: Outcome::ok() },
            Err(error) => State { state: state::QUITTING, result: operation_failed(&error) },
        }
    }

    /// Sends requests to the clock, in sequence.
    async fn control(&self, requests: &[String]) -> Result<()> {
        let mut clock = self.server.control().await?;
        for request in requests {
            let answer = clock.ask_patiently(request).await?;
            ensure!(answer.starts_with("OK"), "{answer}");
        }
        Ok(())
    }

    async fn set_state(&self, wanted: u8) -> Outcome {
        let now = match self.simulation_state().await {
            Ok(now) => now,
            Err(error) => return operation_failed(&error),
        };
        if now == wanted {
            return Outcome::failed(result::ALREADY_IN_TARGET_STATE, "the simulation is in this state already");
        }
        let requests: &[&str] = match wanted {
            state::PLAYING => &["PLAY"],
            state::PAUSED if now == state::STOPPED => {
                let what = "a simulation that is stopped stands at its start already; step or play it";
                return Outcome::failed(result::INCORRECT_TRANSITION, what);
            }
            state::PAUSED => &["PAUSE"],
            state::STOPPED => &["PAUSE", "RESET"],
            state::QUITTING => &["QUIT"],
            _ => {
                let what = format!("expected 0 (stopped), 1 (playing), 2 (paused) or 3 (quitting), got {wanted}");
                return Outcome::failed(result::FEATURE_UNSUPPORTED, what);
            }
        };
        let requests: Vec<String> = requests.iter().map(|&request| request.to_owned()).collect();
        outcome(self.control(&requests).await)
    }

    /// Makes steps of a paused simulation.
    pub async fn step(&self, steps: u64) -> Outcome {
        match self.simulation_state().await {
            Ok(state::PAUSED | state::STOPPED) if steps == 0 => Outcome::ok(),
            Ok(state::PAUSED | state::STOPPED) => outcome(self.control(&[format!("STEP {steps}")]).await),
            Ok(_) => Outcome::failed(result::OPERATION_FAILED, "the simulation is not paused"),
            Err(error) => operation_failed(&error),
        }
    }

    async fn reset(&self, scope: u8) -> Outcome {
        /// Time and state are reset together.
        const TIME_AND_STATE: u8 = 3;
        const SPAWNED_ENTITIES: u8 = 4;
        let scope = if scope == 0 { u8::MAX } else { scope };
        if scope & SPAWNED_ENTITIES != 0 {
            let names = std::mem::take(&mut *self.spawned.borrow_mut());
            for name in names {
                let gone = self.delete(&name).await;
                if !matches!(gone.result, result::OK | result::NOT_FOUND) {
                    return gone;
                }
            }
        }
        match scope {
            SPAWNED_ENTITIES => Outcome::ok(),
            scope if scope & TIME_AND_STATE == TIME_AND_STATE => outcome(self.control(&["RESET".into()]).await),
            _ => {
                let what = "time and state are reset together: SCOPE_ALL, or SCOPE_TIME with SCOPE_STATE";
                Outcome::failed(result::FEATURE_UNSUPPORTED, what)
            }
        }
    }

    async fn states(&self, filters: &EntityFilters) -> EntitiesStates {
        let found = match self.filter_entities(filters) {
            Ok(found) => self.request_truth().await.map(|truth| (found, truth)),
            Err(outcome) => Err(outcome),
        };
        match found {
            Ok((found, truth)) => EntitiesStates {
                result: Outcome::ok(),
                states: found.iter().map(|entity| self.state_of(entity, &truth)).collect(),
                entities: found.into_iter().map(|entity| entity.name).collect(),
            },
            Err(result) => EntitiesStates { result, ..EntitiesStates::default() },
        }
    }

    async fn entity_state(&self, name: &str) -> EntityStateResponse {
        let found = match self.find_entity(name) {
            Ok(entity) => self.request_truth().await.map(|truth| self.state_of(&entity, &truth)),
            Err(outcome) => Err(outcome),
        };
        match found {
            Ok(state) => EntityStateResponse { result: Outcome::ok(), state },
            Err(result) => EntityStateResponse { result, ..EntityStateResponse::default() },
        }
    }

    fn entity_info(&self, name: &str) -> EntityInfoResponse {
        match self.find_entity(name) {
            Ok(entity) => {
                let category = EntityCategory { category: entity.category };
                EntityInfoResponse { result: Outcome::ok(), info: EntityInfo { category, ..EntityInfo::default() } }
            }
            Err(result) => EntityInfoResponse { result, ..EntityInfoResponse::default() },
        }
    }

    fn entity_names(&self, filters: &EntityFilters) -> Entities {
        match self.filter_entities(filters) {
            Ok(found) => {
                Entities { result: Outcome::ok(), entities: found.into_iter().map(|item| item.name).collect() }
            }
            Err(result) => Entities { result, ..Entities::default() },
        }
    }
}

pub(crate) fn operation_failed(error: &anyhow::Error) -> Outcome {
    Outcome::failed(result::OPERATION_FAILED, format!("{error:#}"))
}

fn outcome(done: Result<()>) -> Outcome {
    done.map_or_else(|error| operation_failed(&error), |()| Outcome::ok())
}

fn not_supported() -> Outcome {
    Outcome::failed(
        result::FEATURE_UNSUPPORTED,
        "SimPartner does not support this; GetSimulatorFeatures lists what it does",
    )
}

/// Offers all services but those of `entities`. They end with the set of tasks.
///
/// # Errors
/// A name is not valid in ROS.
pub(crate) fn offer(services: &mut Services<'_>) -> Result<()> {
    services.add("GetSimulationState", async |simulator, _: AnyRequest| simulator.get_state().await)?;
    services.add("SetSimulationState", async |simulator, request: SetState| OnlyOutcome {
        result: simulator.set_state(request.state).await,
    })?;
    services.add("StepSimulation", async |simulator, request: Steps| OnlyOutcome {
        result: simulator.step(request.steps).await,
    })?;
    services.add("ResetSimulation", async |simulator, request: Scope| OnlyOutcome {
        result: simulator.reset(request.scope).await,
    })?;
    services
        .add("GetEntities", async |simulator, request: EntitiesRequest| simulator.entity_names(&request.filters))?;
    services.add("GetEntitiesStates", async |simulator, request: EntitiesRequest| {
        simulator.states(&request.filters).await
    })?;
    services.add("GetEntityState", async |simulator, request: EntityRequest| {
        simulator.entity_state(&request.entity).await
    })?;
    services.add("SetEntityState", async |simulator, request: SetEntityState| OnlyOutcome {
        result: simulator.set_entity_state(request).await,
    })?;
    services.add("GetEntityInfo", async |simulator, request: EntityRequest| simulator.entity_info(&request.entity))?;
    services.add("GetCurrentWorld", async |simulator, _: AnyRequest| World {
        result: Outcome::ok(),
        world: WorldResource { name: simulator.view().scene.name.clone(), ..WorldResource::default() },
    })?;
    offer_unsupported(services)
}

/// Offers the services that the server does not support.
fn offer_unsupported(services: &mut Services<'_>) -> Result<()> {
    for kind in ["SetEntityInfo", "UnloadWorld"] {
        services.add(kind, async |_, _: AnyRequest| OnlyOutcome { result: not_supported() })?;
    }
    for kind in ["GetNamedPoses", "GetAvailableWorlds"] {
        services.add(kind, async |_, _: AnyRequest| List { result: not_supported(), ..List::default() })?;
    }
    for kind in ["GetEntityBounds", "GetNamedPoseBounds"] {
        services.add(kind, async |_, _: AnyRequest| BoundsResponse {
            result: not_supported(),
            ..BoundsResponse::default()
        })?;
    }
    services.add("LoadWorld", async |_, _: AnyRequest| World { result: not_supported(), ..World::default() })
}

pub(crate) struct Services<'a> {
    ros: &'a mut Ros,
    simulator: &'a Rc<Simulator>,
    tasks: &'a mut JoinSet<()>,
}

impl<'a> Services<'a> {
    /// Services of a node, answered by its simulator. They end with the set of tasks.
    pub(crate) fn new(ros: &'a mut Ros, simulator: &'a Rc<Simulator>, tasks: &'a mut JoinSet<()>) -> Self {
        Self { ros, simulator, tasks }
    }

    /// Adds a service of this type, whose name is the type's as ROS writes it.
    pub(crate) fn add<Q, S, F, A>(&mut self, kind: &str, answer: F) -> Result<()>
    where
        Q: Message + Clone + 'static,
        S: Message + 'static,
        F: Fn(Rc<Simulator>, Q) -> A + 'static,
        A: Future<Output = S>,
    {
        let name = format!("/{}/{}", crate::NODE, crate::ros::snake_case(kind));
        let service: RosServer<Q, S> = self.ros.service(&name, PACKAGE, kind)?;
        let simulator = Rc::clone(self.simulator);
        self.tasks.spawn_local(async move {
            loop {
                // An unreadable request does not end the service, and it cannot be answered.
                let Ok((id, request)) = service.async_receive_request().await else {
                    sleep(UNREADABLE_PAUSE).await;
                    continue;
                };
                let response = answer(Rc::clone(&simulator), request).await;
                let _ = service.async_send_response(id, response).await;
            }
        });
        Ok(())
    }
}
