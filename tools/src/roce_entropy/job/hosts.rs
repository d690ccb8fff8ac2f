//! Hosts of a job.
//!
//! Names are for output only; addresses go into the switches' hash. A file is read so:
//!
//! ```text
//! node1                    # 10.0.0.1: by its place
//! node2 192.168.7.2
//! fe80::1                  # an address is its own name
//! ```

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;

use sa_entropy::Address;
use sa_text::Position;

use super::read_text;
use crate::failure::{Failure, Outcome};

/// A host.
///
/// What one line of the file says, or one number of `--hosts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::roce_entropy) struct Host {
    /// As given; never empty, and once in a job.
    pub(in crate::roce_entropy) name: String,
    /// Of the family it was given in: a mixed job hashes both.
    pub(in crate::roce_entropy) address: Address,
}

/// `h0`, `h1` and so on. Errors: not 2 to 65,536.
pub(super) fn numbered(count: u32) -> Outcome<Vec<Host>> {
    // One host has nobody to talk to, so no flow would come of it.
    if !(2..=65_536).contains(&count) {
        return Err(Failure::usage(format!(
            "--hosts {count}: expected 2 to 65536"
        )));
    }
    let host = |nth: u32| Host {
        name: format!("h{nth}"),
        address: default_address(nth),
    };
    Ok((0..count).map(host).collect())
}

/// Errors: the file cannot be read, a line is none of a host, a name comes twice, fewer than two.
///
/// Whatever is behind `#` is for people. Shape: in the order of lines.
pub(super) fn read(path: &Path) -> Outcome<Vec<Host>> {
    let text = read_text(path).map_err(|failure| {
        let text = failure.text();
        Failure::failed(format!("--hosts: expected a number or a file: {text}"))
    })?;
    parse(path, &text)
}

/// A name that comes twice is an error: in the table of labels nobody could tell the two apart.
fn parse(path: &Path, text: &str) -> Outcome<Vec<Host>> {
    let mut hosts = Vec::new();
    let mut lines = BTreeMap::new();
    for (nth, line) in text.lines().enumerate() {
        // Before the words are told apart, so that a comment may stand right behind a name.
        let line = line.split('#').next().unwrap_or_default();
        let wrong = |word: &str, what: String| {
            // The word is a part of the line, so that its place is a difference of addresses.
            let byte = word.as_ptr().addr() - line.as_ptr().addr();
            let at = Position {
                line: u32::try_from(nth + 1).unwrap_or(u32::MAX),
                ..Position::in_text(line, byte)
            };
            Failure::failed_at(path, at, what)
        };
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else {
            continue;
        };
        if let Some(before) = lines.insert(name, nth + 1) {
            let what = format!("host `{name}` was given before, on line {before}");
            return Err(wrong(name, what));
        }
        let address = match words.next() {
            Some(word) => word.parse().map(octets).map_err(|_| {
                let what = format!("expected an IPv4 or IPv6 address, found `{word}`");
                wrong(word, what)
            })?,
            // An address in the place of a name is both.
            None => name.parse().map_or_else(
                |_| default_address(u32::try_from(hosts.len()).unwrap_or(u32::MAX)),
                octets,
            ),
        };
        if let Some(more) = words.next() {
            let what = format!("expected the end of the line after NAME ADDRESS, found `{more}`");
            return Err(wrong(more, what));
        }
        hosts.push(Host {
            name: name.to_owned(),
            address,
        });
    }
    match hosts.len() {
        0 | 1 => {
            let count = hosts.len();
            let text = "expected at least two hosts, a line `NAME [ADDRESS]` each, found";
            Err(Failure::failed_in(path, format!("{text} {count}")))
        }
        _ => Ok(hosts),
    }
}

/// Into what is hashed: the bytes as they lie in the header.
const fn octets(address: IpAddr) -> Address {
    match address {
        IpAddr::V4(address) => Address::V4(address.octets()),
        IpAddr::V6(address) => Address::V6(address.octets()),
    }
}

/// 10.0.0.1 for the first; it wraps only behind what a job may have.
const fn default_address(nth: u32) -> Address {
    Address::v4(0x0a00_0001_u32.wrapping_add(nth))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_names_and_addresses() {
        let hosts = parse(Path::new("f"), "# hosts\na 192.0.2.1\n\n2001:db8::1\nb\n").unwrap();
        assert_eq!(hosts.len(), 3);
        assert_eq!(hosts[0].address, Address::V4([192, 0, 2, 1]));
        assert!(matches!(hosts[1].address, Address::V6(_)));
        assert_eq!(hosts[2].address, Address::V4([10, 0, 0, 3]));
    }

    #[test]
    fn mistakes_have_their_place() {
        let said = |text: &str| {
            let failure = parse(Path::new("f"), text).unwrap_err();
            failure.text().strip_prefix("f:").unwrap().to_owned()
        };
        assert!(said("a 1.2.3\nb").starts_with("1:3: expected an IPv4"));
        assert!(said("a\n a").starts_with("2:2: host `a` was given before, on line 1"));
        assert!(said("a 10.0.0.1 x\nb").starts_with("1:12: expected the end"));
        assert!(said("a").contains("at least two"));
    }
}
