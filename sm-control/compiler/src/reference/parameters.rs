//! What a path from one LID to another is like, if the request can have it.
//!
//! The steps, in OpenSM's order, each of which may say that there is no path: walk (MTU, rate, SLs
//! that survive), level (limits, its SL), path bits, selectors for MTU, rate and packet life time,
//! P_Key, SL, the engine's say about the SL. [`why`](crate::why) goes through the same steps for
//! people.
//!
//! Source: OpenSM `osm_sa_path_record.c`, `pr_rcv_get_path_parms`.
//!
//! What selectors do to a value `have`, with `v` wanted:
//!
//! | selector | MTU, packet life time | rate, by OpenSM's order |
//! |---|---|---|
//! | 0 greater | needs have > v | needs have > v |
//! | 1 less | have if below v, else v - 1 | have if below v, else the next rate below v |
//! | 2 exactly | needs have >= v, gives v | needs have = v |
//! | 3 best | have | have |
//!
//! So a path of MTU 2048 is told as one of 1024 when asked for exactly that, but one of 40 Gb/s is
//! never told as 20.

use policy::model::{Echo, Level};
use policy::{Chosen, Policy, interpret};
use routing::EndPortIx;
use routing::reference;
use routing::tables::PathSlRule;
use sa_wire::{Lid, Selector, Sl, SlVlMask};

use super::rates;
use super::request::{Request, Wanted};
use super::{Reference, ReferenceInputs};

/// One end of a path.
///
/// The LID says which of the paths, the GUID what the record shows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) port: EndPortIx,
    pub(super) lid: u16,
    /// The GUID of the port that is meant.
    pub(super) guid: u64,
}

/// What a path is like.
///
/// Codes and not types: a level may say what no type holds, and it is the byte that comes back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameters {
    /// Code.
    pub(super) mtu: u8,
    /// Code.
    pub(super) rate: u8,
    /// More than 6 bits where a level says so.
    pub(super) packet_life: u8,
    /// As the answer carries it.
    pub(super) pkey: u16,
    pub(super) sl: Sl,
    /// As the answer carries it, 12 bits.
    pub(super) qos_class: u16,
    /// As the answer carries it.
    pub(super) tclass: u8,
}

impl Reference<'_> {
    /// None when there is no such path. The order of the steps is OpenSM's.
    pub(super) fn parameters(
        &self,
        request: &Request,
        from: Place,
        to: Place,
    ) -> Option<Parameters> {
        let ReferenceInputs {
            topology, routes, ..
        } = self.inputs;
        let (slid, dlid) = (Lid::new(from.lid).ok()?, Lid::new(to.lid).ok()?);
        // MTUs and rates of all links, by their own capability: NeighborMTU plays no part.
        let walk = reference::walk(topology, routes, self.options.qos, from.port, dlid).ok()?;
        let level = self.level(request, from, to);
        // As codes from here on: OpenSM compares these.
        let (mut mtu, mut rate) = (walk.capacity.mtu.code(), walk.capacity.rate.rate().code());
        if let Some(level) = level {
            mtu = level
                .mtu_limit
                .map_or(mtu, |limit| mtu.min(limit.value.code()));
            rate = level
                .rate_limit
                .map_or(rate, |limit| rates::slower(rate, limit.value.code()));
            // The level's SL must survive even if the request names another one, which then fails
            // below.
            if let Some(sl) = level.sl {
                carried(sl.value, walk.carried)?;
            }
        }
        if !self.may_end_at(level, to) {
            return None;
        }
        let mtu = request
            .mtu
            .map_or(Some(mtu), |wanted| select(mtu, wanted))?;
        let rate = request
            .rate
            .map_or(Some(rate), |wanted| select_rate(rate, wanted))?;
        let packet_life = self.packet_life(level, from, to);
        let packet_life = request
            .packet_life
            .map_or(Some(packet_life), |wanted| select(packet_life, wanted))?;
        // After the selectors, so that a request with two flaws fails at the first.
        let pkey = self.pkey(request, level, from, to)?;
        let hint = self.sl(request, level, pkey, walk.carried)?;
        // A path to oneself that no switch knows of takes no engine.
        let is_alone = from.port == to.port
            && matches!(routes.facts().path_sl, PathSlRule::Table(_))
            && !self.is_delivered(self.inputs.topology, to.port, dlid);
        let sl = match routes.path_sl(hint, slid, dlid) {
            _ if is_alone => hint,
            Some(sl) => sl,
            // A request for it is refused before; of its way back it is not asked.
            None if request.sl.is_none() => hint,
            None => return None,
        };
        if request.sl.is_some_and(|wanted| wanted != sl) {
            return None;
        }
        // Raw packets have no P_Key, though one was looked for to find the SL.
        let pkey = pkey.filter(|_| !request.raw_traffic).unwrap_or(0);
        Some(Parameters {
            mtu,
            rate,
            packet_life,
            pkey,
            sl,
            qos_class: self.echo(Echo::QosClass, request.qos_class),
            tclass: match level.and_then(|level| level.tclass) {
                Some(own) if self.echoes(Echo::TClass) => own.value,
                _ => self.echo(Echo::TClass, request.tclass),
            },
        })
    }

    /// The path bits of the level, which are those of the LID where the path ends; OpenSM's
    /// dialect has them, but to no effect.
    fn may_end_at(&self, level: Option<&Level>, to: Place) -> bool {
        let counts = self.policy().is_some_and(|policy| policy.dialect.is_rfc());
        let allowed = level.and_then(|level| level.path_bits.as_ref());
        let base = self.inputs.topology.end_port(to.port).lid.get();
        let bits = u64::from(to.lid - base);
        allowed.is_none_or(|allowed| !counts || allowed.value.contains(bits))
    }

    /// What was asked for, where the answer is to repeat it, else 0.
    fn echo<T: Default>(&self, field: Echo, asked: Option<T>) -> T {
        asked.filter(|_| self.echoes(field)).unwrap_or_default()
    }

    fn echoes(&self, field: Echo) -> bool {
        self.policy()
            .is_some_and(|policy| policy.semantics.echo == field)
    }

    /// The level of the first rule that holds, or the default; none without policy.
    fn level(&self, request: &Request, from: Place, to: Place) -> Option<&Level> {
        let (policy, chosen) = self.chosen(request, from, to)?;
        Some(policy.level(chosen.level))
    }

    /// The first rule that holds, and its level.
    ///
    /// Rules see ports by index, and which fields the request names.
    pub(super) fn chosen(
        &self,
        request: &Request,
        from: Place,
        to: Place,
    ) -> Option<(&Policy, Chosen)> {
        let policy = self.policy()?;
        let query = request.query(from.port.index(), to.port.index());
        let chosen = interpret(policy, self.inputs.ports, self.inputs.partitions, &query);
        Some((policy, chosen))
    }

    /// 0 for a path of a port to itself, whatever the level says.
    fn packet_life(&self, level: Option<&Level>, from: Place, to: Place) -> u8 {
        if from.port == to.port {
            return 0;
        }
        let given = level.and_then(|level| level.packet_life);
        given.map_or(self.options.packet_life, |life| life.value)
    }

    /// `Some(None)` for raw packets between ports that share no P_Key, which is fine.
    fn pkey(
        &self,
        request: &Request,
        level: Option<&Level>,
        from: Place,
        to: Place,
    ) -> Option<Option<u16>> {
        let (source, destination) = (self.pkeys(from.port), self.pkeys(to.port));
        if request.raw_traffic {
            return Some(source.common_with(destination));
        }
        // An empty list in a level is none.
        let allowed = level
            .and_then(|level| level.pkeys.as_ref())
            .filter(|set| !set.is_empty());
        let found = match (request.pkey, allowed) {
            (Some(wanted), allowed) => {
                let base = u64::from(wanted & 0x7fff);
                let is_allowed = allowed.is_none_or(|set| set.contains(base));
                // The membership bit comes back as it was sent.
                (source.both_hold(destination, wanted) && is_allowed).then_some(wanted)
            }
            // The number of the policy is the answer, without membership bit.
            (None, Some(allowed)) => source.common_of(destination, allowed),
            (None, None) => source.common_with(destination),
        };
        found.map(Some)
    }

    /// The SL before the routing engine has its say.
    fn sl(
        &self,
        request: &Request,
        level: Option<&Level>,
        pkey: Option<u16>,
        way: SlVlMask,
    ) -> Option<Sl> {
        let given = level.and_then(|level| level.sl);
        let raw = match (request.sl, given, pkey) {
            (Some(wanted), Some(given), _) if wanted.get() != given.value => return None,
            (Some(wanted), ..) => wanted.get(),
            (None, Some(given), _) => given.value,
            (None, None, Some(pkey)) => {
                // A key of no known partition has SL 0.
                let partition = self.inputs.partitions.by_base(pkey & 0x7fff);
                partition.map_or(0, |partition| partition.sl.get())
            }
            // The least that the way carries, which is 0 wherever 0 is carried.
            (None, None, None) => (0..16).find(|sl| carried(*sl, way).is_some())?,
        };
        carried(raw, way)
    }
}

/// The SL, if it is one that the way carries.
fn carried(raw: u8, way: SlVlMask) -> Option<Sl> {
    Sl::new(raw).ok().filter(|sl| way.carries(*sl))
}

/// MTU and packet life time. "Exactly" lowers them; "less" lowers them to just below.
///
/// "Less than 1" and "less than 0" leave nothing.
fn select(have: u8, wanted: Wanted) -> Option<u8> {
    let limit = wanted.value;
    match wanted.selector {
        Selector::Greater => (have > limit).then_some(have),
        Selector::Less if have < limit => Some(have),
        Selector::Less => (limit > 1).then(|| limit - 1),
        Selector::Exactly => (have >= limit).then_some(limit),
        Selector::Best => Some(have),
    }
}

/// "Exactly" lowers no rate.
///
/// "Less" can give a rate that no port has: below 40 Gb/s comes 28.
fn select_rate(have: u8, wanted: Wanted) -> Option<u8> {
    let order = rates::compare(have, wanted.value);
    match wanted.selector {
        Selector::Greater => order.is_gt().then_some(have),
        Selector::Less if order.is_lt() => Some(have),
        Selector::Less => rates::previous(wanted.value),
        Selector::Exactly => order.is_eq().then_some(have),
        Selector::Best => Some(have),
    }
}
