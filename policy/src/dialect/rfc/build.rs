//! From blocks and entries to a draft of the policy.
//!
//! Goes through the tree in the order of the file, so that remarks, positions of levels and the
//! first error come in that order. What depends on two parts of a file at once is left to linking.
//!
//! ```text
//! Node(qos-levels)                        draft.levels  [Level, Level]
//!   Node(qos-level) Node(qos-level)   ──>  draft.reserved_sls
//!   Node(reserved-sl)                     reader.diagnostics, by place
//! ```

use sa_text::LineIndex;

use super::tags::Tag;
use super::value::Value;
use super::values::Reader;
use super::{Content, Node, groups, levels, rules, setup};
use crate::error::{Error, Problem};
use crate::link::diagnostics::Diagnostics;
use crate::link::draft::Draft;
use crate::model::dialect::Dialect;
use crate::model::options::ParseOptions;

/// A draft in the making.
/// One for a file; ends as a [`Draft`].
#[derive(Debug)]
pub(super) struct Builder<'a> {
    /// Used by every section for values and remarks.
    pub(super) reader: Reader<'a>,
    pub(super) draft: Draft,
    /// Of the emulated release; a level with a larger code has no rate limit, which is told.
    pub(super) max_rate_code: u8,
    /// RFC 0.1: of the last rule.
    /// Compared with the next, as an `sn` that goes back hints at another order being meant.
    pub(super) last_sn: Option<u64>,
}

impl<'a> Builder<'a> {
    /// A draft with nothing in it, and a reader for values of this dialect.
    pub(super) fn new(places: LineIndex<'a>, dialect: Dialect, options: &ParseOptions) -> Self {
        Self {
            reader: Reader {
                places,
                dialect,
                diagnostics: Diagnostics::default(),
                names: options.extensions.then(|| options.ulp_names.clone()),
                extensions: Vec::new(),
            },
            draft: Draft::default(),
            max_rate_code: options.max_rate_code,
            last_sn: None,
        }
    }

    /// What came of it.
    pub(super) fn draft(mut self) -> Draft {
        self.draft.diagnostics = self.reader.diagnostics;
        self.draft.extensions = self.reader.extensions;
        self.draft
    }

    /// Sections may come in any order and repeatedly.
    pub(super) fn sections(&mut self, sections: &[Node<'a>]) -> Result<(), Error> {
        for section in sections {
            for part in section.parts() {
                match part.tag {
                    Tag::PortGroup => self.group(part)?,
                    Tag::QosLevel => self.level(part)?,
                    Tag::MatchRule => self.rule(part)?,
                    Tag::ReservedSl => self.reserved_sl(part)?,
                    _ => self.tables(part)?,
                }
            }
            // Remarks inside are told apart by place.
            if section.tag == Tag::QosSetup {
                self.draft.setup.spans.push(section.span);
            }
        }
        Ok(())
    }

    /// A `port-group`: its members stay descriptions of ports.
    fn group(&mut self, block: &Node<'a>) -> Result<(), Error> {
        let group = groups::group(&mut self.reader, block)?;
        self.draft.groups.push(group);
        Ok(())
    }

    /// A `qos-level`, which knows its position, as rules of RFC 0.2 refer to it.
    fn level(&mut self, block: &Node<'a>) -> Result<(), Error> {
        // Counted over all sections `qos-levels`, and from 1.
        let position = u32::try_from(self.draft.levels.len() + 1).unwrap_or(u32::MAX);
        let level = levels::level(&mut self.reader, block, position, self.max_rate_code)?;
        self.draft.levels.push(level);
        self.draft.check_levels()
    }

    /// A `reserved-sl`, an extension, which stands between levels.
    fn reserved_sl(&mut self, entry: &Node<'a>) -> Result<(), Error> {
        if let Content::Entry(value) = &entry.content {
            let reserved = self.reader.reserved_sl(entry, value)?;
            self.draft.reserved_sls.push(reserved);
        }
        Ok(())
    }

    /// A `qos-match-rule`, as long as there is room for its numbers.
    fn rule(&mut self, block: &Node<'a>) -> Result<(), Error> {
        let rule = rules::rule(&mut self.reader, block, &mut self.last_sn)?;
        self.draft.check_rule(&rule)?;
        self.draft.rules.push(rule);
        Ok(())
    }

    /// The scopes of one kind of tables.
    fn tables(&mut self, block: &Node<'a>) -> Result<(), Error> {
        for scope in block.parts() {
            match scope.tag {
                Tag::VlArbScope => {
                    let scope = setup::vlarb_scope(&mut self.reader, scope)?;
                    // None for a scope that applies to nothing, which was told.
                    self.draft.setup.vlarb.extend(scope);
                }
                _ => {
                    let scope = setup::sl2vl_scope(&mut self.reader, scope)?;
                    self.draft.setup.sl2vl.extend(scope);
                }
            }
        }
        Ok(())
    }
}

impl<'a> Node<'a> {
    /// The blocks and entries of a block.
    pub(super) fn parts(&self) -> &[Self] {
        match &self.content {
            Content::Block(parts) => parts,
            Content::Entry(_) => &[],
        }
    }

    /// The entries of a block. Errors: one that may stand there once stands there twice.
    /// Looked at before any value is read: a repeated entry is told before what it says.
    pub(super) fn entries(&self) -> Result<impl Iterator<Item = (&Self, &Value<'a>)>, Error> {
        // At most a dozen kinds stand in a block, so a list will do.
        let mut seen = Vec::new();
        for entry in self.parts() {
            if is_single(entry.tag) {
                if seen.contains(&entry.tag) {
                    let (keyword, block) = (entry.tag.name(), self.tag.name());
                    let problem = Problem::Repeated { keyword, block };
                    return Err(Error::new(entry.opening, problem));
                }
                seen.push(entry.tag);
            }
        }
        Ok(self.parts().iter().filter_map(|part| match &part.content {
            Content::Entry(value) => Some((part, value)),
            Content::Block(_) => None,
        }))
    }

    /// The block lacks something.
    pub(super) const fn missing(&self, what: &'static str, block: &'static str) -> Error {
        Error::new(self.opening, Problem::Missing { what, block })
    }
}

/// True for entries that a block has once at most. Those of `vl-high-limit` replace each other,
/// as in OpenSM, lists are merged.
const fn is_single(tag: Tag) -> bool {
    matches!(
        tag,
        Tag::Name | Tag::Use | Tag::Sn | Tag::Sl | Tag::Sl2VlTable
    ) || matches!(
        tag,
        Tag::MtuLimit | Tag::RateLimit | Tag::PacketLife | Tag::MatchLevel
    ) || matches!(tag, Tag::LevelSn | Tag::LevelName | Tag::FlowLabel)
}

/// Adds pairs to those of an earlier entry of the same name.
pub(super) use crate::dialect::pairs::append;
/// What all entries of one name gave together.
pub(super) use crate::dialect::pairs::to_ranges;
