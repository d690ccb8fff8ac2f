//! A switch hash as a file: the hash value of each source port.
//!
//! Some switches tell which way a given flow takes. Whoever asks for all source ports has the hash
//! as a table, of 16,384 lines:
//!
//! ```text
//! # leaf-7, 10.0.0.1 to 10.0.1.1
//! 49152 0x1f3a
//! 49153 7994
//! ```
//!
//! A port that is left out is an error and not a zero: a table that was cut off would make every
//! forecast look worse than it is.

use std::collections::BTreeMap;

use sa_wire::roce::SourcePort;
use thiserror::Error;

/// The hash of every UDP source port, as a switch's own command tells it for one pair of hosts.
///
/// Another pair of hosts is taken to flip bits of the same values, which is so for every linear
/// hash.
///
/// Shape: 16,384 values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortTable {
    /// By port, from the first.
    values: Vec<u32>,
}

/// What is wrong with a table.
///
/// Line and column count from 1, as editors do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TableError {
    /// A word is not the number that it should be.
    #[error("{line}:{column}: expected {expected}, found `{found}`")]
    Word {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What should be there.
        expected: &'static str,
        /// What is.
        found: String,
    },
    /// A port has two values.
    #[error("{line}:1: port {port} was given before, on line {before}")]
    Twice {
        /// From 1.
        line: usize,
        /// Which port.
        port: SourcePort,
        /// From 1.
        before: usize,
    },
    /// A port has no value.
    #[error(
        "{missing} of 16384 source ports (49152 to 65535) have no value, the first is {first}; expected a line `PORT VALUE` for each"
    )]
    Missing {
        /// How many.
        missing: usize,
        /// The least.
        first: u16,
    },
}

impl PortTable {
    /// From lines `PORT VALUE`, numbers decimal or with 0x, `#` before comments.
    /// Errors: a word that is no such number, a port given twice, a port left out.
    pub fn read(text: &str) -> Result<Self, TableError> {
        // Sorted by port: its values are then the table, whatever the order of the lines.
        let mut lines = BTreeMap::new();
        for (nth, line) in text.lines().enumerate() {
            let line = Line {
                nth: nth + 1,
                text: line.split('#').next().unwrap_or_default(),
            };
            if let Some((port, value)) = line.read()?
                && let Some((before, _)) = lines.insert(port, (line.nth, value))
            {
                return Err(TableError::Twice {
                    line: line.nth,
                    port,
                    before,
                });
            }
        }
        let all = || (0xc000..=0xffff).filter_map(|port| SourcePort::new(port).ok());
        let mut missing = all().filter(|port| !lines.contains_key(port));
        if let Some(first) = missing.next() {
            return Err(TableError::Missing {
                missing: missing.count() + 1,
                first: first.get(),
            });
        }
        Ok(Self {
            values: lines.into_values().map(|(_, value)| value).collect(),
        })
    }

    /// The hash of a port.
    pub fn value(&self, port: SourcePort) -> u32 {
        let nth = usize::from(port.get() - SourcePort::MIN.get());
        self.values.get(nth).copied().unwrap_or_default()
    }
}

struct Line<'a> {
    nth: usize,
    text: &'a str,
}

impl Line<'_> {
    /// None for a line without words.
    fn read(&self) -> Result<Option<(SourcePort, u32)>, TableError> {
        let mut words = self.text.split_whitespace();
        let Some(port) = words.next() else {
            return Ok(None);
        };
        let number = |word: &str| {
            word.parse()
                .ok()
                .or_else(|| u32::from_str_radix(word.strip_prefix("0x")?, 16).ok())
        };
        let found = number(port).and_then(|port| u16::try_from(port).ok());
        let found = found.and_then(|port| SourcePort::new(port).ok());
        let port = found.ok_or_else(|| self.wrong(port, "a UDP source port, 49152 to 65535"))?;
        let value = words.next().unwrap_or_default();
        let value = number(value)
            .ok_or_else(|| self.wrong(value, "the hash of this port, a number of 32 bits"))?;
        match words.next() {
            Some(more) => Err(self.wrong(more, "the end of the line")),
            None => Ok(Some((port, value))),
        }
    }

    /// At the word, or behind the line's end where a word is missing.
    fn wrong(&self, word: &str, expected: &'static str) -> TableError {
        let start = self.text.as_ptr().addr();
        let at = match word {
            "" => self.text.trim_end().len(),
            word => word.as_ptr().addr() - start,
        };
        TableError::Word {
            line: self.nth,
            column: at + 1,
            expected,
            found: word.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> String {
        let lines = (0xc000..=0xffff_u32).map(|port| format!("{port} {:#x}\n", port & 0xff));
        "# values\n\n".to_owned() + &lines.collect::<String>()
    }

    #[test]
    fn a_whole_table_gives_values() {
        let table = PortTable::read(&whole()).unwrap();
        assert_eq!(table.value(SourcePort::new(0xc1a7).unwrap()), 0xa7);
    }

    #[test]
    fn mistakes_have_their_place() {
        let said = |text: &str| PortTable::read(text).unwrap_err().to_string();
        assert_eq!(
            said("# a\n 80 1"),
            "2:2: expected a UDP source port, 49152 to 65535, found `80`"
        );
        assert!(said("49152 x").starts_with("1:7: expected the hash"));
        assert!(said("49152").starts_with("1:6: expected the hash"));
        assert!(said("49152 1 2").starts_with("1:9: expected the end"));
        assert!(
            said("49152 1\n49152 1").starts_with("2:1: port 49152 was given before, on line 1")
        );
        assert!(said("49152 1").starts_with("16383 of 16384"));
    }
}
