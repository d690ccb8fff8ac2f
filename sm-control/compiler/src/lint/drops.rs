//! Paths that drop the SL of a level.
//!
//! A port answers "no records" for a path whose SL some hop maps to VL 15. Which levels a pair may
//! get follows from the rules, which SLs survive from its path class. Pairs are gone through as
//! kinds of ports: same rules, same partitions, same row or column of the path tables, same SLs at
//! the port itself. For each pair of kinds the SLs that rules admit and the path does not carry are
//! counted as often as there are pairs of ports.
//!
//! Worked example: 1,000 hosts in two groups on 50 switches are some 100 kinds on each side, so
//! 10,000 looks stand for a million pairs.
//!
//! The example in a finding is a real pair of ports, and the hop that drops its packets is found by
//! walking that one path.

use policy::lint::{Analysis, Finding, LintId};
use routing::reference::{Hop, walk};
use routing::{EndPortIx, Qos};
use sa_wire::SlVlMask;

use super::paths::{Ends, Key, Paths};
use super::{Subject, sl_span};

/// What was found for an SL.
/// Pairs of different ports, in both directions apart.
#[derive(Clone, Copy, Default)]
struct Dropped {
    pairs: u64,
    example: Option<(usize, usize)>,
}

/// SLs of levels that lead to VL 15.
///
/// Empty at once where every SL in use survives everywhere, which is nearly always.
pub(super) fn findings(
    subject: &Subject<'_>,
    analysis: &Analysis<'_>,
    paths: &Paths,
) -> Vec<Finding> {
    let sls = subject.sls().fold(0, |sls, (_, _, sl)| sls | 1_u16 << sl);
    if !paths.may_drop(sls) {
        return Vec::new();
    }
    let ports = subject.parts.facts.len();
    let class = |port| analysis.classes().of_port(port);
    let held = |port| subject.held.of_port(port);
    let edge = |port: usize| paths.edges.get(port);
    let out = |port| edge(port).map_or(0, |edge| edge.sl_out.0);
    let into = |port| edge(port).map_or(0, |edge| edge.sl_in.0);
    let mut sources = Ends::new(ports, |port| {
        (class(port), held(port), paths.row(port), out(port))
    });
    let targets = Ends::new(ports, |port| {
        (class(port), held(port), paths.column(port), into(port))
    });
    // What depends on the first two is found once for all that have them.
    sources.kinds.sort_unstable();
    let mut tally = Tally {
        paths,
        found: [None; 16],
        targets: &targets,
    };
    let same = |one: &(Key, _), other: &(Key, _)| (one.0.0, one.0.1) == (other.0.0, other.0.1);
    for group in sources.kinds.chunk_by(same) {
        let Some(((class, held, ..), _)) = group.first() else {
            continue;
        };
        let row = Row::new(subject, analysis, *class, *held);
        group.iter().for_each(|source| tally.add(&row, source));
    }
    tally.findings(subject)
}

/// What of a source depends on the rules that hold for it and on its partitions.
///
/// Kept only while the sources with this class and these partitions are gone through.
struct Row {
    /// By set of partitions: a port with it may talk to the source.
    shares: Vec<bool>,
    /// By class of the target, a bit for each SL of a level that it can get.
    admitted: Vec<u16>,
}

impl Row {
    /// What rules give this class of source, and whom it may talk to. Cost: levels times classes.
    fn new(subject: &Subject<'_>, analysis: &Analysis<'_>, class: usize, held: usize) -> Self {
        let sets = 0..subject.held.count();
        let mut admitted = vec![0; analysis.classes().count()];
        for (level, classes) in analysis.targets(class) {
            let level = subject.policy.level(level);
            let Some(sl) = level.sl.filter(|sl| **sl < 16) else {
                continue;
            };
            for (sls, admits) in admitted.iter_mut().zip(classes) {
                *sls |= u16::from(admits) << *sl;
            }
        }
        Self {
            shares: sets.map(|set| subject.held.share(held, set)).collect(),
            admitted,
        }
    }
}

/// Goes over pairs of kinds and counts.
struct Tally<'a> {
    /// Which class two rows and columns have.
    paths: &'a Paths,
    targets: &'a Ends,
    /// By SL.
    found: [Option<Dropped>; 16],
}

impl Tally<'_> {
    /// All pairs from the ports of one kind of source.
    fn add(&mut self, row: &Row, (source, from): &(Key, Vec<usize>)) {
        for (target, to) in &self.targets.kinds {
            // Bits of SLs: what is lost for these two kinds is lost for all their ports.
            let lost = self.lost(row, source, target);
            if lost == 0 {
                continue;
            }
            let pairs = from.len() * to.len();
            let mut left = lost;
            while left != 0 {
                if let Some(found) = self.found.get_mut(left.trailing_zeros() as usize) {
                    let found = found.get_or_insert(Dropped::default());
                    found.pairs += u64::try_from(pairs).unwrap_or(u64::MAX);
                    found.example = found.example.or_else(|| pair_of(from, to));
                }
                left &= left - 1;
            }
        }
        // A port and itself are no pair.
        for port in from {
            let target = self.targets.of_port.get(*port);
            let target = target.and_then(|number| self.targets.kinds.get(*number));
            let Some((target, _)) = target else { continue };
            let lost = self.lost(row, source, target);
            for (sl, found) in self.found.iter_mut().enumerate() {
                if let Some(found) = found.as_mut().filter(|_| lost >> sl & 1 == 1) {
                    found.pairs = found.pairs.saturating_sub(1);
                }
            }
        }
    }

    /// The SLs, of those that rules give to paths from here to there, that these drop.
    ///
    /// 0 also for ports that share no partition: they get no answer for that reason.
    fn lost(&self, row: &Row, source: &Key, target: &Key) -> u16 {
        let (_, _, from, out) = *source;
        let (class, held, to, into) = *target;
        let admitted = row.admitted.get(class).copied().unwrap_or(0);
        // One class for all pairs drops nothing, within switches or across.
        let Some(path) = self.paths.class(from, to, false) else {
            return 0;
        };
        // What the path carries, and what both ports let through.
        let lost = admitted & !(self.paths.carried(path).0 & out & into);
        if row.shares.get(held) == Some(&true) {
            lost
        } else {
            0
        }
    }

    /// One for each SL, at the first level that has it.
    fn findings(self, subject: &Subject<'_>) -> Vec<Finding> {
        let levels = subject.by_sl().into_iter();
        let found = levels.filter_map(|(sl, level)| {
            let found = self.found.get(usize::from(sl)).copied()??;
            let (pairs, example) = (found.pairs, found.example?);
            let same = subject.sls().filter(|(_, _, other)| *other == sl);
            let names: Vec<_> = same.map(|(_, it, _)| format!("'{}'", it.title())).collect();
            let sentence = format!(
                "SL {sl} of level {} is dropped (VL 15) on the paths of {pairs} pairs of ports, \
                 which get no answer: e.g. {}",
                names.join(", "),
                in_words(subject, example, sl)
            );
            let remedy = "choose an SL that these paths carry, or map this one to a data VL there";
            Some(Finding::new(
                LintId::SL_DROPPED,
                sl_span(level),
                sentence,
                remedy,
            ))
        });
        found.collect()
    }
}

/// Two different ports, if there are any.
fn pair_of(from: &[usize], to: &[usize]) -> Option<(usize, usize)> {
    let other = |from: &usize| Some((*from, *to.iter().find(|to| *to != from)?));
    from.iter().find_map(other)
}

/// A pair and where its path drops an SL.
///
/// The place is found by walking this one path.
fn in_words(subject: &Subject<'_>, (from, to): (usize, usize), sl: u8) -> String {
    let facts = &subject.parts.facts;
    let name = |port: usize| {
        facts
            .get(port)
            .map_or_else(String::new, policy::PortFacts::title)
    };
    let place = match place(subject, from, to, sl) {
        Some(Place::Port) => "at its own port".to_owned(),
        Some(Place::Switch(Hop {
            switch,
            input,
            output,
        })) => {
            let switch = &subject.parts.topology.switch(switch).description;
            format!("in {switch} from port {input} to port {output}")
        }
        None => "on the way".to_owned(),
    };
    format!("{} to {}, {place}", name(from), name(to))
}

/// Where on a path an SL is dropped.
enum Place {
    /// At the source itself.
    Port,
    Switch(Hop),
}

/// The first hop that drops the SL; none where the path has changed meanwhile.
fn place(subject: &Subject<'_>, from: usize, to: usize, sl: u8) -> Option<Place> {
    let (topology, routes) = (&subject.parts.topology, &subject.parts.routes);
    let source = EndPortIx(u32::try_from(from).ok()?);
    let lid = topology.end_ports.get(to)?.lid;
    let is_dropped = |carried: SlVlMask| carried.0 >> sl & 1 == 0;
    let is_switch = matches!(topology.end_port(source).attached, Some((_, 0)));
    if !is_switch && is_dropped(routes.end_port_sl2vl(source).carried()) {
        return Some(Place::Port);
    }
    // Without QoS, or the walk would end where the SL is dropped.
    let walked = walk(topology, routes, Qos::Off, source, lid).ok()?;
    let drops = |hop: &Hop| is_dropped(routes.sl2vl(hop.switch, hop.input, hop.output).carried());
    walked.hops.into_iter().find(drops).map(Place::Switch)
}
