//! Places in a torus or mesh: axes, directions, coordinates, and which switch is where.
//!
//! [`Torus`] is a plain value: the shape, the place of every switch, and which of its ports lead
//! which way. An engine makes it (torus-2QoS finds the places by the cables); everything else only
//! reads it. It lies below the engines because much that is no engine needs it: SLs follow from
//! coordinates, messages name places, proofs class paths by the datelines that they cross.
//!
//! It does not find places, and does not judge whether a torus can be routed: that is
//! [`crate::engine::torus`].

mod geometry;
mod torus;

pub use self::geometry::{Axis, Coordinate, Direction, Shape, Sign};
pub(crate) use self::torus::PoolIx;
pub use self::torus::{LOCAL_GROUP, PlacedSwitch, Torus};
