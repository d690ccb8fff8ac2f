//! What devices hold, told without SMPs: for whoever judges a Subnet Manager from outside.
//!
//! An SMP would be one more that a node has to serve, and would change when others are. These change nothing, and tell of the
//! moment: every Set that was posted has been done, whether its answer has arrived or not.
//!
//! An index that the fabric does not have is answered by none, never by a panic: tests look at what they think is there.

use sa_fabric::{NodeIx, PortRef};
use sa_wire::records::PortInfoRecord;

use crate::Simulator;
use crate::device::PortState;

impl Simulator {
    /// The port by which a switch sends a LID on. `None`: it drops it, or is no switch.
    ///
    /// 255 in the table is "no path" and told as none.
    pub fn entry(&self, switch: NodeIx, lid: u16) -> Option<u8> {
        self.devices.get(switch.get())?.switch.as_ref()?.entry(lid)
    }

    /// The SL2VL table of a switch, two SLs a byte. `None` for what is no switch.
    ///
    /// Shape: as in the attribute; a pair that nobody has set has what the switch has at power-on.
    pub fn sl_to_vl(&self, switch: NodeIx, input: u8, output: u8) -> Option<[u8; 8]> {
        let switch = self.devices.get(switch.get())?.switch.as_ref()?;
        Some(switch.sl_to_vl(input, output))
    }

    /// The far end of a port's cable.
    ///
    /// As it is plugged now, whether it has trained or not.
    pub fn peer(&self, at: PortRef) -> Option<PortRef> {
        self.devices.get(at.node.get())?.port(at.port)?.peer
    }

    /// The far end of a port whose link passes data.
    ///
    /// Both ends have to be Active: one of them alone passes nothing.
    pub fn active_peer(&self, at: PortRef) -> Option<PortRef> {
        let active = |at: PortRef| {
            let port = self.devices.get(at.node.get())?.port(at.port)?;
            (port.state() == PortState::Active).then_some(port)
        };
        let peer = active(at)?.peer?;
        active(peer).map(|_| peer)
    }

    /// PortInfo of a port, whatever its M_Key.
    pub fn port_info(&self, at: PortRef) -> Option<PortInfoRecord> {
        Some(self.devices.get(at.node.get())?.port(at.port)?.info)
    }

    /// The P_Key table of a port, without empty places. Shape: raw, with the bit of full membership.
    ///
    /// In the order of their indices.
    pub fn pkeys(&self, at: PortRef) -> Vec<u16> {
        let port = self
            .devices
            .get(at.node.get())
            .and_then(|it| it.port(at.port));
        let blocks = port.into_iter().flat_map(|port| &port.pkeys);
        let keys = blocks.flat_map(|block| block.as_chunks().0);
        let keys = keys.map(|key| u16::from_be_bytes(*key));
        keys.filter(|key| key & 0x7fff != 0).collect()
    }

    /// The ports to which a switch sends packets of a group. `mlid` counts from the first MLID.
    ///
    /// Port 0 among them where the switch itself is a member.
    pub fn group_ports(&self, switch: NodeIx, mlid: u16) -> Vec<u8> {
        let device = self.devices.get(switch.get());
        let switch = device.and_then(|it| it.switch.as_ref());
        switch.map_or_else(Vec::new, |switch| switch.group_ports(mlid))
    }

    /// The GUIDs of an end port by place, its own first: 0 before anybody has asked for them.
    ///
    /// Shape: whole blocks of eight, as many as were asked for or written.
    pub fn guids(&self, at: PortRef) -> Vec<u64> {
        let port = self
            .devices
            .get(at.node.get())
            .and_then(|it| it.port(at.port));
        let blocks = port.into_iter().flat_map(|port| &port.guids);
        let guids = blocks.flat_map(|block| block.as_chunks().0);
        guids.map(|guid| u64::from_be_bytes(*guid)).collect()
    }

    /// The LIDs of a port, first to last; `None` before it has one.
    ///
    /// Of a switch only port 0 has any.
    pub fn lids(&self, at: PortRef) -> Option<core::ops::RangeInclusive<u16>> {
        let info = &self.devices.get(at.node.get())?.port(at.port)?.info;
        let base = info.base_lid.get();
        let count = 1_u16 << (info.m_key_protect_and_lmc & 7);
        (base != 0).then(|| base..=base.saturating_add(count - 1))
    }
}
