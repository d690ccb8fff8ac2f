//! The numbers that OpenSM's file goes by, in this process and in those it forks.
//!
//! A descriptor's number says little: it can be duplicated, overwritten by dup2, closed with a
//! whole range by close_range, and copied into a child by fork. Two mistakes must not happen. The
//! split must not go on for a number that is another file's by now, and OpenSM (or a library that
//! closes all descriptors) must not close those of this library, because the next file it opens
//! would get that number.
//!
//! ```text
//!  file  7            OpenSM's first number
//!  others  9 -1 -1 -1 from dup; when 7 is closed, 9 becomes the file
//!  ours  reader, gate, two bells, listener, session: close of these is refused by EBADF
//! ```

use core::sync::atomic::Ordering;
use std::os::fd::RawFd;

use super::{Guarded, Kernel, Port, Split, State};

impl<K: Kernel> Split<K> {
    /// Whether the caller is the process whose file it is, not a child that it forked: what a child
    /// does with its numbers is its own business. Costs a system call, so it is asked where
    /// descriptors change and not for every packet.
    pub(crate) fn is_own(&self) -> bool {
        self.owner.load(Ordering::Acquire) == std::process::id()
    }

    /// In a child, right after the fork: there is no OpenSM here. Only atomics: another thread of
    /// the parent may have held a lock when it forked, and nobody here would ever give it back.
    pub(crate) fn forked(&self) {
        self.file.store(-1, Ordering::Release);
        self.reader.store(-1, Ordering::Release);
        self.watched.store(-1, Ordering::Release);
        for other in &self.others {
            other.store(-1, Ordering::Release);
        }
    }

    /// Whether it is a number of OpenSM's file, the first or another.
    pub(crate) fn is_number_of(&self, fd: RawFd) -> bool {
        let is_it = |number: RawFd| fd >= 0 && number == fd;
        let mut others = self.others.iter();
        self.is_of(fd) || others.any(|other| is_it(other.load(Ordering::Acquire)))
    }

    /// Whether this library needs the descriptor for itself.
    pub(crate) fn is_ours(&self, fd: RawFd) -> bool {
        fd >= 0 && self.internal().contains(&fd)
    }

    /// The descriptors of this library, -1 for those that are not there.
    fn internal(&self) -> [RawFd; 6] {
        let reader = self.reader.load(Ordering::Acquire);
        let [listener, session] = self.guarded.each_ref().map(|it| it.load(Ordering::Acquire));
        let bells = [self.arrivals(), self.doorbell()];
        let [arrivals, doorbell] = bells;
        [reader, self.gate(), arrivals, doorbell, listener, session]
    }

    /// From now on this descriptor is one that OpenSM must not close; -1: none is.
    pub(crate) fn guard(&self, what: Guarded, fd: RawFd) {
        let [listener, session] = &self.guarded;
        let place = match what {
            Guarded::Listener => listener,
            Guarded::Session => session,
        };
        place.store(fd, Ordering::Release);
    }

    /// The numbers of such descriptors in this range, ascending. OpenSM's own in it are closed.
    pub(crate) fn own_numbers(&self, first: u32, last: u32) -> Vec<RawFd> {
        let is_in = |fd: &RawFd| u32::try_from(*fd).is_ok_and(|fd| (first..=last).contains(&fd));
        let others = self
            .others
            .iter()
            .map(|other| other.load(Ordering::Acquire));
        // The first number last: it would only move to another one that goes as well.
        let all: Vec<RawFd> = others.chain([self.file.load(Ordering::Acquire)]).collect();
        for fd in all.into_iter().filter(is_in) {
            self.closes(fd, None);
        }
        let mut ours: Vec<RawFd> = self.internal().into_iter().filter(is_in).collect();
        ours.sort_unstable();
        ours
    }

    /// `number` is `fd` once more: the file lives until both are closed.
    pub(crate) fn duplicated(&self, fd: RawFd, number: RawFd) {
        if number < 0 || number == fd || !self.is_number_of(fd) {
            return;
        }
        // One more than there is room for is not followed: closing the others ends the split.
        let free = |other: &&core::sync::atomic::AtomicI32| other.load(Ordering::Acquire) < 0;
        if let Some(other) = self.others.iter().find(free) {
            other.store(number, Ordering::Release);
        }
    }

    /// The file is closed under one number. True where it lives on under another.
    pub(super) fn goes_on_by_another(&self, state: &mut State, fd: RawFd) -> bool {
        let of = |number: RawFd| {
            let mut others = self.others.iter();
            others.find(move |other| other.load(Ordering::Acquire) == number)
        };
        // Another number than the first: it is forgotten, and the split goes on by the first.
        if !self.is_of(fd) {
            if let Some(other) = of(fd).filter(|_| fd >= 0) {
                other.store(-1, Ordering::Release);
            }
            return false;
        }
        let mut others = self.others.iter();
        let Some(other) = others.find(|other| other.load(Ordering::Acquire) >= 0) else {
            return false;
        };
        let next = other.swap(-1, Ordering::AcqRel);
        let moves = |port: &mut Port| port.fd = next;
        state.port.as_mut().map(moves);
        self.file.store(next, Ordering::Release);
        true
    }
}
