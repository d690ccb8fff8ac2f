//! What is read is what is there.

use std::sync::Arc;

use routing::EngineKind;
use sa_answer::whole;
use sa_compiler::pipeline::{self, Compiled, Inputs, Stamp};
use sa_fabric::sa_records::write;
use sa_service::dispatch;
use sa_wire::mad::method;
use sa_wire::records::{Layout, PKeyTableRecord, PortInfoRecord, SwitchInfoRecord};
use sa_wire::sa::{AttributeId, DATA_OFFSET, SaMad};
use sa_wire::{Guid, request};
use zerocopy::{FromBytes, IntoBytes};

use super::fake::{Fake, Site};
use crate::{Compared, OnDifference, Reading, SaReader, Wants, When, compile_from_sa, read};

const WANTS: Wants = Wants {
    sa_key: 1,
    qos: None,
};

fn source(fake: Fake) -> SaReader {
    SaReader::new(Box::new(fake), 64, OnDifference::Refuse)
}

fn from_sa(inputs: &Inputs, fake: Fake) -> Compiled {
    compared(inputs, fake).compiled
}

fn compared(inputs: &Inputs, fake: Fake) -> Compared {
    let compiled = compile_from_sa(
        inputs,
        &mut source(fake),
        When::Changed,
        Stamp::default(),
        None,
    );
    compiled.unwrap().unwrap()
}

/// Bytes of the snapshot of the same parts, with nothing in it that tells where they came from.
fn bytes(compiled: &Compiled) -> Vec<u8> {
    let snapshot = pipeline::build(&compiled.parts, Vec::new(), Stamp::default()).unwrap();
    snapshot.as_bytes().to_vec()
}

#[test]
fn a_torus_from_an_sa_is_that_from_files() {
    let site = Site::torus([4, 3, 3]);
    let files = site.compiled();
    let compared = compared(&site.without_fabric(), Fake::of(&files));
    assert!(
        compared.differences.is_empty(),
        "{:?}",
        compared.differences
    );
    let live = compared.compiled;
    assert_eq!(live.parts.topology, files.parts.topology);
    assert_eq!(live.parts.routes.engine(), EngineKind::Torus2Qos);
    assert!(
        live.parts.programmed.is_empty(),
        "{:?}",
        live.parts.programmed
    );

    assert!(live.publishable().is_ok());
    assert_eq!(bytes(&live), bytes(&files));
}

/// The engine of the snapshot differs, its answers do not.
#[test]
fn a_tree_from_an_sa_answers_as_that_from_files() {
    let site = Site::tree();
    let files = site.compiled();
    let live = from_sa(&site.without_fabric(), Fake::of(&files));
    assert_eq!(live.parts.topology, files.parts.topology);
    assert_eq!(live.parts.routes.engine(), EngineKind::Files);
    for switch in live.parts.topology.switch_ixs() {
        assert_eq!(
            live.parts.routes.lft(switch),
            files.parts.routes.lft(switch)
        );
    }
    let lids = 1..=files.parts.topology.max_lid();
    for (from, to) in lids
        .clone()
        .flat_map(|from| lids.clone().map(move |to| (from, to)))
    {
        let request = request::path_by_lids(from, to);
        let answer = |compiled: &Compiled| whole::respond(&compiled.snapshot, &request);
        assert_eq!(answer(&live), answer(&files), "{from} to {to}");
    }
    assert!(live.publishable().is_ok());
}

#[test]
fn lmc_prefix_and_enhanced_ports_are_read() {
    let site = Site::tree();
    let conf = site.file(
        "opensm.conf",
        "lmc 2\nlmc_esp0 TRUE\nsubnet_prefix 0xfec0000000000007\nqos FALSE\n",
    );
    let inputs = Inputs {
        opensm_conf: Some(conf),
        ..site.inputs.clone()
    };
    let files = Arc::new(pipeline::compile(&inputs, Stamp::default()).unwrap());
    // Without the options the SA still tells what answers depend on.
    let compared = compared(&site.without_fabric(), Fake::of(&files));
    assert!(
        compared.differences.is_empty(),
        "{:?}",
        compared.differences
    );
    let live = compared.compiled;
    assert_eq!(live.parts.topology, files.parts.topology);
    assert_eq!(
        live.parts.options.subnet_prefix,
        files.parts.options.subnet_prefix
    );
    assert!(!live.parts.options.qos);
}

/// The records of a kind that a compiled fabric answers to its SM with.
fn table(compiled: &Compiled, kind: AttributeId) -> Vec<Vec<u8>> {
    let mut slot = request::request(1, method::GET_TABLE, kind, 0, &[]);
    SaMad::from_bytes_mut(&mut slot.mad).sa.sm_key = 1.into();
    let reply = dispatch::respond_with(&compiled.snapshot, Some(&compiled.parts), &slot);
    let stride = Layout::of(kind).unwrap().stride.into();
    let data = &reply.unwrap()[DATA_OFFSET..];
    data.chunks_exact(stride).map(<[u8]>::to_vec).collect()
}

/// What the devices hold, and no file tells: it comes back as it was told.
#[test]
fn records_of_devices_are_as_they_were_read() {
    let site = Site::tree();
    let files = site.compiled();
    type Change = fn(&mut Vec<u8>);
    let changes: [(AttributeId, Change); 3] = [
        // LinkWidthEnabled, LinkSpeedEnabled; a life time; and P_Keys in other places.
        (AttributeId::PORT_INFO_RECORD, |record| {
            let mut port = PortInfoRecord::read_from_bytes(record).unwrap();
            port.link_width_enabled = 0x1f;
            port.speed_active_and_enabled |= 0x07;
            *record = port.as_bytes().to_vec();
        }),
        (AttributeId::SWITCH_INFO_RECORD, |record| {
            let mut switch = SwitchInfoRecord::read_from_bytes(record).unwrap();
            switch.life_time_and_change = 0x11 << 3;
            *record = switch.as_bytes().to_vec();
        }),
        (AttributeId::PKEY_TABLE_RECORD, |record| {
            let mut table = PKeyTableRecord::read_from_bytes(record).unwrap();
            table.pkeys.swap(0, 7);
            *record = table.as_bytes().to_vec();
        }),
    ];
    for (kind, change) in changes {
        let fake = Fake::with_records(&files, kind, move |all| all.iter_mut().for_each(change));
        let live = from_sa(&site.without_fabric(), fake);
        let mut wanted = table(&files, kind);
        wanted.iter_mut().for_each(change);
        if kind == AttributeId::PKEY_TABLE_RECORD {
            // Those of switches' external ports are no devices' to tell: nobody reads them.
            let read = live
                .from_sa
                .as_ref()
                .unwrap()
                .records()
                .pkeys
                .clone()
                .unwrap();
            let answered = table(&live, kind);
            assert!(
                read.iter()
                    .all(|block| answered.contains(&block.as_bytes().to_vec()))
            );
            assert!(read.iter().any(|block| block.pkeys[7].get() == 0xffff));
            continue;
        }
        assert_eq!(table(&live, kind), wanted, "{kind:?}");
    }
}

#[test]
fn partitions_are_those_of_the_tables() {
    let site = Site::tree();
    let text = "Default=0x7fff, ipoib : ALL=full ;\n\
                A=0x0010 : 0x100001=full, 0x100101=limited, 0x100111 ;\n\
                B=0x0011 : ALL_CAS=full ;\n";
    let file = site.file("partitions.conf", text);
    let inputs = Inputs {
        partitions: Some(file),
        ..site.inputs.clone()
    };
    let files = Arc::new(pipeline::compile(&inputs, Stamp::default()).unwrap());
    let live = from_sa(&site.without_fabric(), Fake::of(&files));
    for port in 0..files.parts.facts.len() {
        let table = |compiled: &Compiled| compiled.parts.partitions.pkey_table(port);
        assert_eq!(table(&live), table(&files), "port {port}");
    }
    let said = |what: &str| live.warnings.iter().any(|it| it.message.contains(what));
    assert!(
        said("partitions are those of the P_Key tables"),
        "{:?}",
        live.warnings
    );
    assert!(
        !said("are not what the partitions give"),
        "{:?}",
        live.warnings
    );
    // With a file that says otherwise.
    let other = site.file("other.conf", "Default=0x7fff, ipoib : ALL=full ;\n");
    let inputs = Inputs {
        partitions: Some(other),
        ..site.without_fabric()
    };
    let compiled = compile_from_sa(
        &inputs,
        &mut source(Fake::of(&files)),
        When::Changed,
        Stamp::default(),
        None,
    );
    let compiled = compiled.unwrap().unwrap().compiled;
    let told = compiled.warnings.iter();
    let told: Vec<_> = told
        .filter(|warning| warning.message.starts_with("P_Key tables of 8 ports"))
        .collect();
    assert_eq!(told.len(), 1, "{:?}", compiled.warnings);
}

#[test]
fn an_unchanged_fabric_is_nothing_new() {
    let site = Site::torus([3, 3, 3]);
    let files = site.compiled();
    let inputs = site.without_fabric();
    let mut source = source(Fake::of(&files));
    let compile = |source: &mut SaReader, when| {
        compile_from_sa(&inputs, source, when, Stamp::default(), None).unwrap()
    };
    let first = compile(&mut source, When::Changed).unwrap();
    // Not taken: whoever failed to publish it tries again.
    assert!(compile(&mut source, When::Changed).is_some());
    source.accept(first.compiled.from_sa.unwrap());
    assert!(compile(&mut source, When::Changed).is_none());
    assert!(compile(&mut source, When::Always).is_some());
}

#[test]
fn what_changed_is_told() {
    let site = Site::torus([4, 3, 3]);
    let before = site.compiled();
    let inputs = Inputs {
        failed: vec!["S1_1_1".to_owned(), "S0_0_0:1".to_owned()],
        ..site.inputs
    };
    let after = Arc::new(pipeline::compile(&inputs, Stamp::default()).unwrap());
    let mut source = source(Fake {
        then: Some((0, Arc::clone(&before))),
        ..Fake::of(&before)
    });
    let Reading::Changed {
        from_sa: live,
        changes,
    } = source.read(&WANTS).unwrap()
    else {
        panic!("the first is new");
    };
    assert!(changes.is_empty());
    let now = read(&mut Fake::of(&after), &WANTS).unwrap();
    let words = now.changes_since(&live);
    let said = |start: &str| words.iter().any(|words| words.starts_with(start));
    assert!(said("1 switches gone: S1_1_1"), "{words:?}");
    assert!(said("1 hosts gone: "), "{words:?}");
    assert!(said("8 links gone: "), "{words:?}");
    assert!(
        words
            .iter()
            .any(|words| words.contains("forwarding tables changed")),
        "{words:?}"
    );
    assert!(!said("LIDs moved"), "{words:?}");
    assert!(live.changes_since(&live).is_empty());
    let back = live.changes_since(&now);
    assert!(
        back.iter()
            .any(|words| words.starts_with("1 switches new: S1_1_1")),
        "{back:?}"
    );
}

#[test]
fn files_of_a_read_fabric_are_read_back() {
    let site = Site::torus([3, 3, 3]);
    let files = site.compiled();
    let live = read(&mut Fake::of(&files), &WANTS).unwrap();
    let directory = site.directory.path().join("read");
    let written = write(&live, &directory).unwrap();
    assert_eq!(
        written,
        [
            "opensm-subnet.lst",
            "opensm-lfts.dump",
            "opensm-sl2vl.dump",
            "partitions.conf"
        ]
    );
    let inputs = Inputs {
        fabric: directory.clone(),
        partitions: Some(directory.join("partitions.conf")),
        lmc: Some(live.lmc()),
        ..Inputs::default()
    };
    let back = pipeline::compile(&inputs, Stamp::default()).unwrap();
    assert_eq!(back.parts.routes.engine(), EngineKind::Files);
    for switch in back.parts.topology.switch_ixs() {
        assert_eq!(
            back.parts.routes.lft(switch),
            files.parts.routes.lft(switch)
        );
        let ports = 1..=6;
        for (input, output) in ports
            .clone()
            .flat_map(|a| ports.clone().map(move |b| (a, b)))
        {
            let table = |compiled: &Compiled| compiled.parts.routes.sl2vl(switch, input, output);
            assert_eq!(table(&back), table(&files));
        }
    }
}

#[test]
fn alias_guids_are_read_and_written() {
    let site = Site::tree();
    let files = site.compiled();
    let (port, alias) = (0x10_0001u64, 0xa11a5u64);
    let own = files
        .parts
        .subnet
        .by_guid(Guid::new(port).unwrap())
        .unwrap();
    let lid = files.parts.subnet.end_ports()[own].lid.get();
    let kind = AttributeId::GUID_INFO_RECORD;
    let fake = || {
        Fake::with_records(&files, kind, move |records| {
            let of_port =
                |record: &&mut Vec<u8>| record[..2] == lid.to_be_bytes() && record[2] == 0;
            if let Some(block) = records.iter_mut().find(of_port) {
                block[16..24].copy_from_slice(&alias.to_be_bytes());
            }
        })
    };
    let live = read(&mut fake(), &WANTS).unwrap();
    let guid = |raw| Guid::new(raw).unwrap();
    assert_eq!(live.aliases(), [(guid(alias), guid(port))]);
    let directory = site.directory.path().join("read");
    assert!(
        write(&live, &directory)
            .unwrap()
            .contains(&"opensm-sa.dump")
    );
    let inputs = Inputs {
        fabric: directory.clone(),
        aliases: Some(directory.join("opensm-sa.dump")),
        ..Inputs::default()
    };
    let back = pipeline::compile(&inputs, Stamp::default()).unwrap();
    assert_eq!(back.parts.aliases, [(guid(alias), guid(port))]);
}

#[test]
fn on_difference_decides_whether_it_is_published() {
    let site = Site::tree();
    let served = site.compiled();
    let conf = site.file("opensm.conf", "subnet_timeout 20\n");
    let inputs = Inputs {
        opensm_conf: Some(conf),
        ..site.without_fabric()
    };
    let compile = |on_difference| {
        let mut source = SaReader::new(Box::new(Fake::of(&served)), 10, on_difference);
        let compiled = compile_from_sa(&inputs, &mut source, When::Changed, Stamp::default(), None);
        compiled.unwrap().unwrap()
    };
    let refused = compile(OnDifference::Refuse);
    let count = refused.differences.len();
    // From a port to itself there is no life time.
    assert!((5..=10).contains(&count), "{count}");
    let shown = refused.differences[0].to_string();
    assert!(
        shown.contains("pkt_life 18 at the SA, 20 in the snapshot"),
        "{shown}"
    );
    let error = refused.publishable().unwrap_err().to_string();
    let start = format!("{count} sampled paths are answered differently");
    assert!(error.starts_with(&start), "{error}");
    let warned = compile(OnDifference::Warn);
    assert!(warned.publishable().is_ok());
    assert!(
        warned
            .compiled
            .warnings
            .iter()
            .any(|warning| warning.message.starts_with(&start))
    );
}
