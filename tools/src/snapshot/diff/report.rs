//! The two files, for programs and for people; what differs between them is [`Comparison`]'s.

use sa_compiler::snapshot_change::Comparison;
use sa_fabric::display::count;
use sa_snapshot::SnapshotInfo;
use serde::Serialize;

use crate::comparison;
use crate::json::Document;

/// One of the two files.
pub(super) struct Side {
    pub(super) path: String,
    pub(super) info: SnapshotInfo,
}

/// The same for programs.
#[derive(Debug, Serialize)]
pub(super) struct Report<'a> {
    old: File<'a>,
    new: File<'a>,
    /// The files are the same, byte for byte.
    same: bool,
    /// What they were made from and only one of them has, a line each.
    inputs_added: Vec<&'a str>,
    inputs_removed: Vec<&'a str>,
    #[serde(flatten)]
    found: &'a Comparison,
}

impl Document for Report<'_> {
    const SCHEMA: &'static str = "sapphire.snapshot-diff/1";
}

#[derive(Debug, Serialize)]
struct File<'a> {
    file: &'a str,
    digest: String,
    hosts: usize,
    switches: usize,
    /// None without a policy.
    rules: Option<u32>,
    path_classes: usize,
}

impl<'a> Report<'a> {
    pub(super) fn new([old, new]: &'a [Side; 2], found: &'a Comparison) -> Self {
        Self {
            old: old.file(),
            new: new.file(),
            same: old.info.digest == new.info.digest,
            inputs_added: only(new, old),
            inputs_removed: only(old, new),
            found,
        }
    }
}

/// For people.
pub(super) fn print([old, new]: &[Side; 2], found: &Comparison) {
    outln!("old          {}: {}", old.path, old.what());
    outln!("new          {}: {}", new.path, new.what());
    if old.info.digest == new.info.digest {
        outln!("same         byte for byte");
        return;
    }
    for (what, lines) in [("removed", only(old, new)), ("added", only(new, old))] {
        for line in lines {
            outln!("input        {what}: {line}");
        }
    }
    let but = (!found.pairs.complete).then_some("; --most-pairs sets how many");
    out!("{}", comparison::text(found, but.unwrap_or_default()));
}

impl Side {
    fn file(&self) -> File<'_> {
        File {
            file: &self.path,
            digest: format!("{:016x}", self.info.digest),
            hosts: self.info.hosts,
            switches: self.info.switches,
            rules: self.info.rules,
            path_classes: self.info.path_classes,
        }
    }

    /// In one line.
    fn what(&self) -> String {
        let rules = match self.info.rules {
            Some(rules) => count(rules, "rule", "rules"),
            None => "no policy".to_owned(),
        };
        format!(
            "{}, {}, {rules}, {}, xxh3:{:016x}",
            count(self.info.switches, "switch", "switches"),
            count(self.info.hosts, "host", "hosts"),
            count(self.info.path_classes, "path class", "path classes"),
            self.info.digest
        )
    }
}

/// Lines of the provenance that only one has.
fn only<'a>(this: &'a Side, that: &Side) -> Vec<&'a str> {
    let those: Vec<&str> = that.info.provenance.lines().collect();
    let these = this.info.provenance.lines();
    these.filter(|line| !those.contains(line)).collect()
}
