//! The part of a column that changed: paths over changed entries, followed to their ends.
//!
//! Behind a changed entry are all switches that still send to it: their paths changed too, though their
//! entries did not. Ahead of it are switches whose own paths stayed, but which now carry more. Only the first
//! put in what their sources send; the second pass on what comes to them.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Changed, Gone, Proven};
use crate::parallel;
use crate::paths::columns::Reached;
use crate::paths::survey::News;
use crate::proof::carrier::{Carrier, State};
use crate::proof::channels::Link;
use crate::proof::graph::DependencyGraph;
use crate::proof::hops::{Hop, NO_OUTPUT};
use crate::proof::loads::{EMPTY, Load, VlPairs};
use crate::proof::sources::{CLASSES, EMPTY_SET};
use crate::proof::unicast::Sls;
use crate::tables::Lft;
use crate::topology::{SwitchIx, count32};

/// LIDs that a thread takes at a time: their entries share cache lines.
const LIDS: usize = 64;

/// With more switches on such ways than one of so many a full run is as quick.
const ONE_OF: usize = 8;

/// Follows the paths that changed. Gives their dependencies that were not there, by turn, and from where the
/// LIDs are reached now. None where there are too many, and where some go in cycles.
pub(super) fn follow(
    proven: &Proven,
    lft: &Lft,
    places: &[Option<(SwitchIx, u8)>],
    gone: &Gone,
    changed: &Changed,
) -> Option<(Vec<(u32, VlPairs)>, News)> {
    let switches = (0..count32(lft.switches())).map(SwitchIx);
    let work = Work {
        rows: switches.map(|switch| lft.table(switch)).collect(),
        backs: backs(proven, gone),
        proven,
        graph: &proven.graph,
        gone,
        left: AtomicUsize::new(lft.size() / ONE_OF),
    };
    let pieces = places.len().div_ceil(LIDS);
    let parts = parallel::over_queue(pieces, changed.count() * LIDS, |queue| {
        let mut region = Region::new(&work);
        let mut news = News::default();
        for first in queue.map(|piece| piece * LIDS) {
            let lids = (0..=u16::MAX).zip(places).skip(first).take(LIDS);
            for (lid, place) in lids {
                let switches = changed.switches(lid);
                if let (Some((to, _)), false) = (place, switches.is_empty()) {
                    region.follow(lid, *to, switches, &mut news)?;
                }
            }
        }
        Some((region.carrier.apart.unwrap_or_default(), news))
    });
    let (mut added, mut all) = (Vec::new(), News::default());
    for part in parts {
        let (more, news) = part?;
        added.extend(more);
        all.append(news);
    }
    Some((added, all))
}

/// What all threads share.
struct Work<'a> {
    proven: &'a Proven,
    graph: &'a DependencyGraph,
    /// By switch: its table.
    rows: Vec<&'a [u8]>,
    /// By link: the far switch, and its port that leads back; [`NO_WAY_BACK`] where the cable is gone.
    backs: Vec<(u32, u16)>,
    gone: &'a Gone,
    /// Switches on changed ways that may still come.
    left: AtomicUsize,
}

/// No forwarding entry.
const NO_WAY_BACK: u16 = u16::MAX;

/// See [`Work::backs`]. Both directions of a cable are gone, or none.
fn backs(proven: &Proven, gone: &Gone) -> Vec<(u32, u16)> {
    let channels = &*proven.graph.channels;
    let links = (0..).zip(&channels.links);
    let back = |(number, link): (u32, &Link)| match gone.has(number) {
        true => (link.to.0, NO_WAY_BACK),
        false => {
            let port = channels.slots(link.to)[usize::from(link.input)];
            (link.to.0, u16::from(port))
        }
    };
    links.map(back).collect()
}

/// What one thread needs to follow paths to one LID after the other.
struct Region<'a> {
    work: &'a Work<'a>,
    carrier: Carrier<'a>,
    /// As for the whole columns: what sources put on a cable, or `UNKNOWN`. Shape: class of SLs by
    /// set of tables.
    starts: Vec<Load>,
    /// By switch: the last round in which its path was a changed one.
    is_changed: Vec<u32>,
    /// By switch: the last round in which it was on a changed path.
    is_in: Vec<u32>,
    round: u32,
    /// By switch: how many of those in the region that send to it have not been done.
    pending: Vec<u16>,
    /// By switch: hops to the LID's switch, or `LOST`.
    hops: Vec<u16>,
    /// First the switches whose paths changed, then others on these paths.
    members: Vec<u32>,
    /// The same, each after those that send to it.
    order: Vec<u32>,
}

/// No load yet.
const UNKNOWN: Load = Load::MAX;
/// No path, instead of a number of hops.
const LOST: u16 = u16::MAX;

impl<'a> Region<'a> {
    /// A thread's own state, before the first LID.
    fn new(work: &'a Work<'a>) -> Self {
        let switches = work.graph.channels.switches();
        let carrier = Carrier::apart(work.graph, &work.proven.hops, switches);
        let mut region = Self {
            work,
            carrier,
            starts: Vec::new(),
            is_changed: vec![0; switches],
            is_in: vec![0; switches],
            round: 0,
            pending: vec![0; switches],
            hops: vec![LOST; switches],
            members: Vec::new(),
            order: Vec::new(),
        };
        region.forget_starts();
        region
    }

    /// Without anything known of what sources put on cables.
    fn forget_starts(&mut self) {
        self.starts = vec![UNKNOWN; CLASSES * self.work.proven.sources.sets()];
    }

    /// Follows the paths to a LID that pass one of these switches. None as [`follow`].
    fn follow(
        &mut self,
        lid: u16,
        to: SwitchIx,
        switches: &[SwitchIx],
        news: &mut News,
    ) -> Option<()> {
        if self.carrier.loads.are_many() {
            self.carrier.forget();
            self.forget_starts();
        }
        self.round += 1;
        self.find_behind(lid, to, switches);
        let changed = self.members.len();
        self.find_ahead(lid, to);
        let members = self.members.len();
        let left = &self.work.left;
        let take = |left: usize| left.checked_sub(members);
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .ok()?;
        // A circle of entries is for the proof from nothing, which carries until nothing is new.
        self.carry(lid)?;
        self.tell(lid, to, changed, news);
        Some(())
    }

    /// The switches whose paths changed: those with other entries, and all that send to them.
    fn find_behind(&mut self, lid: u16, to: SwitchIx, switches: &[SwitchIx]) {
        self.members.clear();
        // Paths end there: nothing goes on to be found behind it.
        self.is_changed[to.index()] = self.round;
        for switch in switches {
            self.note_changed(*switch);
        }
        let channels = &*self.work.graph.channels;
        let mut next = 0;
        while let Some(&here) = self.members.get(next) {
            next += 1;
            let links = channels.links_from(SwitchIx(here));
            let work = self.work;
            for (far, back) in &work.backs[links.start as usize..links.end as usize] {
                if u16::from(work.rows[*far as usize][usize::from(lid)]) == *back {
                    self.note_changed(SwitchIx(*far));
                }
            }
        }
        // It was marked as a stop only; its own path is none.
        self.is_changed[to.index()] = 0;
    }

    /// Adds a switch whose path is a changed one, once in a round.
    fn note_changed(&mut self, switch: SwitchIx) {
        let round = &mut self.is_changed[switch.index()];
        if *round != self.round {
            *round = self.round;
            self.members.push(switch.0);
        }
    }

    /// Goes on from them to the LID's switch, and lays out all cables on the way.
    fn find_ahead(&mut self, lid: u16, to: SwitchIx) {
        let changed = self.members.len();
        for switch in &self.members {
            self.is_in[*switch as usize] = self.round;
            self.pending[*switch as usize] = 0;
        }
        let nowhere = self.carrier.states.len() - 1;
        self.carrier.states[to.index()] = self.carrier.states[nowhere];
        let mut next = 0;
        while let Some(&here) = self.members.get(next) {
            let hop = self.hop(SwitchIx(here), lid);
            let carried = if next < changed {
                self.start(SwitchIx(here), to, hop)
            } else {
                EMPTY
            };
            self.carrier.states[here as usize] = State {
                to: hop.to,
                input: hop.input,
                output: hop.output,
                carried,
            };
            next += 1;
            let far = hop.to as usize;
            if far == nowhere || far == to.index() {
                continue;
            }
            if self.is_in[far] != self.round {
                self.is_in[far] = self.round;
                self.pending[far] = 0;
                self.members.push(hop.to);
            }
            self.pending[far] += 1;
        }
    }

    /// The cable that a switch sends a LID on. That of a cable that is gone leads nowhere.
    fn hop(&self, switch: SwitchIx, lid: u16) -> Hop {
        let Work {
            proven,
            graph,
            gone,
            ..
        } = self.work;
        let entry = self.entry(switch, lid);
        let hop = proven.hops.get(switch.index(), entry);
        let is_gone = || gone.has(graph.channels.link(switch, entry));
        if hop.output == NO_OUTPUT || !is_gone() {
            return hop;
        }
        Hop {
            to: count32(graph.channels.switches()),
            output: NO_OUTPUT,
            set: EMPTY_SET,
            ..hop
        }
    }

    /// What a switch's table says now.
    fn entry(&self, switch: SwitchIx, lid: u16) -> u8 {
        self.work.rows[switch.index()][usize::from(lid)]
    }

    /// What the sources of a switch put on its cable. Those that are gone count too.
    fn start(&mut self, from: SwitchIx, to: SwitchIx, hop: Hop) -> Load {
        if hop.output == NO_OUTPUT {
            return EMPTY;
        }
        let Proven { sls, sources, .. } = self.work.proven;
        let class = match sls {
            Sls::Torus(classes) => classes.to(to).from(from.index()),
            _ => 0,
        };
        let place = class * sources.sets() + hop.set as usize;
        if self.starts[place] == UNKNOWN {
            let (channels, loads) = (&self.work.graph.channels, &mut self.carrier.loads);
            let tables = sources.tables(hop.set);
            self.starts[place] = loads.start_all(channels, tables, sls.of_class(class).0);
        }
        self.starts[place]
    }

    /// From the leaves inwards. None where packets go in cycles.
    fn carry(&mut self, lid: u16) -> Option<()> {
        let (work, round) = (self.work, self.round);
        let leaves = self.members.iter().copied();
        let leaves = leaves.filter(|switch| self.pending[*switch as usize] == 0);
        self.order.clear();
        self.order.extend(leaves);
        let mut next = 0;
        while let Some(&switch) = self.order.get(next) {
            next += 1;
            self.carrier
                .pass_on(switch, |switch| work.rows[switch.index()][usize::from(lid)]);
            let to = self.carrier.states[switch as usize].to as usize;
            if self.is_in.get(to) == Some(&round) {
                self.pending[to] -= 1;
                if self.pending[to] == 0 {
                    self.order.push(count32(to));
                }
            }
        }
        (self.order.len() == self.members.len()).then_some(())
    }

    /// Adds from where the LID is reached now.
    fn tell(&mut self, lid: u16, to: SwitchIx, changed: usize, news: &mut News) {
        let survey = &self.work.proven.survey;
        let before = survey.reached(lid).filter(|before| before.is_everywhere);
        let reached = before.and_then(|before| self.reached(to, changed, before));
        match reached {
            Some(reached) => news.reached.push((lid, reached)),
            None => news.unknown.push(lid),
        }
    }

    /// From where a LID is reached that was reached from everywhere. None where that takes more than
    /// the paths that changed.
    fn reached(&mut self, to: SwitchIx, changed: usize, before: Reached) -> Option<Reached> {
        for switch in self.order.iter().rev() {
            let far = self.carrier.states[*switch as usize].to as usize;
            self.hops[*switch as usize] = match self.hops.get(far).copied() {
                _ if far == to.index() => 1,
                Some(LOST) | None => LOST,
                Some(hops) => hops + 1,
            };
        }
        let of = |switch: &u32| (self.hops[*switch as usize], SwitchIx(*switch));
        let (hops, farthest) = self.members[..changed].iter().map(of).max()?;
        if hops == LOST {
            return None;
        }
        if hops >= before.longest {
            return Some(Reached {
                longest: hops + 1,
                farthest,
                ..before
            });
        }
        // The switch that had the longest path still has it.
        let stays = self.is_changed[before.farthest.index()] != self.round;
        // Otherwise another one may be the farthest now.
        let is_as_far = hops + 1 == before.longest;
        (stays || is_as_far).then_some(if stays {
            before
        } else {
            Reached { farthest, ..before }
        })
    }
}
