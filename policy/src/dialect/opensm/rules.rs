//! `qos-match-rules`.

use sa_text::{Span, Spanned};

use super::cursor::{Cursor, set_once};
use super::token::{Block, Key, Kind};
use crate::dialect::pairs::{append, to_ranges};
use crate::error::{Error, Problem};
use crate::link::draft::{Draft, DraftGroup, DraftLevel, DraftRule};
use crate::model::RuleOrigin;
use crate::services::Criteria;
use sa_snapshot::model::FlowLabels;

/// The whole section; it may be empty.
pub(super) fn section(cursor: &mut Cursor<'_>, draft: &mut Draft) -> Result<(), Error> {
    cursor.bump();
    while let Some(start) = cursor.accept(Kind::Start(Block::Rule)) {
        let rule = rule(cursor, start.span)?;
        draft.check_rule(&rule)?;
        draft.rules.push(rule);
    }
    cursor.expect(
        Kind::End(Block::Rules),
        "qos-match-rule or end-qos-match-rules",
    )?;
    Ok(())
}

#[derive(Default)]
struct Entries {
    purpose: Option<Spanned<String>>,
    source: Vec<DraftGroup>,
    destination: Vec<DraftGroup>,
    qos_class: Option<Spanned<Vec<(u64, u64)>>>,
    service_id: Option<Spanned<Vec<(u64, u64)>>>,
    pkey: Option<Spanned<Vec<(u64, u64)>>>,
    level: Option<Spanned<String>>,
    flow_label: Option<Spanned<FlowLabels>>,
}

impl Entries {
    fn add(&mut self, criteria: Spanned<Criteria>) {
        match criteria.value {
            Criteria::ServiceIds(ids) => {
                append(&mut self.service_id, Spanned::new(ids, criteria.span));
            }
            Criteria::Pkeys(bases) => append(&mut self.pkey, Spanned::new(bases, criteria.span)),
        }
    }
}

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
        qos_class: entries.qos_class.map(to_ranges),
        tclass: None,
        service_id: entries.service_id.map(to_ranges),
        pkey: entries.pkey.map(to_ranges),
        flow_label: entries.flow_label,
        origin: RuleOrigin::Written,
        span: start.to(end),
    })
}

const ENTRIES: &str = "use:, qos-class:, source:, destination:, service-id:, ulp:, pkey:, \
     qos-level-name:, flow-label: or end-qos-match-rule";

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
        Key::QosClass => append(&mut entries.qos_class, cursor.pairs()?),
        Key::ServiceId => append(&mut entries.service_id, cursor.service_pairs()?),
        _ => append(&mut entries.pkey, cursor.pkey_pairs()?),
    }
    Ok(())
}

const fn belongs(key: Key) -> bool {
    matches!(
        key,
        Key::Use | Key::LevelName | Key::Source | Key::Destination
    ) || matches!(key, Key::QosClass | Key::ServiceId | Key::Pkey)
}

fn groups(cursor: &mut Cursor<'_>) -> Result<impl Iterator<Item = DraftGroup>, Error> {
    Ok(cursor.names()?.into_iter().map(DraftGroup::Named))
}
