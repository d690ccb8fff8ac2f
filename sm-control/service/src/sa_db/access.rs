//! Who holds which P_Key. Source: OpenSM `osm_pkey.c`.
//!
//! OpenSM asks "does this port have this P_Key" in several places, and ignores the membership bit:
//! a limited member belongs to a partition like a full one. P_Keys of value 0 or 0x8000 name no
//! partition, and everybody has them.
//!
//! ```text
//!  table ffff 8001        has(0001), has(8001): yes, partition 1      has(0002): no      has(0000): yes
//!  with allow_both_pkeys  has(8001): no, it is a full member only     has(0001) the same
//! ```

use sa_fabric::PortRef;
use sa_wire::Pkey;

use crate::records::View;

/// The P_Keys of a port, read once to be asked several times.
#[derive(Debug)]
pub(super) struct Holder {
    table: Vec<u16>,
    /// Of the option of this name.
    allow_both: bool,
}

impl Holder {
    pub(super) fn new(view: &View<'_>, at: PortRef) -> Self {
        Self {
            table: view.pkey_table(at),
            allow_both: view.parts.options.allow_both_pkeys,
        }
    }

    /// True when the port belongs to the partition, one way or the other; of a P_Key without a
    /// partition always.
    ///
    /// With `allow_both_pkeys`, OpenSM looks for the limited P_Key alone.
    pub(super) fn has(&self, raw: u16) -> bool {
        let base = raw & !Pkey::FULL_BIT;
        let is_it = |key: &u16| match self.allow_both {
            // OpenSM looks in its map of limited keys there.
            true => *key == base,
            false => key & !Pkey::FULL_BIT == base,
        };
        base == 0 || self.table.iter().any(is_it)
    }
}
