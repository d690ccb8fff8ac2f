//! A torus as a snapshot model, without files or routing: for measuring and testing the answer
//! path alone.
//!
//! The answer path sees only tables, and those of a healthy torus can be written down without
//! routing it: ports in the order x, y, z, the switch first and then its hosts, LIDs from 1.
//!
//! ```text
//! torus_model([24; 3], 2)   13,824 switches, 27,648 hosts, 41,472 LIDs
//! ```
//!
//! Path classes are uniform: every pair has the same capacity, and the SL follows from coordinates
//! ([`EngineSl::Torus`]). [`dense`] makes the other extreme, a class per pair of switches in a
//! table of 380 MB at that size. Nothing here was routed, so nothing may be proved about it.

use sa_snapshot::model::{
    Capacity, EngineSl, Model, Pairs, PartitionRow, PathClass, PathSl, PathTables, PolicyTables,
    PortRow, Provenance, RateCaps, Subnet,
};
use sa_wire::{Guid, Lid, Lmc, Mtu, NodeType, Pkey, Rate, RateRank, SlVlMask};

/// 2048 bytes at 100 Gb/s.
pub fn capacity() -> Capacity {
    let rate = Rate::from_code(16).map_or(Capacity::UNLIMITED.rate, Rate::rank);
    Capacity {
        mtu: Mtu::M2048,
        rate,
    }
}

/// The same at 10 Gb/s.
///
/// For pairs in [`dense`] whose rate must differ.
fn slow() -> Capacity {
    let rate = Rate::from_code(3).map_or(Capacity::UNLIMITED.rate, Rate::rank);
    Capacity { rate, ..capacity() }
}

/// A healthy torus of equal links: `hosts` CA ports per switch, LIDs ascending, every port in the
/// default partition and one of four others. None when it has more than 49,151 LIDs.
///
/// Cost: time and memory by ports.
pub fn torus_model(radix: [u8; 3], hosts: u8) -> Option<Model> {
    let mut ports = Vec::new();
    let [sx, sy, sz] = radix;
    let mut switch = 0;
    for z in 0..sz {
        for y in 0..sy {
            for x in 0..sx {
                for nth in 0..=hosts {
                    ports.push(port(ports.len(), nth, switch, [x, y, z])?);
                }
                switch += 1;
            }
        }
    }
    let count = ports.len();
    Some(Model {
        groups: Vec::new(),
        prefix_routes: Vec::new(),
        aliases: Vec::new(),
        provenance: Provenance {
            engine: "torus-2qos".into(),
            ..Default::default()
        },
        subnet: Subnet {
            qos: true,
            ..Default::default()
        },
        partitions: (1..=4).map(|base| PartitionRow { base, sl: 0 }).collect(),
        paths: uniform(radix, count),
        policy: None,
        ports,
    })
}

/// None where the LID does not fit.
fn port(ix: usize, nth: u8, switch: u32, coordinate: [u8; 3]) -> Option<PortRow> {
    let lid = u16::try_from(ix + 1).ok()?;
    // Scattered as real EUI-64 values are.
    let guid = u64::from(lid).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    // Full members of one of four partitions besides the default: pairs have one or two in common.
    let base = 0x8001 + lid % 4;
    Some(PortRow {
        guid: Guid::new(guid).ok()?,
        node_type: if nth == 0 {
            NodeType::Switch
        } else {
            NodeType::Ca
        },
        lid: Lid::new(lid).ok()?,
        lmc: Lmc::default(),
        switch: Some(switch),
        own: capacity(),
        edge: capacity(),
        sl_out: SlVlMask::ALL,
        sl_in: SlVlMask::ALL,
        rate_caps: RateCaps::default(),
        pkeys: vec![Pkey::DEFAULT_FULL, Pkey::new(base).ok()?],
        coordinate: Some(coordinate),
    })
}

/// Everything is 1: rows, columns and classes are counted from there, 0 being a port without a
/// switch.
fn uniform(radix: [u8; 3], ports: usize) -> PathTables {
    let class = PathClass {
        capacity: capacity(),
        carried: SlVlMask::ALL,
        hops: 0,
        sl: PathSl::Policy,
    };
    PathTables {
        engine_sl: EngineSl::Torus { radix },
        classes: vec![class; 2],
        rows: vec![1; ports],
        columns: vec![vec![1]; ports],
        pairs: Pairs::Uniform {
            within: 1,
            across: 1,
        },
    }
}

/// The same torus with the class of every pair of switches in a table, as on a fabric of no known
/// form: classes by distance and, on one pair of seven, by a slower link.
///
/// A model that is no torus is given back as it is. Cost: the square of the switches.
pub fn dense(mut model: Model) -> Model {
    let EngineSl::Torus { radix } = model.paths.engine_sl else {
        return model;
    };
    let switches: Vec<[u8; 3]> = model
        .ports
        .iter()
        .filter(|port| port.node_type == NodeType::Switch)
        .filter_map(|port| port.coordinate)
        .collect();
    let number = |port: &PortRow| port.switch.and_then(|nth| u16::try_from(nth + 1).ok());
    let numbers = model.ports.iter().map(|port| number(port).unwrap_or(0));
    // From 1, by switch: row and column of a port in the table.
    let numbers: Vec<u16> = numbers.collect();
    // More than the longest way of a torus, so that classes of slow pairs do not meet the others.
    let longest = radix
        .iter()
        .map(|size| usize::from(size / 2))
        .sum::<usize>()
        + 2;
    let mut table = Vec::with_capacity(switches.len() * switches.len());
    for (nth, from) in switches.iter().enumerate() {
        let class = |(other, to): (usize, &[u8; 3])| {
            // Symmetric in both ends, as a slow cable is.
            let slow = if (nth + other) % 7 == 0 { longest } else { 0 };
            u16::try_from(1 + slow + distance(*from, *to, radix)).unwrap_or(1)
        };
        table.extend(switches.iter().enumerate().map(class));
    }
    let class = |nth: usize| PathClass {
        capacity: if nth > longest { slow() } else { capacity() },
        carried: SlVlMask::ALL,
        hops: u8::try_from(nth.saturating_sub(1) % longest + 1).unwrap_or(u8::MAX),
        sl: PathSl::Policy,
    };
    model.paths = PathTables {
        engine_sl: EngineSl::Keep,
        classes: (0..=2 * longest).map(class).collect(),
        columns: numbers.iter().map(|number| vec![*number]).collect(),
        rows: numbers,
        pairs: Pairs::Dense {
            columns: u32::try_from(switches.len()).unwrap_or(0),
            table,
        },
    };
    model
}

/// Links between two switches of a torus.
///
/// The shorter way around on each axis, added up.
fn distance(from: [u8; 3], to: [u8; 3], radix: [u8; 3]) -> usize {
    let axes = from.iter().zip(&to).zip(&radix);
    axes.map(|((from, to), size)| {
        let apart = from.abs_diff(*to);
        usize::from(apart.min(size - apart))
    })
    .sum()
}

/// Puts a compiled policy into force.
///
/// The snapshot's builder puts it beside the path tables; these do not change.
pub fn with_policy(mut model: Model, policy: PolicyTables) -> Model {
    model.policy = Some(policy);
    model
}

/// The rank of a rate code, for tests that set capacities by hand.
pub fn rank(code: u8) -> Option<RateRank> {
    Rate::from_code(code).ok().map(Rate::rank)
}
