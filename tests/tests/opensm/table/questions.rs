//! What OpenSM is asked for on each fabric.
//!
//! A Get for each pair of LIDs, switches' own among them, comes first: SLs are learnt from these. Then pairs
//! at random under component masks at random, whole tables, and lists of ends. The seed is fixed: what is asked
//! depends on the fabric alone.

use routing::{EndPortIx, Topology};
use sa_tests::rng::Rng;
use sa_wire::mad::method;
use sa_wire::multipath_record::{MultiPathCompMask, MultiPathRecord};
use sa_wire::path_record::{NumbPathByte, PathCompMask, PathRecord, QosClassSl, SelectedValue};
use sa_wire::request;
use sa_wire::umad::Slot;
use sa_wire::{Gid, Selector, Sl, SubnetPrefix};

/// Requests of each kind beside those for all pairs.
const VARIED: usize = 1200;
const MULTI: usize = 1000;

/// An end port: its GID and LIDs.
struct End {
    gid: Gid,
    lids: Vec<u16>,
}

/// Makes requests about one fabric.
pub(super) struct Questions {
    ends: Vec<End>,
    rng: Rng,
    /// Whether some name an SL. Where an engine gives SLs in turn, whether such a path is there is chance.
    with_sls: bool,
}

impl Questions {
    pub(super) fn new(topology: &Topology, prefix: SubnetPrefix) -> Self {
        let end = |ix: EndPortIx| {
            let end = topology.end_port(ix);
            End {
                gid: Gid::unicast(prefix, end.guid),
                lids: end.lids().map(|lid| lid.get()).collect(),
            }
        };
        Self {
            ends: topology.end_port_ixs().map(end).collect(),
            rng: Rng::new(0x7ab1e),
            with_sls: true,
        }
    }

    /// The same, none of which names an SL.
    pub(super) fn without_sls(self) -> Self {
        Self {
            with_sls: false,
            ..self
        }
    }

    /// Get(PathRecord) from each LID to each.
    pub(super) fn pairs(&self) -> Vec<Slot> {
        let lids = || self.ends.iter().flat_map(|end| end.lids.iter().copied());
        let pairs = lids().flat_map(|from| lids().map(move |to| (from, to)));
        pairs
            .map(|(from, to)| request::path_by_lids(from, to))
            .collect()
    }

    /// Paths of some pairs, by what clients may say of them, and tables with an end left open.
    pub(super) fn varied(&mut self) -> Vec<Slot> {
        let mut all: Vec<Slot> = (0..VARIED).map(|_| self.one()).collect();
        for end in &self.ends {
            let record = PathRecord {
                sgid: end.gid.0,
                dgid: end.gid.0,
                ..PathRecord::default()
            };
            for mask in [PathCompMask::SGID, PathCompMask::DGID] {
                all.push(request::path_request(0, method::GET_TABLE, mask, &record));
            }
        }
        let everything = PathRecord::default();
        let mask = PathCompMask(0);
        all.push(request::path_request(
            0,
            method::GET_TABLE,
            mask,
            &everything,
        ));
        all
    }

    /// One pair, by GIDs, LIDs or one of each.
    fn one(&mut self) -> Slot {
        let rng = &mut self.rng;
        let [from, to] = [0; 2].map(|_| &self.ends[rng.below(self.ends.len())]);
        let mut mask = rng.pick(&[
            PathCompMask::SGID | PathCompMask::DGID,
            PathCompMask::SLID | PathCompMask::DLID,
            PathCompMask::SGID | PathCompMask::DLID,
            PathCompMask::SLID | PathCompMask::DGID,
        ]);
        let selector = |rng: &mut Rng| {
            rng.pick(&[
                Selector::Greater,
                Selector::Less,
                Selector::Exactly,
                Selector::Best,
            ])
        };
        let record = PathRecord {
            sgid: from.gid.0,
            dgid: to.gid.0,
            slid: rng.pick(&from.lids).into(),
            dlid: rng.pick(&to.lids).into(),
            numb_path: numb_path(rng, 4),
            qos_class_sl: QosClassSl::new(0, Sl::from_low_bits(rng.within(0, 3))),
            mtu: SelectedValue::new(selector(rng), rng.within(1, 5)),
            rate: SelectedValue::new(selector(rng), rng.pick(&[2, 3, 5, 7])),
            ..PathRecord::default()
        };
        for (wish, one_in) in [
            (PathCompMask::NUMB_PATH, 2),
            (PathCompMask::REVERSIBLE, 2),
            (PathCompMask::MTU_PAIR, 8),
            (PathCompMask::RATE_PAIR, 8),
        ] {
            if rng.one_in(one_in) {
                mask = mask | wish;
            }
        }
        if self.with_sls && rng.one_in(8) {
            mask = mask | PathCompMask::SL;
        }
        let asked = rng.pick(&[method::GET, method::GET_TABLE]);
        request::path_request(0, asked, mask, &record)
    }

    /// GetMulti(MultiPathRecord) for up to three ends on each side.
    pub(super) fn multi(&mut self) -> Vec<Slot> {
        (0..MULTI).filter_map(|_| self.lists()).collect()
    }

    fn lists(&mut self) -> Option<Slot> {
        let rng = &mut self.rng;
        let [sources, destinations] = [0; 2].map(|_| rng.within(1, 3));
        let mut list = |count: u8| -> Vec<Gid> {
            let ends = 0..count;
            ends.map(|_| self.ends[rng.below(self.ends.len())].gid)
                .collect()
        };
        let (sgids, dgids) = (list(sources), list(destinations));
        let mut paths = numb_path(rng, 8);
        // Two paths between two and two are for alternate paths, which have a test of their own.
        if paths.numb_path() == 2 {
            paths = NumbPathByte::new(1);
        }
        let record = MultiPathRecord {
            numb_path: paths,
            mtu: SelectedValue::new(Selector::Greater, rng.within(1, 3)),
            ..MultiPathRecord::default()
        };
        let mut mask = MultiPathCompMask(0);
        for (wish, one_in) in [
            (MultiPathCompMask::NUMB_PATH, 2),
            (MultiPathCompMask::REVERSIBLE, 2),
            (MultiPathCompMask::MTU_PAIR, 8),
        ] {
            if rng.one_in(one_in) {
                mask = mask | wish;
            }
        }
        request::multi_path_request(0, mask, &record, &sgids, &dgids).ok()
    }
}

/// A number of paths, and whether they are to be reversible.
fn numb_path(rng: &mut Rng, most: u8) -> NumbPathByte {
    let number = NumbPathByte::new(rng.within(1, most));
    match rng.one_in(2) {
        true => number.with_reversible(),
        false => number,
    }
}
