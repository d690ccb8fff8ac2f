//! Which ports are in a group. Source: OpenSM `osm_qos_parser_y.y`, `osm_qos_policy.c`.
//!
//! Groups are resolved for all ports at once, by indexes over GUIDs and names: a policy may have thousands of
//! groups, and a fabric tens of thousands of ports. Names follow OpenSM's own maps, down to which of two
//! nodes with one name is meant.
//!
//! | selector | looked up by |
//! |---|---|
//! | `port-guid` | sorted GUIDs, a range by its two ends |
//! | `port-name` | map of whole names, then of the first two words |
//! | `partition`, `pkey` | members of the partitions meant |
//! | `node-type`, `SELF` | one pass over the ports |
//!
//! A range of 2^40 GUIDs costs no more than one GUID: what is gone through are the ports that
//! exist.
//!
//! # Names
//!
//! ```text
//! "h1 HCA-1/P1"     the node whose whole description is `h1 HCA-1`; of two such nodes one
//! h1/HCA-1/P1       first a node called `h1/HCA-1`, else all that begin with the words h1 HCA-1
//! ```
//!
//! In OpenSM only the first reading exists. A file that OpenSM reads is never read the second way.

use std::collections::HashMap;

use sa_text::{Span, Spanned};
use sa_wire::NodeType;

use crate::error::{Error, Problem};
use crate::facts::{PortFacts, first_words, printed_name};
use crate::model::ranges::Ranges;
use crate::model::{Group, PortName, Selector};
use crate::partitions::Partitions;

/// Looks up members of groups in one fabric.
/// Made once for a compilation; each group is one question.
pub struct GroupResolver<'a> {
    /// By the index that results use.
    ports: &'a [PortFacts],
    partitions: &'a Partitions,
    /// Shape: ascending by GUID; GUID and port index.
    by_guid: Vec<(u64, usize)>,
    /// Ports of the node that a name means.
    /// Of one node only: two ports of it are two entries, ports of a namesake none.
    by_name: HashMap<String, Vec<usize>>,
    /// Ports of the nodes whose names begin with these words.
    by_words: HashMap<(String, String), Vec<usize>>,
}

impl<'a> GroupResolver<'a> {
    /// Shape: `partitions` belongs to the same `ports`.
    pub fn new(ports: &'a [PortFacts], partitions: &'a Partitions) -> Self {
        let mut by_guid: Vec<(u64, usize)> = ports
            .iter()
            .enumerate()
            .map(|(at, port)| (port.guid.get(), at))
            .collect();
        by_guid.sort_unstable();
        Self {
            ports,
            partitions,
            by_guid,
            by_name: nodes_by_name(ports),
            by_words: ports_by_words(ports),
        }
    }

    /// Members of a group. Shape: port indices, ascending, each once.
    ///
    /// Errors: a port name whose node exists without that port, [`Problem::NoSuchPort`]. Other
    /// selectors that select nothing are legal.
    ///
    /// Cost: what the selectors select, and sorting it.
    pub fn members(&self, group: &Group) -> Result<Vec<usize>, Error> {
        let mut members = Vec::new();
        for selector in &group.selectors {
            self.add_selected(selector, &mut members)?;
        }
        members.sort_unstable();
        // A port that two lines select is one member.
        members.dedup();
        Ok(members)
    }

    /// The ports that one selector selects; some may be selected already.
    fn add_selected(
        &self,
        selector: &Spanned<Selector>,
        members: &mut Vec<usize>,
    ) -> Result<(), Error> {
        match &selector.value {
            Selector::Guids(guids) => members.extend(self.with_guids(guids)),
            Selector::PortName(name) => members.extend(self.named(name, selector.span)?),
            Selector::Partition(name) => {
                // A partition that is not there selects nobody; lint tells.
                if let Some(partition) = self.partitions.find_name(name) {
                    members.extend(self.in_partitions(&[partition]));
                }
            }
            Selector::Pkeys(bases) => {
                members.extend(self.in_partitions(&self.partitions.find_bases(bases)));
            }
            Selector::NodeTypes(types) => {
                members.extend(self.where_port(|port| types.contains(port.node_type)));
            }
            Selector::SelfPort => members.extend(self.where_port(|port| port.is_sm)),
        }
        Ok(())
    }

    /// Ports for which this holds. Shape: ascending.
    fn where_port(&self, wanted: impl Fn(&PortFacts) -> bool) -> impl Iterator<Item = usize> {
        self.ports
            .iter()
            .enumerate()
            .filter(move |(_, port)| wanted(port))
            .map(|(at, _)| at)
    }

    /// Goes through known GUIDs, not through all that a range may hold.
    fn with_guids(&self, guids: &Ranges) -> impl Iterator<Item = usize> {
        guids.pairs().iter().flat_map(|(low, high)| {
            let from = self.by_guid.partition_point(|(guid, _)| guid < low);
            let to = self.by_guid.partition_point(|(guid, _)| guid <= high);
            self.by_guid[from..to].iter().map(|(_, at)| *at)
        })
    }

    /// Members, full or limited, of some of these partitions. Shape: ascending.
    /// One pass over all ports, whatever the number of partitions.
    fn in_partitions(&self, partitions: &[usize]) -> impl Iterator<Item = usize> {
        let mut wanted = vec![false; self.partitions.list().len()];
        for partition in partitions {
            wanted[*partition] = true;
        }
        let any = partitions.is_empty();
        // Nothing wanted, nothing to go through.
        (0..if any { 0 } else { self.ports.len() }).filter(move |port| {
            self.partitions
                .held_by(*port)
                .any(|(partition, _)| wanted[partition])
        })
    }

    /// A name that no node has is legal. A switch has one end port, whatever the number.
    ///
    /// One node is meant by its whole name, every node that fits by its first words.
    fn named(&self, name: &PortName, span: Span) -> Result<Vec<usize>, Error> {
        let by_name = self.by_name.get(&name.node);
        let by_words = || {
            let (host, ca) = name.words()?;
            self.by_words.get(&(host.to_owned(), ca.to_owned()))
        };
        let Some(ports) = by_name.or_else(by_words) else {
            return Ok(Vec::new());
        };
        let number_fits = |at: &&usize| {
            let port = &self.ports[**at];
            match port.node_type {
                // Any port that the switch has stands for its port 0, the only end port.
                NodeType::Switch => name.port <= u32::from(port.node_ports),
                _ => name.port == u32::from(port.port_number),
            }
        };
        let found: Vec<usize> = ports.iter().filter(number_fits).copied().collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let (node, port) = (name.node.clone(), name.port);
        // The node is there without that port: that is no port which is down, but a typing error.
        Err(Error::new(span, Problem::NoSuchPort { node, port }))
    }
}

/// By the first two words of the node's name, which the RFCs take for host and CA.
/// All nodes with these words, and all their ports.
fn ports_by_words(ports: &[PortFacts]) -> HashMap<(String, String), Vec<usize>> {
    let mut by_words: HashMap<_, Vec<usize>> = HashMap::new();
    for (at, port) in ports.iter().enumerate() {
        if let Some((host, ca)) = first_words(&printed_name(&port.description)) {
            let words = (host.to_owned(), ca.to_owned());
            by_words.entry(words).or_default().push(at);
        }
    }
    by_words
}

/// Of nodes with one name only the first counts, in the order of the SM's map.
fn nodes_by_name(ports: &[PortFacts]) -> HashMap<String, Vec<usize>> {
    let mut order: Vec<usize> = (0..ports.len()).collect();
    order.sort_by_key(|at| (ports[*at].node_guid.map_order(), *at));
    let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
    for at in order {
        let name = printed_name(&ports[at].description);
        // Ports come in the order of their nodes, so the first entry is of the node that is meant.
        let of_node = by_name.entry(name.into_owned()).or_default();
        match of_node.first() {
            Some(first) if ports[*first].node_guid != ports[at].node_guid => {}
            _ => of_node.push(at),
        }
    }
    by_name
}
