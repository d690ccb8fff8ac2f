//! What every engine returns: forwarding tables, SL to VL tables, multicast tables.

mod lft;
mod multicast;
mod routes;
pub(crate) mod sl2vl;
mod survivors;

pub use self::lft::{Lft, NO_PATH};
pub use self::multicast::{MulticastTable, PortSet};
pub use self::routes::{Engine, Qos, Routes};
pub use self::sl2vl::GivenSl2Vl;
pub use self::survivors::survivors;
