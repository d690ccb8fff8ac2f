//! The record that describes a path.
//!
//! All bits that a path does not decide are 0. Values carry the selector "exactly". QoSClass and
//! TClass come back only where the policy says so, the SGID as it was sent (its prefix may be the
//! link-local one), the DGID rebuilt unless it is another subnet's.
//!
//! | field | from |
//! |---|---|
//! | DGID, SGID | subnet prefix and GUID; SGID as sent, DGID as sent for another subnet |
//! | DLID, SLID | the pair of LIDs |
//! | flow label, hop limit | 0, 0; hop limit 255 to another subnet; labels are put in afterwards |
//! | TClass, QoSClass | 0, unless the policy echoes them |
//! | NumbPath | reversible bit alone |
//! | P_Key, SL, MTU, rate, life time | parameters; life time 0 within a port |
//! | preference | 0 or 2, by the offsets of the LIDs |

use sa_wire::path_record::{FlowWord, NumbPathByte, PathRecord, QosClassSl, SelectedValue};

use super::Reference;
use super::parameters::{Parameters, Place};
use super::rates;
use super::request::Request;

/// "Exactly", in the two bits of a selector.
const EXACTLY: u8 = 0x80;

impl Reference<'_> {
    /// Nothing of the request comes back but its SGID, a DGID of another subnet and what the
    /// parameters kept of it.
    ///
    /// Rates that an end cannot name are lowered: the source's capabilities always count, the
    /// destination's if the path is reversible.
    pub(super) fn record(
        &self,
        request: &Request,
        from: Place,
        to: Place,
        parameters: &Parameters,
        reversible: bool,
        preference: u8,
    ) -> PathRecord {
        let (newest, original_only) =
            (self.options.max_rate_enum, self.options.original_rates_only);
        let by_options = rates::by_options(parameters.rate, newest, original_only);
        // Options of the SM go before what ports can name: with one, ports are not asked.
        let rate = by_options.unwrap_or_else(|| {
            let caps = |place: Place| self.inputs.rate_caps[place.port.index()];
            let rate = rates::fixed_up(parameters.rate, caps(from));
            match reversible {
                true => rates::fixed_up(rate, caps(to)),
                false => rate,
            }
        });
        // By port and not by LID: two LIDs of one port are no distance.
        let is_loopback = from.port == to.port;
        let packet_life = if is_loopback {
            0
        } else {
            parameters.packet_life
        };
        // To another subnet the path is the one to the router, but for two fields.
        let elsewhere = request.dgid.filter(|gid| !self.is_here(*gid));
        let hop_limit = if elsewhere.is_some() { 255 } else { 0 };
        PathRecord {
            dgid: elsewhere.unwrap_or_else(|| self.gid(to.guid)).0,
            flow: FlowWord::new(0, hop_limit),
            sgid: request.sgid.unwrap_or_else(|| self.gid(from.guid)).0,
            dlid: to.lid.into(),
            slid: from.lid.into(),
            // Only the reversible bit: NumbPath is 0 in answers.
            numb_path: NumbPathByte(if reversible { 0x80 } else { 0 }),
            pkey: parameters.pkey.into(),
            tclass: parameters.tclass,
            qos_class_sl: QosClassSl(
                (parameters.qos_class << 4 | u16::from(parameters.sl.get())).into(),
            ),
            mtu: SelectedValue(EXACTLY | parameters.mtu),
            rate: SelectedValue(EXACTLY | rate),
            packet_life: SelectedValue(EXACTLY | packet_life),
            preference,
            ..PathRecord::default()
        }
    }
}
