//! Numbers that OpenSM reads otherwise than they look. The RFC parsers tell of theirs themselves.
//!
//! The text is looked at once more, by lines, since the parsed policy no longer knows how numbers were
//! written. It follows the lexer only as far as it must: comments, quotes, and which keyword's values a line
//! goes on with.
//!
//! ```text
//! sl: 010                  L62: begins with a zero and is read as octal: it means 8
//! pkey: 0x7000-0x8123      L02: after the mask 0x0123 to 0x7000, not what it looks like
//! sl: 256                  L02: read as 0, since OpenSM keeps 8 bits
//! ```

use sa_text::{Number, Severity, Span};

use crate::lint::finding::{Finding, LintId};
use crate::model::Policy;

/// Leading zeros, ranges of P_Keys whose order the mask changes, and values that wrap around.
/// In the order of lines, then the levels; sorted by the caller.
pub(in crate::lint) fn findings(policy: &Policy, text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut scan = Scan::default();
    let mut next = Span::START;
    for line in text.split_inclusive('\n') {
        scan.line(line, next, &mut found);
        next = next.piece(line, line.len()..line.len());
    }
    for level in &policy.levels {
        if let Some(sl) = &level.sl {
            found.extend(wrapped("SL", text, sl.span, 15));
        }
        if let Some(life) = &level.packet_life {
            found.extend(wrapped("packet-life", text, life.span, 63));
        }
    }
    found
}

/// A number of more than the 8 bits that OpenSM keeps.
/// The parsed value is the kept one; what was written stands in the text.
fn wrapped(what: &str, text: &str, span: Span, most: u64) -> Option<Finding> {
    let from = usize::try_from(span.offset).ok()?;
    let written = Number::read_digits(text.get(from..)?).unsigned_64();
    let kept = written & 0xff;
    (written > 0xff).then(|| {
        Finding::new(
            LintId::RANGE,
            span,
            format!("{what} {written} is read as {kept}, since OpenSM keeps 8 bits of it"),
            format!("write a number from 0 to {most}"),
        )
    })
}

/// What the words so far are about.
/// Follows one line after the other.
#[derive(Default)]
struct Scan {
    /// Digits are letters of a name then.
    names: bool,
    /// Only there the order can turn.
    pkeys: bool,
    /// The line before ended with a comma.
    goes_on: bool,
}

/// Keywords whose values are names.
const NAMES: [&str; 11] = [
    "name",
    "partition",
    "port-name",
    "group",
    "across",
    "across-to",
    "across-from",
    "source",
    "destination",
    "qos-level-name",
    "node-type",
];

impl Scan {
    /// One line. Shape: `line` is where it begins.
    fn line(&mut self, content: &str, line: Span, found: &mut Vec<Finding>) {
        // A list goes on behind a comma at the end of a line; otherwise a keyword is needed anew.
        if !self.goes_on {
            (self.names, self.pkeys) = (false, false);
        }
        let content = content.trim_end();
        let mut at = 0;
        let mut last: Option<(Span, u64)> = None;
        let mut between = 0;
        while let Some(first) = content[at..].chars().next() {
            match first {
                '#' => break,
                // What stands between quotes is a name, and no number of it counts.
                '"' => at += 1 + content[at + 1..].find('"').map_or(0, |end| end + 1),
                _ if is_word(first) => {
                    let word = word_at(&content[at..]);
                    if first.is_ascii_digit() && !self.names {
                        let number = self.number(content, at, line, found);
                        if let Some(start) = last
                            // Two numbers with nothing but a dash between are a range.
                            && content[between..at].trim() == "-"
                        {
                            found.extend(self.turned(start, number));
                        }
                        last = Some(number);
                    // A description: nothing in it is read as a number.
                    } else if self.keyword(word, &content[at + word.len()..]) {
                        break;
                    }
                    at += word.len();
                    between = at;
                }
                _ => at += first.len_utf8(),
            }
        }
        self.goes_on = content[..at.min(content.len())].trim_end().ends_with(',');
    }

    /// True when the rest of the line is a description.
    /// Without a colon a keyword's name is a word like others.
    fn keyword(&mut self, word: &str, rest: &str) -> bool {
        let has_colon = rest.trim_start().starts_with(':');
        if has_colon {
            self.names = NAMES.contains(&word);
        }
        if !self.names {
            self.pkeys = word == "pkey";
        }
        has_colon && word == "use"
    }

    /// A number and its place, with a finding when it is octal without looking so.
    /// The place is that of the digits which count.
    fn number(
        &self,
        content: &str,
        at: usize,
        line: Span,
        found: &mut Vec<Finding>,
    ) -> (Span, u64) {
        let number = Number::read_digits(&content[at..]);
        let (value, length) = (number.unsigned_64(), number.length);
        let digits = &content[at..at + length];
        let span = line.piece(content, at..at + length);
        let second = content.as_bytes().get(at + 1);
        if digits.starts_with('0') && second.is_some_and(u8::is_ascii_digit) {
            let written = word_at(&content[at..]);
            found.push(Finding::new(
                LintId::OCTAL,
                line.piece(content, at..at + written.len()),
                format!("{written} begins with a zero and is read as octal: it means {value}"),
                "leave the zeros at its beginning out",
            ));
        }
        (span, value)
    }

    /// A range of P_Keys that the mask of the membership bit turns around.
    /// A warning: OpenSM reads it without a word.
    fn turned(&self, (start, low): (Span, u64), (end, high): (Span, u64)) -> Option<Finding> {
        let masked = [low & 0x7fff, high & 0x7fff];
        // Written the right way round and turned by the mask alone.
        (self.pkeys && low <= high && masked[0] > masked[1]).then(|| {
            let [low, high] = masked;
            let sentence = format!(
                "the P_Keys lose their membership bits and then mean 0x{high:04x} to 0x{low:04x}"
            );
            Finding::new(
                LintId::RANGE,
                start.to(end),
                sentence,
                "write P_Keys without the membership bit, below 0x8000",
            )
            .with(Severity::Warning)
        })
    }
}

/// True for what a word or number goes on with.
const fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// The word or number that the text begins with; keywords have dashes, numbers have none.
fn word_at(text: &str) -> &str {
    let is_number = text.starts_with(|first: char| first.is_ascii_digit());
    let goes_on = |character: char| is_word(character) || !is_number && character == '-';
    let end = text.find(|character| !goes_on(character));
    &text[..end.unwrap_or(text.len())]
}
