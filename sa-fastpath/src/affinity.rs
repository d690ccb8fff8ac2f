//! Which core a thread runs on.

/// Cores that this process may use, by the operating system's numbers.
pub fn cores() -> Vec<usize> {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    cores.into_iter().map(|core| core.id).collect()
}

/// Keeps the calling thread on one core. False when the core does not exist or is not ours.
pub fn pin(core: usize) -> bool {
    core_affinity::set_for_current(core_affinity::CoreId { id: core })
}
