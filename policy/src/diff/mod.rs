//! What another policy would change in one fabric: levels, members of groups, and which pairs of
//! ports get another level for which requests.
//!
//! The comparison is exact and needs no requests to be tried one by one: ports that no rule of either policy
//! tells apart are one kind, and so are numbers of a field (`kinds`). All combinations of kinds are gone
//! through (`answers`) as long as there are not too many; beyond that those that say most are, and the counts
//! are lower bounds.
//!
//! Levels are compared by what they give, in words ([`offer`]): a level that is renamed and gives the same is
//! no change of answers. Set-up of the fabric is not compared here.
//!
//! ```text
//! old: storage by GUID 0x1-0x8          new: 0x1-0x9
//! group storage: gains port 9           answers: 30 pairs from `default` to `bulk`, for requests
//!                                       with service id 0x1061144, such as h9 -> h1
//! ```
//!
//! Three views of one change, since none says it all: levels (what is given), groups (who is
//! meant), answers (who gets what in the end).

mod answers;
mod kinds;
mod levels;

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Error;
use crate::facts::PortFacts;
use crate::matching::groups::GroupResolver;
use crate::model::{Origin, Policy};
use crate::partitions::Partitions;

pub use answers::{Answers, Example, Transition, answers};
pub use levels::{LevelChange, level_changes, offer, offer_with};

/// How the members of a group change.
/// For written groups; those made of shorthand show in answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupChange {
    /// Its name in small letters, as names are compared.
    pub name: String,
    /// What happens to the group itself.
    pub fate: Fate,
    /// Ports that come in. Shape: indices, ascending.
    pub gained: Vec<usize>,
    /// Ports that go out. Shape: indices, ascending.
    pub lost: Vec<usize>,
}

/// What happens to something with a name.
/// Of a renamed thing there are two: one removed, one added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// Only the new policy has it.
    Added,
    /// Only the old policy has it.
    Removed,
    /// Both have it, and it differs.
    Changed,
}

impl Fate {
    /// The word of reports and of JSON documents.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }

    /// Of something that one or both of the policies have.
    pub(crate) const fn of(is_old: bool, is_new: bool) -> Self {
        match (is_old, is_new) {
            (false, true) => Self::Added,
            (true, false) => Self::Removed,
            _ => Self::Changed,
        }
    }
}

/// Groups that come, go or have other members. Shape: by name; written groups only, of equal names
/// the first.
///
/// Errors: those of [`GroupResolver::members`].
/// Both policies are resolved in the same fabric, so changes of ports are none of these.
pub fn group_changes(
    old: &Policy,
    new: &Policy,
    ports: &[PortFacts],
    partitions: &Partitions,
) -> Result<Vec<GroupChange>, Error> {
    // One for both policies: names and GUIDs are indexed once.
    let resolver = GroupResolver::new(ports, partitions);
    let (before, after) = (members(old, &resolver)?, members(new, &resolver)?);
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    // Stands in where one of the two has no such group.
    let nobody = BTreeSet::new();
    let changes = names.into_iter().filter_map(|name| {
        let (had, has) = (before.get(name), after.get(name));
        let (was, is) = (had.unwrap_or(&nobody), has.unwrap_or(&nobody));
        let change = GroupChange {
            name: name.clone(),
            fate: Fate::of(had.is_some(), has.is_some()),
            gained: is.difference(was).copied().collect(),
            lost: was.difference(is).copied().collect(),
        };
        // A group that comes or goes is told even when it is empty.
        (change.fate != Fate::Changed || was != is).then_some(change)
    });
    Ok(changes.collect())
}

/// By name in small letters, as names are compared.
fn members(
    policy: &Policy,
    resolver: &GroupResolver<'_>,
) -> Result<BTreeMap<String, BTreeSet<usize>>, Error> {
    let mut members = BTreeMap::new();
    for group in &policy.groups {
        if group.origin == Origin::Written {
            let found = resolver.members(group)?.into_iter().collect();
            members
                .entry(group.name.to_ascii_lowercase())
                .or_insert(found);
        }
    }
    Ok(members)
}
