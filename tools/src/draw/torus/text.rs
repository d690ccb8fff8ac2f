//! A scene in characters, like the pictures of torus-2QoS(8).
//!
//! For terminals, mails and comparisons with torus-2QoS(8), whose pictures the tests repeat. A
//! torus of 3 by 3:
//!
//! ```text
//!        |    |    |
//!   2  --+----+----+--
//!        |    |    |
//!   1  --+----+----+--
//!        |    |    |
//! y=0  --+----+----+--
//!        |    |    |
//!
//!      x=0    1    2
//! ```
//!
//! Each switch has a row and a column of its own with room for signs between; what is drawn later
//! covers what was there.

use routing::placement::Coordinate;

use super::caption;
use super::scene::Scene;
use sa_layout::torus::View;
use sa_layout::torus::{LinkId, LinkState};

/// Characters from switch to switch.
/// Four of them for the link.
const PITCH: usize = 5;

/// Column of the first switch, behind the labels of the rows and a stub.
const LEFT: usize = 7;

/// Picture and caption. Lines have no blanks at their ends.
/// Planes one below the other, then caption and signs.
pub(crate) fn render(scene: &Scene) -> String {
    let mut text = String::new();
    let view = View::of(scene.shape);
    for plane in view.planes() {
        if let Some(axis) = view.through {
            text.push_str(&format!("{axis}={plane}\n"));
        }
        text.push_str(&picture(scene, plane));
        text.push('\n');
    }
    let lines = std::iter::once(caption::title(scene)).chain(caption::lines(scene));
    for line in lines.chain(legend(scene)) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// One plane.
/// Links first, so that switches stand on them.
pub(crate) fn picture(scene: &Scene, plane: u8) -> String {
    let mut canvas = Canvas::new(View::of(scene.shape), plane);
    canvas.links(scene);
    canvas.switches(scene);
    canvas.labels();
    canvas.finish()
}

/// Only signs that occur.
fn legend(scene: &Scene) -> Vec<String> {
    let view = View::of(scene.shape);
    let mut signs = Vec::new();
    if scene.tree.is_some() {
        signs.push("x root, + switch".to_owned());
    }
    if scene.paths.iter().any(|path| path.sl.is_ok()) {
        signs.push("# path from S to D".to_owned());
    }
    if scene.turns().next().is_some() {
        signs.push("I turn against the dimension order".to_owned());
    }
    if let (Some(axis), true) = (view.through, shows_through(scene)) {
        signs.push(format!("^ link to the next {axis}, v to the one before"));
    }
    signs.into_iter().collect()
}

/// Links of the third axis are marked only for trees and paths: they are everywhere.
fn shows_through(scene: &Scene) -> bool {
    scene.tree.is_some() || !scene.paths.is_empty()
}

/// Two rows for each row of switches and one more: switches at odd rows, links between.
struct Canvas {
    /// Which axes run across and up.
    view: View,
    /// The one that is drawn.
    plane: u8,
    /// From the top; all of one length.
    rows: Vec<Vec<char>>,
}

impl Canvas {
    fn new(view: View, plane: u8) -> Self {
        let (columns, rows) = (view.count(view.across), view.count(view.up));
        let width = LEFT + PITCH * usize::from(columns);
        Self {
            view,
            plane,
            rows: vec![vec![' '; width]; 2 * usize::from(rows) + 1],
        }
    }

    /// What is out of bounds is not drawn: marks at the right edge of narrow tori.
    fn set(&mut self, row: usize, column: usize, sign: char) {
        let place = self.rows.get_mut(row).and_then(|row| row.get_mut(column));
        if let Some(place) = place {
            *place = sign;
        }
    }

    /// Row and column of a place; none on another plane.
    /// Rows of the torus count upwards, rows of characters downwards.
    fn spot(&self, at: Coordinate) -> Option<(usize, usize)> {
        // Row 0 of the torus is the last on paper.
        let from_top = self.view.count(self.view.up) - 1 - self.view.row(at);
        let row = 2 * usize::from(from_top) + 1;
        let column = LEFT + PITCH * usize::from(self.view.column(at));
        (self.view.plane(at) == self.plane).then_some((row, column))
    }

    /// With a tree only its links; else all that are wired. Paths over them, marks of links that
    /// leave the paper last.
    fn links(&mut self, scene: &Scene) {
        let branches = scene.tree.iter().flat_map(|tree| &tree.branches);
        let hops = scene.paths.iter().flat_map(|path| &path.hops);
        let branches: Vec<_> = branches.map(|step| step.link(scene.shape)).collect();
        let hops: Vec<_> = hops.map(|hop| hop.step.link(scene.shape)).collect();
        // A tree among all links could not be told from them.
        if scene.tree.is_none() {
            let is_wired = |state: &LinkState| matches!(state, LinkState::Wired(_));
            let wired = scene.links.iter().filter(|link| is_wired(&link.state));
            wired.for_each(|link| self.link(scene, link.id, None));
        }
        branches
            .iter()
            .for_each(|link| self.link(scene, *link, None));
        hops.iter()
            .for_each(|link| self.link(scene, *link, Some('#')));
        for link in branches.iter().chain(&hops) {
            self.marks(scene, *link);
        }
    }

    /// Links that close a ring show as a stub at each end.
    /// A whole link is a row of signs; upright it is one sign, which both its ends set.
    fn link(&mut self, scene: &Scene, link: LinkId, sign: Option<char>) {
        let ends = [link.low, link.high(scene.shape)].map(|at| self.spot(at));
        // A ring's last link shows at both edges of the picture.
        let closes = link.closes_ring(scene.shape);
        if Some(link.axis) == self.view.up {
            for (end, above) in ends.into_iter().zip([true, false]) {
                // On another plane, and then both ends are.
                let Some((row, column)) = end else { return };
                let row = if above { row - 1 } else { row + 1 };
                self.set(row, column, sign.unwrap_or('|'));
            }
        } else if Some(link.axis) == self.view.across {
            let [Some((row, low)), Some((_, high))] = ends else {
                return;
            };
            let (first, last) = if closes {
                (0..2, 0..2)
            } else {
                (0..PITCH - 1, 0..0)
            };
            let columns = first.map(|n| low + 1 + n).chain(last.map(|n| high - 1 - n));
            for column in columns {
                self.set(row, column, sign.unwrap_or('-'));
            }
        }
    }

    /// Links to other planes, beside the switches.
    /// At the columns next to the switch, which a link across has only signs in.
    fn marks(&mut self, scene: &Scene, link: LinkId) {
        if Some(link.axis) != self.view.through {
            return;
        }
        if let Some((row, column)) = self.spot(link.low) {
            self.set(row, column + 1, '^');
        }
        if let Some((row, column)) = self.spot(link.high(scene.shape)) {
            self.set(row, column + 2, 'v');
        }
    }

    /// Later ones win: root over switch, path over root, turn over path, ends over all.
    fn switches(&mut self, scene: &Scene) {
        let there = scene.places.iter().filter(|place| place.switch.is_some());
        for place in there {
            self.switch(place.at, '+');
        }
        if let Some(tree) = &scene.tree {
            self.switch(tree.root, 'x');
        }
        for path in scene.paths.iter().filter(|path| path.sl.is_ok()) {
            for hop in &path.hops {
                self.switch(hop.step.from, '*');
            }
        }
        for at in scene.turns() {
            self.switch(at, 'I');
        }
        for path in scene.paths.iter().filter(|path| path.sl.is_ok()) {
            for (end, letter) in [(&path.from, 'S'), (&path.to, 'D')] {
                if let Some(at) = end.at {
                    self.switch(at, letter);
                }
            }
        }
    }

    /// Nothing for a switch on another plane.
    fn switch(&mut self, at: Coordinate, sign: char) {
        if let Some((row, column)) = self.spot(at) {
            self.set(row, column, sign);
        }
    }

    /// Positions of the rows at the left, of the columns below.
    /// Two rows are added below for the columns.
    fn labels(&mut self) {
        if let Some(axis) = self.view.up {
            for (nth, position) in (0..self.view.count(Some(axis))).rev().enumerate() {
                self.write_to(2 * nth + 1, LEFT - 5, &View::label(axis, position));
            }
        }
        // One empty row, then the labels.
        let below = self.rows.len() + 1;
        let width = self.rows.first().map_or(0, Vec::len);
        self.rows.resize(below + 1, vec![' '; width]);
        if let Some(axis) = self.view.across {
            for position in 0..self.view.count(Some(axis)) {
                let column = LEFT + PITCH * usize::from(position);
                self.write_to(below, column, &View::label(axis, position));
            }
        }
    }

    /// A word that ends in a column.
    /// To the right edge, so that numbers stand in line.
    fn write_to(&mut self, row: usize, last: usize, word: &str) {
        for (sign, back) in word.chars().rev().zip(0..=last) {
            self.set(row, last - back, sign);
        }
    }

    /// Rows of stubs without any are left out, as in the man page.
    /// Rows of links within the picture stay, even where they are empty: they keep its form.
    fn finish(self) -> String {
        let stubs = [0, self.rows.len().saturating_sub(3)];
        let lines = self.rows.into_iter().enumerate().filter_map(|(nth, row)| {
            let line: String = row.into_iter().collect();
            let line = line.trim_end();
            (!line.is_empty() || !stubs.contains(&nth)).then(|| format!("{line}\n"))
        });
        lines.collect()
    }
}
