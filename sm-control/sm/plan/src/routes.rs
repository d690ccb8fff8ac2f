//! Which engine routes a subnet for which nobody named one.
//!
//! ```text
//!  an engine is named ──> that one, and its credit loop refuses the plan
//!  none is ──> minhop ──> proof ──┬─ no loop: taken
//!                                 └─ a credit loop: dfsssp-nue, now and from now on
//! ```
//!
//! Shortest paths close a loop on tori, dragonflies and damaged trees. A subnet that nobody said anything of is to come up all the
//! same, on routes that cannot lock it up.
//!
//! | subnet | engine that is named | routes of |
//! |---|---|---|
//! | fat tree | none | minhop |
//! | torus of 4x4x4 | none, and no torus configuration | dfsssp-nue |
//! | torus of 4x4x4 | none, with a torus configuration | torus-2QoS, which the compiler takes then |
//! | torus of 4x4x4 | minhop | nobody: the plan is refused |
//!
//! The stand-in stays, also when a repair would let minhop route again: to change engines is to write every table of the subnet.
//! Only minhop is replaced, and only where it was not asked for by name: an operator who names an engine wants to hear that it does not do.

use routing::EngineKind;
use sa_compiler::drained::Drained;
use sa_compiler::pipeline::{self, Compiled, Inputs, PipelineError, Stamp};
use sa_compiler::state::FabricState;

use crate::PlanFinding;

/// An engine that routes instead of another one.
///
/// Kept by the planner from sweep to sweep; forgotten with the process, which then tries minhop once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StandIn {
    /// Whose routes were refused.
    refused: EngineKind,
}

impl StandIn {
    /// For a person, in each plan while it lasts: the routes are other than those of the engine that is the default.
    pub(crate) const fn finding(self) -> PlanFinding {
        PlanFinding::OtherEngine {
            refused: self.refused,
            taken: WITHOUT_LOOPS,
        }
    }
}

/// What may be published.
pub(crate) struct Routed {
    /// Routes, their proof, and the snapshot.
    pub(crate) compiled: Compiled,
    /// Who stood in for the engine.
    pub(crate) stand_in: Option<StandIn>,
    /// Why routes do not leave what is drained.
    pub(crate) set_aside: Option<String>,
}

/// Routes that leave what is drained; where there are none, routes that do not: a drain must cost nobody a path, whatever else fails
/// while it stands. Errors: the compiler's, or the proof's word.
pub(crate) fn compile(
    inputs: &Inputs,
    before: Option<StandIn>,
    stamp: Stamp,
    state: Option<&FabricState>,
) -> Result<Routed, PipelineError> {
    let why = match by_engine(inputs, before, stamp, state) {
        Ok((compiled, stand_in)) => match &compiled.parts.refusal {
            Some(refusal) if !inputs.drained.is_empty() => refusal.words.clone(),
            _ => {
                return Ok(Routed {
                    compiled,
                    stand_in,
                    set_aside: None,
                });
            }
        },
        Err(error) if inputs.drained.is_empty() || !is_of_routes(&error) => return Err(error),
        Err(error) => error.to_string(),
    };
    let inputs = Inputs {
        drained: Drained::default(),
        ..inputs.clone()
    };
    let (compiled, stand_in) = by_engine(&inputs, before, stamp, state)?;
    Ok(Routed {
        compiled,
        stand_in,
        set_aside: Some(why),
    })
}

/// Other routes may be none of it.
const fn is_of_routes(error: &PipelineError) -> bool {
    use PipelineError::{CreditLoop, LostPairs, Refused, StrictLoop};
    matches!(
        error,
        Refused(_) | CreditLoop { .. } | StrictLoop { .. } | LostPairs(_)
    )
}

/// What may be published, and who stood in for the engine. `before` stood in at the last plan: then nobody else is tried.
/// Errors: the compiler's, or the proof's word.
///
/// `state`: what was in force before, for the compiler's shortcuts.
fn by_engine(
    inputs: &Inputs,
    before: Option<StandIn>,
    stamp: Stamp,
    state: Option<&FabricState>,
) -> Result<(Compiled, Option<StandIn>), PipelineError> {
    // Not even one try of minhop while the stand-in holds: its proof is what costs.
    // An operator who has named one meanwhile is followed.
    if let Some(before) = before.filter(|_| inputs.engine.is_none()) {
        return Ok((by_stand_in(inputs, stamp, state)?, Some(before)));
    }
    // Shortest paths first: on a tree they are the best there is, and cost least.
    let compiled = pipeline::compile_after(inputs, stamp, state)?;
    // Which engine it was is asked of the routes, as `inputs` may not name one and a torus configuration would have chosen.
    let refused = compiled.parts.routes.engine();
    // A proof that failed is found here and not in the compiler, which proves and does not judge.
    match compiled.publishable() {
        Ok(()) => Ok((compiled, None)),
        Err(PipelineError::CreditLoop { .. } | PipelineError::StrictLoop { .. })
            // A torus-2QoS that was chosen by its configuration is as good as named: its loop is told.
            if inputs.engine.is_none() && refused == EngineKind::MinHop =>
        {
            // Before the next one: the two together would take twice the memory.
            drop(compiled);
            let taken = by_stand_in(inputs, stamp, state)?;
            Ok((taken, Some(StandIn { refused })))
        }
        // Anything else would fail with any engine.
        Err(error) => Err(error),
    }
}

/// Errors: the compiler's, or that even these routes are not publishable, which then is told of them.
fn by_stand_in(
    inputs: &Inputs,
    stamp: Stamp,
    state: Option<&FabricState>,
) -> Result<Compiled, PipelineError> {
    let inputs = Inputs {
        engine: Some(WITHOUT_LOOPS),
        ..inputs.clone()
    };
    let compiled = pipeline::compile_after(&inputs, stamp, state)?;
    compiled.publishable()?;
    Ok(compiled)
}

/// Routes any subnet without a credit loop, on one VL if need be.
///
/// Its SLs are by pair of ports, so a block that is not acknowledged costs answers: see `unheld`.
const WITHOUT_LOOPS: EngineKind = EngineKind::DfssspNue;
