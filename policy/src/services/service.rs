//! A service that somebody asks about.
//!
//! The opposite of criteria: not all that a rule could match, but the one thing that a request
//! would say. Used by `explain` and by queries.
//!
//! ```text
//! nfs, tcp:4420, 0x1064e51      one service id
//! ipoib pkey 0x8001             a P_Key, and no id
//! mpi                           nothing: it does not ask
//! tcp                           an error: 65,536 ids
//! ```

use sa_wire::ServiceId;

use super::names::{Meaning, UlpNames};
use super::scan::Scan;
use crate::error::{UlpError, UlpProblem};

/// What a request for a path names when it is for this service.
/// A tool makes the fields of a request of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Service {
    /// A service id, with both bits of the component mask.
    Id(ServiceId),
    /// The P_Key of its partition, and no id.
    Partition {
        /// Of the default partition, or of the one that was named.
        pkey: u16,
    },
    /// Nothing; it likely does not even ask. By its name, in lower case.
    Silent(String),
}

impl UlpNames {
    /// One service: a number, `nfs`, `tcp:4420`, `tcp port 4420`, `rdma-cm tcp 4420`, `ipoib`,
    /// `ipoib pkey 0x8001`, `mpi`.
    ///
    /// Errors: no such name; one that stands for many ids.
    /// `rds` has two ids and stands for the usual one; `tcp` alone stands for too many.
    pub fn service(&self, text: &str) -> Result<Service, UlpError> {
        let mut scan = Scan::new(text);
        if scan.is_at_number() {
            let (id, last) = scan.range("service id", u64::MAX)?;
            // A range of ids is no id, even in words of numbers.
            return if scan.is_at_end() && id == last {
                Ok(Service::Id(ServiceId(id)))
            } else {
                Err(scan.unexpected("one service id, or the name of a service"))
            };
        }
        let name = text.trim();
        if let Some(ulp) = self.find(name) {
            match &ulp.meaning {
                Meaning::Silent => return Ok(Service::Silent(ulp.name.clone())),
                Meaning::Partition => return Ok(Service::Partition { pkey: 0xffff }),
                // Of several ids the usual one comes first.
                Meaning::Ids { ids, .. } => {
                    if let Some((id, _)) = ids.first().filter(|(low, high)| low == high) {
                        return Ok(Service::Id(ServiceId(*id)));
                    }
                }
                _ => {}
            }
        }
        self.one(text)
    }

    /// A name with numbers. Errors: it stands for many ids, of which a request can name one.
    fn one(&self, text: &str) -> Result<Service, UlpError> {
        use super::criteria::Criteria;
        let (is_id, found) = match self.criteria(text)? {
            Criteria::ServiceIds(ids) => (true, ids),
            Criteria::Pkeys(bases) => (false, bases),
        };
        // Saturating: a port space has 65,536, ids may be all of 64 bits.
        let counts = found
            .iter()
            .map(|(low, high)| (high - low).saturating_add(1));
        let count = counts.fold(0, u64::saturating_add);
        match (found.first(), count) {
            (Some((id, _)), 1) if is_id => Ok(Service::Id(ServiceId(*id))),
            // Paths are asked for with the full member's P_Key.
            (Some((base, _)), 1) => Ok(Service::Partition {
                pkey: u16::try_from(*base).unwrap_or(0x7fff) | 0x8000,
            }),
            _ => Err(UlpError {
                at: 0,
                length: text.len(),
                problem: UlpProblem::Many {
                    name: text.trim().to_owned(),
                    count,
                },
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_one_id_or_none() {
        let names = UlpNames::default();
        for (text, id) in [
            ("nfs", 0x106_4e51),
            ("tcp:4420", 0x106_1144),
            ("rdma-cm tcp 20049", 0x106_4e51),
            ("rds", 0x106_48ca),
            (" iser ", 0x106_0cbc),
            ("0x1061144", 0x106_1144),
            ("22", 22),
            ("ipoib-cm qpn 72", 0x1000_0000_0000_0048),
        ] {
            assert_eq!(
                names.service(text),
                Ok(Service::Id(ServiceId(id))),
                "{text}"
            );
        }
        assert_eq!(names.service("MPI"), Ok(Service::Silent("mpi".into())));
        assert_eq!(
            names.service("ipoib"),
            Ok(Service::Partition { pkey: 0xffff })
        );
        assert_eq!(
            names.service("ipoib pkey 1"),
            Ok(Service::Partition { pkey: 0x8001 })
        );
        for (text, words) in [
            ("tcp", "'tcp' stands for 65536 service ids"),
            ("nfs,iser", "'nfs,iser' stands for 2 service ids"),
            ("srp", "service ids of 'srp' are chosen by each target"),
            ("nfz", "no service is called 'nfz'"),
            (
                "1-2",
                "expected one service id, or the name of a service, found the end",
            ),
        ] {
            assert_eq!(names.service(text).unwrap_err().to_string(), words);
        }
    }
}
