//! OpenSM's agent and the read agent: registering, lending, taking back.
//!
//! The read agent has a umad file of its own, OpenSM's device opened once more. To lend it means to
//! send that file to sapphired and to stop reading it here; to take it back means to read it again.
//! Both have it open in between, so whichever process dies leaves a file that works to the other,
//! and the kernel drops the agent only when the last of the two closes it.
//!
//! That leads to the one case that is not obvious. OpenSM is restarted while sapphired has the
//! file: the new OpenSM's read agent is refused, since the agent of the old one still has the
//! methods. sapphired then gives the file to the new OpenSM ([`Split::returned`]), which goes on as
//! if it had lent it itself.

use core::sync::atomic::Ordering;
use std::os::fd::RawFd;

use split_protocol::{Frame, Reads};

use super::{Kernel, NO_PORT, Port, Reader, Split, State, lock};
use crate::registration::Registration;

impl<K: Kernel> Split<K> {
    /// The system, for the serving thread.
    pub(crate) fn kernel(&self) -> &K {
        &self.kernel
    }

    /// Makes the bells and the gate, which stay for the life of the process: OpenSM may open and
    /// close its port again and again. Without them there can be no split. Errors: the errno.
    pub(crate) fn prepare(&self, random: u64) -> Result<(), i32> {
        let _agents = lock(&self.agents);
        for bell in [&self.arrivals, &self.doorbell] {
            if bell.load(Ordering::Acquire) < 0 {
                bell.store(self.kernel.bell()?, Ordering::Release);
            }
        }
        if self.gate() < 0 {
            self.gate.store(self.kernel.gate()?, Ordering::Release);
        }
        lock(&self.state).requests.seed(random);
        Ok(())
    }

    /// Whether there is a file already. OpenSM has one: it serves the SA on one port.
    pub(crate) fn is_taken(&self) -> bool {
        self.file.load(Ordering::Acquire) >= 0
    }

    /// OpenSM has registered for the SA, without the methods that read, as `registration` has it
    /// with all of them. Registers the read agent. Where the kernel refuses, OpenSM goes on without
    /// reads until it does not.
    pub(crate) fn opened(&self, fd: RawFd, umad: u32, agent: u32, registration: &Registration) {
        let _agents = lock(&self.agents);
        let mut state = lock(&self.state);
        state.port = Some(Port {
            fd,
            umad,
            agent,
            registration: registration.only_reads(),
            reader: None,
            reads: Reads::Refused(0),
            refused_at: None,
        });
        // It was told that there is no port, or another.
        self.hang_up(&mut state);
        drop(state);
        self.kernel_has.store(false, Ordering::Release);
        self.reader_has.store(false, Ordering::Release);
        // Before the file's number: who sees the number asks whose it is.
        self.owner.store(std::process::id(), Ordering::Release);
        self.file.store(fd, Ordering::Release);
        self.hold();
        self.kernel.ring(self.doorbell());
    }

    /// OpenSM has registered with all methods on a simulated file, for the SA by `agent`. What it reads
    /// there is overheard, and requests of sapphired's go before what comes from the network; as nothing
    /// wakes OpenSM for them, they wait for the next packet.
    pub(crate) fn watches(&self, fd: RawFd, agent: u32, registration: &Registration) {
        let _agents = lock(&self.agents);
        lock(&self.state).port = Some(Port {
            fd,
            umad: u32::MAX,
            agent,
            registration: *registration,
            reader: None,
            reads: NO_PORT,
            refused_at: None,
        });
        self.watched.store(fd, Ordering::Release);
    }

    /// OpenSM is about to give its registration up, by closing the file or by the agent's number.
    /// Everything on its way is dropped. Where it only closes one of several numbers of the file,
    /// the split goes on.
    pub(crate) fn closes(&self, fd: RawFd, agent: Option<u32>) {
        let _agents = lock(&self.agents);
        let mut state = lock(&self.state);
        let ends = |port: &mut Port| port.fd == fd && agent.is_none_or(|agent| agent == port.agent);
        if agent.is_none() && self.goes_on_by_another(&mut state, fd) {
            return;
        }
        let Some(port) = state.port.take_if(ends) else {
            return;
        };
        self.file.store(-1, Ordering::Release);
        state.requests.clear();
        state.reports.clear();
        state.arrived.clear();
        self.kernel.silence(self.arrivals());
        self.hang_up(&mut state);
        drop(state);
        if let Some(reader) = port.reader {
            // A daemon that has been lent it goes on for a while.
            // Lent, it lives on in the daemon, and may be given to the next OpenSM.
            if port.reads == Reads::Held {
                let _ = self.kernel.unregister(reader.fd, reader.agent);
            }
            self.drop_reader(reader);
        }
        self.kernel.ring(self.doorbell());
    }

    /// Closes the read agent's file here. A daemon may have it, too, and then the agent lives on.
    fn drop_reader(&self, reader: Reader) {
        // The number goes first: once closed, it may be another file's at once.
        self.reader.store(-1, Ordering::Release);
        self.kernel.let_through(self.gate(), reader.fd, false);
        self.kernel.close(reader.fd);
    }

    /// Registers the read agent if that is wanted and not so. Called at every turn of the serving
    /// thread, so that the methods come back soon after whoever had them is gone. With
    /// [`Self::agents`] locked.
    pub(super) fn hold(&self) {
        let state = lock(&self.state);
        let Some(port) = &state.port else { return };
        // On a simulated file there is nothing to register.
        if !matches!(port.reads, Reads::Refused(_)) || self.is_watched(port.fd) {
            return;
        }
        let (fd, registration) = (port.fd, port.registration);
        // Opening and registering take long; OpenSM's packets must not wait for that.
        drop(state);
        let outcome = self.kernel.open_again(fd).and_then(|reader| {
            let agent = self.kernel.register(reader, &registration);
            agent
                .map(|agent| Reader { fd: reader, agent })
                .inspect_err(|_| self.kernel.close(reader))
        });
        let mut state = lock(&self.state);
        let Some(port) = &mut state.port else { return };
        let reads = match outcome {
            Ok(reader) => {
                self.reader.store(reader.fd, Ordering::Release);
                port.reader = Some(reader);
                port.refused_at = None;
                Reads::Held
            }
            Err(error) => {
                port.refused_at.get_or_insert_with(|| self.kernel.now());
                Reads::Refused(error)
            }
        };
        self.set_reads(&mut state, reads);
    }

    /// From now on they are these: opens or shuts the gate, and tells the daemon where something
    /// changed.
    fn set_reads(&self, state: &mut State, reads: Reads) {
        let Some(port) = &mut state.port else { return };
        let changed = core::mem::replace(&mut port.reads, reads) != reads;
        if let Some(reader) = port.reader {
            let lets = reads == Reads::Held;
            self.kernel.let_through(self.gate(), reader.fd, lets);
        }
        if changed {
            self.push(state, Frame::Reads(reads));
        }
    }

    /// The read agent's file is of no use any more: the device is gone. `error`: the errno.
    /// Attempts to get the methods again go on by themselves.
    pub(crate) fn reader_fails(&self, error: i32) {
        let _agents = lock(&self.agents);
        let mut state = lock(&self.state);
        let Some(port) = &mut state.port else { return };
        port.refused_at.get_or_insert_with(|| self.kernel.now());
        let reader = port.reader.take();
        self.set_reads(&mut state, Reads::Refused(error));
        drop(state);
        if let Some(reader) = reader {
            self.drop_reader(reader);
        }
        self.kernel.ring(self.doorbell());
    }

    /// The daemon is gone: OpenSM gets the read methods back. Also what it was asked is forgotten,
    /// so that its answers reach nobody.
    pub(crate) fn detach(&self) {
        let mut state = lock(&self.state);
        state.daemon = None;
        state.daemons = state.daemons.wrapping_add(1);
        state.requests.clear();
        drop(state);
        self.overheard.end();
        self.takes_back();
    }

    /// The daemon says: lend me the read methods. Answered by the file, or by who has them.
    pub(crate) fn lend(&self) {
        let _agents = lock(&self.agents);
        let mut state = lock(&self.state);
        let now = self.kernel.now();
        if let Some(daemon) = &mut state.daemon {
            // The patience begins with the loan, whenever the last beat was.
            daemon.beat = now;
        }
        let port = state.port.as_mut();
        let port = port.filter(|port| matches!(port.reads, Reads::Held | Reads::Lent));
        let Some(reader) = port.and_then(|port| port.reader) else {
            drop(state);
            self.tell_reads();
            return;
        };
        if let Some(port) = &mut state.port {
            port.reads = Reads::Lent;
        }
        // What OpenSM has been told of it still reads.
        self.kernel.let_through(self.gate(), reader.fd, false);
        self.push(&mut state, Frame::Lent(reader.agent));
    }

    /// The file that is lent, and goes with [`Frame::Lent`]. None where the methods were taken back
    /// since that frame was queued.
    pub(crate) fn lent_file(&self) -> Option<RawFd> {
        let state = lock(&self.state);
        let port = state.port.as_ref()?;
        Some(port.reader.filter(|_| port.reads == Reads::Lent)?.fd)
    }

    /// The daemon has a file that the OpenSM before this one lent it. Takes the descriptor, closing
    /// it where it is of no use. False: it is no file of this port's device, which no good daemon
    /// sends.
    pub(crate) fn returned(&self, fd: RawFd, agent: u32) -> bool {
        let _agents = lock(&self.agents);
        let mut state = lock(&self.state);
        let now = self.kernel.now();
        let is_of_it = |port: &Port| self.kernel.are_of_one_device(port.fd, fd);
        if !state.port.as_ref().is_some_and(is_of_it) {
            drop(state);
            self.kernel.close(fd);
            return false;
        }
        let State { port, daemon, .. } = &mut *state;
        let (Some(port), Some(daemon)) = (port, daemon) else {
            drop(state);
            self.kernel.close(fd);
            return true;
        };
        if port.reader.is_some() {
            // This OpenSM has got them meanwhile: what was lent is of no use any more.
            drop(state);
            self.kernel.close(fd);
        } else {
            daemon.beat = now;
            self.reader.store(fd, Ordering::Release);
            port.reader = Some(Reader { fd, agent });
            port.reads = Reads::Lent;
            port.refused_at = None;
            drop(state);
        }
        self.tell_reads();
        true
    }

    /// The daemon says: take them back. Answered even where nothing changed.
    pub(crate) fn take_back(&self) {
        self.takes_back();
        self.tell_reads();
    }

    /// Takes them back if they are lent.
    fn takes_back(&self) {
        let _agents = lock(&self.agents);
        let mut state = lock(&self.state);
        let is_lent = |port: &Port| port.reads == Reads::Lent;
        if state.port.as_ref().is_some_and(is_lent) {
            self.set_reads(&mut state, Reads::Held);
        }
    }

    /// The daemon lives. `number`: it wants it back, and gets it only while the methods are lent.
    /// After a break the daemon answers nobody before it has such an answer.
    pub(crate) fn beats(&self, number: u64) {
        let mut state = lock(&self.state);
        let is_lent = |port: &Port| port.reads == Reads::Lent;
        let is_lent = state.port.as_ref().is_some_and(is_lent);
        let now = self.kernel.now();
        if let Some(daemon) = &mut state.daemon {
            daemon.beat = now;
        }
        if is_lent {
            self.push(&mut state, Frame::Beat(number));
        }
    }

    /// Tells the daemon who has the methods now: the answer to an order, also where nothing
    /// changed.
    fn tell_reads(&self) {
        let mut state = lock(&self.state);
        let reads = state.port.as_ref().map_or(NO_PORT, |port| port.reads);
        // What was said of an attempt on the way is of no interest.
        if let Some(daemon) = &mut state.daemon {
            daemon
                .frames
                .retain(|frame| !matches!(frame, Frame::Reads(_)));
        }
        self.push(&mut state, Frame::Reads(reads));
    }
}
