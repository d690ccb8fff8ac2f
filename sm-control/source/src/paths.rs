//! Sampled paths asked of the SA and compared with a snapshot before it is published.
//!
//! Each [`Probe`] is sent to the SA and answered from the snapshot, as the same requester. What
//! comes of it:
//!
//! | SA | snapshot | |
//! |---|---|---|
//! | record | record | compared field by field |
//! | status | the same status | agrees: often no shared partition |
//! | record, status | another kind | a difference, `answer` |
//! | busy | any | says nothing, passed over |
//! | silence | any | an error of [`Ask`], which ends the comparison; where there was no time to wait, its end |
//!
//! A refused load keeps its differences. [`agrees`] asks those few again, and the load is tried
//! anew as soon as all of them come out as that snapshot had them: the SM has read its policy then.
//!
//! Why not the whole table: every pair of 48,000 end ports is 2 x 10^9 requests. Random pairs find
//! what many paths have in common, [`probes`](super::probes()) what single rules say.

use std::fmt;
use std::time::Duration;

use sa_answer::{asks_for_unknown_sl, whole};
use sa_compiler::path_json;
use sa_fabric::Subnet;
use sa_snapshot::Snapshot;
use sa_wire::Lid;
use sa_wire::path_record::PathRecord;
use sa_wire::request;
use sa_wire::umad::Slot;
use serde_json::Value;

use super::client::Hurried;
use super::probes::Probe;
use super::query::Querier;
use super::{Ask, SaReadError};

/// A pair of LIDs for which the SA and the snapshot have different answers.
///
/// Kept while the load that it refused may be tried again, some thousand at most (as many as there
/// were probes).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Source, any LID of its LMC range.
    pub slid: Lid,
    /// Destination, any LID of its LMC range.
    pub dlid: Lid,
    /// Source and destination in words, and what else was asked for.
    pub names: String,
    /// What was asked, to ask it again.
    pub probe: Probe,
    /// What the answers differ in: field, the SA's value, the snapshot's. Never empty.
    pub fields: Vec<(String, String, String)>,
    /// The snapshot's answer, for [`agrees`]: by then another snapshot may be in service.
    ours: Answer,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (slid, dlid, names) = (self.slid, self.dlid, &self.names);
        write!(f, "LID {slid} to LID {dlid} ({names}):")?;
        for (nth, (field, theirs, ours)) in self.fields.iter().enumerate() {
            let comma = if nth == 0 { "" } else { "," };
            write!(
                f,
                "{comma} {field} {theirs} at the SA, {ours} in the snapshot"
            )?;
        }
        Ok(())
    }
}

/// Asks the SA for paths, and gives the answers that are not those of the snapshot. Where the SA
/// shows the asking port no such path, it must share no partition with the ends, and the snapshot
/// must have nothing for it either. Errors: nobody answers.
pub fn compare_paths(
    ask: &mut dyn Ask,
    subnet: &Subnet,
    snapshot: &Snapshot,
    probes: &[Probe],
) -> Result<Vec<Difference>, SaReadError> {
    let mut differences = Vec::new();
    compare_into(&mut differences, ask, (subnet, snapshot), probes)?;
    Ok(differences)
}

/// The same of as many as there is time for. Errors: the way to the SA is gone.
pub(crate) fn compare_in_time(
    ask: &mut dyn Ask,
    subnet: &Subnet,
    snapshot: &Snapshot,
    probes: &[Probe],
) -> Result<Vec<Difference>, SaReadError> {
    let mut differences = Vec::new();
    let mut ask = Hurried::new(ask, HURRY);
    match compare_into(&mut differences, &mut ask, (subnet, snapshot), probes) {
        Err(error) if !error.is_silence() => Err(error),
        _ => Ok(differences),
    }
}

/// An SM that is at rest answers 100 questions in half of it.
const HURRY: Duration = Duration::from_millis(30);

/// What differs up to the first that nobody answers.
fn compare_into(
    differences: &mut Vec<Difference>,
    ask: &mut dyn Ask,
    (subnet, snapshot): (&Subnet, &Snapshot),
    probes: &[Probe],
) -> Result<(), SaReadError> {
    // Both sides must take the request for one of the same port: what may be seen depends on its
    // partitions.
    let requester = requester(ask, subnet);
    let mut querier = Querier::new(ask);
    for probe in probes {
        let mut slot = probe.request(requester);
        // Of a path whose SL is not known here nothing is said that could differ.
        if asks_for_unknown_sl(snapshot, &slot) {
            continue;
        }
        // `raw` writes the transaction into the slot, which the snapshot then answers as well.
        let theirs = Answer::of(Some(querier.raw(&mut slot.mad)?));
        let ours = Answer::of(whole::respond(snapshot, &slot as &Slot));
        let fields = theirs.differs_from(&ours);
        if !fields.is_empty() && !theirs.is_busy() {
            differences.push(Difference {
                slid: probe.slid,
                dlid: probe.dlid,
                names: names(subnet, probe),
                probe: *probe,
                fields,
                ours,
            });
        }
    }
    Ok(())
}

/// Whether the SA answers all of them as that snapshot did by now. Errors: nobody answers.
///
/// Stops at the first that does not: the usual case while the SM has not read its files.
pub fn agrees(
    ask: &mut dyn Ask,
    subnet: &Subnet,
    differences: &[Difference],
) -> Result<bool, SaReadError> {
    let requester = requester(ask, subnet);
    let mut querier = Querier::new(ask);
    for difference in differences {
        let mut slot = difference.probe.request(requester);
        let theirs = Answer::of(Some(querier.raw(&mut slot.mad)?));
        if !theirs.differs_from(&difference.ours).is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Ends by name of node and port, and what else was asked for: "H1 port 1 to H2 port 1, service id
/// 0x10".
fn names(subnet: &Subnet, probe: &Probe) -> String {
    let name = |lid: Lid| {
        let ends = subnet.end_ports();
        let end = subnet.by_lid(lid).and_then(|index| ends.get(index));
        end.map_or_else(String::new, |end| subnet.fabric().port_name(end.at))
    };
    let (from, to, more) = (name(probe.slid), name(probe.dlid), probe.in_words());
    let comma = if more.is_empty() { "" } else { ", " };
    format!("{from} to {to}{comma}{more}")
}

/// The port that asks; where that is not known, the SM's, which sees everything.
pub(super) fn requester(ask: &dyn Ask, subnet: &Subnet) -> Option<Lid> {
    // A ring has no LID, and a port may have got another one since the fabric was read.
    let known = ask.lid().filter(|lid| subnet.by_lid(*lid).is_some());
    let sm = || subnet.end_ports().get(subnet.sm());
    known.or_else(|| sm().map(|sm| sm.lid))
}

/// What a Get of a path gave.
///
/// Kept in memory for each difference, so the record is boxed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    /// Nothing, or less than the headers of a reply.
    Silence,
    /// The reason why there is no path; 0 for a success without record.
    Status(u16),
    /// The first record.
    Record(Box<PathRecord>),
}

impl Answer {
    fn of(reply: Option<Vec<u8>>) -> Self {
        let Some(reply) = reply else {
            return Self::Silence;
        };
        match request::parse(&reply) {
            Ok((0, records)) => match records.first() {
                Some(record) => Self::Record(Box::new(*record)),
                None => Self::Status(0),
            },
            Ok((status, _)) => Self::Status(status),
            Err(_) => Self::Silence,
        }
    }

    /// The SA has no time: that says nothing.
    fn is_busy(&self) -> bool {
        matches!(self, Self::Status(status) if *status == sa_wire::mad::Status::BUSY.get())
    }

    /// Field, this side's value and the other's, where they are not the same; empty where both
    /// agree. Answers of different kinds are one difference, named `answer`.
    fn differs_from(&self, ours: &Self) -> Vec<(String, String, String)> {
        let (Self::Record(theirs), Self::Record(ours)) = (self, ours) else {
            let (theirs, ours) = (self.in_words(), ours.in_words());
            let differs = theirs != ours;
            let field = ("answer".to_owned(), theirs, ours);
            return differs.then_some(field).into_iter().collect();
        };
        // By named fields and not by bytes: reserved bits say nothing of a path.
        let (theirs, ours) = (path_json::in_words(theirs), path_json::in_words(ours));
        let (Some(theirs), Some(ours)) = (theirs.as_object(), ours.as_object()) else {
            return Vec::new();
        };
        let shown = |value: Option<&Value>| match value {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => String::new(),
        };
        let fields = theirs
            .iter()
            .map(|(field, value)| (field.clone(), shown(Some(value)), shown(ours.get(field))));
        fields.filter(|(_, one, other)| one != other).collect()
    }

    /// What stands in the place of values where there is no record to compare.
    fn in_words(&self) -> String {
        match self {
            Self::Silence => "none".to_owned(),
            Self::Status(status) => format!("status 0x{status:04x}"),
            Self::Record(_) => "a path".to_owned(),
        }
    }
}
