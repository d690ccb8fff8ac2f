//! Shortest paths in any fabric.
//!
//! The rule, per switch and by itself: LIDs are taken in ascending order; each leaves by a port
//! that lies on a shortest path to the destination's switch; among those by the one that has the
//! fewest LIDs of hosts so far; among equals by the lowest number. LIDs of switches do not count:
//! they see management traffic only. Credit loops are possible, which `check` finds.

use crate::parallel;
use crate::routes::{Engine, Lft, Routes};
use crate::sl2vl::Sl2Vl;
use crate::topology::{SwitchIx, Topology, count32};

/// Routes any fabric. LIDs that cannot be reached stay without entry.
pub fn route(topology: &Topology) -> Routes {
    let distances = Distances::of(topology);
    let destinations = destinations(topology);
    let mut lft = Lft::empty(topology, topology.max_lid());
    let stride = lft.stride();
    parallel::over_rows(lft.bytes_mut(), stride, |first, rows| {
        for (switch, row) in (count32(first)..).zip(rows.chunks_mut(stride)) {
            fill(topology, &distances, &destinations, SwitchIx(switch), row);
        }
    });
    Routes::new(topology, Engine::MinHop, lft, Sl2Vl::configured(topology))
}

/// A LID and where it is.
struct Destination {
    lid: u16,
    switch: SwitchIx,
    /// The switch's port to it.
    port: u8,
}

/// Every LID that is on a switch, ascending.
fn destinations(topology: &Topology) -> Vec<Destination> {
    let ends = topology
        .end_ports
        .iter()
        .filter_map(|end| Some((end, end.attached?)));
    let mut all: Vec<_> = ends
        .flat_map(|(end, (switch, port))| {
            end.lids().map(move |lid| Destination { lid, switch, port })
        })
        .collect();
    all.sort_by_key(|destination| destination.lid);
    all
}

fn fill(
    topology: &Topology,
    distances: &Distances,
    destinations: &[Destination],
    from: SwitchIx,
    row: &mut [u8],
) {
    let own = distances.from(from);
    // By ascending port, with the far switch's distances.
    let ports: Vec<_> = topology
        .cables(from)
        .map(|(port, far, _)| (port, distances.from(far)))
        .collect();
    let mut used = [0_u32; 256];
    for destination in destinations {
        let to = destination.switch.index();
        if destination.switch == from {
            row[usize::from(destination.lid)] = destination.port;
            continue;
        }
        if own[to] == UNREACHABLE {
            continue;
        }
        let shortest = ports
            .iter()
            .filter(|(_, far)| far[to] < own[to])
            .map(|(port, _)| *port);
        let Some(port) = shortest.min_by_key(|port| used[usize::from(*port)]) else {
            continue;
        };
        row[usize::from(destination.lid)] = port;
        used[usize::from(port)] += u32::from(destination.port != 0);
    }
}

/// Hops between all pairs of switches; the same both ways since cables are.
struct Distances {
    count: usize,
    /// Shape: a row per switch.
    hops: Vec<u8>,
}

/// Also for what is farther than a path can be: an SA walks 64 hops at most.
const UNREACHABLE: u8 = u8::MAX;

impl Distances {
    fn of(topology: &Topology) -> Self {
        let neighbours: Vec<Vec<usize>> = topology
            .switch_ixs()
            .map(|switch| {
                let mut far: Vec<_> = topology
                    .cables(switch)
                    .map(|(_, far, _)| far.index())
                    .collect();
                far.sort_unstable();
                far.dedup();
                far
            })
            .collect();
        let count = neighbours.len();
        let mut hops = vec![UNREACHABLE; count * count];
        parallel::over_rows(&mut hops, count.max(1), |first, rows| {
            let mut queue = Vec::with_capacity(count);
            for (from, row) in (first..).zip(rows.chunks_mut(count.max(1))) {
                spread(&neighbours, from, row, &mut queue);
            }
        });
        Self { count, hops }
    }

    fn from(&self, switch: SwitchIx) -> &[u8] {
        &self.hops[switch.index() * self.count..][..self.count]
    }
}

/// Breadth first from one switch.
fn spread(neighbours: &[Vec<usize>], from: usize, row: &mut [u8], queue: &mut Vec<usize>) {
    queue.clear();
    queue.push(from);
    row[from] = 0;
    let mut next = 0;
    while let Some(&here) = queue.get(next) {
        next += 1;
        let hops = row[here].saturating_add(1);
        for far in &neighbours[here] {
            if row[*far] == UNREACHABLE && hops < UNREACHABLE {
                row[*far] = hops;
                queue.push(*far);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breadth_first_counts_hops_and_leaves_islands() {
        let neighbours = vec![vec![1], vec![0, 2], vec![1], vec![]];
        let mut row = [UNREACHABLE; 4];
        spread(&neighbours, 0, &mut row, &mut Vec::new());
        assert_eq!(row, [0, 1, 2, UNREACHABLE]);
    }
}
