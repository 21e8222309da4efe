//! The module `simpartner._native`: simulations inside Python. `simpartner.embedded` is the interface for users.
//!
//! Each call that computes releases the interpreter, and checks for Ctrl-C some twenty times a second. Arrays are those
//! of the caller; nothing is copied but the numbers themselves. `_native.pyi` has the types, shapes and units.

mod batch;
mod error;
mod simulation;
mod slices;

/// Simulations inside Python.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use super::batch::Batch;
    #[pymodule_export]
    use super::simulation::Simulation;
}
