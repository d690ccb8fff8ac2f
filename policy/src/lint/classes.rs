//! Kinds of ports that rules can tell apart.
//!
//! A policy sees a port only through the groups that it is in. Ports in the same groups are one class, so
//! that checks go over classes instead of over tens of thousands of ports; without a fabric the classes are
//! what can occur in any.
//!
//! ```text
//! groups          rack1 {1,2}   storage {2,3}
//! this fabric     class 0: {rack1}  port 1     class 1: {rack1, storage}  port 2
//!                 class 2: {storage}  port 3   class 3: {}  ports 4 to 900
//! any fabric      {}, {rack1}, {storage}: more groups for a port only make more rules hold
//! ```

use std::collections::{BTreeSet, HashMap};

use sa_text::Spanned;

use crate::lint::bits::Bits;
use crate::model::{GroupIx, Policy, Rule, index};

/// Ports by the groups that they are in.
/// Numbered in the order in which ports turn up, so that findings repeat.
#[derive(Debug)]
pub struct PortClasses {
    /// By port; empty without a fabric.
    of_port: Vec<u32>,
    /// By class: groups, ascending.
    groups: Vec<Vec<u32>>,
    /// By class: ports, ascending. Empty for a class that stands for no port.
    /// Findings count pairs by them and name one as an example.
    ports: Vec<Vec<usize>>,
    /// By group: classes in it.
    of_group: Vec<Vec<usize>>,
    /// The class in no group, where there is one.
    /// Its rules are within those of every other class, which makes searches short.
    in_none: Option<usize>,
}

impl PortClasses {
    /// What there can be in any fabric. A port in more groups fits no fewer rules, so that one in
    /// each group alone and one in none stand for all.
    pub(super) fn any_fabric(policy: &Policy) -> Self {
        let ends = policy
            .rules
            .iter()
            .flat_map(|rule| [&rule.source, &rule.destination]);
        // Groups that no rule wants tell nothing apart.
        let used: BTreeSet<u32> = ends.flatten().map(|group| group.value.0).collect();
        let mut classes = Self::empty(policy);
        classes.push(Vec::new());
        for group in used {
            // No port can ever be in a group without selectors.
            if !policy.group(GroupIx(group)).selectors.is_empty() {
                classes.push(vec![group]);
            }
        }
        classes
    }

    /// What there is in one fabric. Shape: `members` by group, ports ascending.
    pub(super) fn of_fabric(policy: &Policy, ports: usize, members: &[Vec<usize>]) -> Self {
        let mut rows = vec![Vec::new(); ports];
        for (group, members) in (0..).zip(members) {
            members.iter().for_each(|port| rows[*port].push(group));
        }
        // By the list of groups, which is ascending as groups are gone through in order.
        let mut numbers: HashMap<Vec<u32>, usize> = HashMap::new();
        let mut classes = Self::empty(policy);
        for (port, row) in rows.into_iter().enumerate() {
            let next = classes.groups.len();
            // All groups count here, used or not: overlaps are told of groups.
            let class = *numbers.entry(row.clone()).or_insert(next);
            if class == next {
                classes.push(row);
            }
            classes.ports[class].push(port);
            classes
                .of_port
                .push(u32::try_from(class).unwrap_or(u32::MAX));
        }
        // An end that a request does not name is like a port in no group.
        if policy.semantics.endpoint_mask_required && classes.in_none.is_none() {
            classes.push(Vec::new());
        }
        classes
    }

    /// No classes yet.
    fn empty(policy: &Policy) -> Self {
        Self {
            of_port: Vec::new(),
            groups: Vec::new(),
            ports: Vec::new(),
            of_group: vec![Vec::new(); policy.groups.len()],
            in_none: None,
        }
    }

    /// Adds the class of ports in these groups. Shape: `groups` ascending.
    fn push(&mut self, groups: Vec<u32>) {
        let class = self.groups.len();
        if groups.is_empty() {
            self.in_none = Some(class);
        }
        for group in &groups {
            self.of_group[index(*group)].push(class);
        }
        self.groups.push(groups);
        self.ports.push(Vec::new());
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.groups.len()
    }

    /// The class of a port of the fabric.
    pub fn of_port(&self, port: usize) -> usize {
        index(self.of_port[port])
    }

    /// Ports of a class, ascending.
    pub fn ports(&self, class: usize) -> &[usize] {
        &self.ports[class]
    }

    /// Groups that the ports of the class are in, ascending.
    pub(super) fn groups(&self, class: usize) -> &[u32] {
        &self.groups[class]
    }

    /// True when a rule that wants one of these groups at an end, or no group, holds for the class.
    /// Cost: O(groups wanted x log groups held).
    pub fn fits(&self, class: usize, groups: &[Spanned<GroupIx>]) -> bool {
        let held = &self.groups[class];
        let is_in = |group: &Spanned<GroupIx>| held.binary_search(&group.value.0).is_ok();
        groups.is_empty() || groups.iter().any(is_in)
    }

    /// The classes that such a rule holds for.
    fn fitting(&self, groups: &[Spanned<GroupIx>]) -> Bits {
        // No group named means any port.
        if groups.is_empty() {
            return Bits::all(self.count());
        }
        let mut classes = Bits::none(self.count());
        for class in groups
            .iter()
            .flat_map(|group| &self.of_group[index(group.value.0)])
        {
            classes.insert(*class);
        }
        classes
    }
}

/// Which rules hold for which classes at one end.
/// The same relation from both sides.
#[derive(Debug)]
pub(super) struct End {
    /// By rule: the classes of ports for which it holds at this end.
    pub(super) classes: Vec<Bits>,
    /// By class: the rules that hold for its ports at this end.
    pub(super) rules: Vec<Bits>,
}

impl End {
    /// Shape: `groups_of` gives the groups that a rule wants at this end.
    pub(super) fn new(
        policy: &Policy,
        classes: &PortClasses,
        groups_of: fn(&Rule) -> &Vec<Spanned<GroupIx>>,
    ) -> Self {
        let fitting = policy
            .rules
            .iter()
            .map(|rule| classes.fitting(groups_of(rule)));
        let by_rule: Vec<Bits> = fitting.collect();
        let mut rules = vec![Bits::none(by_rule.len()); classes.count()];
        for (rule, classes) in by_rule.iter().enumerate() {
            classes.iter().for_each(|class| rules[class].insert(rule));
        }
        Self {
            classes: by_rule,
            rules,
        }
    }
}

/// Which rules hold for which classes, at both ends of a path.
/// All that the searches know of ports.
#[derive(Debug)]
pub(super) struct Ends {
    /// By the groups that rules want as source.
    pub(super) source: End,
    /// The same classes by the groups wanted as destination.
    pub(super) destination: End,
    /// A class that fits no rule which another one would not fit.
    pub(super) in_none: Option<usize>,
}

impl Ends {
    /// Looks at every rule once for each end.
    pub(super) fn new(policy: &Policy, classes: &PortClasses) -> Self {
        Self {
            source: End::new(policy, classes, |rule| &rule.source),
            destination: End::new(policy, classes, |rule| &rule.destination),
            in_none: classes.in_none,
        }
    }
}
