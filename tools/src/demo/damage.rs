//! What fails in the demo: a cable, then a switch as well.
//!
//! Both failures are chosen so that torus-2QoS must not refuse them and all pairs that are wired
//! must keep path and SL: a ring of three or more leads around one missing cable, and around one
//! missing switch. Each is compiled twice, once from scratch in advance and once under load from
//! the routes before; equal bytes show that going on from old routes takes nothing away.
//!
//! ```text
//! damage 0   failed = [S2_2_2:PORT]             the cable, named by one end
//! damage 1   failed = [S2_2_2:PORT, S1_1_1]     and the switch, with its two hosts
//! ```
//!
//! The cable is at the far corner of a small torus and the switch near the origin, so the two lie
//! on different rings and neither is a link that the configuration is seeded by.

use sa_compiler::pipeline::{self, Compiled, Inputs, Stamp};
use sa_compiler::state::FabricState;
use sa_fabric::generate::{Coordinate, TorusPlan};

use crate::failure::{Failure, Outcome};
use crate::inputs::failure;

/// Off the links that the configuration names as seeds, and on another ring than the cable. So near
/// the dateline, what multicast does around it closes no credit loop.
/// Exists in every radix that `--radix` takes.
const SWITCH: Coordinate = [1, 1, 1];
/// The end of the cable on the minus side of the x axis.
/// A corner of a 3x3x3, where its link along x is the one that closes a ring.
const CABLE: Coordinate = [2, 2, 2];

/// A state of the fabric in which parts are missing.
/// Made before the load begins, because the expected replies of each state are computed from it.
pub(super) struct Damage {
    /// What failed last, for people.
    pub(super) what: String,
    /// What to compile it from.
    /// The healthy ones, with what failed named in `failed`: the fabric file stays as it is.
    inputs: Inputs,
    /// Compiled from scratch, as if nothing had been there before.
    pub(super) compiled: Compiled,
}

impl Damage {
    /// First a cable fails, then a switch on top of it. `healthy`: what the undamaged fabric is
    /// compiled from.
    /// Errors: a failure is refused, or closes a credit loop; the sample would then be badly
    /// chosen.
    pub(super) fn in_turn(plan: &TorusPlan, healthy: &Inputs) -> Outcome<Vec<Self>> {
        let (cable, end) = cable(plan)?;
        let (switch, name) = switch(plan)?;
        // The second has the cable too: failures add up.
        [(cable, vec![end.clone()]), (switch, vec![end, name])]
            .into_iter()
            .map(|(what, failed)| {
                let inputs = Inputs {
                    failed,
                    ..healthy.clone()
                };
                let compiled = compile(&inputs, None)?;
                Ok(Self {
                    what,
                    inputs,
                    compiled,
                })
            })
            .collect()
    }

    /// Compiles it the way it is done in operation, from the routes in force before.
    /// Errors: the snapshot differs from the one compiled from scratch.
    pub(super) fn compile_after(&self, before: &FabricState) -> Outcome<Compiled> {
        let compiled = compile(&self.inputs, Some(before))?;
        // Byte for byte: any difference at all, even of order, would show that the way there
        // matters.
        if compiled.snapshot.as_bytes() == self.compiled.snapshot.as_bytes() {
            Ok(compiled)
        } else {
            Err(Failure::failed(format!(
                "{}: the snapshot re-routed differs from the one routed from scratch",
                self.what
            )))
        }
    }
}

/// Unlike `sapphire compile` it takes no refusal: a fabric that torus-2QoS refuses would go on with
/// the routes before, which is another demonstration.
fn compile(inputs: &Inputs, before: Option<&FabricState>) -> Outcome<Compiled> {
    let compiled = pipeline::compile_after(inputs, Stamp::default(), before).map_err(failure)?;
    compiled.publishable().map_err(failure)?;
    // Multicast is no obstacle to publishing, but a demo that leaves a credit loop behind shows
    // nothing.
    match (&compiled.parts.refusal, &compiled.proof.multicast_loop) {
        (None, None) => Ok(compiled),
        (Some(refusal), _) => Err(Failure::refused(refusal.words.clone())),
        (None, Some(cycle)) => {
            let words = cycle.in_words(&compiled.parts.topology, &compiled.parts.routes);
            let text = format!("multicast closes a credit loop:\n{words}");
            Err(Failure::refused(text))
        }
    }
}

/// In words, and as `SWITCH:PORT`.
fn cable(plan: &TorusPlan) -> Outcome<(String, String)> {
    // Links are planned switch by switch, along x, then y, then z.
    let mut links = plan.links.iter();
    // The first link of a switch goes along x.
    let link = links.find(|link| link.from.0 == CABLE).ok_or_else(gone)?;
    let (from, to) = (name(plan, CABLE)?, name(plan, link.to.0)?);
    let port = link.from.1;
    Ok((format!("cable {from} to {to}"), format!("{from}:{port}")))
}

/// In words, and as `SWITCH`.
fn switch(plan: &TorusPlan) -> Outcome<(String, String)> {
    let name = name(plan, SWITCH)?;
    Ok((format!("switch {name}"), name))
}

/// The switch at a place. Errors: there is none.
fn name(plan: &TorusPlan, at: Coordinate) -> Outcome<String> {
    let mut switches = plan.switches.iter();
    let switch = switches.find(|switch| switch.coordinate == at);
    switch.map(|switch| switch.name.clone()).ok_or_else(gone)
}

/// Cannot come about with a radix of three or more; no panic, should the plan change.
fn gone() -> Failure {
    Failure::failed("the torus is too small for a failure")
}
