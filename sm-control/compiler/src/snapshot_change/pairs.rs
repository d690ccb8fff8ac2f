//! What both snapshots answer, pair by pair, and how the differences are counted.
//!
//! ```text
//!  pairs 0..32768   32768..65536   ..      a block is counted by one core
//!        └────────────┴── merged in this order ──> stop? ──> the next round
//! ```
//!
//! Blocks have one size and are merged in their order, so the result does not depend on how many cores there are. Between two rounds,
//! some hundredths of a second, whoever watches may say that it is enough.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::ops::Range;
use std::thread;

use sa_snapshot::Snapshot;
use sa_wire::Guid;

use super::ask::{Asker, Found, Terms, levels};
use super::spread::Spread;
use super::{Asked, Stopped};

/// Before and now; none for no path.
pub type Way = (Option<Terms>, Option<Terms>);

/// Names of levels before and now; none without a policy.
type LevelWay = (Option<String>, Option<String>);

/// How many pairs change in one way, and one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Of those that were asked about.
    pub pairs: u64,
    /// Source and destination, the first by GUID.
    pub example: (Guid, Guid),
}

/// Pairs that differ, by what differs. A pair counts in each that holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Another answer: any of those below but hops and levels.
    pub changed: u64,
    /// No path any more.
    pub lost: u64,
    /// A path now.
    pub gained: u64,
    /// A path in both, with another SL; likewise the others.
    pub sl: u64,
    /// MTU.
    pub mtu: u64,
    /// Rate.
    pub rate: u64,
    /// Packet life time.
    pub packet_life: u64,
    /// P_Key.
    pub pkey: u64,
    /// Traffic class.
    pub traffic_class: u64,
    /// Flow label.
    pub flow_label: u64,
    /// Switches on the path, where both snapshots tell.
    pub hops: u64,
    /// QoS level, by name.
    pub level: u64,
}

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Ordered pairs of hosts that both snapshots have.
    pub all: u64,
    /// Those that were asked about.
    pub asked: u64,
    /// Both snapshots tell how long paths are.
    pub tells_hops: bool,
    /// Of those that were asked about.
    pub counts: Counts,
    /// Those whose terms differ, by how.
    pub ways: BTreeMap<Way, Counted>,
    /// Those with another answer or another level, by levels.
    pub levels: BTreeMap<LevelWay, Counted>,
}

/// Pairs of a block.
const BLOCK: u64 = 1 << 15;

/// Ways that are kept, of terms and of levels; what comes later is in the counts alone. A fabric has some; every pair in a partition
/// of its own would make as many as there are pairs.
const MOST_WAYS: usize = 4096;

/// Places of levels before and now, in one numbering of names.
type Levels = (Option<u32>, Option<u32>);

/// What was counted of some pairs.
#[derive(Default)]
struct Tally {
    counts: Counts,
    ways: BTreeMap<Way, Counted>,
    levels: BTreeMap<Levels, Counted>,
}

struct Comparison<'a> {
    askers: [Asker<'a>; 2],
    spread: Spread,
    /// By place in each snapshot: the place of the name among `names`.
    numbers: [Vec<u32>; 2],
    tells_hops: bool,
}

impl Pairs {
    /// Errors: it was stopped.
    pub(super) fn compare(
        (old, new): (&Snapshot, &Snapshot),
        asked: &Asked,
    ) -> Result<Self, Stopped> {
        let (names, numbers) = numbered([levels(old), levels(new)]);
        let tells_hops = old.tells_lengths() && new.tells_lengths();
        let comparison = Comparison {
            askers: [old, new].map(|snapshot| Asker::new(snapshot, &asked.numbers)),
            spread: Spread::new((old, new), asked.most),
            numbers,
            tells_hops,
        };
        let tally = comparison.all(asked)?;
        let name = |number: Option<u32>| {
            let name = names.get(usize::try_from(number?).ok()?);
            name.map(|name| (*name).to_owned())
        };
        let levels = tally.levels.into_iter();
        Ok(Self {
            all: comparison.spread.all,
            asked: comparison.spread.asked(),
            tells_hops,
            counts: tally.counts,
            ways: tally.ways,
            levels: levels
                .map(|((old, new), counted)| ((name(old), name(new)), counted))
                .collect(),
        })
    }
}

/// All names, each once, and for each snapshot their places by level.
fn numbered(levels: [Vec<&str>; 2]) -> (Vec<&str>, [Vec<u32>; 2]) {
    let mut names: Vec<&str> = levels.iter().flatten().copied().collect();
    names.sort_unstable();
    names.dedup();
    let place = |name: &&str| {
        let place = names.binary_search(name).unwrap_or_default();
        u32::try_from(place).unwrap_or_default()
    };
    let numbers = levels.map(|levels| levels.iter().map(place).collect());
    (names, numbers)
}

impl Comparison<'_> {
    /// By all cores. Errors: it was stopped.
    fn all(&self, asked: &Asked) -> Result<Tally, Stopped> {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let count = self.spread.asked();
        let blocks = (0..count).step_by(usize::try_from(BLOCK).unwrap_or(usize::MAX));
        let blocks: Vec<Range<u64>> = blocks.map(|from| from..count.min(from + BLOCK)).collect();
        let mut all = Tally::default();
        for round in blocks.chunks(cores) {
            if asked.watch.is_stopped() {
                return Err(Stopped);
            }
            for part in self.round(round) {
                all.add(part);
            }
            let done = round.last().map_or(count, |block| block.end);
            asked.watch.reach(done, count);
        }
        Ok(all)
    }

    /// A block each; here where the system has no thread to give.
    fn round(&self, blocks: &[Range<u64>]) -> Vec<Tally> {
        let (first, others) = match blocks.split_first() {
            Some(split) => split,
            None => return Vec::new(),
        };
        thread::scope(|scope| {
            let started: Vec<_> = others
                .iter()
                .map(|block| {
                    let work = || self.block(block);
                    (block, thread::Builder::new().spawn_scoped(scope, work).ok())
                })
                .collect();
            let mut tallies = vec![self.block(first)];
            tallies.extend(started.into_iter().map(|(block, thread)| {
                match thread {
                    // A thread that panicked has had its word; the others' counts would be wrong without it.
                    Some(thread) => thread
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                    None => self.block(block),
                }
            }));
            tallies
        })
    }

    fn block(&self, numbers: &Range<u64>) -> Tally {
        let mut tally = Tally::default();
        for number in numbers.clone() {
            let Some((source, destination)) = self.spread.nth(number) else {
                continue;
            };
            let [old, new] = [0, 1].map(|side| {
                let found = self.askers[side].ask(source.ends[side], destination.ends[side]);
                self.numbered(side, found)
            });
            if old != new {
                let example = (source.guid, destination.guid);
                tally.note(&old, &new, Counted { pairs: 1, example });
            }
        }
        tally
    }

    /// With what can be compared: lengths where both tell them, the names of levels in place of their places.
    fn numbered(&self, side: usize, found: Found) -> Found {
        let numbers = &self.numbers[side];
        let number = |place: u32| numbers.get(usize::try_from(place).ok()?).copied();
        Found {
            hops: found.hops.filter(|_| self.tells_hops),
            level: found.level.and_then(number),
            ..found
        }
    }
}

impl Tally {
    /// A pair that differs.
    fn note(&mut self, old: &Found, new: &Found, one: Counted) {
        let counts = Counts::of(old, new);
        if old.terms != new.terms {
            add(&mut self.ways, (old.terms, new.terms), one);
        }
        if counts.changed + counts.level > 0 {
            add(&mut self.levels, (old.level, new.level), one);
        }
        self.counts.add(&counts);
    }

    fn add(&mut self, other: Self) {
        self.counts.add(&other.counts);
        for (way, counted) in other.ways {
            add(&mut self.ways, way, counted);
        }
        for (way, counted) in other.levels {
            add(&mut self.levels, way, counted);
        }
    }
}

/// Another way is taken where there is room.
fn add<K: Ord>(ways: &mut BTreeMap<K, Counted>, way: K, counted: Counted) {
    if let Some(sum) = ways.get_mut(&way) {
        sum.pairs += counted.pairs;
        sum.example = sum.example.min(counted.example);
    } else if ways.len() < MOST_WAYS {
        ways.insert(way, counted);
    }
}

impl Counts {
    /// Of one pair.
    fn of(old: &Found, new: &Found) -> Self {
        let differ = |is_so: bool| u64::from(is_so);
        let mut counts = Self {
            changed: differ(old.terms != new.terms || old.flow_label != new.flow_label),
            level: differ(old.level != new.level),
            hops: 0,
            ..Self::default()
        };
        match (&old.terms, &new.terms) {
            (Some(_), None) => counts.lost = 1,
            (None, Some(_)) => counts.gained = 1,
            (None, None) => {}
            (Some(was), Some(is)) => {
                counts.sl = differ(was.sl != is.sl);
                counts.mtu = differ(was.mtu != is.mtu);
                counts.rate = differ(was.rate != is.rate);
                counts.packet_life = differ(was.packet_life != is.packet_life);
                counts.pkey = differ(was.pkey != is.pkey);
                counts.traffic_class = differ(was.tclass != is.tclass);
                counts.flow_label = differ(old.flow_label != new.flow_label);
                counts.hops = differ(old.hops != new.hops);
            }
        }
        counts
    }

    const fn add(&mut self, other: &Self) {
        self.changed += other.changed;
        self.lost += other.lost;
        self.gained += other.gained;
        self.sl += other.sl;
        self.mtu += other.mtu;
        self.rate += other.rate;
        self.packet_life += other.packet_life;
        self.pkey += other.pkey;
        self.traffic_class += other.traffic_class;
        self.flow_label += other.flow_label;
        self.hops += other.hops;
        self.level += other.level;
    }
}
