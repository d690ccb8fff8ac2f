//! Which SL the SA gives each path, where its routing engine chooses one for each pair.
//!
//! Nothing that an SA tells of its fabric says so, but its answers do. A look at some pairs shows
//! whether the SLs are those of policy and partitions; if not, every pair is asked for.
//!
//! ```text
//!  some pairs have another SL than the snapshot's? ── no ──> policy and partitions, nothing to do
//!     │ yes
//!  one pair has several SLs in turn? ── yes ──> DFSSSP spreads paths over VLs: none is known
//!     │ no
//!  more pairs than may be asked? ────── yes ──> none is known
//!     │ no
//!  each pair of LIDs, one Get each ────────────> known as the SA answered
//! ```
//!
//! Source: OpenSM `osm_ucast_lash.c`, `osm_ucast_dfsssp.c` (`get_dfsssp_sl`), `osm_ucast_nue.c`.

use sa_answer::whole;
use sa_compiler::heard_sls::HeardSls;
use sa_compiler::state::FabricState;
use sa_snapshot::Snapshot;
use sa_wire::umad::Slot;
use sa_wire::{Lid, Sl, request};

use super::paths::requester;
use super::query::Querier;
use super::{Ask, SaReadError};

/// Pairs that are looked at to see who gives SLs.
const LOOKED_AT: usize = 1024;
/// How often some pairs are asked again: one whose SL is one of two at random shows it in 255 of 256
/// cases.
const AGAIN: usize = 8;
/// How many of them.
const ASKED_AGAIN: usize = 256;

/// The SLs that the SA gives; none where they are the snapshot's, which has those of policy and
/// partitions. `most` is how many pairs of LIDs may be asked for. Errors: nobody answers.
pub(super) fn read(
    ask: &mut dyn Ask,
    parts: &FabricState,
    snapshot: &Snapshot,
    most: u64,
) -> Result<Option<HeardSls>, SaReadError> {
    let whom = ask.whom();
    let requester = requester(ask, &parts.subnet);
    let mut asking = Asking {
        querier: Querier::new(ask),
        requester,
    };
    let other = asking.others(parts, snapshot)?;
    if other.is_empty() {
        return Ok(None);
    }
    let none = |why: String| Ok(Some(HeardSls::new(why)));
    if asking.varies(&other)? {
        return none(format!(
            "{whom} gives one path several SLs in turn, as DFSSSP does where it spreads paths over \
             VLs: no SL is known here, and no path is answered"
        ));
    }
    let lids = parts.topology.end_ports.iter();
    let lids = lids.map(|end| u64::from(end.lmc.lids())).sum::<u64>();
    let pairs = lids * lids;
    if pairs > most {
        return none(format!(
            "the routing engine of {whom} chooses SLs, and {pairs} pairs of LIDs are more than \
             sl_pairs ({most}): no SL is known here, and no path is answered"
        ));
    }
    asking.all(parts, &whom).map(Some)
}

/// Asks for paths, as one port.
struct Asking<'a> {
    querier: Querier<'a>,
    requester: Option<Lid>,
}

impl Asking<'_> {
    /// Pairs whose SL is not the snapshot's, of some that are spread over the fabric.
    fn others(
        &mut self,
        parts: &FabricState,
        snapshot: &Snapshot,
    ) -> Result<Vec<(Lid, Lid)>, SaReadError> {
        let ends = &parts.topology.end_ports;
        let mut other = Vec::new();
        for nth in 0..LOOKED_AT.min(ends.len() * ends.len()) {
            // Each port as source in turn, with other destinations in each round.
            let round = nth / ends.len();
            let to = (nth * 7919 + round * 31 + 1) % ends.len();
            let (Some(from), Some(to)) = (ends.get(nth % ends.len()), ends.get(to)) else {
                continue;
            };
            let mut slot = self.slot(from.lid, to.lid);
            let theirs = self.sl(&mut slot)?;
            let ours = whole::respond(snapshot, &slot).and_then(|reply| sl(&reply));
            if theirs.is_some() && ours.is_some() && theirs != ours {
                other.push((from.lid, to.lid));
            }
        }
        Ok(other)
    }

    /// True where one of these pairs gets another SL when it is asked for again.
    fn varies(&mut self, pairs: &[(Lid, Lid)]) -> Result<bool, SaReadError> {
        for (from, to) in pairs.iter().take(ASKED_AGAIN) {
            let first = self.sl(&mut self.slot(*from, *to))?;
            for _ in 0..AGAIN {
                if self.sl(&mut self.slot(*from, *to))? != first {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Every pair of LIDs.
    fn all(&mut self, parts: &FabricState, whom: &str) -> Result<HeardSls, SaReadError> {
        let ends = &parts.topology.end_ports;
        let note = format!(
            "the routing engine of {whom} chooses an SL for each path: they were asked for, pair by \
             pair"
        );
        let mut heard = HeardSls::new(note);
        for from in ends {
            for dlid in ends.iter().flat_map(|end| end.lids()) {
                for slid in from.lids() {
                    if let Some(sl) = self.sl(&mut self.slot(slid, dlid))? {
                        heard.hear(from.guid, dlid, sl);
                    }
                }
            }
        }
        Ok(heard)
    }

    fn slot(&self, from: Lid, to: Lid) -> Slot {
        let mut slot = request::path_by_lids(from.get(), to.get());
        slot.header.lid = Lid::raw(self.requester).into();
        slot
    }

    /// The SL of the path; none where the SA gives none.
    fn sl(&mut self, slot: &mut Slot) -> Result<Option<Sl>, SaReadError> {
        Ok(sl(&self.querier.raw(&mut slot.mad)?))
    }
}

/// The SL of the first record of a reply.
fn sl(reply: &[u8]) -> Option<Sl> {
    match request::parse(reply) {
        Ok((0, records)) => records.first().map(|record| record.qos_class_sl.sl()),
        Ok(_) | Err(_) => None,
    }
}
