//! Recorded runs in the page.
