//! `[health]` of `sapphired`'s configuration: how ports are asked for what they count, by the
//! Subnet Manager.
//!
//! ```toml
//! [health]
//! period_s = 60                  # each port once in this time; 0: no port is asked
//! requests_per_second = 1000     # at most; what needs more takes longer
//! clear = "never"                # "full": counters of errors that count no more are cleared
//! ```
//!
//! It counts where this process is the Subnet Manager (`source = "sweep"`), as `[sm]` does;
//! elsewhere nobody is asked.
//!
//! | to have | set |
//! |---|---|
//! | a subnet of tens of thousands of hosts read each minute | `requests_per_second = 10000` |
//! | links judged by how they run alone | `period_s = 0` |
//! | narrow counters that go on counting, where no other tool clears them | `clear = "full"` |

use serde::Deserialize;

/// `[health]`
///
/// A key that is not known is refused, as everywhere: a misspelt one would be without effect.
// `default`: a section that sets one key keeps the defaults of the others.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HealthSection {
    /// Each port is read once in this time; 0: never. Units: seconds.
    pub period_s: u32,
    /// Requests a second at most.
    pub requests_per_second: u32,
    /// When counters of ports are written.
    pub clear: ClearRule,
}

/// When counters are cleared.
///
/// A Set of PortCounters is seen by every tool that reads the port, so it is the operator's to
/// allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClearRule {
    /// Never: other tools read them too.
    #[default]
    Never,
    /// When they are at their largest value, and would count no more.
    Full,
}

impl Default for HealthSection {
    fn default() -> Self {
        Self {
            period_s: 60,
            requests_per_second: 1000,
            clear: ClearRule::Never,
        }
    }
}
