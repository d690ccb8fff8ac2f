//! The token that an order over HTTP has to bring: a file that others can neither read nor write.
//!
//! ```text
//!  [http] token_file = "http-token"      -rw-r----- root sapphire    one line of 16 to 256 printable characters
//! ```
//!
//! Made by `head -c 32 /dev/urandom | base64 > FILE`. Read at the start: another token takes a
//! restart.

use core::fmt;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sa_fabric::intake::{self, ReadError};
use subtle::ConstantTimeEq;
use thiserror::Error;

/// Bits of a mode that let others than the owner and a group of readers at it.
const OTHERS: u32 = 0o027;

/// Letters of a token: fewer can be guessed, more are a mistaken file.
const SHORTEST: usize = 16;
const LONGEST: usize = 256;

/// What an order has to bring. It is compared, and never shown.
pub struct HttpToken(Box<[u8]>);

impl fmt::Debug for HttpToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpToken(..)")
    }
}

/// A token that cannot be used.
#[derive(Debug, Error)]
#[error("[http] token_file: {problem}")]
pub struct HttpTokenError {
    /// Why not.
    pub problem: HttpTokenProblem,
}

/// Why a token cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HttpTokenProblem {
    /// The file is not there, or none.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It cannot be read to its end.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Others may read or write it.
    #[error("{}: others may read or write it (mode {mode:03o}); chmod 600, or 640 for a group that reads it", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// It is neither root's nor the daemon's user's.
    #[error("{}: it belongs to uid {uid}; it has to be root's, or that of the user who runs sapphired", path.display())]
    Owner {
        /// The file.
        path: PathBuf,
        /// Whose it is.
        uid: u32,
    },
    /// It has no token.
    #[error("{}: expected one line of {SHORTEST} to {LONGEST} printable characters without blanks; make one with `head -c 32 /dev/urandom | base64`", path.display())]
    NoToken {
        /// The file.
        path: PathBuf,
    },
}

impl HttpToken {
    /// Reads it. Errors: others may know or change it; it is none.
    pub fn read(path: &Path) -> Result<Self, HttpTokenError> {
        Self::read_from(path).map_err(|problem| HttpTokenError { problem })
    }

    fn read_from(path: &Path) -> Result<Self, HttpTokenProblem> {
        let place = || path.to_owned();
        // What was opened is judged, not what has its name.
        let (file, about) = intake::open(path)?;
        let mode = about.mode() & 0o777;
        if mode & OTHERS != 0 {
            return Err(HttpTokenProblem::Open {
                path: place(),
                mode,
            });
        }
        let uid = about.uid();
        if uid != 0 && uid != rustix::process::geteuid().as_raw() {
            return Err(HttpTokenProblem::Owner { path: place(), uid });
        }
        let mut text = Vec::new();
        // One more than a token and the end of its line: who has it is too long.
        let most = u64::try_from(LONGEST + 3).unwrap_or(u64::MAX);
        let read = file.take(most).read_to_end(&mut text);
        read.map_err(|source| HttpTokenProblem::Io {
            path: place(),
            source,
        })?;
        let token = text.trim_ascii_end();
        let is_token =
            (SHORTEST..=LONGEST).contains(&token.len()) && token.iter().all(u8::is_ascii_graphic);
        match is_token {
            true => Ok(Self(token.into())),
            false => Err(HttpTokenProblem::NoToken { path: place() }),
        }
    }

    /// Whether this is it. Takes as long for any of its length.
    pub fn is(&self, given: &[u8]) -> bool {
        self.0.ct_eq(given).into()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn read(content: &[u8], mode: u32) -> Result<HttpToken, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        HttpToken::read(&path).map_err(|error| error.to_string())
    }

    #[test]
    fn a_token_is_one_line_that_others_cannot_read() {
        let token = read(b"0123456789abcdef\n", 0o640).unwrap();
        assert!(token.is(b"0123456789abcdef"));
        for other in [
            "0123456789abcdeF",
            "0123456789abcde",
            "0123456789abcdef\n",
            "",
        ] {
            assert!(!token.is(other.as_bytes()), "{other}");
        }
        assert_eq!(format!("{token:?}"), "HttpToken(..)");
        for mode in [0o644, 0o660, 0o602, 0o601] {
            let why = read(b"0123456789abcdef\n", mode).unwrap_err();
            assert!(why.contains("others may") && !why.contains("0123"), "{why}");
        }
        for content in [
            &b""[..],
            b"0123456789abcde\n",
            b"0123456789 abcdef\n",
            b"0123456789\nabcdef\n",
            &[b'x'; LONGEST + 1],
            &[0xff; 20],
        ] {
            assert!(
                read(content, 0o600)
                    .unwrap_err()
                    .contains("expected one line")
            );
        }
        let nowhere = HttpToken::read(Path::new("/nowhere/token")).unwrap_err();
        assert!(nowhere.to_string().contains("/nowhere/token"));
    }
}
