//! LinkRecords. Source: OpenSM `osm_sa_link_record.c`.
//!
//! A cable has two records, one from each end. A LID is used twice: it finds a node, whose ports
//! are walked, and is then compared with the LIDs of each record, path bits cut off. All links of a
//! switch have the LID of its port 0.
//!
//! ```text
//!  cable: switch 9 port 3 -- switch 7 port 1
//!  FromLID 9             9.3 -> 7.1, and all other cables of 9
//!  ToLID 7               9.3 -> 7.1, and all others that end at 7
//!  FromLID 9, ToLID 7    9.3 -> 7.1
//! ```

use core::ops::ControlFlow;

use sa_fabric::PortRef;
use sa_wire::records::LinkRecord;
use zerocopy::IntoBytes;

use super::out::Out;
use super::query::Query;
use super::view::View;

/// Each cable from each of its ends that is asked for. A LID of nobody finds nothing.
pub(super) fn walk(view: &View<'_>, query: &Query<'_>, out: &mut Out) -> ControlFlow<()> {
    let (from, to) = (query.wanted("from_lid"), query.wanted("to_lid"));
    let known = |lid: Option<u64>| lid.is_none_or(|lid| view.end_by_lid(lid).is_some());
    if !known(from) || !known(to) {
        return ControlFlow::Continue(());
    }
    // Without the near end, the far one leads the way.
    // To LID 7 alone: going over node 7 and turning each cable around is O(ports), over all nodes
    // O(fabric).
    let leads_to = from.is_none() && to.is_some();
    let nodes = view.nodes_by_lid(if leads_to { to } else { from });
    let far_node = to
        .and_then(|lid| view.end_by_lid(lid))
        .map(|end| end.at.node);
    for node in nodes {
        for at in view.ports(node).filter(|at| at.port > 0) {
            let Some(peer) = view.peer(at) else {
                continue;
            };
            let (near, far) = if leads_to { (peer, at) } else { (at, peer) };
            if far_node.is_none_or(|node| node == far.node) {
                put(view, query, near, far, out)?;
            }
        }
    }
    ControlFlow::Continue(())
}

/// One record, if both ends may be seen and share a partition.
fn put(
    view: &View<'_>,
    query: &Query<'_>,
    from: PortRef,
    to: PortRef,
    out: &mut Out,
) -> ControlFlow<()> {
    let record = LinkRecord {
        from_lid: lid(view, from).into(),
        from_port: from.port,
        to_port: to.port,
        to_lid: lid(view, to).into(),
        padding: 0.into(),
    };
    // Asked last, as it costs P_Key tables of both ends.
    let in_sight = || view.related(from, to) && view.shows(from) && view.shows(to);
    if agrees(view, query, &record) && in_sight() {
        out.push(record.as_bytes())?;
    }
    ControlFlow::Continue(())
}

/// Path bits are cut off by the subnet's LMC, also from LIDs of switches, which have none: a
/// switch with an odd LID is not found by it.
fn agrees(view: &View<'_>, query: &Query<'_>, record: &LinkRecord) -> bool {
    let base = !(u64::from(view.parts.subnet.lmc().lids()) - 1);
    let same_lid = |name, own: u16| {
        let wanted = query.wanted(name);
        wanted.is_none_or(|lid| lid & base == u64::from(own))
    };
    let is_port = |field: &sa_wire::records::Field| matches!(field.name, "from_port" | "to_port");
    query.agrees(record.as_bytes(), is_port)
        && same_lid("from_lid", record.from_lid.get())
        && same_lid("to_lid", record.to_lid.get())
}

/// The LID of a port's end port; on a switch that of port 0 for all.
fn lid(view: &View<'_>, at: PortRef) -> u16 {
    view.end(at).map_or(0, |end| end.lid.get())
}
