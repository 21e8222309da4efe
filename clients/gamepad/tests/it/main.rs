//! The gamepad client against a real server, with scripted gamepads.

// A test that cannot continue has to stop; clippy allows this only in test functions themselves.
#![allow(clippy::unwrap_used)]

mod command;
mod loss;
#[path = "../../../../tests/it/needs.rs"]
mod needs;
mod pilot;
mod replay;
mod rig;
#[cfg(all(target_os = "linux", feature = "pad"))]
mod synthetic;

use std::{
    path::Path,
    sync::{Arc, atomic::AtomicBool, mpsc},
    time::Duration,
};

use simpartner_gamepad::{
    drive::{Driven, drive},
    link::Server,
    mapping::{Mapping, WORKPARTNER},
    pad::{Backend, Event},
    script::Script,
};
use simpartner_wire::signal::{Action, StepRecord};

use rig::Rig;

fn workpartner() -> Mapping {
    Mapping::read("workpartner.toml", WORKPARTNER).unwrap()
}

fn server(rig: &Rig) -> Server {
    Server { address: rig.control.clone(), token: None, robot: None, lead_s: 0.02 }
}

/// Drives by a script; returns also the notices to the user.
fn by_script(server: &Server, script: &str, record: Option<&Path>) -> (Driven, Vec<String>) {
    let mut told = Vec::new();
    let mut script = Script::read("script", script).unwrap();
    let stop = AtomicBool::new(false);
    let driven = drive(server, workpartner(), &mut script, record, &stop, &mut |notice| told.push(notice)).unwrap();
    (driven, told)
}

/// A pad in the hand of the test.
struct Hand(mpsc::Receiver<Event>);

impl Backend for Hand {
    fn poll(&mut self, _now: Duration, events: &mut Vec<Event>) -> anyhow::Result<()> {
        events.extend(self.0.try_iter());
        Ok(())
    }
}

/// A drive in a thread of its own, with its gamepad and its messages.
struct Drive {
    pad: mpsc::Sender<Event>,
    told: mpsc::Receiver<String>,
    thread: std::thread::JoinHandle<anyhow::Result<Driven>>,
}

impl Drive {
    fn start(rig: &Rig, record: Option<&Path>) -> Self {
        let (pad, events) = mpsc::channel();
        let (telling, told) = mpsc::channel();
        let (server, record) = (server(rig), record.map(Path::to_owned));
        let thread = std::thread::spawn(move || {
            let mut tell = |notice| telling.send(notice).unwrap_or_default();
            drive(&server, workpartner(), &mut Hand(events), record.as_deref(), &AtomicBool::new(false), &mut tell)
        });
        pad.send(Event::Found("hand".into())).unwrap();
        Self { pad, told, thread }
    }

    fn does(&self, event: Event) {
        self.pad.send(event).unwrap();
    }

    /// Waits for a notice to the user that contains this.
    fn waits_for_notice(&self, what: &str) -> String {
        loop {
            let told =
                self.told.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|_| panic!("no notice has '{what}'"));
            if told.contains(what) {
                return told;
            }
        }
    }

    fn end(self) -> Driven {
        self.does(Event::End);
        self.thread.join().unwrap().unwrap()
    }
}

/// Waits until the newest step is as wanted.
fn wait_for(rig: &Rig, what: &str, is_so: impl Fn(&StepRecord) -> bool) {
    for _ in 0..6000 {
        if is_so(&rig.latest()) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it never came that {what}");
}

/// A device's values in a step.
fn values(rig: &Rig, record: &StepRecord, device: &str) -> Vec<f64> {
    let index = rig.world.devices.iter().position(|candidate| candidate.name == device).unwrap();
    record.values[rig.layout().device(simpartner_wire::signal::DeviceId::new(index))].to_vec()
}

/// The commands of a log for a device: the steps they acted in and a number of each.
fn commands(
    rig_world: &simpartner_description::World,
    log: &[Arc<StepRecord>],
    device: &str,
    field: usize,
) -> Vec<(u64, f64)> {
    let index = rig_world.devices.iter().position(|candidate| candidate.name == device).unwrap();
    let of_device =
        log.iter().flat_map(|record| record.commands.iter().map(|applied| (record.step.0, &applied.command)));
    let of_device =
        of_device.filter(|(_, command)| command.target.device().is_some_and(|device| device.index() == index));
    let number = |(step, command): (u64, &simpartner_wire::signal::Command)| match &command.action {
        Action::Drive(values) => (step, values[field]),
        other => panic!("{other:?}"),
    };
    of_device.map(number).collect()
}
