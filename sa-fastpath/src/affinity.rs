//! Which core a thread runs on.
//!
//! The daemon pins a worker to a core of its choice ([`crate::topology`] says which lie near a
//! port); tests and the load generator do the same. A pinned thread stays pinned: there is no way
//! back, so whoever only wants to try uses a thread of its own, as the test below does.

/// Cores that this process may use, by the operating system's numbers.
/// An empty list where the system does not say: then no core can be pinned, and nothing else fails.
pub fn cores() -> Vec<usize> {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    cores.into_iter().map(|core| core.id).collect()
}

/// Keeps the calling thread on one core. False when the core does not exist or is not ours.
pub fn pin(core: usize) -> bool {
    // The library panics at numbers that no set of cores can hold.
    cores().contains(&core) && core_affinity::set_for_current(core_affinity::CoreId { id: core })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_that_cannot_be_is_refused() {
        for core in [1023, 1024, 4095, usize::MAX] {
            assert!(cores().contains(&core) || !pin(core));
        }
        let first = cores().first().copied().unwrap();
        // On a thread of its own: from then on it has no other core.
        let pinned = std::thread::spawn(move || (pin(first), cores()));
        assert_eq!(pinned.join().unwrap(), (true, vec![first]));
    }
}
