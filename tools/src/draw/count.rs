//! How many paths cross each cable, counted along the tables.
//!
//! It counts paths and no traffic: from each source to each destination, a path counts on every
//! cable between switches that it crosses, on the VL that it has there, as often as its source
//! weighs. So the cable with the most is the one that all-to-all traffic fills first.
//!
//! Cost: sources times destinations times the length of a path. For one destination the tables are
//! looked up once per switch, and all sources then follow these; destinations are shared out over
//! the cores.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread;

use routing::{Peer, Routes, SwitchIx, Topology};
use sa_wire::{Lid, Sl};

/// VL 15 is never a path's, but an SL2VL entry of it means that packets are dropped, so there is a
/// place for it.
pub(crate) const VLS: usize = 16;

/// Paths by VL.
///
/// Index: VL.
pub(crate) type ByVl = [u32; VLS];

/// Paths that leave by each cable between switches, by VL.
/// A count fits 32 bits: 49,151 LIDs squared do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Where a cable's count is.
    places: Places,
    /// By place.
    counts: Vec<ByVl>,
}

/// Where the count of a cable is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Places {
    /// By switch: place of its port 0 in `of_port`.
    first: Vec<usize>,
    /// By port of all switches: place in the counts; none where no cable to a switch is.
    of_port: Vec<Option<u32>>,
    /// Cables, each counted from both ends.
    cables: u32,
}

/// Packets that one switch sends out alike.
///
/// Hosts of one switch differ by the port that they come in by, on which SL2VL depends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source {
    /// Where the packets enter the tables.
    pub(crate) switch: SwitchIx,
    /// The port by which they come into the switch; 0 for its own.
    pub(crate) input: u8,
    /// Whose LID they come from, on which their SL may depend.
    pub(crate) lid: Lid,
}

/// Where paths end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Destination {
    /// At which paths end.
    pub(crate) switch: SwitchIx,
    /// By which tables are looked up.
    pub(crate) lid: Lid,
}

impl Counts {
    /// Follows the tables from every source to every destination at another switch, on the SL of a
    /// pair for which the policy says nothing. Shape of `sources`: those of a switch together.
    /// Blocks until all is counted.
    pub(crate) fn measure(
        topology: &Topology,
        routes: &Routes,
        sources: &[Source],
        destinations: &[Destination],
    ) -> Self {
        let places = Places::of(topology);
        let work = Work {
            topology,
            routes,
            sources,
            places: &places,
        };
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        // Whole destinations: what is looked up for one is of no use to another.
        let share = destinations.len().div_ceil(threads).max(1);
        let counts = thread::scope(|scope| {
            let shares = destinations.chunks(share);
            let running: Vec<_> = shares
                .map(|share| scope.spawn(move || work.count(share)))
                .collect();
            // A share that is lost would make a picture that is wrong and does not look it.
            let finished = running
                .into_iter()
                .map(|it| it.join().unwrap_or_else(|panic| resume_unwind(panic)));
            finished.fold(places.nothing(), add)
        });
        Self { places, counts }
    }

    /// Paths that leave a switch by a port; all 0 for a port without a cable to a switch.
    pub(crate) fn leaving(&self, switch: SwitchIx, port: u8) -> ByVl {
        let place = self.places.find(switch, port);
        let counts = place.and_then(|place| self.counts.get(place));
        counts.copied().unwrap_or([0; VLS])
    }
}

// Flat lists and not a map: the count of a hop is one addition, many millions of times.
impl Places {
    /// Cables get their places in the order of switches and ports.
    fn of(topology: &Topology) -> Self {
        let (mut first, mut of_port, mut cables) = (Vec::new(), Vec::new(), 0);
        for switch in &topology.switches {
            first.push(of_port.len());
            for port in &switch.ports {
                let is_cable = matches!(port.peer, Peer::Switch { .. });
                of_port.push(is_cable.then_some(cables));
                cables += u32::from(is_cable);
            }
        }
        Self {
            first,
            of_port,
            cables,
        }
    }

    /// Ports beyond the last of a switch are asked for by tables that came from elsewhere; the
    /// caller has looked at the peer before.
    fn find(&self, switch: SwitchIx, port: u8) -> Option<usize> {
        let first = self.first.get(switch.index())?;
        let place = self.of_port.get(first + usize::from(port))?;
        place.map(|place| place as usize)
    }

    /// All counts at 0.
    fn nothing(&self) -> Vec<ByVl> {
        vec![[0; VLS]; self.cables as usize]
    }
}

/// What all threads read; copied, as it is four references.
#[derive(Clone, Copy)]
struct Work<'a> {
    topology: &'a Topology,
    routes: &'a Routes,
    sources: &'a [Source],
    places: &'a Places,
}

/// How a switch forwards to the destination at hand.
/// Computed once per switch and destination, followed once per source.
#[derive(Clone, Copy)]
struct Way {
    /// The port that it leaves by.
    output: u8,
    /// Place in the counts.
    place: usize,
    /// The switch behind that port.
    next: SwitchIx,
    /// By which port packets come in there, on which SL2VL depends.
    next_input: u8,
}

impl Work<'_> {
    /// Counts for some destinations, over all sources.
    ///
    /// Cost: sources of other switches, times hops.
    fn count(self, destinations: &[Destination]) -> Vec<ByVl> {
        let mut counts = self.places.nothing();
        for destination in destinations {
            let ways = self.ways(destination.lid);
            // Hosts of a switch send alike on one SL, so that the way is followed once for all of them.
            let of_switches = self.sources.chunk_by(|one, two| one.switch == two.switch);
            for sources in of_switches {
                if sources.first().map(|it| it.switch) == Some(destination.switch) {
                    continue;
                }
                for (sl, (source, weight)) in self.by_sl(sources, destination.lid) {
                    self.follow(&ways, source, sl, weight, &mut counts);
                }
            }
        }
        counts
    }

    /// The SLs that sources of one switch have to a destination: one of the sources, and how many.
    fn by_sl(self, sources: &[Source], to: Lid) -> impl Iterator<Item = (Sl, (Source, u32))> {
        let mut by_sl: [Option<(Sl, (Source, u32))>; 16] = [None; 16];
        for source in sources {
            // Nobody knows on which SL such a pair would send, so it does not.
            let Some(sl) = self.routes.path_sl(Sl::default(), source.lid, to) else {
                continue;
            };
            if let Some(place) = by_sl.get_mut(usize::from(sl.get())) {
                place.get_or_insert((sl, (*source, 0))).1.1 += 1;
            }
        }
        by_sl.into_iter().flatten()
    }

    /// By switch: the way on; none at the destination and where there is no path.
    fn ways(self, to: Lid) -> Vec<Option<Way>> {
        let switches = self.topology.switch_ixs();
        switches.map(|switch| self.way(switch, to)).collect()
    }

    /// None where the table has no entry, or leads to no switch.
    fn way(self, switch: SwitchIx, to: Lid) -> Option<Way> {
        let output = self.routes.output(switch, to)?;
        let Peer::Switch { switch: next, port } = self.topology.peer(switch, output) else {
            return None;
        };
        Some(Way {
            output,
            place: self.places.find(switch, output)?,
            next,
            next_input: port,
        })
    }

    /// Adds paths to the counts, hop by hop.
    fn follow(self, ways: &[Option<Way>], from: Source, sl: Sl, weight: u32, counts: &mut [ByVl]) {
        let (mut here, mut input) = (from.switch, from.input);
        // No path is longer than there are switches.
        // Tables that were read may run in a circle; so the walk has a bound.
        for _ in 0..ways.len() {
            let Some(way) = ways.get(here.index()).copied().flatten() else {
                return;
            };
            let table = self.routes.sl2vl(here, input, way.output).0;
            // SL2VL of the output by the input, where packets wait for credits.
            let vl = table.get(usize::from(sl.get())).copied().unwrap_or(0);
            if let Some(count) = counts.get_mut(way.place) {
                count[usize::from(vl) % VLS] += weight;
            }
            (here, input) = (way.next, way.next_input);
        }
    }
}

/// Order does not matter, so the result is the same with any number of threads.
fn add(mut sum: Vec<ByVl>, more: Vec<ByVl>) -> Vec<ByVl> {
    let pairs = sum.iter_mut().flatten();
    for (sum, more) in pairs.zip(more.iter().flatten()) {
        *sum += more;
    }
    sum
}
