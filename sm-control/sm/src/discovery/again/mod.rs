//! Reading again what may have changed of a subnet that is known.
//!
//! ```text
//!  Scope::Light   every switch: SwitchInfo ──(PortStateChange)──┐
//!  Scope::Told    SwitchInfo of those that told ────────────────┴──> PortInfo of all their ports
//!
//!  PortInfo says ──┬─ Down: the link is parted; the far end is looked at, by a way around
//!                  ├─ Init, or up where it was down: who is there? NodeInfo through it, then PortInfo of the far end
//!                  └─ Active, as before: nothing more
//! ```
//!
//! **Ways.** A switch is asked when those on the way to it are known to be as they were, and those that were not have been read: so a way over a
//! link that is down is replaced by one around it before anything is lost on it. A switch that told of a change is asked after
//! the near end of the last hop to it: that may be the very link.
//!
//! **Mute is not gone.** What does not answer is asked once more by another way, and keeps its place while links lead to it. It is
//! asked again by each light sweep, once, and what it told before counts.
//!
//! Files: `begin`, who is asked first; `turns`, in which order; `links`, what answers say of links; `silence`, who does not answer.
//!
//! **What ends it.** A switch is looked at once as one that told and once as the far end of a link that changed; a link is asked through once
//! from each end, and once more where its far end claims to be elsewhere. No answer can make it more.
//!
//! When it is over ([`Again::end`]) nodes that no link leads to are left out, and tables of nodes that may have forgotten them.

mod begin;
mod links;
mod silence;
mod turns;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sa_fabric::{NodeIx, PortRef};

use super::believed::Believed;
use super::scope::Scope;
use super::{Discovery, Options, Question};
use crate::model::{Finding, Node, Parents, Route, Subnet};

/// How far it is.
///
/// Exists for sweeps that go on from what is known; a whole sweep has none.
#[derive(Debug)]
pub(super) struct Again {
    /// Switches that are to be asked.
    due: BTreeSet<NodeIx>,
    /// Of these, and of those that are being asked: those whose ports are to be read, whatever PortStateChange says.
    of_ports: BTreeSet<NodeIx>,
    /// Those of which the near end of the last hop was asked.
    is_approached: BTreeSet<NodeIx>,
    /// Switches that wait for one on the way to them.
    behind: BTreeMap<NodeIx, Vec<NodeIx>>,
    /// Those that no way leads to now.
    cut_off: Vec<NodeIx>,
    /// Those whose turn it is to be looked at; whether they can be asked is found then.
    ready: VecDeque<NodeIx>,
    /// Questions about a node without an outcome.
    open: BTreeMap<NodeIx, usize>,
    /// By node, the port before it on its way from the SM: as links were when they were found last.
    ways: Parents,
    /// Links went or came.
    has_other_links: bool,
    /// PortInfo that was asked for. What is in it is not asked for again, but for ports whose node was cut off meanwhile.
    read: BTreeSet<PortRef>,
    /// By an end that is asked through: it is taken out when somebody has answered, or nobody will.
    /// Links that were down meanwhile, so that anybody may be at their far ends.
    doubted: BTreeSet<PortRef>,
    /// By a link of before: ports behind which its far end claims to be.
    claims: BTreeMap<PortRef, Vec<PortRef>>,
    /// Ports behind which was asked because their links were down meanwhile.
    judged: BTreeSet<PortRef>,
    /// Nodes of which all of PortInfo that matters is read anew: of switches all ports, of CAs and routers those that were asked.
    /// They are looked at once in a sweep.
    touched: BTreeSet<NodeIx>,
    /// They tell another LinearFDBTop or LID than they acknowledged: they were off, or somebody else has written to them.
    others: BTreeSet<NodeIx>,
    /// Asked by another way.
    tried: BTreeSet<NodeIx>,
    /// Due, and another way leads there than when the sweep began: who is at its end is asked first.
    rerouted: BTreeSet<NodeIx>,
    /// Something is not as it was.
    has_changed: bool,
    /// A device says of itself what it cannot have become: the subnet has to be found anew.
    pub(in crate::discovery) is_in_doubt: bool,
    /// What was found wrong in the sweep before, to see whether anything came or went.
    wrong_before: BTreeSet<Finding>,
}

impl Discovery {
    /// Begins with a subnet that is known. With none, and for [`Scope::Whole`] and [`Scope::Anew`], all is found anew.
    pub fn going_on(options: Options, mut subnet: Subnet, scope: &Scope) -> Self {
        let is_whole = matches!(scope, Scope::Whole | Scope::Anew);
        let Some(sm) = subnet.sm().filter(|_| !is_whole) else {
            return Self::new(options);
        };
        subnet.begin();
        subnet.fix_key(options.keys.fixed());
        let again = Again {
            due: BTreeSet::new(),
            of_ports: BTreeSet::new(),
            is_approached: BTreeSet::new(),
            behind: BTreeMap::new(),
            cut_off: Vec::new(),
            ready: VecDeque::new(),
            open: BTreeMap::new(),
            ways: subnet.find_ways(),
            has_other_links: false,
            read: BTreeSet::new(),
            doubted: BTreeSet::new(),
            claims: BTreeMap::new(),
            judged: BTreeSet::new(),
            touched: BTreeSet::new(),
            others: BTreeSet::new(),
            tried: BTreeSet::new(),
            rerouted: BTreeSet::new(),
            has_changed: false,
            is_in_doubt: false,
            wrong_before: subnet.found_wrong().clone(),
        };
        let mut discovery = Self {
            common_keys: options.keys.common(),
            lately: None,
            options,
            subnet,
            questions: VecDeque::new(),
            believed: Believed::default(),
            again: Some(Box::new(again)),
        };
        // Without its own port the SM reaches nobody; and who answers there says who this SM is.
        discovery.ask(Question::Node {
            from: None,
            route: Route::default(),
        });
        discovery.look_at_port(sm);
        match scope {
            Scope::Told(told) => {
                if !discovery.begin_told(told) {
                    discovery.begin_light();
                }
            }
            Scope::Light(told) => {
                discovery.begin_told(told);
                discovery.begin_light();
            }
            Scope::Whole | Scope::Anew => {}
        }
        discovery
    }

    /// A link that may lead elsewhere now.
    ///
    /// Its far end of before is believed again when somebody has answered from there.
    pub(in crate::discovery) fn is_doubted(&self, at: PortRef) -> bool {
        self.again
            .as_ref()
            .is_some_and(|it| it.doubted.contains(&at))
    }

    /// A device at a place that was known says something of itself that does not change while it runs.
    pub(in crate::discovery) fn doubt(&mut self) {
        if let Some(again) = &mut self.again {
            again.is_in_doubt = true;
        }
    }

    /// Nothing for a whole sweep, which is new anyway.
    pub(in crate::discovery) fn changed(&mut self, has_changed: bool) {
        if let Some(again) = &mut self.again {
            again.has_changed |= has_changed;
        }
    }

    /// What a node acknowledged is not what it tells: whether it holds its tables is not known.
    pub(in crate::discovery) fn other_than(&mut self, node: NodeIx, is_other: bool) {
        if let Some(again) = self.again.as_mut().filter(|_| is_other) {
            again.others.insert(node);
        }
    }
}

impl Again {
    /// The subnet as it is now.
    ///
    /// Order matters: ways, then tables that may be forgotten, then nodes that no link leads to.
    pub(in crate::discovery) fn end(mut self, mut subnet: Subnet) -> Subnet {
        if self.has_other_links {
            self.ways = subnet.find_ways();
        }
        for at in self.touched.union(&self.others) {
            if let Some(node) = subnet
                .node_mut(*at)
                .filter(|it| self.others.contains(at) || it.may_have_forgotten())
            {
                // Keys of ports that came up were read just now, those of others are asked for when these come up.
                node.tables.keep_keys();
            }
        }
        self.has_changed |= subnet.drop_unreached(&self.ways) > 0;
        // A finding that came or went is told by a plan.
        self.has_changed |= *subnet.found_wrong() != self.wrong_before;
        let keeps = !subnet.nodes().iter().any(Node::may_have_forgotten);
        subnet.set_as_left(keeps && !self.has_changed);
        subnet
    }
}
