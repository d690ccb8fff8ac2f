//! A file to be written, the same for all dialects but for its words.
//!
//! Sections say words and values; the renderer knows quotes, indentation and brackets. So a section
//! is written once and can be rendered three ways.
//!
//! ```text
//! Block qos-level [ Entry name (Name "bulk"), Entry sl (Plain "2") ]
//! ```

use crate::model::criterion::Notation;
use crate::model::ranges::Ranges;

/// A block with a word that opens it.
#[derive(Debug)]
pub(super) struct Block {
    /// `qos-level` and the like; the renderer makes the closing form of it.
    pub(super) word: &'static str,
    /// In the order in which they are written.
    pub(super) parts: Vec<Part>,
}

/// What stands in a block.
/// In the order in which they are written.
#[derive(Debug)]
pub(super) enum Part {
    Block(Block),
    Entry(&'static str, Entry),
    /// A line of `qos-ulps`.
    Line(String),
}

/// The value of an entry.
/// Told apart by what has to be done to be read back as the same.
#[derive(Debug)]
pub(super) enum Entry {
    /// Numbers, ranges, words of the language.
    Plain(String),
    /// A description: free text up to the end of its line or element.
    Text(String),
    /// A name, quoted where the dialect needs it.
    Name(String),
    /// Names in a list.
    Names(Vec<String>),
}

impl Block {
    /// A block with nothing in it.
    pub(super) const fn new(word: &'static str) -> Self {
        Self {
            word,
            parts: Vec::new(),
        }
    }

    /// An entry that needs no quotes in any dialect.
    pub(super) fn plain(&mut self, word: &'static str, value: impl ToString) {
        let value = Entry::Plain(value.to_string());
        self.parts.push(Part::Entry(word, value));
    }

    /// Nothing for an empty text.
    pub(super) fn text(&mut self, word: &'static str, text: String) {
        if !text.is_empty() {
            self.parts.push(Part::Entry(word, Entry::Text(text)));
        }
    }

    /// An entry with one name, which the renderer quotes where needed.
    pub(super) fn name(&mut self, word: &'static str, name: String) {
        self.parts.push(Part::Entry(word, Entry::Name(name)));
    }

    /// Nothing for no names.
    pub(super) fn names(&mut self, word: &'static str, names: Vec<String>) {
        if !names.is_empty() {
            self.parts.push(Part::Entry(word, Entry::Names(names)));
        }
    }

    /// Nothing for no numbers.
    pub(super) fn ranges(&mut self, word: &'static str, numbers: Option<&Ranges>, form: Notation) {
        if let Some(numbers) = numbers.filter(|numbers| !numbers.is_empty()) {
            self.plain(word, listed(numbers, form));
        }
    }

    /// A block inside this one.
    pub(super) fn block(&mut self, block: Self) {
        self.parts.push(Part::Block(block));
    }

    /// None when nothing stands in it.
    pub(super) fn unless_empty(self) -> Option<Self> {
        (!self.parts.is_empty()).then_some(self)
    }
}

/// Numbers and ranges with commas between.
/// Both notations are read by all three dialects; which is used is for people.
pub(super) fn listed(numbers: &Ranges, form: Notation) -> String {
    let number = |value: u64| match form {
        Notation::Decimal => value.to_string(),
        Notation::Hexadecimal => format!("{value:#x}"),
    };
    let range = |(low, high): &(u64, u64)| {
        if low == high {
            number(*low)
        } else {
            format!("{}-{}", number(*low), number(*high))
        }
    };
    let ranges: Vec<String> = numbers.pairs().iter().map(range).collect();
    ranges.join(",")
}
