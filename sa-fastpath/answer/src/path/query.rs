//! A request for paths, decoded and checked as far as that needs no tables.
//!
//! What counts is decided by the component mask: a component that it leaves out is not read,
//! whatever is in its place. A selector counts only together with its value (`path::select`).
//!
//! Decoded once a request and copied where it is changed, for example for each pair of a
//! MultiPathRecord.

use sa_snapshot::{MatchInput, RareField, RareInput, RequestClasses, Snapshot};
use sa_wire::mad::method;
use sa_wire::path_record::{PathCompMask, PathRecord, SelectedValue};
use sa_wire::sa::SaMad;
use sa_wire::{Mtu, Rate};
use zerocopy::FromBytes;

use super::select::{WISHES, Wishes};
use crate::Reject;
use crate::outcome::Stop;

/// How many paths of a pair of ports are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enough {
    /// At most this many.
    After(u8),
    /// All there are.
    Never,
}

/// Which way a path is looked at. The way back is a path of its own: it may have another class,
/// level or P_Key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the request's source to its destination.
    There,
    /// The other way, to tell whether the path is reversible.
    Back,
}

/// What a PathRecord request asks for, or a MultiPathRecord request of each pair of ends.
///
/// Made only by `decode`, so codes of MTU and rate are known to mean something, and a service id is
/// whole where the policy's dialect asks for that.
#[derive(Debug, Clone, Copy)]
pub struct PathQuery {
    /// Which components count, as sent; with a service id in the key, its bits are added.
    pub mask: PathCompMask,
    /// The components, as sent.
    pub record: PathRecord,
    /// Paths wanted of each pair of ports.
    pub enough: Enough,
    /// What the policy's rules ask about; none without a policy.
    pub classes: Option<RequestClasses>,
    /// True when the P_Key is asked for or set aside; the answer's P_Key is 0 then.
    pub raw_traffic: bool,
    /// True when nothing is wished of what is found, and the snapshot sets nothing apart.
    pub(crate) is_common: bool,
}

impl PathQuery {
    /// Decodes, for the slow lane. Errors: `RequestInvalid` for impossible rates and MTUs,
    /// `InsufficientComponents` for half a service id, unless the policy is of the legacy dialect.
    pub fn from_mad(snapshot: &Snapshot, mad: &SaMad) -> Result<Self, Reject> {
        let is_get = mad.mad.method == method::GET;
        match Self::decode(snapshot, mad, is_get) {
            Ok(query) => Ok(query.with_key(snapshot, mad)),
            Err(Stop::Reject(reject)) => Err(reject),
            Err(Stop::Drop(_) | Stop::Punt(_)) => Err(Reject::RequestInvalid),
        }
    }

    /// Decodes for a worker. Errors: as [`Self::from_mad`]; codes are looked at before anything
    /// else, because OpenSM does.
    #[inline(always)]
    pub(crate) fn decode(snapshot: &Snapshot, mad: &SaMad, is_get: bool) -> Result<Self, Stop> {
        let mask = PathCompMask(mad.sa.component_mask.get());
        let (record, _) = PathRecord::ref_from_prefix(&mad.data)
            .map_err(|_| Stop::Reject(Reject::RequestInvalid))?;
        // Before anything of the request is believed, and whatever else is wrong with it: OpenSM's
        // first check.
        check_codes(snapshot, mask, Wishes::of(mask, record))?;
        Ok(Self {
            mask,
            record: *record,
            enough: enough(mask, record, is_get),
            classes: snapshot.classify(&match_input(mask, record)),
            raw_traffic: mask.has(PathCompMask::RAW_TRAFFIC) && record.flow.raw_traffic(),
            is_common: snapshot.is_common() && !mask.has(WISHES),
        })
    }

    /// The same with the service id in the place of the key, if there is one and no other. Not for
    /// the common requests, which have none there, nor for groups, whose answers repeat what was sent.
    pub(crate) fn with_key(mut self, snapshot: &Snapshot, mad: &SaMad) -> Self {
        let has_none = !self.mask.has(PathCompMask::SERVICE_ID_MSB) && !is_to_group(&self);
        if let Some(key) = service_id_in_key(snapshot, mad).filter(|_| has_none) {
            self.record.service_id = key.into();
            self.mask = self.mask.union(PathCompMask::SERVICE_ID);
            // Only the match depends on the service id, so only that is made again.
            self.classes = snapshot.classify(&match_input(self.mask, &self.record));
        }
        self
    }

    /// What rules of some dialects ask about a path in this direction.
    pub(crate) fn rare_input(&self, direction: Direction) -> RareInput {
        let names = (
            self.mask.has(PathCompMask::SGID.union(PathCompMask::SLID)),
            self.mask.has(PathCompMask::DGID.union(PathCompMask::DLID)),
        );
        let (names_source, names_destination) = match direction {
            Direction::There => names,
            Direction::Back => (names.1, names.0),
        };
        RareInput {
            numbers: RareField::ALL.map(|field| field.asked(self.mask, &self.record)),
            names_source,
            names_destination,
        }
    }

    /// The QoS class asked for, 12 bits; none where its component is not in the mask.
    #[inline(always)]
    pub(crate) fn requested_qos_class(&self) -> Option<u16> {
        requested_qos_class(self.mask, &self.record)
    }

    /// The traffic class asked for; none where its component is not in the mask.
    pub(crate) fn requested_tclass(&self) -> Option<u8> {
        self.mask
            .has(PathCompMask::TCLASS)
            .then_some(self.record.tclass)
    }

    /// The P_Key asked for, raw; none where its component is not in the mask.
    ///
    /// It is raw because it comes back as it was sent, membership bit included.
    #[inline(always)]
    pub(crate) fn requested_pkey(&self) -> Option<u16> {
        requested_pkey(self.mask, &self.record)
    }

    /// The SL asked for; none where its component is not in the mask.
    #[inline(always)]
    pub(crate) fn requested_sl(&self) -> Option<u8> {
        self.mask
            .has(PathCompMask::SL)
            .then(|| self.record.qos_class_sl.sl().get())
    }

    /// True when only paths that work in both directions are wanted. A requested 0 means that it
    /// does not matter.
    #[inline(always)]
    pub(crate) fn wants_reversible(&self) -> bool {
        self.mask.has(PathCompMask::REVERSIBLE) && self.record.numb_path.reversible()
    }

    /// What is wished of each path, its SL aside.
    #[inline(always)]
    pub(super) const fn wishes(&self) -> Wishes<'_> {
        Wishes::of(self.mask, &self.record)
    }

    /// True when the request sets conditions that one direction may meet and the other not.
    #[inline(always)]
    // An SL is a condition as well: the partition or level of the way back may give another.
    pub(crate) fn sets_conditions(&self) -> bool {
        !self.wishes().are_none() || self.mask.has(PathCompMask::SL)
    }
}

/// Whether the destination is a multicast group, known or not.
pub fn is_to_group(query: &PathQuery) -> bool {
    query.mask.has(PathCompMask::DGID) && query.record.dgid().is_multicast()
}

/// Codes that mean nothing are refused whatever the selector; life times are not checked.
#[inline(always)]
fn check_codes(snapshot: &Snapshot, mask: PathCompMask, wishes: Wishes<'_>) -> Result<(), Stop> {
    if !are_codes(snapshot, wishes) {
        return Err(Stop::Reject(Reject::RequestInvalid));
    }
    let halves = PathCompMask::SERVICE_ID;
    let is_half = mask.has(halves) && !mask.has_all(halves);
    if is_half && !snapshot.takes_legacy_service_id() {
        return Err(Stop::Reject(Reject::InsufficientComponents));
    }
    Ok(())
}

/// True when the wishes for MTU and rate are for some that there are.
#[inline(always)]
pub(crate) fn are_codes(snapshot: &Snapshot, wishes: Wishes<'_>) -> bool {
    let max_rate = snapshot.subnet().max_rate_code;
    // Both bounds: codes beyond what this SM's version knows, and codes that mean nothing at all.
    let is_rate =
        |rate: SelectedValue| rate.value() <= max_rate && Rate::from_code(rate.value()).is_ok();
    let is_mtu = |mtu: SelectedValue| Mtu::from_code(mtu.value()).is_ok();
    wishes.rate().is_none_or(is_rate) && wishes.mtu().is_none_or(is_mtu)
}

/// What rules ask about, with what the mask leaves out as none.
#[inline(always)]
fn match_input(mask: PathCompMask, record: &PathRecord) -> MatchInput {
    MatchInput {
        qos_class: requested_qos_class(mask, record),
        pkey: requested_pkey(mask, record),
        // The lower half comes with it, or does not matter.
        service_id: mask
            .has(PathCompMask::SERVICE_ID_MSB)
            .then(|| record.service_id.get()),
    }
}

/// The service id in the place of the key, where the policy looks for one there. The SA's own key
/// stays a key, so that trusted clients need not know of this.
/// Source: QoS RFC 0.1, PathRecord, option a.
pub(crate) fn service_id_in_key(snapshot: &Snapshot, mad: &SaMad) -> Option<u64> {
    let key = mad.sa.sm_key.get();
    let is_id = key != 0 && key != snapshot.subnet().sa_key;
    (is_id && snapshot.takes_service_id_in_key()).then_some(key)
}

/// 12 bits, where the component is in the mask.
#[inline(always)]
fn requested_qos_class(mask: PathCompMask, record: &PathRecord) -> Option<u16> {
    mask.has(PathCompMask::QOS_CLASS)
        .then(|| record.qos_class_sl.qos_class())
}

/// Raw, where the component is in the mask.
#[inline(always)]
fn requested_pkey(mask: PathCompMask, record: &PathRecord) -> Option<u16> {
    mask.has(PathCompMask::PKEY).then(|| record.pkey.get())
}

/// How many paths are wanted. NumbPath counts for tables only; a Get means one, whatever it says.
#[inline(always)]
fn enough(mask: PathCompMask, record: &PathRecord, is_get: bool) -> Enough {
    if is_get {
        Enough::After(1)
    } else if mask.has(PathCompMask::NUMB_PATH) {
        Enough::After(record.numb_path.numb_path())
    } else {
        Enough::Never
    }
}
