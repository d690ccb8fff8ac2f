//! The ways that packets take by what switches have at some moment of a change: how long they are, and who takes them.
//!
//! ```text
//!  A ──old──> B ──> C ──> port        A leads nowhere now: a packet that it sent before has B and C before it
//! ```
//!
//! | asked | for |
//! |---|---|
//! | how many switches a packet may have to pass yet | how long to wait for it |
//! | which hosts send to a LID over a switch that changes its entry | who loses packets while it leads nowhere |
//!
//! Nothing is kept from one moment to the next: a moment is looked at when a stage is found, of which there are few.

use super::{Change, Has};
use crate::topology::{Peer, SwitchIx};

/// Hosts without a path to a LID for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// That leads nowhere.
    pub lid: u16,
    /// Switches whose hosts had a path over one that changes its entry, ascending. All hosts of a switch take the same way.
    pub from: Vec<SwitchIx>,
    /// How many hosts these have.
    pub hosts: usize,
}

/// A moment.
pub(super) struct Ways<'a> {
    pub(super) change: &'a Change<'a>,
    /// By LID.
    pub(super) has: &'a [Has],
}

impl Ways<'_> {
    /// How many switches a packet to this LID that came by an old entry may have to pass yet: the one that has a new one now, and those behind
    /// its old one. Of all packets with `has_old_sl2vl`.
    pub(super) fn passes_to(&self, lid: u16, has_old_sl2vl: bool) -> usize {
        let Some(to) = self.owner(lid) else {
            return 0;
        };
        let lengths = self.lengths(lid, to);
        let switches = self.change.judge.topology.switch_ixs();
        let passes = switches.map(|switch| {
            let [old, new] = self.change.entries_of(switch, lid);
            let behind = match self.change.judge.topology.peer(switch, old) {
                Peer::Switch { switch, .. } if old != new => lengths[switch.index()],
                // It is in this one.
                _ if old != new => 0,
                _ if has_old_sl2vl => lengths[switch.index()],
                _ => return 0,
            };
            behind + 1
        });
        passes.max().unwrap_or(0)
    }

    /// Who sends to this LID over a switch that changes its entry, and arrives.
    /// Cost: a walk from each switch with a host.
    pub(super) fn waiting(&self, lid: u16) -> Waiting {
        let (from, hosts): (Vec<SwitchIx>, Vec<usize>) = self.waiting_at(lid).unzip();
        Waiting {
            lid,
            from,
            hosts: hosts.iter().sum(),
        }
    }

    /// Whether anybody does.
    /// Cost: walks until the first one.
    pub(super) fn is_waited_for(&self, lid: u16) -> bool {
        self.waiting_at(lid).next().is_some()
    }

    /// By switch: how many hosts.
    fn waiting_at(&self, lid: u16) -> impl Iterator<Item = (SwitchIx, usize)> {
        let judge = &self.change.judge;
        let hosts_on = |switch: &SwitchIx| {
            let hosts = judge.topology.hosts(*switch);
            let hosts = hosts.filter(|(_, end)| judge.hosts.include(judge.topology, *end));
            hosts.count()
        };
        let switches = judge.topology.switch_ixs();
        let with_hosts = switches.map(move |switch| (switch, hosts_on(&switch)));
        // Nobody waits for what is gone.
        let is_there = judge.routes.lids().at(lid).is_some();
        let with_hosts = with_hosts.filter(move |_| is_there);
        with_hosts.filter(move |(from, hosts)| *hosts > 0 && self.is_over_changed(*from, lid))
    }

    /// Whether packets from a switch arrive, and pass one on their way that changes its entry. A circle does not arrive.
    fn is_over_changed(&self, from: SwitchIx, lid: u16) -> bool {
        let Some(to) = self.owner(lid) else {
            return false;
        };
        let (mut here, mut meets) = (from, false);
        // More hops than switches: a circle.
        for _ in &self.change.judge.topology.switches {
            if here == to {
                return meets;
            }
            let [old, new] = self.change.entries_of(here, lid);
            meets |= old != new;
            match self.next(here, to, lid) {
                Some(next) => here = next,
                None => return false,
            }
        }
        false
    }

    /// The switch that a LID is at, or was.
    fn owner(&self, lid: u16) -> Option<SwitchIx> {
        let [at, _] = self.change.places(lid);
        at
    }

    /// By switch: how many switches a packet to a LID passes from there, itself included. A circle counts as often as there are
    /// switches.
    fn lengths(&self, lid: u16, to: SwitchIx) -> Vec<usize> {
        let count = self.change.judge.topology.switches.len();
        let mut lengths = vec![0; count];
        let mut trail = Vec::new();
        for first in self.change.judge.topology.switch_ixs() {
            let (mut here, mut length) = (first, 0);
            while trail.len() <= count {
                let known = lengths[here.index()];
                if known > 0 {
                    length = known;
                    break;
                }
                trail.push(here);
                match self.next(here, to, lid) {
                    Some(next) => here = next,
                    None => break,
                }
            }
            while let Some(switch) = trail.pop() {
                length += 1;
                lengths[switch.index()] = length;
            }
        }
        lengths
    }

    /// Where a switch sends a LID by what it has now; none at its end.
    fn next(&self, switch: SwitchIx, to: SwitchIx, lid: u16) -> Option<SwitchIx> {
        let [old, new] = self.change.entries_of(switch, lid);
        let entry = match self.has.get(usize::from(lid))? {
            Has::Old => old,
            Has::Nowhere if old != new => return None,
            Has::New | Has::Either | Has::Nowhere => new,
        };
        match self.change.judge.topology.peer(switch, entry) {
            Peer::Switch { switch: far, .. } if switch != to => Some(far),
            _ => None,
        }
    }
}
