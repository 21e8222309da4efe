//! Images against closed forms, against rays of the engine, and against themselves on other numbers of threads.

mod agreement;
mod bits;
mod chessboard;
mod depth;
mod lights;
mod limits;
mod looks;
mod ruts;
mod worlds;
