//! Remarks about a text as compilers print them: the place, what is wrong, the line with a mark
//! under it, what to do. Plain text, the same wherever it goes.

use std::borrow::Borrow;
use std::fmt::Write;

use policy::lint::id_of_error;
use policy::{Error, Span};

use crate::failure::Failure;

/// A remark about a text.
#[derive(Debug, Clone)]
pub(super) struct Remark<'a> {
    /// `error`, `warning` or `info`, and perhaps the number of a check: `warning[L10]`.
    pub(super) kind: String,
    /// Where.
    pub(super) span: Span,
    /// What, in a sentence.
    pub(super) text: String,
    /// What to do.
    pub(super) remedy: Option<&'a str>,
}

/// The remark in words. Shape: lines, the last one ended too.
pub(super) fn render(name: &str, text: &str, remark: &Remark<'_>) -> String {
    let head = format!("{}: {}", remark.kind, remark.text);
    let notes: Vec<&str> = remark.remedy.into_iter().collect();
    render_with(name, text, Some(remark.span), &head, &notes)
}

/// Shape: `file:line:column: head`, the line, a mark, notes; the file alone for what lies outside
/// the text.
pub(super) fn render_with<N: Borrow<str>>(
    name: &str,
    text: &str,
    span: Option<Span>,
    head: &str,
    notes: &[N],
) -> String {
    let place = span.map_or_else(String::new, |Span { line, column, .. }| {
        format!(":{line}:{column}")
    });
    let mut shown = format!("{name}{place}: {head}\n");
    let mut margin = MARGIN;
    if let Some((line, span)) = span.and_then(|span| Some((line_at(text, span)?, span))) {
        let number = span.line.to_string();
        margin = margin.max(number.len());
        let excerpt = Excerpt::of(line, span);
        let _ = writeln!(shown, "{number:>margin$} | {}", excerpt.text);
        let _ = writeln!(shown, "{:margin$} | {}", "", excerpt.mark);
    }
    for note in notes {
        let _ = writeln!(shown, "{:margin$} = {}", "", note.borrow());
    }
    shown
}

/// The line where something begins, without what ends it.
fn line_at(text: &str, span: Span) -> Option<&str> {
    let before = text.get(..usize::try_from(span.offset).ok()?)?;
    let from = before.rfind('\n').map_or(0, |newline| newline + 1);
    text[from..].lines().next()
}

/// Room for line numbers. Units: characters.
const MARGIN: usize = 3;

/// What is shown of a line, and the mark below it.
struct Excerpt {
    text: String,
    mark: String,
}

impl Excerpt {
    /// Lines may be long: what is far from the place is left out.
    fn of(line: &str, span: Span) -> Self {
        const BEFORE: usize = 60;
        const SHOWN: usize = 96;
        let place = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let characters: Vec<char> = line.chars().collect();
        let column = place(span.column).saturating_sub(1).min(characters.len());
        let from = if characters.len() > SHOWN {
            column.saturating_sub(BEFORE)
        } else {
            0
        };
        let shown: String = characters[from..]
            .iter()
            .take(SHOWN)
            .map(|it| plain(*it))
            .collect();
        let ahead = characters[from..column].iter();
        // A tab stays one, so that the mark stands below what it means.
        let blanks: String = ahead
            .map(|it| if *it == '\t' { '\t' } else { ' ' })
            .collect();
        let marked = marked(&characters[column..], place(span.length));
        let marked = marked.min(SHOWN.saturating_sub(column - from)).max(1);
        Self {
            text: shown.trim_end().to_owned(),
            mark: format!("{blanks}{}", "^".repeat(marked)),
        }
    }
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
    count
        - tail
            .take_while(|character| character.is_whitespace())
            .count()
}

/// What a terminal might take for a command is shown as a question mark.
fn plain(character: char) -> char {
    match character {
        '\t' => '\t',
        _ if character.is_control() => '?',
        _ => character,
    }
}

/// A file that does not parse, in words.
pub(super) fn refused(name: &str, text: &str, error: &Error) -> Failure {
    let kind = match id_of_error(error) {
        Some(id) => format!("error[{id}]"),
        None => String::from("error"),
    };
    let mut notes = Vec::new();
    notes.extend(
        error
            .expected()
            .map(|expected| format!("expected {expected}")),
    );
    notes.extend(error.help());
    let head = format!("{kind}: {}", error.message());
    let shown = render_with(name, text, Some(error.span), &head, &notes);
    Failure::Failed(shown.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, span: Span, remedy: Option<&str>) -> String {
        let remark = Remark {
            kind: String::from("warning[L10]"),
            span,
            text: String::from("odd"),
            remedy,
        };
        render("f", text, &remark)
    }

    const fn span(offset: u32, length: u32, line: u32, column: u32) -> Span {
        Span {
            offset,
            length,
            line,
            column,
        }
    }

    #[test]
    fn the_mark_stands_below_its_place() {
        let text = "a\n\tsl: 16 # x\r\nb";
        assert_eq!(
            shown(text, span(7, 2, 2, 6), Some("do")),
            "f:2:6: warning[L10]: odd\n  2 | \tsl: 16 # x\n    | \t    ^^\n    = do\n"
        );
    }

    #[test]
    fn a_span_of_lines_is_marked_to_the_end_of_the_first() {
        assert_eq!(
            shown("ab c \nd", span(3, 4, 1, 4), None),
            "f:1:4: warning[L10]: odd\n  1 | ab c\n    |    ^\n"
        );
    }

    #[test]
    fn long_lines_are_cut_and_odd_places_do_no_harm() {
        let text = "x".repeat(500) + "y" + &"\u{1b}".repeat(500);
        let long = shown(&text, span(500, 1, 1, 501), None);
        let lines: Vec<&str> = long.lines().collect();
        assert_eq!(lines[1].chars().count(), 6 + 96);
        assert_eq!(lines[1].chars().nth(lines[2].len() - 1), Some('y'));
        assert!(!long.contains('\u{1b}'));
        for odd in [
            span(9000, 5, 7, 900),
            span(0, 0, 1, 90),
            span(1001, 9, 1, 1002),
        ] {
            assert!(shown(&text, odd, None).starts_with("f:"));
        }
        assert!(shown("", span(0, 0, 1, 1), None).starts_with("f:1:1: "));
    }
}
