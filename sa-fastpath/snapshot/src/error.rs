//! Why a snapshot could not be built or is not accepted.
//!
//! Two audiences. [`BuildError`] is for whoever compiled a fabric: it names the GUID, the LID or
//! the table. [`LoadError`] is for an operator with a file: it says whether to restore, compile
//! again or look for a damaged disk. In both cases the snapshot in service stays.

use sa_wire::Guid;
use thiserror::Error;

/// A model that cannot become a snapshot.
///
/// Never partial: either all of a model is laid out and verified, or none of it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two end ports claim one GUID.
    #[error("two ports have the GUID {0}")]
    DuplicateGuid(Guid),
    /// Two end ports claim one LID, or a range leaves the unicast LIDs.
    #[error("LID {lid} of port {guid} is taken or outside 1 to 49151")]
    Lid {
        /// The LID that is taken, or no unicast LID.
        lid: u32,
        /// GUID of the later of the two ports.
        guid: Guid,
    },
    /// A table is longer than its index type counts.
    #[error("{what}: {count} are more than {limit}")]
    TooMany {
        /// Which table is too long.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many there may be.
        limit: usize,
    },
    /// Two multicast groups have one address.
    #[error("two multicast groups have the address {0}")]
    DuplicateGroup(sa_wire::Gid),
    /// Two ports claim one alias GUID, or it is a port's own GUID.
    #[error("the alias GUID {0} is given twice, or is the GUID of a port")]
    DuplicateAlias(Guid),
    /// A part of the model contradicts another.
    #[error("{what} is inconsistent with the rest of the model")]
    Inconsistent {
        /// Which part of the model.
        what: &'static str,
    },
    /// What was laid out did not verify; a defect of the builder, never published.
    #[error("the snapshot just built does not verify: {0}")]
    Verify(#[from] LoadError),
}

/// Bytes that are no snapshot to trust.
///
/// The order of checks, so that the first message is the most useful: a header at all, magic, byte
/// order, version, length, digest, section table, contents. A flipped bit in the contents is always
/// `Digest`; `Section` therefore means a file that was made so, or a defect of the builder.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// Shorter than its header says, or than a header.
    #[error("truncated: {have} bytes of {need}")]
    Truncated {
        /// Bytes that are there.
        have: u64,
        /// Bytes that the header asks for, or that a header has.
        need: u64,
    },
    /// Bytes follow the end.
    #[error("{0} bytes follow the end of the snapshot")]
    Trailing(u64),
    /// Not a snapshot at all.
    #[error("not a snapshot file (it does not start with SAPHSNAP)")]
    Magic,
    /// Written on a machine of the other byte order.
    #[error("written with another byte order; compile the snapshot again on this machine")]
    ByteOrder,
    /// Written by another version.
    #[error("format version {found}, this program reads {expected}; compile the snapshot again")]
    Version {
        /// The version in the file.
        found: u32,
        /// The version that this program reads and writes.
        expected: u32,
    },
    /// The digest does not match: the file was damaged.
    #[error("digest mismatch: the file is damaged, restore or compile it again")]
    Digest,
    /// The section table is malformed.
    #[error("section table: {0}")]
    SectionTable(&'static str),
    /// A section contradicts itself or another.
    #[error("section {section}: {what}")]
    Section {
        /// Which section, by its name in the format.
        section: &'static str,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The file could not be read, or there is no memory for it.
    #[error("cannot be read: {0}")]
    Read(String),
}
