//! The proof of multicast trees, kept beside the routes that it is of.
//!
//! Who programs switches for groups asks at each join, and the answer is the same as long as routes and kinds of groups are: so it
//! is made once and remembered. Nothing else of a state changes after it was made; this follows from the rest of it.

use std::sync::{Arc, PoisonError};

use routing::proof::{GroupKinds, GroupProof};

use super::proof::{judge, path_sls};
use crate::state::FabricState;

impl FabricState {
    /// Which trees groups of these kinds may have with the routes of this state.
    /// Cost: a copy of a pointer where the kinds are those of the last call; else [`routing::proof::Judge::prove_groups`].
    pub fn group_proof(&self, kinds: &GroupKinds) -> Arc<GroupProof> {
        // Whoever panicked here has stored nothing by halves.
        let mut last = self
            .last_group_proof
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some((known, proof)) = last.as_ref()
            && known == kinds
        {
            return Arc::clone(proof);
        }
        let judge = judge(self, path_sls(self));
        let proof = Arc::new(judge.prove_groups(self.proven.as_deref(), kinds));
        *last = Some((kinds.clone(), Arc::clone(&proof)));
        proof
    }
}
