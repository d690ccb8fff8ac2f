//! Who is asked about.
//!
//! Hosts come from a file or from the SA itself; pairs are drawn from them by a fixed seed, so that
//! two runs ask the same. A port with a LID of its own asks in its own name; through a ring each
//! request is put in the name of its source, as hosts of a fabric would ask.
//!
//! ```text
//! --lids FILE   opensm-subnet.lst: every CA port with LID and GUID, nothing is asked
//! (none)        GetTable of all NodeRecords from the SA under load, once, before the clock starts
//! ```
//!
//! The SA's list may be cut short: OpenSM under the simulator sends the first MAD of a table alone.
//! That shows as a record that is cut in the middle, and is told as a warning; `--lids` gives all
//! hosts.
//!
//! Requests are made once, with everything but the transaction id, which is set when they are sent.

use std::path::Path;

use sa_fabric::formats::subnet_lst;
use sa_fabric::intake::{self, Kind};
use sa_source::Client;
use sa_wire::mad::method;
use sa_wire::records::Layout;
use sa_wire::sa::{AttributeId, DATA_OFFSET, SaMad, record_stride};
use sa_wire::umad::Slot;
use sa_wire::{Gid, Guid, Lid, NodeType, SubnetPrefix, request};

use super::{Load, Workload};
use crate::failure::{Failure, Outcome};
use crate::reach;

/// A port of a host.
/// Base LID and default GID.
#[derive(Debug, Clone, Copy)]
pub(super) struct Host {
    lid: Lid,
    gid: Gid,
}

/// A request, and whose path it asks for.
/// One of `--pairs`, sent many times; each time with another transaction id.
pub(super) struct Asked {
    /// As it lies in a slot, with the requester's LID.
    pub(super) slot: Slot,
    pub(super) source: Host,
    pub(super) destination: Host,
    /// By what the request names its ends.
    workload: Workload,
}

impl Asked {
    /// True when a record is about this pair.
    /// By what the request named; the record repeats it.
    pub(super) fn is_about(&self, record: &sa_wire::path_record::PathRecord) -> bool {
        match self.workload {
            Workload::Gid => {
                (record.sgid(), record.dgid()) == (self.source.gid, self.destination.gid)
            }
            Workload::Lid => {
                let lids = (record.slid.get(), record.dlid.get());
                lids == (self.source.lid.get(), self.destination.lid.get())
            }
        }
    }

    /// For people.
    pub(super) fn in_words(&self) -> String {
        let (source, destination) = (self.source, self.destination);
        match self.workload {
            Workload::Gid => format!("{} to {}", source.gid, destination.gid),
            Workload::Lid => format!("LID {} to LID {}", source.lid, destination.lid),
        }
    }
}

/// The hosts of an `opensm-subnet.lst`. Errors: it cannot be read; it has no hosts with LIDs.
/// CAs alone, as routers and switches do not ask for paths.
pub(super) fn from_file(file: &Path, prefix: u64) -> Outcome<Vec<Host>> {
    let bytes = intake::read(Kind::Fabric, file).map_err(Failure::failed)?;
    let fabric = subnet_lst::parse(&bytes).map_err(|error| Failure::failed_in(file, error))?;
    let nodes = fabric.nodes().iter();
    // A CA has one or two ports, each with a GID of its own.
    let ports = nodes
        .filter(|node| node.kind == NodeType::Ca)
        .flat_map(|node| &node.ports);
    let hosts = ports.filter_map(|port| host(port.lid?, port.guid?, prefix));
    some(hosts.collect(), &file.display().to_string())
}

/// The hosts that the SA has NodeRecords of. Errors: nobody answers; the SA has none.
/// One GetTable; of a large fabric that is an RMPP transfer of megabytes.
pub(super) fn from_sa(client: &mut Client, prefix: u64) -> Outcome<Vec<Host>> {
    let reply = reach::ask(client, &all_nodes())?;
    // Never from an SA, but what comes from a network is looked at before it is taken apart.
    let short = || Failure::failed("the reply with the NodeRecords is shorter than its headers");
    let head = reply.first_chunk::<DATA_OFFSET>().ok_or_else(short)?;
    let [_, _, _, _, high, low, ..] = *head;
    let status = u16::from_be_bytes([high, low]);
    // An SA may refuse whole tables to who has no key.
    if status != 0 {
        return Err(Failure::failed(format!(
            "the SA refuses to list its NodeRecords, status {status:#06x}; give the hosts with \
             --lids"
        )));
    }
    // AttributeOffset: by how many bytes records follow each other, in units of eight.
    let offset = head.get(44..46).and_then(<[u8]>::first_chunk);
    let stride = record_stride(offset.map_or(0, |bytes| u16::from_be_bytes(*bytes)));
    let records = reply
        .get(DATA_OFFSET..)
        .unwrap_or_default()
        // 0 for a table without records.
        .chunks_exact(stride.max(1));
    // OpenSM on the simulator sends no more than the first MAD of a table.
    if records.remainder().iter().any(|byte| *byte != 0) {
        errln!(
            "warning: the SA's list of NodeRecords is cut off in the middle of a record; give all \
             hosts with --lids"
        );
    }
    let hosts = records.filter_map(|record| of_record(record, prefix));
    some(hosts.collect(), "the SA's NodeRecords")
}

/// None for what is no CA (node type 1), and for ports without LID or GUID.
fn of_record(record: &[u8], prefix: u64) -> Option<Host> {
    let value = |name| Layout::NODE.field(name).map(|field| field.value(record));
    if value("node_type")? != 1 {
        return None;
    }
    let lid = Lid::new(u16::try_from(value("lid")?).ok()?).ok()?;
    host(lid, Guid::new(value("port_guid")?).ok()?, prefix)
}

/// With a component mask of 0: everything.
fn all_nodes() -> [u8; 256] {
    let nodes = AttributeId::NODE_RECORD;
    let mut slot = request::request(0, method::GET_TABLE, nodes, 0, &[]);
    // Not the id of any request of the load.
    let mad = SaMad::from_bytes_mut(&mut slot.mad);
    mad.mad.transaction_id = u64::from(std::process::id() ^ 1 << 31).into();
    slot.mad
}

/// With the default GID of its port.
fn host(lid: Lid, guid: Guid, prefix: u64) -> Option<Host> {
    Some(Host {
        lid,
        gid: Gid::unicast(SubnetPrefix(prefix), guid),
    })
}

/// Drawing from an empty list is not possible.
fn some(hosts: Vec<Host>, place: &str) -> Outcome<Vec<Host>> {
    match hosts.is_empty() {
        true => Err(Failure::failed(format!(
            "{place}: no hosts with LIDs to ask about"
        ))),
        false => Ok(hosts),
    }
}

/// Requests between pairs of hosts drawn at random, asked from `lid`; none: each from its source.
/// Shape: `hosts` not empty.
/// With replacement: a pair may come twice, and a host may be asked for the path to itself.
pub(super) fn draw(verb: &Load, lid: Option<Lid>, hosts: &[Host]) -> Vec<Asked> {
    let mut random = Random(verb.seed);
    let mut draw = || hosts[random.below(hosts.len())];
    (0..verb.pairs)
        .map(|_| {
            // Source first: the order of draws is part of what a seed means.
            let (source, destination) = (draw(), draw());
            let requester = lid.unwrap_or(source.lid).get();
            let mut slot = match verb.workload {
                Workload::Gid => request::path_by_gids(requester, source.gid, destination.gid),
                Workload::Lid => request::path_by_lids(source.lid.get(), destination.lid.get()),
            };
            // Who asks is not always the source, which the request's builder put there.
            slot.header.lid = requester.into();
            Asked {
                slot,
                source,
                destination,
                workload: verb.workload,
            }
        })
        .collect()
}

/// xorshift64: the same draws on every machine.
/// Never 0, which the option's range sees to.
struct Random(u64);

impl Random {
    /// Three shifts and a remainder; favours low numbers by less than one in 2^48.
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap_or(0)
    }
}
