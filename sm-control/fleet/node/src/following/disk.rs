//! The record of what was seen, written by a thread of its own: a disk that hangs must not keep
//! news from being heard.

use std::io;
use std::thread;

use crossbeam_channel::{Sender, bounded};
use sa_fleet::highest::RECORD_SIZE;

use super::Input;
use crate::seen::Seen;

/// The thread; it ends with this, or when its disk lets it.
pub(super) struct Disk {
    orders: Sender<(u64, [u8; RECORD_SIZE])>,
}

impl Disk {
    /// Errors: no thread.
    pub(super) fn start<L: Send + 'static>(
        seen: Seen,
        told: &Sender<Input<L>>,
    ) -> io::Result<Self> {
        // The machine gives one order at a time.
        let (orders, ordered) = bounded(1);
        let told = told.clone();
        let thread = thread::Builder::new().name("sa-fleet-disk".into());
        thread.spawn(move || {
            for (order, record) in ordered {
                let stored = seen.store(&record).map_err(|why| why.to_string());
                if told.send(Input::Stored(order, stored)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { orders })
    }

    /// Some: it cannot be taken, and why.
    pub(super) fn store(&self, order: u64, record: [u8; RECORD_SIZE]) -> Option<String> {
        let sent = self.orders.try_send((order, record));
        sent.err()
            .map(|_| "the disk is still at the record before".to_owned())
    }
}
