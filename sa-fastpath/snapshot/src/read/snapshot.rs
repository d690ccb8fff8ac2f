//! A verified snapshot.
//!
//! Verification comes first and derived tables after it: what is derived follows indices that only
//! verification makes safe. A snapshot is a few pointers and small tables beside its backing; it is
//! never copied, workers hold it by `Arc` (`Published`).

use std::sync::Arc;

use crate::backing::Backing;
use crate::derived::Derived;
use crate::epoch::EpochId;
use crate::error::LoadError;
use crate::format::Sections;
#[cfg(feature = "mmap")]
use crate::format::layout::{HEAD, whole_length};
use crate::format::layout::{Range, SectionId, parse};
use crate::format::policy_records::PolicyRecord;
use crate::format::records::SubnetRecord;
use crate::keyless;
use crate::verify::{Tables, verify};

/// Immutable tables that passed every check; made only by [`Snapshot::from_bytes`],
/// `Snapshot::read` (feature `mmap`) and [`crate::Builder`].
///
/// Immutable from its first moment; `Send` and `Sync`, as nothing in it changes. Size: the backing,
/// plus some kilobytes that are derived from it.
pub struct Snapshot {
    /// A copy of the one record, as nearly every lookup needs some of it.
    pub(crate) subnet: SubnetRecord,
    /// The same of the policy; none where none is in force.
    pub(crate) policy: Option<PolicyRecord>,
    /// What follows from the sections; see `derived`.
    pub(crate) derived: Derived,
    /// Typed slices of the backing.
    pub(crate) sections: Sections,
    /// Keeps the sections' memory; last, so that it goes last.
    backing: Arc<Backing>,
    /// What is left out of copies, and the digest without it.
    hidden: Vec<(core::ops::Range<usize>, u8)>,
    /// Of the copy without what is hidden: the same for two snapshots that differ in their keys
    /// alone.
    public_digest: u64,
}

/// The bytes of a snapshot, which may outlive it.
#[derive(Clone)]
pub struct SharedBytes(Arc<Backing>);

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}

/// What a snapshot holds, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotInfo {
    /// Epoch that it was published under, none when it never was.
    pub epoch: Option<EpochId>,
    /// Seconds since 1970, 0 when built reproducibly.
    pub built_unix: u64,
    /// Length of file and memory. Units: bytes.
    pub bytes: usize,
    /// XXH3-64 of the content.
    pub digest: u64,
    /// CA and router ports.
    pub hosts: usize,
    /// Switches, each of which is an end port by its port 0.
    pub switches: usize,
    /// Rules of the policy, none when no policy is in force.
    pub rules: Option<u32>,
    /// Distinct classes of paths.
    pub path_classes: usize,
    /// How pairs are kept: `uniform` or `dense`.
    pub encoding: &'static str,
    /// QoS is on: SLs are checked against what paths carry.
    pub qos: bool,
    /// The SA's key is inside.
    pub has_key: bool,
    /// Name and length of every section. Units: bytes.
    pub sections: Vec<(&'static str, usize)>,
    /// First line: routing engine; then one line per input.
    pub provenance: String,
}

impl Snapshot {
    /// Copies and verifies. Errors: [`LoadError`], whatever is wrong with the bytes.
    ///
    /// For bytes in memory; a file is read by `Snapshot::read`, which judges its length first.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, LoadError> {
        let ranges = parse(bytes)?;
        let backing = Backing::owned(bytes.len(), |memory| {
            if let Some(start) = memory.get_mut(..bytes.len()) {
                start.copy_from_slice(bytes);
            }
        });
        Self::from_backing(backing, ranges)
    }

    /// Takes over memory that the builder filled. Errors: as [`Self::from_bytes`].
    pub(crate) fn from_owned(backing: Backing) -> Result<Self, LoadError> {
        let ranges = parse(backing.bytes())?;
        Self::from_backing(backing, ranges)
    }

    /// Reads a file of `length` bytes into memory of its own, and verifies what it has read there.
    ///
    /// Its head is judged before memory is taken for the rest. Whatever happens to the file
    /// afterwards, the snapshot stays as it was verified; a file that changes while it is read has
    /// another digest and is refused. Errors: [`LoadError`].
    #[cfg(feature = "mmap")]
    pub fn read(file: &mut impl std::io::Read, length: u64) -> Result<Self, LoadError> {
        let mut head = [0; HEAD];
        // The head alone is read first: its length bounds the memory that is taken.
        let have = fill(file, &mut head).map_err(|error| LoadError::Read(error.to_string()))?;
        let whole = whole_length(head.get(..have).unwrap_or_default(), length)?;
        let (mut read, need) = (have, whole as u64);
        let backing = Backing::sealed(whole, |memory| {
            let Some((start, rest)) = memory.split_at_mut_checked(HEAD) else {
                return Ok(());
            };
            start.copy_from_slice(&head);
            read += fill(file, rest)?;
            Ok(())
        });
        let backing = backing.map_err(|error| LoadError::Read(error.to_string()))?;
        // The file was cut off while it was read.
        if read < whole {
            let have = read as u64;
            return Err(LoadError::Truncated { have, need });
        }
        Self::from_owned(backing)
    }

    /// Takes the sections, verifies them, and works out what follows from them. Errors:
    /// [`LoadError::Section`].
    fn from_backing(backing: Backing, ranges: Vec<Range>) -> Result<Self, LoadError> {
        let sections = Sections::new(backing.bytes(), &ranges)?;
        let subnet = match &*sections.subnet {
            [subnet] => *subnet,
            _ => {
                return Err(LoadError::Section {
                    section: "subnet",
                    what: "not one record",
                });
            }
        };
        let policy = match &*sections.policy {
            [] => None,
            [policy] => Some(*policy),
            _ => {
                return Err(LoadError::Section {
                    section: "policy",
                    what: "several records",
                });
            }
        };
        let provenance = ranges.get(SectionId::Provenance as usize);
        let provenance = provenance.map_or(0..0, |range| range.start..range.end);
        // Found before verification, as it looks at text only.
        let hidden = keyless::hidden(backing.bytes(), provenance);
        // Before anything is looked up: lookups trust what passed.
        verify(&Tables {
            subnet: &subnet,
            policy: policy.as_ref(),
            sections: &sections,
        })?;
        Ok(Self {
            derived: Derived::new(&sections, &subnet, policy.as_ref()),
            subnet,
            policy,
            sections,
            public_digest: keyless::digest(backing.bytes(), &hidden),
            hidden,
            backing: Arc::new(backing),
        })
    }

    /// The bytes, which are also the file. Shape: a multiple of 64 bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.backing.bytes()
    }

    /// The same, for who needs them longer than the snapshot may live.
    pub fn shared_bytes(&self) -> SharedBytes {
        SharedBytes(Arc::clone(&self.backing))
    }

    /// Whether the SA's key is inside.
    pub const fn has_key(&self) -> bool {
        self.subnet.sa_key != 0
    }

    /// The digest that its [`Self::without_key`] has: what answers follow from, whoever is trusted.
    pub const fn public_digest(&self) -> u64 {
        self.public_digest
    }

    /// The same without the SA's key, so that nobody is trusted: for copies.
    /// Errors: [`LoadError`], of a defect here.
    pub fn without_key(&self) -> Result<Self, LoadError> {
        let backing = Backing::owned(self.as_bytes().len(), |memory| {
            keyless::copy(self.as_bytes(), &self.hidden, memory);
        });
        Self::from_owned(backing)
    }

    /// The digest over all its bytes: what tells it from any other.
    pub fn digest(&self) -> u64 {
        // Behind the magic, where the header has it.
        let header = self.as_bytes().get(8..16);
        let digest = header.and_then(|digest| digest.try_into().ok());
        digest.map(u64::from_le_bytes).unwrap_or_default()
    }

    /// What it holds, for people.
    pub fn info(&self) -> SnapshotInfo {
        let switches = self.ports().filter(|(_, port)| port.is_switch()).count();
        SnapshotInfo {
            epoch: self.epoch(),
            built_unix: self.subnet.built_unix,
            bytes: self.as_bytes().len(),
            digest: self.digest(),
            hosts: self.sections.ports.len() - switches,
            switches,
            rules: self.policy.map(|policy| policy.rules),
            path_classes: self.sections.path_classes.len() - 1,
            encoding: if self.is_uniform() {
                "uniform"
            } else {
                "dense"
            },
            qos: self.subnet.qos == 1,
            has_key: self.has_key(),
            sections: self.sections.sizes(),
            provenance: String::from_utf8_lossy(&self.sections.provenance).into_owned(),
        }
    }
}

impl core::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Snapshot")
            .field("epoch", &self.subnet.epoch)
            .field("ports", &self.sections.ports.len())
            .finish_non_exhaustive()
    }
}

/// Reads until the memory is full or the file ends. Gives how many bytes it read.
#[cfg(feature = "mmap")]
fn fill(file: &mut impl std::io::Read, memory: &mut [u8]) -> std::io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = memory.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            // A signal is no reason to give up a load.
            Ok(some) => done += some,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
