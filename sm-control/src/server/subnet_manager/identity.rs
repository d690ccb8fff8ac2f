//! What this Subnet Manager is to others.
//!
//! One value, written by the thread that sweeps and read by the one that answers: neither waits for the other for longer than a
//! copy takes.
//!
//! | of SMInfo | from |
//! |---|---|
//! | GUID | the answer of the own node to the first SMP of a sweep; before it there is none |
//! | SM_Key, priority | options, which are read anew at each sweep |
//! | ActCount | SMPs that went out, answers to others not among them |
//! | SMState | Discovering until a plan is made, then Master |
//!
//! M_Key and its protection are those of the options too: the SM gives its own port what it gives all others.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sa_fabric::options::ManagerOptions;
use sa_port::PortError;
use sa_sm::sm_info::{Own, SmInfo, SmState};
use sa_wire::Guid;
use sa_wire::mad::method;
use sa_wire::smp::{Smp, attribute};
use sm_port::{Hidden, Packet, SmpPort};
use zerocopy::FromBytes;

/// SMInfo of this SM, and what decides who sees its key.
#[derive(Debug)]
pub(super) struct Identity {
    own: Mutex<Own>,
    /// ActCount.
    sent: AtomicU32,
}

impl Identity {
    /// Discovering, with nothing known yet.
    pub(super) fn new() -> Self {
        let info = SmInfo {
            guid: None,
            sm_key: 0,
            act_count: 0,
            priority: 0,
            state: SmState::Discovering,
        };
        let own = Own {
            info,
            m_key: 0,
            protection: 0,
        };
        Self {
            own: Mutex::new(own),
            sent: AtomicU32::new(0),
        }
    }

    /// What is told now.
    pub(super) fn now(&self) -> Own {
        let mut own = *self.own();
        // Relaxed: a number for people.
        own.info.act_count = self.sent.load(Ordering::Relaxed);
        own
    }

    /// Keys and priority of now.
    pub(super) fn follow(&self, sm_key: u64, options: &ManagerOptions) {
        let mut own = self.own();
        own.info.sm_key = sm_key;
        own.info.priority = options.mastership.priority;
        own.m_key = options.m_key;
        own.protection = options.m_key_protection_level;
    }

    /// It is this from now on. Gives what it was.
    pub(super) fn becomes(&self, state: SmState) -> SmState {
        core::mem::replace(&mut self.own().info.state, state)
    }

    fn own(&self) -> MutexGuard<'_, Own> {
        // Each value is written in one go, so what a thread that panicked has left is whole.
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the GUID of the port by which this SM sends: its own node's answer to the first question says it.
    fn learn(&self, smp: &[u8; 256]) {
        let Ok(answer) = Smp::read_from_bytes(smp) else {
            return;
        };
        // No hop: nobody else answers to that.
        let is_own = answer.is_directed()
            && answer.path() == Some(&[])
            && answer.header.method == method::GET_RESP
            && answer.header.attribute_id.get() == attribute::NODE_INFO
            && answer.status().0 == 0;
        let guid = answer.data.get(PORT_GUID..).and_then(<[u8]>::first_chunk);
        if let (true, Some(bytes)) = (is_own, guid) {
            self.own().info.guid = Guid::new(u64::from_be_bytes(*bytes)).ok();
        }
    }
}

/// A port whose SMPs are counted, and by which the SM learns who it is.
pub(super) struct Noted<'a> {
    pub(super) port: &'a mut dyn SmpPort,
    pub(super) identity: &'a Identity,
}

impl SmpPort for Noted<'_> {
    fn send(&mut self, packet: &Packet) -> Result<bool, PortError> {
        let is_sent = self.port.send(packet)?;
        // Relaxed: as where it is read.
        // Without room nothing went out.
        self.identity
            .sent
            .fetch_add(u32::from(is_sent), Ordering::Relaxed);
        Ok(is_sent)
    }

    fn receive(&mut self) -> Result<Option<Packet>, PortError> {
        let packet = self.port.receive()?;
        if let Some(Packet { smp, .. }) = &packet {
            self.identity.learn(smp);
        }
        Ok(packet)
    }

    fn wait(&mut self, timeout: Duration) -> Result<bool, PortError> {
        self.port.wait(timeout)
    }

    fn hidden(&self) -> Hidden {
        self.port.hidden()
    }
}

/// Of PortGUID in NodeInfo. Units: bytes.
const PORT_GUID: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &[u8], attribute: u16) -> [u8; 256] {
        let mut answer = Smp::directed(method::GET_RESP, attribute, 1, path).unwrap();
        answer.header.status = Smp::RETURNING.into();
        answer.data[PORT_GUID..PORT_GUID + 8].copy_from_slice(&0x10_0001_u64.to_be_bytes());
        zerocopy::transmute!(answer)
    }

    #[test]
    fn the_guid_is_that_of_the_own_node_s_port() {
        let identity = Identity::new();
        for other in [
            told(&[1], attribute::NODE_INFO),
            told(&[], attribute::PORT_INFO),
        ] {
            identity.learn(&other);
            assert_eq!(identity.now().info.guid, None);
        }
        identity.learn(&told(&[], attribute::NODE_INFO));
        assert_eq!(identity.now().info.guid, Guid::new(0x10_0001).ok());
    }

    #[test]
    fn options_that_are_read_anew_count_at_once() {
        let identity = Identity::new();
        let mut options = ManagerOptions::default();
        (options.mastership.priority, options.m_key) = (9, 3);
        identity.follow(5, &options);
        let own = identity.now();
        assert_eq!((own.info.sm_key, own.info.priority, own.m_key), (5, 9, 3));
        assert_eq!(identity.becomes(SmState::Master), SmState::Discovering);
        assert_eq!(identity.now().info.state, SmState::Master);
    }
}
