//! Traps, on their way from who answers them to who acts.
//!
//! ```text
//!  the responder: TrapRepress ──┬─ the subnet may be other ──> the loader: a sweep, soon
//!                               └─ not repeated too often ───> the slow lane: Reports to subscribers
//! ```
//!
//! | thread | does | holds the lock for |
//! |---|---|---|
//! | `sa-sm`, who answers | notes the LID, orders a sweep | one entry |
//! | `sa-load`, who sweeps | takes all that was noted | an exchange |
//! | the slow lane | takes Notices, 64 in a turn | none |
//!
//! Traps that come while a sweep runs are of the next one, as what they tell may have happened
//! after it was read.
//!
//! # Floods
//!
//! | who sends without end | costs |
//! |---|---|
//! | one port, the same trap | an answer each, one entry, a sweep of that device each time the last one has rested as long as it took |
//! | every port | an answer each, as many entries as LIDs, sweeps as large as light ones with all ports |
//! | nobody's LID | an answer each, one entry, light sweeps |
//!
//! Nobody is waited for: the loader is told that something changed, so one word that waits stands
//! for all, and takes what and where when it sweeps, once for each device; and of Notices that
//! nobody takes some are dropped, which is counted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_channel::{Receiver, Sender, TryIter, bounded};
use sa_sm::discovery::Told;
use sa_sm::sm_info::Own;
use sa_sm::trap::{self, Repeats, Trap};
use sa_wire::notice::Notice;
use sm_port::now;

use crate::server::opensm::Change;
use crate::server::operators::sweeps::Sweeps;

/// Shared by the responder, the loader and the slow lane.
#[derive(Debug)]
pub(in crate::server) struct Traps {
    tell: Sender<Change>,
    told: Receiver<Change>,
    /// Who told what since the last sweep began. Shape: as many as there are LIDs at most.
    devices: Mutex<Told>,
    /// `sweep_on_trap`, as the last sweep had it.
    are_followed: AtomicBool,
    notices: (Sender<Notice>, Receiver<Notice>),
    /// Where they are counted.
    sweeps: Arc<Sweeps>,
}

impl Default for Traps {
    fn default() -> Self {
        let (tell, told) = bounded(1);
        Self {
            tell,
            told,
            devices: Mutex::default(),
            are_followed: AtomicBool::new(true),
            notices: bounded(NOTICES),
            sweeps: Arc::default(),
        }
    }
}

/// Notices that wait for the slow lane, which takes them within milliseconds.
const NOTICES: usize = 1024;

impl Traps {
    /// Where it is said that the subnet may be other than it was.
    pub(in crate::server) fn changes(&self) -> Receiver<Change> {
        self.told.clone()
    }

    /// The subnet is to be looked at once more, now.
    pub(super) fn look(&self) {
        // Full: the loader has not looked yet.
        let _ = self.tell.try_send(Change::Commanded);
    }

    /// What subscribers are to be told: those that wait, `most` at a time.
    pub(in crate::server) fn notices(&self) -> core::iter::Take<TryIter<'_, Notice>> {
        let (_, waiting) = &self.notices;
        waiting.try_iter().take(AT_A_TIME)
    }

    /// From the next trap on.
    pub(super) fn follow(&self, are_followed: bool) {
        // Relaxed: nothing else is read through it.
        self.are_followed.store(are_followed, Ordering::Relaxed);
    }

    /// What devices told since the last call.
    pub(super) fn take(&self) -> Told {
        core::mem::take(&mut *self.devices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Where they are counted.
    pub(super) const fn sweeps(&self) -> &Arc<Sweeps> {
        &self.sweeps
    }

    /// True where the subnet is to be looked at.
    fn note(&self, notice: &Notice) -> bool {
        let mut devices = self.devices.lock().unwrap_or_else(PoisonError::into_inner);
        devices.hear(notice)
    }

    /// Takes an SMP that came from `from`, and gives what goes back. `None` where it is no trap.
    pub(super) fn hear(
        &self,
        smp: &[u8; 256],
        (from, own): (u16, &Own),
        repeats: &mut Repeats,
    ) -> Option<[u8; 256]> {
        let Trap { notice, repress } = Trap::parse(smp, own)?;
        self.sweeps.traps.fetch_add(1, Ordering::Relaxed);
        let is_followed = self.are_followed.load(Ordering::Relaxed);
        if is_followed && self.note(&notice) {
            // Full: the loader has not looked yet, and will find this too.
            let _ = self
                .tell
                .try_send(Change::Reported(notice.trap_number.get()));
        }
        if trap::is_forwarded(&notice) && !repeats.is_too_often(from, &notice, now()) {
            let (notices, _) = &self.notices;
            let is_full = notices.try_send(notice).is_err();
            let dropped = &self.sweeps.traps_dropped;
            dropped.fetch_add(u64::from(is_full), Ordering::Relaxed);
        }
        Some(repress)
    }
}

/// Notices that the slow lane takes in one turn: requests must not wait for long.
const AT_A_TIME: usize = 64;
