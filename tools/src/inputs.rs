//! The options that every verb with a fabric shares.
//!
//! Verbs do not read these options one by one: [`FabricArgs`] makes the pipeline's `Inputs`
//! of them, which the daemon's configuration makes as well. So the tool and the daemon that are
//! given the same files compute the same snapshot.
//!
//! ```text
//! FabricArgs = --fabric + SiteArgs (LIDs, torus, options of OpenSM, what fails)
//!                       + PolicyArgs (policy, what a broken one means)
//!                            + ReadingArgs (dialect and how it is meant)
//! ```
//!
//! The parts are apart because some verbs take a snapshot instead of `--fabric`, and some take a
//! policy alone.

mod words;

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use policy::{Dialect, Echo, ParseOptions, ScopePrecedence, ServiceIdEncoding};
use routing::EngineKind;
use sa_compiler::pipeline::{Inputs, OnPolicyError, PipelineError};
use sa_fabric::mistaken::{FileKind, mistaken};
use sa_fabric::{display, intake, store};
use sa_snapshot::Snapshot;
use sa_text::Remark;
use sa_wire::{DataVls, Lmc, Mtu};

use crate::failure::{Cause, Failure, Outcome};
use crate::kept::Kept;
use crate::progress;
use crate::services;
use crate::wrong::Wrong;

pub(crate) use self::words::Words;

/// Fabric, routing, policy.
#[derive(Debug, Clone, Args)]
pub(crate) struct FabricArgs {
    // First: the others take what was given.
    #[command(flatten)]
    pub(crate) words: Words,
    /// Fabric file: ibsim net file, ibnetdiscover output, opensm-subnet.lst, or a directory of
    /// OpenSM dumps; .xz accepted
    #[arg(long, value_name = "FILE|DIR", required_unless_present = "snapshot")]
    fabric: Option<PathBuf>,
    /// In place of a fabric and its options: a snapshot of `sapphire compile --keep-tables`, with
    /// those that it was compiled from
    #[arg(long, value_name = "FILE.snap", conflicts_with = "fabric")]
    snapshot: Option<PathBuf>,
    #[command(flatten)]
    site: SiteArgs,
    #[command(flatten)]
    policy: PolicyArgs,
}

/// How a fabric is looked at and routed.
#[derive(Debug, Clone, Args)]
pub(crate) struct SiteArgs {
    /// torus-2QoS.conf; routes with torus-2QoS [default: the file of that name beside the fabric,
    /// if there is one]
    #[arg(long, requires = "fabric", value_name = "FILE")]
    torus_conf: Option<PathBuf>,
    /// Roots of updn and ftree, a node GUID of a switch a line [default: root_guid_file of
    /// opensm.conf, where that is a relative path; else they are found]
    #[arg(long, requires = "fabric", value_name = "FILE")]
    root_guids: Option<PathBuf>,
    /// Take LIDs from this opensm-subnet.lst instead of assigning them
    #[arg(long, requires = "fabric", value_name = "FILE")]
    lids: Option<PathBuf>,
    /// LMC of CA and router ports
    #[arg(long, requires = "fabric", value_name = "N", value_parser = clap::value_parser!(u8).range(0..=7))]
    lmc: Option<u8>,
    /// Node that the SM runs on, by name or GUID; it gets LID 1
    #[arg(long, requires = "fabric", value_name = "NAME")]
    sm_node: Option<String>,
    /// What if this had failed: SWITCH, or one end of a cable as SWITCH:PORT, where a switch is a
    /// name, 0xGUID or x,y,z. LIDs stay. May be repeated
    #[arg(long, requires = "fabric", value_name = "SWITCH|LINK")]
    fail: Vec<String>,
    /// partitions.conf; without it everybody is a full member of the default partition
    #[arg(long, requires = "fabric", value_name = "FILE")]
    partitions: Option<PathBuf>,
    /// opensm.conf, for the options that routes and answers depend on
    #[arg(long, requires = "fabric", value_name = "FILE")]
    opensm_conf: Option<PathBuf>,
    /// prefix-routes.conf, for DGIDs of other subnets [default: prefix_routes_file of opensm.conf,
    /// where that is a relative path]
    #[arg(long, requires = "fabric", value_name = "FILE")]
    prefix_routes: Option<PathBuf>,
    /// opensm-sa.dump, for the alias GUIDs in it
    #[arg(long, requires = "fabric", value_name = "FILE")]
    aliases: Option<PathBuf>,
    /// QoS on, whatever opensm.conf says [default: what opensm.conf says; on, as with `opensm -Q`,
    /// where it says nothing]
    #[arg(long, requires = "fabric", conflicts_with = "no_qos")]
    qos: bool,
    /// QoS off: no policy, SLs not checked
    #[arg(long, requires = "fabric")]
    no_qos: bool,
    /// Routing engine; by default torus-2qos with a torus configuration, files with a directory
    /// that holds forwarding tables, else minhop
    #[arg(long, requires = "fabric", value_parser = engine(), ignore_case = true, default_value = "auto")]
    engine: Choice,
    /// MTU in bytes of ports that the fabric file says nothing about [default: ibsim's, 2048]
    #[arg(long, requires = "fabric", value_name = "BYTES", value_parser = mtu)]
    mtu: Option<Mtu>,
    /// VLCap code (1 to 5 for 1, 2, 4, 8, 15 data VLs) of such ports [default: ibsim's, 4]
    #[arg(long, requires = "fabric", value_name = "CODE", value_parser = vl_cap)]
    vlcap: Option<DataVls>,
}

/// The policy.
#[derive(Debug, Clone, Args)]
pub(crate) struct PolicyArgs {
    /// QoS policy file
    #[arg(long, value_name = "FILE", requires = "fabric")]
    policy: Option<PathBuf>,
    /// What a broken policy file means: an error, or serving without one as OpenSM does
    #[arg(long, value_enum, default_value_t = OnError::Fail)]
    on_policy_error: OnError,
    #[command(flatten)]
    reading: ReadingArgs,
}

/// Heading of the options of dialects.
const MEANT: &str = "How the policy is meant";

/// How a policy file is read.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReadingArgs {
    /// Dialect of the policy: RFC 0.2, RFC 0.1 or OpenSM's; by default detected
    #[arg(long, help_heading = MEANT, value_name = "text|xml|opensm", requires = "policy")]
    pub(crate) dialect: Option<Dialect>,
    /// Rules with a source or destination hold only for requests that name that end, as the RFCs
    /// have it, instead of for the ports of each path [default: false]
    #[arg(long, help_heading = MEANT, value_name = "true|false", requires = "policy")]
    endpoint_mask_required: Option<bool>,
    /// Which of several set-up scopes for one table counts [default: xml last, else first]
    #[arg(long, help_heading = MEANT, value_name = "first|last", requires = "policy")]
    scope_precedence: Option<ScopePrecedence>,
    /// Where requests carry their service id [default: standard]
    #[arg(long, help_heading = MEANT, value_name = "standard|legacy-a|legacy-b", requires = "policy")]
    service_id_encoding: Option<ServiceIdEncoding>,
    /// What of a request comes back in its answers [default: text qos-class, xml tclass, opensm
    /// none]
    #[arg(long, help_heading = MEANT, value_name = "none|qos-class|tclass", requires = "policy")]
    echo: Option<Echo>,
    /// RFC dialects: a name that no group has means the members of the partition of that name
    #[arg(long, help_heading = MEANT, requires = "policy")]
    partitions_as_groups: bool,
    /// Answer with the SL2VL tables of the policy's qos-setup, as if somebody had programmed
    /// them; OpenSM does not
    #[arg(long, help_heading = MEANT, requires = "policy")]
    apply_setup: bool,
    /// Read what OpenSM and the RFCs have, and nothing else: no services by name, no ulp, no
    /// reserved-sl, no flow-label
    #[arg(long, help_heading = MEANT, requires = "policy")]
    no_extensions: bool,
    /// More names for services, besides those of `sapphire query services`; docs/ulps.md has the
    /// format
    #[arg(long, help_heading = MEANT, value_name = "FILE")]
    ulp_names: Option<PathBuf>,
}

impl ReadingArgs {
    /// As the parsers take them.
    /// Without names of services: those lie in a file, which is read by who needs it.
    pub(crate) fn options(&self) -> ParseOptions {
        ParseOptions {
            endpoint_mask_required: self.endpoint_mask_required,
            scope_precedence: self.scope_precedence,
            service_id_encoding: self.service_id_encoding,
            echo: self.echo,
            partitions_as_groups: self.partitions_as_groups,
            extensions: !self.no_extensions,
            ..ParseOptions::default()
        }
    }

    /// The same, and with the file of names. Errors: that cannot be read.
    pub(crate) fn options_with_names(&self) -> Outcome<ParseOptions> {
        Ok(ParseOptions {
            ulp_names: services::names(self.ulp_names.as_deref())?,
            ..self.options()
        })
    }

    /// These inputs with this policy file.
    /// `policy` stays a path; the pipeline reads it.
    pub(crate) fn apply(&self, policy: Option<PathBuf>, inputs: Inputs) -> Inputs {
        Inputs {
            policy,
            dialect: self.dialect,
            reading: self.options(),
            apply_setup: self.apply_setup,
            ulp_names: self.ulp_names.clone(),
            ..inputs
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OnError {
    Fail,
    None,
}

/// Engines by name, for an option; none for "auto".
/// Names come from the routing crate, so a new engine is an option at once.
fn engine() -> impl TypedValueParser<Value = Choice> {
    let names = EngineKind::ALL.map(EngineKind::name);
    let names = ["auto"].into_iter().chain(names);
    PossibleValuesParser::new(names).map(|name| Choice(name.parse().ok()))
}

/// An engine; none for what the inputs call for.
#[derive(Debug, Clone, Copy)]
struct Choice(Option<EngineKind>);

/// Only the five sizes that InfiniBand has.
fn mtu(text: &str) -> Result<Mtu, Wrong> {
    let bytes: u32 = text
        .parse()
        .map_err(|_| Wrong::from("expected a number of bytes"))?;
    Mtu::from_bytes(bytes).ok_or_else(|| Wrong::from("expected 256, 512, 1024, 2048 or 4096"))
}

/// The code and not the number of VLs, as in PortInfo.
fn vl_cap(text: &str) -> Result<DataVls, Wrong> {
    let code: u8 = text.parse().map_err(|_| Wrong::from("expected a number"))?;
    DataVls::from_code(code).map_err(Wrong::of)
}

/// What a verb was given to work on.
#[derive(Debug)]
pub(crate) struct Given {
    /// As the pipeline takes them.
    pub(crate) inputs: Inputs,
    /// The snapshot that they were kept beside, where they were; files of the inputs go with it.
    pub(crate) kept: Option<Kept>,
}

impl FabricArgs {
    /// As the pipeline takes them. Errors: those of a snapshot and of what was kept beside it.
    pub(crate) fn given(&self) -> Outcome<Given> {
        let snapshot = match (self.of_files(), &self.snapshot) {
            (Some(inputs), _) => return Ok(Given { inputs, kept: None }),
            (None, Some(snapshot)) => snapshot,
            (None, None) => return Err(Failure::usage("give --fabric or --snapshot".to_owned())),
        };
        self.words
            .are_alone("--snapshot", &["--snapshot", "--fail"])?;
        let kept = open_kept(snapshot)?;
        let mut inputs = kept.inputs.clone();
        inputs.failed.extend(self.site.fail.iter().cloned());
        Ok(Given {
            inputs,
            kept: Some(kept),
        })
    }

    /// The same where a fabric was named; none where a snapshot was.
    pub(crate) fn of_files(&self) -> Option<Inputs> {
        let fabric = self.fabric.as_deref()?;
        Some(self.policy.apply(self.site.inputs(fabric)))
    }
}

impl PolicyArgs {
    /// These inputs with this policy.
    pub(crate) fn apply(&self, inputs: Inputs) -> Inputs {
        let inputs = self.reading.apply(self.policy.clone(), inputs);
        let on_policy_error = match self.on_policy_error {
            OnError::Fail => OnPolicyError::Fail,
            OnError::None => OnPolicyError::None,
        };
        Inputs {
            on_policy_error,
            ..inputs
        }
    }
}

impl SiteArgs {
    /// As the pipeline takes them, without policy.
    pub(crate) fn inputs(&self, fabric: &Path) -> Inputs {
        Inputs {
            fabric: fabric.to_owned(),
            lids: self.lids.clone(),
            // Clap has seen to 0 to 7, so nothing is dropped.
            lmc: self.lmc.and_then(|lmc| Lmc::new(lmc).ok()),
            sm_node: self.sm_node.clone(),
            torus_conf: self.torus_conf.clone(),
            root_guids: self.root_guids.clone(),
            partitions: self.partitions.clone(),
            opensm_conf: self.opensm_conf.clone(),
            prefix_routes: self.prefix_routes.clone(),
            aliases: self.aliases.clone(),
            // Three states: clap refuses both together.
            qos: match (self.qos, self.no_qos) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                (false, false) => None,
            },
            // As `opensm -Q` would: see `--qos`.
            is_q_given: true,
            engine: self.engine.0,
            mtu: self.mtu,
            vl_cap: self.vlcap,
            failed: self.fail.clone(),
            watch: progress::watch(),
            // A tool shows what is lost; whether that may go into service is the verb's to decide.
            allow_lost_pairs: true,
            ..Inputs::default()
        }
    }
}

/// Which exit status a failed compilation gets.
/// An option that is wrong in itself is 2 although the pipeline found it; a refusal or a proof that
/// fails is 3; the rest is 1.
pub(crate) fn failure(error: PipelineError) -> Failure {
    match error {
        PipelineError::Read(problem) => match problem {
            sa_compiler::pipeline::ReadProblem::Options(problem) => {
                Failure::usage(problem.to_string())
            }
            other => Failure::failed(other),
        },
        PipelineError::Refused(_)
        | PipelineError::CreditLoop { .. }
        | PipelineError::StrictLoop { .. }
        | PipelineError::LostPairs(_) => Failure::refused(error.to_string()),
        other => Failure::failed(other),
    }
}

/// Prints warnings to standard error, as many as people read.
/// Warnings never change the exit status. Of hundreds of one kind some are told, and how many are
/// left out.
pub(crate) fn warn(warnings: &[Remark]) {
    for warning in display::told(warnings) {
        errln!("warning: {warning}");
    }
}

/// Reads and verifies a snapshot file. Errors: it cannot be read; it is damaged; it is another
/// file.
/// A file of another kind is called by its kind: most often a fabric file was given.
pub(crate) fn open_snapshot(path: &Path) -> Outcome<Snapshot> {
    store::open(path).map_err(|error| {
        // Only looked at after a failure; 64 KiB are enough to tell formats apart.
        let other = intake::head(path, 1 << 16).ok().and_then(|head| {
            // What is damaged looks like anything; only what is clearly another file is called so.
            let kind = FileKind::recognise(&head)?;
            let is_other = !matches!(kind, FileKind::Binary | FileKind::Empty);
            mistaken(path, &head, FileKind::Snapshot).filter(|_| is_other)
        });
        other.map_or_else(|| Failure::failed(error), Failure::failed)
    })
}

/// The same with what was kept beside it. Errors: those of either; nothing was kept.
pub(crate) fn open_kept(path: &Path) -> Outcome<Kept> {
    Kept::open(open_snapshot(path)?, path, words::inputs)
}

/// A value or exit 1.
pub(crate) fn or_fail<T, E: Cause>(result: Result<T, E>) -> Outcome<T> {
    result.map_err(Failure::failed)
}
