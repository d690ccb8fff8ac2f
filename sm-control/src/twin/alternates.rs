//! Two paths between two sources and two destinations that share no port.
//! Source: OpenSM `osm_sa_multipath_record.c` (`mpr_rcv_get_apm_paths`).

use routing::{EndPortIx, walk};
use sa_wire::path_record::PathRecord;

use super::Twin;
use super::parameters::Place;
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
    record: PathRecord,
    links: usize,
}

impl Twin<'_> {
    pub(super) fn alternates(
        &self,
        request: &Request,
        sources: &[EndPortIx],
        destinations: &[EndPortIx],
        wanted: Diagonal,
    ) -> Vec<PathRecord> {
        let (sources, destinations) = (self.by_order(sources), self.by_order(destinations));
        let start = self.start(sources[0], destinations[0]);
        let path = |source: usize, destination: usize| {
            let offset = start + source;
            self.alternate(request, sources[source], destinations[destination], offset)
        };
        let (equal, other) = ([path(0, 0), path(1, 1)], [path(0, 1), path(1, 0)]);
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

    /// By the bytes of their GUIDs, the last first.
    fn by_order(&self, ports: &[EndPortIx]) -> Vec<EndPortIx> {
        let mut ports = ports.to_vec();
        ports.sort_by_key(|port| self.guid(*port).swap_bytes());
        ports
    }

    fn guid(&self, port: EndPortIx) -> u64 {
        self.inputs.topology.end_port(port).guid.get()
    }

    /// The number that decides about LIDs; the same from either side.
    fn start(&self, one: EndPortIx, other: EndPortIx) -> usize {
        let topology = self.inputs.topology;
        let lmcs = topology.end_ports.iter().map(|port| port.lmc.get());
        let lmc = lmcs.max().unwrap_or(0);
        let mut bases = [one, other].map(|port| topology.end_port(port).lid.get() >> lmc);
        bases.sort_unstable();
        let [low, high] = bases.map(usize::from);
        ((low << 4) | high) % 103
    }

    /// The first of the paths between LIDs `offset` places up, both, and from there on in step.
    fn alternate(
        &self,
        request: &Request,
        source: EndPortIx,
        destination: EndPortIx,
        offset: usize,
    ) -> Option<Alternate> {
        let slids: Vec<_> = self.lids(source, None).collect();
        let dlids: Vec<_> = self.lids(destination, None).collect();
        let tries = slids.len().min(dlids.len());
        let request = request.between(self.gid(source), self.gid(destination));
        let ways = slids.iter().cycle().skip(offset % slids.len());
        let ways = ways.zip(dlids.iter().cycle().skip(offset % dlids.len()));
        ways.take(tries).find_map(|(slid, dlid)| {
            let (from, to) = (
                Place {
                    port: source,
                    lid: *slid,
                },
                Place {
                    port: destination,
                    lid: *dlid,
                },
            );
            Some(Alternate {
                record: self.path(&request, from, to, 0)?,
                links: self.links(source, *dlid)?,
            })
        })
    }

    /// How many links the path has; a path to oneself has none.
    fn links(&self, source: EndPortIx, lid: u16) -> Option<usize> {
        let topology = self.inputs.topology;
        let walk = walk::walk(topology, self.inputs.routes, self.options.qos, source, lid).ok()?;
        let is_switch = matches!(topology.end_port(source).attached, Some((_, 0)));
        let behind_switches = walk.hops.iter().filter(|hop| hop.output != 0).count();
        let first = usize::from(!is_switch && !walk.hops.is_empty());
        Some(first + behind_switches)
    }
}

/// The shorter of two, where what has no links does not count.
fn least(paths: &[Option<Alternate>; 2]) -> usize {
    let links = paths.iter().flatten().map(|path| path.links);
    links.filter(|links| *links > 0).min().unwrap_or(0)
}
