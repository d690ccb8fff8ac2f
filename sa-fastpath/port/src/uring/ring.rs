//! A ring that runs one operation on each of its slots and comes back when all are done.
//!
//! Invariants that the blocks below name:
//! - *quiet*: no read or write is in flight when a call returns; if the ring breaks before that is
//!   reached, the slots are never freed;
//! - *own-slots*: every buffer handed to the ring is a slot of this ring, at most its 320 bytes,
//!   each in at most one operation.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsRawFd;

use io_uring::{IoUring, cqueue, opcode, squeue, types};
use sa_wire::umad::Slot;
use zerocopy::IntoBytes;

use super::Submit;
use crate::umad::By;
use crate::umad::sys::RawFile;
use crate::{BATCH, PortError};

/// Ring, files, and [`BATCH`] slots. The kernel knows all of them beforehand.
///
/// Between two calls nothing is in flight but the poll, so slots may be lent as plain references.
pub(super) struct Ring {
    ring: IoUring,
    /// Registered in this order: what is read and written, and what is only written.
    files: [RawFile; 2],
    submit: Submit,
    slots: Box<[Slot]>,
    /// Of the operation on each slot: bytes, or a negative errno.
    results: [i32; BATCH],
    poll: Poll,
    /// `RWF_NOWAIT`, until the file turns out not to have it.
    flags: i32,
    /// The ring failed with operations in flight.
    broken: bool,
}

/// What the poll request told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Poll {
    /// The poll request is with the kernel and will tell of the next packet.
    armed: bool,
    /// A packet may wait to be read.
    readable: bool,
}

impl Ring {
    /// The files must be non-blocking. Errors: the errno of setting the ring up.
    pub(super) fn new(files: [RawFile; 2], submit: Submit) -> Result<Self, i32> {
        let mut slots = vec![Slot::EMPTY; BATCH].into_boxed_slice();
        let ring = open(&files, submit, &mut slots);
        Ok(Self {
            ring: ring.map_err(|cause| cause.raw_os_error().unwrap_or(0))?,
            files,
            submit,
            slots,
            results: [0; BATCH],
            poll: Poll {
                armed: false,
                readable: false,
            },
            flags: libc::RWF_NOWAIT,
            broken: false,
        })
    }

    /// The file that is read.
    pub(super) fn receiving(&self) -> &RawFile {
        let [receive, _] = &self.files;
        receive
    }

    /// Something may wait, whatever the poll told.
    pub(super) fn look_again(&mut self) {
        self.poll.readable = true;
    }

    /// None once the ring is broken: the kernel may write to them.
    pub(super) fn slots(&mut self) -> &mut [Slot] {
        if self.broken {
            return &mut [];
        }
        &mut self.slots
    }

    /// Result of the last operation on a slot.
    pub(super) fn result(&self, at: usize) -> i32 {
        self.results.get(at).copied().unwrap_or(0)
    }

    /// False when nothing came since the last read found nothing. Asks the kernel only when the
    /// poll has to be set up.
    pub(super) fn is_readable(&mut self) -> Result<bool, PortError> {
        self.collect();
        if !self.poll.armed {
            let watch = opcode::PollAdd::new(RECEIVE, POLLIN).multi(true).build();
            // SAFETY: a poll has no buffer.
            // WHY: the ring has no safe way to submit.
            unsafe { self.push(&watch.user_data(POLL))? };
            // What came before the poll was there is found by trying.
            self.poll = Poll {
                armed: true,
                readable: true,
            };
            self.enter(0)?;
        }
        Ok(self.poll.readable)
    }

    /// Tries to read a packet into each of the first `count` slots.
    pub(super) fn read(&mut self, count: usize) -> Result<(), PortError> {
        // Before the reads, so that what the poll tells while they run is kept.
        self.poll.readable = false;
        self.run(count, |_, flags, bytes| {
            let whole = u32::try_from(bytes.len()).unwrap_or(0);
            let read = opcode::ReadFixed::new(RECEIVE, bytes.as_mut_ptr(), whole, ALL_SLOTS);
            Some(read.offset(AT_POSITION).rw_flags(flags).build())
        })?;
        let results = self.results.get(..count).unwrap_or_default();
        if results.contains(&-libc::EOPNOTSUPP) {
            // A file without that flag, as umad: next time without it.
            self.flags = 0;
        }
        let nothing = |result: &i32| matches!(-result, libc::EAGAIN | libc::ECANCELED);
        if !results.iter().any(nothing) {
            self.poll.readable = true;
        }
        Ok(())
    }

    /// Writes the first bytes of each of the first slots, as `writes` says.
    pub(super) fn write(&mut self, writes: &[Write]) -> Result<(), PortError> {
        self.run(writes.len(), |at, flags, bytes| {
            let whole = u32::try_from(bytes.len()).unwrap_or(0);
            let Write { length, by } = *writes.get(at).filter(|write| write.is_some())?;
            let file = match by {
                By::Owner => RECEIVE,
                By::Anyone => SEND,
            };
            let length = length.min(whole);
            let write = opcode::WriteFixed::new(file, bytes.as_ptr(), length, ALL_SLOTS);
            Some(write.offset(AT_POSITION).rw_flags(flags).build())
        })?;
        if self.results.contains(&-libc::EOPNOTSUPP) {
            self.flags = 0;
        }
        Ok(())
    }

    /// Submits an operation for each of the first `count` slots that is to have one, and waits for
    /// all.
    ///
    /// Kernels differ: an operation that finds nothing to do fails at once, or is parked until
    /// there is. What is parked is called back.
    fn run(
        &mut self,
        count: usize,
        operation: impl Fn(usize, i32, &mut [u8]) -> Option<squeue::Entry>,
    ) -> Result<(), PortError> {
        if self.broken {
            return Err(PortError::Closed);
        }
        let (flags, count) = (self.flags, count.min(BATCH));
        self.results = [0; BATCH];
        self.broken = count > 0;
        for at in 0..count {
            let Some(slot) = self.slots.get_mut(at) else {
                break;
            };
            let Some(entry) = operation(at, flags, slot.as_mut_bytes()) else {
                continue;
            };
            let entry = entry.user_data(tag(at));
            if let Some(result) = self.results.get_mut(at) {
                *result = PENDING;
            }
            // SAFETY: own-slots; quiet: this function waits, or leaves `broken` set.
            // WHY: submission of owned buffers is what a ring is.
            unsafe { self.push(&entry)? };
        }
        self.enter(0)?;
        self.await_the_kernel()?;
        self.collect();
        self.call_back(count)?;
        while self.open(count) > 0 {
            self.enter(1)?;
            self.collect();
        }
        self.broken = false;
        Ok(())
    }

    /// Where a thread of the kernel's takes the queue, an operation is parked only once it is taken.
    fn await_the_kernel(&mut self) -> Result<(), PortError> {
        if self.submit == Submit::Worker {
            return Ok(());
        }
        let mut looks = 0u32;
        while !self.ring.submission().is_empty() {
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(LOOKS) {
                // It may have fallen asleep, or want this core.
                self.enter(0)?;
                std::thread::yield_now();
            }
            core::hint::spin_loop();
        }
        Ok(())
    }

    /// Cancels the operations that are not done.
    fn call_back(&mut self, count: usize) -> Result<(), PortError> {
        for at in 0..count {
            if self.result(at) != PENDING {
                continue;
            }
            let cancel = opcode::AsyncCancel::new(tag(at)).build();
            // SAFETY: a cancellation has no buffer.
            // WHY: as above.
            unsafe { self.push(&cancel.user_data(CANCEL))? };
        }
        Ok(())
    }

    /// How many of the first operations are not done yet.
    fn open(&self, count: usize) -> usize {
        let pending = |result: &&i32| **result == PENDING;
        self.results.iter().take(count).filter(pending).count()
    }

    /// Takes the completions that are there. Gives how many.
    fn collect(&mut self) -> usize {
        let Self {
            ring,
            poll,
            results,
            ..
        } = self;
        let mut taken = 0;
        for event in ring.completion() {
            taken += 1;
            match event.user_data() {
                POLL => {
                    poll.readable = true;
                    poll.armed = cqueue::more(event.flags());
                }
                CANCEL => {}
                at => {
                    let place = usize::try_from(at).ok().and_then(|at| results.get_mut(at));
                    if let Some(place) = place {
                        *place = event.result();
                    }
                }
            }
        }
        taken
    }

    /// # Safety
    ///
    /// A buffer in `entry` must stay valid, and untouched by others, until the operation is done.
    unsafe fn push(&mut self, entry: &squeue::Entry) -> Result<(), PortError> {
        // SAFETY: the caller's obligation.
        // WHY: as above.
        let pushed = unsafe { self.ring.submission().push(entry) };
        pushed.map_err(|_| PortError::Os {
            what: "queueing for io_uring",
            errno: libc::EBUSY,
        })
    }

    /// Hands the queue to the kernel and waits for `want` completions, or until some were taken
    /// because there was no room for more. Errors: [`enter`]'s.
    fn enter(&mut self, want: usize) -> Result<(), PortError> {
        enter(self, want)
    }
}

/// What [`enter`] needs of a ring.
trait Kernel {
    /// `io_uring_enter`. Errors: the system's.
    fn submit(&mut self, want: usize) -> io::Result<usize>;

    /// Takes the completions that are there. Gives how many.
    fn collect(&mut self) -> usize;
}

impl Kernel for Ring {
    fn submit(&mut self, want: usize) -> io::Result<usize> {
        self.ring.submit_and_wait(want)
    }

    fn collect(&mut self) -> usize {
        Self::collect(self)
    }
}

/// Hands the queue over. Where the kernel says that completions must be taken first, or that it has
/// no memory now, they are: it would say the same for ever otherwise. The caller then looks anew
/// whether it still waits for any. Errors: the ring is broken, or stays busy with nothing to take.
fn enter(ring: &mut impl Kernel, want: usize) -> Result<(), PortError> {
    let failed = |errno| PortError::Os {
        what: "entering io_uring",
        errno,
    };
    for _ in 0..TRIES {
        let cause = match ring.submit(want) {
            Ok(_) => return Ok(()),
            Err(cause) => cause.raw_os_error().unwrap_or(0),
        };
        match cause {
            libc::EINTR => {}
            libc::EAGAIN | libc::EBUSY => match ring.collect() {
                0 => std::thread::yield_now(),
                _ if want > 0 => return Ok(()),
                _ => {}
            },
            errno => return Err(failed(errno)),
        }
    }
    Err(failed(libc::EBUSY))
}

/// A ring that knows files and slots. Errors: the operating system's.
fn open(files: &[RawFile; 2], submit: Submit, slots: &mut [Slot]) -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    if submit == Submit::Kernel {
        builder.setup_sqpoll(SLEEPS_AFTER);
    }
    let ring = builder.build(ENTRIES)?;
    let descriptors = files.each_ref().map(AsRawFd::as_raw_fd);
    ring.submitter().register_files(&descriptors)?;
    let bytes = slots.as_mut_bytes();
    let whole = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: own-slots: the slots live as long as the ring, or for ever.
    // WHY: a registered buffer is pinned once instead of for each operation.
    unsafe { ring.submitter().register_buffers(&[whole])? };
    Ok(ring)
}

/// What to write of a slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Write {
    /// Units: bytes; 0 is nothing.
    length: u32,
    by: By,
}

impl Write {
    /// Nothing of this slot.
    pub(super) const NONE: Self = Self {
        length: 0,
        by: By::Anyone,
    };

    /// So many bytes of the slot, by this agent.
    pub(super) const fn new(length: u32, by: By) -> Self {
        Self { length, by }
    }

    /// True when something is to be written.
    pub(super) const fn is_some(&self) -> bool {
        self.length > 0
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if self.broken {
            // quiet: the kernel may still write to them.
            core::mem::forget(core::mem::take(&mut self.slots));
        }
    }
}

/// User data of a slot's operation.
fn tag(at: usize) -> u64 {
    u64::try_from(at).unwrap_or(CANCEL)
}

/// A batch and as many cancellations, and the poll; a power of two.
const ENTRIES: u32 = 256;
/// "Where the file is", for descriptors that have no position.
const AT_POSITION: u64 = u64::MAX;
/// User data; slots use their index.
const POLL: u64 = u64::MAX;
/// User data of a cancellation, whose completion nobody waits for.
const CANCEL: u64 = u64::MAX - 1;
/// No errno and no length.
const PENDING: i32 = i32::MIN;
/// The event that the poll waits for.
const POLLIN: u32 = 1;
// Registered files.
const RECEIVE: types::Fixed = types::Fixed(0);
const SEND: types::Fixed = types::Fixed(1);
/// The buffer that was registered: all slots are one.
const ALL_SLOTS: u16 = 0;
/// The kernel's thread, when nothing came. Units: ms.
const SLEEPS_AFTER: u32 = 1000;
/// Between two wake-ups of the kernel's thread.
const LOOKS: u32 = 256;
/// A kernel that is busy for longer is not going to take anything.
const TRIES: u32 = 100_000;

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn parked_reads_are_called_back_and_later_data_is_noticed() {
        notices_later_data(Submit::Worker);
        notices_later_data(Submit::Kernel);
    }

    const PATIENCE: Duration = Duration::from_secs(10);

    /// A kernel whose completion queue is full: it takes nothing before something is taken out.
    struct Full {
        completions: usize,
        room: usize,
        submitted: bool,
        errno: i32,
        interrupted: u32,
    }

    impl Full {
        fn of(completions: usize, errno: i32) -> Self {
            Self {
                completions,
                room: 4,
                submitted: false,
                errno,
                interrupted: 2,
            }
        }
    }

    impl Kernel for Full {
        fn submit(&mut self, want: usize) -> io::Result<usize> {
            if self.interrupted > 0 {
                self.interrupted -= 1;
                return Err(io::Error::from_raw_os_error(libc::EINTR));
            }
            if self.completions >= self.room || self.errno == libc::ENXIO {
                return Err(io::Error::from_raw_os_error(self.errno));
            }
            assert!(want <= self.completions + 1, "it would wait for ever");
            self.submitted = true;
            Ok(1)
        }

        fn collect(&mut self) -> usize {
            core::mem::take(&mut self.completions)
        }
    }

    #[test]
    fn a_busy_kernel_is_not_asked_again_before_its_completions_were_taken() {
        for errno in [libc::EBUSY, libc::EAGAIN] {
            // What only submits has submitted then.
            let mut full = Full::of(4, errno);
            enter(&mut full, 0).unwrap();
            assert!(full.submitted && full.completions == 0);
            // What waits must see first whether it has what it waited for.
            let mut full = Full::of(4, errno);
            enter(&mut full, 1).unwrap();
            assert!(!full.submitted && full.completions == 0);
            enter(&mut full, 1).unwrap();
            assert!(full.submitted);
            // Busy with nothing to take: an end, in place of a worker that never stops.
            let mut stuck = Full::of(0, errno);
            stuck.room = 0;
            let said = enter(&mut stuck, 1).unwrap_err().to_string();
            assert!(said.contains("entering io_uring"), "{said}");
        }
        let broken = enter(&mut Full::of(0, libc::ENXIO), 0);
        assert!(matches!(
            broken,
            Err(PortError::Os {
                errno: libc::ENXIO,
                ..
            })
        ));
    }

    /// A kernel that parks reads instead of failing them.
    fn notices_later_data(submit: Submit) {
        let (near, far) = crate::umad::packet_pair().unwrap();
        let file = RawFile::from(near);
        file.set_nonblocking().unwrap();
        let again = file.duplicate().unwrap();
        let Ok(mut ring) = Ring::new([file, again], submit) else {
            return;
        };
        let mut far = File::from(far);
        ring.flags = 0;
        for round in 0..50u8 {
            assert!(ring.is_readable().unwrap() || round > 0);
            ring.read(4).unwrap();
            assert!((0..4).all(|at| ring.result(at) < 0), "nothing was there");
            far.write_all(&[round; 320]).unwrap();
            let begun = Instant::now();
            while !ring.is_readable().unwrap() {
                assert!(begun.elapsed() < PATIENCE, "round {round}");
                std::thread::yield_now();
            }
            ring.read(4).unwrap();
            let got: Vec<usize> = (0..4).filter(|at| ring.result(*at) == 320).collect();
            assert_eq!(got.len(), 1);
            assert_eq!(ring.slots()[got[0]].mad[0], round);
        }
    }
}
