//! The range of every number in a configuration, and the check that holds it against a document: at
//! the value's own line and column, which errors of serde lose in sections that are told apart by a
//! key.
//!
//! ```text
//!  [[port]]
//!  slots = 1           line 2, column 9: invalid value: integer `1`, expected 2 to 65536 slots
//! ```
//!
//! The table is also what the manual's ranges are checked against. A number that is in range may
//! still be refused, where it contradicts another key.
//!
//! A key of the configuration that takes a number gets its line here; a test of the manual finds
//! those that lack one.

use core::ops::RangeInclusive;

use thiserror::Error;
use toml::de::{DeTable, DeValue};

use super::document::{At, Document};

/// A key that takes a number, and which. [`RANGES`] has all of them.
///
/// Wide enough for every number that TOML has: what is outside can still be told as it is written.
#[derive(Debug, Clone)]
pub struct Range {
    /// Of its section, as in `local_service.cache`; that of `[[port]]` is `port`.
    pub section: &'static str,
    /// The key; of a list of numbers it holds for each.
    pub key: &'static str,
    /// What it may be.
    pub numbers: RangeInclusive<i128>,
    /// What follows the numbers in errors: the unit, or the meaning.
    what: &'static str,
    /// It may be a word instead, which somebody else reads.
    or_word: bool,
}

/// A range without words.
const fn range(
    section: &'static str,
    key: &'static str,
    numbers: RangeInclusive<i128>,
    what: &'static str,
) -> Range {
    Range {
        section,
        key,
        numbers,
        what,
        or_word: false,
    }
}

/// A day. Units: ms.
const DAY: i128 = 86_400_000;
const MINUTE: i128 = 60_000;
/// What the field of the key can hold at most.
const U32: i128 = u32::MAX as i128;
/// Up to a terabyte.
const MIB: RangeInclusive<i128> = 1..=1_048_576;
/// LIDs of ports.
const LIDS: RangeInclusive<i128> = 1..=49_151;

/// All of them. What follows OpenSM or the kernel is as there; the rest is what a start can
/// allocate and what a wait can mean. A key that takes a number and is not in here fails a test of
/// the manual.
pub const RANGES: [Range; 87] = [
    range("fabric", "lmc", 0..=7, ", an LMC"),
    range("fabric.sa", "port", 1..=254, ", a port of the device"),
    range("fabric.sa", "sa_lid", LIDS, ", the LID of a port"),
    range("fabric.sa", "timeout_ms", 1..=600_000, " ms"),
    range("fabric.sa", "retries", 0..=100, " tries"),
    range("fabric.sa", "samples", 0..=1_000_000, " paths"),
    range("fabric.sa", "sl_pairs", 0..=100_000_000, " pairs of LIDs"),
    range("fabric.sa", "poll_ms", 0..=DAY, " ms"),
    range("sm", "m_key_protection_level", 0..=3, ""),
    range("sm", "m_key_lease_period", 0..=65_535, " s"),
    range("sm", "lmc", 0..=7, ", an LMC"),
    range("sm", "sm_sl", 0..=15, ", an SL"),
    range("sm", "sm_priority", 0..=15, ""),
    range("sm", "sminfo_polling_timeout", 0..=U32, " ms"),
    range("sm", "polling_retry_number", 0..=U32, " tries"),
    range("sm", "sweep_interval", 0..=U32, " s"),
    range("sm", "audit_interval", 0..=U32, " s"),
    range("sm", "max_wire_smps", 0..=U32, " SMPs"),
    range("sm", "transaction_timeout", 0..=U32, " ms"),
    range("sm", "transaction_retries", 0..=U32, " tries"),
    range("sm", "long_transaction_timeout", 0..=U32, " ms"),
    range("sm", "subnet_timeout", 0..=63, ""),
    range("sm", "packet_life_time", 0..=255, ""),
    range("sm", "head_of_queue_lifetime", 0..=255, ""),
    range("sm", "leaf_head_of_queue_lifetime", 0..=255, ""),
    range("sm", "vl_stall_count", 0..=7, ""),
    range("sm", "leaf_vl_stall_count", 0..=7, ""),
    range("sm", "local_phy_errors_threshold", 0..=15, ""),
    range("sm", "overrun_errors_threshold", 0..=15, ""),
    range("sm", "max_op_vls", 1..=255, ""),
    range("sm", "force_link_width", 0..=255, ""),
    range("sm", "force_link_speed", 0..=15, ""),
    range("sm", "force_link_speed_ext", 0..=31, ""),
    range("sm", "fdr10", 0..=2, ""),
    range("sm", "max_rate_enum", 2..=63, ", the code of a rate"),
    range("sm", "qos_max_vls", 0..=15, " VLs"),
    range("sm", "qos_high_limit", 0..=255, ""),
    range("sm", "qos_ca_max_vls", 0..=15, " VLs"),
    range("sm", "qos_ca_high_limit", 0..=255, ""),
    range("sm", "qos_sw0_max_vls", 0..=15, " VLs"),
    range("sm", "qos_sw0_high_limit", 0..=255, ""),
    range("sm", "qos_swe_max_vls", 0..=15, " VLs"),
    range("sm", "qos_swe_high_limit", 0..=255, ""),
    range("sm", "qos_rtr_max_vls", 0..=15, " VLs"),
    range("sm", "qos_rtr_high_limit", 0..=255, ""),
    range("health", "period_s", 0..=86_400, " s"),
    range("health", "requests_per_second", 1..=1_000_000, " requests"),
    range("port", "port", 1..=254, ", a port of the device"),
    range("port", "slots", 2..=65_536, " slots"),
    range("port", "clients", 1..=1024, " clients"),
    range("port", "clients_per_user", 1..=1024, " clients"),
    range("port", "late_mib", 1..=4096, " MiB"),
    range("port", "lid", LIDS, ", the LID of a port"),
    range("workers", "cores", 0..=8191, ", a core"),
    Range {
        or_word: true,
        ..range(
            "workers",
            "numa",
            0..=1023,
            ", a NUMA node, or \"off\" or \"local\"",
        )
    },
    range("workers", "yield_after", 0..=U32, " turns"),
    range("workers", "sleep_after", 0..=U32, " turns"),
    range("workers", "sample_every", 1..=U32, " batches"),
    range("workers", "punt_queue", 1..=262_144, " requests"),
    range("sa", "shadow_pairs_per_minute", 1..=600_000, " pairs"),
    range("overload", "oldest_ms", 0..=600_000, " ms"),
    range("overload", "oldest_table_ms", 0..=600_000, " ms"),
    range("overload", "gets_per_lid", 0..=U32, " requests"),
    range("overload", "tables_per_lid", 0..=U32, " requests"),
    range("overload", "slow_ms_per_lid", 0..=1000, " ms in a second"),
    range("opensm", "grace_ms", 0..=DAY, " ms"),
    range("opensm", "poll_ms", 0..=DAY, " ms"),
    range("opensm", "settle_ms", 0..=MINUTE, " ms"),
    range("fleet", "ttl_s", 3..=300, " s"),
    range("fleet", "at_once", 1..=8, " of them"),
    range("fleet", "connections", 16..=100_000, " hosts"),
    range("fleet", "look_ms", 1..=MINUTE, " ms"),
    range("fleet.etcd", "lease_s", 3..=60, " s"),
    range("log", "per_second", 0..=1_000_000, " lines"),
    range("limits", "options_mib", MIB, " MiB"),
    range("limits", "policy_mib", 1..=16, " MiB"),
    range("limits", "fabric_mib", MIB, " MiB"),
    range("limits", "dump_mib", MIB, " MiB"),
    range("limits", "snapshot_mib", MIB, " MiB"),
    range(
        "local_service",
        "timeout_ms",
        100..=200_000,
        " ms, as the kernel has it",
    ),
    range("local_service", "look_ms", 1..=MINUTE, " ms"),
    range("local_service.cache", "paths", 1..=16_777_216, " paths"),
    range("local_service.cache", "keep_s", 0..=86_400, " s"),
    range("local_service.cache", "keep_failure_ms", 0..=DAY, " ms"),
    range("local_service.cache", "budget_ms", 1..=MINUTE, " ms"),
    range("local_service.cache", "askers", 1..=64, " questions"),
    range(
        "local_service.far_subnet",
        "router_lid",
        LIDS,
        ", the LID of a port",
    ),
];

// Words are made here, so that errors and manual say the same.
impl Range {
    /// As in `1 to 1024 clients`: for errors, and for the manual.
    pub fn words(&self) -> String {
        format!(
            "{} to {}{}",
            self.numbers.start(),
            self.numbers.end(),
            self.what
        )
    }

    /// Errors: why the value is none of these. i128, because a TOML integer may be any digits.
    fn check(&self, value: &DeValue<'_>) -> Result<(), NumberProblem> {
        let expected = || self.words();
        match value {
            DeValue::Integer(number) => {
                // Numbers in other bases too, as TOML allows 0x10.
                let parsed = i128::from_str_radix(number.as_str(), number.radix());
                if parsed.is_ok_and(|parsed| self.numbers.contains(&parsed)) {
                    return Ok(());
                }
                Err(NumberProblem::Outside {
                    found: number.as_str().to_owned(),
                    expected: expected(),
                })
            }
            DeValue::Float(number) => Err(NumberProblem::Float {
                found: number.as_str().to_owned(),
                expected: expected(),
            }),
            // Which words there are, serde says.
            DeValue::String(_) if self.or_word => Ok(()),
            DeValue::String(word) => Err(NumberProblem::Word {
                found: word.to_string(),
                expected: expected(),
            }),
            other => Err(NumberProblem::Other {
                found: other.type_str(),
                expected: expected(),
            }),
        }
    }
}

/// A value that is no number, or not one that its key takes. What is expected is as
/// [`Range::words`] has it.
///
/// Words are those of serde for like problems, so that a person meets one way of saying it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NumberProblem {
    /// A number that is too small or too large.
    #[error("invalid value: integer `{found}`, expected {expected}")]
    Outside {
        /// As it is written.
        found: String,
        /// What the key takes.
        expected: String,
    },
    /// A number that is none of the integers.
    #[error("invalid type: floating point `{found}`, expected {expected}")]
    Float {
        /// As it is written.
        found: String,
        /// What the key takes.
        expected: String,
    },
    /// Text.
    #[error("invalid type: string \"{found}\", expected {expected}")]
    Word {
        /// Without its quotes.
        found: String,
        /// What the key takes.
        expected: String,
    },
    /// Something else.
    #[error("invalid type: {found}, expected {expected}")]
    Other {
        /// Its kind.
        found: &'static str,
        /// What the key takes.
        expected: String,
    },
}

/// Holds every number against its range. Errors: the first that is outside, with its place.
///
/// In the order of the table, not of the file: one problem is told at a time anyway.
pub(super) fn check(document: &Document<'_>) -> Result<(), At> {
    RANGES.iter().try_for_each(|range| {
        let sections = document.sections(range.section);
        sections
            .into_iter()
            .try_for_each(|section| check_in(range, section))
    })
}

/// Holds the values of a key in one section against its range.
///
/// A key that is not there has its default, which is in range.
fn check_in(range: &Range, section: &DeTable<'_>) -> Result<(), At> {
    let Some(value) = section.get(range.key) else {
        return Ok(());
    };
    // Of a list each number by itself, so that the place is that of the wrong one.
    let values = match value.get_ref() {
        DeValue::Array(list) => list.iter().collect(),
        _ => vec![value],
    };
    values.into_iter().try_for_each(|value| {
        let checked = range.check(value.get_ref());
        checked.map_err(|problem| At::new(value.span().start, problem))
    })
}
