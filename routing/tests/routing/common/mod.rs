//! Reads fabrics and recorded tables of real OpenSM runs. For tests only: it trusts its files.
#![allow(clippy::unwrap_used, reason = "an unexpected file fails the test")]

pub(crate) mod build;
pub(crate) mod dumps;
pub(crate) mod generate;
pub(crate) mod trees;

use std::io::Read;
use std::path::PathBuf;

use routing::{Topology, TorusConfig};

use self::build::FabricBuilder;

/// A case of the torus corpus.
pub(crate) struct Case {
    pub(crate) name: String,
    directory: PathBuf,
}

/// All cases, or those whose name begins with one of `prefixes`.
pub(crate) fn cases() -> Vec<Case> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/torus");
    let entries = std::fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut cases: Vec<_> = entries
        .filter(|path| path.is_dir())
        .map(|directory| Case {
            name: directory
                .file_name()
                .unwrap()
                .to_string_lossy()
                .into_owned(),
            directory,
        })
        .collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(cases.len() >= 35, "the corpus is incomplete");
    cases
}

impl Case {
    pub(crate) fn is_up(&self) -> bool {
        self.text("CASE.txt").contains("result: up")
    }

    pub(crate) fn has(&self, file: &str) -> bool {
        self.directory.join(file).exists()
    }

    pub(crate) fn text(&self, file: &str) -> String {
        let path = self.directory.join(file);
        let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        if file.ends_with(".xz") {
            let mut text = String::new();
            lzma_rust2::XzReader::new(&bytes[..], true)
                .read_to_string(&mut text)
                .unwrap();
            text
        } else {
            String::from_utf8(bytes).unwrap()
        }
    }

    pub(crate) fn config(&self) -> TorusConfig {
        TorusConfig::parse(&self.text("torus-2QoS.conf")).unwrap()
    }

    /// The fabric with the LIDs that OpenSM gave, or with any LIDs where it refused.
    pub(crate) fn topology(&self) -> Topology {
        let lmc = u8::from(self.text("CASE.txt").contains("-l 1"));
        let mut fabric = FabricBuilder {
            lmc,
            op_vls: 4,
            ..FabricBuilder::default()
        };
        if self.has("opensm.conf") {
            for line in self.text("opensm.conf").lines() {
                if let Some(code) = line.strip_prefix("max_op_vls ") {
                    fabric.op_vls = code.trim().parse::<u8>().unwrap().min(4);
                }
            }
        }
        if self.has("opensm-subnet.lst.xz") {
            dumps::read_subnet_list(&self.text("opensm-subnet.lst.xz"), &mut fabric);
        } else {
            dumps::read_net(&self.text("net.xz"), &mut fabric);
        }
        fabric.build()
    }
}
