//! The policy file of a verb, and the fabric that it is for.
//!
//! A policy is judged as the daemon would judge it when it loads it: same parser, same options,
//! same check against the fabric. Options that depend on the fabric (the highest rate code that it
//! knows) come from its opensm.conf, which is why the fabric is read first.
//!
//! The text is kept beside the policy: remarks are shown with the line that they are about.

use std::path::{Path, PathBuf};

use clap::Args;
use policy::{Dialect, ParseOptions, PortFacts};
use sa_compiler::pipeline::{self, Inputs};
use sa_compiler::state::Sources;
use sa_fabric::intake::{self, Kind};
use sa_fabric::mistaken::{FileKind, mistaken};

use crate::failure::{Failure, Outcome};
use crate::inputs::{ReadingArgs, SiteArgs, failure, warn};

/// A policy file, and perhaps a fabric.
#[derive(Debug, Args)]
pub(crate) struct FileArgs {
    /// Policy file
    #[arg(id = "policy", value_name = "FILE")]
    pub(super) path: PathBuf,
    #[command(flatten)]
    pub(super) reading: ReadingArgs,
    /// The fabric that it is for: ibsim net file, ibnetdiscover output, opensm-subnet.lst, or a
    /// directory of OpenSM dumps; .xz accepted
    #[arg(
        long,
        value_name = "FILE|DIR",
        help_heading = "The fabric that it is for"
    )]
    fabric: Option<PathBuf>,
    #[command(flatten, next_help_heading = "The fabric that it is for")]
    site: SiteArgs,
}

/// A fabric as policies see it.
///
/// `facts` has a port per end port of the subnet, in the same order: a policy's port numbers are
/// indices into both.
pub(crate) struct Site {
    pub(super) sources: Sources,
    pub(super) facts: Vec<PortFacts>,
}

/// A policy file that was read and parsed.
///
/// `name` is the path as it was given, for messages.
pub(crate) struct PolicyFile {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) policy: policy::Policy,
}

impl FileArgs {
    /// What the pipeline takes, if there is a fabric.
    ///
    /// The policy is one of the inputs here, for those who route and compile.
    pub(super) fn inputs(&self) -> Option<Inputs> {
        let site = self.site.inputs(self.fabric.as_deref()?);
        Some(self.reading.apply(Some(self.path.clone()), site))
    }

    /// Reads the fabric, if there is one.
    ///
    /// None without `--fabric`. Errors: the fabric cannot be read; what is only odd in it is a
    /// warning.
    pub(super) fn site(&self) -> Outcome<Option<Site>> {
        self.fabric
            .as_ref()
            .map(|fabric| {
                let sources = pipeline::read(&self.site.inputs(fabric))
                    .map_err(|problem| failure(problem.into()))?;
                warn(&sources.warnings);
                let facts = sources.subnet.port_facts();
                Ok(Site { sources, facts })
            })
            .transpose()
    }

    /// Reads the file for this fabric.
    pub(super) fn read(&self, site: Option<&Site>) -> Outcome<PolicyFile> {
        read(&self.path, self.reading.dialect, &self.options(site)?, site)
    }

    /// Options of the parsers.
    pub(super) fn options(&self, site: Option<&Site>) -> Outcome<ParseOptions> {
        let own = self.reading.options_with_names()?;
        Ok(match site {
            Some(site) => ParseOptions {
                // The highest rate code depends on the SM's version, which opensm.conf tells.
                max_rate_code: site.sources.options.max_rate_code(),
                ..own
            },
            None => own,
        })
    }
}

/// Reads a policy file and judges it as a load would.
pub(super) fn read(
    path: &Path,
    dialect: Option<Dialect>,
    options: &ParseOptions,
    site: Option<&Site>,
) -> Outcome<PolicyFile> {
    let name = path.display().to_string();
    let bytes = intake::read_or_pipe(Kind::Policy, path).map_err(Failure::failed)?;
    let mut text = sa_text::decode(&bytes).into_owned();
    drop(bytes);
    // Editors of Windows write a byte order mark; to the parsers it would be a letter before the
    // first word.
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    let parsed = policy::parse_as(&text, dialect, options).and_then(|policy| match site {
        Some(site) => {
            policy::check(&policy, &site.facts, &site.sources.partitions).map(|()| policy)
        }
        None => Ok(policy),
    });
    match parsed {
        Ok(policy) => Ok(PolicyFile { name, text, policy }),
        // A fabric file or an opensm.conf given as policy fails at its first word: what it is helps
        // more than where it fails.
        Err(error) => Err(match mistaken(path, text.as_bytes(), FileKind::Policy) {
            Some(other) => Failure::failed(other),
            None => super::source::refused(&name, &text, &error),
        }),
    }
}
