//! A client that outlives the ways to the SA.

use sa_wire::umad::MAD_SIZE;

use super::{Ask, AskError, Client, SaSource};

/// Asks through the port that a configuration names, opened when it is first needed and again when
/// nobody answered: the device may have come back, the SM may have moved.
pub struct Reopening {
    source: SaSource,
    open: Option<Client>,
    /// The LID that requests came from last.
    lid: u16,
}

impl Reopening {
    /// Opens nothing yet.
    pub const fn new(source: SaSource) -> Self {
        Self {
            source,
            open: None,
            lid: 0,
        }
    }
}

impl Ask for Reopening {
    fn ask(&mut self, request: &[u8; MAD_SIZE]) -> Result<Vec<u8>, AskError> {
        let client = match &mut self.open {
            Some(client) => client,
            closed => closed.insert(self.source.open()?),
        };
        self.lid = client.lid();
        let reply = client.ask(request);
        if reply.is_err() {
            self.open = None;
        }
        reply
    }

    fn lid(&self) -> u16 {
        self.lid
    }

    fn whom(&self) -> String {
        let open = self.open.as_ref();
        open.map_or_else(|| "the SA".to_owned(), Client::whom)
    }
}
