//! Classes of ports as source and as destination.
//!
//! ```text
//! groups      port 17: {storage, rack3}       rules as destination want: storage, backup
//! key         {storage}                       rack3 does not matter at this end
//! class       rules that want storage, and those that want no group
//! ```
//!
//! A port has a class of its own for each end, since rules want other groups there.

use std::collections::HashMap;

use sa_snapshot::model::Dimension;
use sa_text::Spanned;

use super::sets::{Interner, RuleSet, empty_set, insert};
use crate::error::Error;
use crate::matching::groups::GroupResolver;
use crate::model::{GroupIx, Policy, Rule};

/// Which groups each port is in.
/// 49,152 ports in 1,000 groups are 6 MB; dropped once both ends are done.
pub(super) struct EndClasses {
    /// By port, then one bit for each group.
    /// Shape: `words` for each port.
    rows: Vec<u64>,
    /// Per port; as many as hold a bit for each group.
    words: usize,
    ports: usize,
    /// Of the policy, made ones included.
    groups: usize,
}

impl EndClasses {
    /// Errors: those of [`GroupResolver::members`].
    pub(super) fn new(
        policy: &Policy,
        ports: usize,
        resolver: &GroupResolver<'_>,
    ) -> Result<Self, Error> {
        let groups = policy.groups.len();
        let words = groups.div_ceil(64);
        let mut rows = vec![0; ports * words];
        // A column of 64 groups stays in cache while it is filled, however many members they have.
        let mut column = vec![0u64; ports];
        for (word, groups) in policy.groups.chunks(64).enumerate() {
            column.fill(0);
            for (bit, group) in groups.iter().enumerate() {
                for port in resolver.members(group)? {
                    column[port] |= 1 << bit;
                }
            }
            for (row, bits) in rows.chunks_exact_mut(words).zip(&column) {
                row[word] = *bits;
            }
        }
        Ok(Self {
            rows,
            words,
            ports,
            groups,
        })
    }

    /// Ports that are in the same of the groups that matter share a class. An end that no request
    /// names is like a port in no group.
    /// Cost: O(ports x groups / 64), and the rules of each class once.
    pub(super) fn dimension(
        &self,
        name: &'static str,
        rules: &[Rule],
        groups_of: fn(&Rule) -> &Vec<Spanned<GroupIx>>,
    ) -> Result<EndDimension, Error> {
        let demands = Demands::new(rules, self.groups, self.words, groups_of);
        let mut interner = Interner::new(name);
        let mut class_by_groups: HashMap<Vec<u64>, u16> = HashMap::new();
        let mut map = Vec::with_capacity(self.ports);
        let mut key = vec![0; self.words];
        for port in 0..self.ports {
            // Without groups a row is empty, and all ports are of one class.
            let row = &self.rows[port * self.words..][..self.words];
            for ((key, bits), used) in key.iter_mut().zip(row).zip(&demands.used) {
                // Groups that no rule wants at this end would tell ports apart for nothing.
                *key = bits & used;
            }
            // Looked up by groups first: their bits are fewer than those of rules.
            let class = match class_by_groups.get(&key) {
                Some(class) => *class,
                None => {
                    let class = interner.class(&demands.satisfied(&key))?;
                    class_by_groups.insert(key.clone(), class);
                    class
                }
            };
            map.push(class);
        }
        // Used only where the dialect wants ends to be named; in the table in any case.
        let unnamed = interner.class(&demands.indifferent)?;
        Ok(EndDimension {
            named: Dimension {
                map,
                sets: interner.into_sets(),
            },
            unnamed,
        })
    }
}

/// Classes of one end.
pub(super) struct EndDimension {
    /// By port: its class at this end.
    pub(super) named: Dimension<Vec<u16>>,
    /// Of an end that the request does not name.
    pub(super) unnamed: u16,
}

/// Which rules want which groups at one end.
/// Of one end; rules are gone through twice, once for each.
struct Demands {
    /// By group: the rules that want it.
    rules: Vec<Vec<usize>>,
    /// Groups that a rule wants, as bits.
    used: Vec<u64>,
    /// Rules that want none.
    indifferent: RuleSet,
}

impl Demands {
    /// Goes over all rules once. Shape: `words` for as many bits as there are groups.
    fn new(
        rules: &[Rule],
        groups: usize,
        words: usize,
        groups_of: fn(&Rule) -> &Vec<Spanned<GroupIx>>,
    ) -> Self {
        let mut demands = Self {
            rules: vec![Vec::new(); groups],
            used: vec![0; words],
            indifferent: empty_set(rules.len()),
        };
        for (at, rule) in rules.iter().enumerate() {
            let wanted = groups_of(rule);
            // No group named: any port will do.
            if wanted.is_empty() {
                insert(&mut demands.indifferent, at);
            }
            for group in wanted {
                let group = crate::model::index(group.0);
                demands.rules[group].push(at);
                insert(&mut demands.used, group);
            }
        }
        demands
    }

    /// The rules that hold for a port in these groups.
    /// Cost: the rules that want any of the groups.
    fn satisfied(&self, groups: &[u64]) -> RuleSet {
        let mut set = self.indifferent.clone();
        for (word, bits) in groups.iter().enumerate() {
            let mut bits = *bits;
            while bits != 0 {
                let group = word * 64 + bits.trailing_zeros() as usize;
                for rule in &self.rules[group] {
                    insert(&mut set, *rule);
                }
                bits &= bits - 1;
            }
        }
        set
    }
}
