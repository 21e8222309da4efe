//! Images against closed forms, against rays of the engine, and against themselves on other numbers of threads.

mod agreement;
mod bits;
mod chessboard;
mod depth;
mod limits;
mod looks;
mod worlds;
