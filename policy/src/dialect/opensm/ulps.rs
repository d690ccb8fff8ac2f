//! `qos-ulps`: shorthand that becomes match rules behind all others.
//!
//! | line | becomes |
//! |---|---|
//! | `sdp : 1` | service ids 0x10000 to 0x1ffff |
//! | `iser, port-num 900 : 5` | service id 0x1060384 |
//! | `ipoib : 6` | P_Key 0x7fff, which must have two full members |
//! | `any, target-port-guid 0x1 : 8` | destination in a group of that GUID |
//! | `any, source-target-port-guid 0x1 : 9` | source *and* destination in it, as in OpenSM |
//! | `default : 0` | the default level, if no level is called so |
//!
//! Each line is a rule with a level of its own SL, so that nothing behind the parser knows
//! shorthand. Their order among themselves stays; against written rules they are last.

use sa_text::{Span, Spanned};

use super::cursor::{Cursor, out_of_range};
use super::token::{Block, Kind, Ulp};
use crate::error::Error;
use crate::link::draft::{Draft, DraftGroup, DraftLevel, DraftRule};
use crate::model::RuleOrigin;
use crate::model::criterion::{ByField, Field};
use crate::model::ranges::Ranges;
use crate::services::Criteria;

/// The whole section; it has one line at least.
pub(super) fn section(cursor: &mut Cursor<'_>, draft: &mut Draft) -> Result<(), Error> {
    cursor.bump();
    loop {
        let start = cursor.span();
        if let Kind::Ulp(ulp) = cursor.kind() {
            cursor.bump();
            line(cursor, draft, ulp, start)?;
        } else if let Some(criteria) = cursor.ulp_line()? {
            named(cursor, draft, criteria, start)?;
        } else {
            return Err(cursor.unexpected(LINES));
        }
        // Asked behind each line: a section without any is a syntax error in OpenSM.
        if cursor.accept(Kind::End(Block::Ulps)).is_some() {
            return Ok(());
        }
    }
}

/// What may begin a line, as messages list it.
const LINES: &str = "default:, any, sdp, rds, iser, srp, ipoib with their colon or \
     ', port-num', ', pkey', ', service-id', ', target-port-guid', ', source-port-guid', \
     ', source-target-port-guid'; or end-qos-ulps";

/// A line by one of OpenSM's own words. Of several `default` lines the last counts.
fn line(cursor: &mut Cursor<'_>, draft: &mut Draft, ulp: Ulp, start: Span) -> Result<(), Error> {
    if ulp == Ulp::Default {
        // No rule: it holds where all rules fail.
        draft.ulp_default = Some(sl(cursor)?);
        return Ok(());
    }
    let mut rule = empty(ulp, start);
    criteria(cursor, &mut rule, ulp)?;
    finish(cursor, draft, rule)
}

/// A line that begins with a name of the table; OpenSM knows the first few only.
/// It cannot be an IPoIB line, whose word OpenSM has.
fn named(
    cursor: &mut Cursor<'_>,
    draft: &mut Draft,
    criteria: Spanned<Criteria>,
    start: Span,
) -> Result<(), Error> {
    cursor.expect(Kind::Colon, "':' and the SL")?;
    let mut rule = empty(Ulp::AnyServiceId, start);
    let (field, pairs) = criteria.value.in_field();
    rule.fields[field] = Some(Spanned::new(Ranges::new(pairs), criteria.span));
    finish(cursor, draft, rule)
}

/// The SL behind the colon, which makes the line a rule.
fn finish(cursor: &mut Cursor<'_>, draft: &mut Draft, mut rule: DraftRule) -> Result<(), Error> {
    let sl = sl(cursor)?;
    rule.level = DraftLevel::Sl(sl);
    // The whole line, so that messages can show it.
    rule.span = rule.span.to(sl.span);
    draft.check_rule(&rule)?;
    draft.ulp_rules.push(rule);
    Ok(())
}

/// A rule that asks for nothing yet.
fn empty(ulp: Ulp, start: Span) -> DraftRule {
    DraftRule {
        purpose: None,
        source: Vec::new(),
        destination: Vec::new(),
        fields: ByField::default(),
        level: DraftLevel::Sl(Spanned::new(0, start)),
        flow_label: None,
        origin: RuleOrigin::Ulp {
            ipoib: matches!(ulp, Ulp::Ipoib | Ulp::IpoibPkey),
        },
        span: start,
    }
}

/// Errors: an SL over 15; here OpenSM checks it, in levels it does not.
fn sl(cursor: &mut Cursor<'_>) -> Result<Spanned<u8>, Error> {
    let sl = cursor.number_up_to(15, "SL")?;
    Ok(Spanned::new(sl.value.to_le_bytes()[0], sl.span))
}

/// What the line matches, up to the colon. Source: OpenSM `osm_qos_policy.h`.
fn criteria(cursor: &mut Cursor<'_>, rule: &mut DraftRule, ulp: Ulp) -> Result<(), Error> {
    let start = rule.span;
    let fixed = |low, high| Some(Spanned::new(Ranges::new([(low, high)]), start));
    match ulp {
        Ulp::Default => {}
        Ulp::Sdp => rule.fields[Field::ServiceId] = fixed(SDP_PORTS, SDP_PORTS + 0xffff),
        Ulp::Rds => rule.fields[Field::ServiceId] = fixed(RDS, RDS),
        Ulp::Iser => rule.fields[Field::ServiceId] = fixed(ISER, ISER),
        Ulp::Ipoib => rule.fields[Field::Pkey] = fixed(DEFAULT_PKEY, DEFAULT_PKEY),
        Ulp::SdpPort => rule.fields[Field::ServiceId] = Some(port_ids(cursor, SDP_PORTS)?),
        // Both are TCP ports of the connection manager.
        Ulp::RdsPort | Ulp::IserPort => {
            rule.fields[Field::ServiceId] = Some(port_ids(cursor, TCP_PORTS)?)
        }
        Ulp::AnyServiceId => {
            rule.fields[Field::ServiceId] = Some(listed(cursor, Cursor::service_ranges)?)
        }
        Ulp::AnyPkey | Ulp::IpoibPkey => {
            rule.fields[Field::Pkey] = Some(listed(cursor, Cursor::pkey_ranges)?);
        }
        Ulp::AnyTarget | Ulp::SrpTarget => {
            rule.destination
                .push(DraftGroup::Guids(listed(cursor, Cursor::ranges)?));
        }
        Ulp::AnySource => rule
            .source
            .push(DraftGroup::Guids(listed(cursor, Cursor::ranges)?)),
        Ulp::AnySourceTarget => {
            let guids = listed(cursor, Cursor::ranges)?;
            // Both ends, although the manual calls it "source or target": OpenSM joins them by
            // "and".
            rule.source.push(DraftGroup::Guids(guids.clone()));
            rule.destination.push(DraftGroup::Guids(guids));
        }
    }
    Ok(())
}

/// Reads the values of a line.
type Read<'a> = fn(&mut Cursor<'a>) -> Result<Spanned<Ranges>, Error>;

/// Values and the colon behind them.
fn listed<'a>(cursor: &mut Cursor<'a>, read: Read<'a>) -> Result<Spanned<Ranges>, Error> {
    let values = read(cursor)?;
    cursor.expect(Kind::Colon, "',' and more values, or ':' and the SL")?;
    Ok(values)
}

/// Service ids of these port numbers.
/// Errors: a port over 65,535, which would run into the next port space.
fn port_ids(cursor: &mut Cursor<'_>, base: u64) -> Result<Spanned<Ranges>, Error> {
    let ports = listed(cursor, Cursor::ranges)?;
    if let Some((_, high)) = ports.pairs().iter().find(|(_, high)| *high > 0xffff) {
        return Err(out_of_range(
            Spanned::new(*high, ports.span),
            "port number",
            0,
            0xffff,
        ));
    }
    let ids = ports
        .pairs()
        .iter()
        .map(|(low, high)| (base + low, base + high));
    Ok(Spanned::new(Ranges::new(ids), ports.span))
}

/// Service ids of SDP ports begin here.
const SDP_PORTS: u64 = 0x1_0000;
/// Service ids of TCP ports begin here.
const TCP_PORTS: u64 = 0x106_0000;
/// What OpenSM takes for the port of RDS.
const RDS: u64 = TCP_PORTS + 0x48ca;
/// iSER listens where iSCSI does.
const ISER: u64 = TCP_PORTS + 0x0cbc;
/// Base of the default partition.
const DEFAULT_PKEY: u64 = 0x7fff;
