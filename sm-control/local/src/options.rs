//! What a configuration says of how the kernel is answered.

use std::num::{NonZeroU32, NonZeroUsize};
use std::str::FromStr;

use sa_wire::SubnetPrefix;
use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer};

/// `[local_service.cache]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CacheSection {
    /// Paths kept, at most.
    pub paths: NonZeroUsize,
    /// How long one is kept. Units: s.
    pub keep_s: u32,
    /// How long it is kept that there is none. Units: ms.
    pub keep_failure_ms: u32,
    /// How long the SA may take; later the kernel is told to ask itself. Units: ms.
    pub budget_ms: NonZeroU32,
    /// Questions to the SA at a time.
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

const PATHS: NonZeroUsize = NonZeroUsize::new(65_536).unwrap();
const BUDGET: NonZeroU32 = NonZeroU32::new(50).unwrap();

/// `[[local_service.far_subnet]]`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FarSubnet {
    /// The upper half of its GIDs.
    #[serde(deserialize_with = "prefix")]
    pub prefix: SubnetPrefix,
    /// LID, there, of the router that leads back here.
    pub router_lid: u16,
}

/// As in `fec0:0:0:1::/64`.
fn prefix<'de, D: Deserializer<'de>>(from: D) -> Result<SubnetPrefix, D::Error> {
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
