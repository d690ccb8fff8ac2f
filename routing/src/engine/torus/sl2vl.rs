//! SL to VL tables.
//!
//! Between switches, VL bit 0 keeps apart paths that cross the dateline of the ring they leave on,
//! bit 1 the hop behind a turn against the dimension order, bit 2 the QoS level. Towards end ports
//! bit 0 is the QoS level.
//! Source: OpenSM `osm_torus.c` (`sl2vl_entry`).

use sa_wire::{DataVls, SlToVl};

use super::verify::LeastVls;
use crate::placement::Torus;
use crate::tables::sl2vl::masked;
use crate::topology::{PortNumbers, Topology};

/// Tables of all switches, made from little.
#[derive(Debug, Clone)]
pub(crate) struct TorusSl2Vl {
    /// By port number: the axis of its group, or `NO_AXIS`.
    axes: Vec<u8>,
    /// By port number: VLs in operation.
    operational: Vec<DataVls>,
    /// By switch of the port: it is in the torus.
    inside: Vec<bool>,
    vls: LeastVls,
}

/// Axis of local ports.
pub(in crate::engine) const NO_AXIS: u8 = 3;

impl TorusSl2Vl {
    pub(in crate::engine) fn new(topology: &Topology, torus: &Torus, vls: LeastVls) -> Self {
        let numbers = PortNumbers::new(topology);
        let mut axes = vec![NO_AXIS; numbers.total()];
        let mut inside = vec![false; numbers.total()];
        for placed in torus.switches() {
            let groups = (0..).zip(&placed.groups[..6]);
            for (axis, ports) in groups.map(|(group, ports): (u8, _)| (group / 2, ports)) {
                for port in ports {
                    axes[numbers.of(placed.switch, *port)] = axis;
                }
            }
            let ports = topology.switch(placed.switch).ports.len();
            inside[numbers.of(placed.switch, 0)..][..ports].fill(true);
        }
        let ports = topology.switches.iter().flat_map(|switch| &switch.ports);
        let operational = ports.map(|port| port.operational_vls).collect();
        Self {
            axes,
            operational,
            inside,
            vls,
        }
    }

    /// Between two ports of a switch, by port number, cut to the VLs in operation.
    pub(crate) fn switch(&self, input: usize, output: usize) -> SlToVl {
        let table = if self.inside[output] {
            between(
                self.axes[input],
                self.axes[output],
                self.vls.between_switches,
            )
        } else {
            self.end_port()
        };
        masked(table, self.operational[output])
    }

    /// Of CA and router ports, and of switches outside the torus.
    pub(crate) fn end_port(&self) -> SlToVl {
        level_only(self.vls.end_ports)
    }
}

/// The table between two ports by their axes, with the fewest data VLs between switches. Ports of no
/// axis have [`NO_AXIS`].
pub(in crate::engine) fn between(input: u8, output: u8, vls: u8) -> SlToVl {
    if output == NO_AXIS {
        return level_only(vls);
    }
    let is_against_order = input != NO_AXIS && input > output;
    SlToVl(SLS.map(|sl| {
        let mut vl = 0;
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

fn level_only(vls: u8) -> SlToVl {
    SlToVl(SLS.map(|sl| if vls >= 2 { sl >> 3 } else { 0 }))
}

const SLS: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
