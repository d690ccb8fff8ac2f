//! Paths by class, and ports that are alike at one end.
//!
//! Path tables say for a row (where a path begins) and a column (where it ends) which class it has:
//! MTU, rate, SLs that survive. Ports with the same row and column are alike for every check about
//! paths. Row or column 0 means that no path begins or ends there.

use std::collections::HashMap;

use routing::Qos;
use routing::paths::classes::{self, PortEdge, port_edges};
use sa_snapshot::model::{Pairs, PathTables};
use sa_wire::SlVlMask;

use crate::state::FabricState;

/// All paths of a fabric.
///
/// Compiled once for all checks of a lint.
pub(super) struct Paths {
    /// By end port.
    pub(super) edges: Vec<PortEdge>,
    /// Their classes.
    pub(super) tables: PathTables,
}

impl Paths {
    /// None with QoS off, where no SL is dropped, and where there are too many classes to compile,
    /// which every verb that serves them tells.
    pub(super) fn of(parts: &FabricState) -> Option<Self> {
        let (topology, routes, qos) = (&parts.topology, &parts.routes, parts.qos());
        if qos == Qos::Off {
            return None;
        }
        Some(Self {
            edges: port_edges(topology, routes, qos),
            tables: classes::compile(topology, routes, qos).ok()?,
        })
    }

    /// Where paths from a port begin; 0 for nowhere.
    pub(super) fn row(&self, port: usize) -> u16 {
        self.tables.rows.get(port).copied().unwrap_or(0)
    }

    /// Where paths to the port's first LID end.
    pub(super) fn column(&self, port: usize) -> u16 {
        let columns = self.tables.columns.get(port);
        columns
            .and_then(|columns| columns.first())
            .copied()
            .unwrap_or(0)
    }

    /// The class of the paths between a row and a column; none where there is no path.
    pub(super) fn class(&self, row: u16, column: u16, is_within: bool) -> Option<u16> {
        if row == 0 || column == 0 {
            return None;
        }
        let class = match &self.tables.pairs {
            Pairs::Uniform { within, .. } if is_within => *within,
            Pairs::Uniform { across, .. } => *across,
            Pairs::Dense { columns, table } => {
                let columns = usize::try_from(*columns).ok()?;
                let place = usize::from(row - 1) * columns + usize::from(column - 1);
                table.get(place).copied()?
            }
        };
        (class != 0).then_some(class)
    }

    /// SLs that survive every hop of the class.
    pub(super) fn carried(&self, class: u16) -> SlVlMask {
        let class = self.tables.classes.get(usize::from(class));
        class.map_or(SlVlMask(0), |class| class.carried)
    }

    /// True when some class or port drops some of these SLs.
    pub(super) fn may_drop(&self, sls: u16) -> bool {
        let drops = |mask: SlVlMask| sls & !mask.0 != 0;
        // Class 0 is "no path".
        let mut classes = self.tables.classes.iter().skip(1);
        let mut edges = self.edges.iter();
        classes.any(|class| drops(class.carried))
            || edges.any(|edge| drops(edge.sl_out) || drops(edge.sl_in))
    }
}

/// What tells ports apart at one end: kind for rules, partitions, place in the tables, SLs that the
/// port lets pass.
pub(super) type Key = (usize, usize, u16, u16);

/// Ports that are alike at one end.
///
/// Far fewer than ports: on a torus as many as switches, at most.
pub(super) struct Ends {
    /// With the ports.
    pub(super) kinds: Vec<(Key, Vec<usize>)>,
    /// By port.
    pub(super) of_port: Vec<usize>,
}

impl Ends {
    /// Puts ports together. Shape: kinds in the order of their first port.
    pub(super) fn new(ports: usize, key: impl Fn(usize) -> Key) -> Self {
        let mut numbers: HashMap<Key, usize> = HashMap::new();
        let mut kinds: Vec<(Key, Vec<usize>)> = Vec::new();
        let of_port = (0..ports).map(|port| {
            let key = key(port);
            let number = *numbers.entry(key).or_insert(kinds.len());
            if number == kinds.len() {
                kinds.push((key, Vec::new()));
            }
            if let Some((_, ports)) = kinds.get_mut(number) {
                ports.push(port);
            }
            number
        });
        let of_port = of_port.collect();
        Self { kinds, of_port }
    }
}
