//! A difference for people.

use sa_fabric::display::{at_most, count, first_few};
use sa_snapshot::SnapshotInfo;

use super::Difference;
use super::names::Names;
use super::report::{Transition, Words};

/// One of the two files.
pub(super) struct Side {
    pub(super) path: String,
    pub(super) info: SnapshotInfo,
}

/// All that there is to say.
pub(super) struct Shown<'a> {
    /// Old, new.
    pub(super) sides: &'a [Side; 2],
    pub(super) found: &'a Difference,
    pub(super) names: &'a Names,
}

impl Shown<'_> {
    /// For people: lists are cut.
    pub(super) fn print(&self) {
        let [old, new] = self.sides;
        outln!("old          {}: {}", old.path, old.what());
        outln!("new          {}: {}", new.path, new.what());
        if old.info.digest == new.info.digest {
            outln!("same         byte for byte");
            return;
        }
        for (what, line) in [("removed", only(old, new)), ("added", only(new, old))]
            .iter()
            .flat_map(|(what, lines)| lines.iter().map(move |line| (what, line)))
        {
            outln!("input        {what}: {line}");
        }
        for (name, ports) in self.found.ports.lists() {
            if !ports.is_empty() {
                let few = self.names_of(ports.iter());
                outln!("{name:<18} {}: {}", ports.len(), first_few(&few));
            }
        }
        self.print_lids();
        for (what, levels) in [
            ("levels_removed", &self.found.levels.removed),
            ("levels_added", &self.found.levels.added),
        ] {
            if !levels.is_empty() {
                outln!("{what:<18} {}", first_few(levels));
            }
        }
        self.print_pairs();
    }

    fn print_lids(&self) {
        let lids = &self.found.ports.lids;
        if lids.is_empty() {
            return;
        }
        let words = lids.iter().map(|(port, old, new)| {
            let port = self.names.of(*port);
            format!("{port}: LID {old}, {new} now")
        });
        outln!("lid_changes        {}", lids.len());
        for line in at_most(words, "port", "ports") {
            outln!("                   {line}");
        }
    }

    fn print_pairs(&self) {
        let counts = self.pair_counts();
        let (changed, asked) = (counts.changed, counts.asked);
        outln!("pairs              {changed} of {asked} get another answer");
        if !counts.complete {
            outln!(
                "                   asked about {asked} of {}; --most-pairs sets how many",
                counts.all
            );
        }
        for (what, number) in [
            ("no path any more", counts.lost),
            ("a path now", counts.gained),
            ("another SL", counts.sl),
            ("another MTU", counts.mtu),
            ("another rate", counts.rate),
            ("another packet life", counts.packet_life),
            ("another P_Key", counts.pkey),
        ] {
            if number > 0 {
                outln!("                   {number}: {what}");
            }
        }
        for line in at_most(self.transitions().map(|it| it.text()), "change", "changes") {
            outln!("{line}");
        }
    }
}

impl Transition {
    /// Two lines: what changes, and for whom, for example.
    fn text(&self) -> String {
        let words = |terms: &Option<Words>| {
            let words = terms.as_ref().map(Words::text);
            words.unwrap_or_else(|| "no path".to_owned())
        };
        format!(
            "{:<18} {} -> {}\n                   such as {} to {}",
            count(self.pairs, "pair", "pairs"),
            words(&self.old),
            words(&self.new),
            self.source,
            self.destination
        )
    }
}

impl Side {
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
pub(super) fn only<'a>(this: &'a Side, that: &Side) -> Vec<&'a str> {
    let those: Vec<&str> = that.info.provenance.lines().collect();
    let these = this.info.provenance.lines();
    these.filter(|line| !those.contains(line)).collect()
}
