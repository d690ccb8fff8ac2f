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

use super::updown::{self, roots};
use super::{Before, Engine, Needs, Request};
use crate::error::Refusal;
use crate::kind::EngineKind;
use crate::tables::Routes;
use crate::topology::Topology;
use crate::watch::Stretch;

/// Up and then down; see the module.
pub(super) struct UpDown;

impl Engine for UpDown {
    fn needs(&self) -> Needs {
        Needs::Roots
    }

    fn route(&self, request: &Request<'_>) -> Result<Routes, Refusal> {
        let roots = roots::of_request(request, EngineKind::UpDown)?;
        let (topology, before) = (request.topology, request.before);
        let route = |share: Stretch<'_>| route_watched(topology, roots, before, share);
        request.watch.share(route)
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
    route_watched(topology, roots, before, Stretch::nobody())
}

/// [`route`], which says how much of it is done.
fn route_watched(
    topology: &Topology,
    roots: &[Guid],
    before: Option<Before<'_>>,
    share: Stretch<'_>,
) -> Result<Routes, Refusal> {
    let warnings = roots::missing(topology, roots, EngineKind::UpDown)?;
    let heights =
        |topology: &Topology| updown::levels::heights(topology, &roots::switches(topology, roots));
    let mut routes = updown::route(topology, EngineKind::UpDown, &heights, before, share);
    routes.warnings.extend(warnings);
    Ok(routes)
}
