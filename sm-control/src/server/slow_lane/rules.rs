//! Who is answered by the slow lane, and when no more: `[sa]` and `[overload]` of the
//! configuration, in the lane's units.

use std::time::Duration;

use sa_answer::access::Access;

use crate::config::Config;

/// What the lane goes by.
#[derive(Debug, Clone, Copy)]
pub(in crate::server) struct Rules {
    /// Who may ask for what, for requests that came in segments and that no worker has judged.
    pub(super) access: Access,
    /// A request that has waited for longer is given up.
    pub(super) oldest: Option<Duration>,
    /// Time per second that one LID may take while others wait.
    pub(super) each: Option<Duration>,
    /// Who is given up is told "busy" instead of nothing. Off by default: many clients take an
    /// error for final.
    pub(super) busy_reply: bool,
}

impl From<&Config> for Rules {
    fn from(config: &Config) -> Self {
        Self {
            access: config.sa.access.into(),
            oldest: config.overload.oldest_table(),
            each: config.overload.slow_time(),
            busy_reply: config.overload.busy_reply,
        }
    }
}
