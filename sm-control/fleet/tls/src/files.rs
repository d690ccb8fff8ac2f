//! The three files, and what may be wrong with them.
//!
//! Only their form is looked at here, and who may read the key; whether the certificate is good is
//! found out in `loaded`. Each problem says what is expected and what to do: whoever reads it has
//! just renewed a certificate, and has little time.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Certificates of a site and its keys are some kB.
const LONGEST: u64 = 256 << 10;

/// Where they are, all in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// Certificates of the authorities that count.
    pub ca: PathBuf,
    /// The certificate of this host, and behind it those that lead to an authority.
    pub cert: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// A file that is not as it has to be.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct Fault {
    /// Which.
    pub path: PathBuf,
    /// What is wrong, what is expected and what to do.
    pub problem: Problem,
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// It is not there, or not for this user.
    #[error(
        "cannot be read: {0}; let it be there, and readable by the user that this program runs as"
    )]
    Read(io::Error),
    /// No such file is as large.
    #[error("is larger than {} KiB; expected are some certificates, or a key, in PEM", LONGEST >> 10)]
    Large,
    /// Others can take the key.
    #[error(
        "others may read or change it (mode {0:04o}); a key is its owner's and at most readable by a group: chmod 0600 or 0640"
    )]
    Open(u32),
    /// Something else, or something in DER.
    #[error(
        "there is no {0} in PEM in it; expected is a block that begins with -----BEGIN {1}-----{2}"
    )]
    Nothing(&'static str, &'static str, &'static str),
    /// Cut off, or edited.
    #[error("is damaged: {0}; take it from a copy, or make a new one")]
    Pem(&'static str),
    /// An authority that is none.
    #[error("its certificate number {0} is none that an authority could have: {1}")]
    Authority(usize, rustls::Error),
    /// The two files are of different hosts or days.
    #[error("is not the key of the certificate in {}; renew both together", .0.display())]
    OtherKey(PathBuf),
    /// A kind that rustls does not take.
    #[error(
        "its key cannot be used: {0}; expected is ECDSA (P-256, P-384), Ed25519 or RSA, without a password"
    )]
    KeyKind(rustls::Error),
    /// By the wall clock.
    #[error("its certificate has expired {} ago by the clock here; renew it, or mend the clock", Span(*.0))]
    Expired(Duration),
    /// By the wall clock.
    #[error("its certificate is good only in {} by the clock here; mend the clock, or wait", Span(*.0))]
    NotYet(Duration),
    /// Another site's, or an authority between is missing.
    #[error("its certificate is not signed by an authority of {}; put those between behind it, or take the right `ca`", .0.display())]
    OtherAuthority(PathBuf),
    /// Extended key usage.
    #[error(
        "its certificate is not for TLS {0} (extended key usage {1}); a leader's and a relay's have to be for both sides, a node's for clients"
    )]
    OtherUse(&'static str, &'static str),
    /// It does not say what its host is.
    #[error(
        "its certificate has not one role; expected is one URI among its names (subjectAltName): sapphire:role/leader, sapphire:role/relay or sapphire:role/node"
    )]
    NoRole,
    /// Anything else that is wrong with it.
    #[error("its certificate cannot be used: {0}; make a new one")]
    Certificate(rustls::Error),
}

/// For people: days where it is days.
struct Span(Duration);

impl std::fmt::Display for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.0.as_secs();
        match seconds {
            0..=119 => write!(f, "{seconds} s"),
            120..=7199 => write!(f, "{} min", seconds / 60),
            7200..=172_799 => write!(f, "{} h", seconds / 3600),
            _ => write!(f, "{} days", seconds / 86_400),
        }
    }
}

impl Files {
    /// Those that count. Errors: [`Fault`].
    pub(crate) fn authorities(&self) -> Result<Vec<CertificateDer<'static>>, Fault> {
        certificates(&self.ca)
    }

    /// The certificate of this host first. Errors: [`Fault`].
    pub(crate) fn chain(&self) -> Result<Vec<CertificateDer<'static>>, Fault> {
        certificates(&self.cert)
    }

    /// Its mode is looked at in the opened file, so that it is that of what is read. Errors:
    /// [`Fault`].
    pub(crate) fn private_key(&self) -> Result<PrivateKeyDer<'static>, Fault> {
        let problem = |problem| fault(&self.key, problem);
        let (file, mode) = opened(&self.key).map_err(|why| problem(Problem::Read(why)))?;
        // A group may read, as with Debian's ssl-cert and systemd's credentials, which are 0440.
        if mode & 0o027 != 0 {
            return Err(problem(Problem::Open(mode)));
        }
        let text = text(file).map_err(problem)?;
        PrivateKeyDer::from_pem_slice(&text).map_err(|why| {
            problem(match why {
                pem::Error::NoItemsFound => Problem::Nothing(
                    "private key",
                    "PRIVATE KEY",
                    "; one with a password cannot be used, as nobody is there to type it",
                ),
                why => Problem::Pem(damage(&why)),
            })
        })
    }
}

/// Shape: at least one. Errors: [`Fault`].
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Fault> {
    let problem = |problem| fault(path, problem);
    let (file, _) = opened(path).map_err(|why| problem(Problem::Read(why)))?;
    let text = text(file).map_err(problem)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let all = all.map_err(|why| problem(Problem::Pem(damage(&why))))?;
    match all.is_empty() {
        true => Err(problem(Problem::Nothing("certificate", "CERTIFICATE", ""))),
        false => Ok(all),
    }
}

/// In words: rustls-pki-types prints lines as lists of numbers.
const fn damage(why: &pem::Error) -> &'static str {
    match why {
        pem::Error::MissingSectionEnd { .. } => {
            "it is cut off, a line -----END ...----- is missing"
        }
        pem::Error::IllegalSectionStart { .. } => "a line -----BEGIN ...----- is not whole",
        pem::Error::Base64Decode(_) => "what is in a block is not base64",
        _ => "it is no PEM",
    }
}

/// What every function here fails by.
pub(crate) fn fault(path: &Path, problem: Problem) -> Fault {
    let path = path.to_owned();
    Fault { path, problem }
}

/// The file and its mode. Errors: also where it is none, as a pipe would be waited for.
fn opened(path: &Path) -> io::Result<(File, u32)> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
    }
    let file = File::open(path)?;
    let mode = file.metadata()?.permissions().mode() & 0o7777;
    Ok((file, mode))
}

/// All of a file, but no more than anybody needs. Errors: [`Problem`].
fn text(file: File) -> Result<Vec<u8>, Problem> {
    let mut text = Vec::new();
    let read = file.take(LONGEST + 1).read_to_end(&mut text);
    read.map_err(Problem::Read)?;
    match text.len() as u64 > LONGEST {
        true => Err(Problem::Large),
        false => Ok(text),
    }
}
