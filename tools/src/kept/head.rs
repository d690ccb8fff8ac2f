//! The head of a sidecar: what it belongs to, what is in it and where.
//!
//! ```text
//! 0    8  "SAPHTABL"               40  8  length of the file
//! 8    8  XXH3-64 of 16..head      48  4  switches
//! 16   4  version, 1               52  4  bytes of a forwarding table
//! 20   4  0x01020304               56  4  distinct SL2VL tables
//! 24   8  digest of the snapshot   60  4  end ports
//! 32   8  length of the head       64  8  length of the text
//! 72      text: JSON
//!         by switch, 16 bytes: XXH3-64 of its tables, number of ports with port 0, zero
//!         SL2VL tables, 16 bytes each
//!         by end port, 2 bytes: its SL2VL table
//! head    files, in the order of the text
//!         by switch: forwarding table, then by input and output port 2 bytes: its SL2VL table
//! ```

use std::fs::File;
use std::os::unix::fs::FileExt;

use sa_wire::SlToVl;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::Problem;

pub(super) const MAGIC: &[u8; 8] = b"SAPHTABL";
pub(super) const VERSION: u32 = 1;
pub(super) const ORDER: u32 = 0x0102_0304;
/// Bytes before the text.
pub(super) const FIXED: usize = 72;
/// The largest head that is taken in: 49,151 LIDs make some MiB. Units: bytes.
const LARGEST: u64 = 256 << 20;

/// What stands as text.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Text {
    /// Words of a command line.
    pub(super) options: Vec<String>,
    pub(super) files: Vec<KeptFile>,
    /// As the routes name it.
    pub(super) engine: String,
    /// Paths have SLs by the datelines of a torus.
    pub(super) torus: bool,
}

/// A file that was read.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeptFile {
    /// As it was called.
    pub(super) path: String,
    /// Unpacked. Units: bytes.
    pub(super) bytes: u64,
    /// 16 hex digits, XXH3-64.
    pub(super) digest: String,
}

/// A head that was read and verified.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) snapshot: u64,
    pub(super) text: Text,
    /// Bytes of a forwarding table.
    pub(super) stride: usize,
    pub(super) switches: Vec<SwitchPlace>,
    pub(super) sl2vl: Vec<SlToVl>,
    /// By end port.
    pub(super) end_ports: Vec<u16>,
    /// Where the files begin.
    pub(super) files_at: u64,
}

/// Where the tables of a switch lie.
#[derive(Debug, Clone, Copy)]
pub(super) struct SwitchPlace {
    pub(super) digest: u64,
    pub(super) ports: usize,
    pub(super) at: u64,
}

impl Head {
    /// Errors: it is no sidecar, or not whole.
    pub(super) fn read(file: &File, length: u64) -> Result<Self, Problem> {
        let mut fixed = [0; FIXED];
        // A shorter file is another one.
        file.read_exact_at(&mut fixed, 0)
            .map_err(|_| Problem::Other)?;
        let fixed = Reader(&fixed);
        let is_ours = fixed.0.starts_with(MAGIC)
            && fixed.u32(16) == Some(VERSION)
            && fixed.u32(20) == Some(ORDER);
        if !is_ours {
            return Err(Problem::Other);
        }
        let head = fixed.u64(32).unwrap_or_default();
        if fixed.u64(40) != Some(length) {
            return Err(Problem::Damaged("its length"));
        }
        if head > length.min(LARGEST) || head < FIXED as u64 {
            return Err(Problem::Damaged("the length of its head"));
        }
        let mut bytes = vec![0; usize::try_from(head).map_err(|_| Problem::Other)?];
        file.read_exact_at(&mut bytes, 0)?;
        if fixed.u64(8) != bytes.get(16..).map(xxh3_64) {
            return Err(Problem::Damaged("its head"));
        }
        let parsed = Self::parse(&Reader(&bytes), head);
        let parsed = parsed.ok_or(Problem::Damaged("the parts of its head"))?;
        match parsed.end() == Some(length) {
            true => Ok(parsed),
            false => Err(Problem::Damaged("the lengths of its parts")),
        }
    }

    /// None where parts do not fit each other.
    fn parse(bytes: &Reader<'_>, head: u64) -> Option<Self> {
        let count = |at| usize::try_from(bytes.u32(at)?).ok();
        let (switches, stride, distinct, ends) = (count(48)?, count(52)?, count(56)?, count(60)?);
        let text_end = FIXED.checked_add(usize::try_from(bytes.u64(64)?).ok()?)?;
        let text: Text = serde_json::from_slice(bytes.0.get(FIXED..text_end)?).ok()?;
        let places_end = text_end.checked_add(switches.checked_mul(16)?)?;
        let tables_end = places_end.checked_add(distinct.checked_mul(16)?)?;
        let ends_end = tables_end.checked_add(ends.checked_mul(2)?)?;
        if ends_end != bytes.0.len() {
            return None;
        }
        let files: Option<u64> = text
            .files
            .iter()
            .try_fold(0, |sum: u64, file| sum.checked_add(file.bytes));
        let mut at = head.checked_add(files?)?;
        let mut places = Vec::new();
        for entry in bytes.0.get(text_end..places_end)?.chunks_exact(16) {
            let entry = Reader(entry);
            let ports = usize::try_from(entry.u32(8)?)
                .ok()
                .filter(|ports| *ports <= 256)?;
            places.push(SwitchPlace {
                digest: entry.u64(0)?,
                ports,
                at,
            });
            at = at.checked_add(u64::try_from(stride + 2 * ports * ports).ok()?)?;
        }
        let tables = bytes.0.get(places_end..tables_end)?.chunks_exact(16);
        let tables = tables.filter_map(|table| Some(SlToVl(table.try_into().ok()?)));
        let ends = bytes.0.get(tables_end..)?.chunks_exact(2);
        let ends: Vec<u16> = ends.map(|it| u16::from_le_bytes([it[0], it[1]])).collect();
        let is_known = |table: &u16| usize::from(*table) < distinct;
        ends.iter().all(is_known).then_some(Self {
            snapshot: bytes.u64(24)?,
            text,
            stride,
            switches: places,
            sl2vl: tables.collect(),
            end_ports: ends,
            files_at: head,
        })
    }

    /// Where the last part ends.
    fn end(&self) -> Option<u64> {
        match self.switches.last() {
            Some(last) => last.at.checked_add(self.length(last).try_into().ok()?),
            None => {
                let files = self.text.files.iter().map(|file| file.bytes);
                self.files_at.checked_add(files.sum())
            }
        }
    }

    /// Bytes of the tables of a switch.
    pub(super) const fn length(&self, place: &SwitchPlace) -> usize {
        self.stride + 2 * place.ports * place.ports
    }
}

/// Numbers in bytes, little endian; none behind the end.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn u32(&self, at: usize) -> Option<u32> {
        let bytes = self.0.get(at..at.checked_add(4)?)?;
        bytes.try_into().ok().map(u32::from_le_bytes)
    }

    fn u64(&self, at: usize) -> Option<u64> {
        let bytes = self.0.get(at..at.checked_add(8)?)?;
        bytes.try_into().ok().map(u64::from_le_bytes)
    }
}
