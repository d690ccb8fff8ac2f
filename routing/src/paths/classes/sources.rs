//! Sources whose paths differ.
//!
//! ```text
//! switch with 18 hosts, nothing dropped     1 row, shared with the switch itself
//! one host port drops SL 5 on the way in    2 rows
//! ```
//!
//! Rows are what the dense table is wide in, so each that is saved is saved for every column.

use super::MOST_SWITCHES;
use super::edges::inputs;
use super::links::Links;
use super::reach::Reach;
use crate::topology::{EndPortIx, SwitchIx, Topology, count32};

/// Sources that can differ.
pub(super) struct Sources {
    pub(super) rows: Vec<Row>,
    /// By end port: index into `rows`; none for a port that is plugged into no switch.
    pub(super) of_port: Vec<Option<u32>>,
}

/// Sources on one switch whose paths have the same classes.
/// Stands for all its sources in what follows.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) switch: u32,
    /// Port where packets come in, or one that is treated the same.
    pub(super) input: u8,
    /// The switch itself, whose first cable counts with its far end only.
    pub(super) is_switch: bool,
    /// Of the table of SLs, where there is one.
    pub(super) sl_row: u32,
}

impl Sources {
    pub(super) fn new(topology: &Topology, links: &Links, reach: &Reach) -> Self {
        let mut sources = Self {
            rows: Vec::new(),
            of_port: vec![None; topology.end_ports.len()],
        };
        for switch in topology.switch_ixs() {
            sources.add_switch(topology, links, reach, switch);
        }
        sources
    }

    /// Rows of one switch follow each other.
    fn add_switch(&mut self, topology: &Topology, links: &Links, reach: &Reach, ix: SwitchIx) {
        let first = self.rows.len();
        for (input, end) in topology.hosts(ix) {
            let row = self.row(topology, links, first, (ix, input, end));
            self.of_port[end.index()] = Some(row);
        }
        // A limit of switches reached would tell the two apart: a switch does not count itself.
        let is_like_a_host = links.near_ends_are_free(ix) && reach.longest() <= MOST_SWITCHES;
        let port0 = topology.switch(ix).port0;
        let row = if is_like_a_host {
            self.row(topology, links, first, (ix, 0, port0))
        } else {
            self.push(Row {
                switch: ix.0,
                input: 0,
                is_switch: true,
                sl_row: sl_row(links, port0),
            })
        };
        self.of_port[port0.index()] = Some(row);
    }

    /// The row of an input port, and of the source behind it: one of the switch's rows from `first`
    /// on if it drops the same SLs and the engine gives the same.
    /// Cost: O(rows x ports), of one switch.
    fn row(
        &mut self,
        topology: &Topology,
        links: &Links,
        first: usize,
        (switch, input, source): (SwitchIx, u8, EndPortIx),
    ) -> u32 {
        let sl_row = sl_row(links, source);
        let is_same = |row: &Row| {
            let mut outputs = inputs(topology, switch);
            let carried = |input, output| links.carried(switch.0, input, output);
            let mut drops_alike =
                || outputs.all(|output| carried(row.input, output) == carried(input, output));
            row.sl_row == sl_row && drops_alike()
        };
        match self.rows[first..].iter().position(is_same) {
            Some(place) => count32(first + place),
            None => self.push(Row {
                switch: switch.0,
                input,
                is_switch: false,
                sl_row,
            }),
        }
    }

    fn push(&mut self, row: Row) -> u32 {
        self.rows.push(row);
        count32(self.rows.len() - 1)
    }
}

/// The row of a source in the table of SLs; 0 where there is none.
fn sl_row(links: &Links, source: EndPortIx) -> u32 {
    links.sls().map_or(0, |sls| sls.row(source))
}
