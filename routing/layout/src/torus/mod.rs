//! A torus or mesh on paper: every switch at its coordinate.
//!
//! ```text
//! Shape     -> view     which axis runs where
//! Topology  -> links    which links the shape has, and what is left of each
//!           -> layout   how much room each switch gets, where it stands, where its links run
//! ```

mod layout;
mod links;
mod view;

pub use self::layout::{HopLabel, Layout, Room, Segment};
pub use self::links::{Link, LinkId, LinkState, Step, links};
pub use self::view::View;
