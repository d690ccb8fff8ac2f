//! The name of the control socket in the file system.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use sa_fastpath::port::ring;

use crate::config::ControlSection;

/// Bytes of the path of a socket.
const LONGEST: usize = 107;

/// The name, which goes when this does.
#[derive(Debug)]
pub(in crate::server) struct Socket {
    path: PathBuf,
    /// Another daemon's must stay.
    inode: (u64, u64),
}

/// Whether the socket can be there. Errors: in words, why not.
pub(in crate::server) fn check(section: &ControlSection) -> Result<(), String> {
    let said = |problem: String| format!("[control] {}: {problem}", section.path.display());
    // The socket is made in a directory beside, which has a longer name.
    let length = section.path.as_os_str().len() + workshop(&section.path).as_os_str().len();
    if length > 2 * LONGEST {
        return Err(said(format!(
            "the path of a socket has at most {LONGEST} bytes, and some are needed for its making"
        )));
    }
    let directory = directory(&section.path);
    match directory.metadata() {
        Err(error) => Err(said(format!(
            "{}: {error}; make this directory",
            directory.display()
        ))),
        Ok(about) if !about.is_dir() => {
            Err(said(format!("{} is no directory", directory.display())))
        }
        Ok(_) => group(section).map(drop).map_err(said),
    }
}

impl Socket {
    /// Listens, with the name of a daemon that is dead if need be. Errors: in words.
    pub(in crate::server) fn bind(
        section: &ControlSection,
    ) -> Result<(UnixListener, Self), String> {
        check(section)?;
        let said = |error: String| format!("[control] {}: {error}", section.path.display());
        let group = group(section).map_err(said)?;
        make_way(&section.path).map_err(said)?;
        place(section, group).map_err(|error| said(error.to_string()))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if inode(&self.path).is_ok_and(|inode| inode == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn group(section: &ControlSection) -> Result<Option<u32>, String> {
    section.group.as_deref().map(ring::group_id).transpose()
}

/// Errors: in words, what is in the way.
fn make_way(path: &Path) -> Result<(), String> {
    let about = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.to_string()),
        Ok(about) => about,
    };
    if !about.file_type().is_socket() {
        return Err("there is something that is no socket; choose another path".to_owned());
    }
    match UnixStream::connect(path) {
        Ok(_) => Err("another daemon listens there".to_owned()),
        // Nobody does: what is left of a daemon that is dead is replaced.
        Err(_) => Ok(()),
    }
}

/// The socket gets its group and mode where nobody else comes, and only then its name.
fn place(section: &ControlSection, group: Option<u32>) -> io::Result<(UnixListener, Socket)> {
    let workshop = workshop(&section.path);
    DirBuilder::new().mode(0o700).create(&workshop)?;
    let unnamed = workshop.join("s");
    let made = UnixListener::bind(&unnamed).and_then(|listener| {
        let inode = name(section, &unnamed, group)?;
        let path = section.path.clone();
        Ok((listener, Socket { path, inode }))
    });
    if made.is_err() {
        let _ = fs::remove_file(&unnamed);
    }
    let _ = fs::remove_dir(&workshop);
    made
}

/// Gives what is to identify it.
fn name(section: &ControlSection, unnamed: &Path, group: Option<u32>) -> io::Result<(u64, u64)> {
    if group.is_some() {
        chown(unnamed, None, group)?;
    }
    fs::set_permissions(unnamed, fs::Permissions::from_mode(section.mode.0))?;
    let inode = inode(unnamed)?;
    fs::rename(unnamed, &section.path)?;
    Ok(inode)
}

fn inode(path: &Path) -> io::Result<(u64, u64)> {
    let about = fs::symlink_metadata(path)?;
    Ok((about.dev(), about.ino()))
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Of this process alone.
fn workshop(path: &Path) -> PathBuf {
    directory(path).join(format!(".c{}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Mode;

    fn section(path: PathBuf) -> ControlSection {
        ControlSection {
            path,
            mode: Mode(0o640),
            group: None,
        }
    }

    #[test]
    fn the_name_is_taken_once_and_given_back() {
        let directory = tempfile::tempdir().unwrap();
        let section = section(directory.path().join("control"));
        let (listener, socket) = Socket::bind(&section).unwrap();
        let mode = fs::metadata(&section.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        let twice = Socket::bind(&section).unwrap_err();
        assert!(twice.ends_with("another daemon listens there"), "{twice}");
        drop((listener, socket));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_socket_of_a_dead_daemon_is_replaced_and_a_file_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let section = section(directory.path().join("control"));
        drop(UnixListener::bind(&section.path).unwrap());
        drop(Socket::bind(&section).unwrap());
        fs::write(&section.path, "precious").unwrap();
        let error = Socket::bind(&section).unwrap_err();
        assert!(error.contains("no socket"), "{error}");
        assert_eq!(fs::read_to_string(&section.path).unwrap(), "precious");
    }

    #[test]
    fn a_place_that_cannot_be_is_said() {
        let nowhere = check(&section("/no/such/control".into())).unwrap_err();
        assert!(nowhere.contains("make this directory"), "{nowhere}");
        let long = check(&section(format!("/tmp/{}", "x".repeat(300)).into())).unwrap_err();
        assert!(long.contains("107 bytes"), "{long}");
        let mut section = section("/tmp/x".into());
        section.group = Some("nobody-has-this".to_owned());
        assert!(check(&section).unwrap_err().contains("no group"));
    }
}
