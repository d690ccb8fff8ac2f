//! What pictures of any fabric share: the sheet with its title and its words, signs, colours, steps
//! of load.
//!
//! Rooms above it (`torus`, `graph`) decide what stands where; nothing here knows a fabric.

mod below;
pub(crate) mod colours;
pub(crate) mod marks;
mod scale;

use sa_layout::MARGIN;
use sa_plot::Xml;

pub(crate) use self::below::{Below, Sign};
pub(crate) use self::scale::Scale;

/// Room for the words below a small fabric.
// Units of all lengths: pixels.
pub(crate) const LEAST_WIDTH: i32 = 640;

/// Title and description come first, where programs that read pages aloud look for them.
///
/// `lines` are the words below the picture, here as its description. The sheet is filled with
/// paper: a page behind it may be dark.
pub(crate) fn head(title: &str, lines: &[String], (width, height): (i32, i32)) -> Xml {
    let mut xml = Xml::default();
    xml.raw("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    xml.open(
        "svg",
        &[
            ("xmlns", &"http://www.w3.org/2000/svg"),
            ("version", &"1.1"),
            ("width", &width),
            ("height", &height),
            ("viewBox", &format!("0 0 {width} {height}")),
            ("font-family", &"sans-serif"),
            ("role", &"img"),
            ("aria-labelledby", &"title desc"),
        ],
    );
    xml.words("title", &[("id", &"title")], title);
    xml.words("desc", &[("id", &"desc")], &lines.join("\n"));
    xml.empty(
        "rect",
        &[
            ("width", &"100%"),
            ("height", &"100%"),
            ("fill", &colours::PAPER),
        ],
    );
    titles(&mut xml, title);
    xml
}

/// The title once more, as SVG's own does not show on paper.
///
/// Shape: at the upper left, above everything that is drawn.
fn titles(xml: &mut Xml, title: &str) {
    let attributes: [(_, &dyn std::fmt::Display); 5] = [
        ("x", &MARGIN),
        ("y", &32),
        ("font-size", &17),
        ("font-weight", &"bold"),
        ("fill", &colours::INK),
    ];
    xml.words("text", &attributes, title);
}

/// A name without what would harm a terminal or an XML file.
///
/// Descriptions come from devices: they may have any bytes. Control characters become the
/// replacement character; quoting for XML is the writer's.
pub(crate) fn printable(name: &str) -> String {
    let clean = |c: char| match c {
        c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => '\u{fffd}',
        c => c,
    };
    name.chars().map(clean).collect()
}

/// `1 host`, `2 hosts`.
/// For the few words that pictures count.
///
/// Shape: for words with a regular plural, and those that end in `switch`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    let plural = match (count, what.strip_suffix("switch")) {
        (1, _) => "",
        (_, Some(_)) => "es",
        _ => "s",
    };
    format!("{count} {what}{plural}")
}
