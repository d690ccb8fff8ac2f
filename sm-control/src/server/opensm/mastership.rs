//! When this daemon may answer in OpenSM's place.
//!
//! It may while OpenSM on its port is the master, has given the read methods free, and the snapshot
//! is of the fabric as that master knows it. When OpenSM dies, its port's clients still come here
//! until another master tells them otherwise, so answering goes on for a while. When it is no
//! master any more, or the port got another LID, the methods go back at once.
//!
//! Pure: what is seen is given, and what is to be done comes back.
//!
//! | seen | order |
//! |---|---|
//! | all well, methods held by OpenSM | Lend |
//! | all well, lent, nobody serves yet | Open |
//! | anything wrong, gate open | Shut |
//! | anything wrong, lent, nobody serves | TakeBack |
//! | refused, and a file of the OpenSM before is here | HandOn |
//! | OpenSM has them though the gate is open: this daemon stood still | Invalidate, Shut |
//! | another LID, or OpenSM became the master | Invalidate |
//!
//! *Generations* tie what is published to the fabric that it is of. Each Invalidate begins a new
//! one; a load remembers the generation in which it began to read, and only what was read in the
//! present one opens the gate.

use std::time::Duration;

use sa_port::umad::PortLids;
use sa_wire::Lid;
use split_protocol::Reads;

use super::link::Connected;

/// How long an order to OpenSM's library may take until it is given again. Looks come every 10 ms,
/// so without this an order would be given fifty times.
const ORDER_PATIENCE: Duration = Duration::from_millis(500);

/// Why OpenSM's library takes the methods back by itself.
const STOOD_STILL: &str = "OpenSM has taken the reads back: this daemon stood still";

/// What is seen in one look. Everything that [`Mastership::judge`] goes by besides its own memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    /// None while OpenSM is away.
    pub(super) opensm: Option<Connected>,
    /// The port's LID and that of its SM; none where the system does not say.
    pub(super) lids: Option<PortLids>,
    /// When OpenSM last answered as only a master does.
    pub(super) answered: Option<Duration>,
    /// What was last compiled and published: [`Mastership::generation`] when its sources were read.
    pub(super) published: Option<u64>,
    /// The gate is open.
    pub(super) is_open: bool,
    /// A port holds the methods.
    pub(super) is_held: bool,
    /// OpenSM answers otherwise than what was published.
    pub(super) is_in_doubt: bool,
    /// Nobody who answers stands still.
    pub(super) is_alive: bool,
    /// There is a file with the methods, lent by this OpenSM or by one before it.
    pub(super) has_file: bool,
}

/// What is to be done. In the order in which they are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Open the gate.
    Open,
    /// Shut it, for this reason.
    Shut(&'static str),
    /// Ask for the read methods.
    Lend,
    /// Give an OpenSM that was started again the methods that the one before lent.
    HandOn,
    /// Give them back.
    TakeBack,
    /// Read everything again, for this reason: nothing that was published counts any more.
    Invalidate(&'static str),
}

/// What is remembered between two looks.
#[derive(Debug, Default)]
pub(super) struct Mastership {
    /// How long to go on without OpenSM.
    grace: Duration,
    /// Raised when what was published does not count any more.
    generation: u64,
    /// At the look before: becoming the master is an edge.
    was_master: bool,
    /// The last LID that the port had.
    lid: Option<Lid>,
    /// The order to the library that was given last, and when.
    last_order: Option<(Order, Duration)>,
}

impl Mastership {
    /// No master yet, and nothing that counts: the first look that finds one begins a generation.
    pub(super) fn new(grace: Duration) -> Self {
        Self {
            grace,
            ..Self::default()
        }
    }

    /// Of the fabric as the present master knows it.
    pub(super) const fn generation(&self) -> u64 {
        self.generation
    }

    /// True when OpenSM on this port is the master, as far as can be known.
    pub(super) const fn is_master(&self) -> bool {
        self.was_master
    }

    /// What is to be done after a look. `now` never goes back.
    pub(super) fn judge(&mut self, seen: &Seen, now: Duration) -> Vec<Order> {
        let mut orders = Vec::new();
        let reason = self.why_not(seen, now);
        let reads = seen.opensm.as_ref().map(|opensm| opensm.reads);
        // The library waits 600 ms before it does this, so this process was stopped: what it knows
        // may be old.
        if seen.is_open && reads == Some(Reads::Held) {
            self.generation += 1;
            orders.push(Order::Invalidate(STOOD_STILL));
        }
        if let Some(reason) = self.invalidation(seen, reason.is_none()) {
            self.generation += 1;
            orders.push(Order::Invalidate(reason));
        }
        self.was_master = reason.is_none();
        let is_published = seen.published == Some(self.generation);
        let being_read = (!is_published).then_some("the fabric is being read");
        let in_doubt = "OpenSM gives other answers than the snapshot";
        let still = (!seen.is_alive).then_some("a worker stands still");
        let in_doubt = seen.is_in_doubt.then_some(in_doubt);
        // One reason is told, the first: an operator mends that one first anyway.
        let reason = reason.or(still).or(being_read).or(in_doubt);
        self.move_gate(seen, reason, now, &mut orders);
        orders
    }

    /// Why OpenSM on this port is not to be taken for the master. By two signs, since each is late
    /// in another way: the port's SM LID is written by the new master, the answers end with the old
    /// one.
    fn why_not(&self, seen: &Seen, now: Duration) -> Option<&'static str> {
        let recent = |at: Duration| now.saturating_sub(at) <= self.grace;
        if seen.lids.is_some_and(|lids| lids.own != lids.sm) {
            return Some("another port's SM is the master");
        }
        match seen.answered {
            None => Some("OpenSM has not answered as the master yet"),
            Some(at) if !recent(at) && seen.opensm.is_none() => Some("OpenSM is gone"),
            Some(at) if !recent(at) => Some("OpenSM does not answer as the master"),
            Some(_) => None,
        }
    }

    /// Why what was published does not count any more, if so. A port without a LID is one that is
    /// being set up, and has no other LID.
    fn invalidation(&mut self, seen: &Seen, is_master: bool) -> Option<&'static str> {
        let lid = seen.lids.and_then(|lids| lids.own);
        let before = if lid.is_some() {
            core::mem::replace(&mut self.lid, lid)
        } else {
            self.lid
        };
        if before.is_some() && before != self.lid {
            return Some("this port has another LID");
        }
        (is_master && !self.was_master).then_some("OpenSM on this port became the master")
    }

    /// What follows for the gate and the methods.
    fn move_gate(
        &mut self,
        seen: &Seen,
        reason: Option<&'static str>,
        now: Duration,
        orders: &mut Vec<Order>,
    ) {
        let reads = seen.opensm.as_ref().map(|opensm| opensm.reads);
        match (reason, reads, seen.is_open) {
            // First of all, whatever the library says: shutting is right in every doubt.
            (Some(reason), _, true) => orders.push(Order::Shut(reason)),
            // OpenSM came back while this goes on: it is to have them when this ends.
            (_, Some(Reads::Refused(_)), _) if seen.has_file => {
                orders.extend(self.again(Order::HandOn, now));
            }
            (None, Some(Reads::Lent), false) if seen.has_file && !seen.is_held => {
                orders.push(Order::Open);
            }
            (None, Some(Reads::Held | Reads::Lent), false) if !seen.is_held => {
                orders.extend(self.again(Order::Lend, now));
            }
            (Some(_), Some(Reads::Lent), false) if !seen.is_held => {
                orders.extend(self.again(Order::TakeBack, now));
            }
            _ => {}
        }
    }

    /// The order, unless it was given a moment ago.
    fn again(&mut self, order: Order, now: Duration) -> Option<Order> {
        let is_recent = |(last, at): (Order, Duration)| {
            last == order && now.saturating_sub(at) < ORDER_PATIENCE
        };
        if self.last_order.is_some_and(is_recent) {
            return None;
        }
        self.last_order = Some((order, now));
        Some(order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(30);

    fn seconds(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    fn opensm(reads: Reads) -> Option<Connected> {
        Some(Connected {
            session: 1,
            pid: 1,
            umad: 0,
            reads,
        })
    }

    /// Of a port and its SM.
    fn lids(own: u16, sm: u16) -> Option<PortLids> {
        let (own, sm) = (Lid::new(own).ok(), Lid::new(sm).ok());
        Some(PortLids { own, sm })
    }

    fn seen() -> Seen {
        Seen {
            opensm: opensm(Reads::Held),
            lids: lids(4, 4),
            answered: None,
            published: None,
            is_open: false,
            is_held: false,
            is_in_doubt: false,
            is_alive: true,
            has_file: false,
        }
    }

    /// Up to an open gate.
    fn serving() -> (Mastership, Seen) {
        let mut mastership = Mastership::new(GRACE);
        let mut seen = seen();
        assert_eq!(mastership.judge(&seen, seconds(0)), []);
        seen.answered = Some(seconds(1));
        let became = Order::Invalidate("OpenSM on this port became the master");
        assert_eq!(mastership.judge(&seen, seconds(1)), [became]);
        seen.published = Some(0);
        assert_eq!(mastership.judge(&seen, seconds(1)), [], "read before");
        seen.published = Some(mastership.generation());
        assert_eq!(mastership.judge(&seen, seconds(1)), [Order::Lend]);
        assert_eq!(mastership.judge(&seen, seconds(1)), [], "asked for already");
        seen.opensm = opensm(Reads::Lent);
        seen.has_file = true;
        assert_eq!(mastership.judge(&seen, seconds(1)), [Order::Open]);
        (seen.is_open, seen.is_held) = (true, true);
        assert_eq!(mastership.judge(&seen, seconds(2)), []);
        (mastership, seen)
    }

    #[test]
    fn the_gate_opens_beside_a_master_whose_fabric_was_read() {
        serving();
    }

    #[test]
    fn a_dead_opensm_is_waited_for() {
        let (mut mastership, mut seen) = serving();
        seen.opensm = None;
        assert_eq!(mastership.judge(&seen, seconds(20)), []);
        // It comes back while the methods are taken.
        seen.opensm = opensm(Reads::Refused(22));
        assert_eq!(mastership.judge(&seen, seconds(21)), [Order::HandOn]);
        seen.opensm = None;
        assert_eq!(
            mastership.judge(&seen, seconds(40)),
            [Order::Shut("OpenSM is gone")]
        );
    }

    #[test]
    fn the_methods_go_back_when_another_becomes_the_master() {
        let (mut mastership, mut seen) = serving();
        seen.lids = lids(4, 9);
        let other = Order::Shut("another port's SM is the master");
        assert_eq!(mastership.judge(&seen, seconds(2)), [other]);
        seen.is_open = false;
        assert_eq!(
            mastership.judge(&seen, seconds(2)),
            [],
            "a port still has them"
        );
        seen.is_held = false;
        assert_eq!(mastership.judge(&seen, seconds(2)), [Order::TakeBack]);
        assert!(!mastership.is_master());
        // And it becomes the master again: all is read anew.
        seen.opensm = opensm(Reads::Held);
        seen.lids = lids(4, 4);
        let became = Order::Invalidate("OpenSM on this port became the master");
        assert_eq!(mastership.judge(&seen, seconds(3)), [became]);
    }

    #[test]
    fn what_is_in_doubt_is_not_answered_from() {
        let (mut mastership, mut seen) = serving();
        seen.is_in_doubt = true;
        let doubt = Order::Shut("OpenSM gives other answers than the snapshot");
        assert_eq!(mastership.judge(&seen, seconds(2)), [doubt]);
        (seen.is_open, seen.is_held) = (false, false);
        assert_eq!(mastership.judge(&seen, seconds(2)), [Order::TakeBack]);
        seen.opensm = opensm(Reads::Held);
        assert_eq!(mastership.judge(&seen, seconds(3)), []);
        seen.is_in_doubt = false;
        assert_eq!(mastership.judge(&seen, seconds(4)), [Order::Lend]);
    }

    #[test]
    fn one_that_stood_still_reads_everything_before_it_answers_again() {
        let (mut mastership, mut seen) = serving();
        seen.opensm = opensm(Reads::Held);
        let expected = [
            Order::Invalidate(STOOD_STILL),
            Order::Shut("the fabric is being read"),
        ];
        assert_eq!(mastership.judge(&seen, seconds(2)), expected);
        seen.is_open = false;
        seen.published = Some(mastership.generation());
        assert_eq!(
            mastership.judge(&seen, seconds(3)),
            [],
            "a port is in it still"
        );
        seen.is_held = false;
        assert_eq!(mastership.judge(&seen, seconds(3)), [Order::Lend]);
    }

    #[test]
    fn a_worker_that_stands_still_gets_nothing_to_answer() {
        let (mut mastership, mut seen) = serving();
        seen.is_alive = false;
        let still = Order::Shut("a worker stands still");
        assert_eq!(mastership.judge(&seen, seconds(2)), [still]);
        seen.is_open = false;
        assert_eq!(
            mastership.judge(&seen, seconds(2)),
            [],
            "it holds on to them"
        );
        seen.opensm = opensm(Reads::Held);
        assert_eq!(mastership.judge(&seen, seconds(3)), []);
        (seen.is_alive, seen.is_held) = (true, false);
        assert_eq!(mastership.judge(&seen, seconds(4)), [Order::Lend]);
    }

    #[test]
    fn another_lid_counts_before_anything_is_answered_with_the_old_ones() {
        let (mut mastership, mut seen) = serving();
        seen.lids = lids(5, 5);
        let orders = mastership.judge(&seen, seconds(2));
        let expected = [
            Order::Invalidate("this port has another LID"),
            Order::Shut("the fabric is being read"),
        ];
        assert_eq!(orders, expected);
        seen.is_open = false;
        seen.is_held = false;
        seen.published = Some(mastership.generation());
        assert_eq!(mastership.judge(&seen, seconds(3)), [Order::Open]);
    }
}
