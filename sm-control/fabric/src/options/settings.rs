//! Options that are given one by one, and the lines of a file of them: for who writes another configuration of one.
//!
//! ```text
//!  opensm.conf ──> entries: key, value, place of each ──> [sm] of sapphired's configuration
//!  [sm] sweep_interval = 5 ──> Setting { sweep_interval, "5" } ──> set_all, over what a file says
//! ```
//!
//! A value is text as in `opensm.conf`, so both ways go through the same readers, with the same limits.

use sa_text::{Line, Position, lines};

use super::value::Value;
use super::{ManagerOptions, OpenSmOptions};
use crate::error::ParseError;
use crate::text::{Cursor, decode};

/// Keys of an SM that take a number. Keys of files are in none of these lists, as files have keys of their own wherever
/// a configuration names them; nor is `qos`, which a daemon has to know of beside its SM.
///
/// Each is in a range that the reader knows, so a number that a file may not have a configuration may not either.
pub const NUMBER_KEYS: [&str; 36] = [
    "m_key_protection_level",
    "m_key_lease_period",
    "lmc",
    "sm_sl",
    "sm_priority",
    "sminfo_polling_timeout",
    "polling_retry_number",
    "sweep_interval",
    "max_wire_smps",
    "transaction_timeout",
    "transaction_retries",
    "long_transaction_timeout",
    "subnet_timeout",
    "packet_life_time",
    "head_of_queue_lifetime",
    "leaf_head_of_queue_lifetime",
    "vl_stall_count",
    "leaf_vl_stall_count",
    "local_phy_errors_threshold",
    "overrun_errors_threshold",
    "max_op_vls",
    "force_link_width",
    "force_link_speed",
    "force_link_speed_ext",
    "fdr10",
    "max_rate_enum",
    "qos_max_vls",
    "qos_high_limit",
    "qos_ca_max_vls",
    "qos_ca_high_limit",
    "qos_sw0_max_vls",
    "qos_sw0_high_limit",
    "qos_swe_max_vls",
    "qos_swe_high_limit",
    "qos_rtr_max_vls",
    "qos_rtr_high_limit",
];

/// Those that are on or off.
///
/// As TOML has it true or false; to the readers they are `TRUE` and `FALSE`.
pub const SWITCH_KEYS: [&str; 21] = [
    "m_key_lookup",
    "lmc_esp0",
    "reassign_lids",
    "honor_guid2lid_file",
    "fsync_high_avail_files",
    "sweep_on_trap",
    "force_heavy_sweep",
    "ignore_other_sm",
    "sm_inactive",
    "no_clients_rereg",
    "use_mfttop",
    "disable_multicast",
    "no_partition_enforcement",
    "allow_both_pkeys",
    "keep_pkey_indexes",
    "use_optimized_slvl",
    "suppress_sl2vl_mad_status_errors",
    "babbling_port_policy",
    "drop_event_subscriptions",
    "enable_quirks",
    "use_original_extended_sa_rates_only",
];

/// Those that take text; 64 bits too, which are written as in `"0x1"`.
pub const TEXT_KEYS: [&str; 21] = [
    "guid",
    "subnet_prefix",
    "m_key",
    "sm_key",
    "sa_key",
    "part_enforce",
    "qos_vlarb_high",
    "qos_vlarb_low",
    "qos_sl2vl",
    "qos_ca_vlarb_high",
    "qos_ca_vlarb_low",
    "qos_ca_sl2vl",
    "qos_sw0_vlarb_high",
    "qos_sw0_vlarb_low",
    "qos_sw0_sl2vl",
    "qos_swe_vlarb_high",
    "qos_swe_vlarb_low",
    "qos_swe_sl2vl",
    "qos_rtr_vlarb_high",
    "qos_rtr_vlarb_low",
    "qos_rtr_sl2vl",
];

/// One option.
///
/// Text on both ways, so that nothing is lost between a file and a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// As `opensm.conf` spells it.
    pub key: String,
    /// As there, without quotes.
    pub value: String,
}

/// A line of an `opensm.conf` that sets something.
///
/// Comments and blank lines are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where its key stands.
    pub at: Position,
    /// What it sets.
    pub setting: Setting,
}

/// The lines of an `opensm.conf` that set something, in their order. Nothing of them is judged.
pub fn entries(bytes: &[u8]) -> Vec<Entry> {
    let text = decode(bytes, &mut Vec::new());
    let entry = |line: Line<'_>| {
        // As the readers have it: also inside quotes.
        let code = line.text.split('#').next().unwrap_or_default();
        let mut cursor = Cursor::new(Line { text: code, ..line });
        cursor.skip_blanks();
        let at = cursor.at();
        let key = cursor.word().to_owned();
        let value = Value::new(cursor).raw().to_owned();
        let setting = Setting { key, value };
        // A line of blanks and comments.
        (!setting.key.is_empty()).then_some(Entry { at, setting })
    };
    lines(&text).filter_map(entry).collect()
}

/// What OpenSM 3.3.23 does without a line for a key, as `opensm -c` writes it; none for a key that it does not know.
///
/// Shape: without quotes; empty for a key whose default is no value.
pub fn default_of(key: &str) -> Option<&'static str> {
    // 160 lines, looked through for each line of a file of that size: no need for a map.
    let mut lines = DEFAULTS.lines().filter_map(|line| line.split_once(' '));
    lines
        .find(|(name, _)| *name == key)
        .map(|(_, value)| value.trim())
}

/// The options of OpenSM 3.3.23 with their defaults, a line each.
///
/// Recorded, not written by hand.
const DEFAULTS: &str = include_str!("opensm-3.3.23.conf");

impl OpenSmOptions {
    /// Sets one option. False for a key that no answer, route or table depends on. Errors: the value is not what the key
    /// needs; the place is that in the value.
    pub fn apply(&mut self, setting: &Setting) -> Result<bool, ParseError> {
        let (key, value) = (setting.key.as_str(), setting.of_value());
        // In the order of a file's reader: `qos_policy_file` begins like the options of QoS.
        Ok(self.set(key, &value)? || self.set_qos(key, &value)?)
    }
}

impl ManagerOptions {
    /// Sets one option. False for a key that is not the SM's alone. Errors: as [`OpenSmOptions::apply`].
    pub fn apply(&mut self, setting: &Setting) -> Result<bool, ParseError> {
        self.set(&setting.key, &setting.of_value())
    }
}

// The one way from text to a value: files and configurations cannot disagree on what a number is.
impl Setting {
    /// As the readers take it. Places in it count from its own beginning.
    fn of_value(&self) -> Value<'_> {
        // A text of one line: there is no other to be in.
        Value::new(Cursor::new(Line {
            number: 1,
            text: &self.value,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Problem;

    /// Every key is one that some reader knows, and takes OpenSM's default for it.
    #[test]
    fn keys_of_an_sm_are_read_by_somebody() {
        let all = NUMBER_KEYS.iter().chain(&SWITCH_KEYS).chain(&TEXT_KEYS);
        for key in all {
            let value = default_of(key).unwrap_or("63").to_owned();
            let key = (*key).to_owned();
            let setting = Setting { key, value };
            let by_answers = OpenSmOptions::default().apply(&setting).unwrap();
            let by_manager = ManagerOptions::default().apply(&setting).unwrap();
            assert!(by_answers || by_manager, "{setting:?}");
        }
    }

    #[test]
    fn the_defaults_of_a_manager_are_those_of_opensms_dump() {
        let read = ManagerOptions::parse(DEFAULTS.as_bytes()).unwrap();
        assert_eq!(read, ManagerOptions::default());
    }

    /// A key that a manager is said to follow changes something.
    #[test]
    fn another_value_of_a_managers_key_makes_a_difference() {
        let known = entries(DEFAULTS.as_bytes());
        let mut differ = 0;
        for Entry { setting, .. } in known {
            let value = match setting.value.as_str() {
                "TRUE" => "FALSE",
                "FALSE" => "TRUE",
                "both" => "off",
                "3" => "2",
                "1" => "0",
                _ => "3",
            };
            let changed = Setting {
                value: value.to_owned(),
                ..setting
            };
            let mut options = ManagerOptions::default();
            if options.apply(&changed).unwrap_or(false) {
                assert_ne!(options, ManagerOptions::default(), "{changed:?}");
                differ += 1;
            }
        }
        assert_eq!(differ, 34);
    }

    #[test]
    fn entries_have_their_places_and_no_comments() {
        let found = entries(b"# a comment\n\nlmc 1 # two LIDs\n  log_prefix \"x y\"\nqos\n");
        let told: Vec<_> = found
            .iter()
            .map(|it| {
                (
                    it.at.line,
                    it.at.column,
                    it.setting.key.as_str(),
                    it.setting.value.as_str(),
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                (3, 1, "lmc", "1"),
                (4, 3, "log_prefix", "x y"),
                (5, 1, "qos", "")
            ]
        );
    }

    #[test]
    fn a_value_out_of_its_range_is_refused() {
        let setting = |key: &str, value: &str| Setting {
            key: key.to_owned(),
            value: value.to_owned(),
        };
        let error = ManagerOptions::default().apply(&setting("sm_priority", "16"));
        assert!(matches!(error.unwrap_err().problem, Problem::Range { .. }));
        let error = OpenSmOptions::default().apply(&setting("sm_sl", "x"));
        assert!(matches!(
            error.unwrap_err().problem,
            Problem::Expected { .. }
        ));
    }
}
