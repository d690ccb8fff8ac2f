//! TLS to the members of etcd: whose certificates count, and what is shown to them.
//!
//! The files are read for each new connection, so that what is renewed is taken without a restart.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use etcd_client::{Certificate, Identity, TlsOptions};
use thiserror::Error;

/// Far more than the authorities of any site take. Units: bytes.
const MOST: u64 = 1 << 20;

/// A file of certificates that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}: {why}", path.display())]
pub struct FileError {
    /// Which.
    pub path: PathBuf,
    /// What is wrong, and what to do.
    pub why: String,
}

/// Files in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdTls {
    /// The authority that members have their certificates of. No other counts, those of the system
    /// neither.
    pub ca: PathBuf,
    /// Where members ask for one (`--client-cert-auth`).
    pub own: Option<EtcdIdentity>,
}

/// What is shown to members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdIdentity {
    /// The certificate, with the authorities between.
    pub cert: PathBuf,
    /// Its key, which is its owner's and at most readable by a group.
    pub key: PathBuf,
}

impl EtcdTls {
    /// For a connection to `host`, a name or an address without brackets that has to be in the
    /// certificate of the member.
    ///
    /// Errors: a file that cannot be read, or has something else in it; a key that others may read.
    pub(crate) fn options(&self, host: &str) -> Result<TlsOptions, FileError> {
        let public = |path: &Path| pem(path, "CERTIFICATE", read(path).map(|(bytes, _)| bytes));
        let ca = public(&self.ca)?;
        let options = TlsOptions::new()
            .ca_certificate(Certificate::from_pem(ca))
            .domain_name(host);
        let Some(own) = &self.own else {
            return Ok(options);
        };
        let cert = public(&own.cert)?;
        let key = pem(&own.key, "PRIVATE KEY", secret(&own.key))?;
        Ok(options.identity(Identity::from_pem(cert, key)))
    }
}

/// All of a file, and its mode, which is that of what was read. Errors: also where it is none, as a
/// pipe would be waited for, by the thread that renews the lease; and where it is larger than any
/// such file.
fn read(path: &Path) -> io::Result<(Vec<u8>, u32)> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
    }
    let file = File::open(path)?;
    let mode = file.metadata()?.permissions().mode() & 0o7777;
    let mut bytes = Vec::new();
    let length = file.take(MOST + 1).read_to_end(&mut bytes)?;
    match length as u64 > MOST {
        true => Err(io::Error::other(format!("it has more than {MOST} bytes"))),
        false => Ok((bytes, mode)),
    }
}

/// A key that others cannot have read.
fn secret(path: &Path) -> io::Result<Vec<u8>> {
    let (bytes, mode) = read(path)?;
    if mode & 0o027 != 0 {
        let text = format!(
            "others may read or change it (mode {mode:04o}); a key is its owner's and at most readable by a group: chmod 0600 or 0640"
        );
        return Err(io::Error::other(text));
    }
    Ok(bytes)
}

/// Errors: it could not be read, or has no block of this kind. What is in a block is judged when a
/// connection is made.
fn pem(path: &Path, kind: &str, read: io::Result<Vec<u8>>) -> Result<Vec<u8>, FileError> {
    let refused = |why: String| FileError {
        path: path.to_owned(),
        why,
    };
    let bytes = read.map_err(|why| refused(why.to_string()))?;
    let has = |line: &[u8]| {
        line.starts_with(b"-----BEGIN ")
            && line
                .trim_ascii_end()
                .ends_with(format!("{kind}-----").as_bytes())
    };
    match bytes.split(|byte| *byte == b'\n').any(has) {
        true => Ok(bytes),
        false => Err(refused(format!(
            "no block \"-----BEGIN {kind}-----\" in it; expected a file in PEM"
        ))),
    }
}
