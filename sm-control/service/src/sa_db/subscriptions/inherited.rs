//! Subscriptions that another SA had, as far as its records tell them.
//!
//! An InformInfoRecord has the GID of a subscriber and its QPN, and not the rest of the address that Reports go to. The LID is that which
//! its port has in the next fabric, the SL that by which it reaches this SM; P_Key index and path bits are 0. A subscriber that asks
//! again is known by LID and QPN, and has its own address from then on.

use sa_compiler::state::FabricState;
use sa_wire::records::InformInfoRecord;

use super::Subscriptions;
use super::entry::Subscription;
use crate::sa_db::Journal;
use crate::sa_db::journal::Kind;

impl Subscriptions {
    /// Puts subscriptions that another SA has told into an empty journal. Shape: the newest first. `port`: the number of ours that
    /// reports leave by. Errors: what is wrong with one.
    pub(in crate::sa_db) fn inherit(
        journal: &mut Journal,
        told: &[InformInfoRecord],
        port: usize,
    ) -> Result<(), &'static str> {
        for (number, record) in (0_u64..).zip(told.iter().rev()) {
            let entry = Subscription::inherited(record, port);
            let entry = entry.ok_or("a subscription without a port")?;
            let key = number.to_be_bytes();
            journal.put(Kind::Subscription, &key, &entry.written());
        }
        Ok(())
    }

    /// Those whose LID and SL nobody has told get what their ports have now.
    pub(super) fn follow(&mut self, parts: &FabricState, journal: &mut Journal) {
        let all = self.entries.iter();
        let inherited = all.filter(|(_, entry)| entry.is_inherited);
        for (number, mut entry) in inherited
            .map(|(number, entry)| (*number, entry.clone()))
            .collect::<Vec<_>>()
        {
            if entry.follow(parts) {
                // It may be another place among the subscribers.
                self.take(number);
                journal.put(Kind::Subscription, &number.to_be_bytes(), &entry.written());
                self.put(number, entry);
            }
        }
    }
}
