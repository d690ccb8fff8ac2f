//! Places in a torus or mesh: axes, directions, coordinates, and which switch is where.
//!
//! [`Torus`] is a plain value: the shape, the place of every switch, and which of its ports lead
//! which way. An engine makes it (torus-2QoS finds the places by the cables); everything else only
//! reads it. It lies below the engines because much that is no engine needs it: SLs follow from
//! coordinates, messages name places, proofs class paths by the datelines that they cross.
//!
//! It does not find places, and does not judge whether a torus can be routed: that is
//! [`crate::engine::torus`].
//!
//! ```text
//!        +y                   coordinate  x,y,z   each from 0 to radix - 1
//!         |   / +z            direction   -x +x -y +y -z +z   = port groups 0 to 5
//!         |  /                group 6     port 0 and the ports with hosts
//!   -x ---S--- +x             dateline    the cable between the last coordinate and 0
//! ```

mod geometry;
mod torus;

pub use self::geometry::{Axis, Coordinate, Direction, Shape, Sign};
pub(crate) use self::torus::PoolIx;
pub use self::torus::{LOCAL_GROUP, PlacedSwitch, Torus};
