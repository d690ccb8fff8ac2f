//! Files that are announced here and are on their way still: news go out before a relay has what
//! they are about.
//!
//! Who asks for such a file waits for it. Told that it is not there, thousands would fetch the
//! whole in place of a patch of some hundred bytes, or come again a while later.

use std::time::Duration;

use sa_fleet::identity::Digest;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::shelf::Item;

/// Less than who asks waits for the head of an answer. Units: see [`Duration`].
const LONGEST: Duration = Duration::from_secs(2);

/// Of one blob at a time, the one that was announced last.
#[derive(Debug, Default)]
pub(super) struct Coming(watch::Sender<Expected>);

#[derive(Debug, Clone, Copy, Default)]
struct Expected {
    blob: Option<Digest>,
    /// Files of it that came so far, and of those before.
    came: u64,
}

/// What one request waits with.
#[derive(Debug)]
pub(super) struct Wait {
    seen: watch::Receiver<Expected>,
    until: Instant,
}

impl Coming {
    pub(super) fn expects(&self, blob: Option<Digest>) {
        self.0.send_if_modified(|it| {
            let is_other = it.blob != blob;
            it.blob = blob;
            is_other
        });
    }

    pub(super) fn has_more(&self) {
        self.0.send_modify(|it| it.came += 1);
    }

    pub(super) fn wait(&self) -> Wait {
        Wait {
            seen: self.0.subscribe(),
            until: Instant::now() + LONGEST,
        }
    }
}

impl Wait {
    /// Whether it is on its way; asked before the look whether it is there, so that nothing that
    /// comes in between is missed by [`Self::for_more`].
    pub(super) fn is_expected(&mut self, item: Item) -> bool {
        self.seen.borrow_and_update().blob == Some(item.makes())
    }

    /// Ready when something came or nothing is expected any more. False: that took too long.
    pub(super) async fn for_more(&mut self) -> bool {
        let changed = tokio::time::timeout_at(self.until, self.seen.changed());
        changed.await.is_ok_and(|changed| changed.is_ok())
    }
}
