//! Paths between ports: their class, what they offer, and the routing engine's say about the SL.
//!
//! A path between two ports is at most three parts: the link of the source, what lies between the
//! switches (its class), the link of the destination. MTU and rate are the least of the three, SLs
//! those that all three let through.
//!
//! Example: hosts with 100 Gb/s links (rank of EDR 4x) on a fabric of 200 Gb/s: class HDR, both
//! edges EDR, so the path has EDR.
//!
//! Capacities are packed (three bits of MTU, five of rank), and the least of two is taken on the
//! packed bytes.

use sa_wire::SlVlMask;

use crate::Snapshot;
use crate::derived::PackedLevel;
use crate::format::records::{
    ENGINE_TABLE, ENGINE_TORUS, PAIRS_UNIFORM, PortIx, PortRecord, REVERSE_PATH, REVERSE_POLICY,
    port_flags, unpack_capacity,
};
use crate::model::PathSl;

/// Index of a class of paths in *its* snapshot. Made only by lookups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PathClassIx(u16);

impl PathClassIx {
    /// The class of no path: class 0 of every snapshot.
    pub const NONE: Self = Self(0);
}

/// MTU and rate of a path, packed.
///
/// A byte, and so an index into the table of codes.
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
        unpack_capacity(self.0)
    }

    /// As far as a level lets it.
    #[inline(always)]
    #[must_use]
    pub fn within(self, level: &PackedLevel) -> Self {
        // Most policies limit nothing, and then the byte stays as it is.
        match level.limit {
            PackedLevel::UNLIMITED => self,
            limit => Self(least_capacity(self.0, limit)),
        }
    }
}

/// What the walk from one port to another yields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathParameters {
    /// MTU code, 1 to 5.
    pub mtu: u8,
    /// Rate rank, see `sa_wire::RateRank`.
    pub rate: u8,
    /// SLs that the path carries.
    pub carried: SlVlMask,
    /// Switches on the path.
    pub hops: u8,
    /// The SL that the class says; [`PathSl::Policy`] where classes have no say.
    pub sl: PathSl,
}

impl Snapshot {
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
            // Without a class its switch does not even deliver to it, and no engine chose an SL.
            let sl = match self.path_class(from, to, lid) {
                PathClassIx::NONE => PathSl::Policy,
                class => self.class_sl(class),
            };
            return loopback(from, sl).filter(|_| has_path);
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
        let (mtu, rate) = unpack_capacity(least);
        // A switch sends through one of its external ports, whose tables are the class's.
        let out = if from.is_switch() {
            SlVlMask::ALL
        } else {
            SlVlMask(from.sl_out)
        };
        let carried = out.and(SlVlMask(class.carried)).and(SlVlMask(to.sl_in));
        // No SL at all means no path, although there is a route.
        (carried.0 != 0).then_some(PathParameters {
            mtu,
            rate,
            carried,
            hops: class.hops,
            sl: PathSl::from_byte(class.sl),
        })
    }

    /// The destination column of a LID of `to`, 0 when nothing reaches it.
    #[inline(always)]
    fn column(&self, to: &PortRecord, lid: u16) -> u16 {
        // Without a table of columns one flag stands for all LIDs of the port.
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

    /// The SL that a class says, where classes do; of no path it is not known.
    #[inline(always)]
    pub fn class_sl(&self, class: PathClassIx) -> PathSl {
        let record = self.sections.path_classes.get(usize::from(class.0));
        match record {
            Some(record) if class != PathClassIx::NONE => PathSl::from_byte(record.sl),
            _ => PathSl::Unknown,
        }
    }

    /// True where the engine chose an SL for each pair, and classes say which.
    #[inline(always)]
    pub const fn has_sls_by_class(&self) -> bool {
        self.subnet.engine_sl == ENGINE_TABLE
    }

    /// True where the SL of some path is not known, so that requests for it are not answered.
    #[inline(always)]
    pub const fn has_unknown_sls(&self) -> bool {
        self.derived.has_unknown_sls
    }

    /// The SL after the routing engine's say, starting from `hint`, where no class says it.
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

    /// Packed least capacity of the path between two common ports, where that needs no large table;
    /// see [`Self::has_pair_table`].
    #[inline(always)]
    pub fn uniform_capacity(&self, from: &PortRecord, to: &PortRecord) -> Option<PathCapacity> {
        let classes = self.derived.uniform?;
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

    /// What an answer says of a reversible path with this capacity: bytes 1 (reversible), 6 (MTU)
    /// and 7 (rate, "exactly" both) of a word.
    #[inline(always)]
    pub fn codes(&self, capacity: PathCapacity) -> u64 {
        self.derived.codes.0[usize::from(capacity.0)]
    }

    /// The routing engine's say between common ports.
    #[inline(always)]
    pub fn common_sl(&self, hint: u8, from: &PortRecord, to: &PortRecord) -> u8 {
        match self.subnet.engine_sl {
            ENGINE_TORUS => hint & 8 | self.derived.datelines.crossed(from, to),
            _ => hint,
        }
    }

    /// The same where classes may have a say: the path is of this class. None where the SL is not
    /// known, or not of every LID of the destination.
    #[inline(always)]
    pub fn common_sl_of(
        &self,
        hint: u8,
        from: &PortRecord,
        to: &PortRecord,
        class: PathClassIx,
    ) -> Option<u8> {
        match self.subnet.engine_sl {
            ENGINE_TORUS => Some(self.common_sl(hint, from, to)),
            ENGINE_TABLE => self.known_sl(hint, to, class),
            _ => Some(hint),
        }
    }

    /// Apart from its caller, so that fabrics without such SLs pay for one comparison.
    #[inline(never)]
    fn known_sl(&self, hint: u8, to: &PortRecord, class: PathClassIx) -> Option<u8> {
        // Of other LIDs of the destination the SL may not be known.
        if self.has_unknown_sls() && to.lmc() != 0 {
            return None;
        }
        match self.class_sl(class) {
            PathSl::Given(sl) => Some(sl.get()),
            PathSl::Policy => Some(hint),
            PathSl::Unknown => None,
        }
    }

    /// True when paths have to be looked up in tables; else [`Self::uniform_capacity`] tells all.
    #[inline(always)]
    pub const fn has_pair_table(&self) -> bool {
        self.derived.uniform.is_none()
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

/// What the port itself has.
fn loopback(port: &PortRecord, sl: PathSl) -> Option<PathParameters> {
    let (mtu, rate) = unpack_capacity(port.own);
    (port.sl_out != 0).then_some(PathParameters {
        mtu,
        rate,
        carried: SlVlMask(port.sl_out),
        hops: 0,
        sl,
    })
}

/// The lesser MTU and the lesser rate of two packed capacities.
#[inline(always)]
fn least_capacity(a: u8, b: u8) -> u8 {
    // Equal on both sides, as on a fabric of one kind of link.
    if a == b {
        return a;
    }
    (a & 0xe0).min(b & 0xe0) | (a & 0x1f).min(b & 0x1f)
}
