//! What is likely wrong with a policy in a routed fabric: the checks of [`policy::lint`], and those
//! that need routes, SL2VL tables, VL arbitration or the routing engine.
//!
//! | file | finds | by |
//! |---|---|---|
//! | `policy::lint` | rules that never hold, levels nobody gets | rules, groups, partitions |
//! | `drops` | SLs of levels that lead to VL 15 | path classes |
//! | `one_way` | pairs with a path in one direction | path classes |
//! | `lanes` | levels that share a VL; VLs that ports do not operate | SL2VL tables |
//! | `arbitration` | VLs that starve | VL arbitration tables |
//! | `torus` | what torus-2QoS does otherwise than the policy says | SLs |
//! | `limits` | limits and path bits without effect | capacities |
//! | `scopes` | scopes of `qos-setup` without effect, or wrong | devices |
//!
//! Nothing of it is an error of the policy: it parses, and answers follow it. It is what its author
//! most likely did not mean. Each finding names a place, what is so, an example from this fabric
//! and what to do.
//!
//! Checks go by classes of ports and of paths and never by pairs of ports: 48,000 ports have 2.3 x
//! 10^9 pairs.

mod arbitration;
mod drops;
mod lanes;
mod limits;
mod one_way;
mod paths;
mod scopes;
mod torus;

use std::collections::BTreeMap;

use policy::Policy;
use policy::lint::{Analysis, FabricView, Finding, HeldSets, in_order};
use policy::model::{Level, LevelIx};
use sa_text::Span;
use sa_wire::SlVlMask;

use self::paths::Paths;
use crate::state::FabricState;

/// Whose SL2VL and VL arbitration tables the ports hold.
///
/// A property of the fabric and not of the policy: whether somebody has programmed its scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TablesInForce {
    /// Those of `opensm.conf` or the engine, as OpenSM programs them.
    #[default]
    OpenSm,
    /// Those of the policy's `qos-setup` where it has some. The routes of the parts must be made
    /// with them.
    Scopes,
}

/// Everything that is to be said about a policy in a fabric, in the order of the file.
///
/// Shape: `parts` are those of the fabric, whatever policy they hold; `text` is what the policy
/// was parsed from.
///
/// `policy` may be another one than that of the parts, so that a new file is judged before it is in
/// force.
pub fn lint(
    parts: &FabricState,
    policy: &Policy,
    text: Option<&str>,
    tables: TablesInForce,
) -> Vec<Finding> {
    let is_torus = parts.routes.torus().is_some();
    let view = FabricView {
        ports: &parts.facts,
        partitions: &parts.partitions,
        sl_bits: match is_torus {
            true => FabricView::TORUS_BITS,
            false => FabricView::ALL_BITS,
        },
    };
    let analysis = Analysis::new(policy, Some(view));
    let mut found = analysis.findings(text);
    let subject = Subject::new(parts, policy, &analysis);
    // None with QoS off: no SL is ever dropped then.
    if let Some(paths) = Paths::of(parts) {
        found.extend(drops::findings(&subject, &analysis, &paths));
        found.extend(one_way::finding(&subject, &paths));
    }
    found.extend(lanes::shared(&subject));
    found.extend(lanes::beyond(&subject));
    found.extend(arbitration::findings(&subject, tables));
    found.extend(torus::findings(&subject));
    found.extend(limits::findings(&subject));
    found.extend(scopes::findings(&subject));
    in_order(&mut found);
    found
}

/// A policy in a fabric.
struct Subject<'a> {
    /// Routes, tables and ports.
    parts: &'a FabricState,
    policy: &'a Policy,
    /// Levels that some request may get.
    levels: Vec<LevelIx>,
    held: HeldSets,
}

impl<'a> Subject<'a> {
    fn new(parts: &'a FabricState, policy: &'a Policy, analysis: &Analysis<'_>) -> Self {
        Self {
            parts,
            policy,
            levels: analysis.levels_in_use(),
            held: HeldSets::new(parts.facts.len(), &parts.partitions),
        }
    }

    /// Levels in use with an SL that there is, and it.
    fn sls(&self) -> impl Iterator<Item = (LevelIx, &'a Level, u8)> {
        let levels = self.levels.iter().map(|at| (*at, self.policy.level(*at)));
        levels.filter_map(|(at, level)| {
            let sl = *level.sl?;
            (sl < 16).then_some((at, level, sl))
        })
    }

    /// The first level in use of each SL. Shape: ascending by SL.
    fn by_sl(&self) -> BTreeMap<u8, &'a Level> {
        let mut first = BTreeMap::new();
        for (_, level, sl) in self.sls() {
            first.entry(sl).or_insert(level);
        }
        first
    }

    /// The SLs that packets of a level may carry: with torus-2QoS those of its QoS level.
    fn carried(&self, sl: u8) -> SlVlMask {
        match self.parts.routes.torus() {
            Some(_) if sl < 8 => SlVlMask(0x00ff),
            Some(_) => SlVlMask(0xff00),
            None => SlVlMask(1 << sl),
        }
    }
}

/// Where a level's SL is written.
fn sl_span(level: &Level) -> Span {
    level.sl.map_or(level.span, |sl| sl.span)
}
