//! Two paths between two sources and two destinations that share no port.
//! Source: OpenSM `osm_sa_multipath_record.c` (`mpr_rcv_get_apm_paths`).
//!
//! A request with two sources, two destinations and NumbPath 2 wants paths for automatic path
//! migration: two that share no port. Of the four paths between them, S0-D0 with S1-D1 are one such
//! pair and S0-D1 with S1-D0 the other; the pair with the shortest path in it is given.
//!
//! Which LIDs a path uses follows from a number made of both base LIDs. Worked example: base LIDs
//! 12 and 24, LMC 2. OpenSM reads them in network byte order: 0x0c00 and 0x1800, shifted by LMC
//! 0x300 and 0x600. The smaller times 16, or'ed with the larger, is 0x3600; modulo 103 that is 22.
//! With four LIDs each the first path begins at offset 22 mod 4 = 2 on both sides, those from the
//! second source one further.
//!
//! No P_Key gate here: a requester that may see neither end gets the paths all the same, as from
//! OpenSM.

use routing::EndPortIx;
use routing::reference;
use sa_wire::Lid;
use sa_wire::path_record::PathRecord;

use super::Reference;
use super::ends::Name;
use super::request::Request;

/// Which two of the four paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Diagonal {
    /// Those with the shorter path among them.
    Shorter,
    /// The others.
    Longer,
}

/// A path with its links counted.
struct Alternate {
    /// As it would be given.
    record: PathRecord,
    /// 0 only for a port to itself.
    links: usize,
}

impl Reference<'_> {
    /// The four paths are worked out whichever are given, since lengths decide. At most two
    /// records.
    pub(super) fn alternates(
        &self,
        request: &Request,
        sources: &[Name],
        destinations: &[Name],
        wanted: Diagonal,
    ) -> Vec<PathRecord> {
        let (sources, destinations) = (self.by_order(sources), self.by_order(destinations));
        let start = self.start(sources[0].port, destinations[0].port);
        let path = |source: usize, destination: usize| {
            let offset = start + source;
            self.alternate(request, sources[source], destinations[destination], offset)
        };
        let (equal, other) = ([path(0, 0), path(1, 1)], [path(0, 1), path(1, 0)]);
        // Equal lengths give the first diagonal.
        let is_equal_shorter = least(&equal) <= least(&other);
        let chosen = if is_equal_shorter == (wanted == Diagonal::Shorter) {
            equal
        } else {
            other
        };
        chosen
            .into_iter()
            .flatten()
            .map(|path| path.record)
            .collect()
    }

    /// By the bytes of the ports' own GUIDs, the last first. What is no less comes second, so that
    /// two GUIDs of one port change places.
    fn by_order(&self, names: &[Name]) -> Vec<Name> {
        let order = |name: &Name| self.guid(name.port).swap_bytes();
        let mut names = names.to_vec();
        if order(&names[0]) >= order(&names[1]) {
            names.swap(0, 1);
        }
        names
    }

    /// The port's own, not the alias that the request names.
    fn guid(&self, port: EndPortIx) -> u64 {
        self.inputs.topology.end_port(port).guid.get()
    }

    /// The number that decides about LIDs; the same from either side. The LIDs are in network byte
    /// order there, but taken for numbers.
    fn start(&self, one: EndPortIx, other: EndPortIx) -> usize {
        let topology = self.inputs.topology;
        let lmcs = topology.end_ports.iter().map(|port| port.lmc.get());
        // The subnet's LMC: ports 0 have less.
        let lmc = lmcs.max().unwrap_or(0);
        let mut bases =
            [one, other].map(|port| topology.end_port(port).lid.get().swap_bytes() >> lmc);
        bases.sort_unstable();
        let [low, high] = bases.map(usize::from);
        ((low << 4) | high) % 103
    }

    /// The first of the paths between LIDs `offset` places up, both, and from there on in step.
    ///
    /// None where none of the LID pairs has a path, after as many as the shorter range holds.
    fn alternate(
        &self,
        request: &Request,
        source: Name,
        destination: Name,
        offset: usize,
    ) -> Option<Alternate> {
        let slids: Vec<_> = self.lids(source.port, None).collect();
        let dlids: Vec<_> = self.lids(destination.port, None).collect();
        let tries = slids.len().min(dlids.len());
        let request = request.between(self.gid(source.guid), self.gid(destination.guid));
        let ways = slids.iter().cycle().skip(offset % slids.len());
        let ways = ways.zip(dlids.iter().cycle().skip(offset % dlids.len()));
        ways.take(tries).find_map(|(slid, dlid)| {
            let (from, to) = (source.at(*slid), destination.at(*dlid));
            Some(Alternate {
                record: self.path(&request, from, to, 0, 0)?,
                links: self.links(source.port, *dlid)?,
            })
        })
    }

    /// How many links the path has; a path to oneself has none.
    fn links(&self, source: EndPortIx, lid: u16) -> Option<usize> {
        let topology = self.inputs.topology;
        let lid = Lid::new(lid).ok()?;
        let walk =
            reference::walk(topology, self.inputs.routes, self.options.qos, source, lid).ok()?;
        let is_switch = matches!(topology.end_port(source).attached, Some((_, 0)));
        let behind_switches = walk.hops.iter().filter(|hop| hop.output != 0).count();
        let first = usize::from(!is_switch && !walk.hops.is_empty());
        Some(first + behind_switches)
    }
}

/// The shorter of two. One without links counts in the second place only.
fn least([first, second]: &[Option<Alternate>; 2]) -> usize {
    let mut least = first.as_ref().map_or(0, |path| path.links);
    if let Some(path) = second {
        least = if least > 0 {
            least.min(path.links)
        } else {
            path.links
        };
    }
    least
}
