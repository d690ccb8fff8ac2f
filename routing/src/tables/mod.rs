//! What every engine returns: forwarding tables, SL to VL tables, multicast tables.

mod facts;
mod lft;
mod multicast;
mod routes;
pub(crate) mod sl2vl;
mod survivors;

pub use self::facts::{EngineFacts, PathSlRule};
pub use self::lft::{Lft, NO_PATH};
pub use self::multicast::{Branch, MulticastRoute, MulticastTable, MulticastTree, PortSet};
pub use self::routes::{Qos, Routes};
pub use self::sl2vl::GivenSl2Vl;
pub use self::survivors::survivors;
