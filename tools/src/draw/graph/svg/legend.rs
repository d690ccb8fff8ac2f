//! What the signs mean: only those that occur.
//!
//! A legend that explains what is not in the picture makes people look for it.

use std::collections::BTreeSet;

use super::super::scene::Scene;
use super::matrix;
use crate::draw::paper::{Scale, Sign, colours};
use sa_layout::graph::Detail;
use sa_layout::graph::Layout;

/// Each with its words; drawn by `paper`, below the picture.
/// Every function here gives such a list, empty where its signs do not occur.
type Lines = Vec<(Sign, String)>;

/// In the order of the picture: damage, form, then what was asked for.
///
/// Numbers of hosts and cables are explained only where the picture has room for them.
pub(super) fn signs(scene: &Scene, layout: &Layout) -> Lines {
    let mut signs = damage(scene);
    let line = |colour, width| Sign::line(colour, width, "none");
    let entry = |sign, words: &str| (sign, words.to_owned());
    match scene.detail {
        Detail::Switches => {
            signs.push(entry(Sign::Dot, "switch with hosts"));
            if scene.signs.iter().any(|sign| sign.hosts == 0) {
                signs.push(entry(Sign::Hollow, "switch without"));
            }
            if layout.middle.is_none() && super::signs::names_fit(scene, layout) {
                signs.push(entry(Sign::Words("1, 2, .."), "hosts of a switch"));
            }
            // The same bound as `counts` in `lines`, below which the numbers are left out.
            if scene.between().any(|(_, bundle)| bundle.cables > 1) && layout.pitch >= 40 {
                signs.push(entry(Sign::Words("\u{d7}2, .."), "parallel cables"));
            }
            if !layout.frames.is_empty() {
                signs.push(entry(line(colours::FRAME_EDGE, "12"), "group"));
            }
        }
        Detail::Blocks => {
            let words = "cables between two boxes; wider for each doubling of their number";
            signs.push(entry(line(colours::PLAIN, "4"), words));
        }
        // With load the colours of cells mean paths, which are explained below.
        Detail::Matrix if !scene.has_load => {
            signs.extend(steps(&matrix::scale(scene), "12", "cables"));
        }
        Detail::Matrix => {}
    }
    signs.extend(tree(scene));
    signs.extend(paths(scene));
    if scene.has_load {
        let what = "paths on the busiest cable, in its busier direction";
        let width = (scene.detail == Detail::Matrix).then_some("12");
        let scale = match scene.detail {
            Detail::Matrix => matrix::scale(scene),
            Detail::Switches | Detail::Blocks => super::scale(scene),
        };
        signs.extend(match width {
            Some(width) => steps(&scale, width, what),
            None => by_width(&scale, what),
        });
    }
    signs
}

/// Switches and cables that are not there, each as the picture shows it at this detail.
///
/// Empty for a fabric that is whole. A lost switch has no sign of its own in a matrix.
fn damage(scene: &Scene) -> Lines {
    let mut signs = Vec::new();
    if !scene.lost_switches.is_empty() && scene.detail == Detail::Switches {
        signs.push((
            Sign::Empty,
            "switch that is not there, or cut off".to_owned(),
        ));
    }
    if !scene.lost_switches.is_empty() && scene.detail == Detail::Blocks {
        let sign = Sign::line(colours::MISSING, "2", "none");
        signs.push((
            sign,
            "box with switches that are not there, or cut off".to_owned(),
        ));
    }
    if !scene.lost_cables.is_empty() {
        let (sign, words) = match scene.detail {
            Detail::Matrix => (
                Sign::line(colours::MISSING, "12", "none"),
                "some cables failed",
            ),
            Detail::Blocks => (
                Sign::line(colours::MISSING, "2", "5 4"),
                "some cables failed",
            ),
            Detail::Switches => (
                Sign::line(colours::MISSING, "2", "5 4"),
                "cable that failed",
            ),
        };
        signs.push((sign, words.to_owned()));
    }
    signs
}

/// Root and branches; in a matrix the branches alone, as dots.
///
/// Nothing where no tree was asked for.
fn tree(scene: &Scene) -> Lines {
    if scene.tree.is_none() {
        return Vec::new();
    }
    if scene.detail == Detail::Matrix {
        return vec![(
            Sign::Dot,
            "branch of the multicast tree, from row to column".to_owned(),
        )];
    }
    vec![
        (Sign::Letter('R'), "root of the multicast tree".to_owned()),
        (
            Sign::line(colours::TREE, "2.5", "none"),
            "multicast tree".to_owned(),
        ),
    ]
}

/// A line for each VL that occurs.
///
/// Source and destination only where some path exists; a matrix has no place for their letters.
fn paths(scene: &Scene) -> Lines {
    let mut signs = Vec::new();
    let is_matrix = scene.detail == Detail::Matrix;
    if scene.paths.iter().any(|path| path.trace.sl.is_ok()) && !is_matrix {
        signs.push((Sign::Letter('S'), "source of a path".to_owned()));
        signs.push((Sign::Letter('D'), "destination of a path".to_owned()));
    }
    let hops = scene.paths.iter().flat_map(|path| &path.hops);
    // Sorted and each once: the legend is the same whatever the order of the paths.
    let vls: BTreeSet<u8> = hops.map(|hop| hop.vl).collect();
    for vl in vls {
        let (colour, _) = colours::vl(vl);
        let words = if is_matrix {
            format!("hop of a path on VL {vl}, from row to column")
        } else {
            format!("path on VL {vl}")
        };
        signs.push((Sign::line(colour, "6", "none"), words));
    }
    signs
}

/// The steps, all of one width.
///
/// Of a matrix: all cells are as large as each other, so only colours tell them apart.
///
/// `what` stands behind each range.
fn steps(scale: &Scale, width: &'static str, what: &str) -> Lines {
    let steps = scale.steps().into_iter();
    let signs = steps
        .map(|(colour, _, range)| (Sign::line(colour, width, "none"), format!("{range} {what}")));
    signs.collect()
}

/// Of lines, which colour and width tell apart.
fn by_width(scale: &Scale, what: &str) -> Lines {
    let steps = scale.steps().into_iter();
    let signs = steps.map(|(colour, width, range)| {
        (Sign::line(colour, width, "none"), format!("{range} {what}"))
    });
    signs.collect()
}
