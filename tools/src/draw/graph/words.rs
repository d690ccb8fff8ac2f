//! What stands below a picture, and the picture as text.
//!
//! ```text
//! 20 switches on 3 levels in 4 groups, 16 hosts, 32 links
//! Path from H0_0_0 (LID 5, at L0_0) to H1_0_0 (LID 9, at L1_0): SL 0, L0_0 to M0_0 VL 0, ..
//! ```
//!
//! Both outputs say the same: whoever cannot see the picture loses nothing but the looks.

use std::fmt::Write;

use super::scene::{Path, Scene};
use crate::draw::paper::counted;
use crate::draw::trace::End;
use sa_layout::graph::Detail;
use sa_layout::graph::Form;

/// Most items that one line lists; a longer one would hide the lines below it.
const LISTED: usize = 24;

/// One line that says what is drawn.
///
/// It is the page's title too, so it has no full stop.
pub(super) fn title(scene: &Scene) -> String {
    let (wires, shape) = (&scene.wires, &scene.shape);
    let lost = scene.lost_switches.len();
    // Lost ones are not subtracted silently: a damaged fabric shall not look like a smaller one.
    let switches = of(wires.len(), lost, "switch");
    let levels = match shape.levels() {
        0 | 1 => String::new(),
        levels => format!(" on {levels} levels"),
    };
    let groups = match shape.groups {
        0 => String::new(),
        groups => format!(" in {}", counted(groups, "group")),
    };
    let hosts = counted(wires.hosts.iter().sum(), "host");
    let (cables, gone) = scene.bundles.values().fold((0, 0), |(all, gone), bundle| {
        (all + bundle.cables, gone + bundle.lost)
    });
    let cables = of(cables, gone, "cable");
    format!("{switches}{levels}{groups}, {hosts}, {cables} between switches")
}

/// The whole is only named where something is missing from it.
///
/// `lost` is part of `all`: `18 of 20 switches`.
fn of(all: usize, lost: usize, what: &str) -> String {
    match lost {
        0 => counted(all, what),
        lost => format!("{} of {}", all - lost, counted(all, what)),
    }
}

/// Everything else, a line each.
/// The worst comes first: a refusal, then what is missing, then what was asked for.
///
/// Shape: whole sentences, each with its full stop, without line breaks.
pub(super) fn lines(scene: &Scene) -> Vec<String> {
    let mut lines = Vec::new();
    if scene.is_refused {
        lines.push("Not routed: the engine refuses this fabric.".to_owned());
    }
    lines.extend(list("Not there, or cut off:", &scene.lost_switches));
    lines.extend(list("No cable between", &scene.lost_cables));
    lines.push(form(scene));
    lines.extend(detail(scene).map(str::to_owned));
    lines.extend(scene.paths.iter().map(|path| of_path(scene, path)));
    if let Some(tree) = &scene.tree {
        lines.push(format!("Multicast tree: root at {}.", tree.root_name));
    }
    lines.extend(of_load(scene));
    lines
}

/// How it is laid out, and how many switches stand where.
///
/// Without it nobody could tell a fabric without levels from a picture that does not show them.
///
/// Levels are counted from the hosts up, as 0, 1 and so on in the table.
fn form(scene: &Scene) -> String {
    let shape = &scene.shape;
    let on = |level: usize| shape.level.iter().filter(|it| **it == level).count();
    let levels: Vec<_> = (0..shape.levels())
        .map(|level| on(level).to_string())
        .collect();
    let levels = levels.join(", ");
    let groups = match shape.groups {
        0 => String::new(),
        groups => format!("; {groups} groups"),
    };
    match shape.form {
        Form::Rows | Form::Fans => {
            format!("Switches by level, from those with hosts up: {levels}{groups}.")
        }
        Form::Circles => format!("No levels{groups}, of switches that are joined with each other."),
        Form::Ring => {
            "Neither levels nor groups: in the order in which a search along the cables finds them."
                .to_owned()
        }
    }
}

/// What signs stand for, where they are no switches.
///
/// None where each switch has a sign.
const fn detail(scene: &Scene) -> Option<&'static str> {
    match (scene.detail, scene.shape.form) {
        (Detail::Switches, _) => None,
        (Detail::Blocks, Form::Rows) => Some(
            "Too many switches for a sign each: a box is the switches of a group and level, or those of the top level \
             that lead to the same switches; a line is all cables between two boxes.",
        ),
        (Detail::Blocks, _) => Some(
            "Too many switches for a sign each: a box is a group; a line is all cables between two groups.",
        ),
        (Detail::Matrix, Form::Ring) => Some(
            "Too many switches for a sign each: a row and a column stand for switches that lie near each other; a cell \
             is all cables between them.",
        ),
        (Detail::Matrix, Form::Rows) => Some(
            "Too many switches for a sign each: a row and a column stand for the switches of a group and level; a cell \
             is all cables between them.",
        ),
        (Detail::Matrix, _) => Some(
            "Too many switches for a sign each: a row and a column stand for a group; a cell is all cables between two \
             groups, or within one.",
        ),
    }
}

/// A sentence over what may be a long list; none over an empty one.
/// Ends with how many more there are, so that no reader takes the list for the whole.
fn list(start: &str, items: &[String]) -> Option<String> {
    // Cut before it is joined: a damaged fabric may have thousands.
    let shown = &items[..items.len().min(LISTED)];
    let mut text = format!("{start} {}", shown.join("; "));
    if items.len() > LISTED {
        let _ = write!(text, " and {} more", items.len() - LISTED);
    }
    (!items.is_empty()).then(|| text + ".")
}

/// All hops with their VLs. Signs of several switches are no help: the hops are then told by
/// number.
///
/// A path that there is not is a sentence of its own, with the reason.
///
/// Names of switches and VLs are those of the picture, so that a hop can be found in it.
fn of_path(scene: &Scene, path: &Path) -> String {
    let sl = match (&path.trace.sl, path.trace.problem()) {
        (Ok(sl), _) => sl,
        (Err(_), problem) => return format!("There is {}.", problem.unwrap_or_default()),
    };
    // Outside: at a switch that is not there.
    let at = |end: &End, sign: Option<usize>| {
        let place = sign.map_or("outside", |sign| scene.signs[sign].name.as_str());
        match scene.detail {
            Detail::Switches => format!("{} (LID {}, at {place})", end.name, end.lid),
            Detail::Blocks | Detail::Matrix => format!("{} (LID {})", end.name, end.lid),
        }
    };
    let from = at(&path.trace.from, path.ends[0]);
    let to = at(&path.trace.to, path.ends[1]);
    let mut text = format!("Path from {from} to {to}: SL {sl}");
    if scene.detail == Detail::Switches {
        for hop in &path.hops {
            let [from, to] = [hop.from, hop.to].map(|sign| &scene.signs[sign].name);
            let _ = write!(text, ", {from} to {to} VL {}", hop.vl);
        }
    } else {
        let _ = write!(text, ", {}", counted(path.hops.len(), "hop"));
    }
    if path.hops.is_empty() {
        text.push_str(", within one switch");
    }
    text + "."
}

/// The range over cables that there are.
///
/// None where no load was counted, or no cable is left.
///
/// From the least to the most loaded bundle, each by its busiest cable.
fn of_load(scene: &Scene) -> Option<String> {
    // A bundle that is lost as a whole carries nothing, and would make every least 0.
    let there = scene.bundles.values().filter(|it| it.cables > it.lost);
    let loads: Vec<_> = there.map(super::scene::Bundle::load).collect();
    let (least, most) = (loads.iter().min()?, loads.iter().max()?);
    let of = match scene.detail {
        Detail::Switches => "between two switches",
        Detail::Blocks | Detail::Matrix => "between two signs",
    };
    let text = format!(
        "Load: paths from every host to every other one, on the cable with most {of}, in its busier direction, QoS \
         level 0: {least} to {most}."
    );
    scene.has_load.then_some(text)
}

/// Title, a line for each level or a summary of groups, caption.
///
/// Shape: ends with a line break; columns are as wide as their widest cell.
pub(super) fn text(scene: &Scene) -> String {
    let mut text = title(scene) + "\n\n";
    let rows = table(scene);
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    for row in &rows {
        let cells = row.iter().zip(widths);
        let cells: Vec<_> = cells
            .map(|(cell, width)| format!("{cell:>width$}"))
            .collect();
        let _ = writeln!(text, "{}", cells.join("  "));
    }
    text.push('\n');
    for line in lines(scene) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Cables of the switches of each level, from the top.
///
/// A cable between levels counts for the lower one; one within a level as inside of its group or to
/// others.
///
/// Shape: a row of heads, then a row for each level.
fn table(scene: &Scene) -> Vec<[String; 6]> {
    let (wires, shape) = (&scene.wires, &scene.shape);
    let heads = [
        "level",
        "switches",
        "hosts",
        "cables up",
        "in the group",
        "to others",
    ];
    let mut rows = vec![heads.map(str::to_owned)];
    for level in (0..shape.levels()).rev() {
        let own = |switch: &usize| shape.level[*switch] == level;
        let hosts: usize = (0..wires.len()).filter(own).map(|it| wires.hosts[it]).sum();
        let switches = (0..wires.len()).filter(own).count();
        let (mut up, mut inside, mut outside) = (0, 0, 0);
        for (one, other, cables) in wires.links() {
            // Each link is looked at once for every level, and counts at exactly one.
            let levels = (shape.level[one], shape.level[other]);
            match levels {
                (one, other) if one.min(other) == level && one != other => up += cables,
                (low, high) if (low, high) == (level, level) => {
                    let group = shape.group[one];
                    let is_inside = group.is_some() && group == shape.group[other];
                    *if is_inside { &mut inside } else { &mut outside } += cables;
                }
                _ => {}
            }
        }
        let numbers = [level, switches, hosts, up, inside, outside];
        rows.push(numbers.map(|number| number.to_string()));
    }
    rows
}
