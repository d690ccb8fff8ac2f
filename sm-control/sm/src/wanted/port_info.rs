//! PortInfo, by kind of port.
//!
//! | field | CA, router | enhanced port 0 | base port 0 | external port |
//! |---|---|---|---|---|
//! | M_Key with level and lease, GidPrefix, LID, LMC, MasterSMLID, MasterSMSL, SubnetTimeOut | x | x | x | |
//! | NeighborMTU | lesser MTUCap | own MTUCap | | lesser MTUCap |
//! | OperationalVLs | lesser VLCap, `max_op_vls` | own, `max_op_vls` | | lesser VLCap, `max_op_vls` |
//! | widths and speeds, error thresholds, VLHighLimit | x | x | | x |
//! | HOQLife | router | | | x |
//! | VLStallCount, P_Key enforcement | | | | x |
//!
//! PortState and PortPhysicalState of a wanted value are 0, "no change": links are brought up by the order of writing.
//! [`differs`] leaves them out.
//!
//! Nothing here may depend on what was wanted before: the same model and options give the same value, so a sweep that was cut short is
//! gone on with by another one.

use sa_fabric::PortRef;
use sa_fabric::options::{ManagerOptions, OpenSmOptions};
use sa_wire::records::PortInfoRecord;
use sa_wire::{Lid, NodeType, Sl};

use crate::lids::PortLids;
use crate::model::{Node, Port, Subnet};

/// What is the same for all ports.
#[derive(Debug, Clone, Copy)]
pub struct Common<'a> {
    /// Options that answers depend on too.
    pub options: &'a OpenSmOptions,
    /// The others.
    pub manager: &'a ManagerOptions,
    /// The LID of the SM's port.
    /// Its base LID: MasterSMLID of every end port.
    pub sm_lid: Lid,
}

/// What is decided elsewhere for one port.
///
/// LIDs, SL and limit need the whole subnet; what needs the port and its peer alone is decided in this file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Decided {
    /// Of end ports. None: there is none for this port, so it gets LID 0.
    pub lids: Option<PortLids>,
    /// The SL to the SM, of end ports whose engine knows one; else `sm_sl`.
    pub sm_sl: Option<Sl>,
    /// VLHighLimit; none where QoS is off: it stays.
    pub high_limit: Option<u8>,
    /// ClientReregister, of end ports.
    /// In the Set alone: a port never shows it.
    pub registers_again: bool,
}

/// The PortInfo that a port should have. `None`: its own was not read, or it is an external port without link.
///
/// Shape: a whole PortInfo to be written as it stands: read-only fields hold what the port told.
pub fn wanted(
    subnet: &Subnet,
    at: PortRef,
    decided: &Decided,
    common: Common<'_>,
) -> Option<PortInfoRecord> {
    let node = subnet.node(at.node)?;
    let port = node.port(at.port)?;
    let mut info = unchanged(port.info.as_ref()?);
    let peer = port.peer.and_then(|peer| subnet.port(peer));
    let peer_node = port.peer.and_then(|peer| subnet.node(peer.node));
    match (node.kind(), at.port) {
        (NodeType::Switch, 0) => {
            // A base port 0 has no link of its own: its MTU and VLs are nobody's to set.
            end_port(&mut info, decided, common);
            if node.has_enhanced_port0() {
                enhanced_port0(&mut info, common);
                link(&mut info, decided, common);
            }
        }
        (NodeType::Switch, _) => {
            // No `end_port`: LID, key and prefix of an external port are those of port 0, and are reserved there.
            negotiated(&mut info, peer, common);
            link(&mut info, decided, common);
            extended_speed(&mut info, masks(node, port, peer_node, peer), common);
            timers(&mut info, peer_node.map(Node::kind), common);
            enforcement(&mut info, node, peer_node, common);
        }
        (kind, _) => {
            end_port(&mut info, decided, common);
            negotiated(&mut info, peer, common);
            link(&mut info, decided, common);
            extended_speed(&mut info, masks(node, port, peer_node, peer), common);
            // A router's port is the last hop before another subnet: packets wait there as at a leaf.
            if kind == NodeType::Router && peer.is_some() {
                let life = common.options.leaf_head_of_queue_lifetime;
                info.vl_stall_and_hoq_life = (info.vl_stall_and_hoq_life & 0xe0) | (life & 0x1f);
            }
        }
    }
    Some(info)
}

/// True where something is to be written: all but the states of the link.
///
/// With [`wanted`] from the same reading it is false only where the device holds all of it.
pub fn differs(read: &PortInfoRecord, wanted: &PortInfoRecord) -> bool {
    unchanged(read) != unchanged(wanted)
}

/// True where a link in use has to train anew to take this: MTU or VLs in operation change.
///
/// A link takes both over on its way to Active: a write alone would leave its two ends apart.
pub const fn needs_training(read: &PortInfoRecord, wanted: &PortInfoRecord) -> bool {
    let mtu = (read.neighbor_mtu_and_sm_sl ^ wanted.neighbor_mtu_and_sm_sl) >> 4;
    let vls = (read.operational_vls_and_enforcement ^ wanted.operational_vls_and_enforcement) >> 4;
    mtu != 0 || vls != 0
}

/// As it was read, with no change of states asked for, and clients not asked to register again.
///
/// 0 of PortState and PortPhysicalState is "no change" (IBA vol. 1, 14.2.5.6).
fn unchanged(read: &PortInfoRecord) -> PortInfoRecord {
    PortInfoRecord {
        speed_supported_and_state: read.speed_supported_and_state & 0xf0,
        physical_state_and_down_default: POLLING,
        subnet_timeout: read.subnet_timeout & 0x7f,
        // Counted, or told, by the device alone.
        m_key_violations: 0.into(),
        p_key_violations: 0.into(),
        q_key_violations: 0.into(),
        local_port_num: 0,
        ..*read
    }
}

/// What goes with a LID.
///
/// M_Key, lease, prefix and LIDs, the way to the SM and how long it may take to answer.
fn end_port(info: &mut PortInfoRecord, decided: &Decided, common: Common<'_>) {
    let Common {
        options, manager, ..
    } = common;
    info.m_key = manager.m_key.into();
    info.m_key_lease_period = manager.m_key_lease_period.into();
    info.gid_prefix = options.subnet_prefix.0.into();
    info.sm_lid = common.sm_lid.get().into();
    // Without LIDs it is set back to 0: a LID that it keeps could be given to another port.
    let (lid, lmc) = decided
        .lids
        .map_or((0, 0), |it| (it.lid.get(), it.lmc.get()));
    info.base_lid = lid.into();
    info.m_key_protect_and_lmc = (manager.m_key_protection_level << 6) | lmc;
    let sl = decided.sm_sl.unwrap_or(options.sm_sl);
    // Upper half NeighborMTU, which `negotiated` sets; each of both keeps the other's bits.
    info.neighbor_mtu_and_sm_sl = (info.neighbor_mtu_and_sm_sl & 0xf0) | sl.get();
    // Five bits: a longer time than they hold is the longest that they do.
    info.subnet_timeout = (info.subnet_timeout & 0x60)
        | options.subnet_timeout.min(31)
        | (u8::from(decided.registers_again) << 7);
}

/// It has no link: MTU and VLs are its own.
fn enhanced_port0(info: &mut PortInfoRecord, common: Common<'_>) {
    set_mtu(info, mtu_cap(info));
    set_vls(info, vl_cap(info).min(common.options.max_op_vls));
}

/// MTU and VLs that both ends can.
///
/// Nothing where the far end did not tell: one end that is changed alone would not fit the other.
fn negotiated(info: &mut PortInfoRecord, peer: Option<&Port>, common: Common<'_>) {
    let Some(far) = peer.and_then(|peer| peer.info.as_ref()) else {
        return;
    };
    set_mtu(info, mtu_cap(info).min(mtu_cap(far)));
    let vls = vl_cap(info).min(vl_cap(far));
    set_vls(info, vls.min(common.options.max_op_vls));
}

/// Widths, speeds, thresholds and the limit of high priority.
///
/// VLHighLimit stays where QoS is off.
fn link(info: &mut PortInfoRecord, decided: &Decided, common: Common<'_>) {
    let manager = common.manager;
    width(info, manager.force_link_width);
    let supported = info.speed_supported_and_state >> 4;
    match manager.force_link_speed {
        // 0: leave it. 15: all that is supported, which needs no write where it is so already.
        0 => {}
        15 if info.speed_active_and_enabled & 0xf == supported => {}
        speed => info.speed_active_and_enabled = (info.speed_active_and_enabled & 0xf0) | speed,
    }
    info.error_thresholds =
        (manager.local_phy_errors_threshold << 4) | manager.overrun_errors_threshold;
    if let Some(limit) = decided.high_limit {
        // With one VL there is no other that a limit could be for.
        info.vl_high_limit = if vl_cap(info) == 1 { 0 } else { limit };
    }
}

/// Widths of 2x are enabled only where CapabilityMask2 has them: a device without takes the bit for an error.
fn width(info: &mut PortInfoRecord, forced: u8) {
    let has_2x = info.capability_mask2.get() & LINK_WIDTH_2X != 0;
    let asked = match forced {
        // 255: all that are supported, and so the device says which these are.
        255 => info.link_width_supported,
        width => width,
    };
    let is_possible = asked & WIDTH_2X == 0 || has_2x;
    if forced != 0 && is_possible && info.link_width_enabled != asked {
        info.link_width_enabled = forced;
    }
}

/// Extended speeds are asked for where both ends know them.
///
/// Else the bits are reserved at one of them, and a write of reserved bits may be refused.
fn extended_speed(info: &mut PortInfoRecord, masks: [u32; 2], common: Common<'_>) {
    let both = masks
        .iter()
        .all(|mask| mask & PortInfoRecord::EXTENDED_SPEEDS != 0);
    let supported = info.ext_speed_active_and_supported & 0xf;
    match common.manager.force_link_speed_ext {
        0 => {}
        31 if info.ext_speed_enabled & 0x1f == supported => {}
        speed if both => info.ext_speed_enabled = speed,
        _ => {}
    }
}

/// CapabilityMask of both ends; of a switch that of its port 0.
///
/// 0 where it was not read: then nothing extended is asked for.
fn masks(node: &Node, port: &Port, peer_node: Option<&Node>, peer: Option<&Port>) -> [u32; 2] {
    let mask = |node: &Node, port: &Port| {
        let holder = if node.is_switch() {
            node.port(0)
        } else {
            Some(port)
        };
        let info = holder.and_then(|holder| holder.info);
        info.map_or(0, |info| info.capability_mask.get())
    };
    let far = peer_node
        .zip(peer)
        .map_or(0, |(node, port)| mask(node, port));
    [mask(node, port), far]
}

/// How long a packet may wait, and after how many that waited too long a VL is emptied.
///
/// HOQLife and VLStallCount. Towards a switch and towards an end port they are options of their own: a leaf that stalls must not stop a
/// whole fabric.
fn timers(info: &mut PortInfoRecord, peer: Option<NodeType>, common: Common<'_>) {
    let Common {
        options, manager, ..
    } = common;
    let (life, stall) = match peer {
        Some(NodeType::Switch) => (options.head_of_queue_lifetime, manager.vl_stall_count),
        Some(_) => (
            options.leaf_head_of_queue_lifetime,
            manager.leaf_vl_stall_count,
        ),
        None => return,
    };
    info.vl_stall_and_hoq_life = (stall << 5) | (life & 0x1f);
}

/// P_Keys are checked towards end ports; between switches everything passes. A switch without tables for it
/// checks nothing.
///
/// A switch without tables that were told to enforce would drop everything, so it is not told.
fn enforcement(info: &mut PortInfoRecord, node: &Node, peer: Option<&Node>, common: Common<'_>) {
    let Some(peer) = peer else {
        return;
    };
    let has_tables = node
        .switch_info
        .is_some_and(|switch| switch.enforcement_cap.get() > 0);
    let is_end_port = !peer.is_switch();
    let checks = has_tables && is_end_port && !common.options.no_partition_enforcement;
    let bits = if checks {
        common.manager.part_enforce.bits()
    } else {
        0
    };
    info.operational_vls_and_enforcement =
        // Inbound and outbound enforcement are bits 3 and 2 of the byte.
        (info.operational_vls_and_enforcement & !(3 << 2)) | (bits << 2);
}

fn mtu_cap(info: &PortInfoRecord) -> u8 {
    info.init_type_reply_and_mtu_cap & 0xf
}

fn vl_cap(info: &PortInfoRecord) -> u8 {
    info.vl_cap_and_init_type >> 4
}

/// 0 is none that there is: the smallest is meant, as in OpenSM.
fn set_mtu(info: &mut PortInfoRecord, mtu: u8) {
    info.neighbor_mtu_and_sm_sl = (mtu.max(1) << 4) | (info.neighbor_mtu_and_sm_sl & 0xf);
}

/// Like [`set_mtu`].
fn set_vls(info: &mut PortInfoRecord, vls: u8) {
    let others = info.operational_vls_and_enforcement & 0xf;
    info.operational_vls_and_enforcement = (vls.max(1) << 4) | others;
}

/// LinkDownDefaultState, with a PortPhysicalState of "no change".
const POLLING: u8 = 2;
/// In LinkWidthSupported and LinkWidthEnabled.
const WIDTH_2X: u8 = 1 << 4;
/// In CapabilityMask2: IsLinkWidth2xSupported.
const LINK_WIDTH_2X: u16 = 1 << 4;
