//! Where an option of OpenSM's goes.
//!
//! | options | go to |
//! |---|---|
//! | numbers, switches and texts of the SM, `qos_*` among them | `[sm]`, under their names |
//! | `qos` | `[fabric] qos` |
//! | `partition_config_file`, `qos_policy_file`, `prefix_routes_file` | `[partitions]`, `[policy]`, `[fabric]` |
//! | `routing_engine`, `torus_config`, `root_guid_file` | `[routing]`; beside an OpenSM only where the engine is torus-2QoS |
//! | of other managers, of OpenSM's process, its log and its console | nowhere |
//! | of other engines | nowhere |
//! | of the SM, not followed yet | nowhere: who relies on one has to know it |
//!
//! Who is not in a list of `sa_fabric::options` and no exception here has no place: an option of a
//! newer OpenSM is left out with words, and not lost.

use clap::ValueEnum;
use routing::EngineKind;
use sa_fabric::options::{NUMBER_KEYS, SWITCH_KEYS, TEXT_KEYS};

/// Who is the Subnet Manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Source {
    /// An OpenSM, beside which sapphired answers
    Opensm,
    /// sapphired itself
    Sweep,
}

impl Source {
    /// As `[fabric]` has it.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Opensm => "opensm",
            Self::Sweep => "sweep",
        }
    }
}

/// The engine that stands for one of OpenSM's; none where there is none.
pub(super) fn engine(name: &str) -> Option<EngineKind> {
    Some(match name.to_ascii_lowercase().as_str() {
        "minhop" => EngineKind::MinHop,
        "updn" => EngineKind::UpDown,
        "ftree" => EngineKind::FatTree,
        "torus-2qos" => EngineKind::Torus2Qos,
        // One engine here does what these two do, with other tables.
        "dfsssp" | "nue" => EngineKind::DfssspNue,
        _ => return None,
    })
}

/// What becomes of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// A key of the same name in `[sm]`: a number, or true or false.
    Bare,
    /// The same, as text.
    Quoted,
    /// `[fabric] qos`.
    Qos,
    /// `[routing]`, where the engine is one whose paths can be told beside its tables.
    Engine,
    /// A file, with the section and key that name it.
    File(&'static str, &'static str),
    /// Nothing, for this reason.
    LeftOut(&'static str),
}

/// Where an option goes; none for one that OpenSM does not know.
pub(super) fn of(key: &str, source: Source, is_known: impl Fn(&str) -> bool) -> Option<Fate> {
    let fate = match key {
        "qos" => Fate::Qos,
        "routing_engine" => Fate::Engine,
        "torus_config" => Fate::File("routing", "torus_conf"),
        "partition_config_file" => Fate::File("partitions", "file"),
        "qos_policy_file" => Fate::File("policy", "file"),
        "prefix_routes_file" => Fate::File("fabric", "prefix_routes"),
        "root_guid_file" if source == Source::Sweep => Fate::File("routing", "root_guids"),
        "root_guid_file" => Fate::LeftOut(MADE),
        _ if not_followed(key).is_some() => Fate::LeftOut(not_followed(key).unwrap_or_default()),
        // Behind the files: `qos_policy_file` begins like the options of QoS.
        _ if TEXT_KEYS.contains(&key) => Fate::Quoted,
        _ if NUMBER_KEYS.contains(&key) || SWITCH_KEYS.contains(&key) => Fate::Bare,
        _ if is_known(key) => Fate::LeftOut(reason(key)),
        _ => return None,
    };
    Some(fate)
}

/// Options of the SM that sapphired does not follow, and what it does instead; told only where they
/// are not OpenSM's default.
const NOT_FOLLOWED: [(&str, &str); 5] = [
    (
        "fdr10",
        "not followed: ports keep the FDR10 that they have enabled",
    ),
    (
        "suppress_sl2vl_mad_status_errors",
        "not followed: a switch that refuses its SL2VL table is a finding",
    ),
    (
        "babbling_port_policy",
        "not followed: a port that repeats its traps stays enabled, and costs half of the SM's time at most",
    ),
    (
        "drop_event_subscriptions",
        "subscriptions of ports that are gone end in any case",
    ),
    (
        "fsync_high_avail_files",
        "not followed: files for a restart are synced always",
    ),
];

/// What is done instead of an option; none where it is followed, or is of nobody here.
fn not_followed(key: &str) -> Option<&'static str> {
    let mut all = NOT_FOLLOWED.iter();
    all.find(|(name, _)| *name == key).map(|(_, why)| *why)
}

/// Why engines and what they are told have no place beside the SM that routes.
pub(super) const MADE: &str = "paths are those that the SM has made, whatever made them";

/// Families of options, by how their names begin, and why they have no place.
const FAMILIES: [(&[&str], &str); 8] = [
    (
        &["perfmgr", "event_db"],
        "sapphired is no performance manager",
    ),
    (
        &["cc_", "congestion_control"],
        "sapphired is no congestion manager",
    ),
    (&["event_plugin"], "plug-ins of OpenSM cannot be loaded"),
    (
        &["console"],
        "`sapphire status`, `reload` and `rollback` do this; see [control]",
    ),
    (
        &[
            "log_",
            "force_log_flush",
            "accum_log_file",
            "per_module_logging_file",
            "dump_files_dir",
            "node_name_map_name",
        ],
        "the log goes to standard error, see [log]; dumps are written by `sapphire route`",
    ),
    (
        &[
            "daemon",
            "single_thread",
            "max_msg_fifo_timeout",
            "exit_on_fatal",
        ],
        "how the process runs is a matter of its unit",
    ),
    (
        &["sa_db_"],
        "what clients set is kept in the directory of [state]",
    ),
    (
        &["max_wire_smps2", "max_smps_timeout"],
        "how many SMPs are on the wire follows the answers; max_wire_smps bounds it",
    ),
];

/// Why a known option has no place.
fn reason(key: &str) -> &'static str {
    // The first that fits; no name fits two.
    let mut families = FAMILIES.iter();
    let found = families.find(|(names, _)| names.iter().any(|name| key.starts_with(name)));
    found.map_or(
        "it tells OpenSM how to route or to serve, and nothing here depends on it",
        |(_, why)| why,
    )
}
