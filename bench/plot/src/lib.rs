//! Well-formed SVG, and plots of lines over axes.
//!
//! A [`Picture`] is one or more [`Panel`]s beside each other that share a title and the labels of
//! their axes. Each panel has lines over an x and a y [`Axis`]; an axis knows its ends and where it
//! is marked. Points that are few enough to be told apart are drawn as dots which say their value
//! when pointed at, so that a figure can be read off a picture and not only seen.
//!
//! Why by hand: pictures of the documentation are compared byte by byte with what is drawn today,
//! and each dot carries its value as `<title>`. Names of lines have fixed room instead of measured
//! widths, because an SVG is shown with the reader's fonts, which nobody knows here.
//!
//! What it does not do: bars, pies, text layout, colours by choice. [`Xml`] stands alone for those
//! who draw something else.
//!
//! ```
//! use sa_plot::{Axis, Line, Names, Panel, Picture};
//!
//! let points = vec![(1.0, 10.0), (2.0, 20.0), (3.0, 25.0)];
//! let panel = Panel {
//!     y: Axis::from_zero(&[10.0, 20.0, 25.0]),
//!     ..Panel::new(Axis::steps(0.0, 4.0, 1.0), vec![Line::new("torus", points)])
//! };
//! let picture = Picture {
//!     title: "Rate by rules".to_owned(),
//!     x_label: "rules",
//!     y_label: "million queries per second",
//!     panels: vec![panel],
//!     panel_width: 580.0,
//!     names: Names::AtLineEnds,
//! };
//! assert!(picture.svg().contains("<title>torus: 25.0</title>"));
//! ```

#![forbid(unsafe_code)]

mod axis;
mod picture;
mod xml;

pub use axis::{Axis, Scale};
pub use picture::{Band, Level, Line, Names, Panel, Picture};
pub use xml::{Attribute, Xml};
