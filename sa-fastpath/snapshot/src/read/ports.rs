//! End ports: by index, GUID, GID and LID. Nothing is searched for that depends only on the fabric.
//!
//! A port's index is its place in the order of GUIDs, so it means nothing without its snapshot, and
//! the same port may have another index in the next one. Two tables lead to it: by LID, 49,152
//! entries of two bytes; by GUID, a hash table at most half full. Both hold index + 1, so that 0 is
//! "nobody".
//!
//! There are two forms of most lookups. Those that give a [`PortIx`] are for code that keeps it or
//! compares it; those that give the record (`record_by_...`) are for common requests, which read
//! the record anyway.
//!
//! A GID is looked up by its lower half, once its prefix is known to be this subnet's.

use sa_wire::Lid;

use crate::Snapshot;
use crate::epoch::EpochId;
use crate::format::records::{NO_PORT, PortIx, PortRecord, SubnetRecord};

impl Snapshot {
    /// Options of the subnet.
    pub fn subnet(&self) -> &SubnetRecord {
        &self.subnet
    }

    /// LID of the port that the SM runs on, where it is known.
    pub fn sm_lid(&self) -> Option<Lid> {
        Lid::new(self.subnet.sm_lid).ok()
    }

    /// Epoch that it was published under; none where it never was.
    pub fn epoch(&self) -> Option<EpochId> {
        EpochId::new(self.subnet.epoch)
    }

    /// How many end ports there are.
    pub fn port_count(&self) -> usize {
        self.sections.ports.len()
    }

    /// All end ports, in the order of `Guid::map_order`.
    pub fn ports(&self) -> impl Iterator<Item = (PortIx, &PortRecord)> {
        (0u16..)
            .zip(self.sections.ports.iter())
            .map(|(ix, port)| (PortIx(ix), port))
    }

    /// The end port with this place in [`Self::ports`].
    pub fn nth_port(&self, nth: u64) -> Option<PortIx> {
        let ix = u16::try_from(nth).ok()?;
        (usize::from(ix) < self.port_count()).then_some(PortIx(ix))
    }

    /// The record behind an index.
    #[inline(always)]
    pub fn port(&self, ix: PortIx) -> &PortRecord {
        // An index made by another snapshot names nothing rather than panicking.
        self.sections
            .ports
            .get(usize::from(ix.0))
            .unwrap_or(&NO_PORT)
    }

    /// The end port with this GUID, host order: raw, as requests have it, since no port has 0.
    #[inline(always)]
    pub fn port_by_guid(&self, guid: u64) -> Option<PortIx> {
        let (ix, _) = self.find_guid(guid.to_be_bytes())?;
        u16::try_from(ix).ok().map(PortIx)
    }

    /// See `Sections::find_guid`.
    #[inline(always)]
    fn find_guid(&self, guid: [u8; 8]) -> Option<(usize, &PortRecord)> {
        self.sections.find_guid(&self.subnet, guid)
    }

    /// The end port that owns this LID; none for LIDs nobody owns, 0 and multicast LIDs: raw, as
    /// requests have it, since the table refuses what [`Lid::new`] would.
    #[inline(always)]
    pub fn port_by_lid(&self, lid: u16) -> Option<PortIx> {
        self.sections
            .lid_ports
            .get(usize::from(lid))?
            .checked_sub(1)
            .map(PortIx)
    }

    /// The end port with this GID of the subnet. Shape: wire bytes. None for GIDs with another
    /// prefix too, link-local ones included where that is not the subnet's own.
    #[inline(always)]
    pub fn record_by_own_gid(&self, gid: &[u8; 16]) -> Option<&PortRecord> {
        // Prefix and GUID as words: two comparisons instead of sixteen.
        let (prefix, guid) = gid.split_first_chunk::<8>()?;
        if u64::from_ne_bytes(*prefix) != self.derived.prefix {
            return None;
        }
        self.find_guid(*guid.first_chunk()?).map(|(_, port)| port)
    }

    /// The end port that owns this LID, as [`Self::port_by_lid`].
    #[inline(always)]
    pub fn record_by_lid(&self, lid: u16) -> Option<&PortRecord> {
        let entry = usize::from(*self.sections.lid_ports.get(usize::from(lid))?);
        // 0 becomes the largest number, which no port has.
        self.sections.ports.get(entry.wrapping_sub(1))
    }
}
