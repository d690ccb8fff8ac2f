//! OpenSM and this program as SAs of the same subnet, asked the same.

mod client;
mod seen;
mod tape;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sa_tests::records::Request;
use sa_wire::mad::method;
use sa_wire::records::Layout;
use sa_wire::sa::AttributeId;

pub(crate) use client::Client;
use seen::{LIDS, SL, raced, records_in, seen, set_sls, shown};
pub(crate) use tape::Tape;

/// What clients set: OpenSM's beside it, not ours (deviation 6).
const STATE: [AttributeId; 3] = [
    AttributeId::SERVICE_RECORD,
    AttributeId::MC_MEMBER_RECORD,
    AttributeId::INFORM_INFO_RECORD,
];

/// What was compared.
#[derive(Default)]
pub(crate) struct Bench {
    /// OpenSM's tables, by attribute and requester.
    tables: BTreeMap<(AttributeId, u16), Vec<Vec<u8>>>,
    /// By attribute: requests, of which records were found, records, differences.
    counts: BTreeMap<AttributeId, Counts>,
    differences: Vec<String>,
    /// On a torus, the SL of each path by its LIDs, as OpenSM's PathRecords have it: its
    /// MultiPathRecords have another (deviation 19).
    engine_sls: Option<BTreeMap<[u8; 4], u8>>,
    /// Where replies go that are compared later.
    tape: Option<Tape>,
}

/// None: nobody replied.
type Reply = Option<Vec<u8>>;

#[derive(Default)]
struct Counts {
    asked: usize,
    found: usize,
    records: usize,
}

impl Bench {
    /// Every record of an attribute, by the client's own account of OpenSM.
    pub(crate) fn learn(&mut self, client: &mut Client) -> Result<()> {
        for layout in Layout::ALL {
            if layout.attribute != AttributeId::CLASS_PORT_INFO {
                let table = client.table(layout.attribute)?;
                self.tables.insert((layout.attribute, client.lid), table);
            }
        }
        Ok(())
    }

    /// The routing engine chooses SLs.
    pub(crate) fn learn_sls(&mut self, client: &mut Client) -> Result<()> {
        let paths = client.table(AttributeId::PATH_RECORD)?;
        let sl = |record: &Vec<u8>| Some((*record.get(LIDS)?.first_chunk()?, record.get(SL)? & 15));
        self.engine_sls = Some(paths.iter().filter_map(sl).collect());
        Ok(())
    }

    /// What was learnt of an attribute.
    pub(crate) fn all(&self, layout: &Layout, requester: u16) -> Vec<Vec<u8>> {
        let known = self.tables.get(&(layout.attribute, requester));
        known.cloned().unwrap_or_default()
    }

    /// Asks both and notes what differs; asks one alone where what it says goes on a tape.
    pub(crate) fn compare(&mut self, client: &mut Client, request: &Request) -> Result<()> {
        let mut request = request.clone();
        if let Some((_, bit, _)) = raced(request.attribute) {
            request.mask &= !bit;
        }
        if let Some(tape) = &mut self.tape {
            return tape.record(client, request);
        }
        if STATE.contains(&request.attribute) {
            return Ok(());
        }
        let is_by_engine = request.asked == method::GET_MULTI && self.engine_sls.is_some();
        if is_by_engine {
            // OpenSM grants any.
            request.mask &= !MULTI_PATH_SL;
        }
        let (first, second) = (client.theirs, client.ours);
        let mut theirs = client.ask(first, &request, BRIEF)?;
        let mut ours = client.ask(second, &request, BRIEF)?;
        // Slow is not silent.
        if theirs.is_none() {
            let patience = if ours.is_some() { PATIENCE } else { SILENCE };
            theirs = client.ask(first, &request, patience)?;
        }
        if ours.is_none() && theirs.is_some() {
            ours = client.ask(second, &request, PATIENCE)?;
        }
        self.judge(&request, client.lid, (theirs, ours));
        Ok(())
    }

    /// Notes what differs in two replies to a request.
    fn judge(&mut self, request: &Request, from: u16, (theirs, ours): (Reply, Reply)) {
        let is_by_engine = request.asked == method::GET_MULTI && self.engine_sls.is_some();
        let counts = self.counts.entry(request.attribute).or_default();
        counts.asked += 1;
        if let Some(reply) = &theirs {
            let records = records_in(reply);
            counts.found += usize::from(records > 0);
            counts.records += records;
        }
        let (mut theirs, ours) = (
            theirs.map(|reply| seen(request, reply)),
            ours.map(|reply| seen(request, reply)),
        );
        if let (true, Some(reply), Some(sls)) = (is_by_engine, &mut theirs, &self.engine_sls) {
            set_sls(reply, sls);
        }
        if theirs != ours {
            let difference = shown(request, from, theirs.as_deref(), ours.as_deref());
            self.differences.push(difference);
        }
    }

    /// A bench that only records what the SA says.
    pub(crate) fn recording() -> Self {
        Self {
            tape: Some(Tape::default()),
            ..Self::default()
        }
    }

    /// What was recorded.
    pub(crate) fn into_tape(self) -> Tape {
        self.tape.unwrap_or_default()
    }

    /// Asks OpenSM what the tape has, from the same ports, and notes what differs. What clients
    /// set is compared too: beside OpenSM it is OpenSM's for both.
    pub(crate) fn replay(&mut self, clients: &mut [Client], tape: Tape) -> Result<()> {
        for (from, request, ours) in tape.into_entries() {
            let client = clients.iter_mut().find(|client| client.lid == from);
            let client = client.context("a port with the LID of before")?;
            let mut theirs = client.ask(client.theirs, &request, BRIEF)?;
            // Slow is not silent.
            if theirs.is_none() {
                let patience = if ours.is_some() { PATIENCE } else { SILENCE };
                theirs = client.ask(client.theirs, &request, patience)?;
            }
            self.judge(&request, from, (theirs, ours));
        }
        Ok(())
    }

    /// Prints the counts as results. Errors: some replies differ.
    pub(crate) fn finish(&self) -> Result<()> {
        for (attribute, counts) in &self.counts {
            println!(
                "{:6} requests for {attribute} compared, {} of them found {} records",
                counts.asked, counts.found, counts.records
            );
            println!("result 0x{:04x} {}", attribute.get(), counts.asked);
            println!("result 0x{:04x}.found {}", attribute.get(), counts.found);
        }
        for attribute in self.counts.keys() {
            let name = format!("0x{:04x} ", attribute.get());
            let some = self
                .differences
                .iter()
                .filter(|text| text.starts_with(&name));
            some.take(SHOWN).for_each(|text| println!("{text}"));
        }
        println!("result differences {}", self.differences.len());
        ensure!(
            self.differences.is_empty(),
            "{} unexplained differences",
            self.differences.len()
        );
        Ok(())
    }
}

/// Bit of MultiPathRecord's mask.
const MULTI_PATH_SL: u64 = 1 << 9;
/// Of each attribute. Units: differences.
const SHOWN: usize = 4;
/// Longer than an SA takes under emulation, mostly.
const BRIEF: Duration = Duration::from_millis(400);
/// When neither has replied.
const SILENCE: Duration = Duration::from_secs(3);
/// Longer than it ever takes.
const PATIENCE: Duration = Duration::from_secs(15);
