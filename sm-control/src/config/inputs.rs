//! What a configuration names for the compiler, and the files that this comes to.
//!
//! The list of files serves two purposes: by their change times a reload is decided, by their sizes
//! a trial. A file that is read and not listed would be read at each reload, and never cause one.
//!
//! ```text
//!  path = "dumps", policy = "qos.conf", partitions = "partitions.conf"
//!  -> qos.conf, partitions.conf, torus-2QoS.conf beside the dumps, dumps/opensm-subnet.lst, ..lst.xz,
//!     dumps/net, dumps/net.xz, dumps/opensm-lfts.dump, .. whether they are there or not
//! ```

use std::path::{Path, PathBuf};

use sa_compiler::drained::Drained;
use sa_compiler::pipeline::{Inputs, torus_conf_beside};
use sa_fabric::intake::Intake;
use sa_wire::Lmc;

use super::{Config, Source};

// One value each, and nothing read: a configuration can be judged on a machine that has none of its files.
impl Config {
    /// What a compilation reads, but for the fabric of a running SA. Nothing is opened here.
    pub fn inputs(&self) -> Inputs {
        let (fabric, routing) = (&self.fabric, &self.routing);
        Inputs {
            // A log tells when a load is through; nobody looks on.
            watch: routing::watch::Watch::default(),
            intake: Intake::new(self.limits),
            fabric: fabric.path.clone(),
            // Filled where a fabric is told by something that runs: an SA, or a sweep.
            from_sa: None,
            swept: None,
            heard_sls: None,
            lids: fabric.lids.clone(),
            lmc: fabric.lmc.and_then(|lmc| Lmc::new(lmc).ok()),
            sm_node: fabric.sm_node.clone(),
            torus_conf: routing.torus_conf.clone(),
            root_guids: routing.root_guids.clone(),
            policy: self.policy.file.clone(),
            dialect: self.policy.dialect,
            reading: self.policy.reading(),
            ulp_names: self.policy.ulp_names.clone(),
            apply_setup: self.policy.apply_setup,
            on_policy_error: self.policy.on_error,
            partitions: self.partitions.file.clone(),
            opensm_conf: fabric.opensm_conf.clone(),
            settings: self.sm.settings.clone(),
            is_manager: fabric.source == Source::Sweep,
            prefix_routes: fabric.prefix_routes.clone(),
            aliases: fabric.aliases.clone(),
            qos: fabric.qos,
            // Of the tool alone: here a configuration says whether QoS is on.
            is_q_given: false,
            engine: routing.engine,
            // Of simulations alone.
            mtu: None,
            vl_cap: None,
            failed: Vec::new(),
            drained: Drained::default(),
            allow_lost_pairs: routing.allow_lost_pairs,
            strict: routing.strict,
        }
    }

    /// The files that a load reads.
    ///
    /// Shape: as configured, without order; a name may be there twice.
    pub(crate) fn input_files(&self) -> Vec<PathBuf> {
        let policy = [&self.policy.file, &self.policy.ulp_names];
        let policy = policy.into_iter().flatten().cloned();
        policy.chain(self.files_but_policy()).collect()
    }

    /// Those but for the policy's, which has a watch of its own. A file that is not there is listed
    /// all the same: that it comes is a change.
    pub(crate) fn files_but_policy(&self) -> Vec<PathBuf> {
        let (fabric, routing) = (&self.fabric, &self.routing);
        let files = [
            &fabric.lids,
            &fabric.aliases,
            &fabric.opensm_conf,
            &fabric.prefix_routes,
            &self.partitions.file,
            &routing.root_guids,
        ];
        let files = files.into_iter().flatten().cloned();
        // It is used where it lies there and none is named.
        let torus_conf = routing.torus_conf.clone();
        // A file that appears there later changes what a load reads.
        let torus_conf = torus_conf.unwrap_or_else(|| torus_conf_beside(&fabric.path));
        let dumps = dumps(&fabric.path);
        files.chain([torus_conf]).chain(dumps).collect()
    }
}

/// The fabric file, or the files of a directory of dumps, each also as `.xz`.
///
/// A path that is no directory now is taken for a file: one that comes later is seen by the next
/// reading.
fn dumps(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    // Named, because other files of OpenSM's directory, such as its log, never lie still.
    let names = DUMPS
        .iter()
        .flat_map(|name| [(*name).to_owned(), format!("{name}.xz")]);
    names.map(|name| path.join(name)).collect()
}

/// What is read of a directory of dumps. As in `sa_fabric`, which reads them.
///
/// What is read by name and not by a pattern, so that a new file of OpenSM's does not cause
/// reloads.
const DUMPS: [&str; 4] = [
    "opensm-subnet.lst",
    "net",
    "opensm-lfts.dump",
    "opensm-sl2vl.dump",
];
