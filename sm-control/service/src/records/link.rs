//! LinkRecords. Source: OpenSM `osm_sa_link_record.c`.

use core::ops::ControlFlow;

use sa_fabric::PortRef;
use sa_wire::records::LinkRecord;
use zerocopy::IntoBytes;

use super::out::Out;
use super::query::Query;
use super::view::View;

/// Each cable from each of its ends. A LID stands for its node and all ports of that.
pub(super) fn walk(view: &View<'_>, query: &Query<'_>, out: &mut Out) -> ControlFlow<()> {
    let (from, to) = (query.wanted("from_lid"), query.wanted("to_lid"));
    let known = |lid: Option<u64>| lid.is_none_or(|lid| view.end_by_lid(lid).is_some());
    if !known(from) || !known(to) {
        return ControlFlow::Continue(());
    }
    // Without the near end, the far one leads the way.
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

fn lid(view: &View<'_>, at: PortRef) -> u16 {
    view.end(at).map_or(0, |end| end.lid.get())
}
