//! Answers from the snapshot in service here.

use std::sync::Arc;
use std::time::Instant;

use sa_fastpath::answer::{Outcome, answer};
use sa_fastpath::publish::{Published, Reader};
use sa_wire::Gid;
use sa_wire::netlink_ls::{IpResolve, Resolve};
use sa_wire::path_record::PathRecord;
use sa_wire::umad::Slot;

use super::addresses::Addresses;
use super::agent::{Reason, Records, Resolver, Verdict};
use super::far;
use super::ports::HostPort;
use super::request::{path_get, record_in, record_of};
use super::watch::Seen;
use super::{Late, Paths};
use crate::config::FarSubnet;
use crate::pipeline::Parts;
use crate::slow_sa;

/// What a snapshot was compiled from, by its epoch; none where that is not at hand.
pub type PartsOf = Box<dyn Fn(u64) -> Option<Arc<Parts>> + Send>;

/// Resolves by the snapshot in service, where it is that of the fabric the port is in now.
pub struct Replica {
    reader: Reader,
    parts_of: PartsOf,
    addresses: Addresses,
    far: Vec<FarSubnet>,
    ports: Vec<Watched>,
    /// Whether the SA has to serve the same snapshot.
    follow_sa: bool,
}

/// A port, and what it was like when the snapshot in service came.
#[derive(Debug, Clone)]
struct Watched {
    seen: Seen,
    epoch: u64,
    /// Where the SM was then; 0 until it is known.
    sm_lid: u16,
}

impl Replica {
    /// Without ports until it is told of some.
    pub fn new(
        reader: Reader,
        parts_of: PartsOf,
        addresses: Addresses,
        far: Vec<FarSubnet>,
        follow_sa: bool,
    ) -> Self {
        Self {
            reader,
            parts_of,
            addresses,
            far,
            ports: Vec::new(),
            follow_sa,
        }
    }

    fn find(&mut self, question: &Resolve<'_>) -> Result<PathRecord, Reason> {
        let meant = |watched: &&Watched| watched.seen.port.is_meant(question);
        let port = self.ports.iter().find(meant).ok_or(Reason::UnknownPort)?;
        let published = self.reader.refresh().ok_or(Reason::NoSnapshot)?;
        if !port.fits(published) || self.follow_sa && !port.follows(published) {
            return Err(Reason::Stale);
        }
        let request = path_get(port.seen.port.lid, question)?;
        let mut slot = request;
        match answer(&published.snapshot, &mut slot) {
            Outcome::Answered(_) => record_in(&slot),
            Outcome::Punt(_) => slowly(published, &self.parts_of, &request),
            Outcome::Refused(..) | Outcome::Dropped(_) => Err(Reason::NoPath),
        }
    }
}

/// Alias GUIDs, and what is beyond a router.
fn slowly(published: &Published, parts_of: &PartsOf, request: &Slot) -> Result<PathRecord, Reason> {
    let parts = parts_of(published.epoch.get());
    let reply = slow_sa::respond_with(&published.snapshot, parts.as_deref(), request);
    record_of(&reply.ok_or(Reason::NoPath)?)
}

impl Resolver for Replica {
    fn resolve(&mut self, question: &Resolve<'_>, records: &mut Records) -> Verdict {
        match self.find(question) {
            Ok(record) => {
                far::fill(records, question.path_use, record, &self.far);
                Verdict::Resolved
            }
            Err(reason) => Verdict::Unresolved(reason),
        }
    }

    fn gid_of(&mut self, question: &IpResolve) -> Result<Gid, Reason> {
        self.addresses.resolve(question)
    }
}

impl Paths for Replica {
    fn look(&mut self, ports: &[Seen]) {
        let epoch = self.reader.refresh();
        let epoch = epoch.map_or(0, |published| published.epoch.get());
        let before = core::mem::take(&mut self.ports);
        // Where the SM was when this snapshot came; until there is one, wherever it turns up.
        let sm_lid = |port: &HostPort| {
            let same = |watched: &&Watched| watched.epoch == epoch && watched.is(port);
            let known = before.iter().find(same).map(|watched| watched.sm_lid);
            known.filter(|lid| *lid != 0).unwrap_or(port.sm_lid)
        };
        let watched = ports.iter().map(|seen| Watched {
            sm_lid: sm_lid(&seen.port),
            seen: seen.clone(),
            epoch,
        });
        self.ports = watched.collect();
    }

    fn late(&mut self, _: Instant) -> Vec<Late> {
        Vec::new()
    }

    fn next(&self) -> Option<Instant> {
        None
    }

    fn kept(&self) -> usize {
        0
    }
}

impl Watched {
    fn is(&self, port: &HostPort) -> bool {
        (&self.seen.port.device, self.seen.port.port) == (&port.device, port.port)
    }

    /// Whether the snapshot describes the fabric as this port is in it: the LID is that of this
    /// port, and no other SM has come, which could have given other LIDs.
    fn fits(&self, published: &Published) -> bool {
        let port = &self.seen.port;
        let known = published.snapshot.port_by_lid(port.lid);
        let guid = known.map(|known| published.snapshot.port(known).guid);
        let same_sm = published.epoch.get() != self.epoch || port.sm_lid == self.sm_lid;
        port.is_active && same_sm && guid == Some(port.gid.interface_id().to_be_bytes())
    }

    fn follows(&self, published: &Published) -> bool {
        let served = self.seen.served.map(|served| served.digest);
        served == Some(published.snapshot.digest())
    }
}
