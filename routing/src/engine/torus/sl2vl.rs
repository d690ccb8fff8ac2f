//! SL to VL tables.
//!
//! Between switches, VL bit 0 keeps apart paths that cross the dateline of the ring they leave on,
//! bit 1 the hop behind a turn against the dimension order, bit 2 the QoS level. Towards end ports
//! bit 0 is the QoS level.
//! Source: OpenSM `osm_torus.c` (`sl2vl_entry`).
//!
//! # The table for one hop between switches, 8 data VLs
//!
//! ```text
//! VL = (SL >> axis & 1)  +  2 if the turn is y to x, z to x or z to y  +  4 if SL is 8 or more
//! ```
//!
//! SL 9 (level 1, crosses the dateline of x) that comes by y and leaves by x: 1 + 2 + 4 = VL 7.
//! With 4 data VLs the third term is gone, with 2 the second, too; what that costs is in
//! `docs/routing/torus-2qos.md`, section 2.5.
//!
//! Axes are all that matters of a port, so a fabric of any size has 25 tables at most.

use sa_wire::SlToVl;

use super::verify::LeastVls;
use crate::placement::Torus;
use crate::tables::sl2vl::Sl2VlByKind;
use crate::topology::{PortNumbers, Topology};

/// Kind of local ports. Those between switches have the number of their axis.
/// Ports that are not used in the torus are local as well.
pub(in crate::engine) const NO_AXIS: u8 = 3;

/// Kind of the ports of switches outside the torus.
/// They pass no dateline and have the QoS level only.
const OUTSIDE: u8 = 4;

/// The tables of all ports.
/// Not yet cut to the VLs in operation at each port: `Sl2Vl` does that when asked.
pub(in crate::engine) fn tables(topology: &Topology, torus: &Torus, vls: LeastVls) -> Sl2VlByKind {
    let end_ports = level_only(vls.end_ports);
    let table = |input, output| match (input, output) {
        // OpenSM gives these what end ports get.
        (OUTSIDE, _) | (_, OUTSIDE) => end_ports,
        (input, output) => between(input, output, vls.between_switches),
    };
    let row = |input| (0..=OUTSIDE).map(|output| table(input, output)).collect();
    Sl2VlByKind {
        kinds: kinds(topology, torus),
        tables: (0..=OUTSIDE).map(row).collect(),
        end_ports,
    }
}

/// The kind of every port. Shape: by port number.
fn kinds(topology: &Topology, torus: &Torus) -> Vec<u8> {
    let numbers = PortNumbers::new(topology);
    let mut kinds = vec![OUTSIDE; numbers.total()];
    for placed in torus.switches() {
        let ports = topology.switch(placed.switch).ports.len();
        // Local, unless a group says otherwise below.
        kinds[numbers.number(placed.switch, 0)..][..ports].fill(NO_AXIS);
        let groups = (0..).zip(&placed.groups[..6]);
        for (axis, ports) in groups.map(|(group, ports): (u8, _)| (group / 2, ports)) {
            for port in ports {
                kinds[numbers.number(placed.switch, *port)] = axis;
            }
        }
    }
    kinds
}

/// The table between two ports by their axes, with the fewest data VLs between switches. Ports of no
/// axis have [`NO_AXIS`].
///
/// torus-proved uses it too, hop by hop.
pub(in crate::engine) fn between(input: u8, output: u8, vls: u8) -> SlToVl {
    if output == NO_AXIS {
        return level_only(vls);
    }
    // From a host bit 1 is never set: nothing came before that could close a cycle.
    let is_against_order = input != NO_AXIS && input > output;
    SlToVl(SLS.map(|sl| {
        let mut vl = 0;
        // Which of the two lanes of a ring: all that crosses its dateline is on the other.
        if vls >= 2 {
            vl |= sl >> output & 1;
        }
        if vls >= 4 {
            vl |= u8::from(is_against_order) << 1;
        }
        if vls >= 8 {
            vl |= (sl >> 3) << 2;
        }
        vl
    }))
}

/// VL 1 for the upper level where there are two VLs at all.
/// Towards hosts nothing waits for ever, so datelines need no lanes there.
fn level_only(vls: u8) -> SlToVl {
    SlToVl(SLS.map(|sl| if vls >= 2 { sl >> 3 } else { 0 }))
}

/// Every SL, to make a table of.
const SLS: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
