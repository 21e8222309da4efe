//! The shared library `simpartner`: simulations inside programs in C, and inside tools that import functional mock-up
//! units.
//!
//! `include/simpartner.h` is the interface for C, made by cbindgen from this package. A simulation is known to its
//! caller by a number in place of a pointer, so a handle that was freed is an error and no undefined behaviour. `fmi`
//! has the functions of FMI 2.0 and 3.0 on top of `simpartner::fmu`.
//!
//! Pointers of the caller are read and written by `pointer` alone.

mod describe;
mod edit;
mod fmi;
mod handle;
mod image;
mod pointer;
mod simulation;
mod state;
mod status;
