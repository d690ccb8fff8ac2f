//! The port of the SM: what goes out is counted, and who the SM is comes from its own node's
//! answer.

use std::sync::atomic::Ordering;
use std::time::Duration;

use sa_port::PortError;
use sa_wire::Guid;
use sa_wire::mad::method;
use sa_wire::smp::{Smp, attribute};
use sm_port::{Hidden, Packet, SmpPort};
use zerocopy::FromBytes;

use super::Identity;

/// A port whose SMPs are counted, and by which the SM learns who it is.
pub(in super::super) struct Noted<'a> {
    pub(in super::super) port: &'a mut dyn SmpPort,
    pub(in super::super) identity: &'a Identity,
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

impl Identity {
    /// Notes the GUID of the port by which this SM sends: its own node's answer to the first
    /// question says it.
    pub(super) fn learn(&self, smp: &[u8; 256]) {
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
            self.inner().own.info.guid = Guid::new(u64::from_be_bytes(*bytes)).ok();
        }
    }
}

/// Of PortGUID in NodeInfo. Units: bytes.
pub(super) const PORT_GUID: usize = 20;
