//! Whether the control socket can be where a configuration has it.

use std::path::Path;

use sa_fastpath::port::ring;

use crate::config::ControlSection;

/// Bytes of the path of a socket.
const LONGEST: usize = 107;

/// Whether the socket can be there. Errors: in words, why not.
pub(crate) fn check(section: &ControlSection) -> Result<(), String> {
    let said = |problem: String| format!("[control] {}: {problem}", section.path.display());
    if section.path.as_os_str().len() > LONGEST {
        return Err(said(format!(
            "the path of a socket has at most {LONGEST} bytes"
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

/// The group that the section names, by number. Errors: in words, it is unknown here.
pub(crate) fn group(section: &ControlSection) -> Result<Option<u32>, String> {
    section.group.as_deref().map(ring::group_id).transpose()
}

/// Where the socket is to be.
fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
