//! `[sa]` and `[overload]` of `sapphired`'s configuration: what this SA does, for whom, and what it
//! gives up first when more is asked than can be answered.
//!
//! A request that has waited for too long gets no answer, as its sender has asked again by then.
//! Limits of one LID hold only while others wait: an idle SA gives all it has to whoever asks.
//!
//! ```toml
//! [sa]
//! role = "reader"                # "test", "shadow"; "full" with [fabric] source = "sweep"
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
use thiserror::Error;

use super::{Config, Source, operating};

/// `[sa]`: what this SA is in its subnet.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SaSection {
    /// Whose the state is that clients set; absent: what follows from the source
    /// ([`Config::role`]).
    pub role: Option<Role>,
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
            role: None,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Another SM's. Requests for it are refused.
    Reader,
    /// This SA's, which is that of the Subnet Manager of this process: switches are programmed for
    /// groups that are joined.
    Full,
    /// This SA's, for tests of clients: joins are granted, though nothing programs multicast
    /// forwarding tables.
    Test,
    /// As a reader, but it answers nobody: it asks the SA that does, through the first `[[port]]`,
    /// and compares.
    Shadow,
}

/// Who keeps what clients set, and who programs switches for groups:
///
/// | role | keeps | programs | source |
/// |---|---|---|---|
/// | reader | another SM | that SM | any but sweep |
/// | full | this SA | the Subnet Manager of this process | sweep |
/// | test | this SA | nobody | any but sweep |
/// | shadow | another SM | that SM | any but sweep |
impl Role {
    /// True where this SA keeps what clients set.
    pub const fn keeps(self) -> bool {
        matches!(self, Self::Full | Self::Test)
    }
}

impl Config {
    /// What this SA is in its subnet: where this process is the Subnet Manager there is nobody else
    /// to keep what clients set, and elsewhere another SM does.
    pub fn role(&self) -> Role {
        let by_source = match self.fabric.source {
            Source::Sweep => Role::Full,
            _ => Role::Reader,
        };
        self.sa.role.unwrap_or(by_source)
    }

    /// One keeper of what clients set for each subnet. Errors: [`RoleContradiction`].
    pub(super) fn can_keep(&self) -> Result<(), RoleContradiction> {
        let is_manager = self.fabric.source == Source::Sweep;
        match (self.role(), is_manager) {
            (Role::Full, true) => Ok(()),
            (Role::Full, false) => Err(RoleContradiction::NoManager),
            // A shadow too: the SA that it would ask is this one.
            (_, true) => Err(RoleContradiction::Manager),
            (_, false) => Ok(()),
        }
    }
}

/// A role that would leave what clients set to nobody, or to two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RoleContradiction {
    /// Another SM programs the switches.
    #[error(
        "role = \"full\" is that of the Subnet Manager's own SA, which takes [fabric] source = \"sweep\": remove the key"
    )]
    NoManager,
    /// There is no other SM that could keep it.
    #[error(
        "with [fabric] source = \"sweep\" this process is the Subnet Manager, and what clients set is its own: remove the \
         key, or write role = \"full\""
    )]
    Manager,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn config(source: &str, role: &str) -> Result<Role, String> {
        let path = if source == "files" {
            "path = \"net\"\n"
        } else {
            ""
        };
        let port = "[[port]]\ntransport = \"ibsim\"\nnode = \"H1\"\n";
        let text = format!("[fabric]\nsource = \"{source}\"\n{path}{port}{role}");
        let config = Config::parse(&text).map_err(|problem| problem.to_string())?;
        Ok(config.role())
    }

    #[test]
    fn the_role_follows_from_the_source() {
        let of = |role: &str| format!("[sa]\nrole = \"{role}\"\n");
        assert_eq!(config("sweep", ""), Ok(Role::Full));
        assert_eq!(config("sweep", &of("full")), Ok(Role::Full));
        assert_eq!(config("files", ""), Ok(Role::Reader));
        assert_eq!(config("files", &of("test")), Ok(Role::Test));
        for role in ["reader", "test", "shadow"] {
            let why = config("sweep", &of(role)).unwrap_err();
            assert!(why.contains("this process is the Subnet Manager"), "{why}");
        }
        let why = config("files", &of("full")).unwrap_err();
        assert!(why.contains("source = \"sweep\""), "{why}");
        assert!(Role::Full.keeps() && Role::Test.keeps() && !Role::Reader.keeps());
    }
}
