//! Words that the parts have in common.

/// GUID of a node.
pub(super) type NodeGuid = u64;

/// What the last reading of the SA was of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Read {
    /// The SM says that it uses QoS.
    pub(super) qos: bool,
    /// SL2VL tables were asked for.
    pub(super) sl2vl: bool,
    /// The SA showed P_Key tables.
    pub(super) pkeys: bool,
}

/// What a node holds that was not heard, by the LID that its records go by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// The forwarding table of a switch.
    Lft(u16),
    /// SL2VL tables of an end port's node.
    SlToVl(u16),
    /// P_Key tables of an end port; of a switch its port 0.
    PKeys(u16),
}

impl Missing {
    /// Of whom.
    pub const fn lid(self) -> u16 {
        match self {
            Self::Lft(lid) | Self::SlToVl(lid) | Self::PKeys(lid) => lid,
        }
    }
}
