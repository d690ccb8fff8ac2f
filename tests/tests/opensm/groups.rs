//! Paths to multicast groups and to other subnets: random requests to OpenSM get, field by field,
//! what the snapshot of the same files gives.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use sa_answer::whole::respond;
use sa_compiler::pipeline::{Compiled, Inputs, Stamp, compile};
use sa_rig::Fabric;
use sa_tests::client::Client;
use sa_tests::rng::Rng;
use sa_tests::skip;
use sa_wire::mad::method;
use sa_wire::path_record::{FlowWord, NumbPathByte, PathCompMask, PathRecord, SelectedValue};
use sa_wire::request::{parse, path_request};
use sa_wire::{Gid, Guid, Mlid, SubnetPrefix};

/// Two switches, three hosts, a router on both switches, and one behind the second.
const NET: &str = "\
switchguid=0x200000\nSwitch 8 \"S1\"\n[1] \"H1\"[1]\n[2] \"H2\"[1]\n[3] \"S2\"[3]\n[4] \"R1\"[1]\n\n\
switchguid=0x200010\nSwitch 8 \"S2\"\n[3] \"S1\"[3]\n[1] \"H3\"[1]\n[4] \"R1\"[2]\n[5] \"R2\"[1]\n\n\
caguid=0x100000\nHca 1 \"H1\"\n[1](100001) \"S1\"[1]\n\n\
caguid=0x100010\nHca 1 \"H2\"\n[1](100011) \"S1\"[2]\n\n\
caguid=0x100020\nHca 1 \"H3\"\n[1](100021) \"S2\"[1]\n\n\
rtguid=0x300000\nRt 2 \"R1\"\n[1](300001) \"S1\"[4]\n[2](300002) \"S2\"[4]\n\n\
rtguid=0x310000\nRt 1 \"R2\"\n[1](310001) \"S2\"[5]\n\n";

/// A partition that nobody belongs to, groups of both kinds and several scopes, with every flag.
const PARTITIONS: &str = "\
Default=0x7fff, ipoib : ALL=full ;
nobody=0x0400, ipoib : 0x999999=full ;
plain=0x0001, sl=3 : ALL=full ;
storage=0x0123, ipoib, sl=2, mtu=4, rate=3, Q_Key=0xDEAD, TClass=7, FlowLabel=0x12345 : ALL=full ;
wide=0x0200, ipoib, scope=5, scope=2, FlowLabel=9 :
    mgid=ff12:401b::1,sl=1
    mgid=ff15:1234::4,Q_Key=77,mtu=2,rate=2,TClass=9,scope=14
    0x100021=limited, 0x310001=full, 0x100011=full ;
listed=0x0300 :
    mgid=ff18:beef::1,sl=5
    0x100011=full, 0x300001=full ;
";

const POLICY: &str = "\
port-groups
    port-group
        name: routers
        node-type: ROUTER
    end-port-group
end-port-groups
qos-levels
    qos-level
        name: DEFAULT
        sl: 0
    end-qos-level
    qos-level
        name: away
        sl: 4
        mtu-limit: 3
        packet-life: 15
    end-qos-level
end-qos-levels
qos-match-rules
    qos-match-rule
        destination: routers
        qos-level-name: away
    end-qos-match-rule
end-qos-match-rules
";

/// To the second router; to a port of the first that OpenSM does not take for a router, as it met
/// it late; to a host; to the first router there is. The rest has no route.
const ROUTES: &str = "\
# elsewhere
fec0000000000007 0x310001
fec0000000000008 0x300002
0xfec0000000000009\t100021
fec000000000000a * # any
fec0000000000007 *
";

const PREFIXES: [u64; 5] = [
    0xfec0_0000_0000_0007,
    0xfec0_0000_0000_0008,
    0xfec0_0000_0000_0009,
    0xfec0_0000_0000_000a,
    0xfec0_0000_0000_000b,
];

const HOSTS: [u64; 3] = [0x10_0001, 0x10_0011, 0x10_0021];
const ROUTERS: [u64; 3] = [0x30_0001, 0x30_0002, 0x31_0001];

/// Requests of each kind and set-up.
const REQUESTS: usize = 1000;

#[test]
fn opensm_answers_the_same() -> Result<()> {
    compare(0, ROUTES, Some(POLICY))
}

#[test]
fn opensm_answers_the_same_with_several_lids() -> Result<()> {
    // A route for all prefixes hides those behind it.
    let routes = ROUTES.replace("0xfec0000000000009\t100021", "* *");
    compare(1, &routes, None)
}

fn compare(lmc: u8, routes: &str, policy: Option<&str>) -> Result<()> {
    if let Some(why) = Fabric::unavailable() {
        return skip(&why);
    }
    let fabric = Fabric::start(NET)?;
    let put = |name: &str, text: &str| -> Result<String> {
        let path = fabric.dir().join(name);
        fs::write(&path, text)?;
        Ok(path.to_str().context("a name")?.to_owned())
    };
    put("prefix-routes.conf", routes)?;
    let partitions = put("partitions.conf", PARTITIONS)?;
    let policy_file = put("policy.conf", policy.unwrap_or_default())?;
    // OpenSM reads routes only if it has a configuration file.
    let conf = format!(
        "qos TRUE\nlmc {lmc}\nprefix_routes_file prefix-routes.conf\n\
         partition_config_file {partitions}\n"
    );
    let conf = put("opensm.conf", &conf)?;
    let mut options = vec!["-F", conf.as_str()];
    if policy.is_some() {
        options.extend(["-Y", policy_file.as_str()]);
    }
    let _opensm = fabric.opensm("H1", &options)?;
    let dir = fabric.dir();
    let compiled = compiled(dir, policy.is_some())?;

    let mut client = Client::attach(&fabric, "H2")?;
    let mut rng = Rng::new(u64::from(lmc) + 1);
    let mut tally: BTreeMap<(&str, u16, usize), usize> = BTreeMap::new();
    let mut different = Vec::new();
    for nth in 0..2 * REQUESTS {
        let mut draft = Draft::default();
        let kind = if nth % 2 == 0 { "group" } else { "elsewhere" };
        match kind {
            "group" => draft.towards_group(&mut rng, &compiled),
            _ => draft.towards_elsewhere(&mut rng, &compiled),
        }
        let asked = draft.method(&mut rng, lmc);
        let mask = PathCompMask(draft.mask);
        let slot = path_request(client.lid, asked, mask, &draft.record);
        let theirs = parse(&client.ask(&slot)?)?;
        let ours = respond(&compiled.snapshot, &slot).context("a reply of ours")?;
        let ours = parse(&ours)?;
        *tally.entry((kind, ours.0, ours.1.len())).or_default() += 1;
        let expected = (ours.0, as_opensm(&ours.1));
        if theirs != expected {
            different.push(format!(
                "{kind}: method {asked:#x}, mask {:#x}, {:?}\nOpenSM {theirs:x?}\nours {expected:x?}",
                draft.mask, draft.record
            ));
        }
    }
    eprintln!("LMC {lmc}: {tally:?}");
    ensure!(
        different.is_empty(),
        "{} of {} differ, first:\n{}",
        different.len(),
        2 * REQUESTS,
        different
            .iter()
            .take(3)
            .cloned()
            .collect::<Vec<_>>()
            .join("\n")
    );
    for kind in ["group", "elsewhere"] {
        let of_kind = tally.iter().filter(|((seen, ..), _)| *seen == kind);
        let answered = of_kind.filter(|((_, _, records), _)| *records > 0);
        let answered: usize = answered.map(|(_, count)| count).sum();
        ensure!(answered > REQUESTS / 5, "{answered} to {kind} have records");
    }
    Ok(())
}

/// The same files, compiled.
fn compiled(dir: &Path, has_policy: bool) -> Result<Compiled> {
    let inputs = Inputs {
        fabric: dir.join("net"),
        lids: Some(dir.join("opensm-subnet.lst")),
        sm_node: Some("H1".to_owned()),
        partitions: Some(dir.join("partitions.conf")),
        opensm_conf: Some(dir.join("opensm.conf")),
        policy: has_policy.then(|| dir.join("policy.conf")),
        ..Inputs::default()
    };
    Ok(compile(&inputs, Stamp::default())?)
}

/// Our records with OpenSM's one mistake: the flow label of a group is not in network byte order
/// (on a little endian machine).
fn as_opensm(records: &[PathRecord]) -> Vec<PathRecord> {
    let mut records = records.to_vec();
    for record in records
        .iter_mut()
        .filter(|record| record.dgid().is_multicast())
    {
        let (label, hops) = (record.flow.flow_label(), record.flow.hop_limit());
        let word = u32::from(hops) << 24 | label << 8;
        record.flow = FlowWord(word.swap_bytes().into());
    }
    records
}

/// A request.
#[derive(Default)]
struct Draft {
    mask: u64,
    record: PathRecord,
}

const DGID: u32 = 2;
const SGID: u32 = 3;
const DLID: u32 = 4;
const SLID: u32 = 5;
const NUMB_PATH: u32 = 12;

impl Draft {
    fn say(&mut self, bit: u32) {
        self.mask |= 1 << bit;
    }

    /// Every field at random, and components that say so now and then.
    fn at_random(&mut self, rng: &mut Rng, often: usize) {
        self.record = PathRecord {
            service_id: u64::from_be_bytes(std::array::from_fn(|_| rng.byte())).into(),
            sgid: std::array::from_fn(|_| rng.byte()),
            slid: u16::from(rng.byte()).into(),
            flow: FlowWord::new(0x54321, rng.byte()),
            tclass: rng.byte(),
            preference: rng.byte(),
            reserved: std::array::from_fn(|_| rng.byte()),
            ..PathRecord::default()
        };
        if rng.one_in(2) {
            self.record.flow = self.record.flow.with_raw_traffic();
        }
        self.record.mtu = SelectedValue(rng.pick(&[0x04, 0x43, 0x84, 0xc1, 0x05, 0x87]));
        self.record.rate = SelectedValue(rng.pick(&[0x02, 0x43, 0x83, 0xc2, 0x07, 0x81]));
        self.record.packet_life = SelectedValue(rng.pick(&[0x02, 0x54, 0x8f, 0xc2, 0x3f]));
        self.record.numb_path = NumbPathByte(rng.pick(&[0x00, 0x80, 0x81, 0x01, 0x02, 0xff]));
        self.record.qos_class_sl.0 = rng.pick(&[0x0010_u16, 0x0023, 0x0004, 0xfff0]).into();
        for bits in [&[0, 1][..], &[16, 17], &[18, 19], &[20, 21]] {
            if rng.one_in(often) {
                for bit in bits.iter().filter(|_| !rng.one_in(6)) {
                    self.say(*bit);
                }
            }
        }
        for bit in [6, 7, 10, 11, NUMB_PATH, 14, 15, 22, 40, 63] {
            if rng.one_in(often) {
                self.say(bit);
            }
        }
    }

    fn towards_group(&mut self, rng: &mut Rng, compiled: &Compiled) {
        self.at_random(rng, 3);
        let groups = compiled.parts.partitions.multicast_groups().iter();
        let groups: Vec<_> = groups.zip(&compiled.parts.off_subnet.mlids).collect();
        let (group, mlid) = rng.pick(&groups);
        let record = &mut self.record;
        record.dgid = group.mgid.0;
        if rng.one_in(12) {
            record.dgid[rng.pick(&[1, 5, 15])] ^= 1;
        }
        record.dlid = mlid.get().into();
        record.pkey = (group.base | 0x8000).into();
        record.qos_class_sl.0 = u16::from(group.sl.get()).into();
        record.flow = FlowWord::new(group.flow_label, group.hop_limit);
        record.tclass = group.tclass;
        if rng.one_in(4) {
            match rng.below(6) {
                0 => record.dlid = rng.pick(&[Mlid::MIN.get(), 0xc001, 4]).into(),
                1 => record.pkey = group.base.into(),
                2 => record.qos_class_sl.0 = 7.into(),
                3 => record.flow = FlowWord::new(0x1, group.hop_limit),
                4 => record.flow = FlowWord::new(group.flow_label, group.hop_limit ^ 0xff),
                _ => record.tclass ^= 1,
            }
        }
        self.say(DGID);
        for bit in [DLID, 8, 9, 10, 13, 15] {
            if rng.one_in(2) {
                self.say(bit);
            }
        }
        if rng.one_in(10) {
            self.record.sgid = gid(rng.pick(&HOSTS));
            self.record.slid = lid_of(compiled, rng.pick(&HOSTS)).into();
            let bit = rng.pick(&[SGID, SLID]);
            self.say(bit);
        }
    }

    fn towards_elsewhere(&mut self, rng: &mut Rng, compiled: &Compiled) {
        let often = rng.pick(&[3, 8, 20]);
        self.at_random(rng, often);
        let prefix = SubnetPrefix(rng.pick(&PREFIXES));
        let guid = Guid::new(u64::from(rng.byte()) + 1).unwrap_or(compiled.parts.facts[0].guid);
        self.record.dgid = Gid::unicast(prefix, guid).0;
        self.record.pkey = rng
            .pick(&[0xffff_u16, 0x8001, 0x0123, 0x8200, 0x0300, 0x8300])
            .into();
        self.say(DGID);
        if rng.one_in(often) {
            self.say(13);
        }
        let source = if rng.one_in(6) {
            rng.pick(&ROUTERS)
        } else {
            rng.pick(&HOSTS)
        };
        self.record.sgid = gid(source);
        self.record.slid = lid_of(compiled, source).into();
        match rng.below(8) {
            0..=3 => self.say(SGID),
            4..=5 => self.say(SLID),
            6 => {
                self.say(SGID);
                self.say(SLID);
            }
            _ => {}
        }
        self.record.dlid = lid_of(compiled, rng.pick(&ROUTERS)).into();
        if rng.one_in(4) {
            self.say(DLID);
        }
        for bit in [8, 9] {
            if rng.one_in(3) {
                self.say(bit);
            }
        }
    }

    /// Get, or a table of what one MAD takes over the simulator.
    fn method(&mut self, rng: &mut Rng, lmc: u8) -> u8 {
        let to_group = self.record.dgid[0] == 0xff;
        let has_source = self.mask & (1 << SGID | 1 << SLID) != 0;
        if !rng.one_in(3) || !(to_group || has_source) {
            return method::GET;
        }
        if lmc > 0 && !to_group {
            self.say(NUMB_PATH);
            self.record.numb_path = NumbPathByte(rng.pick(&[0, 1, 2, 0x82]));
        }
        method::GET_TABLE
    }
}

fn gid(guid: u64) -> [u8; 16] {
    let mut gid = [0; 16];
    gid[..2].copy_from_slice(&[0xfe, 0x80]);
    gid[8..].copy_from_slice(&guid.to_be_bytes());
    gid
}

/// Its first LID.
fn lid_of(compiled: &Compiled, guid: u64) -> u16 {
    let mut ends = compiled.parts.topology.end_ports.iter();
    let end = ends.find(|end| end.guid.get() == guid);
    end.map_or(0, |end| end.lid.get())
}
