//! A fabric with OpenSM on it, as files.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use sa_compiler::pipeline::{Inputs, OnPolicyError};

/// What OpenSM runs with, and what this program is given.
#[derive(Default)]
pub(crate) struct Site {
    pub(crate) name: String,
    pub(crate) net: String,
    /// `opensm.conf`, without the paths of the other files.
    pub(crate) conf: String,
    pub(crate) partitions: Option<String>,
    pub(crate) policy: Option<String>,
    pub(crate) routes: Option<String>,
    /// `torus-2QoS.conf`: with one, this program routes by itself.
    pub(crate) torus: Option<String>,
    /// Where OpenSM runs.
    pub(crate) sm: &'static str,
    /// Who asks.
    pub(crate) clients: Vec<&'static str>,
}

impl Site {
    /// Writes the files into the fabric's directory. Returns what this program is given, with what
    /// OpenSM will write there.
    pub(crate) fn write(&self, dir: &Path) -> Result<Inputs> {
        let put = |name: &str, text: &Option<String>| -> Result<Option<PathBuf>> {
            let path = dir.join(name);
            let written = text.as_ref().map(|text| fs::write(&path, text));
            Ok(written.transpose()?.map(|()| path))
        };
        let inputs = Inputs {
            fabric: dir.to_owned(),
            sm_node: Some(self.sm.to_owned()),
            torus_conf: put("torus-2QoS.conf", &self.torus)?,
            policy: put("policy.conf", &self.policy)?,
            partitions: put("partitions.conf", &self.partitions)?,
            prefix_routes: put("prefix-routes.conf", &self.routes)?,
            on_policy_error: OnPolicyError::None,
            allow_lost_pairs: true,
            ..Inputs::default()
        };
        let mut conf = self.conf.clone();
        for (key, path) in [
            ("torus_config", &inputs.torus_conf),
            ("qos_policy_file", &inputs.policy),
            ("partition_config_file", &inputs.partitions),
            ("prefix_routes_file", &inputs.prefix_routes),
        ] {
            if let Some(path) = path {
                writeln!(conf, "{key} {}", path.display())?;
            }
        }
        let opensm_conf = put("opensm.conf", &Some(conf))?;
        if inputs.torus_conf.is_none() {
            return Ok(Inputs {
                opensm_conf,
                ..inputs
            });
        }
        Ok(Inputs {
            fabric: dir.join("net"),
            lids: Some(dir.join("opensm-subnet.lst")),
            opensm_conf,
            ..inputs
        })
    }

    /// Writes the texts where they can be looked at.
    pub(crate) fn keep(&self) -> Result<PathBuf> {
        let dir = tempfile::tempdir()?.keep();
        fs::write(dir.join("net"), &self.net)?;
        self.write(&dir)?;
        Ok(dir)
    }
}
