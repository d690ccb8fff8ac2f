//! Announcements to bytes and back.

use core::time::Duration;

use sa_wire::SubnetPrefix;
use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use super::layout::{
    BlobEntry, DOMAIN, DRILL, DeltaEntry, Header, MAGIC, SIGNATURE_SIZE, VERSION, WITHDRAWN, length,
};
use super::{Announcement, Blob, Content, Delta, MAX_SIZE};
use crate::identity::{Digest, FleetId, Generation, Issue, KeyId, Position};
use crate::refusal::Refusal;
use crate::time::Wall;

/// Bytes of the right length and beginning, of which nothing is believed yet.
pub(crate) struct Sealed<'a> {
    header: &'a Header,
    lists: &'a [u8],
    body: &'a [u8],
    signature: &'a [u8; SIGNATURE_SIZE],
}

/// Looks at what can be looked at before the signature.
///
/// # Errors
///
/// [`Refusal::Length`], [`Refusal::Magic`] and [`Refusal::Version`].
pub(crate) fn seal(bytes: &[u8]) -> Result<Sealed<'_>, Refusal> {
    if bytes.len() > MAX_SIZE {
        return Err(Refusal::Length);
    }
    let (header, _) = Header::ref_from_prefix(bytes).map_err(|_| Refusal::Length)?;
    if header.magic != MAGIC {
        return Err(Refusal::Magic);
    }
    if header.version.get() != VERSION {
        return Err(Refusal::Version);
    }
    if bytes.len() != length(usize::from(header.blobs), usize::from(header.deltas)) {
        return Err(Refusal::Length);
    }
    let (body, signature) = bytes.split_last_chunk().ok_or(Refusal::Length)?;
    let lists = body.get(size_of::<Header>()..).ok_or(Refusal::Length)?;
    Ok(Sealed {
        header,
        lists,
        body,
        signature,
    })
}

impl<'a> Sealed<'a> {
    /// Whose signature it claims to have.
    pub(crate) const fn key(&self) -> KeyId {
        KeyId(self.header.key)
    }

    /// What has to be signed, in parts, and the signature.
    pub(crate) const fn signed(&self) -> ([&'a [u8]; 2], &'a [u8; SIGNATURE_SIZE]) {
        ([DOMAIN, self.body], self.signature)
    }

    /// What it says, once the signature was found good.
    ///
    /// # Errors
    ///
    /// [`Refusal::Malformed`] where it could be written in another way or says what cannot be.
    pub(crate) fn open(&self) -> Result<Announcement, Refusal> {
        let header = self.header;
        let position = Position {
            issue: Issue {
                era: header.era.get(),
                term: header.term.get(),
                seq: header.seq.get(),
            },
            beat: header.beat.get(),
        };
        let zeros = u32::from(header.zero.get()) | header.zero_too.get();
        let from_one = position
            .issue
            .term
            .min(position.issue.seq)
            .min(position.beat);
        if zeros != 0 || from_one == 0 {
            return Err(Refusal::Malformed);
        }
        Ok(Announcement {
            fleet: FleetId(header.fleet),
            subnet: SubnetPrefix(u64::from_be_bytes(header.subnet)),
            position,
            root_version: header.root_version.get(),
            key: self.key(),
            issued: Wall(header.issued.get()),
            ttl: Duration::from_millis(header.ttl.get().into()),
            content: self.content().ok_or(Refusal::Malformed)?,
        })
    }

    /// Flags and lists, if they are written as they must be.
    fn content(&self) -> Option<Content> {
        let header = self.header;
        let (paths, policy) = (Digest(header.paths), Digest(header.policy));
        let generation = Generation { paths, policy };
        let blob_count = usize::from(header.blobs);
        let (blobs, deltas) =
            <[BlobEntry]>::ref_from_prefix_with_elems(self.lists, blob_count).ok()?;
        let deltas = <[DeltaEntry]>::ref_from_bytes(deltas).ok()?;
        let flags = header.flags.get();
        if flags & !(WITHDRAWN | DRILL) != 0 {
            return None;
        }
        let content = if flags & WITHDRAWN == 0 {
            let blobs: Option<Vec<_>> = blobs.iter().map(blob).collect();
            let deltas: Option<Vec<_>> = deltas.iter().map(delta).collect();
            Content::ordered(generation, blobs?, deltas?).ok()?
        } else if self.lists.is_empty() {
            Content::withdrawal(generation)
        } else {
            return None;
        };
        Some(if flags & DRILL == 0 {
            content
        } else {
            content.as_drill()
        })
    }
}

/// All bytes before the signature.
pub(super) fn unsigned(announcement: &Announcement, key: KeyId) -> Vec<u8> {
    let content = &announcement.content;
    let Position { issue, beat } = announcement.position;
    // Lists are short by their type, and no TTL that a follower takes is longer than 49 days.
    let count = |length: usize| u8::try_from(length).unwrap_or(u8::MAX);
    let ttl = u32::try_from(announcement.ttl.as_millis()).unwrap_or(u32::MAX);
    let header = Header {
        magic: MAGIC,
        version: U16::new(VERSION),
        flags: U16::new(flags(content)),
        blobs: count(content.blobs().len()),
        deltas: count(content.deltas().len()),
        zero: U16::ZERO,
        fleet: announcement.fleet.0,
        subnet: announcement.subnet.0.to_be_bytes(),
        era: U32::new(issue.era),
        root_version: U32::new(announcement.root_version),
        term: U64::new(issue.term),
        seq: U64::new(issue.seq),
        beat: U64::new(beat),
        issued: U64::new(announcement.issued.0),
        ttl: U32::new(ttl),
        zero_too: U32::ZERO,
        key: key.0,
        paths: content.generation().paths.0,
        policy: content.generation().policy.0,
    };
    let mut bytes = header.as_bytes().to_vec();
    append_lists(content, &mut bytes);
    bytes
}

/// Over flags, generation and lists: what all beats of one issue share.
pub(super) fn content_digest(content: &Content) -> Digest {
    let mut bytes = flags(content).to_le_bytes().to_vec();
    bytes.extend_from_slice(&content.generation().paths.0);
    bytes.extend_from_slice(&content.generation().policy.0);
    append_lists(content, &mut bytes);
    Digest(blake3::derive_key("sapphire announced content v1", &bytes))
}

/// In one word.
fn flags(content: &Content) -> u16 {
    let withdrawn = if content.is_withdrawn() { WITHDRAWN } else { 0 };
    let drill = if content.is_drill() { DRILL } else { 0 };
    withdrawn | drill
}

/// Files, then patches, in the order that they have in a content.
fn append_lists(content: &Content, bytes: &mut Vec<u8>) {
    for blob in content.blobs() {
        let mut entry = BlobEntry::new_zeroed();
        entry.digest = blob.digest.0;
        entry.size = U64::new(blob.size);
        entry.format = U32::new(blob.format);
        bytes.extend_from_slice(entry.as_bytes());
    }
    for delta in content.deltas() {
        let mut entry = DeltaEntry::new_zeroed();
        entry.from = delta.from.0;
        entry.patch = delta.patch.0;
        entry.size = U32::new(delta.size);
        entry.to = delta.to;
        bytes.extend_from_slice(entry.as_bytes());
    }
}

/// A file; nothing where a byte is set that has no meaning.
fn blob(entry: &BlobEntry) -> Option<Blob> {
    (entry.zero.get() == 0).then_some(Blob {
        format: entry.format.get(),
        digest: Digest(entry.digest),
        size: entry.size.get(),
    })
}

/// Likewise a patch.
fn delta(entry: &DeltaEntry) -> Option<Delta> {
    (entry.zero == [0; 3]).then_some(Delta {
        to: entry.to,
        from: Digest(entry.from),
        patch: Digest(entry.patch),
        size: entry.size.get(),
    })
}
