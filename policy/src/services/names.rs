//! The table of names.
//!
//! Sixteen names are built in, a site adds a few: looked through from front to back.
//!
//! A table is a value: the built-in one, or that with a site's file. It goes with a policy from the
//! moment it is read, so that explanations use the names that the author used.

use std::sync::Arc;

use sa_text::nearest;

use super::space::PortSpace;

/// A name for service ids.
/// An upper-layer protocol, or a part of one that asks in its own way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ulp {
    /// Its name. Shape: lower case.
    pub name: String,
    /// Other names. Shape: lower case.
    pub aliases: Vec<String>,
    /// What it is, in words.
    pub title: String,
    /// What its requests look like.
    pub meaning: Meaning,
}

/// What tells the requests of a ULP from others.
/// Decides which criteria a rule by name gets, and whether there are any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning {
    /// Any port of a port space.
    Space(PortSpace),
    /// These ids. Shape: inclusive; the first is the one that a request has by default.
    Ids {
        /// First and last of each range.
        ids: Vec<(u64, u64)>,
        /// The port space of its ports, where it has ports.
        space: Option<PortSpace>,
    },
    /// An id for each queue pair: connected-mode IPoIB. No path is asked for with these.
    QueuePairs,
    /// No id, but the P_Key of its partition: IPoIB.
    Partition,
    /// Ids of each target's own choice: SRP.
    Target,
    /// Nothing: it asks for no path, or names nothing when it asks.
    Silent,
}

/// Names for service ids. Cheap to clone; [`Default`] gives the built-in ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UlpNames {
    /// Shared: policies, options and tools each hold a copy.
    entries: Arc<[Ulp]>,
}

impl UlpNames {
    /// Shape: names and aliases differ from each other.
    pub(super) fn new(entries: Vec<Ulp>) -> Self {
        Self {
            entries: entries.into(),
        }
    }

    /// All of them, in the order of the table.
    pub fn entries(&self) -> &[Ulp] {
        &self.entries
    }

    /// The entry of a name or alias; letter case does not matter.
    pub fn find(&self, name: &str) -> Option<&Ulp> {
        self.entries.iter().find(|ulp| ulp.is_called(name))
    }

    /// The name that was likely meant.
    /// None where every name is too far from it.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        let called = self.entries.iter().flat_map(Ulp::all_names);
        // Of a short name two wrong letters leave too little to guess from.
        let forgiven = |name: &str| if name.len() < 5 { 1 } else { 2 };
        nearest(name, called, forgiven)
    }
}

impl Default for UlpNames {
    fn default() -> Self {
        Self::new(super::builtin::entries())
    }
}

impl Ulp {
    /// Letter case does not matter.
    pub fn is_called(&self, name: &str) -> bool {
        self.all_names().any(|own| own.eq_ignore_ascii_case(name))
    }

    /// Name and aliases, the name first.
    pub fn all_names(&self) -> impl Iterator<Item = &str> {
        let aliases = self.aliases.iter().map(String::as_str);
        std::iter::once(self.name.as_str()).chain(aliases)
    }
}
