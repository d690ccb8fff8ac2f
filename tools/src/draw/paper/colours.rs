//! Colours, told apart also by those who see few of them, and readable on [`PAPER`].
//!
//! Several of the VLs' colours are those of Okabe and Ito, made for all kinds of eyes; the steps of
//! load differ in width as well as in colour, for prints in grey.

/// The background; also the border around words.
pub(crate) const PAPER: &str = "#ffffff";
/// Words that are read first.
pub(crate) const INK: &str = "#1f2328";
/// Words that help: axes, counts.
pub(crate) const SOFT_INK: &str = "#57606a";
/// Links with nothing on them.
/// Light, so that what is drawn over them stands out.
pub(crate) const PLAIN: &str = "#b3bac1";
/// Switches.
pub(crate) const SWITCH: &str = "#57606a";
/// Around the switches of a group, behind everything.
pub(crate) const FRAME: &str = "#f6f8fa";
pub(crate) const FRAME_EDGE: &str = "#d8dee4";
/// What failed.
pub(crate) const MISSING: &str = "#cf222e";
/// As dark as ink: no VL is black.
pub(crate) const TREE: &str = "#1f2328";
pub(crate) const DATELINE: &str = "#8c6d1f";

/// A VL: fill, and letters on it.
/// VLs above 7 share one grey: torus-2QoS uses eight.
pub(crate) const fn vl(vl: u8) -> (&'static str, &'static str) {
    match vl {
        0 => ("#0072b2", "#ffffff"),
        1 => ("#e69f00", "#1f2328"),
        2 => ("#00704f", "#ffffff"),
        3 => ("#a3328a", "#ffffff"),
        4 => ("#56b4e9", "#1f2328"),
        5 => ("#8c510a", "#ffffff"),
        6 => ("#6b8e00", "#1f2328"),
        7 => ("#5c3a9e", "#ffffff"),
        _ => ("#444444", "#ffffff"),
    }
}

/// Steps of load, from least to most: colour and width of the line.
/// Five, as the eye tells no more of one hue apart.
pub(crate) const LOAD: [(&str, &str); 5] = [
    ("#9ecae1", "2"),
    ("#6baed6", "3"),
    ("#3182bd", "4.5"),
    ("#225ea8", "6"),
    ("#081d58", "8"),
];
