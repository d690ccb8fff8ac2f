//! Fabrics to ask about, built once: what they are, told without the tables of the snapshot.

use std::sync::LazyLock;

use policy::model::ServiceIdEncoding;
use policy::{Dialect, Echo, ParseOptions};
use sa_compiler::pipeline::{self, Compiled, Inputs, Stamp};
use sa_fabric::generate::{TorusSpec, plan};
use sa_wire::{Lmc, NodeType, Pkey};

/// A subnet, and what the judge of replies must know of it.
pub struct World {
    /// For people, and for the corpus.
    pub name: &'static str,
    /// What answers are made from.
    pub compiled: Compiled,
    /// Every port that has LIDs.
    pub ends: Vec<End>,
    /// Index into `ends` and 1, by LID.
    by_lid: Vec<usize>,
    /// Upper half of every GID, wire bytes.
    pub prefix: [u8; 8],
    /// Key of trusted requests.
    pub sa_key: u64,
    /// How the policy means what OpenSM's cannot say.
    pub semantics: Meaning,
    /// Addresses of the multicast groups.
    pub groups: Vec<[u8; 16]>,
}

/// A port with LIDs.
pub struct End {
    /// Port GUID.
    pub guid: u64,
    /// First LID.
    pub lid: u16,
    /// How many.
    pub lids: u16,
    /// P_Keys, without order.
    pub keys: Vec<u16>,
    /// Port 0 of a switch.
    pub is_switch: bool,
    /// A port of a router.
    pub is_router: bool,
}

/// What policies of the RFCs change in answers.
#[derive(Default)]
pub struct Meaning {
    /// A strange key is a service id.
    pub key_is_service_id: bool,
    /// The QoS class asked for comes back.
    pub echoes_qos_class: bool,
    /// The traffic class asked for comes back.
    pub echoes_tclass: bool,
    /// Traffic classes of levels.
    pub tclasses: Vec<u8>,
}

/// Every world, in the order of the numbers that inputs choose by.
pub static WORLDS: LazyLock<Vec<World>> = LazyLock::new(|| vec![torus(), tree(), limited(), rfc()]);

/// The world that a number chooses.
pub fn world(number: u8) -> &'static World {
    &WORLDS[usize::from(number) % WORLDS.len()]
}

impl World {
    /// Whose LID it is.
    pub fn end_by_lid(&self, lid: u16) -> Option<usize> {
        self.by_lid.get(usize::from(lid))?.checked_sub(1)
    }

    /// True for GIDs of this subnet, link-local ones included.
    pub fn is_ours(&self, gid: &[u8]) -> bool {
        let is_link_local = gid[0] == 0xfe && gid[1] & 0xc0 == 0x80;
        is_link_local || gid[..8] == self.prefix
    }

    /// True when two ports may see each other. Source: reference on the SA, 3.4.
    pub fn share(&self, one: usize, other: usize) -> bool {
        let (a, b) = (&self.ends[one].keys, &self.ends[other].keys);
        let is_any = a.is_empty() || b.is_empty();
        one == other || is_any || a.iter().any(|key| a_partition_of_both(*key, a, b))
    }

    /// True when this P_Key, full or limited, is of both and of one as a full member.
    pub fn share_key(&self, one: usize, other: usize, key: u16) -> bool {
        a_partition_of_both(key, &self.ends[one].keys, &self.ends[other].keys)
    }

    fn new(name: &'static str, compiled: Compiled) -> Self {
        let parts = &compiled.parts;
        let ends: Vec<End> = (parts.topology.end_ports.iter().enumerate())
            .map(|(at, port)| End {
                guid: port.guid.get(),
                lid: port.lid.get(),
                lids: 1 << port.lmc.get(),
                keys: parts
                    .partitions
                    .pkey_table(at)
                    .into_iter()
                    .map(Pkey::get)
                    .collect(),
                is_switch: port.node_type == NodeType::Switch,
                is_router: port.node_type == NodeType::Router,
            })
            .collect();
        let mut by_lid = vec![0; 1 << 16];
        for (number, end) in (1..).zip(&ends) {
            by_lid[usize::from(end.lid)..][..usize::from(end.lids)].fill(number);
        }
        Self {
            name,
            ends,
            by_lid,
            prefix: parts.options.subnet_prefix.0.to_be_bytes(),
            sa_key: parts.options.sa_key,
            semantics: meaning(&compiled),
            groups: compiled
                .snapshot
                .groups()
                .iter()
                .map(|group| group.mgid)
                .collect(),
            compiled,
        }
    }
}

fn a_partition_of_both(key: u16, one: &[u16], other: &[u16]) -> bool {
    const FULL: u16 = 0x8000;
    let base = key & !FULL;
    let how = |keys: &[u16]| {
        let of_base = keys.iter().filter(|key| *key & !FULL == base);
        (
            of_base.clone().count() > 0,
            of_base.clone().any(|key| key & FULL != 0),
        )
    };
    let ((in_one, full_in_one), (in_other, full_in_other)) = (how(one), how(other));
    base != 0 && in_one && in_other && (full_in_one || full_in_other)
}

fn meaning(compiled: &Compiled) -> Meaning {
    let Some(policy) = &compiled.parts.policy else {
        return Meaning::default();
    };
    let tclasses = policy
        .levels
        .iter()
        .filter_map(|level| level.tclass.as_ref());
    Meaning {
        key_is_service_id: policy.semantics.service_id_encoding == ServiceIdEncoding::LegacyA,
        echoes_qos_class: policy.semantics.echo == Echo::QosClass,
        echoes_tclass: policy.semantics.echo == Echo::TClass,
        tclasses: tclasses.map(|tclass| tclass.value).collect(),
    }
}

/// A torus of 3x3x2 with a policy, the sample one, and partitions with limited members.
fn torus() -> World {
    let spec = TorusSpec {
        ports: 8,
        ..TorusSpec::new([3, 3, 2], 1)
    };
    let plan = plan(&spec).expect("a plan");
    let files = Files {
        net: &plan.net(),
        torus_conf: Some(&plan.torus_conf()),
        policy: Some(include_str!("../../../docs/examples/qos-policy.conf")),
        partitions: "Default=0x7fff : ALL=full;\np1=0x1, sl=3 : 0x100001=full, 0x100011;\n\
            p2=0x2, defmember=both : ALL_CAS, SELF=full;\n",
        conf: "qos TRUE\n",
        routes: None,
    };
    build("torus", &files, Inputs::default())
}

/// Two switches, hosts and routers with two LIDs each, groups, ways to other subnets; no policy.
fn tree() -> World {
    let files = Files {
        net: NET,
        torus_conf: None,
        policy: None,
        partitions: GROUPS,
        conf: "qos TRUE\nlmc 1\n",
        routes: Some(ROUTES),
    };
    build(
        "tree",
        &files,
        Inputs {
            lmc: Lmc::new(1).ok(),
            ..Inputs::default()
        },
    )
}

/// The same nodes where hardly anybody is a full member, with another prefix and another key, and
/// without QoS.
fn limited() -> World {
    let files = Files {
        net: NET,
        torus_conf: None,
        policy: None,
        partitions: LIMITED,
        conf: "qos FALSE\nsubnet_prefix 0xfec0000000000abc\nsa_key 0x1122334455667788\n\
            allow_both_pkeys TRUE\nsubnet_timeout 17\n",
        routes: Some(ROUTES),
    };
    let inputs = Inputs {
        qos: Some(false),
        ..Inputs::default()
    };
    build("limited", &files, inputs)
}

/// A torus with four LIDs a host and a policy of RFC 0.2 that uses all that OpenSM's cannot say.
fn rfc() -> World {
    let spec = TorusSpec {
        ports: 8,
        ..TorusSpec::new([3, 3, 1], 1)
    };
    let plan = plan(&spec).expect("a plan");
    let files = Files {
        net: &plan.net(),
        torus_conf: Some(&plan.torus_conf()),
        policy: Some(RFC_POLICY),
        partitions: "Default=0x7fff : ALL=full;\np1=0x1, sl=3 : ALL_CAS=limited, SELF=full;\n",
        conf: "qos TRUE\nlmc 2\n",
        routes: None,
    };
    let inputs = Inputs {
        lmc: Lmc::new(2).ok(),
        dialect: Some(Dialect::Rfc02Text),
        reading: ParseOptions {
            service_id_encoding: Some(ServiceIdEncoding::LegacyA),
            echo: Some(Echo::TClass),
            ..ParseOptions::default()
        },
        ..Inputs::default()
    };
    build("rfc", &files, inputs)
}

struct Files<'a> {
    net: &'a str,
    torus_conf: Option<&'a str>,
    policy: Option<&'a str>,
    partitions: &'a str,
    conf: &'a str,
    routes: Option<&'a str>,
}

fn build(name: &'static str, files: &Files<'_>, inputs: Inputs) -> World {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let put = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    };
    let inputs = Inputs {
        fabric: put("net", files.net),
        torus_conf: files.torus_conf.map(|text| put("torus-2QoS.conf", text)),
        policy: files.policy.map(|text| put("policy.conf", text)),
        partitions: Some(put("partitions.conf", files.partitions)),
        opensm_conf: Some(put("opensm.conf", files.conf)),
        prefix_routes: files.routes.map(|text| put("prefix-routes.conf", text)),
        allow_lost_pairs: true,
        ..inputs
    };
    match pipeline::compile(&inputs, Stamp::default()) {
        Ok(compiled) => World::new(name, compiled),
        Err(error) => panic!("{name}: {error}"),
    }
}

const NET: &str = "\
switchguid=0x200000\nSwitch 8 \"S1\"\n[1] \"H1\"[1]\n[2] \"H2\"[1]\n[3] \"S2\"[3]\n[4] \"R1\"[1]\n\n\
switchguid=0x200010\nSwitch 8 \"S2\"\n[3] \"S1\"[3]\n[1] \"H3\"[1]\n[4] \"R1\"[2]\n[5] \"R2\"[1]\n\n\
caguid=0x100000\nHca 1 \"H1\"\n[1](100001) \"S1\"[1]\n\n\
caguid=0x100010\nHca 1 \"H2\"\n[1](100011) \"S1\"[2]\n\n\
caguid=0x100020\nHca 1 \"H3\"\n[1](100021) \"S2\"[1]\n\n\
rtguid=0x300000\nRt 2 \"R1\"\n[1](300001) \"S1\"[4]\n[2](300002) \"S2\"[4]\n\n\
rtguid=0x310000\nRt 1 \"R2\"\n[1](310001) \"S2\"[5]\n\n";

/// For one route each that leads to a router, to a port that is none, and nowhere.
const ROUTES: &str = "fec0000000000007 0x310001\nfec0000000000009 0x100021\nfec000000000000a *\n";

const GROUPS: &str = "\
Default=0x7fff, ipoib : ALL=full ;
storage=0x0123, ipoib, sl=2, mtu=4, rate=3, Q_Key=0xDEAD, TClass=7, FlowLabel=0x12345 : ALL=full ;
wide=0x0200, ipoib, scope=5, scope=2, FlowLabel=9 :
    mgid=ff12:401b::1,sl=1
    mgid=ff15:1234::4,Q_Key=77,mtu=2,rate=2,TClass=9,scope=14
    0x100021=limited, 0x310001=full, 0x100011=full ;
";

/// The SM alone is a full member of what all are in; nobody is one of 0x3.
const LIMITED: &str = "\
Default=0x7fff : ALL=limited, SELF=full ;
p1=0x0001 : 0x100001=full, 0x100011=limited, 0x300001=limited ;
p2=0x0002, defmember=both : 0x100021, 0x310001=limited ;
p3=0x0003 : 0x100011=limited, 0x100021=limited ;
";

const RFC_POLICY: &str = "\
port-groups
    port-group
        name: some
        port-guid: 0x100001-0x100021
    end-port-group
end-port-groups
qos-levels
    qos-level
        name: plain
        sl: 0
    end-qos-level
    qos-level
        name: bits
        sl: 1
        path-bits: 1,3
        packet-life: 12
    end-qos-level
    qos-level
        name: small
        sl: 8
        mtu-limit: 2
        rate-limit: 3
    end-qos-level
end-qos-levels
qos-match-rules
    qos-match-rule
        qos-class: 7-9,11
        qos-level-sn: 1
    end-qos-match-rule
    qos-match-rule
        destination: some
        service-id: 22,4719-5000
        qos-level-sn: 2
    end-qos-match-rule
    qos-match-rule
        source: some
        qos-level-sn: 3
    end-qos-match-rule
end-qos-match-rules
";
