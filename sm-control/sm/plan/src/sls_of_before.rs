//! SLs of paths before a change and after it.
//!
//! Clients keep an SL until they ask again, so while routes change packets have either.

use std::collections::HashMap;

use routing::EndPortIx;
use routing::placement::Coordinate;
use sa_compiler::pipeline;
use sa_compiler::state::FabricState;
use sa_snapshot::model::EngineSl;
use sa_wire::{Guid, Lid, Sl, SlVlMask};

/// Whether paths may have other SLs than before. Those of datelines are by place, and stay while places do.
pub(crate) fn gives_other_sls(parts: &FabricState, before: &FabricState) -> bool {
    let rules = [parts, before].map(|state| state.routes.engine_sl());
    let was = places(before);
    match rules {
        [EngineSl::Keep, EngineSl::Keep] => {
            pipeline::sls_in_use(parts) != pipeline::sls_in_use(before)
        }
        [EngineSl::Torus { radix }, EngineSl::Torus { radix: other }] => {
            radix != other
                || places(parts)
                    .iter()
                    .any(|(switch, at)| was.get(switch).is_some_and(|was| was != at))
        }
        _ => true,
    }
}

/// Where switches are in their torus, by GUID.
fn places(state: &FabricState) -> HashMap<Guid, Coordinate> {
    let torus = state.routes.torus();
    let switches = torus.into_iter().flat_map(|torus| {
        let switches = state.topology.switch_ixs();
        switches.filter_map(|at| Some((state.topology.switch(at).guid, torus.coordinate(at)?)))
    });
    switches.collect()
}

/// The SLs of a path before and afterwards.
pub(crate) fn held_sls(
    parts: &FabricState,
    before: Option<&FabricState>,
    source: EndPortIx,
    lid: Lid,
) -> SlVlMask {
    let from = parts.topology.end_port(source).lid;
    let states = core::iter::once(parts).chain(before);
    let sls = states.flat_map(|state| {
        let hints = pipeline::sls_in_use(state).0;
        let hints = (0..16_u8).filter(move |sl| hints >> sl & 1 == 1);
        let hints = hints.filter_map(|sl| Sl::new(sl).ok());
        hints.filter_map(move |hint| state.routes.path_sl(hint, from, lid))
    });
    SlVlMask(sls.fold(0, |mask, sl| mask | 1 << sl.get()))
}
