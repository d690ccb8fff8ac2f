//! Which LIDs a policy of RFC 0.2 leaves a path, in which order, by both implementations.

use sa_answer::whole::respond;
use sa_compiler::reference::Reply;
use sa_tests::site::{Site, hosts};
use sa_wire::mad::method;
use sa_wire::path_record::{PathCompMask, PathRecord};
use sa_wire::request::{parse, path_request};

/// Service 22 goes to the second LID of every port, both ways; all else goes anywhere.
const POLICY: &str = "qos-levels
qos-level
path-bits: 1,9-127
end-qos-level
end-qos-levels
qos-match-rules
qos-match-rule
service-id: 22
qos-level-sn: 1
end-qos-match-rule
end-qos-match-rules
";

/// Offsets of source and destination LID, preference, reversible.
type Path = (u16, u16, u8, bool);

#[test]
fn path_bits_choose_among_the_lids_of_the_destination() {
    const FREE: PathCompMask = PathCompMask(0);
    let service = PathCompMask::SERVICE_ID;
    let straight: [Path; 2] = [(0, 0, 0, true), (1, 1, 0, true)];
    let crossed: [Path; 2] = [(0, 1, 2, true), (1, 0, 2, true)];
    assert_eq!(paths(1, FREE, (0, 0)), [straight, crossed].concat());
    // The way back from offset 0 would have to end where the level allows nothing.
    assert_eq!(
        paths(1, service, (0, 0)),
        [(1, 1, 0, true), (0, 1, 2, false)]
    );
    assert_eq!(
        paths(1, service | PathCompMask::SLID, (0, 0)),
        [(0, 1, 2, false)]
    );
    assert_eq!(paths(1, service | PathCompMask::DLID, (0, 0)), []);
    let named = paths(1, service | PathCompMask::DLID, (0, 1));
    assert_eq!(named, [(0, 1, 0, false), (1, 1, 2, true)]);
    let reversible = service | PathCompMask::REVERSIBLE;
    assert_eq!(paths(1, reversible, (0, 0)), [(1, 1, 0, true)]);
    // Nothing is left where ports have one LID.
    assert_eq!(paths(0, FREE, (0, 0)), [(0, 0, 0, true)]);
    assert_eq!(paths(0, service, (0, 0)), []);
}

/// All paths between two hosts by GIDs, and what else `mask` says with LIDs of these offsets.
fn paths(lmc: u8, mask: PathCompMask, (source, destination): (u16, u16)) -> Vec<Path> {
    let compiled = Site::torus([3, 3, 3], 1).policy(POLICY).lmc(lmc).compile();
    let hosts = hosts(&compiled);
    let (from, to) = (hosts[0], hosts[20]);
    let record = PathRecord {
        service_id: 22.into(),
        sgid: from.1.0,
        dgid: to.1.0,
        slid: (from.0 + source).into(),
        dlid: (to.0 + destination).into(),
        numb_path: sa_wire::path_record::NumbPathByte::REVERSIBLE,
        ..PathRecord::default()
    };
    let mask = mask | PathCompMask::SGID | PathCompMask::DGID;
    let slot = path_request(from.0, method::GET_TABLE, mask, &record);
    let reply = respond(&compiled.snapshot, &slot).unwrap();
    let (_, records) = parse(&reply).unwrap();
    let reference = compiled.parts.reference().respond(from.0, &slot.mad);
    assert_eq!(reference, Some(Reply::Records(records.clone())));
    let path = |record: &PathRecord| {
        (
            record.slid.get() - from.0,
            record.dlid.get() - to.0,
            record.preference,
            record.numb_path.reversible(),
        )
    };
    records.iter().map(path).collect()
}
