//! Algebra without mechanics of its own: spatial vectors and small linear systems.
//!
//! **Takes** vectors, matrices and right-hand sides. **Gives** spatial motions, forces and inertias ([`spatial`]), a
//! sparse block elimination ([`elimination`]) and the solution of semidefinite systems ([`semidefinite`]). **Does not
//! know** trees, contacts or time.

pub(crate) mod elimination;
pub(crate) mod gauss_legendre;
pub(crate) mod semidefinite;
pub(crate) mod spatial;
