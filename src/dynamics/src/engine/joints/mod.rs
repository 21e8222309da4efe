//! Laws of joints: efforts and stops of one axis, or of one ball joint.
//!
//! **Takes** the parameters of a joint, its coordinate and its rate. **Gives** efforts that are linear in the velocity
//! at the end of the substep, and rows for stops, dry friction and motors at their bounds. **Does not know** which
//! bodies the joint connects, nor how rows are solved.

pub(crate) mod axis_laws;
pub(crate) mod ball_joint;
