//! What becomes known of the M_Keys of ports.
//!
//! | what | the key that requests carry | known to be the port's |
//! |---|---|---|
//! | an answer to the first request | the one of that request | no |
//! | PortInfo shows a key, or level 0, 2 or 3 and none | that one | yes |
//! | PortInfo shows none at level 1 | as before | no: it may be hidden |
//! | a Set that gives a key is answered | the new one | yes |
//! | it is not | as before | no: it may be the old one or the new one |

use sa_fabric::PortRef;
use sa_wire::records::PortInfoRecord;

use super::{PortState, Subnet};

impl Subnet {
    /// All requests carry this key, if any, whatever ports show.
    pub(crate) const fn fix_key(&mut self, m_key: Option<u64>) {
        self.fixed_key = m_key;
    }

    /// The M_Key of requests about a port; of a switch that of port 0.
    pub fn m_key(&self, at: PortRef) -> u64 {
        let node = self.node(at.node);
        let end = node.and_then(|node| node.port(node.end_port(at.port)));
        let shown = || end.map_or(0, super::Port::m_key);
        self.fixed_key.unwrap_or_else(shown)
    }

    /// True where the key that a port holds may be another one.
    pub fn hides_m_key(&self, at: PortRef) -> bool {
        let node = self.node(at.node);
        let end = node.and_then(|node| node.port(node.end_port(at.port)));
        end.is_some_and(|end| end.hides_m_key)
    }

    /// An end port answered to this key.
    pub(crate) fn answered_to(&mut self, at: PortRef, m_key: u64) {
        if let Some(port) = self.port_mut(at) {
            port.m_key = Some(m_key);
        }
    }

    /// PortInfo, as a port told it.
    pub(crate) fn told(&mut self, at: PortRef, info: PortInfoRecord) {
        let Some(node) = self.node_mut(at.node) else {
            return;
        };
        let is_end = node.end_port(at.port) == at.port;
        let Some(port) = node.port_mut(at.port) else {
            return;
        };
        if is_end {
            port.told_m_key(&info);
        }
        port.info = Some(info);
        port.came_up |= port.state() == Some(PortState::Init);
    }

    /// An end port took a Set that gives it this key. It may show none in its answer: that Set still had the old one.
    pub(crate) fn took_m_key(&mut self, at: PortRef, m_key: u64) {
        let hides = self.hides_m_key(at);
        let port = self.port_mut(at).filter(|_| hides);
        let Some(info) = port.and_then(|port| port.info.as_mut()) else {
            return;
        };
        info.m_key = m_key.into();
        let info = *info;
        if let Some(port) = self.port_mut(at) {
            port.told_m_key(&info);
            port.hides_m_key = false;
        }
    }

    /// A Set that gives an end port another key has no answer: it may hold the old one or the new one.
    pub(crate) fn doubt_m_key(&mut self, at: PortRef) {
        if let Some(port) = self.port_mut(at) {
            port.hides_m_key = true;
        }
    }
}
