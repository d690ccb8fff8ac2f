//! Lines between signs: plain, loaded, missing.

use std::collections::BTreeMap;

use sa_plot::Xml;

use super::super::scene::{Bundle, Scene};
use super::course::Course;
use crate::draw::paper::{colours, counted};
use sa_layout::graph::Detail;
use sa_layout::graph::Layout;

/// Lines up to which each has an element and a title of its own.
///
/// With more nobody could point at one, and titles would be most of the file.
const TITLED: usize = 300;

/// A line's looks: colour, width.
///
/// Lines of one look share a group, so colours and widths are written once.
type Look = (&'static str, String);

/// Plain ones below, loaded ones by load, missing ones and counts over all.
///
/// SVG has no order but that of the elements: what comes later covers what was before.
pub(super) fn all(xml: &mut Xml, scene: &Scene, layout: &Layout) {
    let scale = super::scale(scene);
    let mut plain = Vec::new();
    let mut loaded: BTreeMap<usize, Vec<_>> = BTreeMap::new();
    // Of a bundle that is lost as a whole only the missing line is drawn.
    for (ends, bundle) in scene.between().filter(|(_, it)| it.lost < it.cables) {
        match scale.step(bundle.load()) {
            Some(step) => loaded.entry(step).or_default().push((ends, bundle)),
            None => plain.push((ends, bundle)),
        }
    }
    group(xml, scene, layout, &plain, None);
    // The busiest last, over all others.
    for (step, lines) in loaded {
        let look = colours::LOAD
            .get(step)
            .map(|(colour, width)| (*colour, thinned(width, scene)));
        group(xml, scene, layout, &lines, look);
    }
    missing(xml, scene, layout);
    counts(xml, scene, layout);
}

/// Thousands of lines as wide as some would be one surface.
///
/// Shape: a number with one digit behind the point, for `stroke-width`.
fn thinned(width: &str, scene: &Scene) -> String {
    // Of bundles that there are, loaded or not: what matters is how many share the paper.
    let part = match scene.bundles.len() {
        0..=100 => 1.0,
        101..=1000 => 0.6,
        _ => 0.35,
    };
    let width = width.parse::<f64>().unwrap_or(2.0);
    format!("{:.1}", width * part)
}

/// Wider with more cables: a step for each doubling.
///
/// Between switches all are as thin as their number asks for: there a line is mostly one cable.
///
/// Units: pixels, as text for `stroke-width`.
fn plain_width(bundle: &Bundle, scene: &Scene) -> String {
    let many = scene.bundles.len();
    if scene.detail == Detail::Switches {
        let width = match many {
            0..=150 => "1.5",
            151..=1500 => "0.8",
            _ => "0.4",
        };
        return width.to_owned();
    }
    let doublings = bundle.cables.max(1).ilog2();
    let part = if many > 200 { 0.2 } else { 0.9 };
    format!("{:.1}", 0.4 + f64::from(doublings) * part)
}

/// Lines of one step of load, or with no step by their own width.
///
/// `look` is given for lines of a step, whose width says their load.
fn group(
    xml: &mut Xml,
    scene: &Scene,
    layout: &Layout,
    lines: &[((usize, usize), &Bundle)],
    look: Option<Look>,
) {
    // Ordered by look, so that the same scene gives the same bytes.
    let mut by_look: BTreeMap<Look, Vec<_>> = BTreeMap::new();
    for line in lines {
        let own = || (colours::PLAIN, plain_width(line.1, scene));
        by_look
            .entry(look.clone().unwrap_or_else(own))
            .or_default()
            .push(line);
    }
    for ((colour, width), lines) in by_look {
        let attributes: [(_, &dyn std::fmt::Display); 3] = [
            ("stroke", &colour),
            ("stroke-width", &width),
            ("fill", &"none"),
        ];
        xml.open("g", &attributes);
        draw(xml, scene, layout, &lines);
        xml.close();
    }
}

/// Each with its title, or all as one path where there are too many.
///
/// A path of many pieces has one title at most, which would be wrong for all but one.
fn draw(xml: &mut Xml, scene: &Scene, layout: &Layout, lines: &[&((usize, usize), &Bundle)]) {
    let course = |(one, other): (usize, usize)| Course::of(scene, layout, one, other).data();
    if scene.bundles.len() > TITLED {
        let data: String = lines.iter().map(|(ends, _)| course(*ends)).collect();
        xml.empty("path", &[("d", &data)]);
        return;
    }
    for (ends, bundle) in lines {
        xml.titled(
            "path",
            &[("d", &course(*ends))],
            &title(scene, *ends, bundle),
        );
    }
}

/// `L0 to T1: 2 cables, 12 paths on the busiest: VL 0 8, VL 1 4`
///
/// The same words as in the text beside the picture, so that both can be searched for.
///
/// Of blocks the first switch stands for all; VLs that nothing travels on are left out.
pub(super) fn title(scene: &Scene, (one, other): (usize, usize), bundle: &Bundle) -> String {
    let name = |sign: usize| match scene.detail {
        Detail::Switches => scene.signs[sign].name.clone(),
        Detail::Blocks | Detail::Matrix => format!("switches from {} on", scene.signs[sign].name),
    };
    let mut text = format!(
        "{} to {}: {}",
        name(one),
        name(other),
        counted(bundle.cables, "cable")
    );
    if bundle.lost > 0 {
        text.push_str(&format!(", {} not there", bundle.lost));
    }
    if scene.has_load {
        let used = (0..).zip(bundle.busiest).filter(|(_, paths)| *paths > 0);
        let used: Vec<_> = used
            .map(|(vl, paths): (u8, _)| format!("VL {vl} {paths}"))
            .collect();
        text.push_str(&format!(", {} paths on the busiest", bundle.load()));
        if !used.is_empty() {
            text.push_str(&format!(": {}", used.join(", ")));
        }
    }
    text
}

/// Between signs that are there: a switch that is crossed out says enough of its cables.
///
/// Over the others and dashed: a gap would not be seen among hundreds of lines.
///
/// Drawn even where other cables of the bundle are left; the title says how many.
fn missing(xml: &mut Xml, scene: &Scene, layout: &Layout) {
    xml.open(
        "g",
        &[
            ("stroke", &colours::MISSING),
            ("stroke-width", &"2"),
            ("stroke-dasharray", &"5 4"),
            ("fill", &"none"),
        ],
    );
    for (ends, bundle) in scene.between().filter(|(_, bundle)| bundle.failed > 0) {
        let data = Course::of(scene, layout, ends.0, ends.1).data();
        xml.titled("path", &[("d", &data)], &title(scene, ends, bundle));
    }
    xml.close();
}

/// How many cables a line is, where lines are few and some are more than one.
///
/// Wide lines say it roughly; a number only fits where lines are apart.
///
/// Units of the bounds: bundles, and pixels from sign to sign.
fn counts(xml: &mut Xml, scene: &Scene, layout: &Layout) {
    if scene.bundles.len() > 100 || layout.pitch < 40 {
        return;
    }
    let words = scene.between().filter_map(|((one, other), bundle)| {
        // Beside the middle, where lines of a row cross.
        let ((x, y), _) = Course::of(scene, layout, one, other).at(0.3);
        let at = super::overlays::on_paper(x, y).moved((-6, 4));
        (bundle.cables > 1).then(|| (at, format!("\u{d7}{}", bundle.cables)))
    });
    crate::draw::paper::marks::words(xml, words, 10, colours::SOFT_INK);
}
