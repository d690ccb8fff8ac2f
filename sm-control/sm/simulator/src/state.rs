//! What devices hold, a line for each thing, so that two fabrics can be compared.
//!
//! | line | of |
//! |---|---|
//! | `node` | SwitchInfo |
//! | `port` | PortInfo without counters, the far end of the cable, GUIDs, P_Keys, VL arbitration, SL2VL of a CA |
//! | `lft`, `mft`, `slvl` | a block of a switch that holds something else than at power-on |
//!
//! Left out is what no SM writes: counters of violations, and how often clients were asked to register again.
//!
//! Lines are for equality alone: they are compared, and shown where they differ; nothing parses them.

use core::fmt::Debug;

use crate::Simulator;
use crate::device::{Device, Port, Switch};

impl Simulator {
    /// All that an SM can have written, and links. Shape: a line for each node, port and block of a table, in their order.
    ///
    /// Tables that were never written make no line, so a fabric that was only found has few.
    pub fn held(&self) -> Vec<String> {
        self.devices.iter().flat_map(of_device).collect()
    }
}

/// The lines of a node, its ports and its tables.
fn of_device(device: &Device) -> Vec<String> {
    let guid = device.guid;
    let info = device.switch.as_ref().map(|switch| switch.info);
    let mut lines = vec![format!("node {guid} {info:?}")];
    for (number, port) in (0..=u8::MAX).zip(&device.ports) {
        lines.push(of_port(&format!("port {guid}/{number}"), port));
    }
    lines.extend(device.switch.iter().flat_map(|it| of_switch(it, &guid)));
    lines
}

/// One line, however much a port holds: a difference shows both whole.
fn of_port(name: &str, port: &Port) -> String {
    let mut info = port.info;
    info.m_key_violations = 0.into();
    info.p_key_violations = 0.into();
    info.q_key_violations = 0.into();
    let tables = (
        &port.guids,
        &port.pkeys,
        &port.vl_arbitration,
        &port.sl_to_vl,
    );
    format!("{name} {:?} {info:?} {tables:?}", port.peer)
}

/// Blocks that are as at power-on are left out, written or not: nobody can tell.
fn of_switch(switch: &Switch, guid: &impl Debug) -> Vec<String> {
    let mut lines = Vec::new();
    for (block, data) in &switch.linear {
        if data.iter().any(|port| *port != 0xff) {
            lines.push(format!("lft {guid:?} {block} {data:?}"));
        }
    }
    for (place, data) in &switch.multicast {
        if data.iter().any(|mask| *mask != 0) {
            lines.push(format!("mft {guid:?} {place:#x} {data:?}"));
        }
    }
    for (pair, data) in &switch.sl_to_vl {
        lines.push(format!("slvl {guid:?} {pair:?} {data:?}"));
    }
    lines
}
