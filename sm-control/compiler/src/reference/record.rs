//! The record that describes a path.

use sa_wire::path_record::{FlowWord, NumbPathByte, PathRecord, QosClassSl, SelectedValue};

use super::Reference;
use super::parameters::{Parameters, Place};
use super::rates;
use super::request::Request;

/// "Exactly", in the two bits of a selector.
const EXACTLY: u8 = 0x80;

impl Reference<'_> {
    /// Nothing of the request comes back but its SGID, a DGID of another subnet and what the parameters kept of it.
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
        let rate = by_options.unwrap_or_else(|| {
            let caps = |place: Place| self.inputs.rate_caps[place.port.index()];
            let rate = rates::fixed_up(parameters.rate, caps(from));
            match reversible {
                true => rates::fixed_up(rate, caps(to)),
                false => rate,
            }
        });
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
