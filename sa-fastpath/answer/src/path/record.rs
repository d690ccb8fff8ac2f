//! The answer's PathRecord.
//!
//! Where each field of the 64 bytes comes from:
//!
//! ```text
//!   0  service id  0          24  SGID  as asked, else prefix and GUID
//!   8  DGID   prefix, GUID    40  DLID, SLID  the pair that was granted
//!  44  flow, hop limit        48  traffic class, reversible | NumbPath 0, P_Key
//!  52  QoS class, SL          54  MTU, rate, packet life: selector "exactly" each
//!  57  preference 0 or 2      58  zeros
//! ```

use sa_snapshot::model::Echo;
use sa_snapshot::{PortIx, Snapshot, level_flags};
use sa_wire::Sl;
use sa_wire::path_record::{
    FlowWord, NumbPathByte, PathCompMask, PathRecord, QosClassSl, SelectedValue,
};

use super::ends::gid;
use super::judge::Parameters;
use super::label::{Labels, named_gid};
use super::query::{Direction, PathQuery};
use super::rate::rate_code;

/// Which of a pair's paths a record is for, as far as the record shows it.
///
/// Made by `path::pair` for each record.
#[derive(Debug, Clone, Copy)]
pub(super) struct OfPair {
    pub(super) preference: u8,
    /// The flow labels of the pair, of which each path gets one.
    pub(super) labels: Labels,
    /// Which of the labels, counted from 0 over all paths of the pair.
    pub(super) nth: u32,
}

/// Builds the record.
///
/// The SGID comes back as it was asked for, the DGID always with the subnet's own prefix; service
/// id comes back 0, flow label, QoS class and traffic class too unless the policy says
/// otherwise. Source: OpenSM `osm_sa_path_record.c` (`pr_rcv_build_pr`).
#[inline(always)]
pub(crate) fn build<const RFC: bool>(
    snapshot: &Snapshot,
    query: &PathQuery,
    (source, destination): (PortIx, PortIx),
    (source_lid, destination_lid): (u16, u16),
    parameters: &Parameters,
    reversible: bool,
    of_pair: OfPair,
) -> PathRecord {
    let (from, to) = (snapshot.port(source), snapshot.port(destination));
    // OpenSM's dialect echoes neither.
    let asked_by_gid = query.mask.has(PathCompMask::SGID);
    let (qos_class, tclass) = if RFC {
        classes(snapshot, query, source, (destination, destination_lid))
    } else {
        (0, 0)
    };
    let rate = rate_code(snapshot, parameters.rate, from, to, reversible);
    let dgid = gid(snapshot, to.guid);
    let sgid = if asked_by_gid {
        query.record.sgid
    } else {
        gid(snapshot, from.guid)
    };
    PathRecord {
        service_id: 0.into(),
        dgid,
        sgid,
        dlid: destination_lid.into(),
        slid: source_lid.into(),
        flow: if RFC {
            let ends = (named_gid(snapshot, sgid), dgid);
            of_pair.labels.flow(query, ends, of_pair.nth)
        } else {
            FlowWord::new(0, 0)
        },
        tclass,
        numb_path: if reversible {
            NumbPathByte::REVERSIBLE
        } else {
            NumbPathByte::new(0)
        },
        pkey: parameters.pkey.into(),
        qos_class_sl: QosClassSl::new(qos_class, Sl::from_low_bits(parameters.sl)),
        mtu: SelectedValue::exactly(parameters.mtu),
        rate: SelectedValue::exactly(rate),
        packet_life: packet_life(parameters.packet_life, source == destination),
        preference: of_pair.preference,
        reserved: [0; 6],
    }
}

/// QoS class and traffic class of an answer: as they were asked for, unless the level has its own.
fn classes(
    snapshot: &Snapshot,
    query: &PathQuery,
    source: PortIx,
    destination: (PortIx, u16),
) -> (u16, u8) {
    let (qos_class, tclass) = match snapshot.echo() {
        Echo::None => (None, None),
        Echo::QosClass => (query.requested_qos_class(), None),
        Echo::TClass => (None, query.requested_tclass()),
    };
    // Without such levels nothing has to be matched again.
    if !snapshot.levels_have_tclass() {
        return (qos_class.unwrap_or(0), tclass.unwrap_or(0));
    }
    let rare = query.rare_input(Direction::There);
    let level = query
        .classes
        .and_then(|classes| snapshot.match_rare(source, destination, &classes, &rare))
        .map(|matched| matched.level)
        .filter(|level| level.has(level_flags::TCLASS));
    let tclass = level.map(|level| level.tclass).or(tclass);
    (qos_class.unwrap_or(0), tclass.unwrap_or(0))
}

/// A level's life time is not range-checked, as in OpenSM: its upper bits reach the selector.
#[inline(always)]
const fn packet_life(value: u8, loopback: bool) -> SelectedValue {
    SelectedValue(if loopback { 0x80 } else { 0x80 | value })
}
