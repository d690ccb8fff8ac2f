//! A table of classes, for fabrics where paths differ.
//!
//! ```text
//! per block of LIDs, side by side     columns of class numbers, interned
//! parts joined in order               classes renumbered, columns interned again
//! at the end                          equal rows once, columns nobody uses dropped
//! ```
//!
//! Joining in the order of LIDs gives classes the same numbers however the work was split, so that
//! equal fabrics give equal snapshots.

use std::collections::HashMap;

use sa_snapshot::model::{Pairs, PathClass, PathSl, PathTables};
use sa_wire::SlVlMask;

use super::column::{Resolver, Target};
use super::interned::Interned;
use super::links::{Links, Packed};
use super::reach::Reach;
use super::sources::{Row, Sources};
use super::{MOST_SWITCHES, TooManyClasses};
use crate::parallel;
use crate::paths::columns::{self, Columns, Key, Seen};
use crate::tables::Routes;
use crate::topology::{Topology, count32};

/// Errors: more than 65,535 classes.
pub(super) fn compile(
    topology: &Topology,
    routes: &Routes,
    links: &Links,
    reach: &Reach,
) -> Result<PathTables, TooManyClasses> {
    let sources = Sources::new(topology, links, reach);
    let blocks = columns::blocks(routes.lfts());
    let effort = sources.rows.len() * routes.lfts().stride();
    // Ranges and not a queue: parts are joined in the order of LIDs.
    let parts = parallel::over_range(blocks, effort, |blocks| {
        let mut part = Part::new(sources.rows.len());
        let mut resolver = Resolver::new();
        // By number of the column of forwarding entries: the column of classes.
        let mut classes: Vec<u32> = Vec::new();
        for_each_lid(topology, routes, links, blocks, |lid, target| {
            if target.is_new {
                resolver.resolve(links, target);
                classes.push(part.column(&sources, links, &resolver, target));
            }
            part.lids.push((lid, classes[target.number as usize]));
        });
        part
    });
    let mut whole = Part::new(sources.rows.len());
    for part in parts {
        whole.append(&part);
    }
    whole.into_tables(topology, routes, &sources)
}

/// Calls `work` with every LID of a range of blocks that is plugged into a switch, ascending.
/// LIDs whose columns were seen in this range are told so; each range begins anew.
fn for_each_lid(
    topology: &Topology,
    routes: &Routes,
    links: &Links,
    blocks: std::ops::Range<usize>,
    mut work: impl FnMut(u16, Target<'_>),
) {
    let mut columns = Columns::default();
    let mut seen = Seen::default();
    for block in blocks {
        columns.load(routes.lfts(), block);
        for lid in columns.lids() {
            let owner = routes.lids().at(lid).map(|end| topology.end_port(end));
            if let Some((switch, port)) = owner.and_then(|end| end.attached) {
                let column = columns.column(lid);
                let delivers = column.get(switch.index()) == Some(&port);
                // The port matters when SLs are dropped on the way to it.
                let by_port = if links.drops_sls() {
                    u16::from(port) << 1
                } else {
                    0
                };
                let sl_column = links.sls().map_or(0, |sls| sls.column(lid));
                let by_port = by_port | u16::from(delivers);
                let key = Key::new(column, switch, by_port).with_sls(sl_column);
                let (number, is_new) = seen.number(key);
                work(
                    lid,
                    Target {
                        switch,
                        delivers,
                        column,
                        sl_column,
                        number,
                        is_new,
                    },
                );
            }
        }
    }
}

/// The classes of the paths to some LIDs.
/// Of one thread, and the whole once they are joined.
struct Part {
    classes: Vec<Class>,
    class_ids: HashMap<Class, u16>,
    /// More classes than numbers.
    /// Told at the end: going on with a wrong number does no harm until then.
    is_full: bool,
    /// Different columns in the order in which they turned up. Shape: class number by row.
    columns: Interned,
    /// LID and its column, ascending.
    lids: Vec<(u16, u32)>,
}

/// A class before it is unpacked. Numbered from 1; 0 is no path.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Class {
    capacity: Packed,
    carried: u16,
    switches: u16,
    sl: PathSl,
}

impl Part {
    fn new(rows: usize) -> Self {
        Self {
            classes: Vec::new(),
            class_ids: HashMap::new(),
            is_full: false,
            columns: Interned::new(rows),
            lids: Vec::new(),
        }
    }

    /// Number of the column of classes of the paths to a LID.
    /// One class for each row, 0 where there is no path.
    fn column(
        &mut self,
        sources: &Sources,
        links: &Links,
        resolver: &Resolver,
        target: Target<'_>,
    ) -> u32 {
        let mut last = None;
        let classes = sources.rows.iter().map(|row| {
            let Some(class) = class(links, resolver, target, *row) else {
                return 0;
            };
            // Neighbouring rows often have the same.
            match last {
                Some((known, number)) if known == class => number,
                _ => {
                    let number = self.number(class);
                    last = Some((class, number));
                    number
                }
            }
        });
        let column: Vec<_> = classes.collect();
        self.columns.number(&column)
    }

    /// Takes over another part, whose LIDs come behind.
    fn append(&mut self, part: &Self) {
        self.is_full |= part.is_full;
        let no_path = std::iter::once(0);
        // Number 0 stays "no path" in every part.
        let renamed: Vec<_> = no_path
            .chain(part.classes.iter().map(|class| self.number(*class)))
            .collect();
        let columns: Vec<_> = part
            .columns
            .iter()
            .map(|column| {
                let column: Vec<_> = column
                    .iter()
                    .map(|number| renamed[usize::from(*number)])
                    .collect();
                self.columns.number(&column)
            })
            .collect();
        self.lids.extend(
            part.lids
                .iter()
                .map(|(lid, column)| (*lid, columns[*column as usize])),
        );
    }

    fn number(&mut self, class: Class) -> u16 {
        if let Some(number) = self.class_ids.get(&class) {
            return *number;
        }
        let Ok(number) = u16::try_from(self.classes.len() + 1) else {
            self.is_full = true;
            return 0;
        };
        self.classes.push(class);
        self.class_ids.insert(class, number);
        number
    }

    /// Turns numbers of this build into those of the snapshot: rows and columns from 1, 0 for none.
    fn into_tables(
        self,
        topology: &Topology,
        routes: &Routes,
        sources: &Sources,
    ) -> Result<PathTables, TooManyClasses> {
        if self.is_full {
            return Err(TooManyClasses);
        }
        let columns: Vec<_> = self.columns.iter().collect();
        let is_used = |column: &&[u16]| column.iter().any(|class| *class != 0);
        // A column without any path needs no place in the table.
        let used: Vec<_> = columns.iter().copied().filter(is_used).collect();
        let column_numbers = numbered(columns.iter().map(is_used));
        let (row_numbers, table) = rows(sources.rows.len(), &used);
        let mut of_lid = vec![0; routes.lfts().stride()];
        for (lid, column) in &self.lids {
            of_lid[usize::from(*lid)] = column_numbers[*column as usize];
        }
        let ends = topology.end_ports.iter();
        let columns = ends
            .map(|end| end.lids().map(|lid| of_lid[lid.index()]).collect())
            .collect();
        let row = |row: &Option<u32>| row.map_or(0, |row| row_numbers[row as usize]);
        let classes = self.classes.iter().map(Class::unpacked);
        Ok(PathTables {
            engine_sl: routes.engine_sl(),
            classes: std::iter::once(NO_PATH_CLASS).chain(classes).collect(),
            rows: sources.of_port.iter().map(row).collect(),
            columns,
            pairs: Pairs::Dense {
                columns: count32(used.len()),
                table,
            },
        })
    }
}

/// Entry 0 of the classes.
const NO_PATH_CLASS: PathClass = PathClass {
    capacity: sa_snapshot::model::Capacity::UNLIMITED,
    carried: SlVlMask(0),
    hops: 0,
    sl: PathSl::Policy,
};

impl Class {
    fn unpacked(&self) -> PathClass {
        PathClass {
            capacity: self.capacity.unpacked(),
            carried: SlVlMask(self.carried),
            hops: u8::try_from(self.switches).unwrap_or(u8::MAX),
            sl: self.sl,
        }
    }
}

/// Numbers the used ones from 1; the others get 0. LIDs and end ports are fewer than 65,536.
fn numbered(used: impl Iterator<Item = bool>) -> Vec<u16> {
    let mut next = 0;
    let number = |is_used| {
        next += u16::from(is_used);
        if is_used { next } else { 0 }
    };
    used.map(number).collect()
}

/// The table row by row, equal rows once, and the number of each source's row, from 1.
fn rows(sources: usize, columns: &[&[u16]]) -> (Vec<u16>, Vec<u16>) {
    let mut table = Interned::new(columns.len());
    let numbers = (0..sources).map(|source| {
        let row: Vec<_> = columns.iter().map(|column| column[source]).collect();
        // A source that reaches nothing needs no row either.
        if row.iter().all(|class| *class == 0) {
            return 0;
        }
        u16::try_from(table.number(&row) + 1).unwrap_or(0)
    });
    let numbers = numbers.collect();
    (numbers, table.items)
}

/// The class of the paths from a row to a LID; none when there is no path.
fn class(links: &Links, resolver: &Resolver, target: Target<'_>, row: Row) -> Option<Class> {
    let rest = resolver.rest(row.switch)?;
    let output = target.column[row.switch as usize];
    let switches = rest.switches + 1;
    // The switch that sends does not count itself, as in the reference.
    let counted = if row.is_switch {
        rest.switches
    } else {
        switches
    };
    if counted > MOST_SWITCHES {
        return None;
    }
    let capacity = match links.link(row.switch, output) {
        // Its first port's own MTU and rate do not limit; the far end's do.
        Some(link) if row.is_switch && rest.switches > 0 => {
            link.far_capacity.min(resolver.rest(link.to)?.capacity)
        }
        _ => rest.capacity,
    };
    let carried = links.carried(row.switch, row.input, output) & rest.carried;
    let sls = links.sls();
    Some(Class {
        capacity,
        carried,
        switches,
        sl: sls.map_or(PathSl::Policy, |sls| sls.at(row.sl_row, target.sl_column)),
    })
}
