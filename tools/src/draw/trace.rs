//! The way between two ports, switch by switch.
//!
//! The SL is what the SA answers for the pair, from the snapshot; the hops are what the tables do
//! with packets of it. So a picture shows what happens, and not what an engine meant.

use routing::reference::walk;
use routing::{EndPortIx, Peer, SwitchIx};
use sa_answer::whole;
use sa_compiler::pipeline::Compiled;
use sa_wire::Lid;

use super::paper::printable;
use crate::failure::{Failure, Outcome};
use crate::wrong::Wrong;

/// A path, or why there is none.
/// With an SL there are hops from the first switch to the last; without, none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trace {
    /// Who sends.
    pub(crate) from: End,
    /// Who is sent to.
    pub(crate) to: End,
    /// From switch to switch; empty when both ends are on one switch, and when there is no path.
    pub(crate) hops: Vec<Crossed>,
    /// What the SA answers. Errors: why there is no path.
    pub(crate) sl: Result<u8, Wrong>,
}

/// One end of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct End {
    /// Printable, with the port where the node has several.
    pub(crate) name: String,
    /// The base LID.
    pub(crate) lid: Lid,
    /// Where it is plugged in; for a switch itself.
    pub(crate) switch: Option<SwitchIx>,
    /// By which snapshot, topology and subnet agree.
    pub(crate) ix: EndPortIx,
}

/// A cable between switches that a path crosses.
/// Hops from and to hosts are not drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Crossed {
    /// The switch that sends.
    pub(crate) switch: SwitchIx,
    /// By which port packets come in.
    pub(crate) input: u8,
    /// Of `switch`.
    pub(crate) output: u8,
    /// The one behind that port.
    pub(crate) next: SwitchIx,
    /// On the cable.
    pub(crate) vl: u8,
}

impl Trace {
    /// The path that the SA gives the source, along the tables. Errors: indices out of range.
    /// A pair without a path is a result, to be drawn and told; only indices are errors.
    pub(crate) fn of(compiled: &Compiled, source: usize, destination: usize) -> Outcome<Self> {
        let from = end(compiled, source)?;
        let to = end(compiled, destination)?;
        // Both are asked, as either may have no path: policy and partitions refuse, tables end.
        let found = whole::path_sl(&compiled.snapshot, from.lid, to.lid)
            .map_err(|status| {
                let words = format!("the SA answers status 0x{status:04x} and no record");
                Wrong::from(words)
            })
            .and_then(|sl| Ok((sl.get(), hops(compiled, from.ix, to.lid, sl.get())?)));
        let (sl, hops) = match found {
            Ok((sl, hops)) => (Ok(sl), hops),
            Err(why) => (Err(why), Vec::new()),
        };
        Ok(Self { from, to, hops, sl })
    }

    /// Why there is no path.
    ///
    /// As a sentence for people; none where there is a path.
    pub(crate) fn problem(&self) -> Option<String> {
        let why = self.sl.as_ref().err()?;
        let (from, to) = (&self.from.name, &self.to.name);
        Some(format!("no path from {from} to {to}: {why}"))
    }
}

/// Topology and subnet number end ports in the same way.
///
/// Errors: an index that neither has.
fn end(compiled: &Compiled, ix: usize) -> Outcome<End> {
    let parts = &compiled.parts;
    let ends = (
        parts.topology.end_ports.get(ix),
        parts.subnet.end_ports().get(ix),
    );
    let (Some(port), Some(named)) = ends else {
        return Err(Failure::failed("no such port"));
    };
    Ok(End {
        name: printable(&parts.subnet.fabric().port_name(named.at)),
        lid: port.lid,
        switch: port.attached.map(|(switch, _)| switch),
        // Indices come from the subnet, whose ports fit 32 bits.
        ix: EndPortIx(u32::try_from(ix).unwrap_or(u32::MAX)),
    })
}

/// The way through the tables. Errors: where it ends.
///
/// Hops from and to hosts are left out: there is no cable between switches to draw.
fn hops(compiled: &Compiled, source: EndPortIx, dlid: Lid, sl: u8) -> Result<Vec<Crossed>, Wrong> {
    let parts = &compiled.parts;
    let walked = walk(&parts.topology, &parts.routes, parts.qos(), source, dlid)
        .map_err(|why| why.in_words(&parts.topology))?;
    let between = walked.hops.iter().filter_map(|hop| {
        let Peer::Switch { switch: next, .. } = parts.topology.peer(hop.switch, hop.output) else {
            return None;
        };
        let table = parts.routes.sl2vl(hop.switch, hop.input, hop.output).0;
        Some(Crossed {
            switch: hop.switch,
            input: hop.input,
            output: hop.output,
            next,
            vl: table.get(usize::from(sl)).copied().unwrap_or(0),
        })
    });
    Ok(between.collect())
}
