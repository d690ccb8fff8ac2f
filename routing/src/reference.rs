//! The slow, plain way to a path: follow the tables hop by hop, as OpenSM's SA does.
//!
//! Tells what the compiled classes must tell, and is what they are compared with. Shares no code
//! with them.
//! Source: OpenSM `osm_sa_path_record.c` (`pr_rcv_get_path_parms`).
//!
//! One pair at a time, one switch after the other, with the names of OpenSM's own steps. It is slow
//! on purpose: path classes follow whole columns and share work between sources, and every such
//! shortcut is compared with this on random fabrics. `sapphire explain`, `draw` and the linter use
//! it as well, since it alone can say at which switch a path ends or an SL is dropped.
//!
//! # What counts, hop by hop
//!
//! ```text
//!  host ── in[S1]out ── in[S2]out ── host
//!  own port   both ports of every switch     own port
//! ```
//!
//! MTU and rate are the least over all these ports, SLs those that no SL2VL table on the way drops.
//! A switch as the source is the exception: the port by which it sends first does not count, only
//! what comes behind it. OpenSM does the same, and a slow first port of a switch shows it. Between two hosts that
//! are cabled to each other their own ports are all that counts.

use sa_snapshot::model::Capacity;
use sa_wire::{Lid, SlVlMask};

use crate::error::SwitchName;
use crate::tables::{Qos, Routes};
use crate::topology::{EndPortIx, Peer, SwitchIx, Topology};

/// A path as it was walked.
/// Allocated for one path; not for the fast path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walk {
    /// Least MTU and rate on the way, both ends included.
    pub capacity: Capacity,
    /// SLs that nothing on the way drops; all of them with QoS off.
    /// Never empty: that is [`NoPath::AllSlsDropped`].
    pub carried: SlVlMask,
    /// The way through the switches; empty for the path of a port to itself, and to one at the other end of its cable.
    /// At most 65 entries, those that OpenSM allows and the switch that sends itself.
    pub hops: Vec<Hop>,
}

/// A switch on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// The switch whose table is looked at.
    pub switch: SwitchIx,
    /// Where packets come in; 0 for the source itself.
    pub input: u8,
    /// Where they go out; 0 for the destination itself.
    pub output: u8,
}

/// Why there is no path.
/// Names switches by index; [`Self::in_words`] has the text for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoPath {
    /// Nobody owns the LID.
    /// Nor can it be said where a path to it would end.
    #[error("LID {0} belongs to nobody")]
    UnknownLid(Lid),
    /// A CA or router port that is plugged into no switch, nor into the destination.
    #[error("the source port is plugged into no switch")]
    NotAttached,
    /// A switch without an entry.
    /// The usual case after damage: the engine found no way.
    #[error("switch {} has no forwarding entry for LID {lid}", switch.0)]
    NoEntry {
        /// Index of the switch.
        switch: SwitchIx,
        /// The destination.
        lid: Lid,
    },
    /// An entry for a port without a cable.
    #[error("switch {} forwards LID {lid} to port {port}, which has no cable", switch.0)]
    NoCable {
        /// Index of the switch.
        switch: SwitchIx,
        /// Its port.
        port: u8,
        /// The destination.
        lid: Lid,
    },
    /// The way ends at another port.
    #[error("switch {} delivers LID {lid} to the wrong port {port}", switch.0)]
    WrongEnd {
        /// Index of the switch.
        switch: SwitchIx,
        /// Its port.
        port: u8,
        /// The destination.
        lid: Lid,
    },
    /// More switches than OpenSM allows, or a cycle.
    /// The two are not told apart: both are a walk that does not end in time.
    #[error("the path to LID {0} has more than {MOST_HOPS} hops or runs in a circle")]
    TooManyHops(Lid),
    /// No SL is left.
    #[error("every SL leads to VL 15 on the way")]
    AllSlsDropped,
}

impl NoPath {
    /// The reason with the names of switches instead of their indices.
    pub fn in_words(&self, topology: &Topology) -> String {
        let name = |switch: &SwitchIx| SwitchName::new(topology, *switch, None);
        match self {
            Self::NoEntry { switch, lid } => {
                format!("{} has no forwarding entry for LID {lid}", name(switch))
            }
            Self::NoCable { switch, port, lid } => {
                let switch = name(switch);
                format!("{switch} forwards LID {lid} to port {port}, which has no cable")
            }
            Self::WrongEnd { switch, port, lid } => {
                format!(
                    "{} delivers LID {lid} to the wrong port {port}",
                    name(switch)
                )
            }
            other => other.to_string(),
        }
    }
}

/// Switches behind the first port of a path.
/// Source: OpenSM `osm_sa_path_record.c` (`MAX_HOPS`).
/// What comes before the first switch is not counted, so a path between hosts has 64 switches at
/// most.
const MOST_HOPS: usize = 64;

/// Follows the tables from an end port to a LID.
/// Errors: why there is no path. One thing differs from OpenSM: a switch whose own table does not
/// send the LID to its port 0 gets nothing here.
///
/// Cost: O(hops). QoS off leaves SLs out; everything else is the same.
pub fn walk(
    topology: &Topology,
    routes: &Routes,
    qos: Qos,
    source: EndPortIx,
    lid: Lid,
) -> Result<Walk, NoPath> {
    let destination = routes.lids().owner(lid).ok_or(NoPath::UnknownLid(lid))?;
    let from = topology.end_port(source);
    let mut walker = Walker {
        topology,
        routes,
        qos,
        lid,
        destination,
        walk: Walk {
            capacity: from.capacity,
            carried: SlVlMask::ALL,
            hops: Vec::new(),
        },
    };
    match from.attached {
        // A switch has no cable of its own to leave by: its first port is already part of the
        // table.
        Some((switch, 0)) => walker.begin_at_switch(switch)?,
        // To itself a packet does not leave the port, and still its own table decides about SLs.
        _ if source == destination => walker.pass(routes.end_port_sl2vl(source).carried())?,
        Some((switch, port)) => {
            walker.pass(routes.end_port_sl2vl(source).carried())?;
            // The host's table and its switch's are passed one after the other.
            walker.through(switch, port, 0)?;
        }
        None if from.peer == Some(destination) => {
            walker.pass(routes.end_port_sl2vl(source).carried())?;
        }
        None => return Err(NoPath::NotAttached),
    }
    let to = topology.end_port(destination);
    walker.walk.capacity = walker.walk.capacity.min(to.capacity);
    Ok(walker.walk)
}

/// A walk under way. On an error what was gathered is thrown away.
struct Walker<'a> {
    topology: &'a Topology,
    routes: &'a Routes,
    qos: Qos,
    lid: Lid,
    destination: EndPortIx,
    walk: Walk,
}

impl Walker<'_> {
    /// The first port of the path of a switch is the one it forwards to, whose own MTU and rate do
    /// not count.
    fn begin_at_switch(&mut self, switch: SwitchIx) -> Result<(), NoPath> {
        let output = self.output(switch)?;
        self.pass(self.routes.sl2vl(switch, 0, output).carried())?;
        let is_own = self.topology.switch(switch).port0 == self.destination;
        // Its own LID leaves by a cable, which differs from OpenSM (see `walk`), or another's
        // ends here.
        if is_own != (output == 0) {
            return Err(NoPath::WrongEnd {
                switch,
                port: output,
                lid: self.lid,
            });
        }
        if is_own {
            return Ok(());
        }
        self.walk.hops.push(Hop {
            switch,
            input: 0,
            output,
        });
        self.leave(switch, output, 0)
    }

    /// Into a switch, through it, and on. `passed` is how many were passed before.
    fn through(&mut self, switch: SwitchIx, input: u8, passed: usize) -> Result<(), NoPath> {
        self.limit(switch, input);
        let output = self.output(switch)?;
        self.limit(switch, output);
        self.pass(self.routes.sl2vl(switch, input, output).carried())?;
        // Behind the others, so that a missing entry or a dropped SL of this switch is told first.
        if passed + 1 > MOST_HOPS {
            return Err(NoPath::TooManyHops(self.lid));
        }
        self.walk.hops.push(Hop {
            switch,
            input,
            output,
        });
        if output != 0 {
            return self.leave(switch, output, passed + 1);
        }
        if self.topology.switch(switch).port0 == self.destination {
            return Ok(());
        }
        Err(NoPath::WrongEnd {
            switch,
            port: output,
            lid: self.lid,
        })
    }

    /// Over the cable in a port of a switch.
    /// The far switch is entered by its own port number, by which SL2VL tables go.
    fn leave(&mut self, switch: SwitchIx, output: u8, passed: usize) -> Result<(), NoPath> {
        match self.topology.peer(switch, output) {
            Peer::Nothing => Err(NoPath::NoCable {
                switch,
                port: output,
                lid: self.lid,
            }),
            Peer::EndPort(end) if end == self.destination => Ok(()),
            Peer::EndPort(_) => Err(NoPath::WrongEnd {
                switch,
                port: output,
                lid: self.lid,
            }),
            Peer::Switch { switch, port } => self.through(switch, port, passed),
        }
    }

    /// An entry for a port that does not exist is an entry; `leave` finds no cable there.
    fn output(&self, switch: SwitchIx) -> Result<u8, NoPath> {
        let output = self.routes.output(switch, self.lid);
        output.ok_or(NoPath::NoEntry {
            switch,
            lid: self.lid,
        })
    }

    fn limit(&mut self, switch: SwitchIx, port: u8) {
        // Port 0 counts with the numbers of the end port that it is.
        let switch = self.topology.switch(switch);
        let capacity = match switch.ports.get(usize::from(port)) {
            Some(port_of_switch) if port != 0 => port_of_switch.capacity,
            _ => self.topology.end_port(switch.port0).capacity,
        };
        self.walk.capacity = self.walk.capacity.min(capacity);
    }

    /// As soon as no SL is left there is no path, wherever the rest of the way would lead.
    fn pass(&mut self, carried: SlVlMask) -> Result<(), NoPath> {
        if self.qos == Qos::Off {
            return Ok(());
        }
        self.walk.carried = self.walk.carried.and(carried);
        if self.walk.carried.0 == 0 {
            Err(NoPath::AllSlsDropped)
        } else {
            Ok(())
        }
    }
}
