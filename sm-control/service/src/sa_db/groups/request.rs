//! What a request says of a group.
//!
//! Two rules with different names: a group *suits* when everything that is compared for equality
//! agrees, and *fits* when MTU and rate are within what the selectors ask. A join asks the first
//! before a group is made, the second after.
//!
//! Rates are compared by speed, not by code: code 2 is 2.5 Gb/s, 5 is 5, 3 is 10, and codes from 11
//! on came later. [`Rates::rank`] has the order.

use sa_fabric::options::OpenSmOptions;
use sa_wire::mad::Status;
use sa_wire::path_record::SelectedValue;
use sa_wire::records::{McMemberCompMask, McMemberRecord};
use sa_wire::{Mtu, Pkey, Rate, Selector};
use zerocopy::FromBytes;

use super::super::Asked;

/// A record, and which of its components count. Decoded: its rate and MTU are such that there are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) mask: McMemberCompMask,
    pub(super) record: McMemberRecord,
    pub(super) rates: Rates,
}

/// The rates that the SM knows, by its options. Units: codes. Which are handed out, and in which
/// order they are faster: two different things, as codes were given in the order of the
/// specification's versions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rates {
    /// The largest code that the SM hands out, by its options.
    newest: u8,
    /// Rates from 28 Gb/s on are not handed out.
    original_only: bool,
}

impl Rates {
    /// As the SM's options have them.
    fn of(options: &OpenSmOptions) -> Self {
        Self {
            newest: options.max_rate_code(),
            original_only: options.use_original_extended_sa_rates_only,
        }
    }

    /// Whether a code is a rate that this SM hands out.
    const fn knows(self, code: u8) -> bool {
        code >= Rate::SDR_1X.code() && code <= self.newest
    }

    /// Place in the order of speeds; what is no rate comes first.
    pub(super) fn rank(code: u8) -> u8 {
        Rate::from_code(code).map_or(0, |rate| rate.rank().get())
    }

    /// The next slower one; none below the slowest.
    pub(super) fn previous(code: u8) -> Option<u8> {
        (2..=24).find(|slower| Self::rank(*slower) + 1 == Self::rank(code))
    }

    /// What a group with this rate gets. With `use_original_extended_sa_rates_only` newer rates
    /// become the nearest slower one that older clients know.
    pub(super) const fn granted(self, code: u8) -> u8 {
        match code {
            _ if !self.original_only => code,
            19 => 15,
            20 => 7,
            21.. => 18,
            _ => code,
        }
    }
}

impl Request {
    /// Reads a request. Errors: the status for too few components, and for values that no group can
    /// have.
    pub(super) fn decode(asked: &Asked<'_>) -> Result<Self, Status> {
        let (record, _) =
            McMemberRecord::ref_from_prefix(&asked.mad.data).map_err(|_| Status::REQ_INVALID)?;
        let request = Self {
            mask: McMemberCompMask(asked.mad.sa.component_mask.get()),
            record: *record,
            rates: Rates::of(&asked.parts.options),
        };
        // MGID, PortGID and JoinState: without them nobody knows what is meant.
        if request.changes(asked) && !request.mask.has_all(McMemberCompMask::JOIN) {
            return Err(Status::REQ_INSUFFICIENT_COMPONENTS);
        }
        let both = |bits| request.mask.has_all(bits);
        let is_rate = request.rates.knows(record.rate.value());
        let is_mtu = Mtu::from_code(record.mtu.value()).is_ok();
        let bad_rate = both(McMemberCompMask::RATE_PAIR) && !is_rate;
        let bad_mtu = both(McMemberCompMask::MTU_PAIR) && !is_mtu;
        match bad_rate || bad_mtu {
            true => Err(Status::REQ_INVALID),
            false => Ok(request),
        }
    }

    /// Whether it is a Set or Delete, which must name what they are about.
    fn changes(&self, asked: &Asked<'_>) -> bool {
        use sa_wire::mad::method;
        matches!(asked.mad.mad.method, method::SET | method::DELETE)
    }

    /// A group is as asked in what is compared for equality. P_Keys of one partition are equal
    /// where one is a full member's.
    pub(super) fn suits(&self, group: &McMemberRecord) -> bool {
        let own = &self.record;
        let same = [
            (McMemberCompMask::Q_KEY, own.q_key == group.q_key),
            (
                McMemberCompMask::PKEY,
                share(own.pkey.get(), group.pkey.get()),
            ),
            (McMemberCompMask::TCLASS, own.tclass == group.tclass),
            (McMemberCompMask::SL, own.sl() == group.sl()),
            (
                McMemberCompMask::FLOW_LABEL,
                own.flow_label() == group.flow_label(),
            ),
            (
                McMemberCompMask::HOP_LIMIT,
                own.hop_limit() == group.hop_limit(),
            ),
        ];
        same.iter()
            .all(|(bits, same)| !self.mask.has(*bits) || *same)
    }

    /// A group's MTU and rate are as asked. The selectors alone say that they count: OpenSM does
    /// not ask for the value's bit.
    pub(super) fn fits(&self, group: &McMemberRecord) -> bool {
        let fits = |bits, wanted: SelectedValue, has: SelectedValue, rank: fn(u8) -> u8| {
            let (wanted, has, selector) =
                (rank(wanted.value()), rank(has.value()), wanted.selector());
            !self.mask.has(bits)
                || match selector {
                    Selector::Greater => has > wanted,
                    Selector::Less => has < wanted,
                    Selector::Exactly => has == wanted,
                    Selector::Best => true,
                }
        };
        let own = &self.record;
        fits(McMemberCompMask::MTU_SELECTOR, own.mtu, group.mtu, |code| {
            code
        }) && fits(
            McMemberCompMask::RATE_SELECTOR,
            own.rate,
            group.rate,
            Rates::rank,
        )
    }
}

/// Two P_Keys of one partition, of which one is a full member's.
const fn share(one: u16, other: u16) -> bool {
    (one ^ other) & !Pkey::FULL_BIT == 0 && (one | other) & Pkey::FULL_BIT != 0
}
