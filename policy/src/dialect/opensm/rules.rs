//! `qos-match-rules`.
//!
//! ```text
//! qos-match-rule
//!     source: compute, login            any of these groups
//!     service-id: 0x1061144, nfs        any of these numbers (names are an extension)
//!     service-id: 22-25                 and these: lines of one keyword add up
//!     qos-level-name: bulk              must be there
//! end-qos-match-rule
//! ```

use sa_text::{Span, Spanned};

use super::cursor::{Cursor, set_once};
use super::token::{Block, Key, Kind};
use crate::dialect::pairs::{Pairs, append, to_ranges};
use crate::error::{Error, Problem};
use crate::link::draft::{Draft, DraftGroup, DraftLevel, DraftRule};
use crate::model::RuleOrigin;
use crate::model::criterion::{ByField, Field};
use crate::services::Criteria;
use sa_snapshot::model::FlowLabels;

/// The whole section; it may be empty.
pub(super) fn section(cursor: &mut Cursor<'_>, draft: &mut Draft) -> Result<(), Error> {
    // The word that opens the section; what kind it is the caller has seen.
    cursor.bump();
    while let Some(start) = cursor.accept(Kind::Start(Block::Rule)) {
        let rule = rule(cursor, start.span)?;
        // Before it is put in: the limit is on what is kept.
        draft.check_rule(&rule)?;
        draft.rules.push(rule);
    }
    cursor.expect(
        Kind::End(Block::Rules),
        "qos-match-rule or end-qos-match-rules",
    )?;
    Ok(())
}

/// What a rule has said so far. Groups and numbers of one keyword add up; `use`, level and labels come once.
/// Pairs are kept as written until the block ends.
#[derive(Default)]
struct Entries {
    purpose: Option<Spanned<String>>,
    /// Empty for any source; several lines add up.
    source: Vec<DraftGroup>,
    destination: Vec<DraftGroup>,
    /// As written; sorted and merged when the block ends, which costs least.
    fields: ByField<Pairs>,
    /// Must be there: a rule without level is refused.
    level: Option<Spanned<String>>,
    flow_label: Option<Spanned<FlowLabels>>,
}

impl Entries {
    /// Services by name count as numbers of the field that they stand for.
    fn add(&mut self, criteria: Spanned<Criteria>) {
        let (field, pairs) = criteria.value.in_field();
        append(&mut self.fields[field], Spanned::new(pairs, criteria.span));
    }
}

/// A rule behind the keyword that opens it. Errors: no level, an entry twice, a value that is none.
fn rule(cursor: &mut Cursor<'_>, start: Span) -> Result<DraftRule, Error> {
    let mut entries = Entries::default();
    loop {
        let at = cursor.span();
        if let Kind::Key(key) = cursor.kind() {
            entry(cursor, &mut entries, key)?;
        } else if let Some(labels) = cursor.flow_label()? {
            set_once(
                &mut entries.flow_label,
                labels,
                at,
                "flow-label",
                "qos-match-rule",
            )?;
        } else if let Some(criteria) = cursor.ulp()? {
            entries.add(criteria);
        } else {
            break;
        }
    }
    let end = cursor.expect(Kind::End(Block::Rule), ENTRIES)?.span;
    let problem = Problem::Missing {
        what: "qos-level-name",
        block: "qos-match-rule",
    };
    Ok(DraftRule {
        level: DraftLevel::Named(entries.level.ok_or_else(|| Error::new(start, problem))?),
        purpose: entries.purpose,
        source: entries.source,
        destination: entries.destination,
        fields: entries.fields.map(|pairs| pairs.map(to_ranges)),
        flow_label: entries.flow_label,
        origin: RuleOrigin::Written,
        span: start.to(end),
    })
}

/// What may stand in a rule, as messages list it.
const ENTRIES: &str = "use:, qos-class:, source:, destination:, service-id:, ulp:, pkey:, \
     qos-level-name:, flow-label: or end-qos-match-rule";

/// One entry. Errors: a keyword that does not belong into a rule, or comes a second time.
fn entry(cursor: &mut Cursor<'_>, entries: &mut Entries, key: Key) -> Result<(), Error> {
    const BLOCK: &str = "qos-match-rule";
    let at = cursor.span();
    if !belongs(key) {
        return Err(cursor.unexpected(ENTRIES));
    }
    cursor.bump();
    match key {
        Key::Use => {
            return set_once(
                &mut entries.purpose,
                cursor.description()?,
                at,
                "use",
                BLOCK,
            );
        }
        Key::LevelName => {
            return set_once(
                &mut entries.level,
                cursor.name()?,
                at,
                "qos-level-name",
                BLOCK,
            );
        }
        Key::Source => entries.source.extend(groups(cursor)?),
        Key::Destination => entries.destination.extend(groups(cursor)?),
        _ => {
            if let Some(field) = key.field() {
                append(&mut entries.fields[field], pairs(cursor, field)?);
            }
        }
    }
    Ok(())
}

/// Service ids may be ranges of ports behind a port space; P_Keys lose their membership bit.
/// QoS classes are taken as they are; a number that no request can name is told by lint.
fn pairs(cursor: &mut Cursor<'_>, field: Field) -> Result<Spanned<Vec<(u64, u64)>>, Error> {
    match field {
        Field::ServiceId => cursor.service_pairs(),
        Field::Pkey => cursor.pkey_pairs(),
        _ => cursor.pairs(),
    }
}

/// True for the keywords of rules, those of fields by the table.
const fn belongs(key: Key) -> bool {
    matches!(
        key,
        Key::Use | Key::LevelName | Key::Source | Key::Destination
    ) || key.field().is_some()
}

/// Groups by name; whether they exist is for linking.
/// Quoted or not; names with commas have to be quoted.
fn groups(cursor: &mut Cursor<'_>) -> Result<impl Iterator<Item = DraftGroup>, Error> {
    Ok(cursor.names()?.into_iter().map(DraftGroup::Named))
}
