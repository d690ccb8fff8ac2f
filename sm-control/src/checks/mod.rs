//! What can be said of a configuration without running it.
//!
//! `sapphired --check` and `sapphire doctor` ask the same questions here: do the files make a
//! snapshot that may be served, can workers, rings and sockets be where they are to be. Each check
//! is the one that a start makes, by the same function, so that neither program promises what the
//! daemon then refuses.
//!
//! Nothing here serves: no thread, no socket and no device is opened. What only an attempt can show
//! is tried by the daemon (`server::check_start`).
//!
//! | check | of | also at |
//! |---|---|---|
//! | `check_sources` | everything that a load reads | each load |
//! | `check_workers` | cores and NUMA nodes | the start, as warnings |
//! | `check_rings`, `check_control` | paths, groups, lengths of names | the start |

pub(crate) mod control_socket;
pub(crate) mod copy;
pub(crate) mod http_token;
pub(crate) mod local_service;
pub(crate) mod placement;
pub(crate) mod rings;

use sa_compiler::pipeline::{self, Compiled, PipelineError};
use sa_local::addresses::AddressesError;
use sa_source::{AskError, SaReadError, SourceError, When, compile_from_sa};
use sa_text::Remark;
use thiserror::Error;

use crate::config::{Config, Source};

pub use control_socket::{ControlSocketError, ControlSocketProblem};
pub use copy::{CopyError, Untrusted};
pub use http_token::{HttpToken, HttpTokenError, HttpTokenProblem};
pub use placement::PlacementError;
pub use rings::{NoRequester, RingPlaceError, RingSectionError, Unanswered};

/// Validates everything a start or reload would read, but for what only a running daemon can ask.
/// Gives what an operator should know, and what the sources come to. Errors: what
/// a load would report.
pub fn check_sources(config: &Config) -> Result<(Vec<Remark>, String), CheckError> {
    let (warnings, summary) = match config.fabric.source {
        Source::OpenSm => {
            // It has one daemon at a time to tell the fabric to.
            let remarks = pipeline::read_but_the_fabric(&config.inputs())
                .map_err(|problem| SourceError::from(PipelineError::from(problem)))?;
            let summary = "the files are good; the fabric, which OpenSM tells, was not read";
            (remarks, summary.to_owned())
        }
        Source::Sweep => {
            let remarks = pipeline::read_but_the_fabric(&config.inputs())
                .map_err(|problem| SourceError::from(PipelineError::from(problem)))?;
            let summary =
                "the files are good; the fabric, which this process would sweep, was not looked at";
            (remarks, summary.to_owned())
        }
        Source::Files | Source::Sa => {
            let compiled = check(config)?;
            rings::check_answers(config, &compiled.snapshot)?;
            let summary = compiled.summary();
            ([compiled.warnings, compiled.arbitration].concat(), summary)
        }
        Source::Snapshot => copy::check(config)?,
        Source::Fleet => (
            Vec::new(),
            "the fleet says what is in force; nothing is read here".to_owned(),
        ),
        Source::None => (Vec::new(), "there is no fabric to read".to_owned()),
    };
    local_service::check(config)?;
    Ok((warnings, summary))
}

/// A configuration that no snapshot comes of, or whose snapshot would leave somebody without
/// answers.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CheckError {
    /// The sources do not make one.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A snapshot that was compiled elsewhere cannot be served.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// Clients of a ring would get no answer.
    #[error(transparent)]
    Ring(#[from] Unanswered),
    /// The addresses of `[local_service]` cannot be used.
    #[error(transparent)]
    Addresses(#[from] AddressesError),
    /// The control socket cannot be there.
    #[error(transparent)]
    Control(#[from] ControlSocketError),
    /// The token of `[http]` cannot be used.
    #[error(transparent)]
    HttpToken(#[from] HttpTokenError),
}

/// Compiles what a start or reload would. Errors: what a load would report; there is nothing to
/// compile here.
pub fn check(config: &Config) -> Result<Compiled, SourceError> {
    let elsewhere = match config.fabric.source {
        Source::OpenSm => {
            Some("only the daemon reads it from OpenSM; use the snapshot in its [state] directory")
        }
        Source::Snapshot => {
            Some("source = \"snapshot\" was compiled elsewhere; use the file itself")
        }
        Source::Sweep => {
            Some("only the daemon sweeps it; use the snapshot in its [state] directory")
        }
        Source::Fleet => {
            Some("source = \"fleet\" was compiled by the fleet's leader; use the snapshot there")
        }
        Source::None => Some("source = \"none\": there is no fabric"),
        Source::Files | Source::Sa => None,
    };
    if let Some(what) = elsewhere {
        return Err(SaReadError::Ask(AskError::Gone(what.to_owned())).into());
    }
    let (inputs, stamp) = (config.inputs(), pipeline::Stamp::default());
    let asked = config
        .live_source()
        .map(|mut source| compile_from_sa(&inputs, &mut source, When::Always, stamp, None));
    // A snapshot that the SA does not agree with is refused here as a load would refuse it.
    if let Some(compared) = asked.transpose()?.flatten() {
        compared.publishable()?;
        return Ok(compared.compiled);
    }
    let compiled = pipeline::compile(&inputs, stamp)?;
    compiled.publishable()?;
    Ok(compiled)
}

/// Whether this machine can do what `[workers]` says. Gives what an operator should know of it, one
/// sentence each. Errors: [`PlacementError`].
pub fn check_workers(config: &Config) -> Result<Vec<String>, PlacementError> {
    placement::check(config)
}

/// Whether this machine can do what `[[port]]` says of rings. Errors: [`RingSectionError`].
pub fn check_rings(config: &Config) -> Result<(), RingSectionError> {
    rings::check(config)
}

/// Whether this machine can do what `[control]` says, and `[http]` of its token. Errors:
/// [`CheckError::Control`], [`CheckError::HttpToken`].
pub fn check_control(config: &Config) -> Result<(), CheckError> {
    token(config)?;
    let section = config.control.as_ref();
    Ok(section.map_or(Ok(()), control_socket::check)?)
}

/// What orders over HTTP have to bring; none where none are taken. Errors: the file cannot be used.
pub fn token(config: &Config) -> Result<Option<HttpToken>, HttpTokenError> {
    let section = config.http.as_ref();
    let file = section.and_then(|section| section.token_file.as_deref());
    file.map(HttpToken::read).transpose()
}
