//! What a node tells of how much of what an SM once wrote it still holds.
//!
//! | node | at power-on | what says that an SM was there |
//! |---|---|---|
//! | switch | links in Init, PortStateChange, LinearFDBTop 0, port 0 without LID | this SM and others clear PortStateChange before they write a table |
//! | CA, router | links in Init, no LID, no M_Key | nothing, where tables were written and PortInfo was not: the switches tell |
//!
//! Nothing is taken on trust: tables of a node that counts as fresh are written, whatever they hold.
//!
//! A node that is wrongly taken for one that holds something costs a Get for each block. One that is wrongly taken for fresh costs Sets
//! of blocks that it has already: more, and never a wrong table.

use sa_wire::records::SwitchInfoRecord;

use crate::model::attributes::STATE_CHANGE;
use crate::model::{Node, Port, Subnet};

/// It tells another LinearFDBTop or LID than it acknowledged. Somebody else has written it, or it was off in the middle of the last sweep,
/// which then brought its links up, so that these say nothing any more.
///
/// Then what it was known to hold counts for nothing, and is read again.
pub(crate) fn is_other_than(node: &Node, acknowledged: &Node) -> bool {
    let top = |node: &Node| node.switch_info.map(|info| info.linear_top.get());
    // All end ports, as a CA with two of them has a LID at each, and either may have been written.
    let lids = |node: &Node| {
        let ends = node.end_ports();
        let lids = ends.filter_map(|(number, port)| Some((number, port.info?.base_lid.get())));
        lids.collect::<Vec<_>>()
    };
    top(node) != top(acknowledged) || lids(node) != lids(acknowledged)
}

/// No SM has written to any switch here, as far as they tell: what CAs hold is what they have from power-on.
///
/// False for a subnet without switches: two CAs on a cable tell nothing about each other's tables.
pub(super) fn is_untouched(subnet: &Subnet) -> bool {
    let mut switches = subnet.nodes().iter().filter(|node| node.is_switch());
    let first = switches.next();
    first.is_some_and(is_fresh) && switches.all(is_fresh)
}

/// It tells nothing that an SM would have written. Of CAs and routers that is not enough alone: see
/// [`is_untouched`].
///
/// A link above Init proves the contrary, whatever else the node tells: an SM has armed it.
pub(super) fn is_fresh(node: &Node) -> bool {
    // The key counts as well as the LID: an SM that set a key has been there, though it may have given no LID yet.
    let has_lid = |port: &Port| {
        let info = port.info.as_ref();
        info.is_some_and(|info| info.base_lid.get() != 0 || info.m_key.get() != 0)
    };
    let is_told = !node.ports().any(|(_, port)| has_lid(port));
    // STATE_CHANGE is still set: whoever writes tables clears it before ([`crate::wanted::switch_info::cleared`]).
    let is_as_switch = |info: &SwitchInfoRecord| {
        info.linear_top.get() == 0 && info.life_time_and_change & STATE_CHANGE != 0
    };
    let is_new = !node.is_switch() || node.switch_info.as_ref().is_some_and(is_as_switch);
    node.may_have_forgotten() && is_told && is_new
}
