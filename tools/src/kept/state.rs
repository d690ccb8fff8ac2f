//! From what was kept to what an explanation of one pair needs, without an engine.
//!
//! An explanation follows the tables from the source to each LID of the destination, and asks for
//! nothing else of routes but the name of the engine and places in the torus. So the tables of the
//! switches on these ways are read, and no others: of 13,824 switches some dozens. A proof needs
//! all of them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use routing::engine::{files, torus, torus_proved};
use routing::{
    EndPortIx, EngineKind, GivenSl2Vl, NO_PATH, Peer, Routes, SwitchIx, Topology, Torus,
};
use sa_compiler::pipeline;
use sa_compiler::state::{FabricState, LastProof, Sources};

use super::tables::Tables;
use super::{Kept, Problem, refused};
use crate::failure::{Failure, Outcome};

/// More switches than a path may have.
/// Source: OpenSM `osm_sa_path_record.c` (`MAX_HOPS`), and the switches at both ends.
const MOST_SWITCHES: usize = 66;

impl Kept {
    /// The files that were kept, read again; the warnings about them were told when the snapshot
    /// was compiled.
    pub(crate) fn sources(&self) -> Outcome<Sources> {
        pipeline::read(&self.inputs).map_err(Failure::failed)
    }

    /// The engine that made the tables, as its routes are called.
    pub(crate) fn engine(&self) -> &str {
        &self.head.text.engine
    }

    /// What is known of the fabric, with the tables on the ways from one end port to another and no
    /// others.
    ///
    /// Errors: the sidecar is damaged, or its parts are of different fabrics.
    pub(crate) fn state(&self, sources: Sources, pair: (usize, usize)) -> Outcome<FabricState> {
        self.with_tables(sources, |topology| self.on_the_way(topology, pair))
    }

    /// The same with the tables of all switches: for who proves something of them, not for one
    /// path.
    ///
    /// Errors: as [`Self::state`].
    pub(crate) fn whole(&self, sources: Sources) -> Outcome<FabricState> {
        self.with_tables(sources, |topology| {
            let switches = topology.switch_ixs();
            switches.map(|ix| Ok((ix, self.tables(ix)?))).collect()
        })
    }

    fn with_tables(
        &self,
        sources: Sources,
        read: impl Fn(&Topology) -> Result<BTreeMap<SwitchIx, Tables>, Problem>,
    ) -> Outcome<FabricState> {
        let topology = sources.subnet.topology(&sources.options);
        let fits = self.check_fits(&topology);
        let routes = fits.and_then(|()| self.routes(&sources, &topology, read(&topology)?));
        let routes = routes.map_err(|problem| refused(&self.path, &problem))?;
        let facts = sources.subnet.port_facts();
        let ends = sources.subnet.end_ports().iter();
        let rate_caps = ends.map(|port| sources.subnet.fabric().rate_caps(port.at));
        let rate_caps = rate_caps.collect();
        Ok(FabricState {
            topology,
            severed_pairs: 0,
            routes,
            facts,
            rate_caps,
            subnet: sources.subnet,
            options: sources.options,
            partitions: sources.partitions,
            policy: sources.policy,
            off_subnet: sources.off_subnet,
            aliases: sources.aliases,
            refusal: None,
            programmed: Vec::new(),
            from_sa: None,
            devices: None,
            multicast: None,
            proven: None,
            last_group_proof: LastProof::default(),
        })
    }

    fn routes(
        &self,
        sources: &Sources,
        topology: &Topology,
        read: BTreeMap<SwitchIx, Tables>,
    ) -> Result<Routes, Problem> {
        let mut lfts = vec![Vec::new(); topology.switches.len()];
        let mut given = GivenSl2Vl::default();
        for (switch, tables) in read {
            if let Some(place) = lfts.get_mut(switch.index()) {
                *place = tables.lft;
            }
            let own = tables.sl2vl.into_iter();
            given
                .switches
                .extend(own.map(|(input, output, table)| (switch, input, output, table)));
        }
        let ends = (0..).map(EndPortIx).zip(&self.head.end_ports);
        let ends = ends.filter_map(|(end, number)| Some((end, self.sl2vl(*number)?)));
        given.end_ports.extend(ends);
        let routed = match self.head.text.torus {
            true => files::route_on_torus(topology, &lfts, &given, place(sources, topology)?),
            false => files::route(topology, &lfts, &given),
        };
        routed.map_err(|_| Problem::Damaged("tables name ports that are not there"))
    }

    /// Errors: the tables are of another fabric than the files.
    fn check_fits(&self, topology: &Topology) -> Result<(), Problem> {
        let head = &self.head;
        let same_switches = head.switches.len() == topology.switches.len()
            && head
                .switches
                .iter()
                .zip(&topology.switches)
                .all(|(place, switch)| place.ports == switch.ports.len());
        let fits = same_switches
            && head.stride == usize::from(topology.max_lid()) + 1
            && head.end_ports.len() == topology.end_ports.len();
        match fits {
            true => Ok(()),
            false => Err(Problem::Damaged(
                "its files and its tables are of two fabrics",
            )),
        }
    }

    /// Tables of the switches on the ways to all LIDs of the destination, as far as these lead.
    fn on_the_way(
        &self,
        topology: &Topology,
        (source, destination): (usize, usize),
    ) -> Result<BTreeMap<SwitchIx, Tables>, Problem> {
        let mut read = BTreeMap::new();
        let (Some(from), Some(to)) = (
            topology.end_ports.get(source),
            topology.end_ports.get(destination),
        ) else {
            return Ok(read);
        };
        for lid in to.lids() {
            let mut next = from.attached.map(|(switch, _)| switch);
            for _ in 0..MOST_SWITCHES {
                let Some(at) = next else {
                    break;
                };
                let tables = match read.entry(at) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(place) => place.insert(self.tables(at)?),
                };
                let output = tables.lft.get(lid.index()).copied();
                let output = output.filter(|port| *port != NO_PATH);
                next = output.and_then(|port| behind(topology, at, port));
            }
        }
        Ok(read)
    }
}

/// The switch at the other end of a cable.
fn behind(topology: &Topology, switch: SwitchIx, port: u8) -> Option<SwitchIx> {
    match topology.peer(switch, port) {
        Peer::Switch { switch, .. } => Some(switch),
        _ => None,
    }
}

/// Where the switches are in their torus. Errors: the configuration that was kept does not say.
fn place(sources: &Sources, topology: &Topology) -> Result<Torus, Problem> {
    let nowhere = Problem::Damaged("the configuration of the torus");
    let Some(config) = sources.routing.torus_conf() else {
        return Err(nowhere);
    };
    let placed = match sources.routing.engine {
        EngineKind::TorusProved => torus_proved::place(topology, config),
        _ => torus::place(topology, config),
    };
    placed.map(|(torus, _)| torus).map_err(|_| nowhere)
}
