//! Parts that are to be taken as failed, by name.
//!
//! ```text
//!  S3        a switch by id or description      S3:7     the cable at its port 7
//!  0x20000f  by node GUID                       1,2,3    by coordinates of the torus
//! ```
//!
//! Coordinates come from placing the healthy fabric, which is done when the first one is asked for.
//! What fails are cables (`sa_fabric::damage`); LIDs stay as the SM keeps them. If the SM's own
//! host is cut off, a standby takes over: the first CA port that is left, since which one it is
//! makes no difference to what it sees.

use std::cell::OnceCell;

use routing::engine::torus;
use routing::placement::Coordinate;
use routing::{Topology, Torus};
use sa_fabric::damage::Failed;
use sa_fabric::model::{Fabric, NodeIx, PortRef};
use sa_fabric::options::OpenSmOptions;
use sa_fabric::subnet::{LookupError, Subnet, SubnetError, SubnetOptions};
use sa_wire::{Guid, NodeType};
use thiserror::Error;

use crate::state::Routing;

/// A part that cannot be taken as failed.
///
/// All parts are found before any fails.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FailedPartError {
    /// Nothing is left.
    #[error("with {} failed no subnet is left: {source}", names.join(" and "))]
    NothingLeft {
        /// The parts, as they were named.
        names: Vec<String>,
        /// Why not.
        source: SubnetError,
    },
    /// A port that the switch does not have.
    #[error("{part}: expected a port number of {switch}, 1 to {ports}")]
    NoSuchPort {
        /// The part, as it was named.
        part: String,
        /// The switch.
        switch: String,
        /// Its last port.
        ports: u8,
    },
    /// A port at which nothing can fail.
    #[error("{part}: that port has no cable; name one end of a cable")]
    NoCable {
        /// The part, as it was named.
        part: String,
    },
    /// A name that leads to no switch.
    #[error(
        "{0}; expected a switch (its name, 0xGUID or x,y,z) or one end of a cable (SWITCH:PORT)"
    )]
    NoSuchSwitch(LookupError),
    /// Coordinates in a fabric that has none.
    #[error("{part}: this fabric has no coordinates; give --torus-conf, or name the switch")]
    NoCoordinates {
        /// The part, as it was named.
        part: String,
    },
    /// Coordinates where no switch is.
    #[error("{part}: no switch is there; the torus is {x} x {y} x {z}, counted from 0", x = radix[0], y = radix[1], z = radix[2])]
    NoSwitchAt {
        /// The part, as it was named.
        part: String,
        /// Switches by axis.
        radix: [u8; 3],
    },
}

/// The subnet after some parts failed: SWITCH or SWITCH:PORT, where a switch is a name, 0xGUID or
/// x,y,z. LIDs stay, and so does the SM unless it is cut off itself.
/// Errors: a name that leads nowhere; nothing left.
pub(super) fn apply(
    healthy: &Subnet,
    options: &OpenSmOptions,
    routing: &Routing,
    names: &[String],
) -> Result<Subnet, FailedPartError> {
    let resolver = Resolver {
        subnet: healthy,
        torus: OnceCell::new(),
        place: &|| torus(healthy, options, routing),
    };
    let parts = names.iter().map(|name| resolver.part(name));
    let parts: Vec<Failed> = parts.collect::<Result<_, _>>()?;
    // A copy: the healthy subnet is what differences are told from.
    let mut fabric = healthy.fabric().clone();
    fabric.fail(&parts);
    let sm = healthy.end_ports().get(healthy.sm());
    let is_cut_off = sm.is_some_and(|sm| is_cut_off(&fabric, sm.at));
    let lids = healthy.lids();
    let wanted = SubnetOptions {
        lmc: Some(healthy.lmc()),
        lmc_esp0: options.lmc_esp0,
        // A standby SM takes over; which one makes no difference to what it sees.
        sm_guid: is_cut_off.then(|| standby(healthy, &fabric)).flatten(),
        lids: Some(&if is_cut_off { lids.without_sm() } else { lids }),
        ..SubnetOptions::default()
    };
    let damaged = Subnet::new(fabric, &wanted);
    damaged.map_err(|source| FailedPartError::NothingLeft {
        names: names.to_vec(),
        source,
    })
}

/// True when no cable leads to or from a node's port any more; on a switch, from any port.
fn is_cut_off(fabric: &Fabric, at: PortRef) -> bool {
    let node = fabric.node(at.node);
    match node.kind {
        NodeType::Switch => node.ports.iter().all(|port| port.peer.is_none()),
        _ => fabric.port(at).peer.is_none(),
    }
}

/// The first CA port that is still connected.
///
/// None where nothing is left; then there is no subnet either.
fn standby(healthy: &Subnet, fabric: &Fabric) -> Option<Guid> {
    let ports = healthy.end_ports().iter();
    let is_ca = |at: PortRef| fabric.node(at.node).kind == NodeType::Ca;
    let mut left = ports.filter(|port| is_ca(port.at) && !is_cut_off(fabric, port.at));
    left.next().map(|port| port.guid)
}

/// Coordinates, where the fabric has any.
///
/// A fabric that torus-2QoS cannot place has none; nor has one without its configuration.
fn torus(subnet: &Subnet, options: &OpenSmOptions, routing: &Routing) -> Option<(Topology, Torus)> {
    let config = routing.torus_conf()?;
    let topology = subnet.topology(options);
    let (torus, _) = torus::place(&topology, config).ok()?;
    Some((topology, torus))
}

/// From names to parts, in one healthy subnet.
struct Resolver<'a> {
    subnet: &'a Subnet,
    /// Coordinates, once one is asked for.
    torus: OnceCell<Option<(Topology, Torus)>>,
    place: &'a dyn Fn() -> Option<(Topology, Torus)>,
}

impl Resolver<'_> {
    /// A switch, or one end of a cable. A name with a colon may be a switch's, so that is tried
    /// first.
    fn part(&self, text: &str) -> Result<Failed, FailedPartError> {
        match self.switch(text) {
            Ok(node) => Ok(Failed::Node(node)),
            Err(problem) => match text.rsplit_once(':') {
                Some((switch, port)) => self.cable(switch, port),
                None => Err(problem),
            },
        }
    }

    /// The cable at a switch port. Errors: no such switch or port, or no cable there.
    fn cable(&self, switch: &str, port: &str) -> Result<Failed, FailedPartError> {
        let node = self.switch(switch)?;
        let facts = self.subnet.fabric().node(node);
        let ports = facts.port_count();
        let number = port.parse().ok().filter(|port| (1..=ports).contains(port));
        let part = format!("{switch}:{port}");
        let Some(port) = number else {
            let switch = facts.name().to_owned();
            return Err(FailedPartError::NoSuchPort {
                part,
                switch,
                ports,
            });
        };
        let at = PortRef { node, port };
        if self.subnet.fabric().port(at).peer.is_none() {
            return Err(FailedPartError::NoCable { part });
        }
        Ok(Failed::Cable(at))
    }

    /// By coordinates where the text looks so, else by name or GUID.
    fn switch(&self, text: &str) -> Result<NodeIx, FailedPartError> {
        if let Some(at) = coordinate(text) {
            return self.switch_at(text, at);
        }
        let found = self.subnet.find_switch(text);
        found.map_err(FailedPartError::NoSuchSwitch)
    }

    /// The switch at coordinates. Errors: the fabric has none, or no switch is there.
    fn switch_at(&self, text: &str, at: Coordinate) -> Result<NodeIx, FailedPartError> {
        let part = text.to_owned();
        let Some((topology, torus)) = self.torus.get_or_init(self.place) else {
            return Err(FailedPartError::NoCoordinates { part });
        };
        let radix = torus.shape().radix;
        let is_inside = at.0.iter().zip(radix).all(|(at, radix)| *at < radix);
        let placed = is_inside.then(|| torus.at(at)).flatten();
        let guid = placed.map(|placed| topology.switch(placed.switch).guid);
        let nodes = self.subnet.switches().iter();
        let is_it = |node: &&NodeIx| Some(self.subnet.fabric().node(**node).guid) == guid;
        let found = nodes.copied().find(|node| is_it(&node));
        found.ok_or(FailedPartError::NoSwitchAt { part, radix })
    }
}

/// `1,2,3`, blanks allowed; none for anything else.
fn coordinate(text: &str) -> Option<Coordinate> {
    let mut parts = text.split(',').map(|part| part.trim().parse().ok());
    let at = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(Coordinate(at))
}
