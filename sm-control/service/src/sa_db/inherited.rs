//! What another SA has told of its clients, to go on with.
//!
//! ```text
//!  records of the master's SA ──> Inherited::of ──> entries, as a journal has them ──> SaDatabase::inherit ──> groups, services, ..
//!                                  looked through                                     what differs is written to the journal
//! ```
//!
//! It takes the place of all that this database has: whoever was the master last knows what holds. From then on it is as if an earlier
//! process had left it, so a restart has it too. Clients hear of none of it, as nothing changes for them.
//!
//! | record | tells | does not tell |
//! |---|---|---|
//! | MCMemberRecord, with the SA's key | groups that have members, and these | who made a group |
//! | ServiceRecord, with the key | services, keys; of `sapphired` what is left of leases | of OpenSM what is left: the whole lease begins again |
//! | InformInfoRecord, with the key | subscriptions | SL, P_Key index and path bits of the subscriber |
//! | GUIDInfoRecord | alias GUIDs | |
//!
//! Records that cannot be make all of it void: an SA that tells one such may be wrong about others.

use sa_wire::records::{GuidInfoRecord, InformInfoRecord, McMemberRecord, ServiceRecord};

use super::{Aliases, Groups, Journal, Now, SaDatabase, Services, Subscriptions};
use super::{services, subscriptions};

/// Records of clients of another SA. Shape: in the order of its tables, the newest services and subscriptions first.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClientRecords<'a> {
    /// Members of groups.
    pub members: &'a [McMemberRecord],
    /// Services; their leases are what is left.
    pub services: &'a [ServiceRecord],
    /// Subscriptions.
    pub subscriptions: &'a [InformInfoRecord],
    /// GUIDs of ports.
    pub guids: &'a [GuidInfoRecord],
}

/// The same, looked through, in the form of this SA.
#[derive(Debug)]
pub struct Inherited {
    journal: Journal,
}

impl Inherited {
    /// `port`: the number of the port of ours by which subscribers are told. Errors: what is wrong, for a person.
    pub fn of(told: &ClientRecords<'_>, port: usize, now: Now) -> Result<Self, &'static str> {
        if told.services.len() > services::MOST || told.subscriptions.len() > subscriptions::MOST {
            return Err("more services or subscriptions than an SA keeps");
        }
        let mut journal = Journal::in_memory();
        let owners = Aliases::inherit(&mut journal, told.guids);
        let owner = |guid| owners.get(&guid).map(|port| port.get());
        Groups::inherit(&mut journal, told.members, owner)?;
        Services::inherit(&mut journal, told.services, now);
        Subscriptions::inherit(&mut journal, told.subscriptions, port)?;
        Ok(Self { journal })
    }
}

impl SaDatabase {
    /// Goes on with what another SA had, in the place of all that was here. [`Self::commit`] makes it durable; groups of
    /// `partitions.conf` and ports that are gone are seen to by the next [`Self::fabric_changed`].
    pub fn inherit(&mut self, inherited: Inherited, now: Now) {
        let mut journal = inherited.journal;
        Services::keep_ends(&mut journal, &self.journal, now);
        self.groups.leave_well_known(&mut journal);
        self.journal.replace(&journal);
        self.groups.become_those_of(&self.journal);
        self.services = Services::restore(&self.journal, now);
        self.subscriptions = Subscriptions::restore(&self.journal);
        self.aliases = Aliases::restore(&self.journal);
    }
}
