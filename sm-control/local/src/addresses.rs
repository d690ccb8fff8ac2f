//! GIDs by IP address, from a file: for IP_RESOLVE.
//!
//! The kernel asks for these only where rdma_cm resolves an address beyond a gateway, on an IPoIB
//! link: ARP would give the router's. No neighbour table has the answer, so the operator writes a
//! file:
//!
//! ```text
//! # hosts behind router 77
//! 10.20.0.5     fec0:0:0:1:2:c903:0:5   # five
//! 2001:db8::5   fec0:0:0:1:2:c903:0:5
//! ```
//!
//! It is read once, when the service starts. It passes through `Intake` as every file does: a
//! regular file, of bounded size.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use sa_fabric::intake::{Intake, Kind, ReadError};
use sa_wire::Gid;
use sa_wire::netlink_ls::IpResolve;
use thiserror::Error;

use super::agent::Reason;
use super::gid;

/// GIDs by IP address. Empty without a file: then IP_RESOLVE is always refused. Several addresses
/// may have one GID; an address has one GID.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Addresses(BTreeMap<IpAddr, Gid>);

/// An address file that cannot be used. None of its lines count then: a list that is half read
/// would refuse hosts that the operator believes to be there.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AddressesError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It does not say what it should.
    #[error("{}:{line}:{column}: {problem}", path.display())]
    Line {
        /// Which file.
        path: PathBuf,
        /// Where, counted from 1.
        line: usize,
        /// From 1. Units: characters.
        column: usize,
        /// What was found and what was expected, to be read by a person.
        problem: String,
    },
}

impl Addresses {
    /// Reads a file. Errors: [`AddressesError`].
    pub fn read(intake: &Intake, path: &Path) -> Result<Self, AddressesError> {
        let text = intake.read_text(Kind::Options, path)?;
        Self::parse(&text).map_err(|(line, column, problem)| AddressesError::Line {
            path: path.into(),
            line,
            column,
            problem,
        })
    }

    /// Parses lines of an IP address and a GID, with blanks between; `#` begins a remark. A line
    /// that stands twice is no error; an address with two GIDs is, because either could be meant.
    /// Errors: line, column, what was expected.
    pub fn parse(text: &str) -> Result<Self, (usize, usize, String)> {
        let mut all = BTreeMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let content = line.split('#').next().unwrap_or_default();
            let mut words = content.split_whitespace();
            let Some(first) = words.next() else {
                continue;
            };
            let failed = |word: &str, problem: String| (number, column(line, word), problem);
            let address: IpAddr = first.parse().map_err(|_| {
                failed(
                    first,
                    format!("{first:?}: expected an IPv4 or IPv6 address"),
                )
            })?;
            let second = words.next().ok_or_else(|| {
                let end = line.chars().count() + 1;
                let problem = format!("{first}: expected the GID of its port after it");
                (number, end, problem)
            })?;
            let gid = gid(second).ok_or_else(|| {
                let expected = "expected a GID, such as fe80::2:c903:0:1";
                failed(second, format!("{second:?}: {expected}"))
            })?;
            if let Some(more) = words.next() {
                let problem = format!("{more:?}: expected the end of the line");
                return Err(failed(more, problem));
            }
            if all.insert(address, gid).is_some_and(|before| before != gid) {
                let problem = format!("{first} had another GID before; remove one of them");
                return Err(failed(first, problem));
            }
        }
        Ok(Self(all))
    }

    /// The GID of an address. IPv4 addresses in IPv6 notation are others than the IPv4 addresses
    /// themselves.
    pub fn gid(&self, address: IpAddr) -> Option<Gid> {
        self.0.get(&address).copied()
    }

    /// What a question is answered. Errors: [`Reason::UnknownAddress`].
    pub fn resolve(&self, question: &IpResolve) -> Result<Gid, Reason> {
        self.gid(question.address).ok_or(Reason::UnknownAddress)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Where a word of a line begins. Units: characters, from 1. `word` must be a part of `line`: its
/// place is told from its address.
fn column(line: &str, word: &str) -> usize {
    let before = (word.as_ptr() as usize).saturating_sub(line.as_ptr() as usize);
    line.get(..before)
        .map_or(1, |text| text.chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_kinds_are_found() {
        let text = "# hosts\n10.20.0.5  fe80::5 # five\n\n2001:db8::5\tfe80::5\n";
        let all = Addresses::parse(text).unwrap();
        assert_eq!(all.len(), 2);
        let five = gid("fe80::5").unwrap();
        assert_eq!(all.gid("10.20.0.5".parse().unwrap()), Some(five));
        assert_eq!(all.gid("2001:db8::5".parse().unwrap()), Some(five));
        assert_eq!(all.gid("10.20.0.6".parse().unwrap()), None);
    }

    #[test]
    fn errors_have_a_place() {
        for (text, line, column, words) in [
            (
                "10.0.0.256 fe80::1",
                1,
                1,
                "expected an IPv4 or IPv6 address",
            ),
            ("\n 10.0.0.1", 2, 10, "expected the GID"),
            ("10.0.0.1 fe80:1", 1, 10, "expected a GID"),
            ("10.0.0.1 fe80::1 x", 1, 18, "expected the end"),
            (
                "10.0.0.1 fe80::1\n10.0.0.1 fe80::2",
                2,
                1,
                "another GID before",
            ),
        ] {
            let (at, from, problem) = Addresses::parse(text).unwrap_err();
            assert_eq!((at, from), (line, column), "{text}");
            assert!(problem.contains(words), "{problem}");
        }
    }
}
