//! What was seen, so that nobody takes a run for more than it was.

use std::collections::BTreeMap;
use std::fmt;

use sa_wire::umad::Slot;

use super::compare::Row;

#[derive(Default)]
pub(crate) struct Tally {
    requests: usize,
    with_records: usize,
    /// By attribute and method, then what came.
    seen: BTreeMap<(u16, u8), BTreeMap<String, usize>>,
    /// Replies that differ by these rows.
    pub(crate) explained: BTreeMap<Vec<Row>, usize>,
    pub(crate) different: Vec<String>,
}

impl Tally {
    pub(crate) fn note(&mut self, slot: &Slot, theirs: Option<&[u8]>) {
        let mad = &slot.mad;
        self.requests += 1;
        let what = match theirs {
            None => "silence".to_owned(),
            Some(reply) => {
                let status = u16::from_be_bytes([reply[4], reply[5]]);
                let is_success = status == 0 || reply[4..6] == mad[4..6];
                match (is_success, reply.len().saturating_sub(56) / 64) {
                    (false, _) => format!("0x{status:04x}"),
                    (true, _) if reply[44..46] == [0, 0] => "no records".to_owned(),
                    (true, count) => {
                        self.with_records += 1;
                        let is_one = reply[3] == 0x81;
                        let count = if is_one { 1 } else { count };
                        let more = if reply.len() == 256 && !is_one {
                            "+"
                        } else {
                            ""
                        };
                        format!("{count}{more} records")
                    }
                }
            }
        };
        let attribute = u16::from_be_bytes([mad[16], mad[17]]);
        let kind = self.seen.entry((attribute, mad[3])).or_default();
        *kind.entry(what).or_default() += 1;
    }

    pub(crate) const fn requests(&self) -> usize {
        self.requests
    }

    pub(crate) const fn with_records(&self) -> usize {
        self.with_records
    }

    /// How often OpenSM said this to any request.
    pub(crate) fn count(&self, what: &str) -> usize {
        let kinds = self.seen.values();
        kinds.filter_map(|kind| kind.get(what)).sum()
    }

    /// Rows without which some reply would not be explained.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let mut rows: Vec<_> = self.explained.keys().flatten().copied().collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (requests, with_records) = (self.requests, self.with_records);
        writeln!(
            f,
            "{requests} requests, {with_records} replies with records"
        )?;
        for ((attribute, method), kinds) in &self.seen {
            write!(f, "  attribute 0x{attribute:04x} method 0x{method:02x}:")?;
            for (what, count) in kinds {
                write!(f, " {count} x {what};")?;
            }
            writeln!(f)?;
        }
        for (rows, count) in &self.explained {
            let rows: Vec<_> = rows.iter().map(Row::to_string).collect();
            writeln!(
                f,
                "  {count} differ by {} of docs/deviations.md",
                rows.join(" and ")
            )?;
        }
        write!(f, "  {} differ otherwise", self.different.len())
    }
}
