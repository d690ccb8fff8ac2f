//! Groups of a fabric without levels: switches that are all joined with each other.
//!
//! In a dragonfly these are its groups. In a HyperX every switch is in one such set for each dimension; the sets of one
//! dimension, the largest, are taken.
//!
//! The neighbours of a switch fall apart into sets that are joined among themselves: one for each dimension of a
//! HyperX, the group and single far ends of global links in a dragonfly. The first switch takes the largest. Whoever is joined with
//! a group takes its own largest, of equals the one that is joined with that group most: in a HyperX that is the
//! set that runs along beside it, and not across.
//!
//! What it may not do: look at names. A fabric with its switches shuffled falls into the same groups.

use std::collections::VecDeque;

use super::wires::Wires;

/// Group of each switch, numbered from 0 in the order of their first switches. None where the fabric does not fall
/// into such groups.
///
/// Cost: about a look at each pair of neighbours of each switch.
pub(super) fn cliques(wires: &Wires) -> Option<Vec<usize>> {
    let mut search = Search {
        wires,
        group: vec![None; wires.len()],
        groups: Vec::new(),
    };
    for start in 0..wires.len() {
        search.from(start);
    }
    if !search.is_convincing() {
        return None;
    }
    let group = search.group.into_iter().collect::<Option<Vec<_>>>()?;
    Some(renumbered(&group))
}

/// Groups so far; a switch without one is still to be looked at.
struct Search<'a> {
    wires: &'a Wires,
    /// By switch.
    group: Vec<Option<usize>>,
    /// Members of each.
    groups: Vec<Vec<usize>>,
}

impl Search<'_> {
    /// The group of a switch, then those of all that it leads to.
    ///
    /// Breadth first, so that the groups beside a found one are sought while it is known which way they run.
    fn from(&mut self, start: usize) {
        let mut queue = VecDeque::from([(start, None)]);
        while let Some((switch, beside)) = queue.pop_front() {
            if self.group[switch].is_some() {
                continue;
            }
            let mut members = self.best(switch, beside);
            members.push(switch);
            let number = self.groups.len();
            for member in &members {
                self.group[*member] = Some(number);
            }
            for member in &members {
                let near = self.wires.neighbours(*member);
                queue.extend(near.map(|near| (near, Some(number))));
            }
            self.groups.push(members);
        }
    }

    /// The largest set of neighbours without a group that are joined among themselves.
    ///
    /// Shape: without the switch itself; empty where it stays alone.
    fn best(&self, switch: usize, beside: Option<usize>) -> Vec<usize> {
        let near: Vec<_> = self
            .wires
            .neighbours(switch)
            .filter(|near| self.group[*near].is_none())
            .collect();
        let sets = self.sets(&near).into_iter();
        let best = sets.max_by_key(|set| {
            let touching = set.iter().filter(|member| self.touches(**member, beside));
            (set.len(), touching.count())
        });
        // One neighbour is no set: every link has one.
        best.filter(|set| set.len() > 1).unwrap_or_default()
    }

    /// Some neighbour of the switch is in the group.
    fn touches(&self, switch: usize, group: Option<usize>) -> bool {
        let mut near = self.wires.neighbours(switch);
        group.is_some() && near.any(|near| self.group[near] == group)
    }

    /// Some switches, apart where no link among them joins them.
    ///
    /// Shape: at least one switch in each, every switch in one.
    fn sets(&self, switches: &[usize]) -> Vec<Vec<usize>> {
        let mut left = switches.to_vec();
        let mut sets = Vec::new();
        while let Some(first) = left.pop() {
            let mut set = vec![first];
            let mut at = 0;
            while let Some(here) = set.get(at).copied() {
                let (joined, rest): (Vec<_>, Vec<_>) = left
                    .iter()
                    .partition(|other| self.wires.are_joined(here, **other));
                set.extend(joined);
                left = rest;
                at += 1;
            }
            sets.push(set);
        }
        sets
    }

    /// Groups of three switches and more as a rule, and nearly all links within them there.
    ///
    /// Random graphs have triangles too: without these bounds they would be drawn as groups that mean nothing.
    fn is_convincing(&self) -> bool {
        let (groups, switches) = (self.groups.len(), self.wires.len());
        let alone = self.groups.iter().filter(|group| group.len() == 1).count();
        let pairs = self
            .groups
            .iter()
            .map(|group| group.len() * (group.len() - 1) / 2);
        let within =
            |(one, other, _): &(usize, usize, usize)| self.group[*one] == self.group[*other];
        let links = self.wires.links().filter(within).count();
        groups > 1
            && switches >= 3 * groups
            && 10 * alone <= groups
            && 10 * links >= 7 * pairs.sum::<usize>()
    }
}

/// By the first switch of each.
///
/// The search numbers groups as it finds them; names of switches give the order that people expect.
fn renumbered(group: &[usize]) -> Vec<usize> {
    let mut numbers = vec![None; group.len()];
    let mut next = 0;
    let renumbered = group.iter().map(|old| {
        *numbers[*old].get_or_insert_with(|| {
            next += 1;
            next - 1
        })
    });
    renumbered.collect()
}
