//! From blocks and entries to text.
//!
//! Lines of OpenSM and RFC 0.2 are alike: `word: value`, blocks closed by `end-word`. RFC 0.1 has elements,
//! whose text needs three characters escaped. Each level of nesting is four blanks deep.
//!
//! ```text
//! qos-level                        <qos-level>
//!     name: "bulk, slow"               <name>bulk, slow</name>
//!     sl: 2                            <sl>2</sl>
//! end-qos-level                    </qos-level>
//! ```

use std::fmt::Write;

use super::names::needs_quotes;
use super::script::{Block, Entry, Part};
use crate::model::dialect::Dialect;

/// The sections as a file of the dialect.
/// The same sections always give the same bytes.
pub(super) fn render(to: Dialect, sections: &[Block]) -> String {
    let mut out = String::new();
    match to {
        Dialect::Rfc01Xml => {
            out.push_str("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<qos-policy>\n");
            for section in sections {
                xml(&mut out, 1, section);
            }
            out.push_str("</qos-policy>\n");
        }
        Dialect::OpenSm | Dialect::Rfc02Text => {
            for (at, section) in sections.iter().enumerate() {
                // An empty line between sections, for the eye.
                if at > 0 {
                    out.push('\n');
                }
                lines(&mut out, to, 0, section);
            }
        }
    }
    out
}

/// A block as lines, with its inner blocks.
fn lines(out: &mut String, to: Dialect, depth: usize, block: &Block) {
    line(out, depth, block.word);
    for part in &block.parts {
        match part {
            Part::Block(block) => lines(out, to, depth + 1, block),
            Part::Line(text) => line(out, depth + 1, text),
            Part::Entry(word, entry) => {
                line(out, depth + 1, &format!("{word}: {}", written(to, entry)));
            }
        }
    }
    line(out, depth, &format!("end-{}", block.word));
}

/// One line of plain text.
fn line(out: &mut String, depth: usize, text: &str) {
    push(out, depth, format_args!("{text}"));
}

/// One line, indented, without a string of its own for what is formatted.
fn push(out: &mut String, depth: usize, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{:indent$}{text}", "", indent = depth * 4);
}

/// The value of an entry, quoted where it would be read as something else.
/// What it gives is read back as the same value by the dialect's own parser.
fn written(to: Dialect, entry: &Entry) -> String {
    match entry {
        Entry::Plain(text) => text.clone(),
        Entry::Name(name) => quoted(to, name),
        // Otherwise `#` would begin a comment there.
        Entry::Text(text) if to == Dialect::OpenSm && text.contains(['#', '\n', '\r']) => {
            format!("\"{text}\"")
        }
        Entry::Text(text) => text.clone(),
        // In OpenSM's language two names may be a keyword together.
        Entry::Names(names) if to == Dialect::OpenSm && names.len() > 1 => {
            let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            quoted.join(", ")
        }
        Entry::Names(names) => {
            let quoted: Vec<String> = names.iter().map(|name| quoted(to, name)).collect();
            quoted.join(", ")
        }
    }
}

/// Quotes only where they are needed, so that files stay as people write them.
fn quoted(to: Dialect, name: &str) -> String {
    if needs_quotes(to, name) {
        format!("\"{name}\"")
    } else {
        String::from(name)
    }
}

/// A block as an element. Lines of `qos-ulps` do not occur: RFC 0.1 gets rules instead.
/// Elements carry no attributes.
fn xml(out: &mut String, depth: usize, block: &Block) {
    push(out, depth, format_args!("<{}>", block.word));
    for part in &block.parts {
        match part {
            Part::Block(block) => xml(out, depth + 1, block),
            // Shorthand has become rules.
            Part::Line(_) => {}
            Part::Entry(word, entry) => {
                let value = match entry {
                    Entry::Name(name) => escaped(name),
                    _ => escaped(&written(Dialect::Rfc01Xml, entry)),
                };
                push(out, depth + 1, format_args!("<{word}>{value}</{word}>"));
            }
        }
    }
    push(out, depth, format_args!("</{}>", block.word));
}

/// Line ends are written as numbers, because plain ones become blanks when the file is read.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            _ => out.push(character),
        }
    }
    out
}
