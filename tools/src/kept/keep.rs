//! Writing a sidecar.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use routing::tables::PathSlRule;
use routing::{EndPortIx, EngineKind, SwitchIx};
use sa_compiler::pipeline::{Compiled, Inputs};
use sa_compiler::state::FabricState;
use sa_fabric::intake::{Intake, Kind, Seen};
use sa_fabric::outlet::{self, Readers};
use sa_wire::SlToVl;
use xxhash_rust::xxh3::xxh3_64;

use super::beside;
use super::head::{FIXED, KeptFile, MAGIC, ORDER, Text, VERSION};
use crate::failure::{Failure, Outcome};

/// Writes what the snapshot was compiled from, and its tables, beside it.
///
/// Errors: tables that do not say which SL a path has; a file that is another one now; the sidecar
/// cannot be written.
pub(crate) fn keep(
    snapshot: &Path,
    words: &[String],
    inputs: &Inputs,
    compiled: &Compiled,
) -> Outcome<PathBuf> {
    let parts = &compiled.parts;
    let is_torus = check(parts, inputs)?;
    let path = beside(snapshot);
    let kept = Files::of(inputs.intake.seen());
    let tables = Tables::of(parts)?;
    let text = Text {
        options: words.to_vec(),
        files: kept.listed()?,
        engine: parts.routes.engine().to_string(),
        torus: is_torus,
    };
    let head = tables.head(compiled.snapshot.digest(), parts, &text)?;
    // opensm.conf may have the key of the SA inside.
    let readers = match compiled.snapshot.has_key() || inputs.opensm_conf.is_some() {
        true => Readers::Owner,
        false => Readers::All,
    };
    let written = outlet::write_with(&path, readers, |out| {
        out.write_all(&head)?;
        for file in &text.files {
            let content = kept.read(Path::new(&file.path)).map_err(io::Error::other)?;
            out.write_all(&content)?;
        }
        let switches = parts.topology.switch_ixs();
        switches
            .into_iter()
            .try_for_each(|ix| out.write_all(&tables.of_switch(parts, ix)))
    });
    written.map_err(Failure::failed)?;
    Ok(path)
}

/// Whether paths have the SLs of a torus. Errors: what an explanation from tables could not say.
fn check(parts: &FabricState, inputs: &Inputs) -> Outcome<bool> {
    let facts = parts.routes.facts();
    let is_table = matches!(facts.path_sl, PathSlRule::Table(_));
    if is_table && parts.routes.engine() == EngineKind::Files {
        let text = "--keep-tables: SLs of pairs that were recorded beside the tables are not kept; explain from the files";
        return Err(Failure::usage(text));
    }
    let is_torus = facts.torus.is_some();
    if is_torus && inputs.torus_conf().is_none() {
        let text = "--keep-tables: a torus without its configuration is not kept; name it with --torus-conf";
        return Err(Failure::usage(text));
    }
    Ok(is_torus)
}

/// What was read; it must still be the same.
struct Files {
    intake: Intake,
    seen: Seen,
}

impl Files {
    fn of(seen: Seen) -> Self {
        let intake = Intake::default().expecting(seen.clone());
        Self { intake, seen }
    }

    /// The content, unpacked. Errors: it is another one now.
    fn read(&self, path: &Path) -> Result<Vec<u8>, sa_fabric::intake::ReadError> {
        self.intake.read(Kind::Dump, path)
    }

    fn listed(&self) -> Outcome<Vec<KeptFile>> {
        let files = self.seen.iter().map(|(path, digest)| {
            let name = path.to_str();
            let name = name.ok_or_else(|| Failure::failed_in(path, "its name is no UTF-8"))?;
            Ok(KeptFile {
                path: name.to_owned(),
                bytes: self.read(path).map_err(Failure::failed)?.len() as u64,
                digest: format!("{digest:016x}"),
            })
        });
        files.collect()
    }
}

/// Distinct SL2VL tables of a fabric, of which there are few.
struct Tables {
    numbers: HashMap<[u8; 16], u16>,
    distinct: Vec<[u8; 16]>,
}

impl Tables {
    /// Errors: more than can be numbered.
    fn of(parts: &FabricState) -> Outcome<Self> {
        let mut tables = Self {
            numbers: HashMap::new(),
            distinct: Vec::new(),
        };
        for ix in parts.topology.switch_ixs() {
            for table in of_ports(parts, ix) {
                tables.add(table)?;
            }
        }
        for (end, _) in (0..).zip(&parts.topology.end_ports) {
            tables.add(parts.routes.end_port_sl2vl(EndPortIx(end)))?;
        }
        Ok(tables)
    }

    fn add(&mut self, table: SlToVl) -> Outcome {
        if !self.numbers.contains_key(&table.0) {
            let number = u16::try_from(self.distinct.len());
            let number = number
                .map_err(|_| Failure::failed("--keep-tables: more than 65,536 SL2VL tables"))?;
            self.numbers.insert(table.0, number);
            self.distinct.push(table.0);
        }
        Ok(())
    }

    /// Its number; all were added.
    fn number(&self, table: SlToVl) -> [u8; 2] {
        let number = self.numbers.get(&table.0).copied();
        number.unwrap_or_default().to_le_bytes()
    }

    /// The tables of a switch as they lie in the file.
    fn of_switch(&self, parts: &FabricState, ix: SwitchIx) -> Vec<u8> {
        let mut bytes = parts.routes.lft(ix).to_vec();
        bytes.extend(of_ports(parts, ix).flat_map(|table| self.number(table)));
        bytes
    }

    /// Errors: numbers that the head has no room for, of which no fabric has as many.
    fn head(&self, snapshot: u64, parts: &FabricState, text: &Text) -> Outcome<Vec<u8>> {
        let json = serde_json::to_vec(text).map_err(Failure::failed)?;
        let topology = &parts.topology;
        let stride = usize::from(topology.max_lid()) + 1;
        let mut body = json.clone();
        let mut length = text.files.iter().map(|file| file.bytes).sum::<u64>();
        for ix in topology.switch_ixs() {
            let tables = self.of_switch(parts, ix);
            body.extend(xxh3_64(&tables).to_le_bytes());
            body.extend(small(topology.switch(ix).ports.len())?);
            body.extend([0; 4]);
            length += tables.len() as u64;
        }
        body.extend(self.distinct.iter().flatten());
        for (end, _) in (0..).zip(&topology.end_ports) {
            body.extend(self.number(parts.routes.end_port_sl2vl(EndPortIx(end))));
        }
        let head = (FIXED + body.len()) as u64;
        let mut covered = Vec::with_capacity(FIXED + body.len());
        covered.extend(VERSION.to_le_bytes());
        covered.extend(ORDER.to_le_bytes());
        for number in [snapshot, head, head + length] {
            covered.extend(number.to_le_bytes());
        }
        for number in [
            topology.switches.len(),
            stride,
            self.distinct.len(),
            topology.end_ports.len(),
        ] {
            covered.extend(small(number)?);
        }
        covered.extend((json.len() as u64).to_le_bytes());
        covered.extend(body);
        Ok([&MAGIC[..], &xxh3_64(&covered).to_le_bytes(), &covered].concat())
    }
}

fn small(number: usize) -> Outcome<[u8; 4]> {
    let number = u32::try_from(number).map_err(|_| Failure::failed("--keep-tables: too large"))?;
    Ok(number.to_le_bytes())
}

/// SL2VL tables of a switch by input and output port, the switch itself as port 0.
fn of_ports(parts: &FabricState, ix: SwitchIx) -> impl Iterator<Item = SlToVl> {
    let ports = u8::try_from(parts.topology.switch(ix).ports.len() - 1).unwrap_or(u8::MAX);
    (0..=ports)
        .flat_map(move |input| (0..=ports).map(move |output| parts.routes.sl2vl(ix, input, output)))
}
