//! The reference: answers PathRecord and MultiPathRecord requests straight from topology,
//! forwarding tables, P_Key
//! tables and written policy, as OpenSM does, with nothing precomputed but who is who.
//!
//! It exists to be compared with: the compiled snapshot and the workers must give the same
//! answers. So it shares with them what they are made of (vocabulary, topology, routes, parsed
//! policy) and not a line of how they answer.
//!
//! Source: OpenSM `osm_sa_path_record.c`, `osm_sa_multipath_record.c`.
//!
//! ```text
//!  MAD ─ request: what the component mask leaves ─> ends: which ports, in which order
//!    ─ for each pair of GUIDs: may all three know of each other?   pkeys
//!    ─ for each pair of LIDs:  lids, equal offsets first
//!         parameters there: walk, level, limits, selectors, P_Key, SL, engine      rates
//!         parameters back:  the same with ends exchanged
//!    ─ record, labels                   groups: a DGID that is a multicast group
//!                                       multi, alternates: MultiPathRecord
//! ```
//!
//! It is slow on purpose: each path is walked switch by switch, rules are gone through in their
//! order, GUIDs are in sorted maps. Its cost grows with the switches on the way and with the rules
//! of the policy; a table of all pairs is for small fabrics only.
//!
//! Order matters wherever two refusals could be given, or two records come first, and it is
//! OpenSM's everywhere; the tests in `tests/reference_golden.rs` hold it to recorded answers. Where
//! Sapphire differs on purpose the reference does too, and the place names the row of
//! `docs/deviations.md`.
//!
//! It keeps nothing between requests.

mod alternates;
mod ends;
mod groups;
mod labels;
mod lids;
mod multi;
mod of_state;
mod parameters;
mod pkeys;
mod rates;
mod record;
mod request;
mod unknown_sls;

use core::ops::RangeInclusive;
use std::collections::BTreeMap;

use policy::model::ServiceIdEncoding;
use policy::{Partitions, Policy, PortFacts};
use routing::{EndPortIx, Qos, Routes, Topology};
use sa_snapshot::model::RateCaps;
use sa_wire::mad::{BASE_VERSION, MGMT_CLASS_SA, SA_CLASS_VERSION, Status, method};
use sa_wire::path_record::{FlowWord, PathRecord};
use sa_wire::sa::{AttributeId, SaMad};
use sa_wire::{Gid, Guid, SubnetPrefix};

use self::ends::{Ends, Name};
use self::lids::LidPair;
use self::parameters::Place;
use self::pkeys::PkeyTable;
use self::request::{Method, Request, ServiceIdPlace};
use crate::off_subnet::OffSubnet;

/// What there is to answer from.
///
/// Borrowed parts of a `FabricState`, or of a test's own.
#[derive(Debug, Clone, Copy)]
pub struct ReferenceInputs<'a> {
    /// The fabric.
    pub topology: &'a Topology,
    /// How it is routed.
    pub routes: &'a Routes,
    /// The policy in force; it counts with QoS on only.
    pub policy: Option<&'a Policy>,
    /// Shape: as [`Topology::end_ports`].
    pub ports: &'a [PortFacts],
    /// Made for the same `ports`, with the same QoS and `allow_both_pkeys`.
    pub partitions: &'a Partitions,
    /// Shape: as [`Topology::end_ports`].
    pub rate_caps: &'a [RateCaps],
    /// Made for the same `partitions` and `topology`.
    pub off_subnet: &'a OffSubnet,
}

/// Options of the subnet that answers depend on.
///
/// What of `opensm.conf` an answer shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReferenceOptions {
    /// Upper half of every GID.
    pub prefix: SubnetPrefix,
    /// Whether SLs are checked and the policy is consulted.
    pub qos: Qos,
    /// Packet life time where no level gives one (`subnet_timeout`), not range-checked: OpenSM
    /// takes any byte.
    pub packet_life: u8,
    /// The largest rate code that requests may carry.
    pub max_rate_code: u8,
    /// The option of that name of newer OpenSMs, 63 for all.
    pub max_rate_enum: Option<u8>,
    /// `use_original_extended_sa_rates_only`.
    pub original_rates_only: bool,
    /// Requests with another key that is not zero get no reply.
    pub sa_key: u64,
    /// A port may be a full and a limited member of one partition at once.
    pub allow_both_pkeys: bool,
    /// A table of more records is refused with "no resources"; OpenSM has no such limit.
    pub most_records: usize,
}

impl Default for ReferenceOptions {
    /// OpenSM's defaults.
    fn default() -> Self {
        Self {
            prefix: SubnetPrefix::LINK_LOCAL,
            qos: Qos::Off,
            packet_life: 18,
            max_rate_code: 22,
            max_rate_enum: None,
            original_rates_only: false,
            sa_key: 1,
            allow_both_pkeys: false,
            most_records: 65_536,
        }
    }
}

/// What a request gets.
///
/// Compared with a reply of the snapshot after that has been parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// An error, never [`Status::OK`].
    Error(Status),
    /// Success. Shape: one record for Get, any number for GetTable, 127 at most for GetMulti, in
    /// the order of the reply.
    Records(Vec<PathRecord>),
    /// Anything but Get and GetTable of PathRecord, and Get, GetTable and GetMulti of
    /// MultiPathRecord: the reference has no answer to it.
    NotMine,
}

/// Answers requests about one state of one fabric.
#[derive(Debug)]
pub struct Reference<'a> {
    inputs: ReferenceInputs<'a>,
    options: ReferenceOptions,
    /// By every GUID that a port has.
    by_guid: BTreeMap<u64, EndPortIx>,
    by_lid: BTreeMap<u16, EndPortIx>,
    /// Every GUID of every end port, in the order in which wildcards go through them.
    in_order: Vec<Name>,
    /// Shape: as [`Topology::end_ports`].
    pkeys: Vec<PkeyTable>,
}

impl<'a> Reference<'a> {
    /// Looks at a fabric. Cost: one pass over the end ports.
    pub fn new(inputs: ReferenceInputs<'a>, options: ReferenceOptions) -> Self {
        let topology = inputs.topology;
        let all = || topology.end_port_ixs();
        let guid = |port: EndPortIx| topology.end_port(port).guid.get();
        let lids = |port: EndPortIx| {
            topology
                .end_port(port)
                .lids()
                .map(move |lid| (lid.get(), port))
        };
        let pkeys = |port: EndPortIx| {
            PkeyTable::new(
                inputs.partitions.pkey_table(port.index()),
                options.allow_both_pkeys,
            )
        };
        let mut reference = Self {
            inputs,
            options,
            by_guid: all().map(|port| (guid(port), port)).collect(),
            by_lid: all().flat_map(lids).collect(),
            in_order: Vec::new(),
            pkeys: all().map(pkeys).collect(),
        };
        reference.put_in_order();
        reference
    }

    /// With second GUIDs of ports, each with the GUID of its port, which they stand for in every
    /// way but that it is they that come back.
    #[must_use]
    pub fn with_aliases(mut self, aliases: &[(Guid, Guid)]) -> Self {
        for (alias, base) in aliases {
            if let Some(port) = self.by_guid.get(&base.get()) {
                self.by_guid.insert(alias.get(), *port);
            }
        }
        self.put_in_order();
        self
    }

    fn put_in_order(&mut self) {
        let names = self.by_guid.iter();
        let names = names.map(|(guid, port)| Name {
            guid: *guid,
            port: *port,
        });
        self.in_order = names.collect();
        // OpenSM's map compares GUIDs in network byte order as numbers of the host, which on x86 is
        // the order of reversed bytes.
        self.in_order.sort_by_key(|name| name.guid.swap_bytes());
    }

    /// What OpenSM would reply to the port with this LID; none for silence.
    ///
    /// The LID decides who asks; a GRH is ignored, as in OpenSM.
    pub fn respond(&self, requester_lid: u16, mad: &[u8; 256]) -> Option<Reply> {
        let mad = SaMad::from_bytes(mad);
        let is_multi = multi::is_one(mad);
        let method = path_record_method(mad);
        if method.is_none() && !is_multi {
            return Some(Reply::NotMine);
        }
        // Before anything of the request is looked at: an SM_Key that is wrong gets silence,
        // whatever else is wrong.
        if !self.takes_key(mad) {
            return None;
        }
        match method {
            Some(method) => self.path_reply(method, requester_lid, mad),
            None => self.multi_reply(requester_lid, mad),
        }
    }

    /// Get and GetTable of PathRecord. None: the requester is nobody.
    fn path_reply(&self, method: Method, requester_lid: u16, mad: &SaMad) -> Option<Reply> {
        // Bad values are refused before anyone asks who sent them.
        let place = self.service_id_place(mad);
        let request = match Request::decode(method, mad, self.options.max_rate_code, place) {
            Ok(request) => request,
            Err(status) => return Some(Reply::Error(status)),
        };
        let requester = self.by_lid.get(&requester_lid)?;
        // No partition of the requester is asked about for groups.
        let records = if request.dgid.is_some_and(|gid| gid.is_multicast()) {
            Ok(self.group_records(method, mad))
        } else {
            self.records(&request, *requester)
        };
        Some(match records {
            Ok(records) if records.is_empty() && method == Method::Get => {
                Reply::Error(Status::NO_RECORDS)
            }
            Ok(records) => Reply::Records(records),
            Err(status) => Reply::Error(status),
        })
    }

    /// Errors: ends that contradict each other; more records than a reply may have; a Get that has
    /// several.
    fn records(&self, request: &Request, requester: EndPortIx) -> Result<Vec<PathRecord>, Status> {
        let mut records = Vec::new();
        let Some(ends) = Ends::find(self, request)? else {
            return Ok(records);
        };
        let is_get = request.method == Method::Get;
        let passes = ends.passes(self);
        self.all_sls_are_known(request, passes.iter().flat_map(|pass| pass.pairs()))?;
        for pass in passes {
            for (source, destination) in pass.pairs() {
                let pairs = self.lid_pairs(request, requester, source, destination);
                let again = self.again(request, pairs, source, destination);
                let paths = self.paths(request, requester, source, destination);
                for record in paths.chain(again) {
                    if records.len() == self.options.most_records {
                        return Err(Status::NO_RESOURCES);
                    }
                    records.push(record);
                }
                // Ends this pass only: a Get by one LID alone goes on with the port's next GUID.
                if is_get && !records.is_empty() {
                    break;
                }
            }
        }
        // So OpenSM answers a Get by LID of a port with aliases.
        match is_get && records.len() > 1 {
            true => Err(Status::TOO_MANY_RECORDS),
            false => Ok(records),
        }
    }

    /// The records of one pair of GUIDs, one after the other.
    ///
    /// NumbPath counts for each pair, and 0 gives none; a Get ignores it.
    fn paths(
        &self,
        request: &Request,
        requester: EndPortIx,
        source: Name,
        destination: Name,
    ) -> impl Iterator<Item = PathRecord> {
        let pairs = self.lid_pairs(request, requester, source, destination);
        let wanted = match (request.method, request.numb_path) {
            (Method::Get, _) => 1,
            (Method::GetTable, Some(count)) => usize::from(count),
            (Method::GetTable, None) => usize::MAX,
            // The number is one for all pairs, and counted elsewhere.
            (Method::GetMulti, _) => usize::MAX,
        };
        let mut nth = 0;
        let path = move |pair: LidPair| {
            let (from, to) = (source.at(pair.slid), destination.at(pair.dlid));
            let record = self.path(request, from, to, pair.preference, nth)?;
            nth += 1;
            Some(record)
        };
        pairs.filter_map(path).take(wanted)
    }

    /// The LIDs between which there may be paths, if all three ports may know of each other.
    fn lid_pairs(
        &self,
        request: &Request,
        requester: EndPortIx,
        source: Name,
        destination: Name,
    ) -> impl Iterator<Item = LidPair> + use<> {
        let involved = [
            (requester, source.port),
            (requester, destination.port),
            (source.port, destination.port),
        ];
        let may_see = involved
            .into_iter()
            .all(|(one, other)| self.share_a_pkey(one, other));
        let pairs = may_see.then(|| {
            lids::pairs(
                self.lids(source.port, request.slid),
                self.lids(destination.port, request.dlid),
            )
        });
        pairs.into_iter().flatten()
    }

    /// The record of one pair of LIDs, if both directions allow it; `nth` of its pair of ports.
    ///
    /// The way back is judged by the same request with the ends exchanged. Whether it exists is
    /// told in every record, and only asked for if the request says so.
    fn path(
        &self,
        request: &Request,
        from: Place,
        to: Place,
        preference: u8,
        nth: usize,
    ) -> Option<PathRecord> {
        let parameters = self.parameters(request, from, to)?;
        let reversible = self.parameters(&request.back(), to, from).is_some();
        if request.must_be_reversible && !reversible {
            return None;
        }
        let label = self.label(request, from, to, nth);
        let record = self.record(request, from, to, &parameters, reversible, preference);
        Some(with_label(record, label))
    }

    /// The policy in force.
    /// Without QoS a policy is read and not used.
    fn policy(&self) -> Option<&'a Policy> {
        self.inputs.policy.filter(|_| self.options.qos == Qos::On)
    }

    fn service_id_encoding(&self) -> ServiceIdEncoding {
        self.policy().map_or(ServiceIdEncoding::Standard, |policy| {
            policy.semantics.service_id_encoding
        })
    }

    fn service_id_place(&self, mad: &SaMad) -> ServiceIdPlace {
        let key = mad.sa.sm_key.get();
        match self.service_id_encoding() {
            ServiceIdEncoding::Standard => ServiceIdPlace::BothHalves,
            ServiceIdEncoding::LegacyA => {
                let is_id = key != 0 && key != self.options.sa_key;
                ServiceIdPlace::Key(is_id.then_some(key))
            }
            ServiceIdEncoding::LegacyB => ServiceIdPlace::UpperHalf,
        }
    }

    /// No key, the right one, or something else in its place.
    fn takes_key(&self, mad: &SaMad) -> bool {
        let key = mad.sa.sm_key.get();
        key == 0
            || key == self.options.sa_key
            || self.service_id_encoding() == ServiceIdEncoding::LegacyA
    }

    /// Two ports may know of each other. A port without P_Keys is not judged.
    ///
    /// One port and itself always may.
    fn share_a_pkey(&self, one: EndPortIx, other: EndPortIx) -> bool {
        let (first, second) = (self.pkeys(one), self.pkeys(other));
        one == other || first.is_empty() || second.is_empty() || first.common_with(second).is_some()
    }

    /// The LIDs of a port, or the one that the request names.
    fn lids(&self, port: EndPortIx, named: Option<u16>) -> RangeInclusive<u16> {
        let port = self.inputs.topology.end_port(port);
        let first = port.lid.get();
        let last = first + (port.lmc.lids() - 1);
        named.map_or_else(|| first..=last, |lid| lid..=lid)
    }

    /// With the prefix of the subnet.
    fn gid(&self, guid: u64) -> Gid {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.options.prefix.0.to_be_bytes());
        bytes[8..].copy_from_slice(&guid.to_be_bytes());
        Gid(bytes)
    }

    fn pkeys(&self, port: EndPortIx) -> &PkeyTable {
        &self.pkeys[port.index()]
    }
}

/// With a label the packets need a global route header, which takes a hop limit: 1 does where the
/// path does not leave the subnet.
fn with_label(record: PathRecord, label: u32) -> PathRecord {
    if label == 0 {
        return record;
    }
    let hop_limit = record.flow.hop_limit().max(1);
    PathRecord {
        flow: FlowWord::new(label, hop_limit),
        ..record
    }
}

/// None for other versions, classes, attributes and methods.
fn path_record_method(mad: &SaMad) -> Option<Method> {
    let header = &mad.mad;
    let version = (header.base_version, header.mgmt_class, header.class_version);
    if version != (BASE_VERSION, MGMT_CLASS_SA, SA_CLASS_VERSION)
        || mad.attribute_id() != AttributeId::PATH_RECORD
    {
        return None;
    }
    match header.method {
        method::GET => Some(Method::Get),
        method::GET_TABLE => Some(Method::GetTable),
        _ => None,
    }
}
