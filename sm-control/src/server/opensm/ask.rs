//! Reading the fabric from the OpenSM of this host, over its socket.
//!
//! OpenSM's own port cannot ask OpenSM by umad: a MAD to itself would come back by loopback, to
//! whoever holds the read methods, which may be this daemon. So requests go over the library's
//! socket, which puts them among what OpenSM reads. While OpenSM is a standby it answers nothing,
//! and the master elsewhere is asked on the wire.

use core::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sa_source::written::Written;
use sa_source::{Ask, AskError, Reopening, SaSource, SaTransport};
use sa_wire::Lid;
use sa_wire::umad::{MAD_SIZE, Slot};

use super::{Link, Shared};

/// How long OpenSM may take. While it routes a large fabric it takes longer: then it is asked
/// again.
const PATIENCE: Duration = Duration::from_secs(3);

/// Asks OpenSM as from the port that it is on; while it is a standby, the master on the wire.
///
/// Who is the one to ask is looked up at each question: an OpenSM may become the master between two
/// of them.
pub(in crate::server) struct SocketAsk {
    /// To OpenSM here.
    link: Arc<Link>,
    /// Says whether OpenSM here is the master, and its LID.
    shared: Arc<Shared>,
    /// To the master elsewhere; opened when it is first needed.
    wire: Reopening,
}

impl SocketAsk {
    /// `device`: of OpenSM's port, by which a master elsewhere is asked.
    ///
    /// Nothing is opened yet.
    pub(super) fn new(link: Arc<Link>, shared: Arc<Shared>, device: Option<String>) -> Self {
        let transport = SaTransport::Umad { device, port: None };
        Self {
            link,
            shared,
            wire: Reopening::new(SaSource::over(transport)),
        }
    }

    /// Whether OpenSM of this host is the one to ask.
    fn is_here(&self) -> bool {
        !self.shared.is_elsewhere()
    }
}

impl Ask for SocketAsk {
    fn ask(&mut self, request: &[u8; MAD_SIZE]) -> Result<Vec<u8>, AskError> {
        self.ask_within(request, PATIENCE)
    }

    fn ask_within(
        &mut self,
        request: &[u8; MAD_SIZE],
        patience: Duration,
    ) -> Result<Vec<u8>, AskError> {
        // On the wire with its own patience: a master elsewhere is not behind a socket.
        if !self.is_here() {
            return self.wire.ask(request);
        }
        let mut slot = Slot::EMPTY;
        slot.mad = *request;
        // As from the port itself.
        slot.header.lid = Lid::raw(self.lid()).into();
        slot.header.qpn = 1.into();
        // Before waiting: without a connection no answer can come.
        if self.link.connected().is_none() {
            let what = "OpenSM is away, or runs without the preload library";
            return Err(AskError::Gone(what.to_owned()));
        }
        self.link.ask_and_wait(&slot, patience).ok_or_else(|| {
            let what = "OpenSM does not answer; is it the master, and done with its first sweep?";
            AskError::Unanswered(what.to_owned())
        })
    }

    fn lid(&self) -> Option<Lid> {
        Lid::new(self.shared.lid.load(Ordering::SeqCst)).ok()
    }

    fn whom(&self) -> String {
        if self.is_here() {
            "the OpenSM of this host".to_owned()
        } else {
            self.wire.whom()
        }
    }

    /// Only of a master: what a standby hears is not what the master writes.
    fn overheard(&self) -> Option<Arc<Mutex<Written>>> {
        (self.is_here() && self.link.connected().is_some()).then(|| self.link.written())
    }
}
