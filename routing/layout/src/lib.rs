//! Where the switches of a fabric stand on paper.
//!
//! ```text
//!  Topology, Torus ──> torus   by coordinates, plane beside plane ─┬──> sapphire draw, which adds paths, trees and load
//!  Topology ─────────> graph   by levels and groups ───────────────┘
//!                        │
//!                        └───> plan   either, as lists: for the page of the daemon
//! ```
//!
//! Names put switches of a row into the order that people expect, and nothing else. Lengths are pixels, whole ones, so that equal fabrics
//! give equal bytes on every machine.
//!
//! What it does not do: draw. It knows neither SVG nor colours, and nothing of paths.

#![forbid(unsafe_code)]

pub mod graph;
pub mod plan;
mod point;
pub mod torus;

pub use point::{MARGIN, Point};
