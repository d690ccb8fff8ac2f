//! LIDs that are kept for ports, and giving them back.
//!
//! A LID that is kept is one that nobody else gets. A port that comes back after its LID was given
//! back gets another one, so clients that remember it have to ask again: which is why nothing is
//! given back unasked, however long a port is away.
//!
//! | asked | refused where |
//! |---|---|
//! | one port GUID | the port is there, or has no LIDs |
//! | all ports that were not there for some time | never; those that are there stay |

use sa_compiler::pipeline::unix_time;
use sa_wire::Guid;

use super::super::Loader;
use crate::server::operators::control::Refusal;
use crate::server::operators::control::maintenance::{
    Forgotten, ForgottenReport, LidReport, LidRow, Report,
};
use crate::server::subnet_manager::maintenance::{LidEntry, guid};

impl Loader<'_> {
    /// All ports that have some. Errors: this SM manages nothing now.
    pub(super) fn lids(&mut self) -> Result<Report, Refusal> {
        let ports: Vec<LidRow> = self.entries()?.iter().map(row).collect();
        let present = ports.iter().filter(|port| port.present).count();
        Ok(Report::Lids(LidReport {
            away: ports.len() - present,
            present,
            ports,
        }))
    }

    /// Gives LIDs back. Errors: see the table above; the file cannot be written.
    pub(super) fn forget_lids(&mut self, wanted: &Forgotten) -> Result<Report, Refusal> {
        let entries = self.entries()?;
        let gone = chosen(&entries, wanted).map_err(Refusal::refused)?;
        let ports: Vec<Guid> = gone.iter().map(|entry| entry.guid).collect();
        if !ports.is_empty() {
            let forgotten = self.manager()?.forget_lids(&ports);
            forgotten.map_err(|error| Refusal::failed(format!("{error}; nothing is forgotten")))?;
        }
        Ok(Report::Forgotten(ForgottenReport {
            left: entries.len() - gone.len(),
            forgotten: gone.into_iter().map(row).collect(),
        }))
    }

    /// As the Subnet Manager has them. Errors: this SM manages nothing now.
    fn entries(&mut self) -> Result<Vec<LidEntry>, Refusal> {
        let entries = self.manager()?.lids();
        entries.map_err(|error| Refusal::refused(error.to_string()))
    }
}

/// Errors: in words.
fn chosen<'a>(entries: &'a [LidEntry], wanted: &Forgotten) -> Result<Vec<&'a LidEntry>, String> {
    match (&wanted.guid, wanted.absent_for_s) {
        (Some(word), None) => {
            let port = guid(word)
                .ok_or_else(|| format!("{word}: expected a port GUID, such as 0x100021"))?;
            let entry = entries.iter().find(|entry| entry.guid == port);
            let entry = entry.ok_or_else(|| {
                format!("port {port} has no LID; `sapphire lid list` shows who has")
            })?;
            // It uses them: the next sweep would give it the same ones again, or others.
            match entry.is_present {
                true => Err(format!("port {port} is there, and keeps its LID")),
                false => Ok(vec![entry]),
            }
        }
        // Those of which nobody knows since when they are away stay.
        (None, Some(least)) => {
            let is_old = |entry: &&LidEntry| absent_s(entry).is_some_and(|absent| absent >= least);
            Ok(entries.iter().filter(is_old).collect())
        }
        _ => Err("expected a port GUID, or for how long ports were away".to_owned()),
    }
}

/// None where it is there, or nobody knows.
fn absent_s(entry: &LidEntry) -> Option<u64> {
    let seen = entry.seen.filter(|_| !entry.is_present)?;
    Some(unix_time().saturating_sub(seen.at))
}

/// For an answer.
fn row(entry: &LidEntry) -> LidRow {
    LidRow {
        guid: entry.guid.to_string(),
        first: entry.range.first.get(),
        last: entry.range.last.get(),
        present: entry.is_present,
        last_seen_unix: entry.seen.filter(|seen| seen.ever).map(|seen| seen.at),
        absent_s: absent_s(entry),
    }
}
