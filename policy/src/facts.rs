//! What the policy needs to know about a fabric.
//!
//! These are facts and no fabric: policies need no cables, LIDs or forwarding tables, so that a policy can be
//! checked against a list of ports alone. `sa-fabric` makes them of whatever a fabric was read from.
//!
//! The index of a port in the slice that is handed around is its name throughout this crate: in
//! [`crate::Query`], in [`crate::Partitions`], in compiled tables. Whoever calls must hand in the
//! same slice each time.
//!
//! ```text
//! description "vs1 HCA-1", port 1 of a CA      title vs1 HCA-1/P1
//! description "spine 3", port 0                title spine 3
//! ```

use std::borrow::Cow;

use sa_wire::{Guid, NodeType};

/// An end port as the policy sees it: a CA or router port, or the port 0 of a switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortFacts {
    /// The port's own GUID, which `port-guid` selects by.
    pub guid: Guid,
    /// Node GUID: the ports of one node share it.
    /// Decides which of two nodes with one description a `port-name` means.
    pub node_guid: Guid,
    /// What the node is.
    pub node_type: NodeType,
    /// NodeDescription as the node gives it: up to 64 bytes, whatever they are.
    /// Compared as [`printed_name`] prints it, never as it is.
    pub description: String,
    /// Port number on its node, 0 for a switch.
    /// Of a switch there is this one port alone; its external ports are no end ports.
    pub port_number: u8,
    /// How many ports the node has (NodeInfo.NumPorts), port 0 not counted.
    /// A `port-name` on a switch may give any of these numbers.
    pub node_ports: u8,
    /// True for the port that the SM runs on.
    /// `SELF` in groups and partitions means it.
    pub is_sm: bool,
}

impl PortFacts {
    /// Node and port, for people: `h1 HCA-1/P1`, or the node alone for a switch.
    /// Not unique: two nodes may have one description.
    pub fn title(&self) -> String {
        let name = printed_name(&self.description);
        match self.port_number {
            0 => name.into_owned(),
            number => format!("{name}/P{number}"),
        }
    }
}

/// A node's name as the SM prints it, which is what `port-name` compares: at most 63 bytes, and a
/// blank for each byte that is not printable ASCII. Source: OpenSM `cl_nodenamemap.c`.
/// Borrowed as long as nothing has to be replaced, which is nearly always.
pub fn printed_name(description: &str) -> Cow<'_, str> {
    let bytes = description.as_bytes();
    let end = bytes
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(bytes.len())
        // OpenSM's buffer holds 64 bytes with the terminating zero, and a zero in the name ends it.
        .min(63);
    let printable = |byte: &u8| (0x20..0x7f).contains(byte);
    if bytes[..end].iter().all(printable) {
        // All of it is ASCII, so this end lies between characters.
        return Cow::Borrowed(&description[..end]);
    }
    let shown = bytes[..end]
        .iter()
        .map(|b| if printable(b) { char::from(*b) } else { ' ' });
    Cow::Owned(shown.collect())
}

/// The first two words of a node's name, which the RFCs take for host and CA.
/// `vs1 HCA-1` gives `vs1` and `HCA-1`; what comes behind does not matter. None for a single word.
pub fn first_words(name: &str) -> Option<(&str, &str)> {
    let mut words = name.split_ascii_whitespace();
    Some((words.next()?, words.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_apart_by_any_number_of_blanks() {
        assert_eq!(first_words(" vs1  HCA-1 x"), Some(("vs1", "HCA-1")));
        assert_eq!(first_words("vs1"), None);
    }

    #[test]
    fn names_are_cut_and_blanked_as_printed() {
        assert_eq!(printed_name("h1 HCA-1"), "h1 HCA-1");
        assert_eq!(printed_name("a\tb\u{e9}"), "a b  ");
        assert_eq!(printed_name("a\0b"), "a");
        assert_eq!(printed_name(&"x".repeat(64)).len(), 63);
    }
}
