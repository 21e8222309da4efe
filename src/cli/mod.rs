//! The composition root's inner rooms: what the `simpartner` command reads before it builds anything. Start at
//! [`properties`].

pub mod properties;
