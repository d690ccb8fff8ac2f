//! OpenSM and our database, asked the same.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sa_compiler::pipeline::unix_time;
use sa_compiler::state::FabricState;
use sa_rig::{Fabric, Process, wait_for};
use sa_service::sa_db::{Now, Report, SaDatabase};
use sa_wire::mad::method;
use sa_wire::request;
use sa_wire::sa::{AttributeId, DATA_OFFSET, SaMad};
use sa_wire::umad::Slot;

use super::random::gid_of;
use crate::records::bench::{Bench, Client};
use crate::records::site::Site;

const PATIENCE: Duration = Duration::from_secs(60);

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) attribute: AttributeId,
    pub(crate) asked: u8,
    pub(crate) mask: u64,
    pub(crate) key: u64,
    pub(crate) data: Vec<u8>,
}

impl Ask {
    pub(crate) fn new(attribute: AttributeId, asked: u8, mask: u64, data: &[u8]) -> Self {
        Self {
            attribute,
            asked,
            mask,
            key: 0,
            data: data.to_vec(),
        }
    }

    pub(crate) fn slot(&self, requester: u16, transaction: u64) -> Slot {
        let (asked, attribute) = (self.asked, self.attribute);
        let mut slot = request::request(requester, asked, attribute, self.mask, &self.data);
        let mad = SaMad::from_bytes_mut(&mut slot.mad);
        mad.mad.transaction_id = transaction.into();
        mad.sa.sm_key = self.key.into();
        slot
    }
}

/// Both SAs, and clients on every node.
pub(crate) struct Pair {
    bench: Bench,
    pub(crate) clients: Vec<Client>,
    database: SaDatabase,
    started: Instant,
    transaction: u64,
    differences: Vec<String>,
    /// By attribute, method and status: how many.
    compared: BTreeMap<(AttributeId, u8, Option<u16>), usize>,
}

impl Pair {
    pub(crate) fn start(site: &Site) -> Result<(Self, Fabric, Process)> {
        let (bench, fabric, opensm) = Bench::start(site)?;
        let nodes = ["H1", "H2", "H3", "H4", "R1"].into_iter();
        let clients = nodes.map(|node| Client::on(&fabric, node));
        let now = Now {
            steady: Duration::ZERO,
            unix: unix_time(),
        };
        let mut database = SaDatabase::open(None, now)?;
        database.fabric_changed(None, bench.parts());
        let pair = Self {
            clients: clients.collect::<Result<_>>()?,
            bench,
            database,
            started: Instant::now(),
            transaction: 0,
            differences: Vec::new(),
            compared: BTreeMap::new(),
        };
        Ok((pair, fabric, opensm))
    }

    pub(crate) const fn parts(&self) -> &FabricState {
        self.bench.parts()
    }

    /// What ours says alone.
    pub(crate) fn respond(&mut self, slot: &Slot) -> Option<Vec<u8>> {
        let now = self.now();
        self.database
            .respond(self.bench.parts(), slot, 0, now)
            .reply
    }

    /// What ours would tell subscribers.
    pub(crate) fn reports(&mut self) -> Vec<Report> {
        self.database.reports(self.bench.parts())
    }

    /// After how long a service with this lease is gone: ours, and OpenSM's. Units: seconds.
    pub(crate) fn lease_ends(&mut self, lease: u32) -> Result<(f64, f64)> {
        let mut data = [0; 176];
        data[0] = 9;
        data[8..24].copy_from_slice(&gid_of(0x10_0001));
        data[28..32].copy_from_slice(&lease.to_be_bytes());
        let attribute = AttributeId::SERVICE_RECORD;
        let set = Ask::new(attribute, method::SET, 1 | 2 | 1 << 4, &data[..168]);
        self.compare(0, &set)?;
        let started = Instant::now();
        let get = Ask::new(attribute, method::GET, 1, &data[..168]);
        let (mut ours, mut theirs) = (None, None);
        let is_gone = |reply: &[u8]| reply[4..6] != [0, 0];
        wait_for("the end of the leases", PATIENCE, || {
            let slot = get.slot(self.clients[0].lid, 5);
            let since = started.elapsed().as_secs_f64();
            let reply = self.respond(&slot).unwrap_or_default();
            if is_gone(&reply) {
                ours.get_or_insert(since);
            }
            let reply = self.clients[0].ask(&slot, true).map_err(io::Error::other)?;
            if is_gone(&reply.unwrap_or_default()) {
                theirs.get_or_insert(since);
            }
            Ok(ours.is_some() && theirs.is_some())
        })?;
        Ok((ours.context("ours")?, theirs.context("theirs")?))
    }

    fn now(&self) -> Now {
        Now {
            steady: self.started.elapsed(),
            unix: unix_time(),
        }
    }

    /// Asks both; the status of OpenSM's reply.
    pub(crate) fn compare(&mut self, client: usize, ask: &Ask) -> Result<Option<u16>> {
        self.transaction += 1;
        let now = self.now();
        let client = &mut self.clients[client];
        let slot = ask.slot(client.lid, self.transaction);
        ensure!(SaDatabase::serves(SaMad::from_bytes(&slot.mad)));
        let parts = self.bench.parts();
        let ours = self.database.respond(parts, &slot, 0, now).reply;
        let theirs = client.ask(&slot, ours.is_some())?;
        let status = |reply: &Vec<u8>| u16::from_be_bytes([reply[4], reply[5]]);
        let status = theirs.as_ref().map(status);
        let key = (ask.attribute, ask.asked, status);
        *self.compared.entry(key).or_default() += 1;
        let (mut ours, theirs) = (ours.map(seen), theirs.map(seen));
        let is_trusted = ask.attribute == AttributeId::SERVICE_RECORD && ask.key != 0;
        if let (true, Some(ours), Some(theirs)) = (is_trusted, &mut ours, &theirs) {
            take_lease(ours, theirs, now.steady);
        }
        if ours != theirs {
            let hex = |reply: &Option<Vec<u8>>| {
                reply.as_ref().map_or_else(
                    || "no reply".to_owned(),
                    |bytes| bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
                )
            };
            self.differences.push(format!(
                "#{} {} method {:#x} mask {:#x} key {} from LID {}, asked {}\n  ours   {}\n  theirs {}",
                self.transaction,
                ask.attribute,
                ask.asked,
                ask.mask,
                ask.key,
                client.lid,
                hex(&Some(ask.data.clone())),
                hex(&ours),
                hex(&theirs)
            ));
        }
        Ok(status)
    }

    pub(crate) fn finish(&self) -> Result<()> {
        for ((attribute, asked, status), count) in &self.compared {
            let status = status.map_or("silence".to_owned(), |status| format!("{status:#06x}"));
            eprintln!("{count:6} x {attribute} {asked:#04x} {status}");
        }
        let all: usize = self.compared.values().sum();
        let count = self.differences.len();
        let first: Vec<_> = self.differences.iter().take(5).cloned().collect();
        ensure!(
            count == 0,
            "{count} of {all} replies differ:\n{}",
            first.join("\n")
        );
        eprintln!("{all} replies compared, none differs");
        Ok(())
    }
}

/// Who has the key is told what is left of a lease, by OpenSM the whole (row 78 of the deviations): it is no difference where no more time
/// is gone than has passed so far. One record is seen.
fn take_lease(ours: &mut [u8], theirs: &[u8], passed: Duration) {
    const LEASE: usize = DATA_OFFSET + 28;
    let lease = |reply: &[u8]| {
        let bytes = reply.get(LEASE..)?.first_chunk();
        bytes.map(|bytes| u64::from(u32::from_be_bytes(*bytes)))
    };
    if let (Some(left), Some(whole)) = (lease(ours), lease(theirs))
        && whole
            .checked_sub(left)
            .is_some_and(|gone| gone <= passed.as_secs())
    {
        ours[LEASE..LEASE + 4].copy_from_slice(&theirs[LEASE..LEASE + 4]);
    }
}

/// What of a reply can be compared: all that comes through the simulator, but RMPP's header (the
/// preload library has none).
fn seen(reply: Vec<u8>) -> Vec<u8> {
    const SEEN: usize = 224;
    let mut bytes = reply.clone();
    bytes.resize(SEEN, 0);
    // The simulator marks transactions by client.
    bytes[8..12].fill(0);
    bytes[24..36].fill(0);
    let is_error = bytes[4..6] != [0, 0];
    let attribute = AttributeId(u16::from_be_bytes([bytes[16], bytes[17]]));
    let stride = 8 * usize::from(u16::from_be_bytes([bytes[44], bytes[45]]));
    // Behind the records there is whatever was there before.
    let data = match bytes[3] {
        _ if is_error => SEEN,
        _ if attribute == AttributeId::INFORM_INFO => 36,
        method::GET_TABLE_RESP => reply.len() - DATA_OFFSET,
        _ => stride,
    };
    bytes.truncate((DATA_OFFSET + data).min(SEEN));
    bytes
}
