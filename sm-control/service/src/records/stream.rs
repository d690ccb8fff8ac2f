//! Records of the fabric's state, unit by unit: for tables that are made while they are sent.

use core::ops::{ControlFlow, Range};
use std::sync::Arc;

use sa_answer::whole::Units;
use sa_compiler::state::Parts;
use sa_wire::records::Layout;
use sa_wire::sa::{AttributeId, SaMad};
use sa_wire::umad::Slot;

use super::out::Out;
use super::{Query, View, Walk, walk_of};

/// A request for all records of a kind that agree with it, none of them named by a LID.
pub(crate) struct Stream {
    parts: Arc<Parts>,
    request: Slot,
    walk: Walk,
    stride: u16,
    count: usize,
}

impl Stream {
    /// None for other requests, and for those that get no table.
    pub(crate) fn new(parts: Arc<Parts>, request: &Slot) -> Option<Self> {
        let mad = SaMad::from_bytes(&request.mad);
        let attribute = mad.attribute_id();
        let layout = Layout::of(attribute)?;
        let (subnet, lids) = (&parts.subnet, lid_components(attribute));
        let count = match attribute {
            AttributeId::NODE_RECORD
            | AttributeId::PORT_INFO_RECORD
            | AttributeId::LINK_RECORD
            | AttributeId::GUID_INFO_RECORD => subnet.nodes().len(),
            AttributeId::SL_TO_VL_RECORD
            | AttributeId::VL_ARBITRATION_RECORD
            | AttributeId::PKEY_TABLE_RECORD => subnet.end_ports().len(),
            AttributeId::SWITCH_INFO_RECORD | AttributeId::LINEAR_FORWARDING_TABLE_RECORD => {
                subnet.switches().len()
            }
            _ => return None,
        };
        let names_lid = mad.sa.component_mask.get() & lids != 0;
        let is_secret = attribute == AttributeId::PKEY_TABLE_RECORD && mad.sa.sm_key.get() == 0;
        if names_lid || is_secret {
            return None;
        }
        View::new(&parts, request.header.lid.get())?;
        Some(Self {
            walk: walk_of(attribute)?,
            stride: layout.stride,
            count,
            request: *request,
            parts,
        })
    }

    fn window(&self, unit: u64) -> Range<usize> {
        let unit = usize::try_from(unit).unwrap_or(usize::MAX);
        unit..unit.saturating_add(1)
    }
}

/// The components by which records of a kind are found, not compared.
const fn lid_components(attribute: AttributeId) -> u64 {
    match attribute {
        AttributeId::PORT_INFO_RECORD => 1 | 1 << 5,
        AttributeId::LINK_RECORD => 1 | 1 << 3,
        _ => 1,
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
