//! What makes two questions one, for the cache of [`super::proxy`].
//!
//! The key has every component that a policy or an SA can decide by. ibacm keeps paths by
//! destination alone, which gives a connection the SL of whichever service asked first.
//!
//! Service ids are folded first. A policy that names the ids 10 to 19 and 15 to 30 tells these
//! apart:
//!
//! ```text
//!  ids      0..9   10..14   15..19   20..30   31..
//!  class      0       1        2        3       4
//! ```
//!
//! So a job that connects by a thousand random ids above 30 asks the SA once for each destination.

use sa_wire::Gid;
use sa_wire::netlink_ls::{PathUse, Resolve};

/// Questions with one key have one answer, as long as the state of the ports is the same. The path
/// use is reduced to the one fact that reaches the SA: whether the path must be reversible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// Which of this host's ports: its place in the list of the last look. The cache is emptied
    /// when that list changes, so a place is as good as a name.
    pub port: usize,
    sgid: Option<Gid>,
    dgid: Option<Gid>,
    pkey: Option<u16>,
    /// The class of the service id and not the id, where a policy is known.
    service: Option<u64>,
    qos_class: Option<u16>,
    tclass: Option<u8>,
    /// False for UNIDIRECTIONAL alone.
    is_reversible: bool,
}

impl Key {
    /// Of a question about the port with this index.
    pub fn of(port: usize, question: &Resolve<'_>, services: &Services) -> Self {
        Self {
            port,
            sgid: question.sgid,
            dgid: question.dgid,
            pkey: question.pkey,
            service: question.service_id.map(|id| services.class(id.0)),
            qos_class: question.qos_class,
            tclass: question.tclass,
            is_reversible: question.path_use != PathUse::Unidirectional,
        }
    }
}

/// Which service ids the policy tells apart. Made once, from `[policy] file`; it must be the SA's
/// own policy, or services share an answer that the SA would not give to both.
#[derive(Debug, Clone, Default)]
pub enum Services {
    /// Not known: each is one of its own.
    #[default]
    Each,
    /// First ids of the ranges within which no rule makes a difference, ascending, without repeats.
    /// The range before the first of them has no entry.
    Ranges(Vec<u64>),
}

impl Services {
    /// From the ranges that a policy's rules name, each with its first and last id, both included.
    /// They may overlap and come in any order.
    pub fn of(named: impl Iterator<Item = (u64, u64)>) -> Self {
        let mut firsts: Vec<u64> = named
            // A difference can begin at the first id of a range, or behind its last. Behind the
            // largest id there is nothing.
            .flat_map(|(first, last)| [Some(first), last.checked_add(1)])
            .flatten()
            .collect();
        firsts.sort_unstable();
        firsts.dedup();
        Self::Ranges(firsts)
    }

    /// A number that ids have in common which no rule tells apart. O(log n) in the number of
    /// ranges.
    fn class(&self, id: u64) -> u64 {
        match self {
            Self::Each => id,
            Self::Ranges(firsts) => {
                let before = firsts.partition_point(|first| *first <= id);
                before.try_into().unwrap_or(u64::MAX)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_folds_the_ids_that_it_does_not_tell_apart() {
        let services = Services::of([(10, 19), (15, 30), (u64::MAX, u64::MAX)].into_iter());
        let class = |id| services.class(id);
        assert_eq!(class(0), class(9));
        assert_ne!(class(9), class(10));
        assert_eq!(class(10), class(14));
        assert_ne!(class(14), class(15));
        assert_ne!(class(19), class(20));
        assert_eq!(class(20), class(30));
        assert_ne!(class(30), class(31));
        assert_eq!(class(31), class(u64::MAX - 1));
        assert_ne!(class(31), class(u64::MAX));
        assert_ne!(Services::Each.class(1), Services::Each.class(2));
    }
}
