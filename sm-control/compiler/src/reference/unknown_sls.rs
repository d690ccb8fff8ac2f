//! Paths whose SL nobody here knows: routes of another SM, whose engine chose an SL for each pair.
//!
//! OpenSM knows them always. Here a request is refused whole where one of the paths that it may be
//! given has no known SL (`docs/deviations.md`): neither a guess nor "no path" would be true.

use routing::reference::walk;
use routing::tables::PathSlRule;
use routing::{EndPortIx, Topology};
use sa_wire::mad::Status;
use sa_wire::{Lid, Sl};

use super::Reference;
use super::ends::Name;
use super::request::Request;

impl Reference<'_> {
    /// Whether all SLs of the paths between pairs of ports are known, and those of the ways back
    /// where the request asks for an SL. Errors: one is not.
    pub(super) fn all_sls_are_known(
        &self,
        request: &Request,
        mut pairs: impl Iterator<Item = (Name, Name)>,
    ) -> Result<(), Status> {
        // All other rules give every path an SL.
        if !matches!(self.inputs.routes.facts().path_sl, PathSlRule::Table(_)) {
            return Ok(());
        }
        let is_lost = |from: EndPortIx, to: EndPortIx, named| {
            let mut lids = self.lids(to, named);
            lids.any(|lid| Lid::new(lid).is_ok_and(|lid| self.is_unknown(from, to, lid)))
        };
        let is_unknown = pairs.any(|(source, destination)| {
            let (from, to) = (source.port, destination.port);
            is_lost(from, to, request.dlid)
                || request.sl.is_some() && is_lost(to, from, request.slid)
        });
        match is_unknown {
            true => Err(Status::NO_RESOURCES),
            false => Ok(()),
        }
    }

    /// True where there is a path and no known SL of it.
    fn is_unknown(&self, from: EndPortIx, to: EndPortIx, lid: Lid) -> bool {
        let (topology, routes) = (self.inputs.topology, self.inputs.routes);
        let slid = topology.end_port(from).lid;
        routes.path_sl(Sl::default(), slid, lid).is_none()
            && walk(topology, routes, self.options.qos, from, lid).is_ok()
            && (from != to || self.is_delivered(topology, to, lid))
    }

    /// A port's path to itself has the SL of its switch's way to it, where there is one, else the
    /// policy's.
    pub(super) fn is_delivered(&self, topology: &Topology, to: EndPortIx, lid: Lid) -> bool {
        let attached = topology.end_port(to).attached;
        let output = |switch| self.inputs.routes.output(switch, lid);
        attached.is_some_and(|(switch, port)| output(switch) == Some(port))
    }
}
