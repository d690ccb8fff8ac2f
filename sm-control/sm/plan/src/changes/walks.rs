//! The ways to one destination, before and after a change.
//!
//! ```text
//!  from each host: follow the entries of its switch, then of the next
//!      both arrive  ──> the same switches and ports all along?  Same, Other
//!      one arrives  ──> Lost, Gained
//! ```
//!
//! What is known of a switch holds for all ways that come by it, so all hosts together cost one look at each switch and not
//! one at each pair.

use routing::{Peer, SwitchIx};
use sa_wire::Lid;

use super::Host;
use super::switches::Switches;

/// What becomes of a pair's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The same switches and ports; or none, before as afterwards.
    Same,
    /// Others.
    Other,
    /// There was one.
    Lost,
    /// There was none.
    Gained,
}

/// The ways to one destination, from each switch, found as they are asked for.
pub(super) struct Walks<'a> {
    switches: &'a Switches<'a>,
    /// The destination.
    to: &'a Host,
    /// Its LIDs. Shape: before and afterwards.
    lids: [Lid; 2],
    /// Whether it arrives. Shape: before and afterwards, by switch.
    arrives: [Vec<Option<bool>>; 2],
    /// Whether all of the way is the same. Shape: by switch of afterwards.
    same: Vec<Option<bool>>,
}

impl<'a> Walks<'a> {
    /// Nothing is walked yet. `lids`: of the destination, before and afterwards.
    pub(super) fn new(switches: &'a Switches<'a>, to: &'a Host, lids: [Lid; 2]) -> Self {
        Self {
            switches,
            to,
            lids,
            arrives: [
                vec![None; switches.new.len()],
                vec![None; switches.old.len()],
            ],
            same: vec![None; switches.old.len()],
        }
    }

    /// The pair from a host to the destination. Cost: what was not asked before.
    pub(super) fn of(&mut self, from: &Host) -> Verdict {
        let Switches { before, after, .. } = self.switches;
        let old = before.topology.end_port(from.old).attached;
        let new = after.topology.end_port(from.new).attached;
        let was = old.is_some_and(|(at, _)| self.arrives(0, at));
        let is = new.is_some_and(|(at, _)| self.arrives(1, at));
        match (was, is) {
            (true, false) => Verdict::Lost,
            (false, true) => Verdict::Gained,
            (false, false) => Verdict::Same,
            (true, true) => {
                // By the hosts' own cables too.
                let is_same = !self.switches.is_other_place(from)
                    && new.is_some_and(|(at, _)| self.is_same(at));
                if is_same {
                    Verdict::Same
                } else {
                    Verdict::Other
                }
            }
        }
    }

    /// What the entry of a switch leads to.
    fn next(&self, side: usize, at: SwitchIx) -> (Option<u8>, Peer) {
        let Switches { before, after, .. } = self.switches;
        let (parts, lid) = match side {
            0 => (before, self.lids[0]),
            _ => (after, self.lids[1]),
        };
        let port = parts.routes.output(at, lid);
        (
            port,
            port.map_or(Peer::Nothing, |port| parts.topology.peer(at, port)),
        )
    }

    /// Packets from a switch end at the destination. Shape: `side` 0 is before, 1 afterwards.
    fn arrives(&mut self, side: usize, from: SwitchIx) -> bool {
        let to = if side == 0 { self.to.old } else { self.to.new };
        let mut way = Vec::new();
        let mut at = from;
        let verdict = loop {
            let known = self
                .arrives
                .get_mut(side)
                .and_then(|it| it.get_mut(at.index()));
            let Some(known) = known else { break false };
            if let Some(known) = *known {
                break known;
            }
            // Until it is known: who comes here again goes in a circle.
            *known = Some(false);
            way.push(at);
            match self.next(side, at).1 {
                Peer::Switch { switch, .. } => at = switch,
                // At another host they are dropped.
                Peer::EndPort(end) => break end == to,
                Peer::Nothing => break false,
            }
        };
        for at in way {
            if let Some(known) = self
                .arrives
                .get_mut(side)
                .and_then(|it| it.get_mut(at.index()))
            {
                *known = Some(verdict);
            }
        }
        verdict
    }

    /// Of a way that arrives, both times.
    fn is_same(&mut self, from: SwitchIx) -> bool {
        let mut way = Vec::new();
        let mut at = from;
        let verdict = loop {
            let Some(known) = self.same.get_mut(at.index()) else {
                break false;
            };
            if let Some(known) = *known {
                break known;
            }
            // As above; a way that arrives has no circle.
            *known = Some(false);
            way.push(at);
            // A switch that is new is on no old way.
            let Some(Some(old)) = self.switches.old.get(at.index()) else {
                break false;
            };
            let (was, is) = (self.next(0, *old), self.next(1, at));
            if was.0 != is.0 || !self.switches.is_same_peer(was.1, is.1) {
                break false;
            }
            match is.1 {
                Peer::Switch { switch, .. } => at = switch,
                Peer::EndPort(_) => break true,
                Peer::Nothing => break false,
            }
        };
        for at in way {
            if let Some(known) = self.same.get_mut(at.index()) {
                *known = Some(verdict);
            }
        }
        verdict
    }
}
