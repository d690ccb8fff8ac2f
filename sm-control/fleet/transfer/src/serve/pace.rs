//! How fast the bytes of a blob are taken on one connection.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// Of one connection, which has one transfer at a time.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// None while nothing is on its way.
    transfer: Mutex<Option<Transfer>>,
    begun: Notify,
}

#[derive(Debug, Clone, Copy)]
struct Transfer {
    begun: Instant,
    bytes: u64,
}

impl Pace {
    /// A transfer begins.
    pub(super) fn begin(&self) {
        self.set(Some(Transfer {
            begun: Instant::now(),
            bytes: 0,
        }));
        self.begun.notify_one();
    }

    /// So many bytes of it were taken.
    pub(super) fn took(&self, bytes: u64) {
        let mut transfer = self.transfer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(transfer) = transfer.as_mut() {
            transfer.bytes += bytes;
        }
    }

    /// It is over.
    pub(super) fn end(&self) {
        self.set(None);
    }

    /// Ready once a transfer has been slower, on the whole, than `least_rate` bytes a second for `grace` or longer.
    ///
    /// Costs nothing while there is none: connections that wait for news are many.
    pub(super) async fn is_too_slow(&self, least_rate: u64, grace: Duration) {
        loop {
            let Some(transfer) = self.get() else {
                self.begun.notified().await;
                continue;
            };
            let time = transfer.begun.elapsed();
            let least = u128::from(least_rate) * time.as_millis() / 1000;
            if time >= grace && u128::from(transfer.bytes) < least {
                return;
            }
            tokio::time::sleep(grace / 5).await;
        }
    }

    fn get(&self) -> Option<Transfer> {
        *self.transfer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, transfer: Option<Transfer>) {
        *self.transfer.lock().unwrap_or_else(PoisonError::into_inner) = transfer;
    }
}
