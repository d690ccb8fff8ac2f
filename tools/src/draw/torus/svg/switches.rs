//! Switches, empty places, and what stands beside them.
//!
//! Signs are letters in black circles: R root of the tree, I turn against the dimension order, S
//! source, D destination; a place without a switch is a circle that is crossed out.
//!
//! Whether names fit is judged by the longest: one that runs into the next switch would be read as
//! that one's.
//!
//! The order in which signs win is that in which they matter to whoever asked for a path: its ends,
//! then its turns, then the root of the tree.
//!
//! ```text
//! letters in the middle    R root, I turn, S source, D destination
//! words at the upper right the name, or the coordinate
//! number at the lower right  hosts, where there are any
//! ```

use std::collections::HashMap;

use routing::placement::Coordinate;
use sa_plot::Xml;

use super::super::scene::{Place, Placed, Scene};
use crate::draw::paper::{colours, counted, marks};
use sa_layout::torus::Layout;

/// All places.
/// Names only where there is room for all of them; else the title of each sign has them.
pub(super) fn all(xml: &mut Xml, scene: &Scene, layout: &Layout) {
    let marked = letters(scene);
    let dot = layout.room.dot;
    xml.open("g", &[("fill", &colours::SWITCH)]);
    for place in &scene.places {
        let at = layout.point(place.at);
        match (&place.switch, marked.get(&place.at)) {
            (None, _) => {
                marks::crossed_out(xml, at, dot, &format!("no switch at {}", place.at));
            }
            (Some(switch), None) => xml.titled(
                "circle",
                &[("cx", &at.x), ("cy", &at.y), ("r", &dot)],
                &title(place, switch),
            ),
            (Some(switch), Some(letter)) => {
                marks::letter(xml, at, dot, *letter, &title(place, switch));
            }
        }
    }
    xml.close();
    if let Some(size) = layout.room.letters {
        beside(xml, scene, layout, size);
    }
}

/// Letters on switches; the last word is with the ends of paths.
/// A later sign replaces an earlier one at the same switch.
fn letters(scene: &Scene) -> HashMap<Coordinate, char> {
    let mut marks = HashMap::new();
    // In this order the ends of paths have the last word.
    marks.extend(scene.tree.iter().map(|tree| (tree.root, 'R')));
    marks.extend(scene.turns().map(|at| (at, 'I')));
    // A path that there is not has ends, but nothing is drawn between them.
    for path in scene.paths.iter().filter(|path| path.sl.is_ok()) {
        marks.extend(path.from.at.map(|at| (at, 'S')));
        marks.extend(path.to.at.map(|at| (at, 'D')));
    }
    marks
}

/// Name, place, GUID, hosts.
fn title(place: &Place, switch: &Placed) -> String {
    let hosts = counted(switch.hosts, "host");
    format!("{} at {} ({}), {hosts}", switch.name, place.at, switch.guid)
}

/// Names above, hosts below, both at the right, over a border that keeps lines away from them.
/// Names in one pass and numbers in another, as their sizes differ.
fn beside(xml: &mut Xml, scene: &Scene, layout: &Layout, size: i32) {
    let away = layout.room.dot + 3;
    // One look at all names decides for all.
    let names = Names::of(scene, layout, size);
    let named = scene.places.iter().filter_map(|place| {
        let at = layout.point(place.at).moved((away, -away - 1));
        Some((at, names.name(place)?))
    });
    marks::words(xml, named, size, colours::INK);
    let counted = scene.places.iter().filter_map(|place| {
        let hosts = place.switch.as_ref()?.hosts;
        let at = layout.point(place.at).moved((away, away + size / 2));
        (hosts > 0).then(|| (at, hosts.to_string()))
    });
    marks::words(xml, counted, size - 1, colours::SOFT_INK);
}

/// What there is room for beside a switch.
/// One choice for the whole picture: names here and coordinates there would confuse.
enum Names {
    Given,
    Coordinates,
    None,
}

impl Names {
    /// Given names if all fit, else coordinates if these do, else nothing.
    fn of(scene: &Scene, layout: &Layout, size: i32) -> Self {
        let room = layout.room.cell - layout.room.dot - 6;
        let fits = |name: &str| {
            // A letter is about 62 hundredths of its size wide.
            let letters = i32::try_from(name.chars().count()).unwrap_or(i32::MAX);
            letters.saturating_mul(size * 62) <= room * 100
        };
        let given = scene
            .places
            .iter()
            .filter_map(|place| place.switch.as_ref());
        if given.into_iter().all(|switch| fits(&switch.name)) {
            Self::Given
        } else if scene.places.iter().all(|place| fits(&place.at.to_string())) {
            Self::Coordinates
        } else {
            Self::None
        }
    }

    fn name(&self, place: &Place) -> Option<String> {
        let switch = place.switch.as_ref()?;
        match self {
            Self::Given => Some(switch.name.clone()),
            Self::Coordinates => Some(place.at.to_string()),
            Self::None => None,
        }
    }
}
