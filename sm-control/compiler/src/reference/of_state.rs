//! The reference for the snapshot of a compiled fabric.
//!
//! Apart from the rest, because the reference itself knows no state and no options of OpenSM's:
//! tests build it from parts of their own.

use sa_answer::whole::MAX_RECORDS;

use super::{Reference, ReferenceInputs, ReferenceOptions};
use crate::state::FabricState;

impl FabricState {
    /// The reference for the snapshot that this state gives.
    ///
    /// Cost: one pass over end ports, maps of GUIDs and LIDs.
    pub fn reference(&self) -> Reference<'_> {
        let inputs = ReferenceInputs {
            topology: &self.topology,
            routes: &self.routes,
            policy: self.policy.as_ref(),
            ports: &self.facts,
            partitions: &self.partitions,
            rate_caps: &self.rate_caps,
            off_subnet: &self.off_subnet,
        };
        let options = ReferenceOptions {
            prefix: self.options.subnet_prefix,
            qos: self.qos(),
            packet_life: self.options.subnet_timeout,
            max_rate_code: self.options.max_rate_code(),
            max_rate_enum: self.options.max_rate_enum,
            original_rates_only: self.options.use_original_extended_sa_rates_only,
            sa_key: self.options.sa_key,
            allow_both_pkeys: self.options.allow_both_pkeys,
            most_records: MAX_RECORDS,
        };
        // The aliases of files or of an SA; those that clients set later are not in the state.
        Reference::new(inputs, options).with_aliases(&self.aliases)
    }
}
