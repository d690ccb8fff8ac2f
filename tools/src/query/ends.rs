//! Ends of paths by name: the SA is asked who is called so.
//!
//! A PathRecord request names ports by LIDs and GIDs, and an operator knows hosts by their names.
//! What may be written is what `sapphire explain` takes; here it is looked up in the NodeRecords of
//! the SA that is asked for the path.
//!
//! ```text
//! "node7"       NodeDescription = node7            one port: it is that one; several: say which, as node7:2
//! "node7:2"     and LocalPortNum = 2
//! "0x100031"    PortGUID, else NodeGUID
//! "9"           the port with that LID
//!               none: all NodeRecords, for the names that are nearest
//! the port ──> PortInfoRecord: GidPrefix ──> its GID
//! ```
//!
//! Names come first, as there: a node may be called 9. Only what may be meant is asked for, since
//! tables of large subnets are megabytes; all of them only where nothing was found.

use sa_fabric::LookupError;
use sa_wire::mad::{Status, method};
use sa_wire::records::{Layout, NodeRecord, PortInfoRecord};
use sa_wire::sa::SaMad;
use sa_wire::{Gid, Guid, SubnetPrefix, request};
use zerocopy::FromBytes;

use super::client::Way;
use super::near::nearest;
use super::{number, record};
use crate::failure::{Failure, Outcome};

/// Bytes of a NodeDescription.
const LONGEST: usize = 64;

/// A port that the SA knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Port {
    pub(super) lid: u16,
    guid: Guid,
    number: u8,
}

/// An SA, asked with a key or without.
#[derive(Clone, Copy)]
pub(super) struct Ends<'a> {
    pub(super) way: &'a Way,
    pub(super) sa_key: u64,
}

/// A component, and its bytes as they lie in the record.
type Component<'a> = (&'static str, &'a [u8]);

impl Ends<'_> {
    /// The port that `text` names. `option` is where it was written, for errors.
    ///
    /// Errors: nobody is called so; several are; nobody answers.
    pub(super) fn port(&self, option: &str, text: &str) -> Outcome<Port> {
        for components in readings(text) {
            let components: Vec<Component<'_>> = components
                .iter()
                .map(|(name, bytes)| (*name, bytes.as_slice()))
                .collect();
            let nodes: Vec<NodeRecord> = self.table(&Layout::NODE, &components)?;
            let found = only(text, &nodes);
            let found =
                found.map_err(|why| Failure::failed(format!("{option} {text:?}: {why}")))?;
            if let Some(port) = found {
                return Ok(port);
            }
        }
        Err(self.unknown(option, text)?)
    }

    /// Its GID in the subnet of the SA. Errors: nobody answers.
    pub(super) fn gid(&self, port: &Port) -> Outcome<Gid> {
        let (lid, number) = (port.lid.to_be_bytes(), [port.number]);
        let components = [("lid", &lid[..]), ("port_num", &number[..])];
        let ports: Vec<PortInfoRecord> = self.table(&Layout::PORT_INFO, &components)?;
        // Zero stands for the default, as in a subnet whose SM sets no prefix.
        let prefix = ports.first().map_or(0, |port| port.gid_prefix.get());
        let prefix = match prefix {
            0 => SubnetPrefix::LINK_LOCAL,
            prefix => SubnetPrefix(prefix),
        };
        Ok(Gid::unicast(prefix, port.guid))
    }

    /// Records with these components. Errors: nobody answers; the SA refuses.
    fn table<T: FromBytes>(
        &self,
        layout: &Layout,
        components: &[Component<'_>],
    ) -> Outcome<Vec<T>> {
        let mut slot = request::request(0, method::GET_TABLE, layout.attribute, 0, &[]);
        let mad = SaMad::from_bytes_mut(&mut slot.mad);
        mad.sa.sm_key = self.sa_key.into();
        let mut mask = 0;
        for (name, bytes) in components {
            // Names above are those of the layouts; a test goes through them.
            let Some(field) = layout.field(name) else {
                return Err(Failure::failed(format!("no component {name}")));
            };
            mask |= field.mask();
            record::put(field, &mut mad.data, bytes);
        }
        mad.sa.component_mask = mask.into();
        let reply = self.way.ask(&slot)?;
        let parsed = record::parse(layout, &reply);
        let (status, records) =
            parsed.ok_or_else(|| Failure::failed("the reply is shorter than its headers"))?;
        if !matches!(status, Status::OK | Status::NO_RECORDS) {
            let what = layout.attribute;
            return Err(Failure::failed(format!(
                "the SA refuses a request for {what}s, by which names are looked up: status {status}"
            )));
        }
        let records = records.iter().map(|record| T::read_from_prefix(record));
        Ok(records.filter_map(|it| Some(it.ok()?.0)).collect())
    }

    /// Nobody is called so, and who is called nearly so. Errors: nobody answers.
    fn unknown(&self, option: &str, text: &str) -> Outcome<Failure> {
        let nodes: Vec<NodeRecord> = self.table(&Layout::NODE, &[])?;
        let names: Vec<String> = nodes.iter().map(name).collect();
        let near = nearest(text, names.iter().map(String::as_str));
        let near = match near.as_slice() {
            [] => String::new(),
            near => format!("; near it are {}", near.join(", ")),
        };
        Ok(Failure::failed(format!(
            "{option} {text:?}: no node of the subnet is called so{near} (give a node name, NAME:PORT, 0xGUID or a LID; \
             `sapphire query nr` has all)"
        )))
    }
}

/// What a word may mean, in this order. Shape: components of a NodeRecord, as bytes.
fn readings(text: &str) -> Vec<Vec<(&'static str, Vec<u8>)>> {
    let mut all = Vec::new();
    let mut named = |name: &str, port: Option<u8>| {
        // Cut off it would be the name of another node.
        if !name.is_empty() && name.len() <= LONGEST {
            let mut components = vec![("node_description", name.as_bytes().to_vec())];
            components.extend(port.map(|port| ("local_port_num", vec![port])));
            all.push(components);
        }
    };
    named(text, None);
    // The last colon parts the port: names may have colons, too.
    if let Some((name, port)) = text.rsplit_once(':')
        && let Ok(port) = port.parse()
    {
        named(name, Some(port));
    }
    if text.starts_with("0x")
        && let Ok(guid) = number::<u64>(text)
    {
        let guid = guid.to_be_bytes().to_vec();
        all.push(vec![("port_guid", guid.clone())]);
        all.push(vec![("node_guid", guid)]);
    } else if let Ok(lid) = text.parse::<u16>()
        && lid != 0
    {
        all.push(vec![("lid", lid.to_be_bytes().to_vec())]);
    }
    all
}

/// The one port of these records; none where there are none. Errors: several nodes; several ports
/// of one.
fn only(text: &str, nodes: &[NodeRecord]) -> Result<Option<Port>, LookupError> {
    let mut ports: Vec<(u64, Port)> = nodes
        .iter()
        .filter_map(|node| Some((node.node_guid.get(), port(node)?)))
        .collect();
    ports.sort_by_key(|(node, port)| (*node, port.number));
    ports.dedup_by_key(|(_, port)| port.guid);
    let (first, others) = match ports.as_slice() {
        [] => return Ok(None),
        [(_, only)] => return Ok(Some(*only)),
        [(first, _), others @ ..] => (first, others),
    };
    if others.iter().all(|(node, _)| node == first) {
        let ports = ports.iter().map(|(_, port)| port.number).collect();
        let node = nodes.first().map_or_else(|| text.to_owned(), name);
        return Err(LookupError::SeveralPorts { node, ports });
    }
    let mut guids: Vec<Guid> = ports
        .iter()
        .filter_map(|(node, _)| Guid::new(*node).ok())
        .collect();
    guids.dedup();
    let name = text.to_owned();
    Err(LookupError::Ambiguous { name, guids })
}

/// None for a record without a port GUID or a LID, which no path leads to.
fn port(node: &NodeRecord) -> Option<Port> {
    let lid = node.lid.get();
    let number = node.port_and_vendor.get().to_be_bytes()[0];
    let guid = Guid::new(node.port_guid.get()).ok()?;
    (lid != 0).then_some(Port { lid, guid, number })
}

/// NodeDescription, which need not be text.
fn name(node: &NodeRecord) -> String {
    let bytes = node.description.split(|byte| *byte == 0).next();
    String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

    use super::*;

    fn record(node: u64, port: u8, lid: u16) -> NodeRecord {
        let mut record = NodeRecord::read_from_bytes(&[0; 112]).unwrap();
        record.lid = lid.into();
        record.node_guid = node.into();
        record.port_guid = (node + u64::from(port)).into();
        record.port_and_vendor = (u32::from(port) << 24 | 0x2c9).into();
        record.description[..2].copy_from_slice(b"H7");
        record
    }

    #[test]
    fn one_port_is_meant_or_it_is_said_which_may_be() {
        let port = record(0x10, 1, 7);
        let found = only("H7", &[port, port]).unwrap().unwrap();
        assert_eq!((found.lid, found.number, found.guid.get()), (7, 1, 0x11));
        assert_eq!(only("H7", &[]), Ok(None));
        // A port without a LID is not in the subnet.
        assert_eq!(only("H7", &[record(0x10, 1, 0)]), Ok(None));
        let both = [record(0x10, 2, 8), record(0x10, 1, 7)];
        let words = only("0x10", &both).unwrap_err().to_string();
        assert!(words.contains("H7 has the ports [1, 2]"), "{words}");
        let two = [record(0x20, 1, 8), record(0x10, 1, 7), record(0x10, 2, 9)];
        let words = only("H7", &two).unwrap_err().to_string();
        assert!(
            words.contains("0x0000000000000010, 0x0000000000000020"),
            "{words}"
        );
    }

    #[test]
    fn words_are_read_in_the_order_of_explain_and_by_components_that_there_are() {
        let kinds = |text: &str| -> Vec<&str> {
            let readings = readings(text);
            readings.iter().map(|it| it[0].0).collect()
        };
        assert_eq!(kinds("9"), ["node_description", "lid"]);
        assert_eq!(kinds("0x9"), ["node_description", "port_guid", "node_guid"]);
        assert_eq!(kinds("a:b:2"), ["node_description", "node_description"]);
        assert_eq!(readings("a:b:2")[1][1], ("local_port_num", vec![2]));
        assert_eq!(kinds("a:b"), ["node_description"]);
        assert_eq!(kinds("70000"), ["node_description"]);
        assert!(kinds("").is_empty() && kinds(&"x".repeat(65)).is_empty());
        for text in ["0x9", "9", "a:2"] {
            for (name, bytes) in readings(text).concat() {
                let field = Layout::NODE.field(name).unwrap();
                assert!(field.mask() != 0 && bytes.len() * 8 <= usize::from(field.width));
            }
        }
        assert!(
            ["lid", "port_num"]
                .iter()
                .all(|it| Layout::PORT_INFO.field(it).is_some())
        );
    }
}
