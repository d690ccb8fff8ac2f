//! A root file and the signatures beside it.
//!
//! ```text
//!  root                       the text
//!  root.alice.minisig         whatever stands between `root.` and `.minisig` is for people
//!  root.minisig               what `minisign -S -m root` writes by itself
//! ```
//!
//! A signature that fits nothing is passed over: whether enough of them fit is [`Root`]'s to say.
//!
//! A host that hears of a newer one gets text and signatures from a sender, and goes this way:
//!
//! ```text
//!  RootFiles { path, text, signatures } ──> after(&held) ──> Root      judged by the one that it has
//!                                       └─> store(version)             then, and only then
//! ```

use core::fmt;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use minisign_verify::{PublicKey as Verifier, Signature};
use sa_fabric::outlet::{Folder, WriteError};
use sa_fleet::root::{MAX_KEYS, MAX_ROOT_SIZE, MAX_SIGNATURE_SIZE, Root, RootRefusal};
use sa_text::Location;

use crate::bounded;
use crate::public::PublicKey;

/// Behind the name of a signature.
const SUFFIX: &str = ".minisig";

/// What a root file in a directory is called.
const NAME: &str = "root";

/// A text and its signatures, as they lie there or were sent. Nothing of it is believed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootFiles {
    /// The root file itself.
    pub path: PathBuf,
    /// Its bytes.
    pub text: Vec<u8>,
    /// Files of minisign, by the names of their files.
    pub signatures: Vec<String>,
}

/// Why a root file cannot be read, or is not believed.
#[derive(Debug)]
pub struct RootFileProblem {
    path: PathBuf,
    fault: RootFault,
}

/// What is wrong with a root file or a signature, without its name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RootFault {
    /// The system says no.
    #[error("cannot read: {0}")]
    Io(io::Error),
    /// Something else.
    #[error("is no file; name a root file, or the directory that has it under the name `root`")]
    NoFile,
    /// No root file, and no signature.
    #[error("has more than {0} bytes, and is no {1}; name another file, or move it away")]
    Large(usize, &'static str),
    /// More than are looked at.
    #[error("has {0} signatures beside it, and {MAX_KEYS} are looked at; move old ones away")]
    Many(usize),
    /// It is not believed.
    #[error(transparent)]
    Refused(RootRefusal),
    /// It cannot be put there.
    #[error(transparent)]
    Write(WriteError),
}

/// The root file of a host, as `[fleet] root` names it: it, or the directory that has it under the
/// name `root`.
///
/// # Errors
///
/// One, with the file.
pub fn read_root(path: &Path) -> Result<Root, RootFileProblem> {
    RootFiles::read(path)?.installed()
}

impl RootFiles {
    /// What lies there, and all signatures beside it. Errors: one, with the file.
    pub fn read(path: &Path) -> Result<Self, RootFileProblem> {
        let path = match path.is_dir() {
            true => path.join(NAME),
            false => path.to_owned(),
        };
        let text = bytes(&path, MAX_ROOT_SIZE, "root file")?;
        let named = signatures_beside(&path)?;
        let mut signatures = Vec::with_capacity(named.len());
        for name in named {
            let read = bytes(&path.with_file_name(name), MAX_SIGNATURE_SIZE, "signature")?;
            // What is no text fits nothing.
            signatures.push(String::from_utf8_lossy(&read).into_owned());
        }
        Ok(Self {
            path,
            text,
            signatures,
        })
    }

    /// As a host that is installed with it believes it. Errors: it does not.
    pub fn installed(&self) -> Result<Root, RootFileProblem> {
        Root::installed(&self.text, &self.words()).map_err(|it| self.refused(it))
    }

    /// As a host that has `root` takes it. Errors: it does not.
    pub fn after(&self, root: &Root) -> Result<Root, RootFileProblem> {
        let next = root.succeeded_by(&self.text, &self.words());
        next.map_err(|it| self.refused(it))
    }

    /// Whether a key has signed it.
    pub fn is_signed_by(&self, key: &PublicKey) -> bool {
        let Ok(verifier) = Verifier::from_base64(&key.to_string()) else {
            return false;
        };
        let fits = |text: &String| {
            let signature = Signature::decode(text);
            signature.is_ok_and(|it| verifier.verify(&self.text, &it, false).is_ok())
        };
        self.signatures.iter().any(fits)
    }

    fn words(&self) -> Vec<&str> {
        self.signatures.iter().map(String::as_str).collect()
    }

    fn refused(&self, refusal: RootRefusal) -> RootFileProblem {
        self.problem(RootFault::Refused(refusal))
    }

    fn problem(&self, fault: RootFault) -> RootFileProblem {
        let path = self.path.clone();
        RootFileProblem { path, fault }
    }
}

/// The names of all signatures of a root file, in their order. Errors: the directory cannot be
/// read; there are too many.
fn signatures_beside(path: &Path) -> Result<Vec<OsString>, RootFileProblem> {
    let problem = |fault| RootFileProblem {
        path: path.to_owned(),
        fault,
    };
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return Err(problem(RootFault::NoFile));
    };
    let is_one = |other: &OsString| {
        let rest = other.to_str().and_then(|other| other.strip_prefix(name));
        let between = rest.and_then(|rest| rest.strip_suffix(SUFFIX));
        between.is_some_and(|it| it.is_empty() || it.starts_with('.'))
    };
    let folder = Folder::of(path).map_err(|it| problem(RootFault::Write(it)))?;
    let names = folder.names().map_err(|it| problem(RootFault::Write(it)))?;
    let mut names: Vec<OsString> = names.into_iter().filter(is_one).collect();
    if names.len() > MAX_KEYS {
        return Err(problem(RootFault::Many(names.len())));
    }
    names.sort();
    Ok(names)
}

/// All of a file. Errors: it is too large, no file, or cannot be read.
fn bytes(path: &Path, most: usize, what: &'static str) -> Result<Vec<u8>, RootFileProblem> {
    let problem = |fault| RootFileProblem {
        path: path.to_owned(),
        fault,
    };
    let read = bounded::read(path, most).map_err(|error| {
        problem(match error.kind() {
            io::ErrorKind::InvalidInput => RootFault::NoFile,
            _ => RootFault::Io(error),
        })
    })?;
    read.ok_or_else(|| problem(RootFault::Large(most, what)))
}

impl RootFileProblem {
    /// What is wrong, without the file.
    pub const fn fault(&self) -> &RootFault {
        &self.fault
    }

    /// Where.
    pub fn location(&self) -> Location {
        match &self.fault {
            RootFault::Refused(RootRefusal::Text(at, _)) => Location::new(&self.path, *at),
            _ => Location::file(&self.path),
        }
    }
}

impl fmt::Display for RootFileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.fault {
            // Both begin with a place.
            RootFault::Refused(RootRefusal::Text(at, problem)) => {
                write!(f, "{path}:{}:{}: {problem}", at.line, at.column)
            }
            RootFault::Write(error) => write!(f, "{error}"),
            RootFault::Refused(
                refusal @ (RootRefusal::OwnKeys { .. } | RootRefusal::OldKeys { .. }),
            ) => write!(
                f,
                "{path}: {refusal}; signatures are expected beside it as {path}.NAME{SUFFIX}, and `sapphire fleet root sign {path} --key KEY` \
                 makes one"
            ),
            fault => write!(f, "{path}: {fault}"),
        }
    }
}

impl core::error::Error for RootFileProblem {}
