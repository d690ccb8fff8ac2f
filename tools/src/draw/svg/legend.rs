//! What the signs mean, and the caption, below the picture.
//!
//! Only signs that occur are explained, so that the legend of a whole torus is short. SVG has no
//! flowing text: long lines are broken here, by an estimate of how wide letters are.
//!
//! A sign stands at the left, 44 pixels wide, its explanation beside it. The caption follows below,
//! in the words of the text picture.
//!
//! With 640 pixels, the least width, a line has 82 letters: 592 pixels between the margins at 7.2
//! each.

use std::collections::BTreeSet;

use routing::placement::{Axis, Coordinate};
use sa_plot::Xml;

use super::super::caption;
use super::super::layout::{HopLabel, Layout, MARGIN, Point};
use super::super::scene::{LinkState, Scene};
use super::links::Scale;
use super::{colours, switches};

/// Height of a line.
const LINE: i32 = 20;
/// Size of letters.
const SIZE: i32 = 12;
/// Width of a sign.
const SIGN: i32 = 44;

/// Everything below the picture.
/// Laid out before anything is drawn, as the height of the document depends on it.
pub(super) struct Below {
    at: Point,
    signs: Vec<(Sign, String)>,
    lines: Vec<String>,
}

/// What an explanation stands beside.
/// Drawn as in the picture, so that nobody has to compare colours from memory.
enum Sign {
    Line {
        colour: &'static str,
        width: &'static str,
        dashes: &'static str,
    },
    Letter(char),
    Empty,
    Words(&'static str),
}

impl Below {
    /// `width` is that of the whole document.
    pub(super) fn of(scene: &Scene, layout: &Layout, at: Point, width: i32) -> Self {
        // Letters are about half as wide as high; some are wider.
        // Width by six tenths of a letter's size, in whole numbers.
        let letters = usize::try_from((width - 2 * MARGIN) * 10 / (SIZE * 6)).unwrap_or(80);
        let lines = caption::lines(scene);
        Self {
            at,
            signs: signs(scene, layout),
            lines: lines
                .iter()
                .flat_map(|line| wrapped(line, letters))
                .collect(),
        }
    }

    /// Height of the whole picture.
    pub(super) fn bottom(&self) -> i32 {
        let lines = i32::try_from(self.signs.len() + self.lines.len()).unwrap_or(0);
        // Two lines more: one above, half of one between signs and caption, half of one below.
        self.at.y + LINE * (lines + 2)
    }

    /// Signs first, half a line of room, then the caption.
    pub(super) fn draw(&self, xml: &mut Xml) {
        xml.open("g", &[("font-size", &SIZE), ("fill", &colours::INK)]);
        let mut at = self.at.moved((0, LINE));
        for (sign, words) in &self.signs {
            sign.draw(xml, at.moved((0, -SIZE / 3)));
            let words_at = at.moved((SIGN + 10, 0));
            xml.words("text", &[("x", &words_at.x), ("y", &words_at.y)], words);
            at = at.moved((0, LINE));
        }
        at = at.moved((0, LINE / 2));
        for line in &self.lines {
            xml.words("text", &[("x", &at.x), ("y", &at.y)], line);
            at = at.moved((0, LINE));
        }
        xml.close();
    }
}

/// Lines of at most so many letters, broken between words.
/// Lines after the first begin with blanks, so that one sees where an item ends. A word is never
/// cut.
fn wrapped(line: &str, letters: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        // With the blank between.
        let needed = |last: &String| last.chars().count() + 1 + word.chars().count();
        match lines.last_mut() {
            Some(last) if last.is_empty() => last.push_str(word),
            Some(last) if needed(last) <= letters => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(format!("    {word}")),
        }
    }
    lines
}

/// Only signs that occur.
/// In the order of the picture: damage, form, hosts, then what was asked for.
fn signs(scene: &Scene, layout: &Layout) -> Vec<(Sign, String)> {
    let mut signs = damage(scene);
    let shape = scene.shape;
    // Datelines of the third axis lie between planes and are not drawn.
    let on_paper = [layout.view.across, layout.view.up];
    let is_ring = |axis: &Axis| shape.radix_of(*axis) > 2 && !shape.is_mesh(*axis);
    if on_paper.into_iter().flatten().any(|axis| is_ring(&axis)) {
        let words = "dateline: rings are closed across it, by links that show as stubs";
        signs.push((
            Sign::line(colours::DATELINE, "1", "8 3 2 3"),
            words.to_owned(),
        ));
    }
    // Numbers beside switches are left out where there is no room, and so is their explanation.
    let has_hosts = |hosts: usize| hosts > 0;
    let mut switches = scene
        .places
        .iter()
        .filter_map(|place| place.switch.as_ref());
    if layout.room.letters.is_some() && switches.any(|switch| has_hosts(switch.hosts)) {
        signs.push((Sign::Words("1, 2, .."), "hosts of a switch".to_owned()));
    }
    let is_bundle =
        |state: &LinkState| matches!(state, LinkState::Wired(cables) if cables.len() > 1);
    if layout.room.letters.is_some() && scene.links.iter().any(|link| is_bundle(&link.state)) {
        signs.push((Sign::Words("\u{d7}2, .."), "parallel cables".to_owned()));
    }
    // Arrows as characters: drawn ones would have to be told apart from those on paths.
    if let Some(axis) = layout.view.through
        && has_slants(scene, axis)
    {
        let words = format!("links to the next {axis}, and to the one before");
        signs.push((Sign::Words("\u{2196} \u{2199}"), words));
    }
    signs.extend(of_tree(scene));
    signs.extend(of_paths(scene, layout));
    signs.extend(of_load(scene));
    signs
}

/// Links to other planes show when there is something to say about them.
/// Without any of these, slanted stubs at every switch would say nothing.
fn has_slants(scene: &Scene, through: Axis) -> bool {
    let mut hops = scene.paths.iter().flat_map(|path| &path.hops);
    scene.tree.is_some()
        || scene.load.is_some()
        || hops.any(|hop| hop.step.direction.axis == through)
        || scene.missing_links().any(|link| link.axis == through)
}

impl Sign {
    const fn line(colour: &'static str, width: &'static str, dashes: &'static str) -> Self {
        Self::Line {
            colour,
            width,
            dashes,
        }
    }

    fn draw(&self, xml: &mut Xml, at: Point) {
        // Letters and circles are centred over the place of a line.
        let middle = at.moved((SIGN / 2, 0));
        match self {
            Self::Line {
                colour,
                width,
                dashes,
            } => xml.empty(
                "path",
                &[
                    ("d", &format!("M{} {}h{SIGN}", at.x, at.y)),
                    ("stroke", colour),
                    ("stroke-width", width),
                    ("stroke-dasharray", dashes),
                ],
            ),
            // Without a title: there is no switch to tell of.
            Self::Letter(letter) => switches::mark(xml, middle, 5, *letter, ""),
            Self::Empty => switches::empty(xml, middle, 6, Coordinate([0; 3])),
            Self::Words(words) => xml.words(
                "text",
                &[
                    ("x", &middle.x),
                    ("y", &(at.y + SIZE / 3)),
                    ("text-anchor", &"middle"),
                    ("fill", &colours::SOFT_INK),
                ],
                words,
            ),
        }
    }
}

fn damage(scene: &Scene) -> Vec<(Sign, String)> {
    let mut signs = Vec::new();
    if scene.empty_places().next().is_some() {
        signs.push((Sign::Empty, "no switch".to_owned()));
    }
    if scene.missing_links().next().is_some() {
        let sign = Sign::line(colours::MISSING, "2", "5 4");
        signs.push((sign, "no link".to_owned()));
    }
    signs
}

fn of_tree(scene: &Scene) -> Vec<(Sign, String)> {
    if scene.tree.is_none() {
        return Vec::new();
    }
    vec![
        (Sign::Letter('R'), "root of the multicast tree".to_owned()),
        (
            Sign::line(colours::TREE, "3.5", "none"),
            "multicast tree".to_owned(),
        ),
    ]
}

/// A line for each VL that occurs.
fn of_paths(scene: &Scene, layout: &Layout) -> Vec<(Sign, String)> {
    let mut signs = Vec::new();
    if scene.paths.iter().any(|path| path.sl.is_ok()) {
        signs.push((Sign::Letter('S'), "source of a path".to_owned()));
        signs.push((Sign::Letter('D'), "destination of a path".to_owned()));
    }
    if scene.turns().next().is_some() {
        let words = "turn against the dimension order".to_owned();
        signs.push((Sign::Letter('I'), words));
    }
    let hops = scene.paths.iter().flat_map(|path| &path.hops);
    // Sorted, each once.
    let vls: BTreeSet<u8> = hops.map(|hop| hop.vl).collect();
    for vl in vls {
        let labels = match layout.room.hop_label {
            HopLabel::Short => "; labels are SL/VL",
            HopLabel::Full | HopLabel::None => "",
        };
        let (colour, _) = colours::vl(vl);
        let words = format!("path on VL {vl}{labels}");
        signs.push((Sign::line(colour, "6", "none"), words));
    }
    signs
}

/// The steps that links of this scene can have.
fn of_load(scene: &Scene) -> Vec<(Sign, String)> {
    let Some(load) = &scene.load else {
        return Vec::new();
    };
    let steps = Scale::of(scene, load).steps().into_iter();
    let signs = steps.map(|(colour, width, range)| {
        let words = format!("{range} paths per cable in the busier direction");
        (Sign::line(colour, width, "none"), words)
    });
    signs.collect()
}
