//! What stands below a picture.
//!
//! Words for what is drawn: the title, the damage, paths hop by hop, the tree's root, the load.
//! Both kinds of pictures share them, and an SVG also has them as its description, for those who
//! hear a page instead of seeing it.
//!
//! ```text
//! 6 x 5 torus: 29 of 30 switches, 29 hosts, 56 of 60 links
//! Datelines lie between x=5 and x=0, between y=4 and y=0.
//! No switch at 3,2,0.
//! ```
//!
//! A line may be long; the SVG wraps it, and text leaves that to the terminal.
//!
//! ```text
//! Path from H0 (LID 1, at 0,0,0) to H9 (LID 9, at 1,1,0): SL 0, 0,0,0 +x VL 0, 1,0,0 +y VL 0.
//! Multicast tree: root at 3,2,0.
//! ```

use std::fmt::Write;

use routing::placement::{Axis, Shape, Sign};

use super::load::Load;
use super::path::{End, Path};
use super::scene::{Scene, Tree};
use crate::draw::paper::counted;
use sa_layout::torus::{LinkId, LinkState};

/// Most items that one line lists; a longer one would hide the lines below it.
const LISTED: usize = 24;

/// One line that says what is drawn.
/// `6 x 5 torus: 30 switches, 30 hosts, 60 links`, or `29 of 30 switches` where some are missing.
pub(crate) fn title(scene: &Scene) -> String {
    let switches = scene.places.len() - scene.empty_places().count();
    let hosts = scene
        .places
        .iter()
        .filter_map(|place| place.switch.as_ref());
    let hosts: usize = hosts.map(|switch| switch.hosts).sum();
    // A link of several cables counts once, and as there while one of them is.
    let is_wired = |state: &LinkState| matches!(state, LinkState::Wired(_));
    let wired = scene
        .links
        .iter()
        .filter(|link| is_wired(&link.state))
        .count();
    format!(
        "{}: {}, {}, {}",
        shape(scene.shape),
        of(switches, scene.places.len(), "switch"),
        counted(hosts, "host"),
        of(wired, scene.links.len(), "link"),
    )
}

/// Everything else, a line each.
/// The worst comes first: a refusal, then what is missing, then what was asked for.
pub(crate) fn lines(scene: &Scene) -> Vec<String> {
    let mut lines = Vec::new();
    if scene.is_refused {
        lines.push("Not routed: torus-2QoS refuses this fabric.".to_owned());
    }
    lines.extend(datelines(scene.shape));
    lines.extend(list("No switch at", scene.empty_places()));
    let missing = scene.missing_links().map(|link| between(link, scene.shape));
    lines.extend(list("No link between", missing));
    lines.extend(list("Outside the torus:", scene.outside.iter()));
    lines.extend(scene.paths.iter().map(of_path));
    lines.extend(scene.tree.iter().map(|tree| of_tree(tree, scene.shape)));
    lines.extend(scene.load.iter().map(|load| of_load(load, scene)));
    lines
}

/// `6 x 5 torus`: axes of radix 1 are left out.
/// A torus with some open axes says which; one with all open is a mesh.
fn shape(shape: Shape) -> String {
    // A torus of 6 x 5 x 1 is one of 6 x 5.
    let there = Axis::ALL
        .into_iter()
        .filter(|axis| shape.radix_of(*axis) > 1);
    let there: Vec<_> = there.collect();
    let sizes: Vec<_> = there
        .iter()
        .map(|axis| shape.radix_of(*axis).to_string())
        .collect();
    let open: Vec<_> = there.iter().filter(|axis| shape.is_mesh(**axis)).collect();
    // A single switch has no open axes and no others, and is called neither below.
    let kind = if open.len() == there.len() {
        "mesh"
    } else {
        "torus"
    };
    let mut text = match sizes.as_slice() {
        [] => "single switch".to_owned(),
        [size] => format!("{kind} of {size}"),
        sizes => format!("{} {kind}", sizes.join(" x ")),
    };
    if kind == "torus" && !open.is_empty() {
        let open: Vec<_> = open.iter().map(ToString::to_string).collect();
        let _ = write!(text, " open along {}", open.join(" and "));
    }
    text
}

/// The whole is only named where something is missing from it.
fn of(have: usize, all: usize, what: &str) -> String {
    if have == all {
        counted(all, what)
    } else {
        format!("{have} of {}", counted(all, what))
    }
}

/// A ring of two is wired as a mesh, so it has none.
fn datelines(shape: Shape) -> Option<String> {
    // Where a packet goes from the last position to 0 it changes its VL, or rings could deadlock.
    let closed = Axis::ALL
        .into_iter()
        .filter(|axis| shape.radix_of(*axis) > 2 && !shape.is_mesh(*axis));
    let lines: Vec<_> = closed
        .map(|axis| format!("{axis}={} and {axis}=0", shape.radix_of(axis) - 1))
        .collect();
    (!lines.is_empty()).then(|| format!("Datelines lie between {}.", lines.join(", between ")))
}

/// A sentence over what may be a long list; none over an empty one.
/// Ends with how many more there are, so that no reader takes the list for the whole.
fn list<T: ToString>(start: &str, items: impl Iterator<Item = T>) -> Option<String> {
    let items: Vec<_> = items.map(|item| item.to_string()).collect();
    // Counted as well as shown: the length of the list is a fact.
    let shown: Vec<_> = items.iter().take(LISTED).map(String::as_str).collect();
    let mut text = format!("{start} {}", shown.join("; "));
    if items.len() > LISTED {
        let _ = write!(text, " and {} more", items.len() - LISTED);
    }
    (!items.is_empty()).then(|| text + ".")
}

/// By coordinates: names of switches need not say where they are.
fn between(link: LinkId, shape: Shape) -> String {
    format!("{} and {}", link.low, link.high(shape))
}

/// All hops with their VLs, since a change of VL at a dateline is what one looks for.
///
/// Coordinates and directions instead of ports: those are in titles of the picture.
fn of_path(path: &Path) -> String {
    let sl = match (&path.sl, path.problem()) {
        (Ok(sl), _) => sl,
        (Err(_), problem) => return capitalised(&problem.unwrap_or_default()),
    };
    let (from, to) = (end(&path.from), end(&path.to));
    let mut text = format!("Path from {from} to {to}: SL {sl}");
    for hop in &path.hops {
        let turn = if hop.is_against_order {
            " (turn against the dimension order)"
        } else {
            ""
        };
        let (at, direction) = (hop.step.from, hop.step.direction);
        let _ = write!(text, ", {at} {direction} VL {}{turn}", hop.vl);
    }
    // Both ends hang on one switch, or the way leads around outside the torus.
    if path.hops.is_empty() {
        text.push_str(", within one switch");
    }
    text + "."
}

/// With the LID, which is what tables and counters know.
fn end(end: &End) -> String {
    match end.at {
        Some(at) => format!("{} (LID {}, at {at})", end.name, end.lid),
        None => format!("{} (LID {}, outside the torus)", end.name, end.lid),
    }
}

/// A problem as a sentence of its own.
fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).chain(['.']).collect()
}

/// Where the tree crosses a dateline, as that may close a credit loop with unicast.
fn of_tree(tree: &Tree, shape: Shape) -> String {
    let mut text = format!("Multicast tree: root at {}", tree.root);
    let across = tree.branches.iter().map(|branch| branch.link(shape));
    let across: Vec<_> = across
        .filter(|link| link.closes_ring(shape))
        .map(|link| between(link, shape))
        .collect();
    if !across.is_empty() {
        let _ = write!(text, "; crosses a dateline between {}", across.join("; "));
    }
    text + "."
}

/// The range, and the busiest link: of several with as many paths the first.
fn of_load(load: &Load, scene: &Scene) -> String {
    let links = scene.links.iter().filter_map(|link| match &link.state {
        LinkState::Wired(cables) => Some((load.per_cable(link.id, cables.len()), link.id)),
        _ => None,
    });
    let links: Vec<_> = links.collect();
    // Links without paths count: 0 is then the least.
    let least = links.iter().map(|(paths, _)| *paths).min().unwrap_or(0);
    let most = links.iter().map(|(paths, _)| *paths).max().unwrap_or(0);
    let busiest = links.iter().find(|(paths, _)| *paths == most);
    let mut text = format!(
        "Load: paths between all pairs of switches, per cable in the busier direction, QoS level \
         0: {least} to {most}"
    );
    if let Some((_, link)) = busiest {
        let _ = write!(text, ", most between {}", between(*link, scene.shape));
        let _ = write!(text, " ({})", load_of(load, *link));
    }
    text + "."
}

/// `+x 12 paths: VL 0 8, VL 1 4; -x 12 paths: VL 0 12`
/// VLs without paths are left out.
pub(crate) fn load_of(load: &Load, link: LinkId) -> String {
    let ways = [(Sign::Plus, '+'), (Sign::Minus, '-')].map(|(sign, letter)| {
        let total = usize::try_from(load.one_way(link, sign)).unwrap_or(usize::MAX);
        let used = (0..)
            .zip(load.by_vl(link, sign))
            .filter(|(_, paths)| *paths > 0);
        let vls: Vec<_> = used
            .map(|(vl, paths): (u8, _)| format!("VL {vl} {paths}"))
            .collect();
        let colon = if vls.is_empty() { "" } else { ": " };
        let paths = counted(total, "path");
        format!("{letter}{} {paths}{colon}{}", link.axis, vls.join(", "))
    });
    ways.join("; ")
}
