//! `qos-match-rule`.

use sa_text::Spanned;

use super::Node;
use super::build::{append, to_ranges};
use super::tags::Tag;
use super::value::Value;
use super::values::Reader;
use crate::error::{Error, Problem};
use crate::link::draft::{DraftGroup, DraftLevel, DraftRule};
use crate::model::RuleOrigin;
use crate::model::dialect::Dialect;
use crate::model::ranges::Ranges;
use crate::services::Criteria;

type Pairs = Option<Spanned<Vec<(u64, u64)>>>;

/// Reads a rule; `last_sn` is that of the rule before.
///
/// Errors: no level, or two of them; a value that is none.
pub(super) fn rule(
    reader: &mut Reader<'_>,
    block: &Node<'_>,
    last_sn: &mut Option<u64>,
) -> Result<DraftRule, Error> {
    let (mut purpose, mut level, mut flow_label) = (None, None, None);
    let (mut source, mut destination) = (Vec::new(), Vec::new());
    let [mut class, mut tclass, mut service, mut pkey]: [Pairs; 4] = [const { None }; 4];
    for (entry, value) in block.entries()? {
        match entry.tag {
            Tag::Sn => sn(reader, value, last_sn)?,
            Tag::Use => purpose = reader.description(value)?,
            Tag::Source => source.extend(groups(reader, value)?),
            Tag::Destination => destination.extend(groups(reader, value)?),
            Tag::ServiceId => append(&mut service, reader.service_pairs(value)?),
            Tag::Ulp => match reader.ulp(entry, value)? {
                (Criteria::ServiceIds(ids), span) => append(&mut service, Spanned::new(ids, span)),
                (Criteria::Pkeys(bases), span) => append(&mut pkey, Spanned::new(bases, span)),
            },
            Tag::QosClass => append(&mut class, reader.pairs(value)?),
            Tag::TClass => append(&mut tclass, reader.pairs(value)?),
            Tag::FlowLabel => flow_label = Some(reader.flow_labels(entry, value)?),
            tag => {
                if level.is_some() {
                    let problem = Problem::Repeated {
                        keyword: "qos-level-sn or qos-level-name",
                        block: "qos-match-rule",
                    };
                    return Err(Error::new(entry.opening, problem));
                }
                level = Some(level_of(reader, tag, value)?);
            }
        }
    }
    let (qos_class, tclass) = (class.map(to_ranges), tclass.map(to_ranges));
    check(reader, qos_class.as_ref(), "QoS class", 4095);
    check(reader, tclass.as_ref(), "traffic class", 255);
    Ok(DraftRule {
        purpose,
        source,
        destination,
        qos_class,
        tclass,
        service_id: service.map(to_ranges),
        pkey: pkey.map(to_ranges),
        level: level.ok_or_else(|| missing_level(reader.dialect, block))?,
        flow_label,
        origin: RuleOrigin::Written,
        span: block.span,
    })
}

const fn missing_level(dialect: Dialect, block: &Node<'_>) -> Error {
    let what = match dialect {
        Dialect::Rfc01Xml => "match-level",
        _ => "qos-level-sn",
    };
    block.missing(what, "qos-match-rule")
}

/// An order label. The RFC does not say whether rules go by it or by the order of the file, which
/// counts here.
fn sn(reader: &mut Reader<'_>, value: &Value<'_>, last: &mut Option<u64>) -> Result<(), Error> {
    let sn = reader.number(value)?;
    if let Some(before) = last.replace(*sn).filter(|before| before >= &*sn) {
        reader.diagnostics.warn(
            sn.span,
            format!(
                "sn {} follows {before}; rules go by their order in the file",
                *sn
            ),
            "number the rules in ascending order",
        );
    }
    Ok(())
}

fn groups(
    reader: &mut Reader<'_>,
    value: &Value<'_>,
) -> Result<impl Iterator<Item = DraftGroup>, Error> {
    Ok(reader.names(value)?.into_iter().map(DraftGroup::Named))
}

fn level_of(reader: &mut Reader<'_>, tag: Tag, value: &Value<'_>) -> Result<DraftLevel, Error> {
    Ok(match tag {
        Tag::MatchLevel => DraftLevel::Sn(reader.number(value)?),
        Tag::LevelSn => DraftLevel::Position(reader.number(value)?),
        _ => DraftLevel::Named(reader.name(value)?),
    })
}

fn check(
    reader: &mut Reader<'_>,
    numbers: Option<&Spanned<Ranges>>,
    what: &'static str,
    most: u64,
) {
    let Some(numbers) = numbers else { return };
    if let Some((_, last)) = numbers.pairs().last().filter(|(_, last)| *last > most) {
        reader.diagnostics.error(
            numbers.span,
            format!("{what} {last} is over {most}; no request can name it"),
            "correct the number",
        );
    }
}
