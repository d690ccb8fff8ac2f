//! What the signs mean, and the caption, below a picture.
//!
//! SVG has no flowing text: long lines are broken here, by an estimate of how wide letters are.
//!
//! A sign stands at the left, 44 pixels wide, its explanation beside it. The caption follows below,
//! in the words of the text picture.
//!
//! With 640 pixels, the least width, a line has 82 letters: 592 pixels between the margins at 7.2
//! each.

use sa_plot::Xml;

use sa_layout::{MARGIN, Point};

use super::{colours, marks};

/// Height of a line.
const LINE: i32 = 20;
/// Size of letters.
const SIZE: i32 = 12;
/// Width of a sign.
const SIGN: i32 = 44;

/// Everything below the picture.
/// Laid out before anything is drawn, as the height of the document depends on it.
pub(crate) struct Below {
    /// Where the first sign stands.
    at: Point,
    /// With their words.
    signs: Vec<(Sign, String)>,
    /// Of the caption, broken.
    lines: Vec<String>,
}

/// What an explanation stands beside.
/// Drawn as in the picture, so that nobody has to compare colours from memory.
pub(crate) enum Sign {
    /// A line as it is drawn: for links and paths.
    Line {
        colour: &'static str,
        width: &'static str,
        dashes: &'static str,
    },
    /// On a switch: S, D, R or I.
    Letter(char),
    /// A place without switch.
    Empty,
    /// A switch.
    Dot,
    /// A switch without hosts.
    Hollow,
    /// What stands beside things in the picture.
    Words(&'static str),
}

impl Below {
    /// `width` is that of the whole document.
    pub(crate) fn of(signs: Vec<(Sign, String)>, lines: &[String], at: Point, width: i32) -> Self {
        // Letters are about half as wide as high; some are wider.
        // Width by six tenths of a letter's size, in whole numbers.
        let letters = usize::try_from((width - 2 * MARGIN) * 10 / (SIZE * 6)).unwrap_or(80);
        Self {
            at,
            signs,
            lines: lines
                .iter()
                .flat_map(|line| wrapped(line, letters))
                .collect(),
        }
    }

    /// Height of the whole picture.
    ///
    /// Known before drawing, as the height is in the head of the document.
    pub(crate) fn bottom(&self) -> i32 {
        let lines = i32::try_from(self.signs.len() + self.lines.len()).unwrap_or(0);
        // Two lines more: one above, half of one between signs and caption, half of one below.
        self.at.y + LINE * (lines + 2)
    }

    /// Signs first, half a line of room, then the caption.
    pub(crate) fn draw(&self, xml: &mut Xml) {
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

impl Sign {
    /// Colour, width and dashes as SVG has them.
    pub(crate) const fn line(
        colour: &'static str,
        width: &'static str,
        dashes: &'static str,
    ) -> Self {
        Self::Line {
            colour,
            width,
            dashes,
        }
    }

    /// In the 44 pixels that a sign has.
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
            Self::Letter(letter) => marks::letter(xml, middle, 5, *letter, ""),
            Self::Empty => marks::crossed_out(xml, middle, 6, "no switch at 0,0,0"),
            Self::Dot => marks::dot(xml, middle, 5, colours::SWITCH),
            Self::Hollow => marks::dot(xml, middle, 5, colours::PAPER),
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
