//! OpenSM's agent and the read agent.

use core::sync::atomic::Ordering;
use std::os::fd::RawFd;

use split_protocol::{Frame, Reads};

use super::{Kernel, NO_PORT, Port, Split, lock};
use crate::registration::Registration;

impl<K: Kernel> Split<K> {
    pub(crate) fn kernel(&self) -> &K {
        &self.kernel
    }

    /// Makes the bells. Without them there can be no split. Errors: the errno.
    pub(crate) fn prepare(&self, random: u64) -> Result<(), i32> {
        let _agents = lock(&self.agents);
        for bell in [&self.arrivals, &self.doorbell] {
            if bell.load(Ordering::Acquire) < 0 {
                bell.store(self.kernel.bell()?, Ordering::Release);
            }
        }
        lock(&self.state).requests.seed(random);
        Ok(())
    }

    /// Whether there is a file already. OpenSM has one.
    pub(crate) fn is_taken(&self) -> bool {
        self.file.load(Ordering::Acquire) >= 0
    }

    /// OpenSM has registered for the SA, without the methods that read, as `registration` has it
    /// with all of them. Registers the read agent.
    pub(crate) fn opened(&self, fd: RawFd, umad: u32, agent: u32, registration: &Registration) {
        let _agents = lock(&self.agents);
        let mut state = lock(&self.state);
        state.port = Some(Port {
            fd,
            umad,
            agent,
            registration: registration.only_reads(),
            read_agent: None,
            reads: Reads::Refused(0),
            refused_at: None,
        });
        // It was told that there is no port, or another.
        self.hang_up(&mut state);
        drop(state);
        self.kernel_has.store(false, Ordering::Release);
        self.owner.store(std::process::id(), Ordering::Release);
        self.file.store(fd, Ordering::Release);
        self.hold();
        self.kernel.ring(self.doorbell());
    }

    /// OpenSM is about to give its registration up, by closing the file or by the agent's number.
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
        if let Some(reader) = port.read_agent {
            let _ = self.kernel.unregister(fd, reader);
        }
        self.kernel.ring(self.doorbell());
    }

    /// Registers the read agent if that is wanted and not so. With [`Self::agents`] locked.
    pub(super) fn hold(&self) {
        let state = lock(&self.state);
        let Some(port) = &state.port else { return };
        if !matches!(port.reads, Reads::Refused(_)) {
            return;
        }
        let (fd, registration) = (port.fd, port.registration);
        drop(state);
        let outcome = self.kernel.register(fd, &registration);
        let mut state = lock(&self.state);
        let Some(port) = &mut state.port else { return };
        let reads = match outcome {
            Ok(agent) => {
                port.read_agent = Some(agent);
                port.refused_at = None;
                Reads::Held
            }
            Err(error) => {
                port.refused_at.get_or_insert_with(|| self.kernel.now());
                Reads::Refused(error)
            }
        };
        let changed = port.reads != reads;
        port.reads = reads;
        if changed {
            self.push(&mut state, Frame::Reads(reads));
        }
    }

    /// It is gone: OpenSM gets the read methods back.
    pub(crate) fn detach(&self) {
        let mut state = lock(&self.state);
        state.daemon = None;
        state.daemons = state.daemons.wrapping_add(1);
        state.requests.clear();
        drop(state);
        self.want(Reads::Refused(0));
    }

    /// The daemon says: give the read methods free.
    pub(crate) fn give_free(&self) {
        self.want(Reads::Free);
        self.tell_reads();
    }

    /// The daemon says: take them back.
    pub(crate) fn take_back(&self) {
        self.want(Reads::Refused(0));
        self.tell_reads();
    }

    /// Makes it so that nobody, or OpenSM, has the read methods.
    fn want(&self, wanted: Reads) {
        let _agents = lock(&self.agents);
        let mut state = lock(&self.state);
        let Some(port) = &mut state.port else { return };
        match (wanted, port.reads) {
            (Reads::Free, _) => {
                port.reads = Reads::Free;
                port.refused_at = None;
                let (fd, reader) = (port.fd, port.read_agent.take());
                drop(state);
                if let Some(reader) = reader {
                    let _ = self.kernel.unregister(fd, reader);
                }
            }
            (_, Reads::Free) => {
                port.reads = wanted;
                drop(state);
                self.hold();
            }
            _ => {}
        }
    }

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
