//! Records of the fabric's state, unit by unit: for tables that are made while they are sent.
//!
//! All LFTs of a large fabric are hundreds of megabytes, and a client takes them at its own pace.
//! So the reply is made where RMPP needs it next: unit n is node, end port or switch n in OpenSM's
//! order, and its records are those that a walk over a window of this one gives. The state that the
//! stream holds stays as it is however often the fabric changes meanwhile; a table is of one epoch
//! from its first segment to its last.
//!
//! Making a unit again gives the same bytes, which is how a lost segment is sent again without
//! keeping it.

use core::ops::{ControlFlow, Range};
use std::sync::Arc;

use sa_answer::whole::Units;
use sa_compiler::state::FabricState;
use sa_wire::records::Layout;
use sa_wire::sa::SaMad;
use sa_wire::umad::Slot;

use super::out::Out;
use super::{Query, Served, Unit, View, Walk};

/// A request for all records of a kind that agree with it, none of them named by a LID. Lives as
/// long as the transfer, and keeps its [`FabricState`] alive so long.
pub(crate) struct Stream {
    parts: Arc<FabricState>,
    request: Slot,
    walk: Walk,
    /// Distance of two records. Units: bytes.
    stride: u16,
    /// Units, whether they have records that agree or not.
    count: usize,
}

impl Stream {
    /// None for other requests, and for those that get no table.
    pub(crate) fn new(parts: Arc<FabricState>, request: &Slot) -> Option<Self> {
        let mad = SaMad::from_bytes(&request.mad);
        let served = Served::find(mad.attribute_id())?;
        let layout = Layout::of(served.attribute)?;
        let subnet = &parts.subnet;
        let count = match served.unit? {
            Unit::Node => subnet.nodes().len(),
            Unit::EndPort => subnet.end_ports().len(),
            Unit::Switch => subnet.switches().len(),
        };
        // A LID finds one node: such a table is short, and made at once.
        let names_lid = mad.sa.component_mask.get() & served.finders != 0;
        // A request with a key has been let through, or refused, before.
        let is_hidden = served.is_secret && mad.sa.sm_key.get() == 0;
        if names_lid || is_hidden {
            return None;
        }
        View::new(&parts, request.header.lid.get())?;
        Some(Self {
            walk: served.walk,
            stride: layout.stride,
            count,
            request: *request,
            parts,
        })
    }

    /// The one unit, as a part of the order.
    fn window(&self, unit: u64) -> Range<usize> {
        let unit = usize::try_from(unit).unwrap_or(usize::MAX);
        unit..unit.saturating_add(1)
    }
}

impl Units for Stream {
    fn count(&self) -> u64 {
        self.count as u64
    }

    fn stride(&self) -> u16 {
        self.stride
    }

    fn of(&self, unit: u64, sink: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> ControlFlow<()> {
        // It was there when the stream was made, of the same parts.
        let Some(mut view) = View::new(&self.parts, self.request.header.lid.get()) else {
            return ControlFlow::Continue(());
        };
        view.look_at(self.window(unit));
        let mut out = Out::new(usize::MAX);
        let query = Query::new(SaMad::from_bytes(&self.request.mad));
        let _ = (self.walk)(&view, &query, &mut out);
        let records = out.finish().unwrap_or_default();
        records
            .chunks_exact(self.stride.into())
            .try_for_each(&mut *sink)
    }
}
