//! Where a sender's records come from.
//!
//! A table of 10,000 PathRecords is 640,000 bytes. [`Bytes`] keeps them all; [`Generated`] keeps
//! two chunks of 256 records (32 KiB) and makes each when it is reached. Two, because a window of
//! 64 segments carries 200 records and may begin in one chunk and end in the next: a loss then
//! makes nothing anew.

/// Records to send, one after the other. Fixed: the same offset always gives the same bytes.
pub trait Source {
    /// All of them. Units: bytes.
    fn length(&self) -> u32;

    /// Writes the bytes from `offset` on into all of `out`, which lies within the length.
    ///
    /// Offsets ascend, but go back a window after a loss, and to 0 when the requester asks again.
    /// Errors: [`Lost`] ends the transfer.
    fn read(&mut self, offset: u32, out: &mut [u8]) -> Result<(), Lost>;

    /// What this keeps in memory at most. Units: bytes.
    fn held(&self) -> usize;
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn length(&self) -> u32 {
        (**self).length()
    }

    fn read(&mut self, offset: u32, out: &mut [u8]) -> Result<(), Lost> {
        (**self).read(offset, out)
    }

    fn held(&self) -> usize {
        (**self).held()
    }
}

/// The bytes cannot be had any more; the transfer is aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost;

impl core::fmt::Display for Lost {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the records cannot be made any more")
    }
}

impl core::error::Error for Lost {}

/// Records that are in memory already.
#[derive(Debug)]
pub struct Bytes {
    whole: Vec<u8>,
    start: usize,
}

impl Bytes {
    /// All of `whole` from `start` on, such as a reply behind its headers.
    pub const fn from(whole: Vec<u8>, start: usize) -> Self {
        Self { whole, start }
    }
}

impl Source for Bytes {
    /// `u32::MAX`, which no transfer can carry, for more than fit.
    fn length(&self) -> u32 {
        u32::try_from(self.whole.len().saturating_sub(self.start)).unwrap_or(u32::MAX)
    }

    fn read(&mut self, offset: u32, out: &mut [u8]) -> Result<(), Lost> {
        let from = self.start + usize::try_from(offset).map_err(|_| Lost)?;
        let bytes = self
            .whole
            .get(from..)
            .and_then(|rest| rest.get(..out.len()));
        out.copy_from_slice(bytes.ok_or(Lost)?);
        Ok(())
    }

    fn held(&self) -> usize {
        self.whole.capacity()
    }
}

/// Records made when they are needed, a chunk at a time; two chunks are in memory.
///
/// `make(first, records)` fills the whole of `records` with the records from number `first` on.
#[derive(Debug)]
pub struct Generated<F> {
    make: F,
    /// Length of one record. Units: bytes.
    record: usize,
    count: u32,
    /// Number of the first record, and the bytes: the newest chunk first. A window may lie across
    /// the end of a chunk.
    chunks: [(u32, Vec<u8>); 2],
}

impl<F: FnMut(u32, &mut [u8]) -> Result<(), Lost>> Generated<F> {
    /// `count` records of `record` bytes each (at least 1).
    pub fn new(record: usize, count: u32, make: F) -> Self {
        Self {
            make,
            record: record.max(1),
            count,
            chunks: [(0, Vec::new()), (0, Vec::new())],
        }
    }

    /// The chunk with this record in it, made now where it is not one of the two.
    fn chunk(&mut self, record: u32) -> Result<&[u8], Lost> {
        let first = record - record % CHUNK;
        let is_it = |(start, bytes): &(u32, Vec<u8>)| *start == first && !bytes.is_empty();
        // The older chunk may be wanted again after a loss.
        let [newest, older] = &mut self.chunks;
        if !is_it(newest) {
            core::mem::swap(newest, older);
        }
        if !is_it(newest) {
            let records = CHUNK.min(self.count - first);
            let length = usize::try_from(records).map_err(|_| Lost)? * self.record;
            newest.1.clear();
            newest.1.resize(length, 0);
            newest.0 = first;
            if (self.make)(first, &mut newest.1).is_err() {
                newest.1.clear();
                return Err(Lost);
            }
        }
        Ok(&newest.1)
    }
}

impl<F: FnMut(u32, &mut [u8]) -> Result<(), Lost>> Source for Generated<F> {
    fn length(&self) -> u32 {
        let record = u32::try_from(self.record).unwrap_or(u32::MAX);
        self.count.saturating_mul(record)
    }

    fn read(&mut self, offset: u32, mut out: &mut [u8]) -> Result<(), Lost> {
        let mut at = usize::try_from(offset).map_err(|_| Lost)?;
        while !out.is_empty() {
            let record = u32::try_from(at / self.record).map_err(|_| Lost)?;
            if record >= self.count {
                return Err(Lost);
            }
            let in_chunk = usize::try_from(record % CHUNK).map_err(|_| Lost)? * self.record;
            // A record may lie across two segments, and a segment across two chunks.
            let from = in_chunk + at % self.record;
            let rest = self.chunk(record)?.get(from..).ok_or(Lost)?;
            let take = rest.len().min(out.len());
            let (now, later) = out.split_at_mut(take);
            now.copy_from_slice(rest.get(..take).ok_or(Lost)?);
            out = later;
            at += take;
        }
        Ok(())
    }

    fn held(&self) -> usize {
        2 * self.record * usize::try_from(CHUNK).unwrap_or(usize::MAX)
    }
}

/// Records made at once: 256 PathRecords are more than a window of 64 segments carries.
const CHUNK: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_records_are_the_same_wherever_they_are_read() {
        let record = |number: u32| [number.to_be_bytes(), (!number).to_be_bytes()].concat();
        let mut made = 0;
        let mut source = Generated::new(8, 1000, |first, out: &mut [u8]| {
            made += 1;
            for (number, place) in (first..).zip(out.chunks_exact_mut(8)) {
                place.copy_from_slice(&record(number));
            }
            Ok(())
        });
        let all: Vec<u8> = (0..1000).flat_map(record).collect();
        assert_eq!(source.length(), 8000);
        for (at, wanted) in all.chunks(200).enumerate() {
            let mut out = vec![0; wanted.len()];
            source
                .read(u32::try_from(at * 200).unwrap(), &mut out)
                .unwrap();
            assert_eq!(out, wanted);
        }
        let mut out = [0; 20];
        // 2048 is the end of a chunk; the second time nothing is made.
        source.read(2040, &mut out).unwrap();
        source.read(2043, &mut out).unwrap();
        assert_eq!(out, all[2043..2063]);
        assert_eq!(source.read(7990, &mut out), Err(Lost));
        drop(source);
        assert_eq!(made, 4 + 2 + 1);
    }
}
