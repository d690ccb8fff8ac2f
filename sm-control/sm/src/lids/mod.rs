//! Which port has which LIDs.
//!
//! ```text
//!  model ──> end ports, their LIDs and the LMC that each may have ─┐
//!  guid2lid ──> what the SM remembers ─────────────────────────────┴──> Plan: LIDs of each port, findings
//! ```
//!
//! The SM's port comes first, the others by [`Guid::map_order`]. A port gets what is remembered of it, else the LIDs that it
//! has, if nobody else has or is remembered to have any of them, else the lowest range that is free. The rule for that is
//! [`sa_fabric::lids`], which numbers simulated fabrics too. Source: OpenSM `osm_lid_mgr.c`.
//!
//! [`assign`] is a function of its arguments: the caller keeps [`Remembered`], and reads and writes its file.

/// `guid2lid`, parsed and rendered; LIDs are remembered by it and decided here.
mod table;

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use sa_fabric::PortRef;
use sa_fabric::lids::{Claim, Reserved, assign_beside};
use sa_wire::{Guid, Lid, Lmc};

use crate::model::Subnet;

pub use self::table::{Dropped, Range, Reason, Remembered};

/// What of `opensm.conf` decides LIDs.
///
/// The default is OpenSM's: an LMC of 0, and LIDs that ports have are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LidOptions {
    /// `lmc`.
    pub lmc: Lmc,
    /// `lmc_esp0`: enhanced ports 0 of switches have the LMC too.
    /// A base port 0 has one LID whatever this says.
    pub lmc_esp0: bool,
    /// `reassign_lids`: LIDs that ports have are not kept.
    /// Those that the SM remembers are: this frees ports of what another SM gave them.
    pub reassign: bool,
}

/// The LIDs of a port.
///
/// Shape: 2^LMC LIDs from a base that is a multiple of 2^LMC, as a port compares the upper bits of a DLID alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortLids {
    /// The base LID.
    pub lid: Lid,
    /// It has 2^lmc LIDs.
    pub lmc: Lmc,
}

/// Who has which LIDs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// By end port. A port for which no LIDs were left is not in it.
    pub ports: BTreeMap<PortRef, PortLids>,
    /// What a person should know.
    pub findings: Vec<LidFinding>,
}

impl Plan {
    /// The largest LID in use; none where no port has one.
    ///
    /// It becomes LinearFDBTop of every switch: LIDs above it are dropped there without a look at the table.
    pub fn top(&self) -> Option<Lid> {
        let tops = self
            .ports
            .values()
            // No overflow in what `assign` gives; a plan that was made by hand may end above the last LID, which then is no LID.
            .map(|it| it.lid.get().saturating_add(it.lmc.lids() - 1));
        tops.max().and_then(|top| Lid::new(top).ok())
    }
}

/// What is odd about LIDs.
///
/// None of them stops a sweep: ports that got LIDs work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LidFinding {
    /// There is no range left for a port.
    RanOut {
        /// Port GUID.
        port: Guid,
        /// How many LIDs it needs.
        count: u16,
        /// The largest LID that all switches forward to.
        last: Lid,
    },
    /// A port cannot keep the LID that it has.
    ///
    /// Paths to it break until its new LID is known.
    Moved {
        /// Port GUID.
        port: Guid,
        /// What it has.
        from: Lid,
        /// What it gets.
        to: Lid,
    },
    /// Two end ports have one GUID: LIDs are remembered by GUID, so this one gets none.
    TwoPorts(Guid),
    /// A switch says that its forwarding table holds nothing: it does not limit the LIDs of the others.
    ///
    /// It would leave the whole subnet without LIDs if it did.
    NoTable(Guid),
}

impl fmt::Display for LidFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RanOut { port, count, last } => write!(
                f,
                "no {count} LIDs in a row are left for port {port}, as switches forward to LIDs up to {last} alone; use a \
                 smaller LMC, or forget ports that are gone"
            ),
            Self::Moved { port, from, to } => write!(
                f,
                "port {port} has LID {from}, which it cannot keep, and gets {to}: whoever knows the old one has to ask again"
            ),
            Self::TwoPorts(port) => write!(
                f,
                "two end ports have the GUID {port}; the second gets no LID until it has a GUID of its own"
            ),
            Self::NoTable(switch) => write!(
                f,
                "switch {switch} says that its forwarding table has room for no LID (LinearFDBCap 0); nothing is reached \
                 through it"
            ),
        }
    }
}

/// The largest LID that every switch forwards to, and switches that forward to none.
///
/// LinearFDBCap is a number of entries, from that of LID 0 on.
///
/// One switch with a small table bounds all of them: a LID above its table would be unreachable through it.
pub fn last_lid(subnet: &Subnet) -> (Lid, Vec<LidFinding>) {
    // LIDs of ports end at 0xbfff, whatever the switches say; above it are multicast LIDs.
    let mut last = Lid::MAX;
    let mut findings = Vec::new();
    for node in subnet.nodes() {
        let Some(info) = node.switch_info else {
            continue;
        };
        // A table with one entry has that of LID 0, which is no port's.
        match info.linear_cap.get().checked_sub(1).map(Lid::new) {
            Some(Ok(lid)) => last = last.min(lid),
            // More than there are LIDs.
            Some(Err(_)) if info.linear_cap.get() > 1 => {}
            _ => findings.push(LidFinding::NoTable(node.guid())),
        }
    }
    (last, findings)
}

/// LIDs for every end port of the subnet. `remembered` then has those that were given, and all that it had
/// of ports that are not there.
///
/// The same subnet, options and memory give the same plan. What ran out of LIDs is forgotten, so that its range is free for ports that fit.
/// Cost: all ports, remembered ones too, once; a sweep of an unchanged subnet moves nobody.
pub fn assign(subnet: &Subnet, options: LidOptions, remembered: &mut Remembered) -> Plan {
    // Before anything is given out: no port may get a LID that a switch on the way cannot forward to.
    let (last, mut findings) = last_lid(subnet);
    let ports = claimants(subnet, &mut findings);
    // The SM numbers itself first: its LID goes into the PortInfo of every other port.
    let sm = ports.iter().position(|(_, at)| Some(*at) == subnet.sm());
    let claims: Vec<Claim> = ports
        .iter()
        .map(|(guid, at)| claim(subnet, *guid, *at, options, remembered))
        .collect();
    // Also of ports that are away: their LIDs wait for them.
    let reserved = Reserved {
        ranges: remembered
            .entries()
            .map(|(_, range)| range.used(options.lmc).into_inner())
            .collect(),
        last,
    };
    let lids = assign_beside(&claims, sm.unwrap_or(0), &reserved);
    let mut plan = Plan::default();
    for (((port, at), claim), lid) in ports.into_iter().zip(&claims).zip(lids) {
        let Some(lid) = lid else {
            let count = claim.lmc.lids();
            findings.push(LidFinding::RanOut { port, count, last });
            // Its range may be what the next port needs.
            remembered.forget(port);
            continue;
        };
        // Only where the port had one: a first LID moves nobody.
        if let Some(from) = claim.known.filter(|from| *from != lid) {
            findings.push(LidFinding::Moved {
                port,
                from,
                to: lid,
            });
        }
        remember(remembered, port, lid, claim);
        plan.ports.insert(
            at,
            PortLids {
                lid,
                lmc: claim.lmc,
            },
        );
    }
    plan.findings = findings;
    plan
}

/// End ports in the order of numbering, each GUID once.
///
/// The order decides who gets which LID on a fresh subnet, so it is OpenSM's: that of its map of port GUIDs.
fn claimants(subnet: &Subnet, findings: &mut Vec<LidFinding>) -> Vec<(Guid, PortRef)> {
    let mut ports: Vec<_> = subnet
        .end_ports()
        .filter_map(|(at, port)| Some((port.guid?, at)))
        .collect();
    // The port that is nearer, so was found first, keeps a GUID that is there twice.
    ports.sort_by_key(|(guid, at)| (guid.map_order(), Some(*at) != subnet.sm(), *at));
    let mut seen = BTreeSet::new();
    ports.retain(|(guid, _)| {
        let is_new = seen.insert(*guid);
        if !is_new {
            findings.push(LidFinding::TwoPorts(*guid));
        }
        is_new
    });
    ports
}

/// What a port has and is to get.
///
/// What is remembered counts only where it is still a legal range for the LMC of now: after a larger `lmc` most ranges are too narrow,
/// or begin at the wrong place.
fn claim(
    subnet: &Subnet,
    guid: Guid,
    at: PortRef,
    options: LidOptions,
    remembered: &Remembered,
) -> Claim {
    let lmc = lmc(subnet, at, options);
    let count = lmc.lids();
    let known = subnet.port(at).and_then(|port| port.info);
    let known = known.and_then(|info| Lid::new(info.base_lid.get()).ok());
    // The base of several LIDs is a multiple of their number.
    let fits = |range: &Range| {
        count == 1 || (range.first.get().is_multiple_of(count) && range.width() >= count)
    };
    Claim {
        known: known.filter(|_| !options.reassign),
        remembered: remembered.get(guid).filter(fits).map(|range| range.first),
        lmc,
    }
}

/// How many LIDs a port may have: of a base port 0 one.
///
/// Enhanced ones may have more, where `lmc_esp0` says so; end ports of CAs and routers have `lmc`.
fn lmc(subnet: &Subnet, at: PortRef, options: LidOptions) -> Lmc {
    let has_many = subnet
        .node(at.node)
        .is_some_and(|node| !node.is_switch() || (node.has_enhanced_port0() && options.lmc_esp0));
    if has_many {
        options.lmc
    } else {
        Lmc::default()
    }
}

/// A range that is wider than what the port uses now stays, so that a larger LMC finds it again.
///
/// Without that a change of `lmc` to 0 and back would renumber the subnet.
fn remember(remembered: &mut Remembered, port: Guid, lid: Lid, claim: &Claim) {
    let end = lid.get().saturating_add(claim.lmc.lids() - 1);
    let last = Lid::new(end).unwrap_or(Lid::MAX);
    let is_kept = remembered
        .get(port)
        .is_some_and(|range| range.first == lid && range.last >= last);
    if !is_kept {
        remembered.insert(port, Range { first: lid, last });
    }
}
