//! The file and its sections.

use super::cursor::Cursor;
use super::draft::{Draft, DraftRule};
use super::token::{Block, Kind};
use super::{MAX_LEVELS, MAX_RANGES, MAX_RULES, ParseOptions};
use super::{levels, port_groups, rules, setup, ulps};
use crate::error::{Error, Problem};

/// Reads all sections, which may come in any order and repeatedly.
pub(super) fn parse(text: &str, options: &ParseOptions) -> Result<Draft, Error> {
    let mut cursor = Cursor::new(text);
    let mut sink = Sink::default();
    loop {
        match cursor.kind() {
            Kind::Start(Block::Ulps) => ulps::section(&mut cursor, &mut sink)?,
            Kind::Start(Block::PortGroups) => port_groups::section(&mut cursor, &mut sink.draft)?,
            Kind::Start(Block::Setup) => setup::section(&mut cursor, &mut sink.draft.setup)?,
            Kind::Start(Block::Levels) => levels::section(&mut cursor, &mut sink, options)?,
            Kind::Start(Block::Rules) => rules::section(&mut cursor, &mut sink)?,
            Kind::EndOfFile => return Ok(sink.draft),
            _ => return Err(cursor.unexpected(SECTIONS)),
        }
    }
}

const SECTIONS: &str = "a section: qos-ulps, port-groups, qos-setup, qos-levels or qos-match-rules";

/// The draft with its limits watched over.
#[derive(Default)]
pub(super) struct Sink {
    pub(super) draft: Draft,
    ranges: usize,
}

impl Sink {
    /// Errors: [`Problem::TooMany`] when this rule is one too many.
    pub(super) fn check_rule(&mut self, rule: &DraftRule) -> Result<(), Error> {
        self.ranges += rule.range_count();
        let rules = self.draft.rule_count() + 1;
        let over = [
            ("rules", rules, MAX_RULES),
            ("number ranges", self.ranges, MAX_RANGES),
        ];
        for (what, found, limit) in over {
            if found > limit {
                return Err(Error::new(
                    rule.span,
                    Problem::TooMany { what, found, limit },
                ));
            }
        }
        Ok(())
    }

    /// Errors: [`Problem::TooMany`] when there are too many levels for the rest to fit.
    pub(super) fn check_levels(&self) -> Result<(), Error> {
        // `qos-ulps` adds at most a level for each SL and the default.
        let limit = MAX_LEVELS - 17;
        let found = self.draft.levels.len();
        match self.draft.levels.last() {
            Some(last) if found > limit => {
                let what = "levels";
                Err(Error::new(
                    last.span,
                    Problem::TooMany { what, found, limit },
                ))
            }
            _ => Ok(()),
        }
    }
}
