//! Requests, and a client that asks both SAs.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sa_port::umad::UmadClient;
use sa_port::{AskError, ClientPort, Destination, Patience, Reply};
use sa_tests::records::{Request, SA_KEY};
use sa_wire::mad::method;
use sa_wire::sa::{AttributeId, DATA_OFFSET, DATA_SIZE, SaMad};
use sa_wire::umad::MAD_SIZE;

use super::PATIENCE;
use super::seen::stride;

/// A MAD as a client writes it to umad.
fn mad(request: &Request, transaction: u64) -> Result<[u8; MAD_SIZE]> {
    ensure!(request.data.len() <= DATA_SIZE, "more than a MAD");
    let mut slot = request.slot(0, transaction);
    if request.asked == method::GET_MULTI {
        SaMad::from_bytes_mut(&mut slot.mad).rmpp = sa_wire::rmpp::RmppHeader::data(
            sa_wire::rmpp::flag::SINGLE,
            1,
            sa_wire::rmpp::SEGMENT_PAYLOAD,
        );
    }
    Ok(slot.mad)
}

/// A client of both.
pub(crate) struct Client {
    port: UmadClient,
    pub(crate) lid: u16,
    pub(super) theirs: Destination,
    pub(super) ours: Destination,
    transaction: u64,
}

impl Client {
    /// On a device, with our SA at a LID.
    pub(crate) fn on(device: &str, ours: sa_wire::Lid) -> Result<Self> {
        let port = UmadClient::open(Some(device), Some(1))?;
        let theirs = port.sa().context("no SM has configured the port")?;
        Ok(Self {
            lid: sa_wire::Lid::raw(port.name().state().lid),
            port,
            theirs,
            ours: Destination::sa(ours),
            transaction: 0,
        })
    }

    /// On a device, of the SA that its SM named.
    pub(crate) fn of_the_sa(device: &str) -> Result<Self> {
        let port = UmadClient::open(Some(device), Some(1))?;
        let sm = port.name().state().sm_lid.context("no SM")?;
        drop(port);
        Self::on(device, sm)
    }

    /// The reply; none when there is none within `patience`.
    pub(super) fn ask(
        &mut self,
        whom: Destination,
        request: &Request,
        patience: Duration,
    ) -> Result<Option<Vec<u8>>> {
        self.transaction += 1;
        let mad = mad(request, self.transaction)?;
        let patience = Patience {
            timeout: patience,
            retries: 0,
        };
        let mut reply = Reply::default();
        match self.port.ask(&whom, &mad, patience, &mut reply) {
            Ok(()) => Ok(Some(reply.mad)),
            Err(AskError::TimedOut { .. }) => Ok(None),
            Err(other) => Err(other.into()),
        }
    }

    /// What OpenSM has of an attribute, as this client sees it: whole records.
    pub(crate) fn table(&mut self, attribute: AttributeId) -> Result<Vec<Vec<u8>>> {
        let is_secret = attribute == AttributeId::PKEY_TABLE_RECORD;
        let request = Request {
            attribute,
            asked: method::GET_TABLE,
            mask: 0,
            modifier: 0,
            key: if is_secret { SA_KEY } else { 0 },
            data: Vec::new(),
        };
        let reply = self.ask(self.theirs, &request, PATIENCE)?;
        let reply = reply.with_context(|| format!("OpenSM gave no {attribute} table"))?;
        let records = reply.get(DATA_OFFSET..).unwrap_or_default();
        Ok(records
            .chunks_exact(stride(&reply).max(1))
            .map(<[u8]>::to_vec)
            .collect())
    }
}
