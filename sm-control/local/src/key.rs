//! What makes two questions one.

use sa_wire::Gid;
use sa_wire::netlink_ls::{PathUse, Resolve};

/// Questions with one key have one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// Which of this host's ports.
    pub port: usize,
    sgid: Option<Gid>,
    dgid: Option<Gid>,
    pkey: Option<u16>,
    service: Option<u64>,
    qos_class: Option<u16>,
    tclass: Option<u8>,
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

/// Which service ids the policy tells apart.
#[derive(Debug, Clone, Default)]
pub enum Services {
    /// Not known: each is one of its own.
    #[default]
    Each,
    /// First ids of the ranges within which no rule makes a difference, ascending.
    Ranges(Vec<u64>),
}

impl Services {
    /// From the ranges that a policy's rules name, each with its first and last id.
    pub fn of(named: impl Iterator<Item = (u64, u64)>) -> Self {
        let mut firsts: Vec<u64> = named
            .flat_map(|(first, last)| [Some(first), last.checked_add(1)])
            .flatten()
            .collect();
        firsts.sort_unstable();
        firsts.dedup();
        Self::Ranges(firsts)
    }

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
