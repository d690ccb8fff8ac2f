//! The roots of a tree, where somebody names them.

use sa_wire::Guid;

use crate::engine::{EngineInput, Request, wrong_input};
use crate::error::{Reason, Refusal, Warning};
use crate::kind::EngineKind;
use crate::topology::{SwitchIx, Topology};

/// The roots that a request names; none where they are to be found.
/// Errors: it has an input of another kind.
pub(in crate::engine) fn of_request<'a>(
    request: &Request<'a>,
    engine: EngineKind,
) -> Result<&'a [Guid], Refusal> {
    match request.input {
        EngineInput::Roots(roots) => Ok(roots),
        EngineInput::Nothing => Ok(&[]),
        // Another engine's input would be followed by nobody: better refused than ignored.
        _ => Err(wrong_input(engine)),
    }
}

/// The switches with these GUIDs, by index.
///
/// In the fabric's order, whatever that of the file is: what comes out must not depend on it.
pub(in crate::engine) fn switches(topology: &Topology, guids: &[Guid]) -> Vec<SwitchIx> {
    let named = topology.switch_ixs();
    named
        .filter(|switch| guids.contains(&topology.switch(*switch).guid))
        .collect()
}

/// A warning for each root that is no switch of the fabric: it may be down.
/// Errors: none of them is one.
pub(in crate::engine) fn missing(
    topology: &Topology,
    roots: &[Guid],
    engine: EngineKind,
) -> Result<Vec<Warning>, Refusal> {
    let is_there = |root: &Guid| topology.switches.iter().any(|switch| switch.guid == *root);
    let missing: Vec<_> = roots.iter().filter(|root| !is_there(root)).collect();
    // All of them missing is a wrong file, most likely; one that is down is not.
    if !roots.is_empty() && missing.len() == roots.len() {
        let text = format!(
            "none of the {} roots that are named is a switch of this fabric: name switches by their \
             node GUIDs, or leave the file of roots out and they are found",
            roots.len()
        );
        return Err(Refusal::new(
            engine,
            vec![Reason::new("roots-missing", text)],
        ));
    }
    let warnings = missing.into_iter().map(|root| Warning {
        code: "root-missing",
        text: format!("root {root} is no switch of this fabric and is left out"),
    });
    Ok(warnings.collect())
}
