//! `[sa]` and `[overload]` of `sapphired`'s configuration: what this SA does, for whom, and what it gives
//! up first when more is asked than can be answered.
//!
//! A request that has waited for too long gets no answer, as its sender has asked again by then. Limits
//! of one LID hold only while others wait: an idle SA gives all it has to whoever asks.
//!
//! ```toml
//! [sa]
//! role = "reader"                # "test", "shadow"
//! access = "opensm"              # "strict"
//!
//! [overload]                     # all with their defaults; 0 switches a limit off
//! oldest_ms = 134
//! oldest_table_ms = 1000
//! gets_per_lid = 20000
//! tables_per_lid = 1000
//! slow_ms_per_lid = 250
//! busy_reply = false
//! ```

use std::num::NonZeroU32;
use std::time::Duration;

use sa_answer::access::Access;
use sa_fastpath::overload::{Limits, Share};
use serde::Deserialize;

use super::operating;

/// `[sa]`: what this SA is in its subnet.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SaSection {
    /// Whose the state is that clients set.
    #[serde(default)]
    pub role: Role,
    /// Who may ask for what.
    #[serde(default)]
    pub access: AccessRule,
    /// In the role of a shadow: questions to the SA that answers.
    #[serde(default = "operating::shadow_pairs")]
    pub shadow_pairs_per_minute: NonZeroU32,
}

impl Default for SaSection {
    fn default() -> Self {
        Self {
            role: Role::default(),
            access: AccessRule::default(),
            shadow_pairs_per_minute: operating::shadow_pairs(),
        }
    }
}

/// Who may ask for what. The default is what clients know from OpenSM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AccessRule {
    /// Everybody for everything, as at OpenSM.
    #[default]
    OpenSm,
    /// Without the key, clients for themselves; see [`Access::Strict`].
    Strict,
}

impl From<AccessRule> for Access {
    fn from(rule: AccessRule) -> Self {
        match rule {
            AccessRule::OpenSm => Self::OpenSm,
            AccessRule::Strict => Self::Strict,
        }
    }
}

/// Whose the state is that clients set: memberships of multicast groups, services, subscriptions,
/// alias GUIDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Another SM's. Requests for it are refused.
    #[default]
    Reader,
    /// This SA's, for tests of clients: joins are granted, though nothing programs multicast
    /// forwarding tables.
    Test,
    /// As a reader, but it answers nobody: it asks the SA that does, through the first `[[port]]`,
    /// and compares.
    Shadow,
}

/// `[overload]`: what is given up first. Every limit can be switched off by 0.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OverloadSection {
    /// A request that has waited for longer gets no answer; 0: any does. Units: ms. 134, the
    /// default, is 4.096 us x 2^15.
    pub oldest_ms: u32,
    /// The same for what the slow lane answers.
    pub oldest_table_ms: u32,
    /// What one LID may ask by Get while others wait; 0: anything. Units: requests per second,
    /// and as many at once.
    pub gets_per_lid: u32,
    /// What it may ask by other methods.
    pub tables_per_lid: u32,
    /// Time of the slow lane that one LID may take while others wait; 0: any. Units: ms per
    /// second.
    pub slow_ms_per_lid: u32,
    /// Requests given up get status "busy", not silence.
    pub busy_reply: bool,
}

impl Default for OverloadSection {
    fn default() -> Self {
        Self {
            oldest_ms: 134,
            oldest_table_ms: 1000,
            gets_per_lid: 20_000,
            tables_per_lid: 1000,
            slow_ms_per_lid: 250,
            busy_reply: false,
        }
    }
}

impl OverloadSection {
    /// Those of workers.
    pub fn limits(&self) -> Limits {
        let share = |number: u32| {
            (number != 0).then_some(Share {
                per_second: number,
                burst: number,
            })
        };
        Limits {
            oldest: milliseconds(self.oldest_ms),
            gets: share(self.gets_per_lid),
            others: share(self.tables_per_lid),
            busy_reply: self.busy_reply,
        }
    }

    /// Time of the slow lane per second that one LID may take; none: any.
    pub fn slow_time(&self) -> Option<Duration> {
        milliseconds(self.slow_ms_per_lid)
    }

    /// How long a request may wait for the slow lane; none: any time.
    pub fn oldest_table(&self) -> Option<Duration> {
        milliseconds(self.oldest_table_ms)
    }
}

/// 0 is "no limit" in the file, and none here.
fn milliseconds(number: u32) -> Option<Duration> {
    (number != 0).then(|| Duration::from_millis(number.into()))
}
