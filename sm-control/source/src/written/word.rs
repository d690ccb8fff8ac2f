//! One SMP that came back to an SM, and what it says.
//!
//! Source: IBA vol. 1, 14.2.1 (layout of SMPs), 14.2.5 (attributes and their modifiers).

use sa_wire::mad::method;
pub(super) use sa_wire::smp::attribute;
use sa_wire::smp::{MGMT_CLASS_DIRECTED, Smp};

/// An SMP as the SM read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// 0 for what a node sent; else an errno: the SM's own request is handed back, as nobody has
    /// answered it. Data and path say nothing then.
    pub status: u32,
    /// Header of the MAD. Shape: base version, class, class version, method, status (2), hop pointer,
    /// hop count, transaction (8), attribute (2), reserved (2), modifier (4), big-endian.
    pub head: [u8; 24],
    /// The attribute, filled up with zeros.
    pub data: [u8; 64],
    /// Output ports of the directed route; the first byte is not used.
    pub path: [u8; 64],
}

use attribute::{
    GUID_INFO, LINEAR_TABLE, NODE_DESCRIPTION, NODE_INFO, PKEY_TABLE, PORT_INFO, SL_TO_VL,
    SWITCH_INFO,
};

/// What a word comes to.
pub(super) enum Answer<'a> {
    /// A node says what it holds, asked or set.
    Given(Given<'a>),
    /// It says that it will not.
    Refused,
    /// Nobody has answered a Set.
    SetUnanswered,
    /// Nobody has answered a question by which an SM learns a fabric.
    GetUnanswered,
    /// Nothing that is held here.
    NoneOfThese,
}

/// An answer, and the route that its request took.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given<'a> {
    /// Output ports, from the SM's node on.
    pub(super) route: &'a [u8],
    pub(super) told: Told,
}

/// What a node holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) attribute: u16,
    pub(super) modifier: u32,
    /// Of the request; an SM counts them up.
    pub(super) transaction: u32,
    pub(super) data: [u8; 64],
}

/// A NodeInfo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NodeInfo {
    /// As in a NodeRecord behind its LID.
    pub(super) bytes: [u8; 40],
    /// The port by which it was asked.
    pub(super) local_port: u8,
}

/// A word whose node is known.
#[derive(Debug, Clone)]
pub(super) enum Event {
    /// A NodeInfo, and the port of the node before that leads there; none at the SM's own node.
    Found {
        node: u64,
        info: NodeInfo,
        from: Option<(u64, u8)>,
    },
    /// Anything else, by the port that the node was asked through.
    Told { node: u64, port: u8, told: Told },
}

impl Word {
    /// What it says.
    pub(super) fn answer(&self) -> Answer<'_> {
        let told = self.told();
        if self.status != 0 {
            return self.unanswered(told.attribute);
        }
        let [_, class, _, method, status_high, status_low, _, hops, ..] = self.head;
        if class != MGMT_CLASS_DIRECTED || method != method::GET_RESP || !is_held(told.attribute) {
            return Answer::NoneOfThese;
        }
        if u16::from_be_bytes([status_high, status_low]) & !Smp::RETURNING != 0 {
            return Answer::Refused;
        }
        match self.path.get(1..=usize::from(hops)) {
            Some(route) => Answer::Given(Given { route, told }),
            // More hops than a route has room for.
            None => Answer::NoneOfThese,
        }
    }

    fn unanswered(&self, attribute: u16) -> Answer<'_> {
        let [_, class, _, method, ..] = self.head;
        let learns = [NODE_INFO, SWITCH_INFO, PORT_INFO, PKEY_TABLE].contains(&attribute);
        match method {
            method::SET if is_held(attribute) => Answer::SetUnanswered,
            method::GET if learns && class == MGMT_CLASS_DIRECTED => Answer::GetUnanswered,
            _ => Answer::NoneOfThese,
        }
    }

    fn told(&self) -> Told {
        let word = |at: usize| {
            let bytes = self.head.get(at..).and_then(<[u8]>::first_chunk);
            bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes))
        };
        let [attribute, ..] = [word(16).to_be_bytes()].map(|it| u16::from_be_bytes([it[0], it[1]]));
        Told {
            attribute,
            modifier: word(20),
            transaction: word(12),
            data: self.data,
        }
    }
}

impl Told {
    /// The NodeInfo that it is, and the GUID of the node.
    pub(super) fn node_info(&self) -> (u64, NodeInfo) {
        let mut bytes = [0; 40];
        bytes.copy_from_slice(&self.data[..40]);
        let mut guid = [0; 8];
        guid.copy_from_slice(&self.data[12..20]);
        let local_port = self.data[36];
        (u64::from_be_bytes(guid), NodeInfo { bytes, local_port })
    }
}

/// Attributes of which something is held. Multicast tables and VL arbitration are in no answer that is
/// compiled from records.
fn is_held(attribute: u16) -> bool {
    [
        NODE_DESCRIPTION,
        NODE_INFO,
        SWITCH_INFO,
        GUID_INFO,
        PORT_INFO,
        PKEY_TABLE,
        SL_TO_VL,
        LINEAR_TABLE,
    ]
    .contains(&attribute)
}
