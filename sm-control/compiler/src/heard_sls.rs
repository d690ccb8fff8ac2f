//! SLs of paths as an SA was heard to give them.
//!
//! Forwarding tables of another SM do not say which SLs its routing engine gives to paths. Where it
//! chooses one for each pair (LASH, DFSSSP, Nue) they are taken from its answers: a file `psl` beside
//! the dumps, which is what ibdmchk takes, or questions to the running SA. What was not heard is not
//! known, and nobody is answered with another SL.
//!
//! A Subnet Manager of this process knows them from its plan ([`HeardSls::of_plan`]).

use std::collections::HashMap;
use std::sync::Arc;

use routing::tables::{PathSlRule, PathSlTable, sls_left, torus_left};
use routing::{Routes, Topology, Torus};
use sa_fabric::formats::psl;
use sa_snapshot::model::PathSl;
use sa_wire::{Guid, Lid, Sl, SlVlMask};

/// SLs by port GUID of the source and LID of the destination.
#[derive(Debug, Clone, Default)]
pub struct HeardSls {
    sls: HashMap<(Guid, Lid), PathSl>,
    /// Of a plan, in place of what was heard.
    planned: Option<Arc<Planned>>,
    /// Where they are from, and what that leaves open: a sentence for operators.
    pub note: String,
}

/// What a plan says of the SLs of its paths.
#[derive(Debug)]
struct Planned {
    topology: Topology,
    rule: PathSlRule,
    /// Where SLs follow from coordinates.
    torus: Option<Torus>,
}

impl HeardSls {
    /// Nothing heard yet.
    pub fn new(note: String) -> Self {
        Self {
            sls: HashMap::new(),
            planned: None,
            note,
        }
    }

    /// Those that the engine gave to the paths of a plan, of ports and LIDs that are still there. As a part of the paths that were proved together
    /// they are so themselves.
    pub fn of_plan((topology, routes): (&Topology, &Routes), note: String) -> Self {
        let planned = Planned {
            topology: topology.clone(),
            rule: routes.facts().path_sl.clone(),
            torus: routes.torus().cloned(),
        };
        Self {
            planned: Some(Arc::new(planned)),
            ..Self::new(note)
        }
    }

    /// Where switches lie whose SLs the plan has by coordinates. An engine that places them anew may have lost the switch that it begins at, or
    /// begin at another one.
    pub fn torus_of_plan(&self, topology: &Topology) -> Option<Torus> {
        let planned = self.planned.as_ref();
        let planned = planned.filter(|planned| planned.rule == PathSlRule::Datelines)?;
        let torus = planned.torus.as_ref()?;
        Some(torus_left((&planned.topology, torus), topology))
    }

    /// Notes what one answer said. A pair that was heard with two SLs has none that is known.
    pub fn hear(&mut self, source: Guid, dlid: Lid, sl: Sl) {
        let heard = PathSl::Given(sl);
        let known = self.sls.entry((source, dlid)).or_insert(heard);
        if *known != heard {
            *known = PathSl::Unknown;
        }
    }

    /// From a file `psl`, which names sources by node and destinations by base LID.
    pub fn from_psl(entries: &[psl::Entry], topology: &Topology, note: String) -> Self {
        let mut ports: HashMap<Guid, Vec<Guid>> = HashMap::new();
        for end in &topology.end_ports {
            ports.entry(end.node_guid).or_default().push(end.guid);
        }
        let ends = topology.end_ports.iter();
        let by_lid: HashMap<Lid, _> = ends.map(|end| (end.lid, end)).collect();
        let mut heard = Self::new(note);
        for entry in entries {
            // A refused pair has no SL, and one of another fabric says nothing.
            let (Ok(sl), Some(to)) = (entry.sl, by_lid.get(&entry.dlid)) else {
                continue;
            };
            for source in ports.get(&entry.source).into_iter().flatten() {
                to.lids().for_each(|lid| heard.hear(*source, lid, sl));
            }
        }
        heard
    }

    /// True where every SL that was heard is one of these.
    pub fn are_among(&self, sls: SlVlMask) -> bool {
        self.planned.is_none()
            && self.sls.values().all(|heard| match heard {
                PathSl::Given(sl) => sls.carries(*sl),
                PathSl::Policy | PathSl::Unknown => false,
            })
    }

    /// As the rule for the paths of a fabric.
    pub fn rule(&self, topology: &Topology) -> PathSlRule {
        match self.planned.as_deref() {
            // Tables without places have none by coordinates: none is known, and the policy's would be a guess that locks a torus up.
            Some(planned) if planned.rule == PathSlRule::Datelines => {}
            Some(planned) => return sls_left((&planned.topology, &planned.rule), topology),
            None => {}
        }
        let table = PathSlTable::by_pair(topology, |source, lid| {
            let source = topology.end_port(source).guid;
            let heard = self.sls.get(&(source, lid));
            heard.copied().unwrap_or(PathSl::Unknown)
        });
        PathSlRule::Table(Arc::new(table))
    }
}
