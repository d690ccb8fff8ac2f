//! Who may load the machine: programs run their tests two and more at a time.

use std::sync::{Mutex, MutexGuard, PoisonError};

static HEAVY: Mutex<()> = Mutex::new(());

/// Waits until no other heavy test of this program runs. For those that keep cores busy or measure
/// time; light ones may still run beside. Hold it to the end of the test.
pub fn heavy() -> MutexGuard<'static, ()> {
    // A test that failed has left nothing half done here.
    HEAVY.lock().unwrap_or_else(PoisonError::into_inner)
}
