//! How large input files may be.
//!
//! | kind | default | set by | why so much |
//! |---|---|---|---|
//! | configuration | 4 MiB | | written by hand |
//! | options | 16 MiB | `options_mib` | written by hand or by `opensm -c` |
//! | policy, partitions | 16 MiB | `policy_mib` | the most that its parsers take |
//! | fabric | 512 MiB | `fabric_mib` | `opensm-subnet.lst` has some 700 bytes a cable |
//! | dump | 2 GiB | `dump_mib` | `opensm-lfts.dump` has some 70 bytes for each switch and LID |
//! | snapshot | 4 GiB | `snapshot_mib` | |
//! | recording | 2 GiB | | the tool alone |
//!
//! A limit is on what is decompressed. It is not what keeps memory: a file below it can still take
//! more than is left, which is what a trial is for (ADR 15). It is there against mistakes, such as
//! a log or a disk image in the place of a fabric, and to have bounds that the trial can reckon
//! with.

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, Unexpected};

/// What a file is read for.
///
/// Chosen by the caller, who knows what the file is for; what it contains shows later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `sapphired.toml`.
    Config,
    /// Options of a program: `opensm.conf`, `torus-2QoS.conf`, `prefix-routes.conf`, addresses.
    Options,
    /// QoS policy, names of services, partitions.
    Policy,
    /// A topology, or a list of ports: `net`, `opensm-subnet.lst`, `opensm-sa.dump`.
    Fabric,
    /// Tables of switches and ports.
    Dump,
    /// A snapshot.
    Snapshot,
    /// What the tool alone reads: captures, counters, recordings.
    Recording,
}

/// Units: bytes.
const MIB: u64 = 1 << 20;

/// The largest configuration. Units: bytes.
const CONFIG: u64 = 4 * MIB;
/// The largest recording. Units: bytes.
const RECORDING: u64 = 2048 * MIB;

/// The most that the policy parsers take. Units: MiB.
const MOST_POLICY: u32 = 16;

/// The largest other limit that can be set. Units: MiB.
const MOST: u32 = 1 << 20;

/// `[limits]`: what is larger is refused before it is read. Units: MiB, decompressed. Each from 1
/// on; a 0 would refuse every file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SizeLimits {
    /// Of `opensm.conf`, `torus-2QoS.conf`, `prefix-routes.conf`, the address file.
    #[serde(deserialize_with = "mib")]
    pub options_mib: u32,
    /// Of the QoS policy, the file of names, `partitions.conf`.
    #[serde(deserialize_with = "policy_mib")]
    pub policy_mib: u32,
    /// Of `net`, `opensm-subnet.lst`, `opensm-sa.dump`.
    #[serde(deserialize_with = "mib")]
    pub fabric_mib: u32,
    /// Of each dump of tables.
    #[serde(deserialize_with = "mib")]
    pub dump_mib: u32,
    /// Of a snapshot file.
    #[serde(deserialize_with = "mib")]
    pub snapshot_mib: u32,
}

impl Default for SizeLimits {
    /// Some ten times what 48,000 end ports need.
    fn default() -> Self {
        Self {
            options_mib: 16,
            policy_mib: MOST_POLICY,
            fabric_mib: 512,
            dump_mib: 2048,
            snapshot_mib: 4096,
        }
    }
}

impl SizeLimits {
    /// The largest file of a kind. Units: bytes.
    ///
    /// Never 0.
    pub fn of(&self, kind: Kind) -> u64 {
        let option = match kind {
            Kind::Config => return CONFIG,
            Kind::Recording => return RECORDING,
            Kind::Options => self.options_mib,
            Kind::Policy => self.policy_mib,
            Kind::Fabric => self.fabric_mib,
            Kind::Dump => self.dump_mib,
            Kind::Snapshot => self.snapshot_mib,
        };
        u64::from(option) * MIB
    }
}

impl Kind {
    /// More than what is allowed, and what to do: raise the option, where there is one.
    pub(super) fn limit_in_words(self, limit: u64) -> String {
        let (what, option) = match self {
            Self::Config => ("a configuration", None),
            Self::Recording => ("a recording", None),
            Self::Options => ("a file of options", Some("options_mib")),
            Self::Policy => ("a file of policy or partitions", Some("policy_mib")),
            Self::Fabric => ("a fabric file", Some("fabric_mib")),
            Self::Dump => ("a dump of tables", Some("dump_mib")),
            Self::Snapshot => ("a snapshot", Some("snapshot_mib")),
        };
        let advice = option.map_or_else(String::new, |option| {
            format!("; if it is meant to be so large, raise {option} in [limits] of sapphired.toml")
        });
        // What cannot be raised is not said to be.
        let is_most = self == Self::Policy && limit == u64::from(MOST_POLICY) * MIB;
        let advice = match is_most {
            true => "; say it with fewer words, ranges above all".to_owned(),
            false => advice,
        };
        format!(
            "more than the {} MiB that {what} may have{advice}",
            limit / MIB
        )
    }
}

/// At most what the policy's parsers take: a larger limit would only move the refusal.
fn policy_mib<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    within(MOST_POLICY, &"1 to 16 MiB", from)
}

/// At most a TiB, so that bytes fit 64 bits however they are multiplied.
fn mib<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    within(MOST, &"1 to 1048576 MiB", from)
}

fn within<'de, D: Deserializer<'de>>(
    most: u32,
    expected: &'static &'static str,
    from: D,
) -> Result<u32, D::Error> {
    // Signed, so that a negative number is told as what it is.
    let number = i64::deserialize(from)?;
    let limit = u32::try_from(number).ok();
    let limit = limit.filter(|limit| (1..=most).contains(limit));
    limit.ok_or_else(|| D::Error::invalid_value(Unexpected::Signed(number), expected))
}
