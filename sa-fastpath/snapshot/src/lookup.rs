//! The lookups that answers are made of. None allocates; none searches for anything that depends
//! only on the fabric.

use sa_wire::{NodeType, Pkey, SlVlMask};

use crate::flow_labels::FlowLabels;
use crate::guid_index::place;
use crate::pkeys;
use crate::policy_match::{MatchInput, RequestClasses};
use crate::quick::QuickLevel;
use crate::records::{PkeySetRecord, PortIx, PortRecord, SubnetRecord, port_flags};
use crate::snapshot::{Sections, Snapshot};

/// `SubnetRecord::engine_sl`: SLs are left as they are.
pub(crate) const ENGINE_KEEP: u8 = 0;
/// `SubnetRecord::engine_sl`: torus-2QoS.
pub(crate) const ENGINE_TORUS: u8 = 1;
/// `SubnetRecord::pairs`.
pub(crate) const PAIRS_UNIFORM: u8 = 1;
/// `SubnetRecord::pairs`.
pub(crate) const PAIRS_DENSE: u8 = 2;
/// `SubnetRecord::judge_reverse`: whether the reverse path exists must be looked up.
pub(crate) const REVERSE_PATH: u8 = 1 << 0;
/// `SubnetRecord::judge_reverse`: the policy may refuse the reverse path alone.
pub(crate) const REVERSE_POLICY: u8 = 1 << 1;

/// Index of a class of paths in *its* snapshot. Made only by lookups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PathClassIx(u16);

impl PathClassIx {
    /// No path.
    pub const NONE: Self = Self(0);
}

/// MTU and rate of a path, packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathCapacity(u8);

impl PathCapacity {
    /// Between ports that are no switches, or to a switch, over what lies between (packed).
    #[inline(always)]
    fn of(from: &PortRecord, between: u8, to: &PortRecord) -> Self {
        Self(least_capacity(from.edge, least_capacity(between, to.edge)))
    }

    /// MTU code and rate rank.
    #[inline(always)]
    pub const fn unpacked(self) -> (u8, u8) {
        crate::records::unpack_capacity(self.0)
    }

    /// As far as a level lets it.
    #[inline(always)]
    #[must_use]
    pub fn within(self, level: &QuickLevel) -> Self {
        match level.limit {
            QuickLevel::UNLIMITED => self,
            limit => Self(least_capacity(self.0, limit)),
        }
    }
}

/// What the walk from one port to another yields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathParameters {
    /// MTU code.
    pub mtu: u8,
    /// Rate rank, see `sa_wire::RateRank`.
    pub rate: u8,
    /// SLs that the path carries.
    pub carried: SlVlMask,
    /// Switches on the path.
    pub hops: u8,
}

impl PortRecord {
    /// True for a switch's port 0.
    pub const fn is_switch(&self) -> bool {
        self.flags & port_flags::SWITCH != 0
    }

    /// What the node is.
    pub const fn node_type(&self) -> NodeType {
        if self.is_switch() {
            NodeType::Switch
        } else if self.flags & port_flags::ROUTER != 0 {
            NodeType::Router
        } else {
            NodeType::Ca
        }
    }

    /// Port GUID, host order.
    pub const fn guid(&self) -> u64 {
        u64::from_be_bytes(self.guid)
    }

    /// How many LIDs it owns.
    pub const fn lid_count(&self) -> u16 {
        1 << self.lmc()
    }

    const fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

impl Snapshot {
    /// Options of the subnet.
    pub fn subnet(&self) -> &SubnetRecord {
        &self.subnet
    }

    /// LID of the port that the SM runs on, where it is known.
    pub fn sm_lid(&self) -> Option<u16> {
        (self.subnet.sm_lid != 0).then_some(self.subnet.sm_lid)
    }

    /// Number of the change that made it.
    pub fn epoch(&self) -> u64 {
        self.subnet.epoch
    }

    /// How many end ports there are.
    pub fn port_count(&self) -> usize {
        self.sections.ports.len()
    }

    /// All end ports, in the order of `Guid::map_order`.
    pub fn ports(&self) -> impl Iterator<Item = (PortIx, &PortRecord)> {
        (0u16..)
            .zip(self.sections.ports.iter())
            .map(|(ix, port)| (PortIx(ix), port))
    }

    /// The end port with this place in [`Self::ports`].
    pub fn nth_port(&self, nth: u64) -> Option<PortIx> {
        let ix = u16::try_from(nth).ok()?;
        (usize::from(ix) < self.port_count()).then_some(PortIx(ix))
    }

    /// The record behind an index.
    #[inline(always)]
    pub fn port(&self, ix: PortIx) -> &PortRecord {
        // An index made by another snapshot names nothing rather than panicking.
        self.sections
            .ports
            .get(usize::from(ix.0))
            .unwrap_or(&NO_PORT)
    }

    /// The end port with this GUID (host order).
    #[inline(always)]
    pub fn port_by_guid(&self, guid: u64) -> Option<PortIx> {
        let (ix, _) = self.find_guid(guid.to_be_bytes())?;
        u16::try_from(ix).ok().map(PortIx)
    }

    /// The end port with this GUID and its place among the ports. Shape: wire bytes.
    #[inline(always)]
    fn find_guid(&self, guid: [u8; 8]) -> Option<(usize, &PortRecord)> {
        let places = &*self.sections.guid_index;
        let mask = places.len().wrapping_sub(1);
        let shift = u32::from(self.subnet.guid_shift) & 63;
        let number = u64::from_be_bytes(guid);
        let mut at = place(number, self.subnet.guid_multiplier, shift);
        loop {
            // An empty place is no place in the table.
            let ix = usize::from(*places.get(at & mask)?).wrapping_sub(1);
            let port = self.sections.ports.get(ix)?;
            if port.guid == guid {
                return Some((ix, port));
            }
            at = at.wrapping_add(1);
        }
    }

    /// The end port that owns this LID; none for LIDs nobody owns, 0 and multicast LIDs.
    #[inline(always)]
    pub fn port_by_lid(&self, lid: u16) -> Option<PortIx> {
        self.sections
            .lid_ports
            .get(usize::from(lid))?
            .checked_sub(1)
            .map(PortIx)
    }

    /// True when every pair has one of two classes and no table is needed.
    pub(crate) const fn is_uniform(&self) -> bool {
        self.subnet.pairs == PAIRS_UNIFORM
    }

    /// True when [`PathParameters::hops`] is exact for every pair; else paths between switches
    /// all have the number of the longest.
    pub const fn tells_lengths(&self) -> bool {
        !self.is_uniform()
    }

    /// The path from `source` to `lid`, a LID of `destination`; none when there is none.
    #[inline(always)]
    pub fn path(&self, source: PortIx, destination: PortIx, lid: u16) -> Option<PathParameters> {
        let (from, to) = (self.port(source), self.port(destination));
        if source == destination {
            // A path to oneself never leaves the port; a switch needs a route to its own LID for it.
            let has_path = !from.is_switch() || self.column(from, lid) != 0;
            return loopback(from).filter(|_| has_path);
        }
        self.path_between(from, to, self.path_class(from, to, lid))
    }

    /// What a path of this class offers from one port to another; none when there is none.
    #[inline(always)]
    pub fn path_between(
        &self,
        from: &PortRecord,
        to: &PortRecord,
        class: PathClassIx,
    ) -> Option<PathParameters> {
        if class == PathClassIx::NONE {
            return None;
        }
        let class = self.sections.path_classes.get(usize::from(class.0))?;
        // The first port that a switch sends through does not count, and here it is also the last.
        let last = if from.is_switch() && from.switch == to.switch {
            to.own
        } else {
            to.edge
        };
        let least = least_capacity(from.edge, least_capacity(class.capacity, last));
        let (mtu, rate) = crate::records::unpack_capacity(least);
        // A switch sends through one of its external ports, whose tables are the class's.
        let out = if from.is_switch() {
            SlVlMask::ALL
        } else {
            SlVlMask(from.sl_out)
        };
        let carried = out.and(SlVlMask(class.carried)).and(SlVlMask(to.sl_in));
        (carried.0 != 0).then_some(PathParameters {
            mtu,
            rate,
            carried,
            hops: class.hops,
        })
    }

    /// The destination column of a LID of `to`, 0 when nothing reaches it.
    #[inline(always)]
    fn column(&self, to: &PortRecord, lid: u16) -> u16 {
        if self.sections.lid_columns.is_empty() {
            return u16::from(to.has(port_flags::DESTINATION));
        }
        let column = self.sections.lid_columns.get(usize::from(lid));
        column.copied().unwrap_or(0)
    }

    /// The class of the path from one port to a LID of another.
    #[inline(always)]
    pub fn path_class(&self, from: &PortRecord, to: &PortRecord, lid: u16) -> PathClassIx {
        let column = self.column(to, lid);
        if !from.has(port_flags::SOURCE) || column == 0 {
            return PathClassIx::NONE;
        }
        PathClassIx(if !self.is_uniform() {
            let row = usize::from(from.row.wrapping_sub(1));
            let columns = usize::try_from(self.subnet.columns).unwrap_or(0);
            let place = row * columns + usize::from(column - 1);
            self.sections.class_of_pair(place)
        } else if from.switch == to.switch {
            self.subnet.within_class
        } else {
            self.subnet.across_class
        })
    }

    /// The SL after the routing engine's say, starting from `hint`.
    /// Source: OpenSM `osm_torus.c` (`torus_path_sl`).
    #[inline(always)]
    pub fn engine_sl(&self, hint: u8, source: PortIx, destination: PortIx) -> u8 {
        if self.subnet.engine_sl != ENGINE_TORUS {
            return hint;
        }
        let (from, to) = (self.port(source), self.port(destination));
        match from.flags & to.flags & port_flags::IN_TORUS {
            0 => 0,
            _ => self.common_sl(hint, from, to),
        }
    }

    /// True when the two ports may see each other: one port, or a port without P_Keys, or a shared
    /// P_Key.
    #[inline(always)]
    pub fn share_partition(&self, a: PortIx, b: PortIx) -> bool {
        if a == b {
            return true;
        }
        self.share_partition_between(self.port(a), self.port(b))
    }

    /// As [`Self::share_partition`], for ports that were looked up and are not the same.
    #[inline(always)]
    pub fn share_partition_between(&self, a: &PortRecord, b: &PortRecord) -> bool {
        let (a, b) = (a.pkey_set, b.pkey_set);
        self.first_shared(a, b) != 0 || self.pkey_set(a).is_empty() || self.pkey_set(b).is_empty()
    }

    /// The first P_Key that both share, as in the source's table; 0 for none.
    #[inline(always)]
    pub fn shared_pkey(&self, source: PortIx, destination: PortIx) -> u16 {
        self.shared_pkey_between(self.port(source), self.port(destination))
    }

    /// True when both hold this partition, at least one as a full member.
    #[inline]
    pub fn share_pkey(&self, source: PortIx, destination: PortIx, pkey: u16) -> bool {
        self.share_pkey_between(self.port(source), self.port(destination), pkey)
    }

    /// As [`Self::share_pkey`], for ports that were looked up. The default partition, which nearly
    /// every request names, is not searched for. Out of line, as most answers do without.
    #[inline(never)]
    pub fn share_pkey_between(&self, from: &PortRecord, to: &PortRecord, pkey: u16) -> bool {
        let in_default = |port: &PortRecord| {
            let known = self.quick.in_default.get(usize::from(port.pkey_set));
            known.filter(|_| pkeys::is_default(pkey))
        };
        if let (Some(from), Some(to)) = (in_default(from), in_default(to)) {
            return from.share(*to);
        }
        let (source, destination) = (self.pkey_set(from.pkey_set), self.pkey_set(to.pkey_set));
        pkeys::share(source, destination, pkey, self.subnet.allow_both_pkeys == 1)
    }

    /// As [`Self::shared_pkey`], for ports that were looked up.
    #[inline(always)]
    pub fn shared_pkey_between(&self, from: &PortRecord, to: &PortRecord) -> u16 {
        match self.quick.only_pkey {
            0 => self.first_shared(from.pkey_set, to.pkey_set),
            pkey => pkey,
        }
    }

    /// True when neither subnet nor policy sets anything apart from what is common: no alias
    /// GUIDs, no table with both memberships of one partition, no SL that anything drops, no
    /// criteria but those of OpenSM's dialect, and no level that limits P_Keys.
    ///
    /// What a common request gets between ports with [`port_flags::COMMON_SOURCE`] and
    /// [`port_flags::COMMON_DESTINATION`] then follows from
    /// [`Self::shared_pkey_between`], [`Self::uniform_capacity`] or [`Self::capacity_of`],
    /// [`Self::common_level`] and [`Self::common_sl`].
    #[inline(always)]
    pub const fn is_common(&self) -> bool {
        self.quick.is_common
    }

    /// True when [`Self::is_common`] holds but for flow labels, one for each pair of ports at most.
    #[inline(always)]
    pub const fn is_common_but_for_labels(&self) -> bool {
        self.quick.is_common_but_for_labels
    }

    /// True when [`QuickLevel::packet_life`] is a level's packet life time but for its topmost bit,
    /// which all of them have clear.
    #[inline(always)]
    pub const fn tells_packet_lives(&self) -> bool {
        self.quick.tells_packet_lives
    }

    /// The flow labels of the rule that gave a level.
    #[inline(always)]
    pub fn labels_of(&self, level: &QuickLevel) -> FlowLabels {
        let place = usize::from(level.labels).wrapping_sub(1);
        self.quick.labels.get(place).copied().unwrap_or_default()
    }

    /// Packed least capacity of the path between two common ports, where that needs no large table;
    /// see [`Self::has_pair_table`].
    #[inline(always)]
    pub fn uniform_capacity(&self, from: &PortRecord, to: &PortRecord) -> Option<PathCapacity> {
        let classes = self.quick.uniform?;
        let class = match from.switch == to.switch {
            true => classes.within,
            false => classes.across,
        };
        Some(PathCapacity::of(from, class, to))
    }

    /// The same for a path of this class; none when there is none.
    #[inline(always)]
    pub fn capacity_of(
        &self,
        from: &PortRecord,
        to: &PortRecord,
        class: PathClassIx,
    ) -> Option<PathCapacity> {
        if class == PathClassIx::NONE {
            return None;
        }
        let class = self.sections.path_classes.get(usize::from(class.0))?;
        Some(PathCapacity::of(from, class.capacity, to))
    }

    /// The level of a common policy for a request of these classes.
    #[inline(always)]
    pub fn level_of(
        &self,
        from: &PortRecord,
        to: &PortRecord,
        classes: &RequestClasses,
    ) -> QuickLevel {
        let first = match self.quick.by_service {
            Some(16) => self
                .by_service::<16>()
                .and_then(|rules| rules.first_of(from, to, classes)),
            Some(32) => self
                .by_service::<32>()
                .and_then(|rules| rules.first_of(from, to, classes)),
            _ => self.first_rule(from, to, classes),
        };
        self.level_of_rule(first)
    }

    /// That of a rule, the default level for none.
    #[inline(always)]
    pub(crate) fn level_of_rule(&self, first: Option<u32>) -> QuickLevel {
        let last = self.quick.levels.len().wrapping_sub(1);
        let place = first.and_then(|first| usize::try_from(first).ok());
        let level = self.quick.levels.get(place.unwrap_or(last));
        level.copied().unwrap_or_default()
    }

    /// The level of a common policy; nothing of a level without one. See also
    /// [`crate::ByService`].
    pub fn common_level(
        &self,
        from: &PortRecord,
        to: &PortRecord,
        input: &MatchInput,
    ) -> QuickLevel {
        let classes = self.classify(input);
        self.level_of_rule(classes.and_then(|classes| self.first_rule(from, to, &classes)))
    }

    /// What an answer says of a reversible path with this capacity: bytes 1 (reversible), 6 (MTU)
    /// and 7 (rate, "exactly" both) of a word.
    #[inline(always)]
    pub fn codes(&self, capacity: PathCapacity) -> u64 {
        self.quick.codes.0[usize::from(capacity.0)]
    }

    /// The routing engine's say between common ports.
    #[inline(always)]
    pub fn common_sl(&self, hint: u8, from: &PortRecord, to: &PortRecord) -> u8 {
        match self.subnet.engine_sl {
            ENGINE_TORUS => hint & 8 | self.quick.datelines.crossed(from, to),
            _ => hint,
        }
    }

    /// The end port with this GID of the subnet. Shape: wire bytes. None for GIDs with another
    /// prefix too, link-local ones included where that is not the subnet's own.
    #[inline(always)]
    pub fn record_by_own_gid(&self, gid: &[u8; 16]) -> Option<&PortRecord> {
        let (prefix, guid) = gid.split_first_chunk::<8>()?;
        if u64::from_ne_bytes(*prefix) != self.quick.prefix {
            return None;
        }
        self.find_guid(*guid.first_chunk()?).map(|(_, port)| port)
    }

    /// The end port that owns this LID, as [`Self::port_by_lid`].
    #[inline(always)]
    pub fn record_by_lid(&self, lid: u16) -> Option<&PortRecord> {
        let entry = usize::from(*self.sections.lid_ports.get(usize::from(lid))?);
        self.sections.ports.get(entry.wrapping_sub(1))
    }

    /// True when paths have to be looked up in tables; else [`Self::uniform_capacity`] tells all.
    #[inline(always)]
    pub const fn has_pair_table(&self) -> bool {
        self.quick.uniform.is_none()
    }

    #[inline(always)]
    fn first_shared(&self, source: u16, destination: u16) -> u16 {
        let sets = self.sections.pkey_sets.len();
        let at = usize::from(source) * sets + usize::from(destination);
        match self.sections.pkey_matrix.get(at) {
            Some(pkey) => *pkey,
            None => self.merge_sets(source, destination),
        }
    }

    /// What the matrix would hold, were there not too many sets for one.
    #[inline(never)]
    fn merge_sets(&self, source: u16, destination: u16) -> u16 {
        let both = self.subnet.allow_both_pkeys == 1;
        pkeys::first_shared(self.pkey_set(source), self.pkey_set(destination), both)
    }

    /// A distinct P_Key table, ordered.
    #[inline(always)]
    pub(crate) fn pkey_set(&self, set: u16) -> &[u16] {
        let record = self.sections.pkey_sets.get(usize::from(set));
        record.map_or(&[], |record| self.sections.pkeys_of(record))
    }

    /// The P_Key table of a port, ordered as `Pkey::map_order`.
    pub fn pkeys(&self, port: PortIx) -> &[u16] {
        self.pkey_set(self.port(port).pkey_set)
    }

    /// The SL of a partition, 0 when it is unknown.
    #[inline(always)]
    pub fn partition_sl(&self, pkey: u16) -> u8 {
        let base = usize::from(pkey & !Pkey::FULL_BIT);
        self.sections.partition_sls.get(base).copied().unwrap_or(0)
    }

    /// True when whether the reverse path exists must be looked up.
    #[inline(always)]
    pub const fn reverse_path_may_differ(&self) -> bool {
        self.subnet.judge_reverse & REVERSE_PATH != 0
    }

    /// True when the policy may refuse the reverse path though it allows the path, for a request
    /// that asks for no SL, MTU, rate or packet life time.
    #[inline(always)]
    pub const fn reverse_policy_may_differ(&self) -> bool {
        self.subnet.judge_reverse & REVERSE_POLICY != 0
    }
}

impl Sections {
    /// The class at a place of the pair table, 0 outside. One of its two forms is empty.
    #[inline(always)]
    fn class_of_pair(&self, place: usize) -> u16 {
        match self.narrow_pairs.get(place) {
            Some(class) => u16::from(*class),
            None => self.pairs.get(place).copied().unwrap_or(0),
        }
    }

    /// The P_Keys of a distinct table.
    #[inline(always)]
    pub(crate) fn pkeys_of(&self, record: &PkeySetRecord) -> &[u16] {
        let start = usize::try_from(record.start).unwrap_or(usize::MAX);
        let len = usize::try_from(record.len).unwrap_or(usize::MAX);
        let keys = self.pkey_values.get(start..start.saturating_add(len));
        keys.unwrap_or_default()
    }
}

/// What the port itself has.
fn loopback(port: &PortRecord) -> Option<PathParameters> {
    let (mtu, rate) = crate::records::unpack_capacity(port.own);
    (port.sl_out != 0).then_some(PathParameters {
        mtu,
        rate,
        carried: SlVlMask(port.sl_out),
        hops: 0,
    })
}

/// The lesser MTU and the lesser rate of two packed capacities.
#[inline(always)]
fn least_capacity(a: u8, b: u8) -> u8 {
    if a == b {
        return a;
    }
    (a & 0xe0).min(b & 0xe0) | (a & 0x1f).min(b & 0x1f)
}

/// What an index of nothing points to; it is on no switch, in no partition, on no path.
pub(crate) static NO_PORT: PortRecord = PortRecord {
    guid: [0; 8],
    lid: 0,
    switch: 0,
    place: 0,
    own: 0,
    edge: 0,
    flags: 0,
    sl_out: 0,
    sl_in: 0,
    pkey_set: 0,
    row: 0,
    source_class: 0,
    destination_class: 0,
};
