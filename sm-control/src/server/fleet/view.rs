//! What operators see of a host's part in its fleet, and may order.

use std::sync::Arc;

use fleet_node::following::word;
use fleet_node::leading::{Order, Orders};
use fleet_node::said::{Board, Said};
use fleet_tls::Tls;
use fleet_transfer::clocks;
use fleet_transfer::serve::Desk;
use fleet_transfer::serve::children::Child;
use sa_fleet::verdict::Verdict;
use sa_wire::SubnetPrefix;

use crate::config::FleetRole;

/// See the module.
#[derive(Debug)]
pub(in crate::server) struct FleetView {
    pub(in crate::server) role: FleetRole,
    pub(in crate::server) prefix: SubnetPrefix,
    pub(super) said: Board,
    /// None without certificates.
    pub(in crate::server) tls: Option<Tls>,
    /// Of a leader or relay.
    pub(in crate::server) desk: Option<Arc<Desk>>,
    /// Of a leader.
    pub(super) orders: Option<Orders>,
}

impl FleetView {
    /// What it says of itself now.
    pub(in crate::server) fn said(&self) -> Said {
        self.said.read()
    }

    /// A word for what it does with questions, or as a leader.
    pub(in crate::server) fn state(&self, said: &Said) -> &'static str {
        match (self.role, self.verdict(said)) {
            (FleetRole::Leader, _) if said.term.is_some() => "leads",
            (FleetRole::Leader, _) => "candidate",
            (_, Some(verdict)) => word(verdict),
            (_, None) => "unannounced",
        }
    }

    /// Why nobody is answered from what is in service; none where somebody is, and for a leader.
    pub(in crate::server) fn silent(&self) -> Option<String> {
        let said = self.said.read();
        let verdict = self.verdict(&said)?;
        let Verdict::Stop(reason) = verdict else {
            return None;
        };
        Some(format!("fleet: {}", reason.name()))
    }

    /// As of now: what was written when the machine was called last may be over.
    fn verdict(&self, said: &Said) -> Option<Verdict> {
        let verdict = said.verdict.filter(|_| self.role != FleetRole::Leader)?;
        let is_over = matches!(verdict, Verdict::Answer(until) if until <= clocks::now());
        Some(match is_over {
            true => Verdict::Stop(sa_fleet::verdict::Reason::StaleLease),
            false => verdict,
        })
    }

    /// For how long what is known is good without another word. Units: ms; none where nothing is.
    pub(in crate::server) fn fresh_ms(&self, said: &Said) -> Option<u64> {
        let until = match (self.role, self.verdict(said)) {
            (FleetRole::Leader, _) => said.until?,
            (_, Some(Verdict::Answer(until))) => until,
            _ => return None,
        };
        u64::try_from(until.since(clocks::now()).as_millis()).ok()
    }

    /// Hosts that ask here, by name.
    pub(in crate::server) fn children(&self) -> Vec<(String, Child)> {
        let desk = self.desk.as_ref();
        desk.map_or_else(Vec::new, |desk| desk.children.of(self.prefix.0))
    }

    /// Whether a host that asks here answers from what is announced here.
    pub(in crate::server) fn is_fresh(said: &Said, child: &Child) -> bool {
        child.blob == said.blob && child.state == "fresh"
    }

    /// A person's word to a leader. None: this host is none. False: it is busy.
    pub(in crate::server) fn order(&self, order: Order) -> Option<bool> {
        self.orders.as_ref().map(|orders| orders.give(order))
    }
}
