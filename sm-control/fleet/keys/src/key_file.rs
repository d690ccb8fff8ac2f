//! Files with a secret key, and who may read them.
//!
//! | mode | of an ordinary file | in the directory of systemd's credentials |
//! |---|---|---|
//! | 0600, 0400 | taken | taken |
//! | 0440 | refused | taken: as LoadCredential gives it to a service with a user of its own |
//! | any other bit for group or others | refused | refused |
//!
//! The mode is that of the file that was opened, and not of the name: nobody puts another one there
//! in between. A new file has its mode from the moment it is made.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sa_fleet::announcement::LeaderKey;
use zeroize::Zeroizing;

use crate::bounded;
use crate::problem::{KeyFault, KeyProblem};
use crate::public::PublicKey;
use crate::secret::SecretKey;

/// The longest file of a secret key, with its comment. Units: bytes.
const MAX_SIZE: usize = 2048;

/// Where systemd says what LoadCredential has made for this process.
const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";

impl SecretKey {
    /// From its file, which is its owner's alone: no bit of its mode is for group or others. In the
    /// directory of systemd's credentials 0440 is as good, since the group stands there for the one
    /// user that was let in.
    ///
    /// Whose file it is does not matter: who is neither its owner nor root cannot open one that is
    /// its owner's alone.
    ///
    /// # Errors
    ///
    /// One, with the file.
    pub fn read(path: &Path) -> Result<Self, KeyProblem> {
        let credentials = std::env::var_os(CREDENTIALS).map(PathBuf::from);
        Self::read_with(path, credentials.as_deref()).map_err(|fault| KeyProblem::new(path, fault))
    }

    fn read_with(path: &Path, credentials: Option<&Path>) -> Result<Self, KeyFault> {
        let (file, about) = bounded::open(path).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => KeyFault::NoFile,
            _ => KeyFault::Io("read", error),
        })?;
        let mode = about.permissions().mode() & 0o777;
        let is_credential = credentials.is_some_and(|folder| path.parent() == Some(folder));
        if mode & 0o077 != 0 && !(is_credential && mode == 0o440) {
            return Err(KeyFault::Open(mode));
        }
        let mut text = Zeroizing::new([0; MAX_SIZE]);
        let length = bounded::fill(file, &mut *text).map_err(|it| KeyFault::Io("read", it))?;
        // One that fills all of it may go on; no key is so long.
        let text = text.get(..length).filter(|it| it.len() < MAX_SIZE);
        Self::parse(text.ok_or(KeyFault::NoKey)?)
    }

    /// To a new file, its owner's alone, and on the disk when this returns. `name` stands in it for
    /// people.
    ///
    /// # Errors
    ///
    /// One, with the file; a file that was there stays as it was.
    pub fn write(&self, path: &Path, name: &str) -> Result<(), KeyProblem> {
        let problem = |fault| KeyProblem::new(path, fault);
        let new = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path);
        let file = new.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => problem(KeyFault::Exists),
            _ => problem(KeyFault::Io("write", error)),
        })?;
        let written = filled(file, self.text(&format!("key of {name}")).as_bytes());
        written.and_then(|()| synced(path)).map_err(|error| {
            // Half a key is none, and in the way of the next one.
            let _ = fs::remove_file(path);
            problem(KeyFault::Io("write", error))
        })
    }
}

fn filled(mut file: File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.sync_all()
}

/// Makes the name of a new file last.
fn synced(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = File::open(parent.unwrap_or_else(|| Path::new(".")))?;
    match folder.sync_all() {
        // A file system that knows no such thing.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

/// The key of a leader, which signs announcements, and its file.
#[derive(Debug)]
pub struct LeaderKeyFile(SecretKey);

impl LeaderKeyFile {
    /// A new one. Errors: the system has no randomness.
    pub fn generate() -> io::Result<Self> {
        SecretKey::generate().map(Self)
    }

    /// What the root file has to have of it.
    pub const fn public(&self) -> PublicKey {
        self.0.public()
    }

    /// As [`SecretKey::write`].
    ///
    /// # Errors
    ///
    /// One, with the file; a file that was there stays as it was.
    pub fn write(&self, path: &Path, name: &str) -> Result<(), KeyProblem> {
        self.0.write(path, name)
    }

    /// What a daemon signs with. Which files are taken: [`SecretKey::read`].
    ///
    /// # Errors
    ///
    /// One, with the file.
    pub fn read(path: &Path) -> Result<LeaderKey, KeyProblem> {
        SecretKey::read(path).map(|key| key.leader())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

    use std::fs::Permissions;

    use super::*;

    #[test]
    fn a_file_is_its_owners_alone_and_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("leader.key");
        let key = LeaderKeyFile::generate().unwrap();
        key.write(&path, "leader-1").unwrap();
        let mode = || path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o600);
        let other = LeaderKeyFile::generate().unwrap();
        let said = other.write(&path, "leader-2").unwrap_err().to_string();
        assert!(said.contains("leader.key: is there already"), "{said}");
        let read = LeaderKeyFile::read(&path).unwrap();
        assert_eq!(
            (read.id, read.public()),
            (key.public().id, key.public().key)
        );

        let read = |mode, folder| {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            SecretKey::read_with(&path, folder).map(|key| key.public())
        };
        for mode in [0o600, 0o400] {
            assert!(read(mode, None).is_ok(), "{mode:o}");
        }
        for mode in [0o640, 0o440, 0o604, 0o620, 0o644] {
            let fault = read(mode, None).unwrap_err().to_string();
            assert!(fault.contains(&format!("mode {mode:04o}")), "{fault}");
        }
        // As LoadCredential gives it to a service with a user of its own.
        let here = Some(folder.path());
        assert!(read(0o440, here).is_ok());
        for mode in [0o640, 0o444, 0o460] {
            read(mode, here).unwrap_err();
        }
        read(0o440, Some(Path::new("/run"))).unwrap_err();
    }

    #[test]
    fn what_is_no_key_is_one_error_with_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let said = |text: &[u8]| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            let problem = SecretKey::read(&path).unwrap_err();
            let said = problem.to_string();
            assert!(said.starts_with(&format!("{}:", path.display())), "{said}");
            said
        };
        assert!(said(b"").contains("key:1:1: expected a secret key"));
        assert!(said(&[0xff; 100]).contains("expected a secret key"));
        assert!(said(&[b'x'; 5000]).contains("expected a secret key"));
        let missing = SecretKey::read(&folder.path().join("none")).unwrap_err();
        assert!(missing.to_string().contains("none: cannot read: No such"));
        let folder = SecretKey::read(folder.path()).unwrap_err();
        assert!(folder.to_string().contains("is no file"), "{folder}");
    }
}
