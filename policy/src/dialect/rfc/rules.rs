//! `qos-match-rule`.
//!
//! Rules of RFC 0.1 refer to levels by `sn`, those of 0.2 by position, and either language may use
//! a name where it has one. A rule has exactly one level.
//!
//! ```text
//! qos-match-rule                    <qos-match-rule>
//!     qos-class: 7-9, 11              <sn>1</sn>
//!     destination: storage            <service>22,4719</service>
//!     qos-level-sn: 2                 <match-level>2</match-level>
//! end-qos-match-rule                </qos-match-rule>
//! ```

use sa_text::Spanned;

use super::Node;
use super::tags::Tag;
use super::value::Value;
use super::values::Reader;
use crate::dialect::pairs::{Pairs, append, to_ranges};
use crate::error::{Error, Problem, Remark};
use crate::link::draft::{DraftGroup, DraftLevel, DraftRule};
use crate::model::RuleOrigin;
use crate::model::criterion::{ByField, Field};
use crate::model::dialect::Dialect;
use crate::model::ranges::Ranges;

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
    let mut fields: ByField<Pairs> = ByField::default();
    for (entry, value) in block.entries()? {
        match entry.tag {
            Tag::Sn => sn(reader, value, last_sn)?,
            Tag::Use => purpose = reader.description(value)?,
            Tag::Source => source.extend(groups(reader, value)?),
            Tag::Destination => destination.extend(groups(reader, value)?),
            Tag::Ulp => {
                let (criteria, span) = reader.ulp(entry, value)?;
                let (field, pairs) = criteria.in_field();
                append(&mut fields[field], Spanned::new(pairs, span));
            }
            Tag::FlowLabel => flow_label = Some(reader.flow_labels(entry, value)?),
            // Fields by the table of criteria, so that a new one needs no line here.
            tag => {
                if let Some(field) = tag.field() {
                    append(&mut fields[field], pairs(reader, value, field)?);
                    continue;
                }
                // Two different keywords for the level are as much a repetition as one twice.
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
    let fields = fields.map(|pairs| pairs.map(to_ranges));
    // Only now: values of one field may stand in several entries.
    for field in Field::ALL {
        check(reader, fields[field].as_ref(), field);
    }
    Ok(DraftRule {
        purpose,
        source,
        destination,
        fields,
        level: level.ok_or_else(|| missing_level(reader.dialect, block))?,
        flow_label,
        origin: RuleOrigin::Written,
        span: block.span,
    })
}

/// Service ids may also be named by port space and ports.
fn pairs(
    reader: &mut Reader<'_>,
    value: &Value<'_>,
    field: Field,
) -> Result<Spanned<Vec<(u64, u64)>>, Error> {
    match field {
        Field::ServiceId => reader.service_pairs(value),
        _ => reader.pairs(value),
    }
}

/// A rule that gives no level.
/// Named by the word that the dialect has for it.
const fn missing_level(dialect: Dialect, block: &Node<'_>) -> Error {
    let what = match dialect {
        Dialect::Rfc01Xml => "match-level",
        _ => "qos-level-sn",
    };
    block.missing(what, "qos-match-rule")
}

/// An order label. The RFC does not say whether rules go by it or by the order of the file, which
/// counts here.
/// Told where it does not grow, since another reader may sort by it.
fn sn(reader: &mut Reader<'_>, value: &Value<'_>, last: &mut Option<u64>) -> Result<(), Error> {
    let sn = reader.number(value)?;
    if let Some(before) = last.replace(*sn).filter(|before| before >= &*sn) {
        let remark = Remark::SnOrder { sn: *sn, before };
        reader.diagnostics.add(sn.span, remark);
    }
    Ok(())
}

/// Groups by name; whether they exist is for linking.
fn groups(
    reader: &mut Reader<'_>,
    value: &Value<'_>,
) -> Result<impl Iterator<Item = DraftGroup>, Error> {
    Ok(reader.names(value)?.into_iter().map(DraftGroup::Named))
}

/// By RFC 0.1's number, RFC 0.2's position, or a name.
/// What the name or number means is found by linking, as levels may stand behind rules.
fn level_of(reader: &mut Reader<'_>, tag: Tag, value: &Value<'_>) -> Result<DraftLevel, Error> {
    Ok(match tag {
        Tag::MatchLevel => DraftLevel::Sn(reader.number(value)?),
        Tag::LevelSn => DraftLevel::Position(reader.number(value)?),
        _ => DraftLevel::Named(reader.name(value)?),
    })
}

/// Remarks on numbers that no request can name.
/// They stay in the rule, which then holds for nobody.
fn check(reader: &mut Reader<'_>, numbers: Option<&Spanned<Ranges>>, field: Field) {
    let Some(numbers) = numbers else { return };
    let most = field.last();
    if let Some((_, last)) = numbers.pairs().last().filter(|(_, last)| *last > most) {
        let remark = Remark::NoRequest {
            what: field.name(),
            value: *last,
            most,
        };
        reader.diagnostics.add(numbers.span, remark);
    }
}
