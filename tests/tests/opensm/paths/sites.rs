//! The fabrics, and how OpenSM is set up on them.

use std::fmt::Write;

use anyhow::Result;
use sa_rig::Torus;

use super::site::Site;
use sa_tests::random::options::{self, Names};
use sa_tests::rng::Rng;

/// Two spines, three leaves, links of many widths and speeds, a CA and a router with two ports.
const TREE: &str = "\
switchguid=0x200000\nSwitch 12 \"S1\"\n[1] \"L1\"[9] e=2 s=7\n[2] \"L2\"[9]\n[3] \"L3\"[9] s=4\n[4] \"L3\"[11] w=8\n\n\
switchguid=0x200001\nSwitch 12 \"S2\"\n[1] \"L1\"[10] w=1\n[2] \"L2\"[10] e=3 s=7\n[3] \"L3\"[10] s=2\n\n\
switchguid=0x200100\nSwitch 12 \"L1\"\n[1] \"H1\"[1]\n[2] \"H2\"[1] w=1\n[3] \"H3\"[1] s=7\n[4] \"R1\"[1]\n\
[9] \"S1\"[1] e=2 s=7\n[10] \"S2\"[1] w=1\n\n\
switchguid=0x200101\nSwitch 12 \"L2\"\n[1] \"H4\"[1] e=3 s=7\n[2] \"H5\"[1] w=8 s=4\n[3] \"H3\"[2] w=1 s=1\n[4] \"H6\"[1] w=4\n\
[9] \"S1\"[2]\n[10] \"S2\"[2] e=3 s=7\n\n\
switchguid=0x200102\nSwitch 12 \"L3\"\n[1] \"H7\"[1] s=2\n[2] \"H8\"[1] w=4 s=4\n[3] \"R1\"[2]\n[4] \"R2\"[1]\n\
[9] \"S1\"[3] s=4\n[10] \"S2\"[3] s=2\n[11] \"S1\"[4] w=8\n\n\
caguid=0x100000\nHca 1 \"H1\"\n[1](100001) \"L1\"[1]\n\n\
caguid=0x100010\nHca 1 \"H2\"\n[1](100011) \"L1\"[2] w=1\n\n\
caguid=0x100020\nHca 2 \"H3\"\n[1](100021) \"L1\"[3] s=7\n[2](100022) \"L2\"[3] w=1 s=1\n\n\
caguid=0x100030\nHca 1 \"H4\"\n[1](100031) \"L2\"[1] e=3 s=7\n\n\
caguid=0x100040\nHca 1 \"H5\"\n[1](100041) \"L2\"[2] w=8 s=4\n\n\
caguid=0x100050\nHca 1 \"H6\"\n[1](100051) \"L2\"[4] w=4\n\n\
caguid=0x100060\nHca 1 \"H7\"\n[1](100061) \"L3\"[1] s=2\n\n\
caguid=0x100070\nHca 1 \"H8\"\n[1](100071) \"L3\"[2] w=4 s=4\n\n\
rtguid=0x300000\nRt 2 \"R1\"\n[1](300001) \"L1\"[4]\n[2](300002) \"L3\"[3]\n\n\
rtguid=0x310000\nRt 1 \"R2\"\n[1](310001) \"L3\"[4]\n\n";

/// With groups of several kinds, and P_Keys that requests name.
const OPEN: &str = "\
Default=0x7fff, ipoib, FlowLabel=0x12345 : ALL=full ;
one=0x0001, ipoib, sl=3, mtu=4, rate=3, TClass=7 : ALL_CAS=full ;
some=0x0123 : 0x100011=full, 0x100021=full, 0x310001=full, 0x200000=full ;
wide=0x0100, sl=2, scope=5, FlowLabel=9 :
    mgid=ff12:1::1,sl=1
    0x100021=full, 0x100031=full ;
";

/// To both routers, to a host, and for any prefix.
const ROUTES: &str = "\
fec0000000000007 0x310001
fec0000000000008 *
20010db800000007 100021
";

pub(crate) fn tree() -> Site {
    Site {
        name: "tree, LMC 1".to_owned(),
        net: TREE.to_owned(),
        conf: "lmc 1\nqos FALSE\n".to_owned(),
        partitions: Some(OPEN.to_owned()),
        routes: Some(ROUTES.to_owned()),
        sm: "H1",
        clients: vec!["H2", "H4", "R2"],
        ..Site::default()
    }
}

/// The same with more LIDs, which makes alternate paths many.
pub(crate) fn wide_tree() -> Site {
    Site {
        name: "tree, LMC 2".to_owned(),
        conf: "lmc 2\nqos TRUE\nsubnet_timeout 16\n\
               qos_ca_sl2vl 0,1,2,3,0,1,2,15,0,1,2,3,0,1,2,3\n\
               qos_swe_sl2vl 0,1,2,3,0,1,15,3,0,1,2,3,0,1,2,3\n"
            .to_owned(),
        ..tree()
    }
}

/// Four switches in a line, all links alike.
pub(crate) fn line() -> Site {
    let mut net = String::new();
    for switch in 1..=4 {
        let _ = writeln!(net, "switchguid=0x20000{switch}\nSwitch 8 \"S{switch}\"");
        for host in 1..=2 {
            let _ = writeln!(net, "[{host}] \"H{switch}{host}\"[1]");
        }
        if switch > 1 {
            let _ = writeln!(net, "[7] \"S{}\"[8]", switch - 1);
        }
        if switch < 4 {
            let _ = writeln!(net, "[8] \"S{}\"[7]", switch + 1);
        }
        for host in 1..=2 {
            let _ = write!(
                net,
                "\ncaguid=0x1000{switch}{host}\nHca 1 \"H{switch}{host}\"\n[1] \"S{switch}\"[{host}]\n"
            );
        }
        net.push('\n');
    }
    Site {
        name: "four switches in a line".to_owned(),
        net,
        conf: "qos TRUE\n".to_owned(),
        partitions: Some(LEVELS.to_owned()),
        sm: "H11",
        clients: vec!["H12", "H31"],
        ..Site::default()
    }
}

/// Two service levels, one of them torus-2QoS's second.
const LEVELS: &str = "\
Default=0x7fff, ipoib, FlowLabel=0x12345 : ALL=full ;
one=0x0001, sl=8 : ALL=full ;
";

pub(crate) fn torus(name: &str, damage: &[&str]) -> Result<Site> {
    let torus = Torus::generate(&[&["--dims", "4,4,3", "--hosts", "1"], damage].concat())?;
    Ok(Site {
        name: name.to_owned(),
        net: torus.net,
        conf: "qos TRUE\nrouting_engine torus-2QoS,no_fallback\n".to_owned(),
        partitions: Some(LEVELS.to_owned()),
        torus: Some(torus.conf),
        sm: "H0_0_0_0",
        clients: vec!["H1_0_0_0", "H3_2_1_0", "H2_3_2_0"],
        ..Site::default()
    })
}

/// Full, limited and no members in common.
const LIMITED: &str = "\
Default=0x7fff, ipoib : ALL=limited, SELF=full, 0x100011=full, ALL_SWITCHES=full ;
one=0x0001, ipoib, sl=3 : 0x100021=full, 0x100031=limited, 0x300001=full, 0x100041=limited ;
two=0x0002 : 0x100041=full, 0x100051=full, 0x100061=limited ;
some=0x0123, sl=2 : 0x100022=full, 0x100031=full, SELF=full, 0x310001=limited ;
low=0x0100 : 0x100011=full, 0x100061=limited, 0x100071=limited, 0x310001=full ;
";

pub(crate) fn limited() -> Site {
    Site {
        name: "limited members".to_owned(),
        conf: "qos TRUE\nlmc 0\nsubnet_prefix 0xfec0000000000001\n".to_owned(),
        partitions: Some(LIMITED.to_owned()),
        clients: vec!["H2", "H3", "H4", "H6", "H8"],
        ..tree()
    }
}

/// Ports that are full and limited members of one partition.
const BOTH: &str = "\
Default=0x7fff, ipoib : ALL=limited, SELF=full ;
one=0x0001, sl=3 : 0x100011=both, 0x100021=limited, 0x100031=both, 0x300001=limited ;
two=0x0002, ipoib : 0x100041=both, 0x100051=full, 0x100061=limited, 0x100011=limited ;
some=0x0123 : 0x100022=limited, 0x100031=both, SELF=full, ALL_SWITCHES=both ;
most=0x0456 : ALL_CAS=both, 0x300002=full ;
";

pub(crate) fn both() -> Site {
    Site {
        name: "full and limited members at once".to_owned(),
        conf: "qos TRUE\nlmc 1\nallow_both_pkeys TRUE\n".to_owned(),
        partitions: Some(BOTH.to_owned()),
        clients: vec!["H2", "H3", "H4", "H7", "R1"],
        ..tree()
    }
}

/// Groups of every kind of selector, and every criterion.
const POLICY: &str = "\
port-groups
    port-group
        name: A
        port-guid: 0x100011,0x100031-0x100041
    end-port-group
    port-group
        name: B
        port-name: \"H3/P2\"
        partition: some
    end-port-group
    port-group
        name: C
        pkey: 0x0001-0x0002
        node-type: ROUTER
    end-port-group
    port-group
        name: D
        node-type: SWITCH,SELF
    end-port-group
end-port-groups
qos-ulps
    sdp, port-num 1-22 : 5
    rds : 4
    any, service-id 0x10000-0x1ffff : 6
    any, pkey 0x456 : 1
    any, target-port-guid 0x100061 : 2
    default : 0
end-qos-ulps
qos-levels
    qos-level
        name: DEFAULT
        sl: 0
    end-qos-level
    qos-level
        name: small
        sl: 1
        mtu-limit: 2
        rate-limit: 5
    end-qos-level
    qos-level
        name: keys
        sl: 2
        pkey: 0x0001-0x0002,0x0123
        packet-life: 12
    end-qos-level
    qos-level
        name: lost
        sl: 7
    end-qos-level
    qos-level
        name: far
        sl: 3
        rate-limit: 7
        packet-life: 20
    end-qos-level
    qos-level
        name: odd
        sl: 33
    end-qos-level
end-qos-levels
qos-match-rules
    qos-match-rule
        qos-class: 4094-4095
        qos-level-name: odd
    end-qos-match-rule
    qos-match-rule
        source: A
        destination: B,C
        service-id: 22-0x10000,0x1060cbc
        qos-level-name: keys
    end-qos-match-rule
    qos-match-rule
        qos-class: 7-8
        pkey: 0x0001,0x0123
        qos-level-name: far
    end-qos-match-rule
    qos-match-rule
        destination: A
        qos-class: 1,100
        qos-level-name: small
    end-qos-match-rule
    qos-match-rule
        pkey: 0x0002
        qos-level-name: lost
    end-qos-match-rule
    qos-match-rule
        source: D
        destination: A,B
        qos-level-name: small
    end-qos-match-rule
    qos-match-rule
        source: C
        qos-level-name: keys
    end-qos-match-rule
end-qos-match-rules
";

/// An SL that there is not.
pub(crate) const ODD_SL: &str = "sl: 33";

/// The same with what shifts by 33 come to on OpenSM's processor.
pub(crate) fn wrapped(policy: &str) -> String {
    policy.replace(ODD_SL, "sl: 1")
}

pub(crate) fn policy() -> Site {
    Site {
        name: "QoS policy".to_owned(),
        conf: "qos TRUE\nlmc 1\n\
               qos_ca_sl2vl 0,1,2,3,0,1,2,15,0,1,2,3,0,1,2,3\n"
            .to_owned(),
        partitions: Some(OPEN.to_owned()),
        policy: Some(POLICY.to_owned()),
        clients: vec!["H2", "H4", "H5", "R1"],
        ..tree()
    }
}

/// The tree with partitions, a policy, options and routes of the rng's choice.
pub(crate) fn at_random(rng: &mut Rng) -> Site {
    let tree = tree();
    let names = Names {
        guids: guids(&tree.net),
        routers: vec![0x30_0001, 0x30_0002, 0x31_0001],
        // For a port that a node does not have, OpenSM looks behind the end of its table.
        nodes: ["S1", "L2", "H3", "R1"].map(str::to_owned).into(),
    };
    let conf = options::opensm_conf(rng);
    let is_asked = |line: &&str| !NOT_ASKED.iter().any(|key| line.starts_with(key));
    let conf: Vec<_> = conf.lines().filter(is_asked).collect();
    let qos = if rng.one_in(6) { "FALSE" } else { "TRUE" };
    Site {
        name: "anything".to_owned(),
        conf: format!("qos {qos}\n{}\n", conf.join("\n")),
        partitions: (!rng.one_in(8)).then(|| options::partitions(rng, &names)),
        policy: (!rng.one_in(4)).then(|| options::policy(rng, &names)),
        routes: (!rng.one_in(3)).then(|| options::prefix_routes(rng, &names)),
        clients: vec!["H2", "H3", "H5", "R1"],
        ..tree
    }
}

/// The one that OpenSM 3.3.23 does not know.
const NOT_ASKED: [&str; 1] = ["max_rate_enum"];

/// Port GUIDs in a net file.
fn guids(net: &str) -> Vec<u64> {
    let of_ports = net.split(['(', ')']).skip(1).step_by(2);
    let of_switches = net
        .lines()
        .filter_map(|line| line.strip_prefix("switchguid=0x"));
    let all = of_ports.chain(of_switches);
    all.filter_map(|text| u64::from_str_radix(text, 16).ok())
        .collect()
}
