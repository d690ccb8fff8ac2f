//! Up and then down: paths without deadlock in any fabric, on one VL.
//!
//! Named as OpenSM's engine, which has the same rule: a path climbs towards the roots, then
//! descends, and never turns from down to up. Roots are named (`root_guid_file`) or found. What
//! differs from OpenSM's: tops reach each other as well, so that every wired pair has a path;
//! LIDs are dealt so that those that come together on a link are few; and a cable that fails moves
//! no entry but those that lost their way. How this is done is in `updown`.
//!
//! # Roots
//!
//! In a tree the top switches. Where none is named, those are taken from which nine in ten hosts
//! are equally far (OpenSM's rule); where that finds none, levels are told by the way to the
//! nearest host; where that gives no levels either, the one switch that is nearest to all hosts is
//! the root. Roots decide how good paths are, not whether there are any.
//!
//! # What it does not do
//!
//! It uses no SLs (SL2VL tables stay as configured) and makes no multicast tree. On a torus or a
//! dragonfly it works, with longer paths than other engines and most of them over few links.

use sa_wire::Guid;

use super::{Before, Engine, EngineInput, Needs, Request, updown, wrong_input};
use crate::error::{Reason, Refusal, Warning};
use crate::kind::EngineKind;
use crate::tables::Routes;
use crate::topology::{SwitchIx, Topology};

/// Up and then down; see the module.
pub(super) struct UpDown;

impl Engine for UpDown {
    fn needs(&self) -> Needs {
        Needs::Roots
    }

    fn route(&self, request: &Request<'_>) -> Result<Routes, Refusal> {
        let roots = roots_of(request, EngineKind::UpDown)?;
        route(request.topology, roots, request.before)
    }

    fn is_incremental(&self) -> bool {
        true
    }
}

/// Routes any fabric; every pair that is wired together gets a path. Without roots they are found.
/// Errors: roots are named, and none is a switch of the fabric.
pub fn route(
    topology: &Topology,
    roots: &[Guid],
    before: Option<Before<'_>>,
) -> Result<Routes, Refusal> {
    let warnings = missing_roots(topology, roots, EngineKind::UpDown)?;
    let heights =
        |topology: &Topology| updown::levels::heights(topology, &switches(topology, roots));
    let mut routes = updown::route(topology, EngineKind::UpDown, &heights, before);
    routes.warnings.extend(warnings);
    Ok(routes)
}

/// The roots that a request names; none where they are to be found.
/// Errors: it has an input of another kind.
pub(super) fn roots_of<'a>(
    request: &Request<'a>,
    engine: EngineKind,
) -> Result<&'a [Guid], Refusal> {
    match request.input {
        EngineInput::Roots(roots) => Ok(roots),
        EngineInput::Nothing => Ok(&[]),
        _ => Err(wrong_input(engine)),
    }
}

/// The switches with these GUIDs, by index.
pub(super) fn switches(topology: &Topology, guids: &[Guid]) -> Vec<SwitchIx> {
    let named = topology.switch_ixs();
    named
        .filter(|switch| guids.contains(&topology.switch(*switch).guid))
        .collect()
}

/// A warning for each root that is no switch of the fabric: it may be down.
/// Errors: none of them is one.
pub(super) fn missing_roots(
    topology: &Topology,
    roots: &[Guid],
    engine: EngineKind,
) -> Result<Vec<Warning>, Refusal> {
    let is_there = |root: &Guid| topology.switches.iter().any(|switch| switch.guid == *root);
    let missing: Vec<_> = roots.iter().filter(|root| !is_there(root)).collect();
    if !roots.is_empty() && missing.len() == roots.len() {
        let text = format!(
            "none of the {} roots that are named is a switch of this fabric: name switches by their \
             node GUIDs, or leave the file of roots out and they are found",
            roots.len()
        );
        return Err(refusal(engine, vec![reason("roots-missing", text)]));
    }
    let warnings = missing.into_iter().map(|root| Warning {
        code: "root-missing",
        text: format!("root {root} is no switch of this fabric and is left out"),
    });
    Ok(warnings.collect())
}

/// A refusal for these reasons alone.
pub(super) const fn refusal(engine: EngineKind, reasons: Vec<Reason>) -> Refusal {
    Refusal {
        engine,
        reasons,
        warnings: Vec::new(),
        torus: None,
    }
}

/// A reason that is no matter of a configuration.
pub(super) const fn reason(code: &'static str, text: String) -> Reason {
    Reason {
        code,
        text,
        place: None,
        opensm_code: None,
    }
}
