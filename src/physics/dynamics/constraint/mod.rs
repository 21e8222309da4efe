//! The laws that constrain the motion, written once for everything that obeys them.

pub(super) mod axis;
pub(super) mod closure;
