//! SMInfoRecords: that of the one SM there is here. Source: OpenSM `osm_sa_sminfo_record.c`.
//!
//! OpenSM also lists the other SMs of a subnet. From files nobody knows them; beside an OpenSM it
//! is asked itself.
//!
//! ```text
//!  Get(SMInfoRecord)                 LID 1, GUID of the SM's port, priority 0, state 3 (master)
//!  Get(SMInfoRecord), LID 5          no records: no SM is there
//!  from a port without a partition in common with the SM     no reply at all
//! ```

use core::ops::ControlFlow;

use sa_wire::records::{Field, SmInfoRecord};
use zerocopy::IntoBytes;

use super::out::{Out, Reason};
use super::query::Query;
use super::view::View;

/// One record, or none. Who shares no partition with the SM gets no reply at all, which is the one
/// silence among the records. ActCount, which counts what the SM has sent, is not known and 0.
pub(super) fn walk(view: &View<'_>, query: &Query<'_>, out: &mut Out) -> ControlFlow<()> {
    let subnet = &view.parts.subnet;
    let Some(sm) = subnet.end_ports().get(subnet.sm()) else {
        return ControlFlow::Continue(());
    };
    let is_elsewhere = |lid| view.end_by_lid(lid).is_none_or(|end| end.at != sm.at);
    if query.wanted("lid").is_some_and(is_elsewhere) {
        return ControlFlow::Continue(());
    }
    if !view.shows(sm.at) {
        return out.fail(Reason::Silence);
    }
    let record = SmInfoRecord {
        lid: sm.lid.get().into(),
        reserved: 0.into(),
        guid: sm.guid.get().into(),
        // Whoever reads records need not know it.
        sm_key: 0.into(),
        act_count: 0.into(),
        priority_and_state: PRIORITY << 4 | MASTER,
        padding: [0; 7],
    };
    let is_compared = |field: &Field| matches!(field.name, "guid" | "priority" | "sm_state");
    if query.agrees(record.as_bytes(), is_compared) {
        out.push(record.as_bytes())?;
    }
    ControlFlow::Continue(())
}

/// OpenSM's default `sm_priority`.
const PRIORITY: u8 = 0;
/// SMState.
const MASTER: u8 = 3;
