//! `[local_service]`: answering the path queries of this host's kernel.
//!
//! The section decides two things: what answers come from (`paths`), and how long the kernel waits
//! for them (`timeout_ms`). With a copy of the SA's snapshot nothing is asked of the SA;
//! `follow_sa` then costs one MAD a second and keeps an old copy from being believed.
//! `docs/local-service.md` says how to set it up.
//!
//! ```toml
//! [local_service]                # all with their defaults
//! paths = "snapshot"             # or "sa"
//! timeout_ms = 300
//! look_ms = 100
//! follow_sa = false
//! class = "/sys/class/infiniband"
//! # addresses = "addresses"      # without it IP_RESOLVE is refused
//! ```

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use sa_local::options::{CacheSection, FarSubnet};
use serde::Deserialize;
use thiserror::Error;

use super::{Config, Source};

/// `[local_service]`. Present and empty it serves the kernel from the snapshot of this daemon.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LocalServiceSection {
    /// What paths come from.
    pub paths: PathsFrom,
    /// How long the kernel is to wait for an answer before it asks the SA itself; it remembers this
    /// for the whole host. Units: ms, 100 to 200000.
    pub timeout_ms: u32,
    /// File of GIDs by IP address, for IP_RESOLVE; without one it is refused.
    pub addresses: Option<PathBuf>,
    /// Nothing is answered while the SA of the port serves another snapshot than the one here. It
    /// takes an SA that says which, a `sapphired`.
    pub follow_sa: bool,
    /// How often this host's ports are looked at, and the SA is asked what it serves. Units: ms.
    pub look_ms: NonZeroU32,
    /// Where the kernel tells of this host's ports; another place is for tests.
    pub class: PathBuf,
    /// What the SA said, with `paths = "sa"`.
    pub cache: CacheSection,
    /// Subnets beyond a router that the way back from is known of.
    #[serde(rename = "far_subnet")]
    pub far_subnets: Vec<FarSubnet>,
}

impl Default for LocalServiceSection {
    fn default() -> Self {
        Self {
            paths: PathsFrom::default(),
            timeout_ms: 300,
            addresses: None,
            follow_sa: false,
            look_ms: LOOK,
            class: "/sys/class/infiniband".into(),
            cache: CacheSection::default(),
            far_subnets: Vec::new(),
        }
    }
}

impl LocalServiceSection {
    /// How often ports are looked at.
    pub fn look(&self) -> Duration {
        Duration::from_millis(self.look_ms.get().into())
    }
}

/// What paths come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PathsFrom {
    /// The snapshot in service here.
    #[default]
    Snapshot,
    /// The SA of the port that the kernel asks for, and what it said before.
    Sa,
}

/// 100 ms: how long an answer of a fabric before may be given after this host's port changed.
const LOOK: NonZeroU32 = NonZeroU32::new(100).unwrap();

/// Sections that would be without effect, or answer from nothing. Each is an error, because a host
/// that is believed to be served and is not shows nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LocalContradiction {
    /// There is no fabric, and nobody needs none.
    #[error(
        "source = \"none\" is for [local_service] with paths = \"sa\", which needs no snapshot; say \
         where the fabric is described"
    )]
    NoFabric,
    /// There is no fabric, and a port to answer on.
    #[error(
        "source = \"none\": there is nothing to answer with on a [[port]]; remove the ports, or say \
         where the fabric is described"
    )]
    Ports,
    /// There is no snapshot to compare with the SA's.
    #[error(
        "follow_sa compares snapshots, and with source = \"none\" there is none here; remove it: \
         what the SA said is forgotten when it serves another"
    )]
    FollowSa,
}

impl Config {
    /// Errors: [`LocalContradiction`].
    pub(super) fn can_serve_locally(&self) -> Result<(), LocalContradiction> {
        let section = self.local_service.as_ref();
        let from = section.map(|section| section.paths);
        match (self.fabric.source, from) {
            (Source::None, None | Some(PathsFrom::Snapshot)) => Err(LocalContradiction::NoFabric),
            (Source::None, _) if !self.ports.is_empty() => Err(LocalContradiction::Ports),
            (Source::None, _) if section.is_some_and(|section| section.follow_sa) => {
                Err(LocalContradiction::FollowSa)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use sa_wire::SubnetPrefix;

    use super::*;
    use crate::config::ConfigProblem;

    const FILES: &str = "[fabric]\nsource = \"files\"\npath = \"net\"\n";

    fn section(text: &str) -> Result<LocalServiceSection, ConfigProblem> {
        let config = Config::parse(&format!("{FILES}[local_service]\n{text}"))?;
        Ok(config.local_service.unwrap())
    }

    #[test]
    fn an_empty_section_is_enough_and_needs_no_port() {
        let plain = section("").unwrap();
        assert_eq!(plain.paths, PathsFrom::Snapshot);
        assert_eq!(plain.timeout_ms, 300);
        assert_eq!(plain.cache.budget_ms.get(), 50);
        assert!(plain.addresses.is_none() && plain.far_subnets.is_empty());
    }

    #[test]
    fn everything_can_be_said() {
        let full = section(
            "paths = \"sa\"\ntimeout_ms = 500\naddresses = \"gids\"\nlook_ms = 20\n\
             [local_service.cache]\npaths = 9\nkeep_s = 1\nkeep_failure_ms = 0\nbudget_ms = 7\n\
             askers = 2\n[[local_service.far_subnet]]\nprefix = \"fec0:0:0:1::/64\"\n\
             router_lid = 77\n",
        )
        .unwrap();
        assert_eq!(full.paths, PathsFrom::Sa);
        assert_eq!(full.cache.paths.get(), 9);
        let [far] = full.far_subnets[..] else {
            panic!("one far subnet")
        };
        assert_eq!(far.prefix, SubnetPrefix(0xfec0_0000_0000_0001));
        assert_eq!(far.router_lid, 77);
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_place() {
        for (wrong, expected) in [
            (
                "timeout_ms = 99",
                "5:14: invalid value: integer `99`, expected 100 to 200000",
            ),
            ("look_ms = 0", "expected 1 to 60000 ms"),
            ("paths = \"cache\"", "unknown variant `cache`"),
            (
                "[local_service.cache]\naskers = 0",
                "6:10: invalid value: integer `0`, expected 1 to",
            ),
            (
                "[[local_service.far_subnet]]\nprefix = \"fec0::1\"\nrouter_lid = 1",
                "a subnet prefix such as",
            ),
        ] {
            let error = section(wrong).unwrap_err().to_string();
            assert!(error.contains(expected), "{wrong}: {error}");
        }
    }

    #[test]
    fn no_source_is_for_a_cache_alone() {
        let none = "[fabric]\nsource = \"none\"\n";
        let port = "[[port]]\ntransport = \"umad\"\n";
        let cache = "[local_service]\npaths = \"sa\"\n";
        assert!(Config::parse(&format!("{none}{cache}")).is_ok());
        for (wrong, expected) in [
            (
                format!("{none}[local_service]\n"),
                "is for [local_service] with paths",
            ),
            (format!("{none}{port}"), "is for [local_service] with paths"),
            (
                format!("{none}{cache}{port}"),
                "nothing to answer with on a [[port]]",
            ),
            (
                format!("{none}{cache}follow_sa = true\n"),
                "follow_sa compares snapshots",
            ),
            (
                format!("{none}path = \"x\"\n{cache}"),
                "`path` contradicts this source",
            ),
        ] {
            let error = Config::parse(&wrong).unwrap_err().to_string();
            assert!(error.contains(expected), "{wrong}: {error}");
        }
    }
}
