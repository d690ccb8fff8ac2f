//! Answers from the snapshot in service here.

use std::time::Instant;

use sa_answer::whole;
use sa_answer::{Outcome, answer};
use sa_fastpath::publish::{Published, Reader};
use sa_wire::netlink_ls::{IpResolve, Resolve};
use sa_wire::path_record::PathRecord;
use sa_wire::umad::Slot;
use sa_wire::{Gid, Lid};

use super::addresses::Addresses;
use super::agent::{Reason, Records, Resolver, Verdict};
use super::far;
use super::origin::Origin;
use super::request::{path_get, record_in, record_of};
use super::watch::Seen;
use super::{Late, Paths};
use crate::options::FarSubnet;

/// Resolves by the snapshot in service, where it is that of the fabric the port is in now.
pub struct Replica {
    reader: Reader,
    origin: Box<dyn Origin>,
    addresses: Addresses,
    far: Vec<FarSubnet>,
    ports: Vec<Seen>,
    /// Whether the SA has to serve the same snapshot.
    follow_sa: bool,
}

impl Replica {
    /// Without ports until it is told of some.
    pub fn new(
        reader: Reader,
        origin: Box<dyn Origin>,
        addresses: Addresses,
        far: Vec<FarSubnet>,
        follow_sa: bool,
    ) -> Self {
        Self {
            reader,
            origin,
            addresses,
            far,
            ports: Vec::new(),
            follow_sa,
        }
    }

    fn find(&mut self, question: &Resolve<'_>) -> Result<PathRecord, Reason> {
        let meant = |seen: &&Seen| seen.port.is_meant(question);
        let seen = self.ports.iter().find(meant).ok_or(Reason::UnknownPort)?;
        let published = self.reader.refresh().ok_or(Reason::NoSnapshot)?;
        let read_at = self.origin.read_at(published.epoch);
        if !fits(seen, published, read_at) || self.follow_sa && !follows(seen, published) {
            return Err(Reason::Stale);
        }
        let request = path_get(seen.port.lid, question)?;
        let mut slot = request;
        match answer(&published.snapshot, &mut slot) {
            Outcome::Answered(_) => record_in(&slot),
            Outcome::Punt(_) => slowly(published, &request),
            Outcome::Refused(..) | Outcome::Dropped(_) => Err(Reason::NoPath),
        }
    }
}

/// Alias GUIDs, and what is beyond a router.
fn slowly(published: &Published, request: &Slot) -> Result<PathRecord, Reason> {
    let reply = whole::respond(&published.snapshot, request);
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
        self.ports = ports.to_vec();
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

/// Whether the snapshot describes the fabric as the port is in it: the LID is that of this port, and
/// no other SM, which could have given other LIDs, has come since its sources were read.
fn fits(seen: &Seen, published: &Published, read_at: Option<Instant>) -> bool {
    let port = &seen.port;
    let lid = Lid::raw(port.lid);
    let known = published.snapshot.port_by_lid(lid);
    let guid = known.map(|known| published.snapshot.port(known).guid);
    let by_this_sm = read_at.is_some_and(|read| seen.sm_since.is_none_or(|since| since <= read));
    port.is_active && by_this_sm && guid == Some(port.gid.interface_id().to_be_bytes())
}

fn follows(seen: &Seen, published: &Published) -> bool {
    let served = seen.served.map(|served| served.digest);
    served == Some(published.snapshot.public_digest())
}
