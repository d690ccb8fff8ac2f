//! Which steps are taken, and several at a time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// So many of each list without a wish.
const FEW: usize = 8;
/// Cases wait more than they work.
const AT_ONCE: usize = 6;

/// Of a list: those that are to be taken, evenly spread with both ends.
pub(crate) fn taken<T: Clone>(all: &[T]) -> Vec<T> {
    let wish = std::env::var("SAPPHIRE_FLEET_STEPS").ok();
    let many = match wish.as_deref() {
        None => FEW,
        Some("all") => all.len(),
        Some(number) => number
            .parse()
            .expect("SAPPHIRE_FLEET_STEPS: all, or a number"),
    };
    let many = many.min(all.len());
    let last = all.len().saturating_sub(1);
    let place = |number: usize| number * last / many.saturating_sub(1).max(1);
    (0..many).map(|number| all[place(number)].clone()).collect()
}

/// Does it with each, several at once. Panics with what the first of them panics with.
pub(crate) fn each<T: Sync, R: Send>(all: &[T], case: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(all.len()) {
            scope.spawn(|| {
                while let Some(it) = all.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let came = case(it);
                    done.lock().unwrap().push(came);
                }
            });
        }
    });
    done.into_inner().unwrap()
}
