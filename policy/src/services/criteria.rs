//! What rules match when they name ULPs.
//!
//! ```text
//! nfs, tcp:4420-4430            service ids 0x1064e51, 0x1061144 to 0x106114e
//! ipoib pkey 0x8001             P_Key base 1, and no service id
//! nfs, ipoib                    an error: no request has both
//! ```
//!
//! A list of names is an "or": one rule for several protocols. It becomes numbers of one field, so
//! that everything behind the parser sees a rule like any other, and nothing is slower for having
//! names.

use super::names::{Meaning, Ulp, UlpNames};
use super::scan::Scan;
use super::space::{IPOIB_CM, LAST_QPN, PortSpace};
use crate::error::{UlpError, UlpProblem};

/// What the requests of some ULPs have in common.
/// One field of a request: names of both kinds in one list are an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Criteria {
    /// One of these service ids. Shape: inclusive, as written.
    ServiceIds(Vec<(u64, u64)>),
    /// One of these P_Keys, and no service id. Shape: bases, inclusive, as written.
    Pkeys(Vec<(u64, u64)>),
}

impl UlpNames {
    /// Names with commas between: `nfs`, `tcp:4420`, `tcp port 4420,20049-20051`,
    /// `ipoib pkey 0x8001`, `ipoib-cm qpn 0x48`, `rdma-cm tcp 20049`. A list of numbers goes on to
    /// the next name.
    ///
    /// Errors: the first thing that makes no sense, with its place in `text`.
    /// Used for `ulp:` in policies, and by tools that build requests.
    pub fn criteria(&self, text: &str) -> Result<Criteria, UlpError> {
        let mut scan = Scan::new(text);
        let mut all: Option<Criteria> = None;
        loop {
            let at = scan.place();
            let one = self.item(&mut scan)?;
            all = Some(match (all, one) {
                (None, one) => one,
                // Not merged yet: the caller adds those of other lines.
                (Some(Criteria::ServiceIds(mut ids)), Criteria::ServiceIds(more)) => {
                    ids.extend(more);
                    Criteria::ServiceIds(ids)
                }
                (Some(Criteria::Pkeys(mut pkeys)), Criteria::Pkeys(more)) => {
                    pkeys.extend(more);
                    Criteria::Pkeys(pkeys)
                }
                _ => {
                    let length = scan.place() - at;
                    let problem = UlpProblem::Mixed;
                    return Err(UlpError {
                        at,
                        length,
                        problem,
                    });
                }
            });
            if scan.is_at_end() {
                return all.ok_or_else(|| scan.unexpected(NAME));
            }
            if !scan.accept(',') {
                return Err(scan.unexpected("',' and another name"));
            }
        }
    }

    /// The service ids of one name: `nfs`, `tcp:4420`, `tcp:4420-4430`. Shape: inclusive.
    /// For `service-id:`, where only ids make sense.
    pub fn ids(&self, text: &str) -> Result<Vec<(u64, u64)>, UlpError> {
        let mut scan = Scan::new(text);
        let name = scan.rest().trim_end();
        let found = self.item(&mut scan)?;
        if !scan.is_at_end() {
            return Err(scan.unexpected("the end of the name"));
        }
        match found {
            Criteria::ServiceIds(ids) => Ok(ids),
            Criteria::Pkeys(_) => Err(UlpError {
                at: 0,
                length: name.len(),
                problem: UlpProblem::NoId {
                    name: name.to_owned(),
                },
            }),
        }
    }

    /// One name with its numbers. What numbers a name takes depends on what its requests look like.
    /// The place of a fault is the name's, as numbers alone cannot be wrong for a name.
    fn item(&self, scan: &mut Scan<'_>) -> Result<Criteria, UlpError> {
        let (ulp, at, length) = self.named(scan)?;
        let given = given(scan)?;
        let problem = |problem| UlpError {
            at,
            length,
            problem,
        };
        let name = || ulp.name.clone();
        let takes = |what| problem(UlpProblem::Takes { name: name(), what });
        match (&ulp.meaning, given) {
            // A space without ports behind it stands for all 65,536.
            (Meaning::Space(space), None) => Ok(Criteria::ServiceIds(vec![space.range()])),
            (Meaning::Space(space), Some(What::Ports)) => of_ports(scan, *space),
            (Meaning::Ids { ids, .. }, None) => Ok(Criteria::ServiceIds(ids.clone())),
            (
                Meaning::Ids {
                    space: Some(space), ..
                },
                Some(What::Ports),
            ) => of_ports(scan, *space),
            // All 2^24 of them: which pairs a host uses changes from boot to boot.
            (Meaning::QueuePairs, None) => {
                let all = (IPOIB_CM, IPOIB_CM + LAST_QPN);
                Ok(Criteria::ServiceIds(vec![all]))
            }
            (Meaning::QueuePairs, Some(What::QueuePairs)) => {
                let pairs = scan.ranges("queue pair number", LAST_QPN)?;
                Ok(shifted(&pairs, IPOIB_CM))
            }
            // The default partition's, as in OpenSM's `ipoib :`.
            (Meaning::Partition, None) => Ok(Criteria::Pkeys(vec![(0x7fff, 0x7fff)])),
            (Meaning::Partition, Some(What::Pkeys)) => pkeys(scan),
            (Meaning::Target, _) => Err(problem(UlpProblem::Target { name: name() })),
            // Whatever numbers follow: nothing in its requests could be matched.
            (Meaning::Silent, _) => Err(problem(UlpProblem::Silent { name: name() })),
            (_, Some(What::Ports)) => Err(takes("ports")),
            (_, Some(What::Pkeys)) => Err(takes("P_Keys")),
            (_, Some(What::QueuePairs)) => Err(takes("queue pairs")),
        }
    }

    /// The entry of the next name, and where that stands.
    /// Errors: no word, or one that the table does not have; then with the likeliest.
    fn named(&self, scan: &mut Scan<'_>) -> Result<(&Ulp, usize, usize), UlpError> {
        // `rdma-cm tcp 4420` says the same as `tcp 4420`.
        scan.keyword(&["rdma-cm", "rdma_cm"]);
        let at = scan.place();
        let Some(name) = scan.word() else {
            return Err(scan.unexpected(NAME));
        };
        let length = name.len();
        match self.find(name) {
            Some(ulp) => Ok((ulp, at, length)),
            None => Err(UlpError {
                at,
                length,
                problem: UlpProblem::Unknown {
                    name: name.to_owned(),
                    nearest: self.nearest(name).map(str::to_owned),
                },
            }),
        }
    }
}

/// What a list of names begins with, as messages say it.
const NAME: &str = "the name of a service, such as nfs or tcp";

/// What numbers behind a name are.
#[derive(Clone, Copy)]
enum What {
    Ports,
    Pkeys,
    QueuePairs,
}

/// A word or a colon that says what the numbers behind it are; numbers alone are ports.
/// None where nothing follows. Errors: a word for numbers without any.
fn given(scan: &mut Scan<'_>) -> Result<Option<What>, UlpError> {
    let what = if scan.keyword(&["port", "ports", "port-num"]) {
        What::Ports
    } else if scan.keyword(&["pkey", "pkeys"]) {
        What::Pkeys
    } else if scan.keyword(&["qpn"]) {
        What::QueuePairs
    // `tcp:4420` and `tcp 4420`: numbers without a word are ports.
    } else if scan.accept(':') || scan.is_at_number() {
        What::Ports
    } else {
        return Ok(None);
    };
    if scan.is_at_number() {
        Ok(Some(what))
    } else {
        Err(scan.unexpected("a number"))
    }
}

/// Ids of the port numbers that follow.
fn of_ports(scan: &mut Scan<'_>, space: PortSpace) -> Result<Criteria, UlpError> {
    let ports = scan.ranges("port", 0xffff)?;
    Ok(shifted(&ports, space.range().0))
}

/// Ids are numbers behind the code of their space.
fn shifted(numbers: &[(u64, u64)], by: u64) -> Criteria {
    let ids = numbers.iter().map(|(low, high)| (by + low, by + high));
    Criteria::ServiceIds(ids.collect())
}

/// The membership bit goes before the order of the bounds is looked at, as in `pkey:`.
fn pkeys(scan: &mut Scan<'_>) -> Result<Criteria, UlpError> {
    let pkeys = scan.ranges("P_Key", 0xffff)?;
    // Each bound by itself, so that the order is looked at without the bit.
    let bases = pkeys
        .iter()
        .map(|(low, high)| (low & 0x7fff, high & 0x7fff));
    Ok(Criteria::Pkeys(bases.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(text: &str) -> Vec<(u64, u64)> {
        match UlpNames::default().criteria(text) {
            Ok(Criteria::ServiceIds(ids)) => ids,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn refused(text: &str) -> (String, usize, usize) {
        let error = UlpNames::default().criteria(text).unwrap_err();
        (error.to_string(), error.at, error.length)
    }

    #[test]
    fn names_and_ports_become_ids() {
        const TCP: u64 = 0x106_0000;
        assert_eq!(ids("nfs"), [(TCP + 20049, TCP + 20049)]);
        assert_eq!(ids("NFSoRDMA"), ids("nfs"));
        assert_eq!(ids("tcp:20049"), ids("nfs"));
        assert_eq!(ids("rdma-cm tcp 20049"), ids("nfs"));
        assert_eq!(ids("tcp"), [(TCP, TCP + 0xffff)]);
        assert_eq!(
            ids("tcp port 4420, 20049-20051, iser"),
            [
                (TCP + 4420, TCP + 4420),
                (TCP + 20049, TCP + 20051),
                (TCP + 3260, TCP + 3260)
            ]
        );
        assert_eq!(ids("iser port 900"), [(TCP + 900, TCP + 900)]);
        assert_eq!(
            ids("rds"),
            [(TCP + 0x48ca, TCP + 0x48ca), (TCP + 0x4001, TCP + 0x4001)]
        );
        assert_eq!(ids("sdp:5-3"), [(0x1_0003, 0x1_0005)]);
        assert_eq!(ids("udp 0x1"), [(0x111_0001, 0x111_0001)]);
        assert_eq!(
            ids("ipoib-cm qpn 0x48"),
            [(0x1000_0000_0000_0048, 0x1000_0000_0000_0048)]
        );
    }

    #[test]
    fn ipoib_is_its_partition() {
        let names = UlpNames::default();
        assert_eq!(
            names.criteria("ipoib"),
            Ok(Criteria::Pkeys(vec![(0x7fff, 0x7fff)]))
        );
        assert_eq!(
            names.criteria("ipoib pkey 0x8001,2"),
            Ok(Criteria::Pkeys(vec![(1, 1), (2, 2)]))
        );
        assert_eq!(
            names.ids("ipoib").unwrap_err().problem,
            UlpProblem::NoId {
                name: "ipoib".into()
            }
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_place() {
        assert_eq!(
            refused("nfs, nvmof"),
            ("no service is called 'nvmof'".into(), 5, 5)
        );
        assert_eq!(
            refused(""),
            (
                "expected the name of a service, such as nfs or tcp, found the end".into(),
                0,
                0
            )
        );
        assert_eq!(
            refused("tcp port 70000"),
            ("port 70000 is over 65535".into(), 9, 5)
        );
        assert_eq!(
            refused("tcp port x"),
            ("expected a number, found 'x'".into(), 9, 1)
        );
        assert_eq!(refused("nfs nvme").1, 4);
        assert_eq!(refused("ipoib port 4").0, "'ipoib' takes no ports");
        assert_eq!(refused("tcp pkey 4").0, "'tcp' takes no P_Keys");
        assert_eq!(
            refused("nfs, ipoib").0,
            "no request names a Service-ID and is IPoIB's"
        );
        assert_eq!(
            refused("srp").0,
            "service ids of 'srp' are chosen by each target"
        );
        assert_eq!(
            refused("mpi").0,
            "'mpi' names nothing that a rule could match"
        );
        for odd in [
            ",",
            "nfs,",
            "tcp:",
            "tcp:4420-",
            "\u{e9}",
            "nfs\u{e9}",
            "tcp 1x",
            "ib qpn 1",
        ] {
            assert!(UlpNames::default().criteria(odd).is_err(), "{odd}");
        }
    }
}
