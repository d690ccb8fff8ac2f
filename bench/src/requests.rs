//! Requests between ends drawn at random, the same every time.
//!
//! Ends are drawn evenly from all hosts, with a generator of our own, so that request 17 of seed
//! 0x5eed is the same request on every machine and in every version. Kinds of requests differ in
//! what they name, as real clients do: MPI names LIDs, the kernel's CM names GIDs with a service,
//! saquery asks for tables.

use sa_snapshot::{PortRecord, Snapshot};
use sa_wire::mad::{DecodeError, method};
use sa_wire::multipath_record::{MultiPathCompMask, MultiPathRecord};
use sa_wire::path_record::{NumbPathByte, PathCompMask, PathRecord, QosClassSl};
use sa_wire::umad::Slot;
use sa_wire::{Gid, Sl, SubnetPrefix, VocabularyError, request};

use crate::rules::RuleSpec;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// Get, GID to GID.
    Gid,
    /// Get, LID to LID.
    Lid,
    /// Get as the kernel's rdma_cm sends it over IPv4: GID to GID in the default partition, for a
    /// TCP port, with a QoS class.
    RdmaCm,
    /// Get, GID to GID, the source by its LID too.
    GidAndLid,
    /// GetTable of the path between two GIDs, as saquery asks for one.
    PairGid,
    /// The same between two LIDs.
    PairLid,
    /// GetTable, one GID to everybody.
    Table,
    /// GetMulti, four GIDs to four.
    Mpr,
}

/// A host as a requester and as an end.
///
/// As the snapshot has it; hosts with several ports are several here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    /// Its port's LID.
    pub lid: u16,
    /// Its port's GID.
    pub gid: Gid,
}

/// The ports of a snapshot that are no switch's, in its order. Errors: one has no GUID.
pub fn hosts(snapshot: &Snapshot) -> Result<Vec<Host>, VocabularyError> {
    // Switch ports 0 are end ports too, but no host asks for them.
    let ports = snapshot.ports().filter(|(_, port)| !port.is_switch());
    let host = |port: &PortRecord| {
        let guid = port.guid().ok_or(VocabularyError::ZeroGuid)?;
        Ok(Host {
            lid: port.lid,
            // Fabrics of the generator have the default prefix.
            gid: Gid::unicast(SubnetPrefix::LINK_LOCAL, guid),
        })
    };
    ports.map(|(_, port)| host(port)).collect()
}

/// Draws requests of a workload.
///
/// Carries the state of the generator: the next request depends on how many were drawn before.
#[derive(Debug, Clone)]
pub struct Draw<'a> {
    /// Between which hosts. Shape: not empty.
    pub hosts: &'a [Host],
    /// Requests ask for what these rules ask for; without rules for nothing but a path.
    pub rules: Option<RuleSpec>,
    random: Random,
    drawn: u64,
}

impl Workload {
    /// Its replies are more than one MAD.
    pub const fn is_long(self) -> bool {
        matches!(self, Self::Table | Self::Mpr)
    }
}

impl<'a> Draw<'a> {
    /// From a seed that is not 0.
    pub const fn new(hosts: &'a [Host], rules: Option<RuleSpec>, seed: u64) -> Self {
        Self {
            hosts,
            rules,
            random: Random(seed),
            drawn: 0,
        }
    }

    /// The next request. Errors: never, for the counts of GIDs are fixed.
    // The order of draws is part of what is measured: another one would be other requests under the same seed.
    pub fn next(&mut self, workload: Workload) -> Result<Slot, DecodeError> {
        let (source, destination) = (self.host(), self.host());
        let nth = self.drawn;
        // Counted for all workloads: rules then ask for the same things in each.
        self.drawn += 1;
        let record = PathRecord {
            sgid: source.gid.0,
            dgid: destination.gid.0,
            slid: source.lid.into(),
            dlid: destination.lid.into(),
            numb_path: NumbPathByte::new(1).with_reversible(),
            ..PathRecord::default()
        };
        let gids = PathCompMask::SGID | PathCompMask::DGID;
        let lids = PathCompMask::SLID | PathCompMask::DLID;
        let one = PathCompMask::NUMB_PATH | PathCompMask::REVERSIBLE;
        let ask = |method, mask| Ok(self.ask((source.lid, method, mask), record, nth));
        match workload {
            Workload::Gid => ask(method::GET, gids | one),
            // Nothing but the ends, as Open MPI asks.
            Workload::Lid => ask(method::GET, lids),
            Workload::GidAndLid => ask(method::GET, gids | PathCompMask::SLID | one),
            Workload::PairGid => ask(method::GET_TABLE, gids),
            Workload::PairLid => ask(method::GET_TABLE, lids),
            Workload::RdmaCm => Ok(rdma_cm(source, destination, nth)),
            Workload::Table => {
                let record = PathRecord {
                    sgid: source.gid.0,
                    ..PathRecord::default()
                };
                let (asked, mask) = (method::GET_TABLE, PathCompMask::SGID);
                Ok(request::path_request(source.lid, asked, mask, &record))
            }
            Workload::Mpr => {
                let [sources, destinations] = [source, destination]
                    .map(|first| [first.gid, self.host().gid, self.host().gid, self.host().gid]);
                let (mask, record) = (MultiPathCompMask::default(), MultiPathRecord::default());
                request::multi_path_request(source.lid, mask, &record, &sources, &destinations)
            }
        }
    }

    /// With rules, requests also ask for what the rules ask for.
    ///
    /// Without rules no service id is set: there is nothing that it could match.
    fn ask(
        &self,
        (lid, method, mask): (u16, u8, PathCompMask),
        record: PathRecord,
        nth: u64,
    ) -> Slot {
        let (service_id, qos_class) = self.rules.map_or((None, None), |rules| rules.asked(nth));
        let (mut mask, mut record) = (mask, record);
        // Bit and field together: a field without its bit would not be asked for.
        if let Some(id) = service_id {
            record.service_id = id.into();
            mask = mask | PathCompMask::SERVICE_ID;
        }
        if let Some(class) = qos_class {
            record.qos_class_sl = QosClassSl::new(class, Sl::default());
            mask = mask | PathCompMask::QOS_CLASS;
        }
        request::path_request(lid, method, mask, &record)
    }

    /// A host, or one with LID 0 where there is none, which no SA answers.
    fn host(&mut self) -> Host {
        let place = self.random.below(self.hosts.len());
        // Never drawn from: the list is not empty. A panic in a measurement would lose the run.
        let nobody = Host {
            lid: 0,
            gid: Gid([0; 16]),
        };
        self.hosts.get(place).copied().unwrap_or(nobody)
    }
}

/// Source: Linux `drivers/infiniband/core/cma.c` (`cma_query_ib_route`), read.
///
/// Service ids go through the TCP port space, one after the other.
fn rdma_cm(source: Host, destination: Host, nth: u64) -> Slot {
    /// Service id of port 0 of RDMA_PS_TCP.
    const TCP: u64 = 0x0106_0000;
    let record = PathRecord {
        // The default partition's full key, as the kernel asks by index 0.
        sgid: source.gid.0,
        dgid: destination.gid.0,
        pkey: 0xffff.into(),
        service_id: (TCP | nth & 0xffff).into(),
        numb_path: NumbPathByte::new(1).with_reversible(),
        qos_class_sl: QosClassSl::new(0, Sl::default()),
        ..PathRecord::default()
    };
    let ends = PathCompMask::SGID | PathCompMask::DGID | PathCompMask::PKEY;
    let paths = PathCompMask::NUMB_PATH | PathCompMask::REVERSIBLE;
    let mask = ends | paths | PathCompMask::SERVICE_ID | PathCompMask::QOS_CLASS;
    request::path_request(source.lid, method::GET, mask, &record)
}

/// xorshift64: the same draws on every machine.
///
/// Not for anything that must not be guessed.
#[derive(Debug, Clone)]
struct Random(u64);

impl Random {
    /// The remainder favours small numbers by less than one in 2^40 here.
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap_or(0)
    }
}
