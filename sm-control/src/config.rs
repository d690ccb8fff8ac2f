//! `sapphired`'s configuration file.
//!
//! [`Config`] is the file as values: one field a section, one file of this folder a group of
//! sections. Parsing refuses everything that a start could not do or that contradicts itself, with
//! line and column, so that nothing behind it has to ask again; what depends on the machine is for
//! [`crate::checks`]. A key that is unknown is an error: it is a typing mistake far more often than
//! a key of a later version. Numbers are held against [`RANGES`] before serde sees them, because
//! serde loses the place of a number in sections that a key tells apart.
//!
//! ```
//! use sm_control::config::{Config, Source};
//!
//! let config = Config::parse("[fabric]\nsource = \"files\"\npath = \"net\"\n\
//!                             [[port]]\ntransport = \"ibsim\"\nnode = \"H1\"\n")?;
//! assert_eq!(config.fabric.source, Source::Files);
//!
//! let wrong = Config::parse("[fabric]\nsource = \"files\"\npth = \"net\"\n").unwrap_err();
//! assert_eq!((wrong.at.line, wrong.at.column), (3, 1));
//! # Ok::<(), sm_control::config::ConfigProblem>(())
//! ```

mod beside;
mod document;
mod fleet;
mod health;
mod inputs;
mod live;
mod local_service;
mod operating;
mod policy_section;
mod ports;
mod problem;
mod ranges;
mod sa;
mod sm;
mod uring;
mod workers;

use std::path::{Path, PathBuf};

use routing::EngineKind;
use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer};

use document::{At, Document};
use sa_fabric::intake::{self, Kind, SizeLimits};

pub use beside::OpenSmSection;
pub use fleet::{
    EtcdSection, EtcdTlsSection, FleetContradiction, FleetRole, FleetSection, TlsClients,
    TlsSection,
};
pub use health::{ClearRule, HealthSection};
pub use live::{FabricSaSection, SourceContradiction};
pub use local_service::{LocalContradiction, LocalServiceSection, PathsFrom};
pub use operating::{ControlSection, HttpSection, LogFormat, LogSection, ShadowContradiction};
pub use policy_section::PolicySection;
pub use ports::{PortSection, RingSection};
pub use problem::{ConfigError, ConfigProblem, Problem};
pub use ranges::{NumberProblem, RANGES, Range};
pub use sa::{AccessRule, OverloadSection, Role, RoleContradiction, SaSection};
pub use sm::SmSection;
pub use uring::IoUring;
pub use workers::{Numa, WorkersSection};

/// A whole configuration. Paths are relative to the file's directory. A value of this type has been
/// judged: its keys agree with each other and every number is in its range. Whether the machine can
/// do it is another question.
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
    /// Options of the Subnet Manager.
    #[serde(default)]
    pub sm: SmSection,
    /// How ports are asked for what they count.
    #[serde(default)]
    pub health: HealthSection,
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
    /// Other hosts that answer from the same snapshot; absent: none.
    pub fleet: Option<FleetSection>,
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

/// A configuration as it was written: to be read again by a trial, and to be compared at a reload.
#[derive(Debug, Clone, Default)]
pub struct Written {
    /// Its file.
    pub path: PathBuf,
    /// What that held.
    pub text: String,
}

/// `[fabric]`: where nodes, links, LIDs and the SM's options come from.
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
    /// This process is the Subnet Manager: it finds the fabric and programs it.
    Sweep,
    /// Other hosts of a fleet, which say what is in force, too.
    Fleet,
    /// Nowhere: there is no snapshot.
    None,
}

impl Source {
    /// True where the fabric is read from a running SA.
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Sa | Self::OpenSm)
    }
}

/// `[routing]`: which engine computes paths, or whose tables are followed.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoutingSection {
    /// An engine by name, in small or large letters; none for "auto": what the inputs call for.
    #[serde(default, deserialize_with = "engine")]
    pub engine: Option<EngineKind>,
    /// `torus-2QoS.conf`.
    pub torus_conf: Option<PathBuf>,
    /// Roots of `updn` and `ftree`, a node GUID a line.
    pub root_guids: Option<PathBuf>,
    /// Publish although wired pairs have no path. Else such a fabric is refused, and the snapshot
    /// in service stays.
    #[serde(default)]
    pub allow_lost_pairs: bool,
    /// Refuse loops that packets of hosts do not close, too:
    /// [`sa_compiler::pipeline::Inputs::strict`].
    #[serde(default)]
    pub strict: bool,
}

/// `[partitions]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartitionsSection {
    /// `partitions.conf`; without one, everybody is a full member of the default partition.
    pub file: Option<PathBuf>,
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
        // The other bits mean nothing on a socket.
        mode.filter(|mode| *mode <= 0o777).map(Self).ok_or_else(|| {
            let expected = "the mode of a file in octal digits, such as \"0660\"";
            D::Error::invalid_value(Unexpected::Str(&word), &expected)
        })
    }
}

/// `[state]`: a directory that belongs to one daemon.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateSection {
    /// Where the last good snapshot is kept for a warm start; absent: nowhere.
    pub directory: Option<PathBuf>,
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

impl Config {
    /// Reads and parses. Errors: [`ConfigError`].
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = intake::read_text(Kind::Config, path)?;
        Self::parse_at(path, &text)
    }

    /// Parses the text of this file. Errors: [`ConfigError::Parse`].
    pub fn parse_at(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let mut config = Self::parse(text).map_err(|source| ConfigError::Parse {
            path: path.into(),
            source,
        })?;
        config.resolve(path.parent().unwrap_or_else(|| Path::new("")));
        config.written = Written {
            path: path.into(),
            text: text.to_owned(),
        };
        Ok(config)
    }

    /// Parses. Errors: [`ConfigProblem`], the first.
    pub fn parse(text: &str) -> Result<Self, ConfigProblem> {
        let document = Document::parse(text)?;
        Self::from_document(&document).map_err(|at| document.problem(at))
    }

    fn from_document(document: &Document<'_>) -> Result<Self, At> {
        ranges::check(document)?;
        let config = document.read()?;
        // First what is missing in all, then what contradicts: each with the place that an operator
        // has to change.
        if config.ports.is_empty() && config.local_service.is_none() {
            return Err(At::new(document.end(), Problem::NoPort));
        }
        let source = document.place("fabric", "source");
        config.can_ask().map_err(|why| At::new(source, why))?;
        let fleet = match config.fleet {
            Some(_) => document.place("fleet", "role"),
            None => source,
        };
        config.can_follow().map_err(|why| At::new(fleet, why))?;
        config
            .can_serve_locally()
            .map_err(|why| At::new(source, why))?;
        let role = document.place("sa", "role");
        config.can_keep().map_err(|why| At::new(role, why))?;
        config.can_shadow().map_err(|why| At::new(role, why))?;
        Ok(config)
    }

    /// Makes relative paths relative to the configuration file, so that it does not matter where
    /// the daemon is started.
    fn resolve(&mut self, base: &Path) {
        let fabric = &mut self.fabric;
        let paths = [
            (!fabric.path.as_os_str().is_empty()).then_some(&mut fabric.path),
            fabric.lids.as_mut(),
            fabric.opensm_conf.as_mut(),
            fabric.prefix_routes.as_mut(),
            fabric.aliases.as_mut(),
            self.routing.torus_conf.as_mut(),
            self.routing.root_guids.as_mut(),
            self.policy.file.as_mut(),
            self.policy.ulp_names.as_mut(),
            self.partitions.file.as_mut(),
            self.state.directory.as_mut(),
            self.control.as_mut().map(|control| &mut control.path),
            self.http.as_mut().and_then(|http| http.token_file.as_mut()),
            self.opensm.as_mut().map(|opensm| &mut opensm.socket),
        ];
        let fleet = self.fleet.as_mut().map(FleetSection::paths);
        let fleet = fleet.into_iter().flatten().map(Some);
        let local = self.local_service.as_mut().map(|section| {
            let class = Some(&mut section.class);
            [section.addresses.as_mut(), class]
        });
        let local = local.into_iter().flatten().chain(fleet);
        let sockets = self.ports.iter_mut().filter_map(PortSection::socket_mut);
        for path in paths.into_iter().chain(local).flatten().chain(sockets) {
            *path = base.join(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use policy::{Dialect, Echo, ScopePrecedence, ServiceIdEncoding};
    use sa_answer::access::Access;
    use sa_fastpath::overload::Limits;
    use sa_fastpath::worker::Idle;

    use super::*;

    fn said(text: &str) -> String {
        Config::parse(text).unwrap_err().to_string()
    }

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
        let error = said(&text);
        assert!(
            error.starts_with("5:2: unknown field `pth`, expected one of"),
            "{error}"
        );
        let text = MINIMAL.replace("node = \"H1\"", "node = \"H1\"\nnodes = 2");
        let error = said(&text);
        assert!(
            error.starts_with("8:1: unknown field `nodes`, expected one of"),
            "{error}"
        );
    }

    #[test]
    fn an_impossible_lmc_is_refused_with_its_place() {
        let text = MINIMAL.replace("path = \"net\"", "path = \"net\"\nlmc = 8");
        let error = said(&text);
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
        let error = said(&format!("[policy]\necho = \"all\"\n{MINIMAL}"));
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
        let wrong = workers("numa = \"near\"").unwrap_err().to_string();
        assert_eq!(
            wrong,
            "2:8: invalid value: string \"near\", expected \"off\", \"local\" or the number of a \
             NUMA node"
        );
        let wrong = workers("sample_every = 0").unwrap_err().to_string();
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
            let error = ring(wrong).unwrap_err().to_string();
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
        assert_eq!(config.role(), Role::Test);
        assert_eq!(Access::from(config.sa.access), Access::Strict);
        let limits = config.overload.limits();
        assert!(limits.oldest.is_none() && limits.gets.is_none() && limits.busy_reply);
        assert_eq!(limits.others.map(|share| share.per_second), Some(1000));
        let error = said(&format!("[sa]\naccess = \"lax\"\n{MINIMAL}"));
        assert!(error.starts_with("2:10: unknown variant `lax`"), "{error}");
    }

    #[test]
    fn a_file_without_ports_is_refused() {
        let text = MINIMAL.split("[[port]]").next().unwrap();
        let error = said(text);
        assert!(error.starts_with("5:9: no [[port]] section"), "{error}");
    }
}
