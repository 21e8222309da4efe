//! The only integration test binary. Each module here tests a library module through its public interface.
//! `tests/README.md` has the place of each kind of test.

// A test that cannot continue has to stop; clippy allows this only in test functions themselves.
#![allow(clippy::unwrap_used)]

mod analysis;
mod balance;
mod benchmark;
mod book;
mod bounds;
mod cameras;
mod check;
mod circles;
mod cli;
mod config;
mod damaged;
mod device;
mod draw;
mod entities;
mod examples;
mod filters;
mod first_hour;
mod fluids;
mod grasp;
mod grasp_task;
mod habits;
mod import;
mod import_falls;
mod limits;
mod lockstep;
mod locomotion;
mod mobility;
mod needs;
mod output;
mod parameters;
mod physics;
mod placing;
mod ports;
mod process;
mod protocol;
mod push;
mod pushing;
mod rapier;
mod readme;
mod realtime;
mod recorder;
mod render;
mod replay;
mod rover;
mod run;
mod ruts;
#[allow(dead_code, reason = "the engine's tests and the bench beside other engines use the rest of it")]
mod scene;
mod server;
mod sim;
mod soil;
mod sweep;
mod terrain;
mod tidy;
mod tutorial;
mod verify;
mod web;
mod wording;
mod workpartner;
mod xml;
