//! What clients have set goes from one master to the next: between the slow lane, which keeps it,
//! and the Subnet Manager, which stands by or hands over.
//!
//! ```text
//!  stands by    Manager: a copy of the master's ──> offer ──> the slow lane goes on with it ──> is_taken
//!  hands over   Manager: freeze ──> the slow lane: no Set changes anything ──> the heir reads ──> is_read ──> nobody is answered
//! ```
//!
//! Frozen, what clients have set is final: one who would change it gets no answer, asks again, and
//! finds the next master. All else is answered until the heir has read.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sa_service::sa_db::Inherited;
use sa_wire::mad::method;
use sa_wire::sa::{AttributeId, SaMad};

/// Shared by the slow lane, the thread that loads, and the one that answers other SMs. Nobody waits
/// for a lock for longer than a move.
#[derive(Debug, Default)]
pub(super) struct Succession {
    is_frozen: AtomicBool,
    /// What an heir has read since then: nothing, something, all.
    read: AtomicU8,
    /// The newest copy, until it is taken.
    offered: Mutex<Option<Inherited>>,
    /// How many were offered, and the number of the one that is in force.
    offers: AtomicU64,
    taken: AtomicU64,
}

impl Succession {
    /// Clients change nothing from now on.
    pub(super) fn freeze(&self) {
        self.read.store(NOTHING, Ordering::SeqCst);
        self.is_frozen.store(true, Ordering::SeqCst);
    }

    /// This SM is the master, or stays it.
    pub(super) fn thaw(&self) {
        self.is_frozen.store(false, Ordering::SeqCst);
    }

    /// True while somebody else is to go on with what clients have set.
    pub(super) fn is_frozen(&self) -> bool {
        self.is_frozen.load(Ordering::SeqCst)
    }

    /// False for a request that would change something now. What is answered is noted: an heir asks
    /// for whole tables with the key.
    pub(super) fn admits(&self, mad: &SaMad) -> bool {
        !self.is_frozen() || matches!(mad.mad.method, method::GET | method::GET_TABLE)
    }

    /// This was answered. A reading counts from its first table on: one that was under way before
    /// is not the heir's last, and the heir begins anew.
    pub(super) fn note(&self, mad: &SaMad) {
        let is_heirs = mad.mad.method == method::GET_TABLE && mad.sa.sm_key.get() != 0;
        if !self.is_frozen() || !is_heirs {
            return;
        }
        let (from, to) = match mad.attribute_id() {
            FIRST_TABLE => (NOTHING, SOMETHING),
            LAST_TABLE => (SOMETHING, ALL),
            _ => return,
        };
        // Where it is not so far, or is further, it stays.
        let _ = self
            .read
            .compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Whether an heir that took over at `since` need not be waited for any more: it has read all,
    /// or does not begin, or takes too long.
    pub(super) fn is_over(&self, since: Instant) -> bool {
        let waited = since.elapsed();
        match self.read.load(Ordering::SeqCst) {
            ALL => true,
            SOMETHING => waited >= LONGEST_READING,
            _ => waited >= FIRST_QUESTION,
        }
    }

    /// A copy to go on with, in the place of one that was not taken yet. Gives its number.
    pub(super) fn offer(&self, copy: Inherited) -> u64 {
        let mut offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        *offered = Some(copy);
        self.offers.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// The copy, and its number; none where there is no new one. One load where there is none: the
    /// lane asks at each turn.
    pub(super) fn offered(&self) -> Option<(u64, Inherited)> {
        if self.offers.load(Ordering::SeqCst) == self.taken.load(Ordering::SeqCst) {
            return None;
        }
        let mut offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        let copy = offered.take()?;
        Some((self.offers.load(Ordering::SeqCst), copy))
    }

    /// That one is in force, and on the disk.
    pub(super) fn has_taken(&self, number: u64) {
        self.taken.store(number, Ordering::SeqCst);
    }

    /// Waits until that one is in force. False: the disk does not take it, or the lane hangs.
    pub(super) fn is_taken(&self, number: u64) -> bool {
        let begun = Instant::now();
        while self.taken.load(Ordering::SeqCst) < number {
            if begun.elapsed() >= LONGEST_TAKING {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }
}

/// In this order an heir reads ([`sa_source::SetAtSa`]).
const FIRST_TABLE: AttributeId = AttributeId::GUID_INFO_RECORD;
const LAST_TABLE: AttributeId = AttributeId::SERVICE_RECORD;

const NOTHING: u8 = 0;
const SOMETHING: u8 = 1;
const ALL: u8 = 2;

/// From HANDOVER to the first question of an heir. One that reads nothing, as OpenSM, is waited for
/// in vain.
const FIRST_QUESTION: Duration = Duration::from_millis(500);
/// For an heir to read all.
pub(super) const LONGEST_READING: Duration = Duration::from_secs(3);
/// For the last answer to an heir to leave.
pub(super) const LAST_ANSWER: Duration = Duration::from_millis(50);
/// The lane turns within milliseconds; what takes longer is the disk.
const LONGEST_TAKING: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use sa_service::sa_db::{ClientRecords, Now};
    use sa_wire::request;
    use sa_wire::umad::Slot;

    use super::*;

    fn copy() -> Inherited {
        let now = Now {
            steady: Duration::ZERO,
            unix: 0,
        };
        Inherited::of(&ClientRecords::default(), 0, now).unwrap()
    }

    fn asks(method: u8, attribute: AttributeId, key: u64) -> Slot {
        let mut slot = request::request(1, method, attribute, 0, &[]);
        SaMad::from_bytes_mut(&mut slot.mad).sa.sm_key = key.into();
        slot
    }

    #[test]
    fn while_an_heir_reads_nobody_changes_anything() {
        let succession = Succession::default();
        let (guids, members) = (AttributeId::GUID_INFO_RECORD, AttributeId::MC_MEMBER_RECORD);
        let services = AttributeId::SERVICE_RECORD;
        let admits = |asked: u8| {
            let slot = asks(asked, members, 0);
            succession.admits(SaMad::from_bytes(&slot.mad))
        };
        assert!(admits(method::SET));
        succession.freeze();
        let all = [method::SET, method::DELETE, method::GET, method::GET_TABLE];
        assert_eq!(all.map(admits), [false, false, true, true]);
        let since = Instant::now();
        let after = |attribute, key| {
            let slot = asks(method::GET_TABLE, attribute, key);
            succession.note(SaMad::from_bytes(&slot.mad));
            succession.is_over(since)
        };
        assert!(!after(services, 0), "a client");
        assert!(!after(members, 1), "a standby that had begun before");
        assert!(!after(services, 1), "the last table of that");
        assert!(!after(guids, 1), "an heir that has begun");
        assert!(!after(members, 1));
        assert!(after(services, 1), "the last of its tables");
        // The next time it is another heir's turn.
        succession.thaw();
        assert!(admits(method::SET));
        succession.freeze();
        assert!(!succession.is_over(Instant::now()));
    }

    #[test]
    fn the_newest_copy_is_taken_and_waited_for() {
        let succession = Succession::default();
        assert!(succession.offered().is_none());
        succession.offer(copy());
        let newest = succession.offer(copy());
        let (number, _) = succession.offered().unwrap();
        assert_eq!(number, newest);
        assert!(succession.offered().is_none(), "it is under way");
        succession.has_taken(number);
        assert!(succession.is_taken(newest));
        assert!(succession.offered().is_none());
    }
}
