//! What a configuration says of how the kernel is answered: the parts of `[local_service]` that
//! this crate reads itself.
//!
//! ```toml
//! [local_service.cache]          # with paths = "sa"
//! paths = 65536
//! keep_s = 300
//! budget_ms = 50
//!
//! [[local_service.far_subnet]]   # one for each subnet behind a router
//! prefix = "fec0:0:0:1::/64"
//! router_lid = 77
//! ```

use std::num::{NonZeroU32, NonZeroUsize};
use std::str::FromStr;

use sa_wire::SubnetPrefix;
use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer};

/// `[local_service.cache]`: how the SA is asked, and how long its answers are kept. Read where
/// `paths = "sa"` says that the SA is asked at all.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CacheSection {
    /// Paths kept, at most. [`crate::kept::Kept`] says what they take.
    pub paths: NonZeroUsize,
    /// How long one is kept. Units: s. 0 keeps none. It is the only bound where the SA cannot say
    /// which snapshot it serves.
    pub keep_s: u32,
    /// How long it is kept that there is none. Units: ms.
    pub keep_failure_ms: u32,
    /// How long the SA may take; later the kernel is told to ask itself. Units: ms. It should be
    /// well below the kernel's own timeout, which is never less than 100 ms.
    pub budget_ms: NonZeroU32,
    /// Questions to the SA at a time, each in a thread of its own. 0 counts as 1.
    pub askers: u32,
}

impl Default for CacheSection {
    fn default() -> Self {
        Self {
            paths: PATHS,
            keep_s: 300,
            keep_failure_ms: 2000,
            budget_ms: BUDGET,
            askers: 4,
        }
    }
}

/// 65,536: every destination of a large fabric for one service, or a thousand for 64.
const PATHS: NonZeroUsize = NonZeroUsize::new(65_536).unwrap();
/// 50 ms: half of the shortest time that a kernel can be told to wait.
const BUDGET: NonZeroU32 = NonZeroU32::new(50).unwrap();

/// `[[local_service.far_subnet]]`: a subnet behind a router, to which connections need the way back
/// too.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FarSubnet {
    /// The upper half of its GIDs, by which a destination is found to be there.
    #[serde(deserialize_with = "prefix")]
    pub prefix: SubnetPrefix,
    /// LID, in that subnet, of the router that leads back here. No SA of this subnet knows it, so
    /// the operator has to say it.
    pub router_lid: u16,
}

/// A subnet prefix as in `fec0:0:0:1::/64`; the length may be left out. Bits in the lower half are
/// an error, because they would be a GID where a prefix is meant.
///
/// For serde's `deserialize_with`.
pub fn prefix<'de, D: Deserializer<'de>>(from: D) -> Result<SubnetPrefix, D::Error> {
    let word = String::deserialize(from)?;
    let address = word.strip_suffix("/64").unwrap_or(&word);
    let address = std::net::Ipv6Addr::from_str(address).ok();
    let halves = address.map(|address| address.to_bits());
    let only_upper = halves.filter(|bits| bits << 64 == 0);
    let upper = only_upper.and_then(|bits| u64::try_from(bits >> 64).ok());
    upper.map(SubnetPrefix).ok_or_else(|| {
        let expected = "a subnet prefix such as \"fec0:0:0:1::/64\"";
        D::Error::invalid_value(Unexpected::Str(&word), &expected)
    })
}
