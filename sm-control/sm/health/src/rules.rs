//! From when on something is a finding, and until when.
//!
//! Counts are of the last hour. A finding begins when its limit is reached, and is over when less than half of it is left, so that one
//! around the limit is not told again and again.
//!
//! Limits are the same for all links and no options: a good link of any speed has next to none of these, so what is to be told is which
//! links are not like the others. What depends on speed, symbol errors and waiting, is judged as a share of what the link carried.
//!
//! Errors that one cable makes show at both ends in different ways, so each finding says what the far end has counted of the same:
//!
//! | this end | far end | most likely |
//! |---|---|---|
//! | symbol errors | none | the fibre or pair towards this end, or this end's receiver |
//! | symbol errors | symbol errors | the cable as a whole, or its connectors |
//! | receive errors without symbol errors | discards | the far end itself |
//!
//! | what | limit | why |
//! |---|---|---|
//! | symbol errors | 1e-12 of the bits that the lanes signalled, and 10 errors | what the specification allows a link (vol. 2, 6.1) |
//! | link went down | 3 times | a restart of a host is one, or two |
//! | recoveries, integrity errors, buffer overruns | 3 | a good link has none |
//! | receive errors, VL15Dropped | 10 | one may be a restart |
//! | discards, but for those between the readings around a time when the link went down | 100 | a few are usual where there is congestion |
//! | wait | a tenth of what the link could have carried | a hint: PortXmitWait counts ticks of the device, taken for words of the link |
//! | relay, remote, constraint errors | 100 | a few are usual |

use std::time::Duration;

use crate::counters::Counter;
use crate::finding::{Finding, Findings, Place};
use crate::kind::Kind;
use crate::link::End;
use crate::seen::{Device, Port, Seen};
use crate::watch::{Added, Watch};

/// A port that is judged.
pub(crate) struct Case<'a> {
    /// Which one.
    pub(crate) place: Place,
    /// How its link runs.
    pub(crate) end: End,
    /// What it has counted.
    pub(crate) watch: &'a Watch,
    /// The far end, with what that has counted.
    pub(crate) peer: Option<(Place, Option<&'a Watch>)>,
    /// When it is judged.
    pub(crate) now: Duration,
}

/// Counters with a limit in an hour, and the words between number and time.
const COUNTED: [(Kind, &[Counter], u64, &str); 9] = [
    (
        Kind::IntegrityErrors,
        &[Counter::IntegrityErrors],
        3,
        "local integrity errors",
    ),
    (
        Kind::LinkRecoveries,
        &[Counter::LinkRecoveries],
        3,
        "recoveries of the link",
    ),
    (
        Kind::ReceiveErrors,
        &[Counter::ReceiveErrors],
        10,
        "packets received with errors",
    ),
    (
        Kind::BufferOverruns,
        &[Counter::BufferOverruns],
        3,
        "buffer overruns",
    ),
    (
        Kind::XmitDiscards,
        &[Counter::XmitDiscards],
        100,
        "packets dropped before they were sent",
    ),
    (
        Kind::Vl15Dropped,
        &[Counter::Vl15Dropped],
        10,
        "SMPs dropped",
    ),
    (
        Kind::RemotePhysicalErrors,
        &[Counter::RemotePhysicalErrors],
        100,
        "packets marked bad further up",
    ),
    (
        Kind::SwitchRelayErrors,
        &[Counter::SwitchRelayErrors],
        100,
        "packets that could not be forwarded",
    ),
    (
        Kind::ConstraintErrors,
        &[
            Counter::XmitConstraintErrors,
            Counter::ReceiveConstraintErrors,
        ],
        100,
        "packets of a wrong partition or kind",
    ),
];
/// Times in an hour.
const MOST_DOWNS: u64 = 3;
/// Errors by bits.
const MOST_BIT_ERRORS: f64 = 1e-12;
/// Fewer say nothing about a rate.
const FEWEST_SYMBOLS: u64 = 10;
/// Of the words that the link could have carried.
const MOST_WAIT: f64 = 0.1;

/// Judges what the port has counted. `added`: by the reading that was made just now.
pub(crate) fn counted(case: &Case<'_>, added: Option<&Added>, findings: &mut Findings) {
    for (kind, counters, limit, words) in COUNTED {
        let sum = |watch: &Watch| counters.iter().map(|it| watch.sum(*it, case.now)).sum();
        case.over(kind, limit, sum, words, findings);
    }
    flapping(case, findings);
    symbols(case, findings);
    full(case, findings);
    if let Some(added) = added {
        wait(case, added, findings);
    }
}

/// Judges how often the link went down.
pub(crate) fn flapping(case: &Case<'_>, findings: &mut Findings) {
    let downs = |watch: &Watch| watch.downs(case.now);
    case.over(Kind::Flapping, MOST_DOWNS, downs, "times down", findings);
}

/// Judges how a link runs, and tells it of the end that comes first.
pub(crate) fn link(
    seen: &Seen,
    device: &Device,
    port: &Port,
    now: Duration,
    findings: &mut Findings,
) {
    // One finding a link, not one for each end.
    let found = seen
        .peer(port)
        .filter(|(far, other)| (device.guid, port.number) <= (far.guid, other.number));
    for kind in [Kind::Width, Kind::Speed, Kind::Limited] {
        let (place, peer) = (device.place(Some(port.number)), found);
        // With one end alone it is not known what both can.
        let words = peer.and_then(|(_, other)| below(kind, &port.end, &other.end));
        match words {
            Some(what) => findings.set(Finding {
                kind,
                place,
                peer: peer.map(|(far, other)| far.place(Some(other.number))),
                what,
                count: None,
                peer_count: None,
                bit_error_rate: None,
                since: now,
            }),
            None => findings.clear((kind, device.guid, Some(port.number))),
        }
    }
}

/// What is below what it could be, in words.
fn below(kind: Kind, one: &End, other: &End) -> Option<String> {
    let (width, speed) = one.active?;
    let can = one.supported.and(other.supported);
    let may = can.and(one.enabled.and(other.enabled));
    let [is_narrow, is_slow] = [may.width() > Some(width), may.speed() > Some(speed)];
    let runs = |could: &dyn core::fmt::Display, ends: &str| {
        Some(format!(
            "runs at {width} {speed}, and both ends {ends} {could}"
        ))
    };
    match kind {
        Kind::Width if is_narrow => runs(&may.width()?, "can and may"),
        Kind::Speed if is_slow => runs(&may.speed()?, "can and may"),
        // Only where that is what holds it back.
        Kind::Limited if !is_narrow && can.width() > Some(width) => runs(&can.width()?, "could"),
        Kind::Limited if !is_slow && can.speed() > Some(speed) => runs(&can.speed()?, "could"),
        _ => None,
    }
}

/// The rate of wrong symbols, each of which is at least one wrong bit.
fn symbols(case: &Case<'_>, findings: &mut Findings) {
    let errors = |watch: &Watch| watch.sum(Counter::SymbolErrors, case.now);
    let count = errors(case.watch);
    let bits = case.end.bits_per_second() * case.watch.covered(case.now).as_secs_f64();
    let rate = ratio(count, bits);
    // The same errors are a smaller rate from minute to minute: one that stands may fall to half of the limit.
    let (few, most) = match findings.stands(case.key(Kind::SymbolErrors)) {
        true => (FEWEST_SYMBOLS / 2, MOST_BIT_ERRORS / 2.0),
        false => (FEWEST_SYMBOLS, MOST_BIT_ERRORS),
    };
    let Some(rate) = rate.filter(|rate| count >= few && *rate >= most) else {
        return findings.clear(case.key(Kind::SymbolErrors));
    };
    let what = format!(
        "{count} symbol errors in the last hour, a bit error rate of {rate:.1e} (at most {MOST_BIT_ERRORS:.0e})"
    );
    findings.set(Finding {
        bit_error_rate: Some(rate),
        ..case.finding(Kind::SymbolErrors, what, count, errors)
    });
}

/// How much of the time packets waited for credits.
fn wait(case: &Case<'_>, added: &Added, findings: &mut Findings) {
    // Of this interval alone: congestion of an hour ago is of no use to anybody.
    let words = case.end.words_per_second() * added.time.as_secs_f64();
    let waited = added.by.get(Counter::XmitWait as usize).copied().flatten();
    let share = waited.and_then(|waited| ratio(waited, words));
    let key = case.key(Kind::XmitWait);
    let limit = if findings.stands(key) {
        MOST_WAIT / 2.0
    } else {
        MOST_WAIT
    };
    match share.filter(|share| *share >= limit) {
        Some(share) => {
            // Ticks of a device may be shorter than assumed.
            let share = 100.0 * share.min(1.0);
            let what = format!("packets waited for credits in {share:.0} % of the time");
            findings.set(Finding {
                count: None,
                ..case.finding(Kind::XmitWait, what, 0, |_| 0)
            });
        }
        None => findings.clear(key),
    }
}

/// Counters that count no more.
fn full(case: &Case<'_>, findings: &mut Findings) {
    let reading = case.watch.last().map(|(_, reading)| *reading);
    // Words that were carried, where they have 32 bits, are full within seconds: that is how it is, and no finding.
    let judged = Counter::ALL
        .into_iter()
        .filter(|counter| *counter < Counter::XmitData);
    let full = judged.filter(|counter| reading.is_some_and(|it| it.is_full(*counter)));
    let names: Vec<&str> = full.map(Counter::name).collect();
    if names.is_empty() {
        return findings.clear(case.key(Kind::Full));
    }
    let what = format!("counters at their largest value: {}", names.join(", "));
    findings.set(Finding {
        count: None,
        ..case.finding(Kind::Full, what, 0, |_| 0)
    });
}

/// `None` where there is nothing to divide by.
#[expect(clippy::cast_precision_loss, reason = "a rate, for people")]
fn ratio(count: u64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| count as f64 / of)
}

impl Case<'_> {
    /// Of what may be found of this port.
    const fn key(&self, kind: Kind) -> crate::finding::Key {
        (kind, self.place.guid, self.place.port)
    }

    /// A finding where the sum of the port reaches the limit, until it is below half of it.
    fn over(
        &self,
        kind: Kind,
        limit: u64,
        sum: impl Fn(&Watch) -> u64,
        words: &str,
        findings: &mut Findings,
    ) {
        let count = sum(self.watch);
        let limit = match findings.stands(self.key(kind)) {
            true => limit.div_ceil(2),
            false => limit,
        };
        if count < limit {
            return findings.clear(self.key(kind));
        }
        let what = format!("{count} {words} in the last hour");
        findings.set(self.finding(kind, what, count, sum));
    }

    fn finding(
        &self,
        kind: Kind,
        what: String,
        count: u64,
        sum: impl Fn(&Watch) -> u64,
    ) -> Finding {
        // What the far end has not counted is not worth a word.
        let far = self.peer.as_ref().and_then(|(_, watch)| *watch);
        let peer_count = far.map(sum).filter(|count| *count > 0);
        let also = peer_count.map(|count| format!("; at the far end {count}"));
        Finding {
            kind,
            place: self.place.clone(),
            peer: self.peer.as_ref().map(|(place, _)| place.clone()),
            what: what + &also.unwrap_or_default(),
            count: Some(count),
            peer_count,
            bit_error_rate: None,
            since: self.now,
        }
    }
}
