//! How a policy is to be read where the file itself does not say.
//!
//! Each is a choice of the operator; the default of each is what a plain file of its dialect means.

use super::dialect::Dialect;
use super::semantics::{Echo, ScopePrecedence, Semantics, ServiceIdEncoding};
use crate::services::UlpNames;

/// What the file itself does not say.
/// Handed to the parser once; what follows from it is kept in [`crate::Policy::semantics`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseOptions {
    /// The largest rate code accepted in `rate-limit`: 22 in OpenSM 3.3.23, 24 in 3.3.24.
    /// A code above it is an error in OpenSM's dialect, and leaves the level without a rate limit
    /// in the others.
    pub max_rate_code: u8,
    /// In place of the dialect's own, as are the next ones.
    pub endpoint_mask_required: Option<bool>,
    /// Which of several scopes counts, see [`Semantics::scope_precedence`].
    pub scope_precedence: Option<ScopePrecedence>,
    /// Where requests have their service id, see [`Semantics::service_id_encoding`].
    pub service_id_encoding: Option<ServiceIdEncoding>,
    /// What comes back in answers, see [`Semantics::echo`].
    pub echo: Option<Echo>,
    /// RFC dialects: a name that no group has means the members of the partition of that name.
    /// Off by default: neither RFC says so, and a typing error in a group would go unnoticed.
    pub partitions_as_groups: bool,
    /// Read what neither OpenSM nor the RFCs have: services by name, `ulp`, `reserved-sl`.
    /// Off, the file is refused where OpenSM would refuse it.
    pub extensions: bool,
    /// Names that services may be called by.
    /// Those built in, and what a file of services adds.
    pub ulp_names: UlpNames,
}

impl ParseOptions {
    /// How a policy in this dialect is meant.
    /// Options go before the dialect, each by itself.
    pub fn semantics(&self, dialect: Dialect) -> Semantics {
        let own = Semantics::of(dialect);
        Semantics {
            endpoint_mask_required: self
                .endpoint_mask_required
                .unwrap_or(own.endpoint_mask_required),
            scope_precedence: self.scope_precedence.unwrap_or(own.scope_precedence),
            service_id_encoding: self.service_id_encoding.unwrap_or(own.service_id_encoding),
            echo: self.echo.unwrap_or(own.echo),
        }
    }
}

impl Default for ParseOptions {
    /// Everything as the dialect has it.
    fn default() -> Self {
        Self {
            // The release that Debian ships, and the lower of the two limits.
            max_rate_code: 22,
            endpoint_mask_required: None,
            scope_precedence: None,
            service_id_encoding: None,
            echo: None,
            partitions_as_groups: false,
            extensions: true,
            ulp_names: UlpNames::default(),
        }
    }
}
