//! PortInfoRecords. Source: OpenSM `osm_sa_portinfo_record.c`.
//!
//! The longest of the records: some fifty components, of which a fabric file says a dozen. Four
//! kinds of port differ in what OpenSM keeps of them:
//!
//! | port | LID, prefix, SM | capabilities | link | HOQLife |
//! |---|---|---|---|---|
//! | switch, port 0 | yes | of ports 0 | as if up | no |
//! | switch, external, with a link | no | no | yes | to a switch, or to a leaf |
//! | switch, external, without | no | no | down, polling | no |
//! | CA, router | yes | of end ports | yes | router: leaf |
//!
//! Two details are made for clients. The M_Key is 0 for whoever is not trusted. Of a link with an
//! extended speed, QDR is added to the original speeds unless the request asks for them as they
//! are, because older clients do not know the extended ones.

use core::ops::ControlFlow;

use sa_fabric::{Link, LinkSpeed, LinkWidth, PortRef};
use sa_wire::records::{Field, Layout, PortInfoRecord};
use sa_wire::{DataVls, Lid, NodeType};
use zerocopy::IntoBytes;

use super::device;
use super::out::Out;
use super::query::Query;
use super::view::View;

/// One record for each port that the SM knows, port 0 of switches included. A LID finds the node,
/// and then also decides, by range ([`owns_lid`]).
pub(super) fn walk(view: &View<'_>, query: &Query<'_>, out: &mut Out) -> ControlFlow<()> {
    // Asking for BaseLID looks up the record's LID too.
    // OpenSM takes the record's LID to look up, whichever of the two bits is set.
    let by_lid = query.has(mask("lid") | mask("base_lid"));
    let lid = by_lid.then(|| query.raw("lid"));
    for node in view.nodes_by_lid(lid) {
        match query.wanted("port_num").map(u8::try_from) {
            Some(Ok(port)) => {
                let at = PortRef { node, port };
                if view.knows(at) {
                    put(view, query, at, out)?;
                }
            }
            // A port number over 255 is nobody's.
            Some(Err(_)) => {}
            None => {
                for at in view.ports(node) {
                    put(view, query, at, out)?;
                }
            }
        }
    }
    ControlFlow::Continue(())
}

/// The record of one port, if it agrees and may be seen, as the requester may see it.
fn put(view: &View<'_>, query: &Query<'_>, at: PortRef, out: &mut Out) -> ControlFlow<()> {
    let mut record = record(view, at);
    if !agrees(query, &record) || !owns_lid(view, query, at) || !view.shows(at) {
        return ControlFlow::Continue(());
    }
    // What is not for everybody, and what clients see who know no better.
    if !query.is_trusted {
        record.m_key = 0.into();
    }
    let options = query
        .wanted("options")
        .and_then(|raw| u8::try_from(raw).ok());
    record.options = options.unwrap_or(0);
    let is_extended = record.ext_speed_active_and_supported >> 4 != 0;
    if is_extended && record.options & PortInfoRecord::ORIGINAL_SPEEDS == 0 {
        record.speed_supported_and_state |= PortInfoRecord::QDR << 4;
        record.speed_active_and_enabled |= PortInfoRecord::QDR << 4 | PortInfoRecord::QDR;
    }
    out.push(record.as_bytes())
}

/// The LID of the request is in the port's range: its base LID and those that LMC adds.
///
/// Where none is asked for, every port is right. A port without a LID of its own has no range.
fn owns_lid(view: &View<'_>, query: &Query<'_>, at: PortRef) -> bool {
    let Some(lid) = query.wanted("lid") else {
        return true;
    };
    let lids = view.end(at).map(|end| (end.lid.get(), end.lmc.lids()));
    lids.is_some_and(|(first, count)| {
        let first = u64::from(first);
        (first..first + u64::from(count)).contains(&lid)
    })
}

/// Compares what OpenSM compares. Capability masks are matched by single bits on demand: the
/// client's record then says which bits must be there.
fn agrees(query: &Query<'_>, record: &PortInfoRecord) -> bool {
    let bits = query.matches_bits();
    let is_mask = |field: &Field| matches!(field.name, "capability_mask" | "capability_mask2");
    let has_bits = |name| {
        let wanted = query.wanted(name).unwrap_or(0);
        let has = Layout::PORT_INFO
            .field(name)
            .map_or(0, |field| field.value(record.as_bytes()));
        wanted & has == wanted
    };
    query.agrees(record.as_bytes(), |field| {
        is_compared(field) && !(bits && is_mask(field))
    }) && (!bits || (has_bits("capability_mask") && has_bits("capability_mask2")))
}

/// What is left out is looked at elsewhere (LID, PortNum) or not at all: OpenSM has no comparison
/// for it.
fn is_compared(field: &Field) -> bool {
    !matches!(
        field.name,
        "lid"
            | "port_num"
            | "options"
            | "init_type_reply"
            | "client_reregister"
            | "multicast_pkey_trap_suppression"
            | "max_credit_hint"
            | "link_round_trip_latency"
    )
}

/// The mask's bit of a component, by its name in the layout.
fn mask(name: &str) -> u64 {
    Layout::PORT_INFO.field(name).map_or(0, Field::mask)
}

/// What is known of the port itself, else what follows from the files.
///
/// A record that was read from an SM is given as it is.
fn record(view: &View<'_>, at: PortRef) -> PortInfoRecord {
    let lid = view.end(at).map(|end| end.lid);
    if let Some(told) = view.told().and_then(|told| told.port_info(lid?, at.port)) {
        return *told;
    }
    let node = view.node(at.node);
    let record = PortInfoRecord {
        lid: Lid::raw(lid).into(),
        port_num: at.port,
        ..PortInfoRecord::default()
    };
    match (node.kind, at.port) {
        (NodeType::Switch, 0) => port0(view, at, record),
        (NodeType::Switch, _) if view.peer(at).is_none() => down(record),
        (NodeType::Switch, _) => external(view, at, record),
        _ => end_port(view, at, record),
    }
}

/// Of a port without a link OpenSM keeps nothing else: down, polling.
const fn down(record: PortInfoRecord) -> PortInfoRecord {
    PortInfoRecord {
        speed_supported_and_state: 0x01,
        physical_state_and_down_default: 0x20,
        ..record
    }
}

/// What every port with a link has.
fn linked(view: &View<'_>, at: PortRef, record: PortInfoRecord) -> PortInfoRecord {
    let fabric = view.fabric();
    let arbitration = fabric.vl_arb(at);
    let speed = Speeds::of(fabric.link(at));
    let width = width(fabric.link(at).width);
    let operational = view.parts.subnet.operational_vls(at, &view.parts.options);
    PortInfoRecord {
        link_width_enabled: width,
        link_width_supported: device::WIDTHS,
        link_width_active: width,
        speed_supported_and_state: device::SPEEDS << 4 | ACTIVE,
        physical_state_and_down_default: LINK_UP << 4 | POLLING,
        speed_active_and_enabled: speed.active << 4 | speed.enabled,
        neighbor_mtu_and_sm_sl: neighbor_mtu(view, at) << 4,
        vl_cap_and_init_type: vls(fabric.vl_cap(at)) << 4,
        vl_arb_high_cap: arbitration.high,
        vl_arb_low_cap: arbitration.low,
        init_type_reply_and_mtu_cap: fabric.mtu_cap(at).code(),
        operational_vls_and_enforcement: vls(operational) << 4,
        ext_speed_active_and_supported: speed.ext_active << 4 | speed.ext_supported,
        ext_speed_enabled: speed.ext_enabled,
        ..record
    }
}

/// Port 0 of a switch: the end port by which the SM talks to it.
fn port0(view: &View<'_>, at: PortRef, record: PortInfoRecord) -> PortInfoRecord {
    PortInfoRecord {
        local_port_num: view.parts.subnet.entry_port(at.node),
        capability_mask: (device::PORT0_CAPABILITIES | is_sm(view, at)).into(),
        neighbor_mtu_and_sm_sl: device::PORT0_NEIGHBOR_MTU << 4,
        guid_cap: device::PORT0_GUIDS,
        response_time: device::PORT0_RESPONSE_TIME,
        ..addressed(view, at, linked(view, at, record))
    }
}

/// A switch's port with a link. It has no LID of its own.
fn external(view: &View<'_>, at: PortRef, record: PortInfoRecord) -> PortInfoRecord {
    let leads_to_switch = view.peer(at).is_some_and(|peer| view.is_switch(peer.node));
    let options = &view.parts.options;
    let hoq = if leads_to_switch {
        options.head_of_queue_lifetime
    } else {
        options.leaf_head_of_queue_lifetime
    };
    PortInfoRecord {
        local_port_num: view.parts.subnet.entry_port(at.node),
        vl_stall_and_hoq_life: device::VL_STALL << 5 | hoq & HOQ_LIFE,
        ..linked(view, at, record)
    }
}

/// A port of a CA or router.
fn end_port(view: &View<'_>, at: PortRef, record: PortInfoRecord) -> PortInfoRecord {
    let hoq = match view.node(at.node).kind {
        NodeType::Router => view.parts.options.leaf_head_of_queue_lifetime & HOQ_LIFE,
        NodeType::Ca | NodeType::Switch => 0,
    };
    PortInfoRecord {
        local_port_num: at.port,
        capability_mask: (device::END_PORT_CAPABILITIES | is_sm(view, at)).into(),
        vl_stall_and_hoq_life: device::VL_STALL << 5 | hoq,
        guid_cap: device::END_PORT_GUIDS,
        ..addressed(view, at, linked(view, at, record))
    }
}

/// What ports with LIDs have.
fn addressed(view: &View<'_>, at: PortRef, record: PortInfoRecord) -> PortInfoRecord {
    let subnet = &view.parts.subnet;
    let sm = subnet.end_ports().get(subnet.sm());
    let end = view.end(at);
    PortInfoRecord {
        gid_prefix: view.parts.options.subnet_prefix.0.into(),
        base_lid: end.map_or(0, |end| end.lid.get()).into(),
        sm_lid: sm.map_or(0, |sm| sm.lid.get()).into(),
        m_key_lease_period: device::LEASE_PERIOD.into(),
        m_key_protect_and_lmc: end.map_or(0, |end| end.lmc.get()),
        subnet_timeout: device::SUBNET_TIMEOUT,
        capability_mask2: device::CAPABILITIES2.into(),
        ..record
    }
}

/// The bit IsSM, on the port where the SM runs.
fn is_sm(view: &View<'_>, at: PortRef) -> u32 {
    let subnet = &view.parts.subnet;
    let sm = subnet.end_ports().get(subnet.sm());
    match sm.is_some_and(|sm| sm.at == at) {
        true => PortInfoRecord::IS_SM,
        false => 0,
    }
}

/// The lesser of the capabilities of both ends: what OpenSM sets on both. Without a link the port's
/// own.
fn neighbor_mtu(view: &View<'_>, at: PortRef) -> u8 {
    let own = view.fabric().mtu_cap(at);
    let peer = view
        .peer(at)
        .map_or(own, |peer| view.fabric().mtu_cap(peer));
    own.min(peer).code()
}

/// Code of VLCap and OperationalVLs: 1, 2, 4, 8 or 15 data VLs are 1 to 5.
const fn vls(data: DataVls) -> u8 {
    match data.get() {
        1 => 1,
        2 => 2,
        4 => 3,
        8 => 4,
        _ => 5,
    }
}

/// Code of a link width, a bit each. A width that is not known counts as 1x, the least that a link
/// has.
const fn width(width: LinkWidth) -> u8 {
    match width {
        LinkWidth::Unknown | LinkWidth::X1 => 1,
        LinkWidth::X4 => 2,
        LinkWidth::X8 => 4,
        LinkWidth::X12 => 8,
        LinkWidth::X2 => 16,
    }
}

/// Speeds of a port, as bits and codes of PortInfo. What is enabled is taken for everything up to
/// what the link runs at: a fabric file says the latter alone.
struct Speeds {
    /// Code of LinkSpeedActive.
    active: u8,
    /// Bits of LinkSpeedEnabled.
    enabled: u8,
    /// Code of LinkSpeedExtActive; 0 where the link runs at an original speed.
    ext_active: u8,
    /// Bits of LinkSpeedExtSupported.
    ext_supported: u8,
    /// Bits of LinkSpeedExtEnabled.
    ext_enabled: u8,
}

impl Speeds {
    /// FDR10 has no bit of its own here: it shows as QDR.
    const fn of(link: Link) -> Self {
        match link.speed {
            LinkSpeed::Unknown | LinkSpeed::Sdr => Self::original(1, 1),
            LinkSpeed::Ddr => Self::original(2, 3),
            LinkSpeed::Qdr | LinkSpeed::Fdr10 => Self::original(4, 7),
            LinkSpeed::Fdr => Self::extended(1, 1),
            LinkSpeed::Edr => Self::extended(2, 3),
            LinkSpeed::Hdr => Self::extended(4, 7),
            LinkSpeed::Ndr => Self::extended(8, 15),
        }
    }

    /// SDR is 1, DDR 2, QDR 4.
    const fn original(active: u8, enabled: u8) -> Self {
        Self {
            active,
            enabled,
            ext_active: 0,
            ext_supported: 0,
            ext_enabled: 0,
        }
    }

    /// FDR is 1, EDR 2, HDR 4, NDR 8; QDR is what it has besides.
    const fn extended(ext_active: u8, ext_enabled: u8) -> Self {
        Self {
            ext_active,
            // What is enabled must be supported, also NDR, which ibsim's devices do not have.
            ext_supported: device::EXT_SPEEDS | ext_enabled,
            ext_enabled,
            ..Self::original(4, 7)
        }
    }
}

/// Bits of HOQLife; VLStallCount has the upper three.
const HOQ_LIFE: u8 = 0x1f;
/// PortState.
const ACTIVE: u8 = 4;
/// PortPhysicalState.
const LINK_UP: u8 = 5;
/// LinkDownDefaultState.
const POLLING: u8 = 2;
