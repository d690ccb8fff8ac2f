//! `[fabric]` of `sapphired`'s configuration where the fabric is read from a running SA.
//!
//! Keys that contradict each other are errors, never one winning over the other: a `path` beside
//! `source = "sa"` is a file that somebody believes to be read.

use std::time::Duration;

use routing::EngineKind;
use routing::engine::Needs;
use sa_source::{
    Ask, OnDifference, RETRIES, Reopening, SL_PAIRS, SaReader, SaSource, SaTransport, TIMEOUT_MS,
};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use thiserror::Error;

use super::{Config, FabricSection, PortSection, Source};

/// `[fabric.sa]`: how a running SA is asked, and how far it is believed.
///
/// Beside an OpenSM it has no `transport`: that is asked through its own socket.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Written")]
pub struct FabricSaSection {
    /// What to ask through; absent: what the first `[[port]]` uses.
    pub transport: Option<SaTransport>,
    /// LID of the SA; absent: what the SM wrote into the port.
    pub sa_lid: Option<u16>,
    /// How long to wait for each try, of a whole table too.
    pub timeout_ms: u32,
    /// Tries after the first.
    pub retries: u32,
    /// Paths asked of the SA and compared with each new snapshot; 0: none.
    pub samples: u32,
    /// Pairs of LIDs whose SLs may be asked for where the SM's engine chooses them; 0: none.
    pub sl_pairs: u32,
    /// What it means if one of them differs.
    pub on_difference: OnDifference,
    /// How often everything is read again; 0: never. Beside an OpenSM `[opensm]` says it.
    pub poll_ms: u32,
}

impl FabricSaSection {
    /// What reads through `ask`, and compares as this section has it.
    pub fn live_source(&self, ask: Box<dyn Ask>) -> SaReader {
        SaReader::new(ask, self.samples, self.on_difference).with_sl_pairs(self.sl_pairs)
    }
}

impl Default for FabricSaSection {
    fn default() -> Self {
        Self {
            transport: None,
            sa_lid: None,
            timeout_ms: TIMEOUT_MS,
            retries: RETRIES,
            samples: SAMPLES,
            sl_pairs: SL_PAIRS,
            on_difference: OnDifference::default(),
            poll_ms: POLL_MS,
        }
    }
}

impl Config {
    /// How often to read a running SA again, or to sweep, without being told of a change; none:
    /// never, or no such source.
    ///
    /// A poll is the net below traps and Reports: it finds what nobody told.
    pub fn poll(&self) -> Option<Duration> {
        let own = |section: &Option<FabricSaSection>| {
            section.as_ref().map_or(POLL_MS, |section| section.poll_ms)
        };
        let poll_ms = match &self.opensm {
            // With an OpenSM beside this daemon its section says it, whatever `[fabric.sa]` has.
            Some(opensm) => opensm.poll_ms,
            None if self.fabric.source == Source::Sweep => {
                self.sm.manager.sweeps.interval.saturating_mul(1000)
            }
            None if self.fabric.source.is_live() => own(&self.fabric.sa),
            None => 0,
        };
        (poll_ms != 0).then(|| Duration::from_millis(poll_ms.into()))
    }

    /// The SA to ask, where the fabric is read from one through a port. None for other sources;
    /// a configuration that was parsed has one with `source = "sa"`.
    pub fn sa_source(&self) -> Option<SaSource> {
        if self.fabric.source != Source::Sa {
            return None;
        }
        let section = self.fabric.sa.clone().unwrap_or_default();
        let ports = self.ports.iter();
        let first = || ports.filter_map(PortSection::way_to_fabric).next();
        Some(SaSource {
            transport: section.transport.or_else(first)?,
            sa_lid: section.sa_lid,
            timeout_ms: section.timeout_ms,
            retries: section.retries,
        })
    }

    /// The SA that `source = "sa"` names, to be read again and again; none for other sources.
    /// Nothing is opened yet.
    pub fn live_source(&self) -> Option<SaReader> {
        let source = self.sa_source()?;
        let section = self.fabric.sa.clone().unwrap_or_default();
        Some(section.live_source(Box::new(Reopening::new(source))))
    }

    /// A ring leads to processes of this machine only.
    fn has_way_to_fabric(&self) -> bool {
        let mut ports = self.ports.iter();
        ports.any(|port| port.way_to_fabric().is_some())
    }

    /// Errors: [`SourceContradiction`].
    ///
    /// Looked at once all sections are read, as each of these is about two of them.
    pub(super) fn can_ask(&self) -> Result<(), SourceContradiction> {
        // Those that compute paths from the cables alone, or from roots besides.
        let own_paths = self.routing.engine.filter(|engine| {
            let engine = routing::engine::by_kind(*engine);
            matches!(engine.needs(), Needs::Nothing | Needs::Roots)
        });
        match (self.fabric.source, self.sa_source()) {
            (Source::Sa, None) => Err(SourceContradiction::NoPort),
            (Source::OpenSm, _) if self.opensm.is_none() => Err(SourceContradiction::NoSocket),
            (Source::Sweep, _) if self.opensm.is_some() => Err(SourceContradiction::TwoManagers),
            (Source::Sweep, _) if !self.has_way_to_fabric() => Err(SourceContradiction::NoSmPort),
            (source, _) => match own_paths.filter(|_| source.is_live()) {
                Some(engine) => Err(SourceContradiction::OwnPaths { engine }),
                None => Ok(()),
            },
        }
    }
}

/// A fabric that cannot be read as `[fabric]` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SourceContradiction {
    /// Nothing to ask an SA through.
    #[error(
        "source = \"sa\": no [[port]] leads to the fabric; give [fabric.sa] a transport, \"umad\" or \
         \"ibsim\""
    )]
    NoPort,
    /// Nowhere to ask OpenSM.
    #[error(
        "source = \"opensm\": an [opensm] section says where its socket is; add one, an empty one \
         will do"
    )]
    NoSocket,
    /// Nothing to send SMPs by.
    #[error(
        "source = \"sweep\": no [[port]] leads to the fabric; add one with transport = \"umad\" or \"ibsim\""
    )]
    NoSmPort,
    /// An SM of our own beside an OpenSM.
    #[error(
        "source = \"sweep\" makes this process the Subnet Manager, and [opensm] says that an OpenSM is beside it; remove \
         one of the two"
    )]
    TwoManagers,
    /// An engine that makes paths of its own beside an SM that has made them.
    #[error(
        "[routing] engine = \"{}\" contradicts this source: paths are those that the SM made; remove it",
        engine.name()
    )]
    OwnPaths {
        /// Which.
        engine: EngineKind,
    },
}

/// Keys of `[fabric]` and `[fabric.sa]` that contradict each other, or lack one.
///
/// Found while one section is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
enum KeyContradiction {
    #[error("missing field `path`: {what}")]
    NoPath { what: &'static str },
    #[error("[fabric.sa] is for source = \"sa\" or \"opensm\"")]
    NoSa,
    #[error("`{key}` contradicts this source, {why}; remove it")]
    OfFiles {
        key: &'static str,
        why: &'static str,
    },
    #[error(
        "`{key}` contradicts source = \"snapshot\", which was compiled with it or without; remove it"
    )]
    OfCompilation { key: &'static str },
    #[error(
        "[fabric.sa] transport contradicts source = \"opensm\", which is asked through its own \
         socket; remove it"
    )]
    OwnSocket,
    #[error("missing field `node`: the node of the simulator to attach to")]
    NoNode,
    #[error("`{key}` needs transport = \"{transport}\" in the same section")]
    OnlyFor {
        key: &'static str,
        transport: &'static str,
    },
}

/// A `[fabric]` whose keys agree.
///
/// For serde's `deserialize_with`. Errors: [`KeyContradiction`], in words.
pub(super) fn fabric<'de, D: Deserializer<'de>>(from: D) -> Result<FabricSection, D::Error> {
    let section = FabricSection::deserialize(from)?;
    section.keys_agree().map_err(D::Error::custom)?;
    Ok(section)
}

impl FabricSection {
    /// Errors: the first key that contradicts the source.
    fn keys_agree(&self) -> Result<(), KeyContradiction> {
        if matches!(self.source, Source::Files | Source::Snapshot) {
            return self.file_keys_agree();
        }
        let given = [
            ("path", !self.path.as_os_str().is_empty()),
            ("lids", self.lids.is_some()),
            ("sm_node", self.sm_node.is_some()),
            ("lmc", self.lmc.is_some()),
        ];
        if let Some((key, _)) = given.into_iter().find(|(_, given)| *given) {
            let why = self.why();
            return Err(KeyContradiction::OfFiles { key, why });
        }
        let has_transport = self.sa.as_ref().is_some_and(|sa| sa.transport.is_some());
        if self.source == Source::OpenSm && has_transport {
            return Err(KeyContradiction::OwnSocket);
        }
        Ok(())
    }

    /// Of sources that are files: a path must be there, and an SA must not.
    fn file_keys_agree(&self) -> Result<(), KeyContradiction> {
        if self.path.as_os_str().is_empty() {
            let what = match self.source {
                Source::Snapshot => "the snapshot file",
                _ => "the fabric file or directory",
            };
            return Err(KeyContradiction::NoPath { what });
        }
        self.snapshot_needs_no_files()?;
        match self.sa {
            Some(_) => Err(KeyContradiction::NoSa),
            None => Ok(()),
        }
    }

    /// A snapshot has all that other files would say.
    fn snapshot_needs_no_files(&self) -> Result<(), KeyContradiction> {
        let given = [
            ("lids", self.lids.is_some()),
            ("sm_node", self.sm_node.is_some()),
            ("lmc", self.lmc.is_some()),
            ("opensm_conf", self.opensm_conf.is_some()),
            ("prefix_routes", self.prefix_routes.is_some()),
            ("aliases", self.aliases.is_some()),
            ("qos", self.qos.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((key, _)) if self.source == Source::Snapshot => {
                Err(KeyContradiction::OfCompilation { key })
            }
            _ => Ok(()),
        }
    }

    /// Why keys of files have no place here.
    ///
    /// Ends a sentence that begins with the key.
    const fn why(&self) -> &'static str {
        match self.source {
            Source::None => "which has no fabric",
            Source::Sweep => "which finds nodes and gives LIDs itself",
            Source::Fleet => "whose snapshots were compiled elsewhere",
            _ => "from which nodes, LIDs and the SM's port are read",
        }
    }
}

/// `[fabric.sa]` as it is written.
///
/// Flat, as TOML has it; `transport` and its keys become one value when all of them are known.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    /// By its name; the keys below belong to one of the two.
    transport: Option<Kind>,
    /// Of `umad`: the kernel's name, such as `mlx5_0`.
    device: Option<String>,
    /// Of `umad`: the port of that device.
    port: Option<u8>,
    /// Of `ibsim`: the node to attach to.
    node: Option<String>,
    /// Of `ibsim`: the simulator's socket.
    sockname: Option<String>,
    /// Bounds are checked with those of all numbers, in `ranges`.
    sa_lid: Option<u16>,
    #[serde(default = "timeout_ms")]
    timeout_ms: u32,
    #[serde(default = "retries")]
    retries: u32,
    #[serde(default = "samples")]
    samples: u32,
    #[serde(default = "sl_pairs")]
    sl_pairs: u32,
    #[serde(default)]
    on_difference: OnDifference,
    #[serde(default = "poll_ms")]
    poll_ms: u32,
}

/// Ways to an SA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Umad,
    Ibsim,
}

impl TryFrom<Written> for FabricSaSection {
    type Error = KeyContradiction;

    fn try_from(written: Written) -> Result<Self, KeyContradiction> {
        Ok(Self {
            transport: written.transport()?,
            sa_lid: written.sa_lid,
            timeout_ms: written.timeout_ms,
            retries: written.retries,
            samples: written.samples,
            sl_pairs: written.sl_pairs,
            on_difference: written.on_difference,
            poll_ms: written.poll_ms,
        })
    }
}

impl Written {
    /// None where no key of it is given. Errors: a key of the other transport, or one that is
    /// missing.
    fn transport(&self) -> Result<Option<SaTransport>, KeyContradiction> {
        let transport = match (self.transport, self.node.clone()) {
            (Some(Kind::Ibsim), None) => return Err(KeyContradiction::NoNode),
            (Some(Kind::Ibsim), Some(node)) => Some(SaTransport::Ibsim {
                node,
                sockname: self.sockname.clone(),
            }),
            (_, Some(_)) => return Err(only_for("node", "ibsim")),
            (Some(Kind::Umad), None) => Some(SaTransport::Umad {
                device: self.device.clone(),
                port: self.port,
            }),
            (None, None) => None,
        };
        self.keys_of_others()?;
        Ok(transport)
    }

    /// Errors: a key of another transport than this one.
    fn keys_of_others(&self) -> Result<(), KeyContradiction> {
        let is_umad = self.transport == Some(Kind::Umad);
        let is_ibsim = self.transport == Some(Kind::Ibsim);
        match (&self.device, self.port, &self.sockname) {
            (Some(_), _, _) if !is_umad => Err(only_for("device", "umad")),
            (_, Some(_), _) if !is_umad => Err(only_for("port", "umad")),
            (_, _, Some(_)) if !is_ibsim => Err(only_for("sockname", "ibsim")),
            _ => Ok(()),
        }
    }
}

const fn only_for(key: &'static str, transport: &'static str) -> KeyContradiction {
    KeyContradiction::OnlyFor { key, transport }
}

const fn timeout_ms() -> u32 {
    TIMEOUT_MS
}

const fn retries() -> u32 {
    RETRIES
}

const fn poll_ms() -> u32 {
    POLL_MS
}

const fn samples() -> u32 {
    SAMPLES
}

const fn sl_pairs() -> u32 {
    SL_PAIRS
}

const SAMPLES: u32 = 64;
/// Ten seconds, as OpenSM sweeps by default.
const POLL_MS: u32 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigProblem;

    const PORT: &str = "[[port]]\ntransport = \"umad\"\ndevice = \"mlx5_0\"\n";

    fn parse(fabric: &str) -> Result<Config, ConfigProblem> {
        Config::parse(&format!("[fabric]\n{fabric}\n{PORT}"))
    }

    #[test]
    fn an_sa_is_asked_through_the_first_port_or_its_own() {
        let config = parse("source = \"sa\"").unwrap();
        let source = config.sa_source().unwrap();
        let umad = SaTransport::Umad {
            device: Some("mlx5_0".to_owned()),
            port: Some(1),
        };
        assert_eq!(source, SaSource::over(umad));
        let own = "source = \"sa\"\n[fabric.sa]\ntransport = \"ibsim\"\nnode = \"H1\"\nsa_lid = 7\n\
                   timeout_ms = 500\nretries = 0\nsamples = 9\non_difference = \"warn\"";
        let config = parse(own).unwrap();
        let source = config.sa_source().unwrap();
        let node = "H1".to_owned();
        let sockname = None;
        assert_eq!(source.transport, SaTransport::Ibsim { node, sockname });
        assert_eq!(
            (source.sa_lid, source.timeout_ms, source.retries),
            (Some(7), 500, 0)
        );
        let section = config.fabric.sa.unwrap();
        assert_eq!(
            (section.samples, section.on_difference),
            (9, OnDifference::Warn)
        );
        assert_eq!(config.opensm.map(drop), None);
        let beside = parse("source = \"opensm\"\n[opensm]\npoll_ms = 70").unwrap();
        assert!(beside.sa_source().is_none());
        assert_eq!(beside.poll(), Some(Duration::from_millis(70)));
        let alone = parse("source = \"sa\"").unwrap();
        assert_eq!(alone.poll(), Some(Duration::from_secs(10)));
        let never = parse("source = \"sa\"\n[fabric.sa]\npoll_ms = 0").unwrap();
        assert_eq!(never.poll(), None);
    }

    #[test]
    fn contradicting_keys_are_refused_with_their_place() {
        for (fabric, expected) in [
            ("source = \"files\"", "1:1: missing field `path`"),
            ("source = \"sa\"\npath = \"net\"", "3:8: `path` contradicts"),
            ("source = \"sa\"\nlids = \"lst\"", "3:8: `lids` contradicts"),
            ("source = \"opensm\"\nlmc = 1", "3:7: `lmc` contradicts"),
            (
                "source = \"opensm\"\nsm_node = \"a\"",
                "3:11: `sm_node` contradicts",
            ),
            (
                "source = \"files\"\npath = \"net\"\n[fabric.sa]\nsa_lid = 1",
                "4:1: [fabric.sa] is for",
            ),
            (
                "source = \"opensm\"",
                "2:10: source = \"opensm\": an [opensm]",
            ),
            (
                "source = \"opensm\"\n[fabric.sa]\ntransport = \"umad\"",
                "4:13: [fabric.sa] transport contradicts",
            ),
            (
                "source = \"sa\"\n[fabric.sa]\ntransport = \"ibsim\"",
                "3:1: missing field `node`",
            ),
            (
                "source = \"sa\"\n[fabric.sa]\nnode = \"H1\"",
                "4:8: `node` needs",
            ),
            (
                "source = \"sa\"\n[fabric.sa]\nport = 1",
                "4:8: `port` needs",
            ),
            (
                "source = \"sa\"\n[fabric.sa]\ntransport = \"umad\"\nsockname = \"x\"",
                "5:12: `sockname` needs",
            ),
            (
                "source = \"sa\"\n[fabric.sa]\nsa_lid = 0",
                "4:10: invalid value",
            ),
            (
                "source = \"sa\"\n[fabric.sa]\ntimeout_ms = 0",
                "4:14: invalid value",
            ),
            (
                "source = \"sa\"\n[fabric.sa]\nx = 0",
                "4:1: unknown field `x`",
            ),
        ] {
            let error = parse(fabric).map(drop).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{fabric}: {error}");
        }
        let ring = "[fabric]\nsource = \"sa\"\n[[port]]\ntransport = \"ring\"\npath = \"x\"\n";
        let error = Config::parse(ring).unwrap_err().to_string();
        assert!(error.contains("no [[port]] leads to the fabric"), "{error}");
        let minhop = format!("[fabric]\nsource = \"sa\"\n[routing]\nengine = \"minhop\"\n{PORT}");
        let error = Config::parse(&minhop).unwrap_err().to_string();
        assert!(error.contains("engine = \"minhop\""), "{error}");
    }
}
