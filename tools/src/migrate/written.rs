//! The configuration that is written, section by section.
//!
//! ```text
//!  [fabric]      who is the SM, QoS, prefix routes
//!  [routing]     engine, its files
//!  [policy]      rules of QoS, in OpenSM's dialect
//!  [partitions]  their file
//!  [sm]          all other options
//!  [[port]]      the first InfiniBand device: which it is OpenSM's file does not say by name
//! ```
//!
//! Sections without a key are left out. What is in the file is text until the reader of
//! configurations has judged it.

use std::fmt::Write;

use super::fate::Source;
use crate::toml::quoted;

/// Lines of sections. Shape: `key = value`, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Written {
    lines: Vec<(&'static str, String)>,
}

/// In this order: what the fabric is, then what is made of it, as the examples have it.
const SECTIONS: [&str; 5] = ["fabric", "routing", "policy", "partitions", "sm"];

impl Written {
    /// A key with a number, or true or false.
    pub(super) fn bare(&mut self, section: &'static str, key: &str, value: &str) {
        self.lines.push((section, format!("{key} = {value}")));
    }

    /// A key with text.
    pub(super) fn quoted(&mut self, section: &'static str, key: &str, value: &str) {
        self.bare(section, key, &quoted(value));
    }

    /// How many keys an `[sm]` has.
    pub(super) fn of_sm(&self) -> usize {
        let sm = self.lines.iter().filter(|(section, _)| *section == "sm");
        sm.count()
    }

    /// The whole file.
    pub(super) fn text(&self, from: &str, source: Source) -> String {
        let what = match source {
            Source::Opensm => "sapphired beside an OpenSM, see docs/operating.md",
            Source::Sweep => "sapphired as the Subnet Manager, see docs/sm.md",
        };
        let mut text = format!("# Written by `sapphire migrate` from {from}: {what}.\n");
        for section in SECTIONS {
            let lines = self.lines.iter().filter(|(of, _)| *of == section);
            let lines: Vec<&str> = lines.map(|(_, line)| line.as_str()).collect();
            // An empty section would say no more than none.
            if !lines.is_empty() {
                let _ = write!(text, "\n[{section}]\n{}\n", lines.join("\n"));
            }
        }
        if source == Source::Opensm {
            // An empty section is a whole one.
            text.push_str("\n[opensm]\n");
        }
        text.push_str("\n[[port]]\ntransport = \"umad\"\n");
        text
    }
}
