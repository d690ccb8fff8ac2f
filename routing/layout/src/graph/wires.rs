//! Which switches are joined, and by how many cables.
//!
//! Switches are numbered by their names, numbers in names by value (`L2` before `L10`): the order in a row or on a
//! circle is then one that people expect. Where a switch belongs never depends on its name.
//!
//! Everything that is drawn of a fabric without coordinates starts here. It knows no engine and no routes: form, groups and blocks come
//! of cables alone, so a picture is the same whatever routes the fabric.

use std::collections::{BTreeMap, VecDeque};

use routing::{SwitchIx, Topology};

/// A fabric as a graph. Shape: both lists by the number of the switch.
///
/// A switch is its number from here on; [`Wires::switches`] leads back to the topology.
#[derive(Debug)]
pub struct Wires {
    /// CA and router ports.
    pub hosts: Vec<usize>,
    /// Neighbours, ascending, each with the number of its cables.
    pub near: Vec<Vec<(usize, usize)>>,
    /// The switches of the topology.
    pub switches: Vec<SwitchIx>,
}

impl Wires {
    /// Of a whole fabric. Cost: a sort of all names, and a walk over all cables.
    pub fn of(topology: &Topology) -> Self {
        Self::among(topology, topology.switch_ixs().collect())
    }

    /// Of some switches and the cables among them. Cost: as for a whole fabric, of these.
    pub fn among(topology: &Topology, mut switches: Vec<SwitchIx>) -> Self {
        // With the GUID: two switches of one name would else be numbered by the order of the file.
        switches.sort_by_cached_key(|ix| {
            let switch = topology.switch(*ix);
            (natural(&switch.description), switch.guid)
        });
        let mut number = vec![None; topology.switches.len()];
        for (nth, ix) in switches.iter().enumerate() {
            number[ix.index()] = Some(nth);
        }
        let near = switches.iter().map(|ix| {
            let mut near = BTreeMap::new();
            // A cable from a switch to itself joins nothing.
            let cables = topology.cables(*ix).filter(|(_, far, _)| far != ix);
            for (_, far, _) in cables {
                if let Some(far) = number[far.index()] {
                    *near.entry(far).or_insert(0) += 1;
                }
            }
            near.into_iter().collect()
        });
        Self {
            near: near.collect(),
            hosts: switches
                .iter()
                .map(|ix| topology.hosts(*ix).count())
                .collect(),
            switches,
        }
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.switches.is_empty()
    }

    /// Switches.
    pub const fn len(&self) -> usize {
        self.switches.len()
    }

    /// Switches that a cable leads to, each once.
    pub fn neighbours(&self, switch: usize) -> impl Iterator<Item = usize> + '_ {
        self.near[switch].iter().map(|(near, _)| *near)
    }

    /// By a cable at least.
    /// Shape: `near` is ascending, so this is a binary search.
    pub fn are_joined(&self, one: usize, other: usize) -> bool {
        let near = &self.near[one];
        near.binary_search_by_key(&other, |(near, _)| *near).is_ok()
    }

    /// Each two neighbours once, the lower first, with their cables.
    ///
    /// Ascending, so that pictures of one fabric are equal byte by byte.
    pub fn links(&self) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        self.near.iter().enumerate().flat_map(|(low, near)| {
            let up = near.iter().filter(move |(high, _)| *high > low);
            up.map(move |(high, cables)| (low, *high, *cables))
        })
    }

    /// Steps to the nearest of some switches, by switch; none where no cable leads.
    ///
    /// Breadth first: a start that is given twice costs a turn, and changes nothing.
    pub fn distances(&self, from: impl Iterator<Item = usize>) -> Vec<Option<usize>> {
        let mut steps = vec![None; self.len()];
        let mut queue: VecDeque<_> = from.collect();
        queue.iter().for_each(|start| steps[*start] = Some(0));
        while let Some(here) = queue.pop_front() {
            for near in self.neighbours(here) {
                if steps[near].is_none() {
                    steps[near] = steps[here].map(|steps| steps + 1);
                    queue.push_back(near);
                }
            }
        }
        steps
    }

    /// The pieces that hang together over the links that count, by switch; numbered by their first switches.
    ///
    /// Shape: piece numbers from 0; switches that no link counts for are pieces by themselves.
    pub fn pieces(&self, counts: impl Fn(usize, usize) -> bool) -> Vec<usize> {
        let mut piece = vec![usize::MAX; self.len()];
        let mut found = 0;
        for start in 0..self.len() {
            if piece[start] != usize::MAX {
                continue;
            }
            piece[start] = found;
            // Depth first: which order a piece is walked in does not show.
            let mut open = vec![start];
            while let Some(here) = open.pop() {
                for near in self.neighbours(here) {
                    if piece[near] == usize::MAX && counts(here, near) {
                        piece[near] = found;
                        open.push(near);
                    }
                }
            }
            found += 1;
        }
        piece
    }
}

/// A name in parts that compare as people read them: words, each with the number behind it.
///
/// A number at the beginning belongs to an empty word. Numbers that are too large for 64 bits are all the same one.
fn natural(name: &str) -> Vec<(String, u64)> {
    let mut parts = vec![(String::new(), 0_u64)];
    let mut was_digit = false;
    for letter in name.chars() {
        let digit = letter.to_digit(10).map(u64::from);
        if digit.is_none() && was_digit {
            parts.push((String::new(), 0));
        }
        was_digit = digit.is_some();
        if let Some((word, number)) = parts.last_mut() {
            match digit {
                Some(digit) => *number = number.saturating_mul(10).saturating_add(digit),
                None => word.push(letter),
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_compare_by_value() {
        let mut names = ["L10_1", "L2_10", "L2_9", "T0", "L2"];
        names.sort_by_cached_key(|name| natural(name));
        assert_eq!(names, ["L2", "L2_9", "L2_10", "L10_1", "T0"]);
    }
}
