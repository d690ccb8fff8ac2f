//! What an SM has learnt of its fabric and written to it, put together from the SMPs that came back
//! to it.
//!
//! An SA tells nobody what changed, so whoever asks one reads everything again, and at 4,000 switches
//! that costs the SM minutes. But all that it knows came to it by SMPs: NodeInfo shows nodes and cables,
//! PortInfo and SwitchInfo what they are set to, and the responses to its Sets say what forwarding
//! tables, SL2VL tables and P_Key tables hold from then on. OpenSM itself takes its tables from these
//! responses, so whoever hears them all knows what its SA would tell, and asks for nothing.
//!
//! ```text
//!  SMP heard ──> word: what, by which route     Routes: which node is behind it     Node: what it holds
//!                      │ Event                          (from NodeInfo)                  │
//!                      └────────────────────────────────────────────────────────────────>│
//!  read from the SA once ──> adopt ─────────────────────────────────────────────────────>│ records ──> SaFabric
//! ```
//!
//! Nothing is believed that was not seen. After a lost word, a node that did not answer the SM, a route
//! that leads to an unknown node, the whole is in doubt ([`Standing::Behind`]) until it is read from the
//! SA again. What single nodes lack (a switch that is new and has not been written whole) is named by
//! [`Written::missing`] and read alone.
//!
//! Values in, values out: no clock, no socket, no SA. It does not judge whether what it holds is a whole
//! fabric; `SaFabric::from_records` does, as for a reading.

mod after;
mod counts;
mod kinds;
mod node;
mod records;
mod routes;
pub mod sweep;
mod word;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sa_fabric::sa_records::Records;
use sa_wire::records::{LinearForwardingTableRecord, PKeyTableRecord, SlToVlRecord};

use self::after::Others;
use self::kinds::{NodeGuid, Read};
use self::node::{Effect, Node};
use self::routes::Routes;
use self::word::{Answer, Event};

pub use self::counts::{Counts, Standing};
pub use self::kinds::Missing;
pub use self::word::Word;

/// Events kept while the SA is read; more than a heavy sweep of 4,000 switches has.
const MOST_PENDING: usize = 1 << 20;

/// The fabric of one SM, as its SMPs show it.
#[derive(Debug, Default)]
pub struct Written {
    nodes: BTreeMap<NodeGuid, Node>,
    routes: Routes,
    /// The node that the SM is on.
    sm: Option<NodeGuid>,
    /// What was read from the SA and comes by no SMP.
    read: Read,
    standing: Standing,
    /// Heard while the SA is read.
    pending: Vec<Event>,
    counts: Counts,
    /// Raised by everything that changes a value.
    version: u64,
    /// What changed since records were put together.
    others: Others,
    /// How often they were.
    made: u64,
}

impl Written {
    /// Nothing is known, and the SA is to be read.
    pub fn new() -> Self {
        Self::default()
    }

    /// The connection by which words come is a new one: what came between the two was not heard.
    pub fn begin(&mut self) {
        self.routes = Routes::default();
        self.counts.lost = 0;
        self.doubt("what the SM did before was not heard");
    }

    /// What is held does not count any more, for this reason.
    pub fn doubt(&mut self, why: &'static str) {
        self.standing = Standing::Behind(why);
        self.pending = Vec::new();
    }

    /// Takes words in the order in which the SM read them; `lost` of all words of this connection
    /// found no room on their way. True where something is other than before, or in doubt now.
    pub fn hear(&mut self, words: &[Word], lost: u64) -> bool {
        let before = (self.version, self.standing.clone());
        if lost > self.counts.lost {
            self.counts.lost = lost;
            self.doubt("words of the SM were lost");
        }
        for word in words {
            self.counts.words += 1;
            self.hear_one(word);
        }
        before != (self.version, self.standing.clone())
    }

    fn hear_one(&mut self, word: &Word) {
        let answer = match word.answer() {
            Answer::Given(answer) => answer,
            Answer::Refused => {
                self.counts.refused += 1;
                return;
            }
            Answer::SetUnanswered => {
                self.counts.unanswered += 1;
                return;
            }
            Answer::GetUnanswered => return self.unsure("a node did not answer the SM"),
            Answer::NoneOfThese => return,
        };
        // Routes first, whatever the standing: words that follow are placed by them.
        let Some(event) = self.routes.place(answer) else {
            return self.unsure("the SM has asked a node that it was not heard to find");
        };
        match self.standing {
            Standing::Whole => self.apply(&event),
            Standing::Reading if self.pending.len() < MOST_PENDING => self.pending.push(event),
            Standing::Reading => self.doubt("the SM did too much while its SA was read"),
            Standing::Behind(_) => {}
        }
    }

    /// What is held is not all, or not right.
    fn unsure(&mut self, why: &'static str) {
        if !matches!(self.standing, Standing::Behind(_)) {
            self.doubt(why);
        }
    }

    fn apply(&mut self, event: &Event) {
        let effect = match event {
            Event::Found { node, info, from } => self.found(*node, info, *from),
            Event::Told { node, port, told } => match self.nodes.get_mut(node) {
                Some(node) => node.take(*port, told),
                None => Effect::Unknown,
            },
        };
        match effect {
            Effect::None => {}
            Effect::Changed => {
                self.version += 1;
                self.note(event);
            }
            Effect::Unknown => self.doubt("the SM has set what was not heard to be there"),
        }
    }
}

impl Written {
    /// Notes which records an event changed; forwarding tables are looked at anyway.
    fn note(&mut self, event: &Event) {
        let node = match event {
            Event::Found { node, .. } => *node,
            Event::Told { told, .. } if told.attribute == word::attribute::LINEAR_TABLE => return,
            Event::Told { node, .. } => *node,
        };
        self.others.nodes.insert(node);
    }

    /// The SA is about to be read. What is heard from now on is applied to what it tells.
    pub fn begin_reading(&mut self) {
        self.pending = Vec::new();
        self.standing = Standing::Reading;
    }

    /// The SA was read. `sl2vl`: with SL2VL tables. Doubts that came meanwhile stay.
    pub fn adopt(&mut self, records: &Records, sl2vl: bool) {
        if self.standing != Standing::Reading {
            return;
        }
        let pending = core::mem::take(&mut self.pending);
        self.read = Read {
            qos: records.qos,
            sl2vl,
            pkeys: records.pkeys.is_some(),
        };
        let at = self.routes.beginning();
        (self.nodes, self.sm) = records::nodes_of(records);
        self.sm = at.or(self.sm);
        self.version += 1;
        self.others.is_all = true;
        self.standing = Standing::Whole;
        for event in pending {
            self.apply(&event);
            if self.standing != Standing::Whole {
                return;
            }
        }
    }

    /// All of it as the SA would tell it now. None while it is in doubt. Nodes that no cable leads
    /// to from the SM are forgotten, as the SM forgets them.
    pub fn records(&mut self) -> Option<Records> {
        let sm = self.sm.filter(|_| self.standing == Standing::Whole)?;
        self.others = Others::default();
        self.made += 1;
        records::forget_unreachable(&mut self.nodes, sm);
        self.nodes.values_mut().for_each(Node::settle_lft);
        Some(records::records_of(&self.nodes, self.read))
    }

    /// The same, where `before` was given when [`Self::made`] was `made`: what did not change since is copied.
    /// Where somebody has asked for records after that, all are put together: what changed is known since the
    /// last time alone.
    pub fn records_after(&mut self, before: &Records, made: u64) -> Option<Records> {
        let sm = self.sm.filter(|_| self.standing == Standing::Whole)?;
        if made != self.made {
            return self.records();
        }
        let others = core::mem::take(&mut self.others);
        self.nodes.values_mut().for_each(Node::settle_lft);
        let quick = after::records_after(before, &self.nodes, &others, sm, self.read);
        let Some(records) = quick else {
            return self.records();
        };
        self.made += 1;
        self.counts.mended += 1;
        Some(records)
    }

    /// What is to be read from the SA before [`Self::records`] is whole. Empty most of the time.
    pub fn missing(&self) -> Vec<Missing> {
        // What is in doubt is read whole.
        if self.standing != Standing::Whole {
            return Vec::new();
        }
        let of = |node: &Node| node.missing(self.read);
        self.nodes.values().flat_map(of).collect()
    }

    /// The forwarding table of the switch with this LID, read from the SA.
    pub fn fill_lft(&mut self, lid: u16, blocks: &[LinearForwardingTableRecord]) {
        if let Some(node) = self.by_lid(lid) {
            node.fill_lft(blocks);
            self.version += 1;
        }
    }

    /// SL2VL tables of the node with this LID, read from the SA.
    pub fn fill_sl2vl(&mut self, lid: u16, tables: &[SlToVlRecord]) {
        if let Some(node) = self.by_lid(lid) {
            tables.iter().for_each(|table| node.fill_sl2vl(table));
            self.version += 1;
            self.others.is_all = true;
        }
    }

    /// P_Key tables of the end port with this LID, read from the SA.
    pub fn fill_pkeys(&mut self, lid: u16, tables: &[PKeyTableRecord]) {
        if let Some(node) = self.by_lid(lid) {
            tables.iter().for_each(|table| node.fill_pkeys(table));
            self.version += 1;
            self.others.is_all = true;
        }
    }

    /// Whether the switch with this LID holds what the SA has just told of it. True for a LID that no
    /// switch has: it may have gone.
    pub fn agrees(&self, lid: u16, blocks: &[LinearForwardingTableRecord]) -> bool {
        let mut nodes = self.nodes.values();
        let node = nodes.find(|node| node.has_lid(lid));
        node.is_none_or(|node| node.lft().is_none_or(|own| own == blocks))
    }

    /// LIDs of all switches, ascending.
    pub fn switches(&self) -> Vec<u16> {
        let of = |node: &Node| node.is_switch().then(|| node.lid(0)).flatten();
        let mut lids: Vec<u16> = self.nodes.values().filter_map(of).collect();
        lids.sort_unstable();
        lids
    }

    /// Whether it can stand for a reading.
    pub const fn standing(&self) -> &Standing {
        &self.standing
    }

    /// What was heard so far.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Counts something that whoever reads has done.
    pub fn counted(&mut self, what: impl FnOnce(&mut Counts)) {
        what(&mut self.counts);
    }

    /// Another number is another state of it.
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// How often records were put together: the number that names those given last.
    pub const fn made(&self) -> u64 {
        self.made
    }

    fn by_lid(&mut self, lid: u16) -> Option<&mut Node> {
        self.nodes.values_mut().find(|node| node.has_lid(lid))
    }

    /// The SM has found a node, by a cable from another or, the first of all, its own.
    fn found(
        &mut self,
        guid: NodeGuid,
        info: &word::NodeInfo,
        from: Option<(NodeGuid, u8)>,
    ) -> Effect {
        let node = self.nodes.entry(guid).or_default();
        let mut effect = node.found(info);
        let Some((parent, port)) = from else {
            self.sm = Some(guid);
            return effect;
        };
        let (near, far) = ((parent, port), (guid, info.local_port));
        // Asked of both ends: one may have been forgotten meanwhile.
        if self.peer(near.0, near.1) != Some(far) || self.peer(far.0, far.1) != Some(near) {
            self.connect(near, far);
            effect = Effect::Changed;
        }
        effect
    }

    fn peer(&self, node: NodeGuid, port: u8) -> Option<(NodeGuid, u8)> {
        self.nodes.get(&node)?.peers.get(&port).copied()
    }

    /// A cable. What either end was connected to before is not any more.
    fn connect(&mut self, one: (NodeGuid, u8), other: (NodeGuid, u8)) {
        for (at, to) in [(one, other), (other, one)] {
            self.others.nodes.insert(at.0);
            if let Some((node, port)) = self.peer(at.0, at.1)
                && let Some(far) = self.nodes.get_mut(&node)
            {
                self.others.nodes.insert(node);
                far.peers.remove(&port);
            }
            self.nodes.entry(at.0).or_default().peers.insert(at.1, to);
        }
    }
}

/// Who holds it does nothing that could panic; if somebody did, all of it is read again.
pub(super) fn lock(written: &Mutex<Written>) -> MutexGuard<'_, Written> {
    written.lock().unwrap_or_else(PoisonError::into_inner)
}
