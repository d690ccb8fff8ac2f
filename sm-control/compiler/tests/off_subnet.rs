//! Multicast groups and ways to other subnets: from the files to the snapshot.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::path::Path;

use sa_compiler::pipeline::{Compiled, Inputs, Stamp, compile};
use sa_snapshot::Snapshot;
use sa_wire::Guid;

/// A router on both switches, the second port of which has the lower GUID, and another.
const NET: &str = "\
switchguid=0x200000\nSwitch 8 \"S1\"\n[1] \"H1\"[1]\n[3] \"S2\"[3]\n[5] \"R1\"[2]\n\n\
switchguid=0x200010\nSwitch 8 \"S2\"\n[1] \"R1\"[1]\n[3] \"S1\"[3]\n[5] \"R2\"[1]\n\n\
caguid=0x100000\nHca 1 \"H1\"\n[1](100001) \"S1\"[1]\n\n\
rtguid=0x300000\nRt 2 \"R1\"\n[1](300001) \"S2\"[1]\n[2](300002) \"S1\"[5]\n\n\
rtguid=0x310000\nRt 1 \"R2\"\n[1](310001) \"S2\"[5]\n\n";

fn compiled(directory: &Path, inputs: Inputs) -> Result<Compiled, String> {
    let fabric = directory.join("net");
    std::fs::write(&fabric, NET).unwrap();
    let inputs = Inputs { fabric, ..inputs };
    compile(&inputs, Stamp::default()).map_err(|error| error.to_string())
}

fn router(snapshot: &Snapshot, prefix: u64) -> Option<u64> {
    let port = snapshot.router_to(prefix.to_be_bytes())?;
    snapshot.port(port).guid().map(Guid::get)
}

#[test]
fn of_each_router_the_port_that_is_met_first_counts() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("routes");
    let routes = "1 300001\n2 300002\n3 310001\n4 *\n5 100001\n5 *\n";
    std::fs::write(&file, routes).unwrap();
    let inputs = Inputs {
        prefix_routes: Some(file.clone()),
        ..Inputs::default()
    };
    let compiled = compiled(directory.path(), inputs).unwrap();
    let found = [1, 2, 3, 4, 5, 6].map(|prefix| router(&compiled.snapshot, prefix));
    let (first, second) = (Some(0x30_0002), Some(0x31_0001));
    // By byte-swapped GUIDs 310001 comes before 300002.
    assert_eq!(found, [None, first, second, second, None, None]);
    let said: Vec<String> = compiled.warnings.iter().map(|it| it.to_string()).collect();
    let said = said.join("\n");
    let file = file.display();
    assert!(said.contains(&format!("{file}:1:1: 0x0000000000300001 is no port")));
    assert!(said.contains(&format!("{file}:5:1: 0x0000000000100001 is no port")));
    assert!(!said.contains(&format!("{file}:2:")), "{said}");
}

#[test]
fn a_wrong_line_is_an_error_with_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("routes");
    std::fs::write(&file, "# away\n* *\nfec0:: *\n").unwrap();
    let inputs = Inputs {
        prefix_routes: Some(file.clone()),
        ..Inputs::default()
    };
    let said = compiled(directory.path(), inputs).unwrap_err();
    let place = format!("{}:3:1: expected a subnet prefix", file.display());
    assert!(said.starts_with(&place), "{said}");
}

#[test]
fn opensm_conf_names_the_file_beside_itself() {
    let directory = tempfile::tempdir().unwrap();
    let with = |name: &str| {
        let conf = directory.path().join("opensm.conf");
        std::fs::write(&conf, format!("prefix_routes_file {name}\n")).unwrap();
        let inputs = Inputs {
            opensm_conf: Some(conf),
            ..Inputs::default()
        };
        let compiled = compiled(directory.path(), inputs).unwrap();
        let mut said = compiled.warnings.iter().map(|it| it.to_string());
        let said = said.find(|said| said.contains("prefix_routes_file"));
        (router(&compiled.snapshot, 7), said)
    };
    std::fs::write(directory.path().join("routes"), "* *").unwrap();
    assert_eq!(with("routes"), (Some(0x31_0001), None));
    assert_eq!(with("/etc/opensm/prefix-routes.conf"), (None, None));
    let (none, said) = with("/nowhere/routes");
    assert!(none.is_none() && said.unwrap().contains("--prefix-routes"));
    let (none, said) = with("other");
    assert!(none.is_none() && said.unwrap().contains("is not there"));
}

#[test]
fn groups_of_partitions_without_members_keep_their_lids() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("partitions.conf");
    let partitions = "Default=0x7fff, ipoib : ALL=full ;\n\
                      nobody=0x1, ipoib : 0x99=full ;\n\
                      all=0x2, ipoib, sl=3, FlowLabel=9 : ALL=full ;\n";
    std::fs::write(&file, partitions).unwrap();
    let inputs = Inputs {
        partitions: Some(file),
        ..Inputs::default()
    };
    let compiled = compiled(directory.path(), inputs).unwrap();
    let groups = compiled.snapshot.groups().iter();
    let shown: Vec<_> = groups
        .map(|group| (group.mlid, group.pkey, group.sl, group.flow_label))
        .collect();
    assert_eq!(shown, [(0xc002, 0x8002, 3, 9), (0xc000, 0xffff, 0, 0)]);
    assert!(
        compiled
            .snapshot
            .groups()
            .iter()
            .all(|group| group.packet_life == 18)
    );
}

#[test]
fn without_a_file_there_is_the_broadcast_group() {
    let directory = tempfile::tempdir().unwrap();
    let compiled = compiled(directory.path(), Inputs::default()).unwrap();
    let groups = compiled.snapshot.groups();
    assert_eq!((groups.len(), groups[0].mlid), (1, 0xc000));
    assert_eq!(router(&compiled.snapshot, 1), None);
}

/// Off, as OpenSM's default has it, wherever a file of OpenSM's is read; on without one.
#[test]
fn an_opensm_conf_without_a_line_for_qos_turns_it_off() {
    let directory = tempfile::tempdir().unwrap();
    let conf = directory.path().join("opensm.conf");
    let with = |text: Option<&str>, qos: Option<bool>| {
        if let Some(text) = text {
            std::fs::write(&conf, text).unwrap();
        }
        let inputs = Inputs {
            opensm_conf: text.map(|_| conf.clone()),
            qos,
            ..Inputs::default()
        };
        let compiled = compiled(directory.path(), inputs).unwrap();
        let mut said = compiled.warnings.iter();
        let is_said = said.any(|it| it.code.as_deref() == Some("qos-unsaid"));
        (compiled.parts.options.qos, is_said)
    };
    assert_eq!(with(None, None), (true, false));
    assert_eq!(with(Some("lmc 0\n"), None), (false, true));
    assert_eq!(with(Some("qos TRUE\n"), None), (true, false));
    assert_eq!(with(Some("qos FALSE\n"), None), (false, false));
    // As `opensm -Q` does.
    assert_eq!(with(Some("lmc 0\n"), Some(true)), (true, false));
}
