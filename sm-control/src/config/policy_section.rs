//! `[policy]` of `sapphired`'s configuration: the QoS policy file, and how it is read.
//!
//! Where a dialect leaves something open, its own way is the default and a key here overrides it;
//! what each means is in `docs/policy.md`.
//!
//! ```toml
//! [policy]
//! file = "qos-policy.conf"       # without it partitions alone decide SLs
//! dialect = "opensm"             # found out
//! watch = true                   # false
//! scope_precedence = "first"     # the dialect's
//! ```
//!
//! Behind each `#` what holds without the key.
//!
//! What may not be decided here: whether the policy is right. It is read when the fabric is there
//! that its groups need.

use core::fmt;
use core::str::FromStr;
use std::path::PathBuf;

use policy::{Dialect, Echo, ParseOptions, ScopePrecedence, ServiceIdEncoding};
use sa_compiler::pipeline::OnPolicyError;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// `[policy]`: the file, how it is read, and what happens when it cannot be.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicySection {
    /// Policy file; without one, partitions alone decide SLs.
    pub file: Option<PathBuf>,
    /// text, xml or opensm; by default detected.
    #[serde(default, deserialize_with = "word")]
    pub dialect: Option<Dialect>,
    /// What a broken policy file means.
    /// The default keeps what is in service.
    #[serde(default)]
    pub on_error: OnPolicyError,
    /// Look every second whether the policy file changed, and reload when it did.
    #[serde(default)]
    pub watch: bool,
    /// Answer with the SL2VL tables of the policy's `qos-setup`; true where something programs
    /// them, which OpenSM does not.
    #[serde(default)]
    pub apply_setup: bool,
    /// These four in place of the dialect's own way, see [`policy::Semantics`]: true or false.
    pub endpoint_mask_required: Option<bool>,
    /// first or last.
    #[serde(default, deserialize_with = "word")]
    pub scope_precedence: Option<ScopePrecedence>,
    /// standard, legacy-a or legacy-b.
    #[serde(default, deserialize_with = "word")]
    pub service_id_encoding: Option<ServiceIdEncoding>,
    /// none, qos-class or tclass.
    #[serde(default, deserialize_with = "word")]
    pub echo: Option<Echo>,
    /// RFC dialects: a name that no group has means the members of the partition of that name.
    #[serde(default)]
    pub partitions_as_groups: bool,
    /// Names that services may be called by, besides the built-in ones.
    /// For `sapphire explain` and for rules that name them.
    pub ulp_names: Option<PathBuf>,
}

impl PolicySection {
    /// How the file is read.
    ///
    /// None for what the file's dialect decides.
    pub fn reading(&self) -> ParseOptions {
        ParseOptions {
            endpoint_mask_required: self.endpoint_mask_required,
            scope_precedence: self.scope_precedence,
            service_id_encoding: self.service_id_encoding,
            echo: self.echo,
            partitions_as_groups: self.partitions_as_groups,
            ..ParseOptions::default()
        }
    }
}

/// One of the words that the policy crate knows.
///
/// Errors: the word's own, which lists the words that there are.
fn word<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
where
    T: FromStr<Err: fmt::Display>,
    D: Deserializer<'de>,
{
    let word = String::deserialize(from)?;
    word.parse().map(Some).map_err(D::Error::custom)
}
