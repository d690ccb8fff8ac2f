//! Signs that pictures of any fabric share: letters in circles, crosses, words over lines.

use sa_plot::Xml;

use sa_layout::Point;

use super::colours;

/// A circle, crossed out.
/// Two arcs and a cross in one path. The legend draws it as well.
pub(crate) fn crossed_out(xml: &mut Xml, at: Point, dot: i32, title: &str) {
    // Five sevenths is a little more than sine of 45 degrees: the cross ends at the circle.
    let reach = dot * 5 / 7;
    let (left, right) = (at.x - reach, at.x + reach);
    let (top, bottom) = (at.y - reach, at.y + reach);
    let Point { x, y } = at;
    let data = format!(
        "M{} {y}a{dot} {dot} 0 1 0 {} 0a{dot} {dot} 0 1 0 -{} 0M{left} {top}L{right} {bottom}\
         M{left} {bottom}L{right} {top}",
        x - dot,
        2 * dot,
        2 * dot
    );
    xml.titled(
        "path",
        &[
            ("d", &data),
            ("fill", &colours::PAPER),
            ("stroke", &colours::MISSING),
            ("stroke-width", &"1.5"),
        ],
        title,
    );
}

/// A switch with a letter.
/// Larger than a plain switch, so that the letter has room.
pub(crate) fn letter(xml: &mut Xml, at: Point, dot: i32, sign: char, title: &str) {
    let (radius, size) = (dot + 3, dot + 5);
    xml.titled(
        "circle",
        &[
            ("cx", &at.x),
            ("cy", &at.y),
            ("r", &radius),
            ("fill", &colours::INK),
            ("stroke", &colours::PAPER),
        ],
        title,
    );
    xml.words(
        "text",
        &[
            ("x", &at.x),
            ("y", &(at.y + size * 3 / 8)),
            ("font-size", &size),
            ("font-weight", &"bold"),
            ("text-anchor", &"middle"),
            ("fill", &colours::PAPER),
        ],
        &sign.to_string(),
    );
}

/// Twice: first with a border in the colour of the paper, which keeps lines from running through
/// letters, then in their own colour. SVG 1.1 cannot draw a border below its letters.
///
/// All borders before all words, so that no border covers the word beside it.
pub(crate) fn words(
    xml: &mut Xml,
    words: impl Iterator<Item = (Point, String)>,
    size: i32,
    colour: &str,
) {
    let words: Vec<_> = words.collect();
    let border = "3";
    // Two groups over the same words.
    for (stroke, fill) in [(colours::PAPER, colours::PAPER), ("none", colour)] {
        xml.open(
            "g",
            &[
                ("font-size", &size),
                ("stroke", &stroke),
                ("stroke-width", &border),
                ("stroke-linejoin", &"round"),
                ("fill", &fill),
            ],
        );
        for (at, word) in &words {
            xml.words("text", &[("x", &at.x), ("y", &at.y)], word);
        }
        xml.close();
    }
}

/// As [`words`], each with its anchor.
///
/// Anchors: SVG's `start`, `middle` and `end`.
pub(crate) fn names(
    xml: &mut Xml,
    names: &[(Point, &'static str, String)],
    size: i32,
    colour: &str,
) {
    for (stroke, fill) in [(colours::PAPER, colours::PAPER), ("none", colour)] {
        xml.open(
            "g",
            &[
                ("font-size", &size),
                ("stroke", &stroke),
                ("stroke-width", &"3"),
                ("stroke-linejoin", &"round"),
                ("fill", &fill),
            ],
        );
        for (at, anchor, name) in names {
            let attributes: [(_, &dyn std::fmt::Display); 3] =
                [("x", &at.x), ("y", &at.y), ("text-anchor", anchor)];
            xml.words("text", &attributes, name);
        }
        xml.close();
    }
}

/// A switch; hollow where it is filled with the colour of the paper. Without a title: the legend
/// draws it.
pub(crate) fn dot(xml: &mut Xml, at: Point, dot: i32, fill: &str) {
    xml.empty(
        "circle",
        &[
            ("cx", &at.x),
            ("cy", &at.y),
            ("r", &dot),
            ("fill", &fill),
            ("stroke", &colours::SWITCH),
            ("stroke-width", &"2"),
        ],
    );
}
