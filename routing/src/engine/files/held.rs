//! Tables that somebody else holds in a form of their own, written to their place one by one.
//!
//! What an SM tells of 4,000 switches is 190 MB. Tables that stay from one change to the next lie in the
//! memory that they had; the others are written once, by all cores.

use super::{EngineKind, refused, wrong_sl2vl};
use crate::error::Refusal;
use crate::tables::sl2vl::{GivenSl2Vl, Sl2Vl};
use crate::tables::{Lft, Routes};
use crate::topology::{SwitchIx, Topology, count32};

/// Whoever holds the tables of all switches.
pub trait Held: Sync {
    /// Writes the table of a switch. Shape: all of `row`, which is by LID, with [`crate::NO_PATH`] where nothing
    /// leads; no port that the switch lacks.
    fn write(&self, switch: SwitchIx, row: &mut [u8]);

    /// True only if the switch is the one of this index in the routes before, and its table too.
    fn stays(&self, switch: SwitchIx) -> bool;
}

/// [`super::route`] for tables that are held elsewhere, in the memory of those `before` where they stay.
/// Errors: an SL2VL table of ports that a switch does not have.
pub fn route_held(
    topology: &Topology,
    held: &impl Held,
    sl2vl: &GivenSl2Vl,
    before: Option<&Routes>,
) -> Result<Routes, Refusal> {
    // Before any table: a wrong SL2VL table would be written with all the others.
    let reasons: Vec<_> = wrong_sl2vl(topology, sl2vl).collect();
    if !reasons.is_empty() {
        return Err(refused(&reasons, Vec::new()));
    }
    // What stays lies in memory that is shared; only the others are asked for.
    let lft = before.and_then(|before| gone_on(topology, held, before.lfts()));
    let lft = lft.unwrap_or_else(|| written(topology, held));
    let sl2vl = Sl2Vl::given(topology, sl2vl);
    Ok(Routes::new(topology, EngineKind::Files, lft, sl2vl))
}

/// Tables beside those that stay, one of so many at most; with more, a new block is as quick.
const ONE_OF: usize = 4;

/// The tables of before but for those that changed. None where too many have, or the fabric has another shape.
fn gone_on(topology: &Topology, held: &impl Held, before: &Lft) -> Option<Lft> {
    let stride = usize::from(topology.max_lid()) + 1;
    let most = topology.switches.len() / ONE_OF;
    if before.stride() != stride || before.switches() != topology.switches.len() {
        return None;
    }
    let changed = topology.switch_ixs().filter(|ix| !held.stays(*ix));
    // One more than may be: that is enough to know that there are too many.
    let changed: Vec<SwitchIx> = changed.take(most + 1).collect();
    if changed.len() > most {
        return None;
    }
    let table = |switch| {
        let mut row = vec![0; stride];
        held.write(switch, &mut row);
        (switch, row)
    };
    let lft = before.with(changed.into_iter().map(table));
    (lft.others() <= most).then_some(lft)
}

/// All tables anew, on all cores.
fn written(topology: &Topology, held: &impl Held) -> Lft {
    let max_lid = topology.max_lid();
    let stride = usize::from(max_lid) + 1;
    let fill = |first: usize, rows: &mut [u8]| {
        let switches = (count32(first)..).map(SwitchIx);
        let rows = switches.zip(rows.chunks_mut(stride));
        rows.for_each(|(switch, row)| held.write(switch, row));
    };
    Lft::filled(topology, max_lid, fill).0
}
