//! A client that outlives the ways to the SA.
//!
//! Daemons run for months; devices are reset, SMs move to another LID, a `sapphired` restarts and
//! leaves a ring behind that nobody serves. None of these is told to a client: its requests stop to
//! be answered. So any failure closes the way, and the next request opens one and looks up the SA's
//! LID again.
//!
//! It does not wait or try again itself: who asks knows how long there is time for.

use sa_wire::Lid;
use sa_wire::umad::MAD_SIZE;

use super::{Ask, AskError, Client, SaSource};

/// Asks through the port that a configuration names, opened when it is first needed and again when
/// nobody answered: the device may have come back, the SM may have moved.
///
/// Opening costs some system calls (on umad a look through sysfs), only after a failure.
pub struct Reopening {
    /// What to open, each time.
    source: SaSource,
    /// None before the first request, and after a failure.
    open: Option<Client>,
    /// The LID that requests came from last, also while nothing is open; none before the first.
    lid: Option<Lid>,
}

impl Reopening {
    /// Opens nothing yet.
    pub const fn new(source: SaSource) -> Self {
        Self {
            source,
            open: None,
            lid: None,
        }
    }
}

impl Ask for Reopening {
    fn ask(&mut self, request: &[u8; MAD_SIZE]) -> Result<Vec<u8>, AskError> {
        // An error of opening is the answer to this request, and the next one opens again.
        let client = match &mut self.open {
            Some(client) => client,
            closed => closed.insert(self.source.open()?),
        };
        self.lid = client.lid();
        let reply = client.ask(request);
        // Also where the SA was only silent: it may have moved, and that shows only when its LID is
        // looked up anew.
        if reply.is_err() {
            self.open = None;
        }
        reply
    }

    fn lid(&self) -> Option<Lid> {
        self.lid
    }

    fn whom(&self) -> String {
        let open = self.open.as_ref();
        open.map_or_else(|| "the SA".to_owned(), Client::whom)
    }
}
