//! The configuration, with comments for who reads it first.
//!
//! Keys that are nobody's business yet are left out: the examples have all of them. Paths below the
//! directory of the file are written as they are seen from there, others in full, as `sapphired`
//! reads them from its file's directory and not from where it was started.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use sa_source::SaTransport;

use super::places::{Places, directory};
use super::{Source, Wanted};
use crate::toml::quoted;

/// The whole file.
pub(super) fn of(wanted: &Wanted) -> String {
    let places = Places::of(wanted.source, &wanted.output);
    let mut text = Text {
        directory: directory(&wanted.output),
        text: String::new(),
    };
    text.head(wanted);
    text.fabric(wanted);
    text.files(wanted);
    text.sources(wanted.source, &places);
    if let Some(via) = &wanted.via {
        text.port(via);
    }
    text.operating(&places);
    text.text
}

struct Text {
    directory: PathBuf,
    text: String,
}

impl Text {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// A key with a path of the caller's.
    fn given(&mut self, key: &str, path: &Path) {
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let seen = whole.strip_prefix(&self.directory).unwrap_or(&whole);
        self.path(key, seen);
    }

    /// A key with a path as the daemon is to read it.
    fn path(&mut self, key: &str, path: &Path) {
        let seen = quoted(&path.display().to_string());
        // A String takes everything.
        let _ = writeln!(self.text, "{key} = {seen}");
    }

    fn head(&mut self, wanted: &Wanted) {
        let what = match wanted.source {
            Source::Files => "serves a fabric of files",
            Source::Opensm => {
                "answers beside an OpenSM, which stays the Subnet Manager (docs/operating.md)"
            }
            Source::Sweep => "is the Subnet Manager (docs/sm.md)",
            Source::Snapshot => "answers this host's kernel (docs/local-service.md)",
        };
        self.line(&format!(
            "# A sapphired that {what}. Written by `sapphire init`."
        ));
        self.line(
            "# Relative paths begin at the directory of this file. docs/examples has every key.",
        );
    }

    fn fabric(&mut self, wanted: &Wanted) {
        self.line("\n[fabric]");
        let (comment, source) = match wanted.source {
            Source::Files => (
                "# The wiring; read again at SIGHUP, and with watch = true whenever it changes.",
                "files",
            ),
            Source::Opensm => (
                "# What OpenSM has made of the subnet, followed as it changes it.",
                "opensm",
            ),
            Source::Sweep => (
                "# The subnet itself: found, given LIDs, routed and programmed from here.",
                "sweep",
            ),
            Source::Snapshot => (
                "# A snapshot of the SA; taken whenever another one lies there.",
                "snapshot",
            ),
        };
        self.line(comment);
        self.line(&format!("source = {}", quoted(source)));
        if let Some(path) = &wanted.fabric {
            self.given("path", path);
        }
        match wanted.source {
            Source::Files => self.line("watch = false"),
            Source::Snapshot => self.line("watch = true"),
            Source::Opensm | Source::Sweep => {}
        }
        if let Some(path) = &wanted.opensm_conf {
            self.line("# Options that answers depend on: subnet_prefix, subnet_timeout, qos, lmc and others.");
            self.given("opensm_conf", path);
        }
    }

    /// Routes, policy and partitions.
    fn files(&mut self, wanted: &Wanted) {
        if wanted.source == Source::Snapshot {
            return;
        }
        self.line("\n[routing]");
        self.line("# \"auto\": torus-2qos with a torus_conf, the tables of dumps, else minhop. docs/fabrics.md says which fabric wants which.");
        self.line("engine = \"auto\"");
        if let Some(path) = &wanted.torus_conf {
            self.given("torus_conf", path);
        }
        if let Some(path) = &wanted.policy {
            self.line("\n[policy]");
            self.line("# Which path gets which service level. `sapphire policy lint` finds what is not meant so.");
            self.given("file", path);
            self.line("watch = true");
        }
        if let Some(path) = &wanted.partitions {
            self.line("\n[partitions]");
            self.given("file", path);
        }
    }

    /// Sections of their own.
    fn sources(&mut self, source: Source, places: &Places) {
        match source {
            Source::Files => {}
            Source::Opensm => {
                self.line("\n# The preload library hands this daemon what OpenSM need not answer (docs/operating.md).");
                self.line("[opensm]");
                self.path("socket", &places.opensm);
            }
            Source::Sweep => {
                self.line("\n[sm]");
                self.line("# Seconds between two looks at the subnet; traps are followed at once in any case.");
                self.line("sweep_interval = 10");
                self.line(
                    "# Who becomes the master of several Subnet Managers: 0 to 15, the highest.",
                );
                self.line("sm_priority = 0");
                self.line("\n# LIDs, memberships and the last snapshot: made by hand, or by the service (StateDirectory).");
                self.line("[state]");
                self.path("directory", &places.state);
            }
            Source::Snapshot => {
                self.line("\n[local_service]");
                self.line("# Answer from the snapshot for as long as the SA's own port is as it was when that was made.");
                self.line("paths = \"snapshot\"");
                self.line("follow_sa = true");
            }
        }
    }

    fn port(&mut self, via: &SaTransport) {
        self.line("\n# Where requests come from; each port has a worker of its own.");
        self.line("[[port]]");
        match via {
            SaTransport::Umad { device, port } => {
                self.line("transport = \"umad\"");
                match device {
                    Some(device) => self.line(&format!("device = {}", quoted(device))),
                    None => {
                        self.line("# device = \"mlx5_0\"       # absent: the first that is active")
                    }
                }
                if let Some(port) = port {
                    self.line(&format!("port = {port}"));
                }
            }
            SaTransport::Ring { path } => {
                self.line("# Shared memory with processes of this machine.");
                self.line("transport = \"ring\"");
                let line = format!("path = {}", quoted(&path.display().to_string()));
                self.line(&line);
            }
            SaTransport::Ibsim { node, .. } => {
                self.line("# A node of the fabric simulator.");
                self.line("transport = \"ibsim\"");
                self.line(&format!("node = {}", quoted(node)));
            }
        }
        self.line("\n[workers]");
        self.line("# A worker polls. This many empty turns, then it gives way: for a core that others use too. Absent: it never does, and");
        self.line("# wants a core of its own (cores = [..], or numa = \"local\").");
        self.line("yield_after = 64");
    }

    fn operating(&mut self, places: &Places) {
        self.line("\n# Where `sapphire status`, `reload` and `rollback` ask.");
        self.line("[control]");
        self.path("path", &places.control);
        if places.is_of_service {
            self.line("mode = \"0660\"");
            self.line("group = \"sapphire\"");
        }
        if !places.may_listen {
            return;
        }
        self.line("\n# /metrics, /health and /ready, for this machine alone.");
        self.line("[http]");
        self.line("listen = \"127.0.0.1:9415\"");
    }
}
