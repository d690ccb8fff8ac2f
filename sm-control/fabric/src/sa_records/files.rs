//! A fabric that an SA told, as the files that OpenSM dumps.
//!
//! `sapphire fabric read -o DIR` writes a directory that every verb takes as its fabric: to look at
//! a running fabric offline, to keep a state, or to give it to somebody else. Reading it back gives
//! the same topology, LIDs, tables and partitions; tests go round.

use std::io::{self, Write};
use std::path::Path;

use routing::{NO_PATH, Peer, Topology};
use sa_wire::records::SlToVlRecord;
use sa_wire::{NodeType, SlToVl};
use thiserror::Error;

use super::partitions;
use crate::formats::{lfts, sl2vl, subnet_lst};
use crate::options::OpenSmOptions;
use crate::outlet::{Folder, Readers, WriteError};
use crate::sa_records::SaFabric;
use crate::subnet::{Subnet, SubnetError, SubnetOptions};

/// Files that cannot be written.
///
/// Files before the one that failed are there and whole.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FilesError {
    /// One of them, or their directory.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The fabric gives no subnet.
    #[error(transparent)]
    Subnet(#[from] SubnetError),
}

/// Writes `opensm-subnet.lst` and `opensm-lfts.dump`; `opensm-sl2vl.dump` with QoS,
/// `opensm-sa.dump` with the alias GUIDs where there are some, and `partitions.conf` where the SA
/// shows P_Key tables. The directory is made when missing. Gives the names of the files.
///
/// What these formats have no place for is lost: MTU and VLs of ports, LMC, enhanced ports 0.
/// Errors: [`FilesError`].
pub fn write(live: &SaFabric, directory: &Path) -> Result<Vec<&'static str>, FilesError> {
    let contents = Contents::new(live)?;
    let folder = Folder::make(directory)?;
    // One after the other: a directory of which the last file is missing is known by that.
    for name in contents.names() {
        folder.write_with(name, Readers::All, |out| contents.write(name, out))?;
    }
    Ok(contents.names())
}

/// How large these files will be together. Units: bytes. Errors: [`FilesError::Subnet`].
///
/// Cost: that of writing them to nowhere, seconds for the largest fabrics.
pub fn size(live: &SaFabric) -> Result<u64, FilesError> {
    let contents = Contents::new(live)?;
    let mut count = Count(0);
    for name in contents.names() {
        // Counting does not fail.
        let _ = contents.write(name, &mut count);
    }
    Ok(count.0)
}

/// What the files are made of.
struct Contents<'a> {
    live: &'a SaFabric,
    subnet: Subnet,
    topology: Topology,
}

impl<'a> Contents<'a> {
    fn new(live: &'a SaFabric) -> Result<Self, FilesError> {
        let subnet = Subnet::new(live.fabric().clone(), &live.subnet_options())?;
        Ok(Self {
            topology: subnet.topology(&OpenSmOptions::default()),
            subnet,
            live,
        })
    }

    /// In the order of writing.
    fn names(&self) -> Vec<&'static str> {
        let records = self.live.records();
        let all = [
            ("opensm-subnet.lst", true),
            ("opensm-lfts.dump", true),
            // Without QoS nobody read them, and a dump of zeros would say that all SLs share VL 0.
            ("opensm-sl2vl.dump", !records.sl2vl.is_empty()),
            ("opensm-sa.dump", !records.guids.is_empty()),
            ("partitions.conf", self.live.pkeys().is_some()),
        ];
        let told = all.into_iter().filter(|(_, is_told)| *is_told);
        told.map(|(name, _)| name).collect()
    }

    /// Writes one of them. Errors: those of `out`.
    fn write(&self, name: &str, out: &mut impl Write) -> io::Result<()> {
        let (live, topology) = (self.live, &self.topology);
        match name {
            "opensm-subnet.lst" => subnet_lst::write(out, &self.subnet),
            "opensm-lfts.dump" => write_lfts(out, live, topology),
            "opensm-sl2vl.dump" => write_sl2vl(out, live, topology),
            "opensm-sa.dump" => write_aliases(out, live, topology),
            _ => live.pkeys().map_or(Ok(()), |keys| {
                out.write_all(partitions::in_words(&keys).as_bytes())
            }),
        }
    }
}

/// Takes everything, keeps nothing. Units: bytes.
struct Count(u64);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl SaFabric {
    /// How the SM sees the fabric.
    ///
    /// All LIDs are kept: they are given.
    pub fn subnet_options(&self) -> SubnetOptions<'static> {
        SubnetOptions {
            lmc: Some(self.lmc()),
            lmc_esp0: self.lmc_esp0(),
            ..SubnetOptions::default()
        }
    }
}

/// As OpenSM would dump them, comments with owners included, so that tables can be moved to other
/// LIDs.
fn write_lfts(out: &mut impl Write, live: &SaFabric, topology: &Topology) -> io::Result<()> {
    let tables = live.lfts(topology);
    let headings = topology.switches.iter().map(|switch| lfts::Heading {
        lid: topology.end_port(switch.port0).lid,
        guid: switch.guid,
        description: &switch.description,
        ports: u8::try_from(switch.ports.len().saturating_sub(1)).unwrap_or(u8::MAX),
    });
    // By LID, as each is asked for once per switch.
    let mut owners = vec![None; usize::from(topology.max_lid()) + 1];
    for end in &topology.end_ports {
        for lid in end.lids() {
            if let Some(owner) = owners.get_mut(lid.index()) {
                *owner = Some(lfts::Owner {
                    node_type: end.node_type,
                    guid: end.guid,
                    description: &end.description,
                });
            }
        }
    }
    let owner = |lid: u16| owners.get(usize::from(lid)).copied().flatten();
    lfts::write(out, headings, topology.max_lid(), owner, |place, lid| {
        let entry = tables
            .get(place)
            .and_then(|table| table.get(usize::from(lid)));
        entry.copied().unwrap_or(NO_PATH)
    })
}

/// Of switches for cabled output ports, of other ports their one table; a table that was not told
/// is all VL 0.
fn write_sl2vl(out: &mut impl Write, live: &SaFabric, topology: &Topology) -> io::Result<()> {
    let sections: Vec<_> = topology
        .end_ports
        .iter()
        .map(|end| {
            let switch = end.attached.filter(|_| end.node_type == NodeType::Switch);
            let ports = switch.map_or(&[][..], |(switch, _)| &topology.switch(switch).ports);
            let cabled = (0u8..=u8::MAX).zip(ports);
            let cabled = cabled.filter(|(_, port)| port.peer != Peer::Nothing);
            sl2vl::Section {
                node_type: end.node_type,
                guid: end.guid,
                lid: end.lid,
                description: &end.description,
                ports: u8::try_from(ports.len().saturating_sub(1)).unwrap_or(u8::MAX),
                cabled: cabled.map(|(number, _)| number).collect(),
            }
        })
        .collect();
    let records = live.records().sl2vl.iter();
    let by_port: std::collections::HashMap<(u16, u8, u8), SlToVl> = records
        .map(|record| {
            let key = (record.lid.get(), record.input, record.output);
            (key, SlToVlRecord::unpacked(record.vls))
        })
        .collect();
    let lids: Vec<u16> = sections.iter().map(|section| section.lid.get()).collect();
    sl2vl::write(out, sections, |place, input, output| {
        let lid = lids.get(place).copied().unwrap_or(0);
        let found = by_port.get(&(lid, input, output));
        found.copied().unwrap_or(SlToVl([0; 16]))
    })
}

/// `GUIDInfo Record:` lines of `opensm-sa.dump`, whole blocks, as OpenSM writes them.
///
/// Cost: a search for each block; there are few.
fn write_aliases(out: &mut impl Write, live: &SaFabric, topology: &Topology) -> io::Result<()> {
    for block in &live.records().guids {
        let mut ends = topology.end_ports.iter();
        let Some(end) = ends.find(|end| end.lid.get() == block.lid.get()) else {
            continue;
        };
        write!(
            out,
            "GUIDInfo Record: base_guid=0x{:016x} lid=0x{:04x} block_num=0x{:x}",
            end.guid.get(),
            block.lid,
            block.block
        )?;
        for (place, guid) in block.guids.iter().enumerate() {
            write!(out, " guid{place}=0x{:016x}", guid.get())?;
        }
        writeln!(out, "\n")?;
    }
    Ok(())
}
