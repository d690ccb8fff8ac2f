//! torus-2QoS.conf: the size of the torus, its seeds and datelines.
//!
//! Reading follows OpenSM's parser, which is lenient: words behind those that are needed are ignored, numbers
//! are read by `strtoul`, the last of equal keywords counts. What is accepted so and hardly meant is a
//! [`ConfigRemark`]; what leaves no size, seed or number is a [`ConfigProblem`] for each bad line. Whether
//! the values fit a fabric is found out when it is routed, and told with the places kept here.
//!
//! ```text
//! # 6 switches around x, 5 around y, no z
//! torus 6 5 1
//! xp_link 0x200000 0x200001      # common switch, its +x neighbour
//! yp_link 0x200000 0x200006
//! x_dateline -2                  # coordinate 0 lies two switches down: the common switch is x=2
//! ```
//!
//! (The comments behind values work because words that are not needed are ignored, except behind
//! `port_order`, which would take them for ports 0.)

mod problem;
mod reader;

use sa_text::{Line, Position};

pub use self::problem::{ConfigError, ConfigErrors, ConfigProblem, ConfigRemark, ConfigWarning};
use self::reader::Reader;
use crate::placement::{Axis, Direction};

/// What a torus-2QoS.conf says. Made by [`TorusConfig::parse`].
///
/// Only the grammar has been checked: whether radices, seeds and port order fit a fabric is
/// found out by [`super::route`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TorusConfig {
    /// Switches around each ring; 1 for an axis that is absent, 0 when there was no size line.
    /// 32 bits as OpenSM reads them; that a coordinate is a byte is judged against the fabric.
    pub radix: [u32; 3],
    /// Axes that are open lines. An axis of radix 2 always is.
    /// A suffix `t` closes an axis of a `mesh` line, `m` opens one of a `torus` line.
    pub mesh: [bool; 3],
    /// Seeds in the order of the file; none when there was no seed line.
    pub seeds: Vec<Seed>,
    /// Most ports in a port group; for the group of local ports port 0 counts too.
    /// 16 unless named, so that 15 hosts fit a switch.
    pub portgroup_max_ports: u32,
    /// Ports named by `port_order`, without duplicates; may hold numbers that no port has.
    /// Empty where the file has none; [`Self::full_port_order`] adds the ports that it does not
    /// name.
    pub port_order: Vec<u32>,
    /// Differences to an earlier torus that are worth reporting.
    pub max_changes: u32,
    /// Oddities that were accepted.
    pub warnings: Vec<ConfigWarning>,
    /// Where what other checks may object to is written.
    pub places: Places,
}

/// Places of what a fabric may contradict.
/// Kept so that a fault found in the fabric hours later can still point at a line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Places {
    /// The numbers of the `torus` or `mesh` line, by axis.
    pub radix: [Option<Position>; 3],
    /// The numbers behind `port_order`. Shape: as [`TorusConfig::port_order`].
    pub port_order: Vec<Position>,
    /// The number behind `portgroup_max_ports`.
    pub portgroup_max_ports: Option<Position>,
    /// Line and column of the first keyword of each seed.
    pub seeds: Vec<Position>,
    /// By line: column of the keyword of a seed link.
    /// A line holds one link at most.
    pub links: std::collections::BTreeMap<u32, u32>,
}

/// A switch and neighbours of it, which fix where the torus begins and which way it runs.
/// The same on every SM gives the same coordinates everywhere, and so the same SLs after a
/// failover.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seed {
    /// Where coordinate 0 lies as seen from the common switch.
    pub dateline: [i32; 3],
    /// The link in each direction, if it is given. Shape: by [`Direction::group`].
    /// Of two for one direction the later one.
    pub links: [Option<SeedLink>; 6],
    /// Line of its first keyword.
    pub line: u32,
}

/// A link named by a seed. GUIDs are as written and may be 0.
/// Whether a cable joins the two is not looked at, here or later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeedLink {
    /// GUID of the common switch.
    pub common: u64,
    /// GUID of its neighbour.
    pub neighbour: u64,
    /// Line of the file.
    pub line: u32,
}

impl TorusConfig {
    /// Ports of a switch that can be ordered: 0 to 254.
    const ORDERED_PORTS: usize = 255;

    /// Reads a configuration.
    /// Errors: every bad line, not only the first.
    /// Source: torus-2QoS.conf(5); OpenSM `osm_torus.c` (`parse_config`).
    /// Cost: one pass. No file name is known here; whoever reports adds it.
    pub fn parse(text: &str) -> Result<Self, ConfigErrors> {
        let mut reader = Reader::new();
        // A carriage return parts words here, and a byte order mark belongs to its word.
        for (number, text) in (1..).zip(text.split('\n')) {
            reader.line(Line { number, text });
        }
        if reader.errors.is_empty() {
            Ok(reader.config)
        } else {
            Err(ConfigErrors(reader.errors))
        }
    }

    /// The order in which ports of a destination switch are visited: those listed, then the rest
    /// ascending. Shape: 255 entries.
    /// Port 0 comes behind those that are listed, before all others.
    pub fn full_port_order(&self) -> Vec<u32> {
        let rest = (0..)
            .take(Self::ORDERED_PORTS)
            .filter(|port| !self.port_order.contains(port));
        self.port_order
            .iter()
            .copied()
            .chain(rest)
            .take(Self::ORDERED_PORTS)
            .collect()
    }
}

impl Seed {
    /// The link in one direction.
    pub fn link(&self, direction: Direction) -> Option<SeedLink> {
        self.links[usize::from(direction.group())]
    }

    /// The links that are given, in the order in which they are placed: x before y before z, plus
    /// before minus.
    /// The order decides which switch gets which number of placement, and so how parallel cables
    /// are shared out.
    pub fn given(&self) -> impl Iterator<Item = (Direction, SeedLink)> + '_ {
        let directions = Axis::ALL
            .into_iter()
            .flat_map(|axis| [axis.plus(), axis.minus()]);
        directions.filter_map(|direction| Some((direction, self.link(direction)?)))
    }
}

/// Every keyword of the file, as messages list them.
/// Case matters: `Torus` is an unknown keyword, with `torus` as its suggestion.
pub const KEYWORDS: [&str; 15] = [
    "torus",
    "mesh",
    "xp_link",
    "xm_link",
    "yp_link",
    "ym_link",
    "zp_link",
    "zm_link",
    "x_dateline",
    "y_dateline",
    "z_dateline",
    "next_seed",
    "portgroup_max_ports",
    "port_order",
    "max_changes",
];

#[cfg(test)]
mod tests;
