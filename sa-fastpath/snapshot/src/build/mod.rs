//! Lays a [`Model`] out as a snapshot.
//!
//! The order of the steps matters in two places only: ports are sorted by GUID before anything
//! refers to one by its index, and the subnet's record comes last, since it says how the GUID index
//! and the pair table came out. Sections are gathered one by one; `file` puts them into one piece
//! of memory, which is then verified like a file from elsewhere.

mod aliases;
mod file;
mod index;
mod off_subnet;
mod policy;

use sa_wire::{Guid, Lid, NodeType, RateRank, SlVlMask};
use zerocopy::{Immutable, IntoBytes};

use crate::epoch::EpochId;
use crate::error::BuildError;
use crate::format::layout::{LIDS, MATRIX_SETS, NARROW_CLASSES, SectionId};
use crate::format::records::{
    ENGINE_KEEP, ENGINE_TABLE, ENGINE_TORUS, PAIRS_DENSE, PAIRS_UNIFORM, PathClassRecord,
    PkeySetRecord, PortRecord, RATE_RANKS, REVERSE_PATH, REVERSE_POLICY, SubnetRecord,
    pack_capacity, pack_place, port_flags,
};
use crate::model::{EngineSl, Model, Pairs, PathClass, PathSl, PathTables, PortRow, RateLimit};
use crate::{Snapshot, guid_index, pkeys};

/// Builds snapshots. The same model gives the same bytes.
pub struct Builder<'a> {
    model: &'a Model,
    /// Model index by snapshot index.
    order: Vec<usize>,
    /// The bytes of each section for each id, filled in any order.
    payloads: Vec<Vec<u8>>,
}

impl<'a> Builder<'a> {
    /// Lays out and verifies.
    ///
    /// The checks are those of a file that is loaded, so that a mistake here shows where the
    /// snapshot is made. Errors: [`BuildError`].
    pub fn build(model: &'a Model) -> Result<Snapshot, BuildError> {
        let mut order: Vec<usize> = (0..model.ports.len()).collect();
        order.sort_by_key(|ix| model.ports.get(*ix).map(|port| port.guid.map_order()));
        let payloads = vec![Vec::new(); SectionId::ALL.len()];
        let mut builder = Self {
            model,
            order,
            payloads,
        };
        builder.check_lengths()?;
        builder.ports()?;
        let index = builder.guid_index();
        builder.lids()?;
        builder.paths();
        builder.partitions();
        builder.policy()?;
        builder.groups()?;
        builder.prefix_routes()?;
        builder.provenance();
        builder.subnet(&index);
        Ok(Snapshot::from_owned(file::assemble(&builder.payloads))?)
    }

    /// Errors: more ports or classes than indexes count; tables that do not fit the ports.
    fn check_lengths(&self) -> Result<(), BuildError> {
        let ports = self.model.ports.len();
        limit("end ports", ports, LIDS - 1)?;
        limit(
            "path classes",
            self.model.paths.classes.len(),
            usize::from(u16::MAX),
        )?;
        let tables = [
            ("source rows", self.model.paths.rows.len()),
            ("destination columns", self.model.paths.columns.len()),
        ];
        for (what, length) in tables {
            if length != ports {
                return Err(BuildError::Inconsistent { what });
            }
        }
        Ok(())
    }

    /// The ports of the model in snapshot order, each with its index in the model. That order is
    /// the order of GUIDs, in which answers list ports.
    fn rows(&self) -> impl Iterator<Item = (usize, &'a PortRow)> + '_ {
        self.order
            .iter()
            .filter_map(|ix| Some((*ix, self.model.ports.get(*ix)?)))
    }

    /// The records of all ports, and their aliases. Errors: a GUID twice.
    fn ports(&mut self) -> Result<(), BuildError> {
        let sets = self.pkey_sets()?;
        let mut records: Vec<PortRecord> = Vec::with_capacity(self.order.len());
        for ((ix, row), set) in self.rows().zip(sets) {
            records.push(self.port_record(ix, row, set)?);
        }
        let guids: Vec<Guid> = self.rows().map(|(_, row)| row.guid).collect();
        for pair in guids.windows(2) {
            if let [one, other] = pair
                && one == other
            {
                return Err(BuildError::DuplicateGuid(*one));
            }
        }
        let aliases = self.aliases(&mut records)?;
        self.put(SectionId::Ports, &records);
        self.put(SectionId::Aliases, &aliases.records);
        self.put(SectionId::AliasesByPort, &aliases.by_port);
        Ok(())
    }

    /// One port's record. Errors: a switch that no index counts.
    fn port_record(&self, ix: usize, row: &PortRow, set: u16) -> Result<PortRecord, BuildError> {
        let qos = self.model.subnet.qos;
        // With QoS off OpenSM looks at no SL2VL table, so no SL is dropped.
        let mask = |mask: SlVlMask| if qos { mask.0 } else { SlVlMask::ALL.0 };
        let source_row = self.model.paths.rows.get(ix).copied().unwrap_or(0);
        let switch = u16::try_from(row.switch.unwrap_or(0)).map_err(|_| BuildError::TooMany {
            what: "switches",
            count: row
                .switch
                .map_or(0, |ix| usize::try_from(ix).unwrap_or(usize::MAX)),
            limit: usize::from(u16::MAX),
        })?;
        let class = |map: &Vec<u16>| map.get(ix).copied().unwrap_or(0);
        let policy = self.model.policy.as_ref();
        Ok(PortRecord {
            guid: row.guid.get().to_be_bytes(),
            lid: row.lid.get(),
            switch,
            place: pack_place(row.coordinate.unwrap_or_default()),
            own: pack_capacity(row.own.mtu.code(), row.own.rate.get()),
            edge: pack_capacity(row.edge.mtu.code(), row.edge.rate.get()),
            flags: self.flags(ix, row, source_row)
                | u16::from(row.lmc.get()) << port_flags::LMC_SHIFT,
            sl_out: mask(row.sl_out),
            sl_in: mask(row.sl_in),
            pkey_set: set,
            row: source_row,
            source_class: policy.map_or(0, |policy| class(&policy.source.map)),
            destination_class: policy.map_or(0, |policy| class(&policy.destination.map)),
        })
    }

    /// What lookups would otherwise have to work out for each request; see [`port_flags`]. Shape:
    /// all flags but the LMC, which the caller adds.
    fn flags(&self, ix: usize, row: &PortRow, source_row: u16) -> u16 {
        let reached = self.columns(ix).iter().any(|column| *column != 0);
        let caps = row.rate_caps;
        // Where the engine has its say, a port outside the torus has no SL of its own.
        let is_torus = matches!(self.model.paths.engine_sl, EngineSl::Torus { .. });
        let in_torus = !is_torus || row.coordinate.is_some();
        let is_source = source_row != 0 && row.node_type != NodeType::Switch;
        [
            (source_row != 0, port_flags::SOURCE),
            (reached, port_flags::DESTINATION),
            (row.node_type == NodeType::Switch, port_flags::SWITCH),
            (row.node_type == NodeType::Router, port_flags::ROUTER),
            (row.coordinate.is_some(), port_flags::IN_TORUS),
            (row.switch.is_some(), port_flags::ATTACHED),
            (caps.extended_speeds, port_flags::EXTENDED_SPEEDS),
            (caps.width_2x, port_flags::WIDTH_2X),
            (caps.hdr, port_flags::HDR),
            (caps.ndr, port_flags::NDR),
            (is_source && in_torus, port_flags::COMMON_SOURCE),
            (reached && in_torus, port_flags::COMMON_DESTINATION),
        ]
        .iter()
        .filter(|(holds, _)| *holds)
        .fold(0, |flags, (_, flag)| flags | flag)
    }

    /// Destination columns of a port's LIDs; empty for a port that the tables do not have.
    fn columns(&self, ix: usize) -> &'a [u16] {
        self.model
            .paths
            .columns
            .get(ix)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// Interns P_Key tables. Shape: one set index per port, in snapshot order.
    #[expect(clippy::disallowed_types, reason = "the builder runs on the slow path")]
    fn pkey_sets(&mut self) -> Result<Vec<u16>, BuildError> {
        // Fabrics have a handful of distinct tables, whatever the number of ports.
        let both = self.model.subnet.allow_both_pkeys;
        let mut known = std::collections::BTreeMap::new();
        let mut sets: Vec<Vec<u16>> = Vec::new();
        let mut of_port = Vec::with_capacity(self.order.len());
        for (_, row) in self.rows() {
            let set = pkeys::normalise(&row.pkeys, both);
            let next = sets.len();
            let ix = *known.entry(set).or_insert_with_key(|set| {
                sets.push(set.clone());
                next
            });
            of_port.push(u16::try_from(ix).map_err(|_| too_many("P_Key tables", ix))?);
        }
        self.put_pkey_sets(&sets, both);
        Ok(of_port)
    }

    /// Lays the distinct tables out, and which key each pair of them shares, where there are not
    /// too many.
    fn put_pkey_sets(&mut self, sets: &[Vec<u16>], both: bool) {
        let mut records = Vec::with_capacity(sets.len());
        let mut values: Vec<u16> = Vec::new();
        for set in sets {
            records.push(PkeySetRecord {
                start: count32(values.len()),
                len: count32(set.len()),
            });
            values.extend_from_slice(set);
        }
        self.put(SectionId::PkeySets, &records);
        self.put(SectionId::PkeyValues, &values);
        // Above that the matrix would outgrow what it saves; look-ups merge the two tables then.
        if sets.len() <= MATRIX_SETS {
            let pairs = sets.iter().flat_map(|a| sets.iter().map(move |b| (a, b)));
            let matrix: Vec<u16> = pairs
                .map(|(a, b)| pkeys::first_shared(a, b, both))
                .collect();
            self.put(SectionId::PkeyMatrix, &matrix);
        }
    }

    /// The table from GUIDs to ports. What was chosen to make its probes short goes into the
    /// subnet's record, see [`Self::subnet`].
    fn guid_index(&mut self) -> guid_index::GuidIndex {
        let guids: Vec<u64> = self.rows().map(|(_, row)| row.guid.get()).collect();
        let index = guid_index::build(&guids);
        self.put(SectionId::GuidIndex, &index.places);
        index
    }

    /// The tables from LIDs to ports and to destination columns.
    ///
    /// Shape: one entry for each of the 48 Ki unicast LIDs, 0 for a LID of no port. The columns are
    /// kept for dense pairs, and where some LIDs of a port are reached and others not; else a flag
    /// of the port says it all. Errors: a LID that two ports have; columns that are not as many as
    /// LIDs.
    fn lids(&mut self) -> Result<(), BuildError> {
        let dense = matches!(self.model.paths.pairs, Pairs::Dense { .. });
        let uneven =
            |columns: &Vec<u16>| columns.iter().any(|column| Some(column) != columns.first());
        let by_lid = dense || self.model.paths.columns.iter().any(uneven);
        let mut ports = vec![0u16; LIDS];
        let mut columns = vec![0u16; if by_lid { LIDS } else { 0 }];
        for ((ix, row), entry) in self.rows().zip(1u16..) {
            let of_port = self.columns(ix);
            if of_port.len() != usize::from(row.lmc.lids()) {
                return Err(BuildError::Inconsistent {
                    what: "destination columns",
                });
            }
            for (lid, column) in (usize::from(row.lid.get())..).zip(of_port) {
                take_lid(&mut ports, lid, entry, row)?;
                if let Some(place) = columns.get_mut(lid) {
                    *place = *column;
                }
            }
        }
        self.put(SectionId::LidPorts, &ports);
        self.put(SectionId::LidColumns, &columns);
        Ok(())
    }

    /// Classes of paths, and the class of each pair where pairs are kept one by one.
    ///
    /// A pair takes one byte while the classes fit, else two: among dense pairs the table is by far
    /// the largest section.
    fn paths(&mut self) {
        let paths = &self.model.paths;
        let classes: Vec<PathClassRecord> = (0..)
            .zip(&paths.classes)
            .map(|(ix, class)| {
                if ix == 0 {
                    NO_PATH
                } else {
                    self.path_class(class)
                }
            })
            .collect();
        // Class 0 means "no path" and is always there, so that an index of nothing needs no check.
        let classes = if classes.is_empty() {
            vec![NO_PATH]
        } else {
            classes
        };
        self.put(SectionId::PathClasses, &classes);
        if let Pairs::Dense { table, .. } = &paths.pairs {
            match narrow(table, classes.len()) {
                Some(table) => self.put_bytes(SectionId::NarrowPairs, table),
                None => self.put(SectionId::Pairs, table),
            }
        }
    }

    /// One class; with QoS off it carries every SL.
    fn path_class(&self, class: &PathClass) -> PathClassRecord {
        let carried = if self.model.subnet.qos {
            class.carried
        } else {
            SlVlMask::ALL
        };
        PathClassRecord {
            capacity: pack_capacity(class.capacity.mtu.code(), class.capacity.rate.get()),
            hops: class.hops,
            carried: carried.0,
            sl: class.sl.byte(),
            zero: [0; 3],
        }
    }

    /// SLs by P_Key base, where any partition has one but 0. Shape: 32 Ki entries, one for each
    /// base.
    fn partitions(&mut self) {
        if self
            .model
            .partitions
            .iter()
            .all(|partition| partition.sl == 0)
        {
            // No table says that all are 0: look-ups answer 0 outside a table.
            return;
        }
        let mut sls = vec![0u8; 0x8000];
        for partition in &self.model.partitions {
            if let Some(sl) = sls.get_mut(usize::from(partition.base)) {
                *sl = partition.sl;
            }
        }
        self.put(SectionId::PartitionSls, &sls);
    }

    /// What it was made of, as lines of text.
    fn provenance(&mut self) {
        let from = &self.model.provenance;
        let mut text = format!("engine {}\n", from.engine);
        for input in &from.inputs {
            text.push_str(input);
            text.push('\n');
        }
        self.put(SectionId::Provenance, text.as_bytes());
    }

    /// Options and encodings, after everything that they describe.
    fn subnet(&mut self, index: &guid_index::GuidIndex) {
        let (model, options) = (self.model, &self.model.subnet);
        let paths = &model.paths;
        let (engine_sl, radix) = match paths.engine_sl {
            EngineSl::Keep => (ENGINE_KEEP, [0; 3]),
            EngineSl::Torus { radix } => (ENGINE_TORUS, radix),
            EngineSl::Table => (ENGINE_TABLE, [0; 3]),
        };
        let (pairs, within_class, across_class, columns, rows) = match &paths.pairs {
            Pairs::Uniform { within, across } => (PAIRS_UNIFORM, *within, *across, 0, 0),
            Pairs::Dense { columns, table } => {
                let rows = table.len() / usize::try_from(*columns).unwrap_or(1).max(1);
                (PAIRS_DENSE, 0, 0, *columns, count32(rows))
            }
        };
        let record = SubnetRecord {
            prefix: options.prefix.0.to_be_bytes(),
            sa_key: options.sa_key,
            epoch: EpochId::raw(model.provenance.epoch),
            built_unix: model.provenance.built_unix,
            guid_multiplier: index.multiplier,
            qos: u8::from(options.qos),
            packet_life: options.packet_life,
            resp_time: options.resp_time,
            max_rate_code: options.max_rate_code,
            allow_both_pkeys: u8::from(options.allow_both_pkeys),
            engine_sl,
            pairs,
            judge_reverse: judge_reverse(model),
            radix,
            guid_shift: index.shift,
            within_class,
            across_class,
            columns,
            rows,
            rates: rates(options.rate_limit),
            rates_limited: u8::from(options.rate_limit != RateLimit::Ports),
            zero: 0,
            sm_lid: options.sm_lid.map_or(0, Lid::get),
            reserved: [0; 4],
        };
        self.put(SectionId::Subnet, &[record]);
    }

    /// Sets a section of records.
    fn put<T: IntoBytes + Immutable>(&mut self, section: SectionId, elements: &[T]) {
        self.put_bytes(section, elements.as_bytes().to_vec());
    }

    /// Sets a section that is bytes already. Setting one twice keeps the later bytes.
    fn put_bytes(&mut self, section: SectionId, bytes: Vec<u8>) {
        if let Some(payload) = self.payloads.get_mut(section as usize) {
            *payload = bytes;
        }
    }
}

/// The table with a byte a pair; none where the classes do not fit a byte, or where an entry names
/// a class beyond them, which the checks then refuse.
fn narrow(table: &[u16], classes: usize) -> Option<Vec<u8>> {
    let greatest = table.iter().fold(0, |most, class| most.max(*class));
    let fits = classes <= NARROW_CLASSES && usize::from(greatest) < NARROW_CLASSES;
    fits.then(|| table.iter().map(|class| class.to_le_bytes()[0]).collect())
}

/// The code of an answer for each rank.
///
/// Worked out here once, so that a request only looks up the rank of the slowest part of its path.
/// Rank 0 is no rate.
fn rates(limit: RateLimit) -> [u8; RATE_RANKS] {
    let mut rates = [0; RATE_RANKS];
    for (place, rank) in rates.iter_mut().zip(0..) {
        let rate = RateRank::from_raw(rank);
        *place = rate.map_or(0, |rank| limit.apply(rank.rate().code()));
    }
    rates
}

/// The class of no path: nothing on it, nothing carried.
const NO_PATH: PathClassRecord = PathClassRecord {
    capacity: 0,
    hops: 0,
    carried: 0,
    sl: PathSl::Policy.byte(),
    zero: [0; 3],
};

/// Gives a LID to a port. Errors: it is taken, or no unicast LID.
fn take_lid(ports: &mut [u16], lid: usize, entry: u16, row: &PortRow) -> Result<(), BuildError> {
    match ports.get_mut(lid) {
        Some(place) if *place == 0 => {
            *place = entry;
            Ok(())
        }
        _ => Err(BuildError::Lid {
            lid: count32(lid),
            guid: row.guid,
        }),
    }
}

/// Whether the reverse direction of a path has to be looked at for requests that do not ask for an
/// SL, MTU, rate or life time; see [`REVERSE_PATH`] and [`REVERSE_POLICY`].
fn judge_reverse(model: &Model) -> u8 {
    let all = |mask: SlVlMask| !model.subnet.qos || mask == SlVlMask::ALL;
    let drops = !(model
        .ports
        .iter()
        .all(|port| all(port.sl_out) && all(port.sl_in))
        && model
            .paths
            .classes
            .iter()
            .skip(1)
            .all(|class| all(class.carried)));
    let levels = model.policy.iter().flat_map(|policy| &policy.levels);
    // Such a level may allow a path and refuse the way back, which has other ends.
    let refuses = levels.into_iter().any(|level| {
        level.sl.is_some_and(|sl| sl > 15) || !level.pkeys.is_empty() || level.path_bits.is_some()
    });
    let dense = !is_symmetric(&model.paths);
    u8::from(dense || drops) * REVERSE_PATH + u8::from(refuses || drops) * REVERSE_POLICY
}

/// True when a path exists exactly where its reverse does.
fn is_symmetric(paths: &PathTables) -> bool {
    let both = paths.rows.iter().zip(&paths.columns);
    let even = both
        .into_iter()
        .all(|(row, columns)| columns.iter().all(|column| (*column != 0) == (*row != 0)));
    let complete = match &paths.pairs {
        Pairs::Uniform { within, across } => *within != 0 && *across != 0,
        Pairs::Dense { table, .. } => table.iter().all(|class| *class != 0),
    };
    even && complete
}

/// Errors: more than an index type, or a table, counts.
fn limit(what: &'static str, count: usize, limit: usize) -> Result<(), BuildError> {
    if count > limit {
        Err(BuildError::TooMany { what, count, limit })
    } else {
        Ok(())
    }
}

/// More than a 16-bit index counts.
const fn too_many(what: &'static str, count: usize) -> BuildError {
    BuildError::TooMany {
        what,
        count,
        limit: u16::MAX as usize,
    }
}

/// Lengths that other limits keep far below 2^32.
fn count32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
