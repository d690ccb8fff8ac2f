//! What a compilation reads: paths and options, all in one value.
//!
//! Every verb that takes a fabric, and the daemon, ends up with an [`Inputs`]. Only what was said
//! is in it; what follows where nothing was said (a torus configuration beside the fabric, the
//! engine, QoS) is decided while reading, in one place for all, so that a verb and the daemon never
//! differ about the same files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use policy::{Dialect, ParseOptions};
use routing::EngineKind;
use routing::engine::{self, Needs};
use routing::watch::Watch;
use sa_fabric::intake::Intake;
use sa_fabric::options::Setting;
use sa_fabric::sa_records::SaFabric;
use sa_wire::{DataVls, Lmc, Mtu};
use serde::Deserialize;

use crate::drained::Drained;
use crate::heard_sls::HeardSls;

/// Paths and options; every verb that takes a fabric, and the daemon, ends up with one of these.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// What reads the files, within limits; it also notes their digests.
    pub intake: Intake,
    /// Fabric file or directory of dumps.
    pub fabric: PathBuf,
    /// What a running SA told, in place of `fabric` and `lids`, which are then not looked at.
    pub from_sa: Option<Arc<SaFabric>>,
    /// What our own SM found, with the LIDs that it gives, in place of `fabric` and `lids`. Engines and partitions are as
    /// with a file: it is this SM that programs them.
    pub swept: Option<Arc<SaFabric>>,
    /// SLs that this SA was heard to give to pairs of ports; none where they are those of policy and
    /// partitions.
    pub heard_sls: Option<Arc<HeardSls>>,
    /// `opensm-subnet.lst` to take LIDs from.
    pub lids: Option<PathBuf>,
    /// LMC of CA and router ports, over `opensm_conf`; none: what that or the fabric says.
    pub lmc: Option<Lmc>,
    /// Node that the SM runs on, by name or 0xGUID; none: what the fabric says, else the first CA.
    pub sm_node: Option<String>,
    /// `torus-2QoS.conf`, where it is named; see [`Self::torus_conf`].
    pub torus_conf: Option<PathBuf>,
    /// File of the roots of `updn` and `ftree`; else what `opensm_conf` names beside itself.
    pub root_guids: Option<PathBuf>,
    /// QoS policy.
    pub policy: Option<PathBuf>,
    /// Dialect of the policy, by default detected.
    pub dialect: Option<Dialect>,
    /// How the policy is read and meant, where not as its dialect has it.
    pub reading: ParseOptions,
    /// Names that services may be called by, besides the built-in ones: one file for all policies.
    pub ulp_names: Option<PathBuf>,
    /// Take the SL2VL tables of the policy's `qos-setup` for those in force.
    pub apply_setup: bool,
    /// What a broken policy file means.
    pub on_policy_error: OnPolicyError,
    /// `partitions.conf`; none: the P_Key tables of an SA, else everybody in the default partition.
    pub partitions: Option<PathBuf>,
    /// `opensm.conf`; none: OpenSM's defaults, but with QoS on.
    pub opensm_conf: Option<PathBuf>,
    /// Options over those of `opensm_conf`, one by one.
    pub settings: Vec<Setting>,
    /// Who reads them is the Subnet Manager: options that only an SM follows are followed.
    pub is_manager: bool,
    /// `prefix-routes.conf`; else what `opensm_conf` names beside itself.
    pub prefix_routes: Option<PathBuf>,
    /// `opensm-sa.dump` to take alias GUIDs from.
    pub aliases: Option<PathBuf>,
    /// QoS on or off, over `opensm_conf`, without which it is on; with one that does not say it is
    /// off, as in OpenSM, unless a running SA says otherwise.
    pub qos: Option<bool>,
    /// On instead where `opensm_conf` does not say: that OpenSM runs with `-Q`.
    pub is_q_given: bool,
    /// Routing engine; none for what the inputs call for.
    pub engine: Option<EngineKind>,
    /// MTU capability of ports that the fabric file says nothing about.
    pub mtu: Option<Mtu>,
    /// Data VLs of ports that the fabric file says nothing about.
    pub vl_cap: Option<DataVls>,
    /// Parts to be taken as failed: SWITCH or SWITCH:PORT. LIDs stay.
    pub failed: Vec<String>,
    /// Parts that routes are to leave, though they are there.
    pub drained: Drained,
    /// Publish although wired pairs have no path. Credit loops are never allowed.
    pub allow_lost_pairs: bool,
    /// Refuse loops that packets between hosts do not close, too: those that need packets from or to
    /// port 0 of a switch, and those that unicast and multicast close together.
    pub strict: bool,
    /// Who is told how far reading, routing and the rest have come.
    pub watch: Watch,
}

/// Name of the file beside a fabric that says how its torus lies.
const TORUS_CONF: &str = "torus-2QoS.conf";

/// Where a torus configuration lies beside a fabric: in the directory given, or in that of the
/// file.
pub fn torus_conf_beside(fabric: &Path) -> PathBuf {
    if fabric.is_dir() {
        fabric.join(TORUS_CONF)
    } else {
        fabric.with_file_name(TORUS_CONF)
    }
}

/// What a broken policy file means.
///
/// Deviation 4: OpenSM drops the policy that was in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnPolicyError {
    /// The load fails and the snapshot in service stays.
    #[default]
    Fail,
    /// Served without a policy, as OpenSM does.
    None,
}

impl Inputs {
    /// The torus configuration: the one that is named, else the file beside the fabric, unless an
    /// engine is named that has no use for it or the fabric is that of a running SA.
    pub fn torus_conf(&self) -> Option<PathBuf> {
        // A file that was named is taken even if it is not there, so that reading it says so.
        if self.torus_conf.is_some() || !self.looks_beside() {
            return self.torus_conf.clone();
        }
        Some(torus_conf_beside(&self.fabric)).filter(|path| path.is_file())
    }

    /// A running SA has no directory to look into, and a swept fabric none either.
    fn looks_beside(&self) -> bool {
        self.is_open_to_torus() && self.from_sa.is_none() && self.swept.is_none()
    }

    /// True when a torus configuration may decide: nobody named an engine that has no use for one.
    pub fn is_open_to_torus(&self) -> bool {
        // No engine named: any may be the one.
        let needs = self.engine.map(|kind| engine::by_kind(kind).needs());
        needs.is_none_or(|needs| needs == Needs::TorusConf)
    }
}
