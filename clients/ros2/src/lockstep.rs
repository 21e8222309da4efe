//! A clock that waits for a subscriber: the server's lockstep, acknowledged when a command has arrived on a topic.

use std::rc::Rc;

use anyhow::{Context, Result, anyhow};

use crate::{
    config::{Config, Source},
    robot::Robot,
    scene::Scene,
};

/// State of the two sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Lockstep {
    /// Which robot is commanded, by its place in the list of robots.
    pub robot: usize,
    topic: Rc<str>,
    /// Number of steps between commands.
    period: u64,
    /// The step that waits for an answer, and its time.
    waits: Option<(u64, f64)>,
    /// The previous one, for an acknowledgement that was refused.
    answered: Option<(u64, f64)>,
    /// True if the subscriber has commanded since the last answer.
    has_command: bool,
    /// Commands of the next answer, the newest for each actuator.
    parts: Vec<String>,
}

impl Lockstep {
    /// The lockstep of the settings.
    ///
    /// # Errors
    /// When the robot has no such topic; the message lists those that it has.
    pub fn of(
        config: &Config,
        ports: &[(String, u16)],
        robots: &[Robot],
        scene: &Scene,
        source: Option<&Source>,
    ) -> Result<Option<Self>> {
        let Some(settings) = &config.lockstep else { return Ok(None) };
        let place = ports.iter().position(|(name, _)| name == settings.robot.get_ref());
        let robot = place.with_context(|| format!("there is no robot '{}'", settings.robot.get_ref()))?;
        let topic = settings.topic.get_ref();
        if !robots[robot].topics.contains(topic) {
            let what = format!("the robot has no topic '{topic}'; it has {}", robots[robot].topics.join(", "));
            return Err(match source {
                Some(source) => source.problem(settings.topic.span().start, &what),
                None => anyhow!(what),
            });
        }
        let period = scene.steps_in(settings.period_s);
        Ok(Some(Self::new(robot, topic, period)))
    }

    fn new(robot: usize, topic: &str, period: u64) -> Self {
        Self { robot, topic: topic.into(), period, waits: None, answered: None, has_command: false, parts: Vec::new() }
    }

    /// The server waits for an answer to this step.
    pub fn asked(&mut self, step: u64, time: f64) {
        self.waits = Some((step, time));
    }

    /// Records a command, with its part of the acknowledgement if it has one.
    pub fn commanded(&mut self, topic: &str, part: Option<String>) {
        self.has_command |= topic == &*self.topic;
        self.add(part);
    }

    /// The time for which an acknowledgement can be sent; `None` if none can.
    pub fn is_ready(&self) -> Option<f64> {
        self.waits.filter(|_| self.has_command).map(|(_, time)| time)
    }

    /// The acknowledgement, with further commands.
    pub fn answer(&mut self, wanted: Vec<String>) -> String {
        self.add(wanted);
        self.answered = self.waits.take();
        self.has_command = false;
        let step = self.answered.map_or(0, |(step, _)| step);
        let parts = std::mem::take(&mut self.parts).join(";");
        format!("ACK {step}+{} {parts}", self.period).trim_end().to_owned()
    }

    /// The server has refused an answer: the step still waits, for another command.
    pub fn refused(&mut self) {
        self.waits = self.waits.or(self.answered);
    }

    fn add(&mut self, parts: impl IntoIterator<Item = String>) {
        let name = |part: &str| part.split('=').next().unwrap_or_default().to_owned();
        for part in parts.into_iter().flat_map(|parts| parts.split(';').map(str::to_owned).collect::<Vec<_>>()) {
            self.parts.retain(|old| name(old) != name(&part));
            self.parts.push(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_waits_for_a_command_on_the_topic() {
        let mut lockstep = Lockstep::new(0, "/a", 10);
        lockstep.asked(0, 0.0);
        lockstep.commanded("/b", Some("M=1;N=1".into()));
        assert_eq!(lockstep.is_ready(), None);
        lockstep.commanded("/a", Some("M=2".into()));
        assert_eq!(lockstep.is_ready(), Some(0.0));
        // The newest for each actuator.
        assert_eq!(lockstep.answer(vec!["O=3".into()]), "ACK 0+10 N=1;M=2;O=3");
        assert_eq!(lockstep.is_ready(), None);
        // A command that is early answers the next step.
        lockstep.commanded("/a", None);
        lockstep.asked(10, 0.01);
        assert_eq!(lockstep.is_ready(), Some(0.01));
        assert_eq!(lockstep.answer(Vec::new()), "ACK 10+10");
        // A refused acknowledgement leaves the step waiting.
        lockstep.refused();
        assert_eq!(lockstep.is_ready(), None);
        lockstep.commanded("/a", Some("M=4".into()));
        assert_eq!(lockstep.answer(Vec::new()), "ACK 10+10 M=4");
    }
}
