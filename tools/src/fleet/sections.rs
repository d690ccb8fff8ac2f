//! What stands in `sapphired.toml` of the hosts of a fleet.
//!
//! Paths are written in full: what is printed is copied to wherever the configuration lies.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use sa_fleet::address::Address;

use crate::toml::quoted;

/// The port on which leaders and relays listen where nobody says another.
pub(super) const PORT: u16 = 8042;

/// A key and its value, as they are written.
type Line = (&'static str, String);

/// The section of a leader.
pub(super) fn leader(root: &Path, key: &Path) -> String {
    section(
        "fleet",
        &[
            ("role", quoted("leader")),
            ("root", path(root)),
            ("key", path(key)),
            ("listen", quoted(&format!("127.0.0.1:{PORT}"))),
        ],
    )
}

/// The section of a follower.
pub(super) fn follower(root: &Path, from: &[Address]) -> String {
    section(
        "fleet",
        &[
            ("role", quoted("follower")),
            ("root", path(root)),
            ("from", list(from)),
        ],
    )
}

/// The section of a relay.
pub(super) fn relay(root: &Path, from: &[Address]) -> String {
    section(
        "fleet",
        &[
            ("role", quoted("relay")),
            ("root", path(root)),
            ("from", list(from)),
            ("listen", quoted(&format!("127.0.0.1:{PORT}"))),
        ],
    )
}

/// The section of certificates, with an empty line behind it. `directory`: has them by the names
/// of `docs/fleet.md`.
pub(super) fn tls(directory: &Path) -> String {
    let file = |name: &str| path(&directory.join(name));
    let lines = [
        ("ca", file("ca.pem")),
        ("cert", file("cert.pem")),
        ("key", file("key.pem")),
    ];
    let section = section("fleet.tls", &lines);
    format!("# How this host and those that it asks know each other.\n{section}\n")
}

/// In full: the daemon begins relative paths at its configuration.
pub(super) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// `name`: as it stands in brackets.
fn section(name: &str, lines: &[Line]) -> String {
    let mut text = format!("[{name}]\n");
    for (key, value) in lines {
        // A String takes everything.
        let _ = writeln!(text, "{key} = {value}");
    }
    text
}

fn path(path: &Path) -> String {
    quoted(&absolute(path).display().to_string())
}

fn list(all: &[Address]) -> String {
    let all: Vec<String> = all.iter().map(|one| quoted(one.as_str())).collect();
    format!("[{}]", all.join(", "))
}
