//! Places in a torus or mesh: axes, directions, coordinates, and which switch is where.

mod geometry;
mod torus;

pub use self::geometry::{Axis, Coordinate, Direction, Shape, Sign};
pub(crate) use self::torus::PoolIx;
pub use self::torus::{LOCAL_GROUP, PlacedSwitch, Torus};
