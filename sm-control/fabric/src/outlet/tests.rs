use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::*;

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_is_replaced_whole_and_a_link_is_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let victim = directory.path().join("victim");
    let file = directory.path().join("file");
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, &file).unwrap();
    write(&file, Readers::All, b"new").unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert!(!fs::symlink_metadata(&file).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&file).unwrap(), "new");

    // Nor is a name that another file has, too, written through.
    fs::remove_file(&file).unwrap();
    fs::hard_link(&victim, &file).unwrap();
    write(&file, Readers::Owner, b"key").unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(names(directory.path()), ["file", "victim"]);
}

#[test]
fn what_fails_leaves_the_file_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "old").unwrap();
    let failed = write_with(&file, Readers::All, |out| {
        out.write_all(b"half of it")?;
        Err(io::Error::other("no more"))
    });
    let said = failed.unwrap_err().to_string();
    assert!(said.contains("file: cannot write: no more"), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    assert_eq!(names(directory.path()), ["file"]);
}

#[test]
fn a_directory_that_is_a_link_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (real, link) = (directory.path().join("real"), directory.path().join("link"));
    fs::create_dir(&real).unwrap();
    symlink(&real, &link).unwrap();
    for name in [link.clone(), link.join("")] {
        let said = Folder::make(&name).unwrap_err().to_string();
        assert!(said.contains("is a symbolic link"), "{said}");
    }
    symlink("nowhere", directory.path().join("dangling")).unwrap();
    Folder::make(&directory.path().join("dangling")).unwrap_err();
    assert!(!directory.path().join("nowhere").exists());
    fs::write(directory.path().join("file"), "").unwrap();
    let said = Folder::make(&directory.path().join("file")).unwrap_err();
    assert!(said.to_string().contains("is no directory"), "{said}");

    // Links inside are replaced.
    let victim = directory.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, real.join("net")).unwrap();
    let folder = Folder::make(&real).unwrap();
    folder.write("net", Readers::All, b"new").unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    Folder::make(&directory.path().join("a/b/c")).unwrap();
    assert!(directory.path().join("a/b/c").is_dir());
}

#[test]
fn devices_and_descriptors_take_bytes_as_they_come() {
    write(Path::new("/dev/null"), Readers::Owner, b"x").unwrap();
    let about = fs::symlink_metadata("/dev/null").unwrap();
    assert!(!about.is_file(), "it is still a device");
    let full = write(Path::new("/dev/full"), Readers::All, b"x").unwrap_err();
    assert!(full.to_string().contains("No space left"), "{full}");

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "before ").unwrap();
    let open = fs::OpenOptions::new().append(true).open(&file).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&open);
    let name = format!("/proc/self/fd/{number}");
    write(Path::new(&name), Readers::All, b"behind").unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "before behind");

    for odd in [directory.path(), Path::new("/")] {
        let said = write(odd, Readers::All, b"x").unwrap_err().to_string();
        assert!(said.contains("is a directory; name a file"), "{said}");
    }
    let nowhere = write(Path::new("/nonexistent/a.snap"), Readers::All, b"x").unwrap_err();
    let said = nowhere.to_string();
    assert!(
        said.contains("there is no directory /nonexistent; make it first"),
        "{said}"
    );
}

#[test]
fn leftovers_are_swept_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    for name in [
        ".sapphire-0123456789abcdef.tmp",
        ".sapphire-1.tmp",
        "current.snap.77.tmp",
        "current.snap",
        "notes.tmp",
    ] {
        fs::write(directory.path().join(name), "").unwrap();
    }
    let folder = Folder::open(directory.path()).unwrap();
    let swept = folder.sweep(|name| name == "current.snap.77.tmp").unwrap();
    assert_eq!(swept, 2);
    assert_eq!(
        names(directory.path()),
        [".sapphire-1.tmp", "current.snap", "notes.tmp"]
    );
}
