//! Second GUIDs of ports, laid out, and put in the place of those of a finished snapshot.
//!
//! A snapshot with other aliases is made in two ways. The compiler puts them into the model. The
//! daemon, when a client sets alias GUIDs, keeps all other sections of the snapshot in service
//! (`with_aliases`), because a change of names must not wait for routing and proof.
//!
//! An alias is kept with the number of ports whose own GUIDs come before it. So "the nth of all
//! GUIDs" is found by a binary search, without a merged table of ports and aliases.

use sa_wire::Guid;
use zerocopy::IntoBytes;

use super::{Builder, count32, file, limit};
use crate::Snapshot;
use crate::epoch::EpochId;
use crate::error::BuildError;
use crate::format::layout::{LIDS, SectionId, parse};
use crate::format::records::{AliasRecord, PortRecord, port_flags};

/// The sections of aliases.
///
/// Both are written for each snapshot, empty where there are no aliases.
pub(super) struct Aliases {
    /// In the order of all GUIDs, as section 35 has them.
    pub(super) records: Vec<AliasRecord>,
    /// Places in `records`, by owner; see `SectionId::AliasesByPort`.
    pub(super) by_port: Vec<u32>,
}

impl Builder<'_> {
    /// Lays out the aliases of the model and flags the ports that have some.
    pub(super) fn aliases(&self, ports: &mut [PortRecord]) -> Result<Aliases, BuildError> {
        // The other way round than `order`: snapshot index by model index.
        let mut places = vec![None; self.order.len()];
        for (ix, place) in self.order.iter().zip(0u16..) {
            if let Some(of_port) = places.get_mut(*ix) {
                *of_port = Some(place);
            }
        }
        let place = |port: usize| places.get(port).copied().flatten().ok_or(NO_PORT);
        let given = self.model.aliases.iter();
        let named = given.map(|(guid, port)| Ok((*guid, place(*port)?)));
        lay_out(named.collect::<Result<_, BuildError>>()?, ports)
    }
}

impl Snapshot {
    /// The same with other alias GUIDs, each with the GUID of its port, and stamped anew.
    /// Cost: copying and verifying, no compilation.
    ///
    /// Errors: `DuplicateAlias`; `Inconsistent` for a port that is not there.
    pub fn with_aliases(
        &self,
        aliases: &[(Guid, Guid)],
        epoch: Option<EpochId>,
        built_unix: u64,
    ) -> Result<Self, BuildError> {
        let bytes = self.as_bytes();
        let mut payloads: Vec<Vec<u8>> = parse(bytes)?
            .iter()
            .map(|range| bytes.get(range.start..range.end).unwrap_or_default().into())
            .collect();
        let named = aliases.iter().map(|(alias, base)| {
            let port = self.port_by_guid(base.get()).ok_or(NO_PORT)?;
            Ok((*alias, port.0))
        });
        let named = named.collect::<Result<_, BuildError>>()?;
        let mut ports = self.sections.ports.to_vec();
        let laid_out = lay_out(named, &mut ports)?;
        // All other sections stay as they are: a change of alias GUIDs must not cost a compilation.
        let mut subnet = self.subnet;
        (subnet.epoch, subnet.built_unix) = (EpochId::raw(epoch), built_unix);
        for (section, payload) in [
            (SectionId::Subnet, subnet.as_bytes()),
            (SectionId::Ports, ports.as_bytes()),
            (SectionId::Aliases, laid_out.records.as_bytes()),
            (SectionId::AliasesByPort, laid_out.by_port.as_bytes()),
        ] {
            if let Some(place) = payloads.get_mut(section as usize) {
                *place = payload.to_vec();
            }
        }
        Ok(Self::from_owned(file::assemble(&payloads))?)
    }
}

/// Shape: GUID and port index; `ports` in order. Flags the ports anew.
fn lay_out(named: Vec<(Guid, u16)>, ports: &mut [PortRecord]) -> Result<Aliases, BuildError> {
    // The bound first, as everything below takes memory for each.
    limit("alias GUIDs", named.len(), MOST_ALIASES)?;
    // A snapshot's ports come with the flags of its old aliases.
    for port in ports.iter_mut() {
        port.flags &= !port_flags::ALIASES;
    }
    let mut records = Vec::with_capacity(named.len());
    for (guid, port) in named {
        // Behind the ports that come before it in the order of all GUIDs: so numbers of GUIDs need
        // no merged table.
        let order = |port: &PortRecord| u64::from_le_bytes(port.guid);
        let before = ports.partition_point(|port| order(port) < guid.map_order());
        let own = ports
            .get(before)
            .is_some_and(|port| port.guid() == Some(guid));
        if own {
            return Err(BuildError::DuplicateAlias(guid));
        }
        if let Some(owner) = ports.get_mut(usize::from(port)) {
            owner.flags |= port_flags::ALIASES;
        }
        let before = u16::try_from(before).unwrap_or(u16::MAX);
        let record = AliasRecord {
            guid: guid.get().to_be_bytes(),
            port,
            before,
        };
        records.push((guid, record));
    }
    records.sort_unstable_by_key(|(guid, _)| guid.map_order());
    for pair in records.windows(2) {
        if let [(one, _), (other, _)] = pair
            && one == other
        {
            return Err(BuildError::DuplicateAlias(*one));
        }
    }
    let records: Vec<AliasRecord> = records.into_iter().map(|(_, record)| record).collect();
    let mut by_port: Vec<u32> = (0..count32(records.len())).collect();
    // Stable, so that those of one port stay in order.
    by_port.sort_by_key(|place| {
        let place = usize::try_from(*place).unwrap_or(usize::MAX);
        records.get(place).map(|alias| alias.port)
    });
    Ok(Aliases { records, by_port })
}

/// An alias of a port that the model, or the snapshot, does not have.
const NO_PORT: BuildError = BuildError::Inconsistent {
    what: "the port of an alias GUID",
};

/// As many as all ports together may have: a GUID table has 255 places at most.
const MOST_ALIASES: usize = LIDS * 255;
