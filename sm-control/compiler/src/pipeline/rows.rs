//! What the snapshot says of ports and subnet: the rows of its model, from the state.
//!
//! Each function makes one table of `sa_snapshot::model`. They decide nothing: what a port can
//! carry follows from routes (`port_edges`), keys from partitions, classes from the policy, and the
//! builder checks that rows and tables fit each other.
//!
//! | table | one row for | from |
//! |---|---|---|
//! | ports | each end port | subnet, path edges, partitions, coordinates |
//! | groups | each multicast group that has an MLID | partitions |
//! | prefix routes | each line of the file | `off_subnet` |
//! | aliases | each alias of a port that is there | files, an SA, or clients |

use policy::partitions::MulticastGroup;
use routing::EndPortIx;
use routing::paths::classes::port_edges;
use sa_fabric::options::OpenSmOptions;
use sa_snapshot::model::{GroupRow, PortRow, PrefixRouteRow, Subnet};
use sa_wire::{Guid, Lid, Mlid, Pkey, SlVlMask};

use crate::prefix_routes::PrefixRoute;
use crate::state::FabricState;

/// Options of the subnet that answers depend on.
///
/// Public for tests that build snapshots without a fabric.
pub fn subnet_options(options: &OpenSmOptions) -> Subnet {
    Subnet {
        prefix: options.subnet_prefix,
        qos: options.qos,
        packet_life: options.subnet_timeout,
        resp_time: options.resp_time(),
        max_rate_code: options.max_rate_code(),
        sa_key: options.sa_key,
        allow_both_pkeys: options.allow_both_pkeys,
        rate_limit: options.rate_limit(),
        sm_lid: None,
    }
}

/// The same with what the fabric says.
pub(super) fn subnet(parts: &FabricState) -> Subnet {
    Subnet {
        sm_lid: sm_lid(parts),
        ..subnet_options(&parts.options)
    }
}

/// Of the port that the SM runs on, where paths know that port.
fn sm_lid(parts: &FabricState) -> Option<Lid> {
    let sm = parts.subnet.end_ports().get(parts.subnet.sm())?.lid;
    let mut ports = parts.topology.end_ports.iter();
    ports.any(|port| port.lid == sm).then_some(sm)
}

/// Alias GUIDs, each with the end port that has it. Those of ports that are not there are left out.
///
/// The builder refuses an alias that is somebody's GUID.
pub(super) fn alias_rows(parts: &FabricState, aliases: &[(Guid, Guid)]) -> Vec<(Guid, usize)> {
    let row = |(alias, base): &(Guid, Guid)| Some((*alias, parts.subnet.by_guid(*base)?));
    aliases.iter().filter_map(row).collect()
}

/// One row per end port. Shape: as the topology's end ports.
///
/// Memory: 32 bytes each in the snapshot, P_Key tables interned.
pub(super) fn port_rows(parts: &FabricState) -> Vec<PortRow> {
    let edges = port_edges(&parts.topology, &parts.routes, parts.qos());
    let ends = parts
        .topology
        .end_ports
        .iter()
        .zip(edges)
        .zip(&parts.rate_caps)
        .enumerate();
    ends.map(|(ix, ((end, edge), caps))| PortRow {
        guid: end.guid,
        node_type: end.node_type,
        lid: end.lid,
        lmc: end.lmc,
        switch: end.attached.map(|(switch, _)| switch.0),
        own: edge.own,
        edge: edge.edge,
        sl_out: edge.sl_out,
        sl_in: edge.sl_in,
        rate_caps: *caps,
        pkeys: parts.partitions.pkey_table(ix),
        coordinate: parts.routes.coordinate(end_ix(ix)).map(|at| at.0),
    })
    .collect()
}

/// Indices of end ports fit 32 bits: there are at most 49,151 LIDs.
fn end_ix(ix: usize) -> EndPortIx {
    EndPortIx(u32::try_from(ix).unwrap_or(u32::MAX))
}

/// The SLs that the SA may hand out: those of levels with a policy, of partitions without and for
/// levels that give none.
///
/// For the proof on engines that choose no SLs. SL 0 is always among them: paths without partition
/// and level have it.
pub fn sls_in_use(parts: &FabricState) -> SlVlMask {
    // A level may name an SL that does not exist; it gets no path (deviation 7).
    let bit = |sl: u8| if sl < 16 { 1u16 << sl } else { 0 };
    let levels = parts.policy.iter().flat_map(|policy| &policy.levels);
    let given = levels
        .clone()
        .filter_map(|level| level.sl)
        .fold(0, |sls, sl| sls | bit(*sl));
    // Every request gets a level, so partitions have no say where each level names an SL.
    let by_levels = parts.policy.is_some() && levels.into_iter().all(|level| level.sl.is_some());
    if by_levels {
        return SlVlMask(given);
    }
    let partitions = parts.partitions.list();
    let sls = partitions
        .iter()
        .fold(1, |sls, held| sls | bit(held.sl.get()));
    SlVlMask(given | sls)
}

/// Multicast groups as the snapshot takes them.
pub(super) fn group_rows(parts: &FabricState) -> Vec<GroupRow> {
    let groups = parts.partitions.multicast_groups();
    let numbered = groups.iter().zip(&parts.off_subnet.mlids);
    let row = |(group, mlid): (&MulticastGroup, &Mlid)| {
        Some(GroupRow {
            mgid: group.mgid,
            mlid: *mlid,
            pkey: Pkey::new(group.base | Pkey::FULL_BIT).ok()?,
            q_key: group.q_key,
            mtu: group.mtu,
            rate: group.rate,
            packet_life: parts.options.subnet_timeout & 0x3f,
            sl: group.sl,
            tclass: group.tclass,
            flow_label: group.flow_label,
            hop_limit: group.hop_limit,
            scope: group.scope,
        })
    };
    numbered.filter_map(row).collect()
}

/// Ways to other subnets as the snapshot takes them.
///
/// A route that leads nowhere stays, because a later one must not take its place.
pub(super) fn prefix_route_rows(parts: &FabricState) -> Vec<PrefixRouteRow> {
    let routes = parts.off_subnet.prefix_routes.iter();
    let row = |route: &PrefixRoute| PrefixRouteRow {
        prefix: route.prefix,
        router: parts
            .off_subnet
            .router(&parts.topology, route)
            .map(EndPortIx::index),
    };
    routes.map(row).collect()
}
