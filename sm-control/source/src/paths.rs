//! Sampled paths asked of the SA and compared with a snapshot before it is published.

use std::fmt;

use sa_answer::whole;
use sa_compiler::path_json;
use sa_fabric::Subnet;
use sa_snapshot::Snapshot;
use sa_wire::path_record::PathRecord;
use sa_wire::request;
use sa_wire::umad::Slot;
use serde_json::Value;

use super::probes::Probe;
use super::query::Querier;
use super::{Ask, SaReadError};

/// A pair of LIDs for which the SA and the snapshot have different answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Source.
    pub slid: u16,
    /// Destination.
    pub dlid: u16,
    /// Source and destination in words, and what else was asked for.
    pub names: String,
    /// What was asked.
    pub probe: Probe,
    /// What the answers differ in: field, the SA's value, the snapshot's.
    pub fields: Vec<(String, String, String)>,
    /// The snapshot's answer.
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
    let requester = requester(ask, subnet);
    let mut querier = Querier::new(ask);
    let mut differences = Vec::new();
    for probe in probes {
        let mut slot = probe.request(requester);
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
    Ok(differences)
}

/// Whether the SA answers all of them as that snapshot did by now. Errors: nobody answers.
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

fn names(subnet: &Subnet, probe: &Probe) -> String {
    let name = |lid| {
        let ends = subnet.end_ports();
        let end = subnet.by_lid(lid).and_then(|index| ends.get(index));
        end.map_or_else(String::new, |end| subnet.fabric().port_name(end.at))
    };
    let (from, to, more) = (name(probe.slid), name(probe.dlid), probe.in_words());
    let comma = if more.is_empty() { "" } else { ", " };
    format!("{from} to {to}{comma}{more}")
}

/// The port that asks; where that is not known, the SM's, which sees everything.
fn requester(ask: &dyn Ask, subnet: &Subnet) -> u16 {
    let known = Some(ask.lid()).filter(|lid| subnet.by_lid(*lid).is_some());
    let sm = || subnet.end_ports().get(subnet.sm());
    known.unwrap_or_else(|| sm().map_or(0, |sm| sm.lid.get()))
}

/// What a Get of a path gave.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    Silence,
    Status(u16),
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

    fn differs_from(&self, ours: &Self) -> Vec<(String, String, String)> {
        let (Self::Record(theirs), Self::Record(ours)) = (self, ours) else {
            let (theirs, ours) = (self.in_words(), ours.in_words());
            let differs = theirs != ours;
            let field = ("answer".to_owned(), theirs, ours);
            return differs.then_some(field).into_iter().collect();
        };
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

    fn in_words(&self) -> String {
        match self {
            Self::Silence => "none".to_owned(),
            Self::Status(status) => format!("status 0x{status:04x}"),
            Self::Record(_) => "a path".to_owned(),
        }
    }
}
