//! What the slow path hands over, as plain values. [`crate::Builder`] lays it out.
//!
//! Index spaces: an *end port* is anything a LID can belong to (a CA or router port, or a
//! switch's port 0); its index is its place in [`Model::ports`]. A *switch index* is the place of
//! a switch in the routing topology; only equality matters here.

use sa_wire::{
    Gid, Guid, Lid, Lmc, Mlid, Mtu, NodeType, Pkey, Rate, RateRank, Sl, SlVlMask, SubnetPrefix,
};

pub use crate::epoch::EpochId;
pub use crate::flow_labels::FlowLabels;

/// Everything a snapshot is built from.
#[derive(Debug, Clone)]
pub struct Model {
    /// Where it came from.
    pub provenance: Provenance,
    /// Options of the whole subnet.
    pub subnet: Subnet,
    /// End ports, in any order; GUIDs and LID ranges are unique.
    pub ports: Vec<PortRow>,
    /// Partitions known, at most one per base.
    pub partitions: Vec<PartitionRow>,
    /// Paths between end ports.
    pub paths: PathTables,
    /// Compiled QoS policy; none when QoS is off or no policy is in force.
    pub policy: Option<PolicyTables>,
    /// Multicast groups, in any order; MGIDs are unique.
    pub groups: Vec<GroupRow>,
    /// Ways to other subnets; the first that fits counts.
    pub prefix_routes: Vec<PrefixRouteRow>,
    /// Second GUIDs of ports, each with the port's index, in any order; no GUID is there twice, or
    /// is a port's own.
    pub aliases: Vec<(Guid, usize)>,
}

/// Where a snapshot came from; text for people and digests for comparison, never a clock reading
/// of the builder's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provenance {
    /// Seconds since 1970 as told by the caller; 0 when the caller wants reproducible bytes.
    pub built_unix: u64,
    /// Epoch that it is published under; none when not published.
    pub epoch: Option<EpochId>,
    /// Routing engine that made the tables.
    pub engine: String,
    /// One line per input: role, name, digest.
    pub inputs: Vec<String>,
}

/// Options of the whole subnet that answers depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subnet {
    /// Upper half of every GID.
    pub prefix: SubnetPrefix,
    /// QoS is on: SLs are checked against what the path carries.
    pub qos: bool,
    /// Packet life time of a path that no level limits, 0 to 63. Units: exponent, see
    /// `PacketLifeTime`.
    pub packet_life: u8,
    /// ClassPortInfo.RespTimeValue: how soon the SA answers. Units: exponent of 4.096 us, below 32.
    pub resp_time: u8,
    /// The largest rate code accepted in requests (OpenSM 3.3.23: 22).
    pub max_rate_code: u8,
    /// Non-zero SM_Key that trusted requests carry; others with a non-zero key are dropped.
    pub sa_key: u64,
    /// Partitions may hold full and limited entries of one base on one port.
    pub allow_both_pkeys: bool,
    /// What rates answers may have.
    pub rate_limit: RateLimit,
    /// LID of the port that the SM runs on, where it is known; one of the ports has it.
    pub sm_lid: Option<Lid>,
}

/// What rates answers may have. Source: OpenSM `osm_sa_path_record.c` (`pr_rcv_build_pr`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RateLimit {
    /// Those that the ports know.
    #[default]
    Ports,
    /// None that came after 300 Gb/s (code 18): `use_original_extended_sa_rates_only` of OpenSM
    /// 3.3.23.
    Original,
    /// None with a larger code or faster: `max_rate_enum` of newer ones.
    Code(u8),
}

impl RateLimit {
    /// What an answer says instead of a rate. Shape: codes.
    pub fn apply(self, code: u8) -> u8 {
        match self {
            Self::Original => match code {
                19 => 15,
                20 => 7,
                21.. => 18,
                old => old,
            },
            Self::Code(limit) if limit < code => reduced(code, limit),
            Self::Ports | Self::Code(_) => code,
        }
    }
}

/// The next slower rate that is neither faster than the limit nor of a larger code.
fn reduced(code: u8, limit: u8) -> u8 {
    let rank = |code: u8| Rate::from_code(code).map_or(0, |rate| rate.rank().get());
    let slower = (1..rank(code)).rev();
    let slower = slower.filter_map(|rank| Some(RateRank::from_raw(rank)?.rate().code()));
    let mut fits = slower.filter(|code| rank(*code) <= rank(limit) && *code <= limit);
    fits.next().unwrap_or(Rate::SDR_1X.code())
}

impl Default for Subnet {
    fn default() -> Self {
        Self {
            prefix: SubnetPrefix::LINK_LOCAL,
            qos: false,
            packet_life: 18,
            resp_time: 16,
            max_rate_code: 22,
            sa_key: 1,
            allow_both_pkeys: false,
            rate_limit: RateLimit::Ports,
            sm_lid: None,
        }
    }
}

/// MTU and rate of a port or the least of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Capacity {
    /// The largest packets.
    pub mtu: Mtu,
    /// Speed, by place in the order of rates.
    pub rate: RateRank,
}

impl Capacity {
    /// No limit at all: the largest of both.
    pub const UNLIMITED: Self = Self {
        mtu: Mtu::M4096,
        rate: match RateRank::from_raw(23) {
            Some(rank) => rank,
            None => unreachable!(),
        },
    };

    /// The lesser of each.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self {
            mtu: self.mtu.min(other.mtu),
            rate: self.rate.min(other.rate),
        }
    }
}

/// One end port: what answers say of it and judge it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortRow {
    /// Port GUID (switch: node GUID).
    pub guid: Guid,
    /// What the node is.
    pub node_type: NodeType,
    /// The first of its LIDs.
    pub lid: Lid,
    /// It owns 2^lmc LIDs.
    pub lmc: Lmc,
    /// The switch it is attached to, or is; none when its port leads nowhere.
    pub switch: Option<u32>,
    /// The port's own MTU capability and rate: what a path to itself has.
    pub own: Capacity,
    /// Least of the port and the switch port it is plugged into (switch: of port 0).
    pub edge: Capacity,
    /// SLs that the port itself lets out (its SL2VL table, input port 0); ignored with QoS off.
    pub sl_out: SlVlMask,
    /// SLs that the switch port facing it lets out towards it (switch: ALL).
    pub sl_in: SlVlMask,
    /// Capabilities that clamp rates with codes of 19 and more.
    pub rate_caps: RateCaps,
    /// P_Key table as programmed, any order, without zero entries.
    pub pkeys: Vec<Pkey>,
    /// Place in the torus of its switch; none outside a torus.
    pub coordinate: Option<[u8; 3]>,
}

/// Link features of a port that newer rate codes need. Source: PortInfo CapabilityMask bit 14,
/// CapabilityMask2 bits 4, 5 and 10.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateCaps {
    /// Extended link speeds (FDR and faster).
    pub extended_speeds: bool,
    /// 2x link width; see [`port_flags::WIDTH_2X`](crate::port_flags::WIDTH_2X).
    pub width_2x: bool,
    /// HDR links; see [`port_flags::HDR`](crate::port_flags::HDR).
    pub hdr: bool,
    /// NDR links; see [`port_flags::NDR`](crate::port_flags::NDR).
    pub ndr: bool,
}

/// A partition, as far as answers depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionRow {
    /// Base, 1 to 0x7fff.
    pub base: u16,
    /// Its service level, 0 when QoS is off.
    pub sl: u8,
}

/// A multicast group that the SM has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupRow {
    /// Its address, which requests name as DGID.
    pub mgid: Gid,
    /// Its LID, which answers give as DLID.
    pub mlid: Mlid,
    /// P_Key, with the membership bit.
    pub pkey: Pkey,
    /// Queue key of packets to the group.
    pub q_key: u32,
    /// The largest packets to the group.
    pub mtu: Mtu,
    /// The rate of the group.
    pub rate: Rate,
    /// Packet life time, 6 bits.
    pub packet_life: u8,
    /// Service level of packets to the group.
    pub sl: Sl,
    /// Traffic class of packets to the group.
    pub tclass: u8,
    /// Flow label, 20 bits.
    pub flow_label: u32,
    /// Hop limit of packets to the group.
    pub hop_limit: u8,
    /// Scope as its records have it, 4 bits.
    pub scope: u8,
}

/// Where packets to another subnet leave this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefixRouteRow {
    /// Prefix of the other subnet; none for any. (No subnet has prefix 0.)
    pub prefix: Option<SubnetPrefix>,
    /// Index of the router's port; none when it is not there, which ends the search all the same.
    pub router: Option<usize>,
}

/// How the SL of a path is finished after policy and partition chose one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineSl {
    /// Left as it is.
    Keep,
    /// torus-2QoS: bit 3 stays, bits 0 to 2 tell which datelines the path crosses.
    /// Shape: radix of x, y, z. Ports without a coordinate get SL 0.
    Torus {
        /// Switches around each ring.
        radix: [u8; 3],
    },
    /// Each class of paths says it, see [`PathClass::sl`]. Takes [`Pairs::Dense`].
    Table,
}

/// Who gives a path its SL, of policy and partition on the one side and the routing engine on the
/// other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PathSl {
    /// Policy and partition: the engine leaves it alone.
    #[default]
    Policy,
    /// The engine, whatever policy and partition chose.
    Given(Sl),
    /// The engine, and nobody here knows which. Only the SA beside that engine can be asked.
    Unknown,
}

impl PathSl {
    /// [`Self::Policy`] in tables.
    const POLICY: u8 = 0xfe;
    /// [`Self::Unknown`] in tables.
    const UNKNOWN: u8 = 0xff;

    /// As a byte of a table: an SL, or one of two values above all SLs.
    pub const fn byte(self) -> u8 {
        match self {
            Self::Given(sl) => sl.get(),
            Self::Policy => Self::POLICY,
            Self::Unknown => Self::UNKNOWN,
        }
    }

    /// The reverse of [`Self::byte`]. What no table has is not known.
    pub const fn from_byte(byte: u8) -> Self {
        match byte {
            0..16 => Self::Given(Sl::from_low_bits(byte)),
            Self::POLICY => Self::Policy,
            _ => Self::Unknown,
        }
    }
}

impl From<Option<Sl>> for PathSl {
    /// None: not known.
    fn from(sl: Option<Sl>) -> Self {
        sl.map_or(Self::Unknown, Self::Given)
    }
}

/// What lies between the first and the last switch of a path, both links to them included; the
/// links of the end ports are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PathClass {
    /// Least over the links.
    pub capacity: Capacity,
    /// SLs that no hop drops.
    pub carried: SlVlMask,
    /// Switches on the path.
    pub hops: u8,
    /// The SL of the path; [`PathSl::Policy`] but with [`EngineSl::Table`].
    pub sl: PathSl,
}

/// Paths between end ports.
///
/// Shape: the class of the path from port `p` to LID `l` is found from `rows[p]` and
/// `columns[l]`; row 0 and column 0 mean "no path at all".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathTables {
    /// How SLs are finished.
    pub engine_sl: EngineSl,
    /// Classes; index 0 is not used and means "no path" in tables.
    pub classes: Vec<PathClass>,
    /// By end port index: the source row, 0 when the port can reach nothing.
    pub rows: Vec<u16>,
    /// By end port index, then LID offset below 2^lmc: the destination column, 0 when nothing
    /// reaches it.
    pub columns: Vec<Vec<u16>>,
    /// The classes of pairs.
    pub pairs: Pairs,
}

/// The classes of (row, column) pairs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pairs {
    /// Every pair whose row and column are not 0 has a path: one class within a switch, one
    /// across switches.
    Uniform {
        /// Class when both ends are on one switch.
        within: u16,
        /// Class when the ends are on two switches.
        across: u16,
    },
    /// `table[(row - 1) * columns + column - 1]`, 0 for no path.
    Dense {
        /// How many columns each row has.
        columns: u32,
        /// Classes, row by row.
        table: Vec<u16>,
    },
}

/// Rules that a policy may have.
pub const MAX_RULES: usize = 16_384;

/// A compiled QoS policy: equivalence classes per criterion, and the rules each class satisfies.
///
/// Match: take one set per dimension, intersect; the lowest rule in the result is the first match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyTables {
    /// Levels; rules and `default_level` index them.
    pub levels: Vec<QosLevelRow>,
    /// Level when no rule matches.
    pub default_level: u16,
    /// Rules in order of precedence.
    pub rules: Vec<RuleRow>,
    /// By end port index: class as source.
    pub source: Dimension<Vec<u16>>,
    /// By end port index: class as destination.
    pub destination: Dimension<Vec<u16>>,
    /// Classes of ends that a request names neither by GID nor by LID; they count with
    /// [`PolicySemantics::endpoint_mask_required`] only.
    pub unnamed: UnnamedEnds,
    /// By QoS class 0 to 4095; index 4096 when the request names none.
    pub qos_class: Dimension<Vec<u16>>,
    /// By P_Key base 0 to 0x7fff; index 0x8000 when the request names none.
    pub pkey: Dimension<Vec<u16>>,
    /// By service id interval.
    pub service_id: Dimension<ServiceIntervals>,
    /// By [`crate::RareField`]: class by number, and behind them that of a request that names none.
    pub rare: Vec<Dimension<Vec<u16>>>,
    /// By rule, behind them those of the default; empty where no answer carries a flow label.
    pub flow_labels: Vec<FlowLabels>,
    /// How requests are read and what of them comes back.
    pub semantics: PolicySemantics,
}

/// Where the dialects of a policy part: how requests are read and what of them comes back.
///
/// The default is OpenSM's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PolicySemantics {
    /// What of a request comes back in its answers.
    pub echo: Echo,
    /// A rule with a source or destination holds only for requests that name that end by GID or
    /// LID.
    pub endpoint_mask_required: bool,
    /// The upper half of the service id in the component mask stands for all of it, the lower is
    /// ignored.
    pub legacy_service_id: bool,
    /// The SM_Key of a request is its service id, unless it is 0 or the SA's key.
    pub service_id_in_key: bool,
}

/// The field of a request that comes back as it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Echo {
    /// Neither: both come back 0.
    #[default]
    None,
    /// The QoS class comes back, the traffic class as 0.
    QosClass,
    /// The traffic class comes back, the QoS class as 0.
    TClass,
}

/// Classes that hold only the rules without the criterion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnnamedEnds {
    /// Among the sets of sources.
    pub source: u16,
    /// Among the sets of destinations.
    pub destination: u16,
}

/// One criterion: a map from values to classes, and the rules that hold for each class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dimension<M> {
    /// From a value, or an end port, to its class.
    pub map: M,
    /// By class: the rules whose criterion this class satisfies, rules without this criterion
    /// included. Shape: bit n of word n / 64 for rule n; all sets have as many words as needed
    /// for all rules, at least one.
    pub sets: Vec<Vec<u64>>,
}

/// Service ids by interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceIntervals {
    /// First id of each interval, ascending, the first is 0.
    pub starts: Vec<u64>,
    /// Class of each interval.
    pub classes: Vec<u16>,
    /// Class when the request names no service id.
    pub absent: u16,
}

/// A QoS level: limits of a path, and what a path under it is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QosLevelRow {
    /// Its name in the policy file, for people.
    pub name: String,
    /// The SL it gives. 16 and more is no SL: no path gets it (OpenSM keeps 8 bits). None: chosen
    /// as if no policy were in force, which is the partition's.
    pub sl: Option<u8>,
    /// No path under it has a larger MTU; none for no limit.
    pub mtu_limit: Option<Mtu>,
    /// No path under it is faster; none for no limit.
    pub rate_limit: Option<RateRank>,
    /// Packet life time it gives; 8 bits, unchecked as OpenSM's.
    pub packet_life: Option<u8>,
    /// P_Key bases that it allows, disjoint inclusive ranges ascending; empty for any.
    pub pkeys: Vec<(u16, u16)>,
    /// Offsets into the destination's LID range that it allows: bit b for base LID + b. None for
    /// any.
    pub path_bits: Option<u128>,
    /// Traffic class of its paths. None: see [`Echo`].
    pub tclass: Option<u8>,
}

/// A rule, for people and for the level it gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleRow {
    /// The level it gives.
    pub level: u16,
    /// Line of the policy file where it starts, from 1.
    pub line: u32,
}
