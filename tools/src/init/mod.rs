//! `sapphire init`: a first configuration of `sapphired`.
//!
//! ```text
//!  what is found on this machine ─┐
//!  options ───────────────────────┼──> Wanted ──> text with comments ──> judged by Config::parse ──> a new file
//!  answers, on a terminal ────────┘
//! ```
//!
//! Options outweigh answers, and both what was found. Without a terminal nothing is asked: what is
//! neither given nor found, and has to be known, ends it. No file is written over.

mod asked;
mod found;
mod places;
mod text;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use sa_fabric::outlet::{self, Readers};
use sa_source::{SaTransport, TransportError};
use sm_control::config::Config;

use self::asked::ask;
use self::found::Found;
use self::places::Places;
use crate::failure::{Failure, Outcome};
use crate::inputs::or_fail;
use crate::machine::Machine;

/// Writes a first configuration of sapphired, with comments, from what is found on this machine.
///
/// On a terminal it asks for what no option says; else it takes what it finds: OpenSM's files in
/// /etc/opensm or /etc/rdma, whether an OpenSM runs, InfiniBand devices. Try what it has written
/// with `sapphired --config FILE --check`. A file in /etc/sapphire is for the service: its sockets
/// and state lie in /run/sapphire and /var/lib/sapphire, else beside the file. The examples in
/// docs/examples have every key.
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Where the fabric comes from: `[fabric] source`
    #[arg(long, value_enum)]
    source: Option<Source>,
    /// The wiring (source files), or the snapshot that hosts follow (source snapshot)
    #[arg(long, value_name = "PATH")]
    fabric: Option<PathBuf>,
    /// torus-2QoS.conf, for a torus
    #[arg(long, value_name = "FILE")]
    torus_conf: Option<PathBuf>,
    /// opensm.conf, for the options that answers depend on
    #[arg(long, value_name = "FILE")]
    opensm_conf: Option<PathBuf>,
    /// partitions.conf
    #[arg(long, value_name = "FILE")]
    partitions: Option<PathBuf>,
    /// QoS policy
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Where requests come from: umad, umad:DEVICE, umad:DEVICE:PORT, ring:PATH or ibsim:NODE; by
    /// default a ring for files, else umad
    #[arg(long, value_name = "VIA")]
    via: Option<String>,
    /// File to write
    #[arg(
        short,
        long,
        alias = "out",
        value_name = "FILE",
        default_value = "sapphired.toml"
    )]
    output: PathBuf,
    /// Ask nothing, on a terminal too
    #[arg(long)]
    yes: bool,
    /// Look at a machine whose /proc, /sys, /dev and /etc are under here
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    root: PathBuf,
}

/// The `source` of `[fabric]`, as far as a first configuration can have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Source {
    /// Serve a fabric of files: to try, or to answer by OpenSM's dumps
    Files,
    /// Beside an OpenSM on this machine, which stays the Subnet Manager
    Opensm,
    /// As the Subnet Manager
    Sweep,
    /// On every host: answer its kernel by a snapshot that is copied here
    Snapshot,
}

/// What is to be written.
#[derive(Debug)]
struct Wanted {
    source: Source,
    fabric: Option<PathBuf>,
    torus_conf: Option<PathBuf>,
    opensm_conf: Option<PathBuf>,
    partitions: Option<PathBuf>,
    policy: Option<PathBuf>,
    /// `[[port]]`; none: nobody but this host's kernel asks.
    via: Option<SaTransport>,
    output: PathBuf,
}

/// Errors: something is not known; a file is there already, or cannot be written; what was named is
/// not there.
pub(crate) fn run(verb: &Init) -> Outcome {
    // What only takes bytes, as /dev/null does, holds nothing that could be lost.
    let is_stream = |it: std::fs::Metadata| !it.is_file() && !it.is_dir();
    let is_kept = !verb.output.metadata().is_ok_and(is_stream);
    if is_kept && verb.output.symlink_metadata().is_ok() {
        let what = "it is there already; name another file by -o, or move it away";
        return Err(Failure::failed_in(&verb.output, what.to_owned()));
    }
    let found = Found::on(&Machine::under(&verb.root));
    let may_ask = !verb.yes && std::io::stdin().is_terminal();
    let wanted = match may_ask {
        true => ask(verb, &found)?,
        false => decided(verb, &found)?,
    };
    are_there(&wanted)?;
    let text = text::of(&wanted);
    // By the daemon's own reader: what is written is never what it refuses.
    if let Err(problem) = Config::parse(&text) {
        let what = format!("the configuration that comes of it is refused: {problem}");
        return Err(Failure::failed_in(&verb.output, what));
    }
    or_fail(outlet::write(&verb.output, Readers::All, text.as_bytes()))?;
    for line in wanted.summary() {
        outln!("{line}");
    }
    Ok(())
}

/// What no option says is as it was found.
fn decided(verb: &Init, found: &Found) -> Outcome<Wanted> {
    let source = verb.source.or_else(|| found.source(verb.fabric.is_some()));
    let source = source.ok_or_else(|| {
        Failure::usage(
            "nothing here says where the fabric comes from: no OpenSM runs, and no fabric is named; give --source, and --fabric with files or snapshot"
                .to_owned(),
        )
    })?;
    let takes_opensm = source != Source::Snapshot && source != Source::Files;
    let known = |given: &Option<PathBuf>, found: &Option<PathBuf>| {
        given
            .clone()
            .or_else(|| found.clone().filter(|_| takes_opensm))
    };
    Ok(Wanted {
        source,
        fabric: verb.fabric.clone(),
        torus_conf: known(&verb.torus_conf, &found.torus_conf),
        opensm_conf: known(&verb.opensm_conf, &found.opensm_conf),
        partitions: known(&verb.partitions, &found.partitions),
        policy: known(&verb.policy, &found.policy),
        via: match &verb.via {
            Some(text) => Some(via(text)?),
            None => source.usual_via(&verb.output),
        },
        output: verb.output.clone(),
    })
}

impl Source {
    /// Where requests come from, without a word about it.
    fn usual_via(self, output: &Path) -> Option<SaTransport> {
        match self {
            Self::Files => Some(SaTransport::Ring {
                path: Places::of(self, output).ring,
            }),
            Self::Opensm | Self::Sweep => Some(SaTransport::Umad {
                device: None,
                port: None,
            }),
            Self::Snapshot => None,
        }
    }
}

/// Errors: no transport, or one without its place.
fn via(text: &str) -> Outcome<SaTransport> {
    let is_whole = |it: &SaTransport| match it {
        SaTransport::Umad { device, port } => device.as_deref() != Some("") && *port != Some(0),
        SaTransport::Ibsim { node, .. } => !node.is_empty(),
        SaTransport::Ring { path } => !path.as_os_str().is_empty(),
    };
    let transport = text.parse().ok().filter(is_whole);
    // Its words name all of them.
    let wrong = || Failure::usage(format!("--via {text:?}: {}", TransportError::Unknown));
    transport.ok_or_else(wrong)
}

/// Errors: a source without its path; a file that is named is none.
fn are_there(wanted: &Wanted) -> Outcome {
    let needs = matches!(wanted.source, Source::Files | Source::Snapshot);
    if needs && wanted.fabric.is_none() {
        let what = "this source needs --fabric: the wiring (a net file, an opensm-subnet.lst, a directory of dumps), or the snapshot";
        return Err(Failure::usage(what.to_owned()));
    }
    let named = [
        &wanted.torus_conf,
        &wanted.opensm_conf,
        &wanted.partitions,
        &wanted.policy,
    ];
    // A snapshot comes when whoever distributes it has made the first.
    let fabric = wanted
        .fabric
        .as_ref()
        .filter(|_| wanted.source == Source::Files);
    for path in named.into_iter().flatten().chain(fabric) {
        path.metadata()
            .map_err(|error| Failure::failed_in(path, error.to_string()))?;
    }
    Ok(())
}

impl Wanted {
    /// What to do next.
    fn summary(&self) -> Vec<String> {
        let file = self.output.display();
        let directory = self.output.parent().unwrap_or_else(|| Path::new(""));
        let at = |name: &Path| directory.join(name).display().to_string();
        let places = Places::of(self.source, &self.output);
        let mut lines = vec![format!("{file}: written. Next:")];
        match places.units {
            Some(units) => lines.extend([
                format!("  runuser -u sapphire -- sapphired --config {file} --check"),
                format!("  systemctl enable --now {units}"),
            ]),
            None => {
                if self.source == Source::Sweep && !places.is_of_service {
                    lines.push(format!("  mkdir -p {}", at(&places.state)));
                }
                lines.extend([
                    format!("  sapphired --config {file} --check"),
                    format!("  sapphired --config {file}          # \"ready epoch=1\": it answers"),
                ]);
            }
        }
        lines.push(format!(
            "  sapphire status --control {}",
            at(&places.control)
        ));
        if let Some(SaTransport::Ring { path }) = &self.via {
            lines.push(format!(
                "  sapphire query pr --via ring:{} --slid 1 --dlid 2",
                at(path)
            ));
        }
        lines
    }
}
