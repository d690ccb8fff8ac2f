//! A line of a text with a mark under a piece of it.
//!
//! Drawn by hand and not by miette or annotate-snippets: what operators and their scripts see is one plain
//! head line `file:line:column: ..` and an excerpt without colours, frames or wrapping, and long lines are cut to
//! the marked piece. Those crates draw headers of their own and would change every message.

use std::fmt;

use crate::place::Span;

/// What is shown of a line, and the mark below it.
pub(crate) struct Excerpt {
    number: u32,
    line: String,
    mark: String,
}

impl Excerpt {
    /// Room for line numbers. Units: characters.
    pub(crate) const MARGIN: usize = 3;

    /// The line where `span` begins; none where `text` has no such line.
    pub(crate) fn new(text: &str, span: Span) -> Option<Self> {
        let before = text.get(..usize::try_from(span.offset).ok()?)?;
        // By the offset and not the line number: no need to go through the lines before.
        let from = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[from..].lines().next()?;
        let (line, mark) = excerpt(line, span);
        let number = span.start.line;
        Some(Self { number, line, mark })
    }

    /// Room for this line number. Units: characters.
    pub(crate) fn margin(&self) -> usize {
        self.number.to_string().len().max(Self::MARGIN)
    }
}

impl fmt::Display for Excerpt {
    /// Shape: two lines, the last one ended too.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let margin = self.margin();
        writeln!(f, "{:>margin$} | {}", self.number, self.line)?;
        writeln!(f, "{:margin$} | {}", "", self.mark)
    }
}

/// The line and its mark. Lines may be long: what is far from the place is left out.
fn excerpt(line: &str, span: Span) -> (String, String) {
    /// Characters that are shown before the marked piece of a long line.
    const BEFORE: usize = 60;
    /// Characters of a line that are shown.
    const SHOWN: usize = 96;
    let wide = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let characters: Vec<char> = line.chars().collect();
    let column = wide(span.start.column).saturating_sub(1);
    let column = column.min(characters.len());
    let from = if characters.len() > SHOWN {
        column.saturating_sub(BEFORE)
    } else {
        0
    };
    let shown = characters[from..].iter().take(SHOWN);
    let shown: String = shown.map(|it| plain(*it)).collect();
    let ahead = characters[from..column].iter();
    // A tab stays one, so that the mark stands below what it means.
    let blanks = ahead.map(|it| if *it == '\t' { '\t' } else { ' ' });
    let marked = marked(&characters[column..], wide(span.length));
    // At least one mark, also for an empty span: something may be missing there.
    let marked = marked.min(SHOWN.saturating_sub(column - from)).max(1);
    let mark = blanks.collect::<String>() + &"^".repeat(marked);
    (shown.trim_end().to_owned(), mark)
}

/// How many characters a mark of so many bytes covers, blanks at the end of the line left out.
fn marked(rest: &[char], bytes: usize) -> usize {
    let mut left = bytes;
    let mut count = 0;
    for character in rest {
        if left == 0 {
            break;
        }
        left = left.saturating_sub(character.len_utf8());
        count += 1;
    }
    let tail = rest[..count].iter().rev();
    count - tail.take_while(|it| it.is_whitespace()).count()
}

/// What a terminal might take for a command is shown as a question mark.
fn plain(character: char) -> char {
    match character {
        '\t' => '\t',
        _ if character.is_control() => '?',
        _ => character,
    }
}
