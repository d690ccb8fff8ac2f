//! `sapphired`'s configuration file.

mod beside;
mod document;
mod inputs;
mod live;
mod local_service;
mod operating;
mod ranges;
mod uring;

use std::fmt;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use policy::{Dialect, Echo, ParseOptions, ScopePrecedence, ServiceIdEncoding};
use routing::EngineKind;
use sa_answer::access::Access;
use sa_compiler::pipeline::OnPolicyError;
use sa_fastpath::overload::{Limits, Share};
use sa_fastpath::worker::Idle;
use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer};
use thiserror::Error;

use document::{At, Document};
use sa_fabric::intake::{self, Kind, ReadError, SizeLimits};

pub use beside::OpenSmSection;
pub use live::FabricSaSection;
pub use local_service::{LocalServiceSection, PathsFrom};
pub use operating::{ControlSection, HttpSection, LogFormat, LogSection};
pub use ranges::{RANGES, Range};
pub use uring::IoUring;

/// A whole configuration. Paths are relative to the file's directory.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Config {
    /// Where the fabric is described.
    #[serde(deserialize_with = "live::fabric")]
    pub fabric: FabricSection,
    /// How it is routed.
    #[serde(default)]
    pub routing: RoutingSection,
    /// The QoS policy.
    #[serde(default)]
    pub policy: PolicySection,
    /// The partitions.
    #[serde(default)]
    pub partitions: PartitionsSection,
    /// Where requests come from.
    #[serde(default, rename = "port")]
    pub ports: Vec<PortSection>,
    /// The answering threads.
    #[serde(default)]
    pub workers: WorkersSection,
    /// What outlives a restart.
    #[serde(default)]
    pub state: StateSection,
    /// What this SA does, and for whom.
    #[serde(default)]
    pub sa: SaSection,
    /// What is given up when more is asked than can be answered.
    #[serde(default)]
    pub overload: OverloadSection,
    /// The OpenSM beside which this daemon reads; absent: none shares its ports.
    pub opensm: Option<OpenSmSection>,
    /// Where operators ask and command; absent: nowhere.
    pub control: Option<ControlSection>,
    /// Where metrics are; absent: nowhere.
    pub http: Option<HttpSection>,
    /// How this host's kernel is answered; absent: not at all.
    pub local_service: Option<LocalServiceSection>,
    /// What log lines look like.
    #[serde(default)]
    pub log: LogSection,
    /// How large input files may be.
    #[serde(default)]
    pub limits: SizeLimits,
    /// What it was read from.
    #[serde(skip)]
    pub written: Written,
}

/// A configuration as it was written.
#[derive(Debug, Clone, Default)]
pub struct Written {
    /// Its file.
    pub path: PathBuf,
    /// What that held.
    pub text: String,
}

/// `[fabric]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FabricSection {
    /// Kind of source.
    pub source: Source,
    /// A fabric file, or a directory of OpenSM dumps; empty where none is read.
    #[serde(default)]
    pub path: PathBuf,
    /// How an SA is asked.
    pub sa: Option<FabricSaSection>,
    /// `opensm-subnet.lst` to take LIDs from.
    pub lids: Option<PathBuf>,
    /// Node that the SM runs on, when the files do not say.
    pub sm_node: Option<String>,
    /// LMC of CA and router ports, when LIDs are assigned here: 0 to 7.
    pub lmc: Option<u8>,
    /// `opensm.conf`, for the options that answers depend on.
    pub opensm_conf: Option<PathBuf>,
    /// `prefix-routes.conf`; else what `opensm_conf` names beside itself.
    pub prefix_routes: Option<PathBuf>,
    /// `opensm-sa.dump` to take alias GUIDs from.
    pub aliases: Option<PathBuf>,
    /// Overrides `qos` of `opensm_conf`.
    pub qos: Option<bool>,
    /// Look all the time whether the files changed, and reload when they did and lie still.
    #[serde(default)]
    pub watch: bool,
}

/// Kinds of fabric source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Files, read at start and at each reload.
    Files,
    /// Any SM's SA, asked through a port.
    Sa,
    /// The OpenSM of this host, asked through its preload library.
    OpenSm,
    /// A snapshot that was compiled elsewhere; its path is the file's.
    Snapshot,
    /// Nowhere: there is no snapshot.
    None,
}

impl Source {
    /// True where the fabric is read from a running SA.
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Sa | Self::OpenSm)
    }
}

/// `[routing]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoutingSection {
    /// An engine by name, in small or large letters; none for "auto": what the inputs call for.
    #[serde(default, deserialize_with = "engine")]
    pub engine: Option<EngineKind>,
    /// `torus-2QoS.conf`.
    pub torus_conf: Option<PathBuf>,
    /// Publish although wired pairs have no path.
    #[serde(default)]
    pub allow_lost_pairs: bool,
}

/// `[policy]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicySection {
    /// Policy file; without one, partitions alone decide SLs.
    pub file: Option<PathBuf>,
    /// text, xml or opensm; by default detected.
    #[serde(default, deserialize_with = "word")]
    pub dialect: Option<Dialect>,
    /// What a broken policy file means.
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
    pub ulp_names: Option<PathBuf>,
}

impl PolicySection {
    /// How the file is read.
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

/// `[partitions]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartitionsSection {
    /// `partitions.conf`; without one, everybody is a full member of the default partition.
    pub file: Option<PathBuf>,
}

/// `[[port]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "transport", rename_all = "lowercase", deny_unknown_fields)]
pub enum PortSection {
    /// A client of the fabric simulator.
    Ibsim {
        /// Node to attach to.
        node: String,
        /// Base name of the simulator's sockets; by default `IBSIM_SOCKNAME`, else `sim`.
        sockname: Option<String>,
        /// Claim to be an SM, which is what brings QP1 requests here.
        #[serde(default = "yes")]
        issm: bool,
    },
    /// The kernel's user MAD device.
    Umad {
        /// Device name, as in `mlx5_0`; by default the first.
        device: Option<String>,
        /// Port number of the device.
        #[serde(default = "one")]
        port: u8,
        /// Drive the file by io_uring.
        #[serde(default)]
        io_uring: IoUring,
        /// Set IsSM on the port while this runs. Off beside an SM on the same port, which sets it
        /// itself and fails where somebody else has; on under the simulator's preload library,
        /// where it is what brings QP1 requests here.
        #[serde(default)]
        announce_sm: bool,
    },
    /// Memory shared with processes of this node.
    Ring(RingSection),
}

/// A `[[port]]` of `transport = "ring"`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RingSection {
    /// The Unix socket where clients connect.
    pub path: PathBuf,
    /// Who may: the mode of the socket.
    #[serde(default)]
    pub mode: Mode,
    /// Group of the socket; absent: the daemon's.
    pub group: Option<String>,
    /// Requests that a client may have in flight; rounded up to a power of two.
    #[serde(default = "ring_slots")]
    pub slots: u32,
    /// Clients at a time.
    #[serde(default = "ring_clients")]
    pub clients: u16,
    /// The most of one user, but for root and the daemon's own; absent: as many as are left for
    /// others.
    pub clients_per_user: Option<u16>,
    /// Late replies that all users together may leave unread, and as much again for root and the
    /// daemon's user. Units: MiB.
    #[serde(default = "ring_late")]
    pub late_mib: u16,
    /// LID that requests come from that do not say it, or may not; absent: the SM's.
    pub lid: Option<u16>,
}

/// Permissions of a file, written as in `"0660"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode(pub u32);

impl Default for Mode {
    fn default() -> Self {
        Self(0o600)
    }
}

impl<'de> Deserialize<'de> for Mode {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let word = String::deserialize(from)?;
        let mode = u32::from_str_radix(&word, 8).ok();
        mode.filter(|mode| *mode <= 0o777).map(Self).ok_or_else(|| {
            let expected = "the mode of a file in octal digits, such as \"0660\"";
            D::Error::invalid_value(Unexpected::Str(&word), &expected)
        })
    }
}

/// `[workers]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkersSection {
    /// Cores to pin workers to, one per port in order; fewer or none: as `numa` says.
    #[serde(default)]
    pub cores: Vec<usize>,
    /// Where those run that no core is named for.
    #[serde(default)]
    pub numa: Numa,
    /// Empty turns after which a worker yields its core; absent: it never does.
    pub yield_after: Option<u32>,
    /// Empty turns after which a worker waits in the kernel for the next request; absent: it never
    /// does.
    pub sleep_after: Option<u32>,
    /// Of so many batches one is timed; absent: none.
    pub sample_every: Option<NonZeroU32>,
    /// Requests that may wait for the slow lane.
    #[serde(default = "punt_capacity")]
    pub punt_queue: usize,
}

impl Default for WorkersSection {
    fn default() -> Self {
        Self {
            cores: Vec::new(),
            numa: Numa::Off,
            yield_after: None,
            sleep_after: None,
            sample_every: None,
            punt_queue: punt_capacity(),
        }
    }
}

impl WorkersSection {
    /// What workers do when nothing waits.
    pub fn idle(&self) -> Idle {
        match (self.yield_after, self.sleep_after) {
            (None, None) => Idle::Spin,
            (Some(yields), None) => Idle::YieldAfter(yields),
            (yields, Some(sleeps)) => Idle::SleepAfter {
                yields: yields.unwrap_or(sleeps),
                sleeps,
            },
        }
    }
}

/// Where workers run that no core is named for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Numa {
    /// On any core, wherever the kernel puts them.
    #[default]
    Off,
    /// Each on a core near its port's device.
    Local,
    /// Each on a core of this node.
    Node(u32),
}

impl<'de> Deserialize<'de> for Numa {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(NumaVisitor)
    }
}

/// Takes a word or a number.
struct NumaVisitor;

impl serde::de::Visitor<'_> for NumaVisitor {
    type Value = Numa;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"off\", \"local\" or the number of a NUMA node")
    }

    fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Numa, E> {
        match word {
            "off" => Ok(Numa::Off),
            "local" => Ok(Numa::Local),
            _ => Err(E::invalid_value(Unexpected::Str(word), &self)),
        }
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Numa, E> {
        let node = u32::try_from(number);
        node.map(Numa::Node)
            .map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Numa, E> {
        let node = u32::try_from(number);
        node.map(Numa::Node)
            .map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
    }
}

/// `[state]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateSection {
    /// Where the last good snapshot is kept for a warm start; absent: nowhere.
    pub directory: Option<PathBuf>,
}

/// `[sa]`
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

/// Who may ask for what.
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

/// `[overload]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OverloadSection {
    /// A request that has waited for longer gets no answer; 0: any does. Units: ms.
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

fn milliseconds(number: u32) -> Option<Duration> {
    (number != 0).then(|| Duration::from_millis(number.into()))
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

const fn yes() -> bool {
    true
}

const fn one() -> u8 {
    1
}

const fn ring_slots() -> u32 {
    1024
}

const fn ring_clients() -> u16 {
    64
}

const fn ring_late() -> u16 {
    32
}

const fn punt_capacity() -> usize {
    1024
}

/// One of the words that the policy crate knows.
fn word<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
where
    T: FromStr<Err: fmt::Display>,
    D: Deserializer<'de>,
{
    let word = String::deserialize(from)?;
    word.parse().map(Some).map_err(D::Error::custom)
}

/// An engine by name, or what the inputs call for.
fn engine<'de, D: Deserializer<'de>>(from: D) -> Result<Option<EngineKind>, D::Error> {
    let name = String::deserialize(from)?;
    if name.eq_ignore_ascii_case("auto") {
        return Ok(None);
    }
    name.parse().map(Some).map_err(|unknown| {
        let names = EngineKind::ALL.map(|kind| format!("`{}`", kind.name()));
        D::Error::custom(format_args!(
            "{unknown}, expected one of `auto`, {}",
            names.join(", ")
        ))
    })
}

/// A configuration that cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It is not what was expected.
    #[error("{}:{message}", path.display())]
    Parse {
        /// Which file.
        path: PathBuf,
        /// Shape: as of [`Config::parse`].
        message: String,
    },
}

impl Config {
    /// Reads and parses. Errors: [`ConfigError`].
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = intake::read_text(Kind::Config, path)?;
        Self::parse_at(path, &text)
    }

    /// Parses the text of this file. Errors: [`ConfigError::Parse`].
    pub fn parse_at(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let mut config = Self::parse(text).map_err(|message| ConfigError::Parse {
            path: path.into(),
            message,
        })?;
        config.resolve(path.parent().unwrap_or_else(|| Path::new("")));
        config.written = Written {
            path: path.into(),
            text: text.to_owned(),
        };
        Ok(config)
    }

    /// Parses. Errors: `line:column: what was found and what was expected`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let document = Document::parse(text)?;
        Self::of(&document).map_err(|at| document.say(&at))
    }

    fn of(document: &Document<'_>) -> Result<Self, At> {
        ranges::check(document)?;
        let config = document.read()?;
        if config.ports.is_empty() && config.local_service.is_none() {
            let missing = "no [[port]] section: say where requests come from";
            return Err(At::new(document.end(), missing));
        }
        let blamed = |section, key| move |problem| At::new(document.place(section, key), problem);
        let not_asked = |problem: String| At::new(document.place("fabric", "source"), problem);
        config.can_ask().map_err(not_asked)?;
        config
            .can_serve_locally()
            .map_err(blamed("fabric", "source"))?;
        config.can_shadow().map_err(blamed("sa", "role"))?;
        Ok(config)
    }

    /// Makes relative paths relative to the configuration file.
    fn resolve(&mut self, base: &Path) {
        let fabric = &mut self.fabric;
        let paths = [
            (!fabric.path.as_os_str().is_empty()).then_some(&mut fabric.path),
            fabric.lids.as_mut(),
            fabric.opensm_conf.as_mut(),
            fabric.prefix_routes.as_mut(),
            fabric.aliases.as_mut(),
            self.routing.torus_conf.as_mut(),
            self.policy.file.as_mut(),
            self.policy.ulp_names.as_mut(),
            self.partitions.file.as_mut(),
            self.state.directory.as_mut(),
            self.control.as_mut().map(|control| &mut control.path),
            self.opensm.as_mut().map(|opensm| &mut opensm.socket),
        ];
        let local = self.local_service.as_mut().map(|section| {
            let class = Some(&mut section.class);
            [section.addresses.as_mut(), class]
        });
        let local = local.into_iter().flatten();
        let rings = self.ports.iter_mut().filter_map(|port| match port {
            PortSection::Ring(ring) => Some(&mut ring.path),
            PortSection::Ibsim { .. } | PortSection::Umad { .. } => None,
        });
        for path in paths.into_iter().chain(local).flatten().chain(rings) {
            *path = base.join(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMAL: &str = r#"
        [fabric]
        source = "files"
        path = "net"
        [[port]]
        transport = "ibsim"
        node = "H1"
    "#;

    #[test]
    fn the_minimal_file_is_enough() {
        let config = Config::parse(MINIMAL).unwrap();
        assert_eq!(config.fabric.source, Source::Files);
        assert!(matches!(
            &config.ports[..],
            [PortSection::Ibsim { issm: true, .. }]
        ));
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_place() {
        let text = MINIMAL.replace("path = \"net\"", "path = \"net\"\n pth = \"x\"");
        let error = Config::parse(&text).unwrap_err();
        assert!(
            error.starts_with("5:2: unknown field `pth`, expected one of"),
            "{error}"
        );
        let text = MINIMAL.replace("node = \"H1\"", "node = \"H1\"\nnodes = 2");
        let error = Config::parse(&text).unwrap_err();
        assert!(
            error.starts_with("8:1: unknown field `nodes`, expected one of"),
            "{error}"
        );
    }

    #[test]
    fn an_impossible_lmc_is_refused_with_its_place() {
        let text = MINIMAL.replace("path = \"net\"", "path = \"net\"\nlmc = 8");
        let error = Config::parse(&text).unwrap_err();
        assert_eq!(
            error,
            "5:7: invalid value: integer `8`, expected 0 to 7, an LMC"
        );
    }

    #[test]
    fn the_ways_of_a_policy_are_read() {
        let section = "[policy]\ndialect = \"xml\"\nscope_precedence = \"first\"\n\
                       service_id_encoding = \"legacy-b\"\necho = \"none\"\n\
                       endpoint_mask_required = true\npartitions_as_groups = true\nwatch = true\n";
        let policy = Config::parse(&format!("{section}{MINIMAL}"))
            .unwrap()
            .policy;
        assert_eq!(policy.dialect, Some(Dialect::Rfc01Xml));
        assert!(policy.watch && !policy.apply_setup);
        let reading = policy.reading();
        let way = reading.semantics(Dialect::Rfc01Xml);
        assert!(way.endpoint_mask_required && reading.partitions_as_groups);
        assert_eq!(way.scope_precedence, ScopePrecedence::First);
        assert_eq!(way.service_id_encoding, ServiceIdEncoding::LegacyB);
        assert_eq!(way.echo, Echo::None);
        let error = Config::parse(&format!("[policy]\necho = \"all\"\n{MINIMAL}")).unwrap_err();
        assert_eq!(
            error,
            "2:8: there is no echo \"all\"; choose one of none, qos-class, tclass"
        );
    }

    #[test]
    fn the_ways_of_workers_are_read() {
        let workers = |section: &str| {
            Config::parse(&format!("[workers]\n{section}\n{MINIMAL}")).map(|config| config.workers)
        };
        let none = workers("").unwrap();
        assert_eq!((none.idle(), none.numa), (Idle::Spin, Numa::Off));
        assert_eq!(none.sample_every, None);
        let some = workers("numa = \"local\"\nyield_after = 4\nsample_every = 100").unwrap();
        assert_eq!((some.idle(), some.numa), (Idle::YieldAfter(4), Numa::Local));
        assert_eq!(some.sample_every.map(NonZeroU32::get), Some(100));
        let some = workers("numa = 1\nyield_after = 4\nsleep_after = 9").unwrap();
        let (yields, sleeps) = (4, 9);
        assert_eq!(some.idle(), Idle::SleepAfter { yields, sleeps });
        assert_eq!(some.numa, Numa::Node(1));
        let wrong = workers("numa = \"near\"").unwrap_err();
        assert_eq!(
            wrong,
            "2:8: invalid value: string \"near\", expected \"off\", \"local\" or the number of a \
             NUMA node"
        );
        let wrong = workers("sample_every = 0").unwrap_err();
        assert!(
            wrong.starts_with("2:16: invalid value: integer `0`"),
            "{wrong}"
        );
    }

    #[test]
    fn ring_ports_are_read() {
        let ring = |more: &str| {
            let section = "[fabric]\nsource = \"files\"\npath = \"net\"\n[[port]]\n\
                           transport = \"ring\"\npath = \"/run/sapphire/ring\"\n";
            Config::parse(&format!("{section}{more}")).map(|config| match &config.ports[..] {
                [PortSection::Ring(ring)] => ring.clone(),
                other => panic!("{other:?}"),
            })
        };
        let plain = ring("").unwrap();
        assert_eq!(
            (plain.mode, plain.slots, plain.clients),
            (Mode(0o600), 1024, 64)
        );
        assert!(plain.group.is_none() && plain.lid.is_none());
        let other =
            ring("mode = \"0660\"\ngroup = \"mpi\"\nslots = 4096\nclients = 8\nlid = 7").unwrap();
        assert_eq!(
            (other.mode, other.slots, other.clients),
            (Mode(0o660), 4096, 8)
        );
        assert_eq!((other.group.as_deref(), other.lid), (Some("mpi"), Some(7)));
        for (wrong, expected) in [
            ("mode = \"0999\"", "the mode of a file in octal digits"),
            ("mode = \"01777\"", "the mode of a file in octal digits"),
            ("mode = 660", "expected a string"),
            ("slots = 1", "2 to 65536 slots"),
            ("clients = 0", "1 to 1024 clients"),
            ("clients_per_user = 0", "1 to 1024 clients"),
            ("late_mib = 0", "1 to 4096 MiB"),
            ("late_mib = 4097", "1 to 4096 MiB"),
            ("lid = 0", "the LID of a port"),
            ("sloots = 1", "unknown field `sloots`"),
        ] {
            let error = ring(wrong).unwrap_err();
            assert!(error.contains(expected), "{wrong}: {error}");
        }
    }

    #[test]
    fn limits_and_access_are_read() {
        let config = Config::parse(MINIMAL).unwrap();
        assert_eq!(config.overload.limits(), Limits::default());
        assert_eq!(Access::from(config.sa.access), Access::OpenSm);
        let section = "[sa]\naccess = \"strict\"\nrole = \"test\"\n[overload]\noldest_ms = 0\n\
                       gets_per_lid = 0\nbusy_reply = true\n";
        let config = Config::parse(&format!("{section}{MINIMAL}")).unwrap();
        assert_eq!(config.sa.role, Role::Test);
        assert_eq!(Access::from(config.sa.access), Access::Strict);
        let limits = config.overload.limits();
        assert!(limits.oldest.is_none() && limits.gets.is_none() && limits.busy_reply);
        assert_eq!(limits.others.map(|share| share.per_second), Some(1000));
        let error = Config::parse(&format!("[sa]\naccess = \"lax\"\n{MINIMAL}")).unwrap_err();
        assert!(error.starts_with("2:10: unknown variant `lax`"), "{error}");
    }

    #[test]
    fn a_file_without_ports_is_refused() {
        let text = MINIMAL.split("[[port]]").next().unwrap();
        let error = Config::parse(text).unwrap_err();
        assert!(error.starts_with("5:9: no [[port]] section"), "{error}");
    }
}
