//! A routed fabric as OpenSM's dump files.
//!
//! Some of them grow with the square of the fabric, so their sizes are told before anything is
//! written, and a directory gets all of its files or none.
//!
//! | file | grows with | at 16x16x16, one host each |
//! |---|---|---|
//! | `opensm-torus.dump`, `opensm-subnet.lst` | the fabric | some 10 MB |
//! | `opensm-lfts.dump`, `opensm.fdbs` | switches x LIDs | 1 to 2 GB each |
//! | `opensm-sl2vl.dump`, `slvl` | switches x ports^2 | tens of MB |
//! | `psl` | hosts^2 | 450 MB |
//! | `opensm.mcfdbs` | groups x switches | as asked |
//!
//! `estimate` writes some pieces of each to nowhere and scales up; `tables` says what stands in
//! each; `files` makes them appear together. Formats are `sa_fabric::formats`', so a directory that
//! was exported can be read as a fabric again, by us and by ibdmchk.
//!
//! What is dumped is what was compiled, SLs of paths as the snapshot answers them: the dumps are a
//! way to check the snapshot from outside.

mod estimate;
mod files;
mod tables;

use std::fmt;
use std::path::Path;

use files::Staged;
use routing::tables::MulticastTable;
use routing::watch::Watch;
use routing::{SwitchIx, Topology, Torus};
use sa_fabric::formats::slvl;
use sa_fabric::outlet::WriteError;
use sa_snapshot::Snapshot;
use sa_wire::NodeType;
use tables::Contents;
use thiserror::Error;

use crate::state::FabricState;

/// A dump that could not be written.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct ExportError(#[from] WriteError);

impl ExportError {
    /// The file or directory that cannot be written.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

/// Up to this many CA ports `psl` is written without being asked for: 27 MB.
pub const PSL_PORTS: usize = 1000;

/// Whether to write `psl`, which grows with the square of the fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Psl {
    /// Up to [`PSL_PORTS`] CA ports.
    WhenSmall,
    /// In any case.
    Always,
}

/// A dump file.
///
/// Also an order: see [`Self::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// `opensm-torus.dump`: where switches are.
    Torus,
    /// `opensm-lfts.dump`: forwarding tables with the names of those who own the LIDs.
    Lfts,
    /// `opensm.fdbs`: forwarding tables as ibdmchk reads them.
    Fdbs,
    /// `opensm-sl2vl.dump`.
    Sl2Vl,
    /// `slvl`: the same as ibdmchk reads them.
    SlVl,
    /// `opensm.mcfdbs`: multicast forwarding tables.
    Multicast,
    /// `psl`: the SL of every pair.
    PathSls,
    /// `opensm-subnet.lst`: the fabric with its LIDs.
    Subnet,
}

impl Table {
    /// All of them. The last is what makes a directory one of dumps, and gets its name last.
    pub const ALL: [Self; 8] = [
        Self::Torus,
        Self::Lfts,
        Self::Fdbs,
        Self::Sl2Vl,
        Self::SlVl,
        Self::Multicast,
        Self::PathSls,
        Self::Subnet,
    ];

    /// Name of the file.
    pub const fn file(self) -> &'static str {
        match self {
            Self::Torus => "opensm-torus.dump",
            Self::Lfts => "opensm-lfts.dump",
            Self::Fdbs => "opensm.fdbs",
            Self::Sl2Vl => "opensm-sl2vl.dump",
            Self::SlVl => "slvl",
            Self::Multicast => "opensm.mcfdbs",
            Self::PathSls => "psl",
            Self::Subnet => "opensm-subnet.lst",
        }
    }

    /// What it is called on command lines.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Torus => "torus",
            Self::Lfts => "lfts",
            Self::Fdbs => "fdbs",
            Self::Sl2Vl => "sl2vl",
            Self::SlVl => "slvl",
            Self::Multicast => "mcfdbs",
            Self::PathSls => "psl",
            Self::Subnet => "subnet",
        }
    }
}

/// How files are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// As text.
    Plain,
    /// Compressed, with `.xz` behind the name; everything here reads that.
    Xz,
}

/// Sizes of files to come. Units: bytes.
///
/// In the order in which files are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Estimate(pub Vec<(Table, u64)>);

impl Estimate {
    /// All together.
    pub fn total(&self) -> u64 {
        let sizes = self.0.iter().map(|(_, bytes)| *bytes);
        sizes.fold(0, u64::saturating_add)
    }

    /// The largest, for people.
    pub fn largest(&self) -> Option<(Table, u64)> {
        self.0.iter().copied().max_by_key(|(_, bytes)| *bytes)
    }
}

/// Dumps of a routed fabric.
///
/// Chosen and not yet written: a tool shows the sizes and asks first.
#[derive(Debug, Clone)]
pub struct Export<'a> {
    contents: Contents<'a>,
    tables: Vec<Table>,
    packing: Packing,
    watch: Watch,
}

impl<'a> Export<'a> {
    /// These tables, of those that there are; all of them but for a large `psl` where none are
    /// named. `groups`: multicast tables, by ascending MLID.
    ///
    /// Tables that the fabric lacks (a torus dump without a torus) are left out in silence.
    pub fn new(
        (parts, snapshot): (&'a FabricState, &'a Snapshot),
        groups: &'a [MulticastTable],
        tables: &[Table],
        psl: Psl,
        packing: Packing,
    ) -> Self {
        let ends = parts.topology.end_ports.iter();
        let hosts = ends.filter(|end| end.node_type == NodeType::Ca).count();
        // CA ports, not nodes: the file has a line for each pair of ports.
        let has_psl = psl == Psl::Always || hosts <= PSL_PORTS;
        let is_wanted = |table: &Table| match tables {
            [] => *table != Table::PathSls || has_psl,
            named => named.contains(table) || *table == Table::PathSls && psl == Psl::Always,
        };
        let exists = |table: &Table| *table != Table::Torus || parts.routes.torus().is_some();
        let all = Table::ALL.into_iter();
        Self {
            contents: Contents {
                parts,
                snapshot,
                groups,
            },
            tables: all.filter(is_wanted).filter(exists).collect(),
            packing,
            watch: Watch::default(),
        }
    }

    /// The same, with somebody who is told how far [`Self::write`] has come.
    #[must_use]
    pub fn watched(self, watch: Watch) -> Self {
        Self { watch, ..self }
    }

    /// How large the files will be, from a part of each: within some percent as text.
    pub fn estimate(&self) -> Estimate {
        let sizes = self.tables.iter().map(|table| {
            let size = estimate::size(&self.contents, *table, self.packing);
            (*table, size)
        });
        Estimate(sizes.collect())
    }

    /// Writes the files into a directory, which is made when missing; they get their names when
    /// all are whole. Errors: [`ExportError`], the first; nothing is left of them then.
    pub fn write(&self, directory: &Path) -> Result<(), ExportError> {
        let mut staged = Staged::in_directory(directory)?;
        for (table, size) in self.estimate().0 {
            let told = |bytes| self.watch.reach(bytes, size);
            let write = || self.write_one(&mut staged, table, &told);
            self.watch
                .step(&format!("writing {}", table.file()), write)?;
        }
        staged.name_all()
    }

    fn write_one(
        &self,
        staged: &mut Staged,
        table: Table,
        told: &dyn Fn(u64),
    ) -> Result<(), ExportError> {
        let pieces = self.contents.pieces(table).unwrap_or_default();
        staged.add(table.file(), self.packing, told, |out| {
            // Of all kinds together, back in the fabric's order.
            let mut pieces: Vec<usize> = pieces.concat();
            pieces.sort_unstable();
            self.contents.write(table, &pieces, out)
        })
    }
}

/// Writes every dump of a routed fabric into `directory`, which is made when missing. There are no
/// multicast groups, so `opensm.mcfdbs` is empty.
/// Errors: [`ExportError`], the first.
pub fn all(
    directory: &Path,
    parts: &FabricState,
    snapshot: &Snapshot,
    wanted: Psl,
) -> Result<(), ExportError> {
    Export::new((parts, snapshot), &[], &[], wanted, Packing::Plain).write(directory)
}

/// Writes `opensm-torus.dump` alone: the placement of a torus, routed or refused.
/// Errors: [`ExportError`].
///
/// For a refused torus, whose placement is what one wants to see.
pub fn placement(directory: &Path, topology: &Topology, torus: &Torus) -> Result<(), ExportError> {
    let mut staged = Staged::in_directory(directory)?;
    staged.add(Table::Torus.file(), Packing::Plain, &|_| (), |out| {
        tables::write_torus(out, topology, torus)
    })?;
    staged.name_all()
}

/// The SL2VL tables of all switches between cabled ports.
pub fn sl2vl_tables(parts: &FabricState) -> impl Iterator<Item = slvl::Entry> + '_ {
    let switches = (0u32..).map(SwitchIx);
    tables::sl2vl_of(parts, switches.take(parts.topology.switches.len()))
}

/// Room on the file system where a directory is or is to be. Units: bytes. None where the system
/// does not say.
///
/// What a user may take, without what is kept for root.
pub fn free_space(directory: &Path) -> Option<u64> {
    let known = directory.ancestors().find(|above| above.is_dir());
    // A relative path ends with an empty one.
    let known = known.unwrap_or_else(|| Path::new("."));
    let about = rustix::fs::statvfs(known).ok()?;
    // Some that keep nothing on a disk of their own tell of no blocks at all.
    if about.f_blocks == 0 {
        return None;
    }
    Some(about.f_bavail.saturating_mul(about.f_frsize))
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.file())
    }
}
