//! A directed route.

use core::fmt;
use std::sync::Arc;

use sa_wire::smp::MOST_HOPS;

/// Output ports from this SM's port on, hop by hop. Shape: at most [`MOST_HOPS`]; empty for the SM's own node. Cheap
/// to copy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Route(Arc<[u8]>);

impl Route {
    /// A way of so many hops. `None` where it is too long for an SMP.
    pub fn new(ports: &[u8]) -> Option<Self> {
        (ports.len() <= MOST_HOPS).then(|| Self(ports.into()))
    }

    /// One hop more. `None` where that is too long.
    pub fn then(&self, port: u8) -> Option<Self> {
        let longer: Vec<u8> = self.0.iter().copied().chain([port]).collect();
        Self::new(&longer)
    }

    /// Output ports, the SM's own first.
    pub fn ports(&self) -> &[u8] {
        &self.0
    }
}

/// `1,4,2` as `ibroute` and `smpquery -D` write it behind their `0,`.
impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0")?;
        self.0.iter().try_for_each(|port| write!(f, ",{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_route_is_longer_than_an_smp_holds() {
        let longest = Route::new(&[1; 63]).unwrap();
        assert_eq!(longest.then(1), None);
        assert_eq!(Route::new(&[1; 64]), None);
        let two = Route::new(&[3]).and_then(|it| it.then(7)).unwrap();
        assert_eq!(two.to_string(), "0,3,7");
    }
}
