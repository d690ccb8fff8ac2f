//! Names of ids.
//!
//! For people who look at a 64-bit number: `0x1064e51` is shown as `nfs`, `0x1061145` as
//! `tcp:4421`, and one of nobody's with a word about who hands out such ids.
//!
//! ```text
//! 0x1064e51             nfs                         a name of the table
//! 0x1061145             tcp:4421                    a port of a known space
//! 0x1000000000000048    ipoib-cm qpn 0x48
//! 0x0200000000000007    no known service, assigned by its host
//! ```

use sa_wire::ServiceId;

use super::names::{Meaning, Ulp, UlpNames};
use super::space::{Assigner, PortSpace, ipoib_cm_qpn};

impl UlpNames {
    /// The name of an id, which [`Self::ids`] reads back: `nfs`, `tcp:4421`. Of several names the
    /// one with the fewest ids.
    /// None for ids that are in no port space and under no name.
    pub fn name(&self, id: ServiceId) -> Option<String> {
        let named = self
            .entries()
            .iter()
            .filter_map(|ulp| Some((width(ulp, id)?, ulp)));
        // The narrowest: `scratch` with four ports says more than a name for a thousand.
        if let Some((_, ulp)) = named.min_by_key(|(width, _)| *width) {
            return Some(ulp.name.clone());
        }
        if let Some((space, port)) = PortSpace::of(id) {
            return Some(format!("{space}:{port}"));
        }
        ipoib_cm_qpn(id).map(|qpn| format!("ipoib-cm qpn 0x{qpn:x}"))
    }

    /// The name of an id, or else who hands out such ids.
    pub fn describe(&self, id: ServiceId) -> String {
        let name = self.name(id);
        name.unwrap_or_else(|| match Assigner::of(id) {
            Some(assigner) => format!("no known service, {assigner}"),
            None => String::from("in no known space of service ids"),
        })
    }

    /// True for an id that looks like a mistake: in no port space and by no name, and neither
    /// handed out by somebody nor as long as the GUID that an SRP target may have for it.
    /// For lint: rules by such ids are mostly typing errors.
    pub fn is_wild(&self, id: ServiceId) -> bool {
        let known = self.name(id).is_some();
        // A 32-bit number that is in no port space.
        let is_short = id.0 > 0xffff && id.0 <= LAST_SHORT;
        !known && (is_short || Assigner::of(id).is_none())
    }
}

/// How many ids an entry has besides this one, if it has this one.
fn width(ulp: &Ulp, id: ServiceId) -> Option<u64> {
    let Meaning::Ids { ids, .. } = &ulp.meaning else {
        return None;
    };
    let mut holding = ids
        .iter()
        .filter(|(low, high)| (*low..=*high).contains(&id.0));
    holding.next()?;
    let widths = ids.iter().map(|(low, high)| (high - low).saturating_add(1));
    Some(widths.fold(0, u64::saturating_add))
}

/// Port spaces lie below, GUIDs above.
const LAST_SHORT: u64 = 0xffff_ffff;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_get_names_that_are_read_back() {
        let names = UlpNames::default();
        for (id, name) in [
            (0x106_4e51, "nfs"),
            (0x106_0cbc, "iser"),
            (0x106_48ca, "rds"),
            (0x106_4001, "rds"),
            (0x106_1144, "nvmeof"),
            (0x106_1f49, "nvmeof-discovery"),
            (0x106_03db, "lustre"),
            (0x106_01bd, "smbd"),
            (0x106_0001, "tcp:1"),
            (0x1_1388, "sdp:5000"),
            (0x2_0001, "rdma-ipoib:1"),
            (0x111_ffff, "udp:65535"),
            (0x13f_0010, "ib:16"),
            (0x1000_0000_0000_0048, "ipoib-cm qpn 0x48"),
        ] {
            assert_eq!(names.name(ServiceId(id)).as_deref(), Some(name));
            let read = names.ids(name).unwrap();
            assert!(read.contains(&(id, id)), "{name}");
        }
    }

    #[test]
    fn unknown_ids_tell_whose_they_may_be() {
        let names = UlpNames::default();
        for (id, words, is_wild) in [
            (0x22, "no known service, IBTA's space", false),
            (0x107_0000, "no known service, IBTA's space", true),
            (
                0x0002_c902_0040_2bd4,
                "no known service, IBTA's space",
                false,
            ),
            (
                0x0100_0000_0000_0001,
                "no known service, another organisation's space",
                false,
            ),
            (
                0x0200_0000_0000_0001,
                "no known service, assigned by its host",
                false,
            ),
            (
                0x1000_0000_0100_0000,
                "no known service, IETF's space",
                false,
            ),
            (
                0x7000_0000_0000_0000,
                "in no known space of service ids",
                true,
            ),
        ] {
            assert_eq!(names.describe(ServiceId(id)), words);
            assert_eq!(names.is_wild(ServiceId(id)), is_wild, "{id:#x}");
        }
    }
}
