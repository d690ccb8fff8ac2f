//! OpenSM and this program's database, side by side.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};
use sa_rig::{Fabric, Process};
use sa_service::sa_db::{Now, SaDatabase};
use sa_wire::mad::method;
use sa_wire::sa::{AttributeId, DATA_OFFSET};

use super::requests::Request;
use crate::records::bench::{Bench, Client};
use crate::records::site::Site;

/// Bytes of a reply that the preload library, under which OpenSM runs, passes on.
const SEEN: usize = 224;

/// Flow label and hop limit of a path to a group: OpenSM leaves the label in its host's byte order.
const FLOW_WORD: core::ops::Range<usize> = DATA_OFFSET + 44..DATA_OFFSET + 48;

const NOW: Now = Now {
    steady: Duration::ZERO,
    unix: 0,
};

/// Both, and how they compare.
pub(crate) struct Pair {
    pub(crate) bench: Bench,
    pub(crate) database: SaDatabase,
    pub(crate) clients: Vec<Client>,
    differences: Vec<String>,
    /// By attribute, method and status.
    compared: BTreeMap<(AttributeId, u8, u16), usize>,
    transaction: u64,
}

impl Pair {
    pub(crate) fn start(site: &Site) -> Result<(Self, Fabric, Process)> {
        let (bench, fabric, opensm) = Bench::start(site)?;
        let mut database = SaDatabase::open(None, NOW)?;
        database.fabric_changed(None, bench.parts());
        let pair = Self {
            bench,
            database,
            clients: Vec::new(),
            differences: Vec::new(),
            compared: BTreeMap::new(),
            transaction: 0,
        };
        Ok((pair, fabric, opensm))
    }

    pub(crate) fn attach(&mut self, fabric: &Fabric, nodes: &[&str]) -> Result<()> {
        for node in nodes {
            self.clients.push(Client::on(fabric, node)?);
        }
        Ok(())
    }

    /// Asks both. Our reply.
    pub(crate) fn compare(&mut self, client: usize, request: &Request) -> Result<Option<Vec<u8>>> {
        self.transaction += 1;
        let client = &mut self.clients[client];
        let slot = request.slot(client.lid, self.transaction);
        let ours = self
            .database
            .respond(self.bench.parts(), &slot, 0, NOW)
            .reply;
        let theirs = client.ask(&slot, ours.is_some())?;
        let status = ours
            .as_ref()
            .map_or(0xffff, |reply| u16::from_be_bytes([reply[4], reply[5]]));
        let key = (request.attribute, request.asked, status);
        *self.compared.entry(key).or_default() += 1;
        let (mine, its) = (ours.as_deref().map(seen), theirs.as_deref().map(seen));
        if mine != its {
            self.differences.push(format!(
                "{} after {}: {} method {:#x} mask {:#x} key {} from LID {}\n  asked  {}\n  ours   {}\n  \
                 theirs {}",
                self.differences.len(),
                self.transaction,
                request.attribute,
                request.asked,
                request.mask,
                request.key,
                client.lid,
                hex(Some(&request.data)),
                hex(mine.as_deref()),
                hex(its.as_deref())
            ));
        }
        Ok(ours)
    }

    pub(crate) fn finish(&self) -> Result<()> {
        let total: usize = self.compared.values().sum();
        eprintln!("{total} requests compared:");
        for ((attribute, asked, status), count) in &self.compared {
            eprintln!("{count:6} {attribute} method {asked:#04x} status {status:#06x}");
        }
        let shown: Vec<String> = self.differences.iter().take(6).cloned().collect();
        ensure!(
            self.differences.is_empty(),
            "{} unexplained differences:\n{}",
            self.differences.len(),
            shown.join("\n")
        );
        Ok(())
    }
}

fn hex(bytes: Option<&[u8]>) -> String {
    bytes.map_or_else(
        || "no reply".to_owned(),
        |bytes| bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    )
}

/// What of a reply can be compared.
fn seen(reply: &[u8]) -> Vec<u8> {
    let mut bytes = reply.to_vec();
    bytes.resize(SEEN, 0);
    // The simulator marks transactions by client, and its library has no RMPP.
    bytes[8..12].fill(0);
    bytes[24..36].fill(0);
    let stride = 8 * usize::from(u16::from_be_bytes([bytes[44], bytes[45]]));
    if bytes[4..6] != [0, 0] {
        bytes.truncate(DATA_OFFSET);
        return bytes;
    }
    let is_one = matches!(bytes[3], method::GET_RESP | method::DELETE_RESP);
    let records = if is_one {
        stride
    } else {
        reply.len() - DATA_OFFSET
    };
    bytes.truncate((DATA_OFFSET + records).min(SEEN));
    let is_path = bytes[16..18] == AttributeId::PATH_RECORD.get().to_be_bytes();
    if let Some(word) = bytes.get_mut(FLOW_WORD).filter(|_| is_path) {
        word.fill(0);
    }
    bytes
}
