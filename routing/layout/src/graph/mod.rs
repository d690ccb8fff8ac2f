//! A fabric without coordinates on paper: levels and groups, found from its cables.
//!
//! ```text
//! Topology
//!   | wires         -> a graph
//!   | levels        -> steps from the switches with hosts
//!   | shape         -> groups, and the form: rows, fans, circles, ring
//!   | blocks        -> what a sign stands for: a switch, or in large fabrics many
//!   v layout        -> places on paper
//! ```

mod blocks;
mod cliques;
mod layout;
mod levels;
mod shape;
mod wires;

pub use self::blocks::{Detail, blocks, near_each_other};
pub use self::layout::{Frame, Layout, Signs, Stand};
pub use self::shape::{Form, Shape};
pub use self::wires::Wires;
