//! Requests, and a client that asks both SAs.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sa_fastpath::port::umad::{AskError, ClientPort, Destination, Patience, Reply, UmadClient};
use sa_wire::mad::method;
use sa_wire::records::Layout;
use sa_wire::request;
use sa_wire::sa::{AttributeId, DATA_OFFSET, DATA_SIZE, SaMad};
use sa_wire::umad::MAD_SIZE;

use super::seen::stride;
use super::{PATIENCE, SA_KEY};

/// One request. The data may be whatever a MAD holds.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) attribute: AttributeId,
    pub(crate) asked: u8,
    pub(crate) mask: u64,
    pub(crate) modifier: u32,
    pub(crate) key: u64,
    pub(crate) data: Vec<u8>,
}

impl Request {
    pub(crate) fn new(layout: &Layout, asked: u8, mask: u64, data: &[u8]) -> Self {
        let is_secret = layout.attribute == AttributeId::PKEY_TABLE_RECORD;
        Self {
            attribute: layout.attribute,
            asked,
            mask,
            modifier: 0,
            key: if is_secret { SA_KEY } else { 0 },
            data: data.to_vec(),
        }
    }

    /// A MAD as a client writes it to umad.
    pub(super) fn mad(&self, transaction: u64) -> Result<[u8; MAD_SIZE]> {
        ensure!(self.data.len() <= DATA_SIZE, "more than a MAD");
        let (asked, attribute) = (self.asked, self.attribute);
        let mut slot = request::request(0, asked, attribute, self.mask, &self.data);
        let mad = SaMad::from_bytes_mut(&mut slot.mad);
        mad.mad.transaction_id = transaction.into();
        mad.mad.attribute_modifier = self.modifier.into();
        mad.sa.sm_key = self.key.into();
        if self.asked == method::GET_MULTI {
            mad.rmpp = sa_wire::rmpp::RmppHeader::data(
                sa_wire::rmpp::flag::SINGLE,
                1,
                sa_wire::rmpp::SEGMENT_PAYLOAD,
            );
        }
        Ok(slot.mad)
    }
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
            lid: port.name().state().lid,
            port,
            theirs,
            ours: Destination::sa(ours),
            transaction: 0,
        })
    }

    /// On a device, of the SA that its SM named.
    pub(crate) fn of_the_sa(device: &str) -> Result<Self> {
        let port = UmadClient::open(Some(device), Some(1))?;
        let sm = sa_wire::Lid::new(port.name().state().sm_lid)?;
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
        let mad = request.mad(self.transaction)?;
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
