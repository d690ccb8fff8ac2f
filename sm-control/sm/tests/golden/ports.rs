//! PortInfo, SwitchInfo, and the tables of options, against what OpenSM wrote.

use sa_fabric::PortRef;
use sa_fabric::options::{ManagerOptions, OpenSmOptions, PortClass};
use sa_sm::lids::{LidOptions, Plan, Remembered, assign};
use sa_sm::model::attributes::Data;
use sa_sm::model::{Block, Subnet};
use sa_sm::wanted::port_info::{Common, Decided, differs, wanted};
use sa_sm::wanted::qos::{PortQos, sl_to_vl, switch_sl_to_vl};
use sa_sm::wanted::switch_info;
use sa_wire::records::PortInfoRecord;
use sa_wire::smp::attribute;
use sa_wire::{NodeType, Sl};

use sm_recordings::{fields, place, read, subnet};

const QOS: &str = "qos TRUE\nqos_max_vls 8\nqos_high_limit 5\nqos_vlarb_high 0:32,1:32,2:32,3:32\n\
                   qos_vlarb_low 0:64,1:64,2:64,3:64,4:64,5:64,6:64,7:64\n\
                   qos_sl2vl 0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7\n";

/// First sweeps, with the lines of `opensm.conf` that change what is written.
fn cases() -> Vec<(&'static str, String)> {
    let qos = |more: &str| format!("{QOS}{more}");
    vec![
        ("g01-star", String::new()),
        ("g02-line", String::new()),
        ("g03-ftree", String::new()),
        ("g04-ftree-lmc1", "lmc 1\n".into()),
        ("g05-torus444-minhop", String::new()),
        ("g07-torus444-2qos", qos("")),
        ("g08-ftree-qos", qos("max_op_vls 4\n")),
        ("g11-parallel", String::new()),
        ("g12-router-esp0-lmc1", qos("lmc 1\nlmc_esp0 TRUE\n")),
        ("g13-mixed-mtu-vl", String::new()),
    ]
}

/// A recorded fabric, and what is planned for it.
struct Case {
    opensm: Subnet,
    options: OpenSmOptions,
    manager: ManagerOptions,
    plan: Plan,
}

impl Case {
    fn new(name: &str, conf: &str) -> Self {
        let opensm = subnet(&read(name, "state-0-up.txt"));
        let options = OpenSmOptions::parse(conf.as_bytes()).unwrap();
        let manager = ManagerOptions::parse(conf.as_bytes()).unwrap();
        let lids = LidOptions {
            lmc: manager.lmc,
            lmc_esp0: options.lmc_esp0,
            reassign: false,
        };
        let plan = assign(&opensm, lids, &mut Remembered::default());
        Self {
            opensm,
            options,
            manager,
            plan,
        }
    }

    fn class(&self, at: PortRef) -> PortClass {
        match (self.opensm.node(at.node).unwrap().kind(), at.port) {
            (NodeType::Switch, 0) => PortClass::SwitchPort0,
            (NodeType::Switch, _) => PortClass::SwitchExternal,
            (NodeType::Ca, _) => PortClass::Ca,
            (NodeType::Router, _) => PortClass::Router,
        }
    }

    /// The SL to the SM is the engine's: it is taken from the recording.
    fn wanted(&self, subnet: &Subnet, at: PortRef) -> PortInfoRecord {
        let told = self.opensm.port(at).unwrap().info.unwrap();
        let limit = self.options.qos_tables(self.class(at)).high_limit;
        let decided = Decided {
            lids: self.plan.ports.get(&at).copied(),
            sm_sl: Some(Sl::from_low_bits(told.neighbor_mtu_and_sm_sl)),
            high_limit: self.options.qos.then_some(limit),
            registers_again: false,
        };
        let common = Common {
            options: &self.options,
            manager: &self.manager,
            sm_lid: self.plan.ports[&subnet.sm().unwrap()].lid,
        };
        wanted(subnet, at, &decided, common).unwrap()
    }
}

fn ports(subnet: &Subnet) -> Vec<PortRef> {
    let all = subnet.places().flat_map(|(node, it)| {
        let known = it.ports().filter(|(_, port)| port.info.is_some());
        known.map(move |(port, _)| PortRef { node, port })
    });
    all.collect()
}

/// A port as it was before OpenSM came: what it wrote is taken back. Base ports 0 and CAs keep what OpenSM leaves alone.
fn as_powered_on(subnet: &mut Subnet, at: PortRef) {
    let node = subnet.node(at.node).unwrap();
    let is_base = node.is_switch() && at.port == 0 && !node.has_enhanced_port0();
    let is_external = node.is_switch() && at.port != 0;
    let info = subnet.port_mut(at).unwrap().info.as_mut().unwrap();
    if !is_external {
        info.gid_prefix = 0.into();
        info.base_lid = 0.into();
        info.sm_lid = 0.into();
        info.m_key_lease_period = 4089.into();
        info.m_key_protect_and_lmc = 0;
        info.subnet_timeout = 31;
        info.neighbor_mtu_and_sm_sl &= 0xf0;
    }
    if !is_base {
        info.error_thresholds = 0;
        info.vl_high_limit = 0;
        info.speed_active_and_enabled = (info.speed_active_and_enabled & 0xf0) | 1;
        info.link_width_enabled = 2;
        info.operational_vls_and_enforcement = info.vl_cap_and_init_type & 0xf0;
        info.neighbor_mtu_and_sm_sl &= 0xf;
        info.vl_stall_and_hoq_life &= if is_external { 0 } else { 0xe0 };
    }
}

/// What a device keeps of a Set: "all that is supported" becomes what that is.
fn kept(info: &PortInfoRecord) -> PortInfoRecord {
    let mut kept = *info;
    if kept.link_width_enabled == 255 {
        kept.link_width_enabled = kept.link_width_supported;
    }
    if kept.speed_active_and_enabled & 0xf == 15 {
        kept.speed_active_and_enabled =
            (kept.speed_active_and_enabled & 0xf0) | (kept.speed_supported_and_state >> 4);
    }
    kept
}

#[test]
fn ports_get_what_opensm_gives_them() {
    for (name, conf) in cases() {
        let case = Case::new(name, &conf);
        let mut before = case.opensm.clone();
        for at in ports(&case.opensm) {
            as_powered_on(&mut before, at);
        }
        for at in ports(&case.opensm) {
            let mut expected = case.opensm.port(at).unwrap().info.unwrap();
            let found = kept(&case.wanted(&before, at));
            expected.speed_supported_and_state &= 0xf0;
            expected.physical_state_and_down_default &= 0xf;
            expected.local_port_num = 0;
            assert_eq!(found, expected, "{name} {at:?}");
        }
    }
}

#[test]
fn what_opensm_wrote_is_not_written_again() {
    for (name, conf) in cases() {
        let case = Case::new(name, &conf);
        for at in ports(&case.opensm) {
            let read = case.opensm.port(at).unwrap().info.unwrap();
            assert!(
                !differs(&read, &case.wanted(&case.opensm, at)),
                "{name} {at:?}"
            );
        }
        for node in case.opensm.nodes() {
            let Some(read) = node.switch_info else {
                continue;
            };
            let life_time = case.options.packet_life_time;
            let wanted = switch_info::wanted(&read, case.plan.top(), life_time);
            assert!(
                !switch_info::differs(&read, &wanted),
                "{name} {}",
                node.guid()
            );
            let mut fresh = read;
            fresh.linear_top = 0.into();
            fresh.life_time_and_change = 4;
            assert!(switch_info::differs(&fresh, &read) && switch_info::cleared(&fresh).is_some());
            let wanted = switch_info::wanted(&fresh, case.plan.top(), life_time);
            assert!(
                !switch_info::differs(&wanted, &read),
                "{name} {}",
                node.guid()
            );
            assert!(switch_info::cleared(&wanted).is_none());
        }
    }
}

/// Both arbitration tables of a port as the recordings have them: 8 entries each.
fn arbitration(blocks: &[(Block, Data)], number: u32) -> String {
    let data = blocks
        .iter()
        .find(|(block, _)| block.modifier >> 16 == number);
    let entries = data.unwrap().1[..16]
        .chunks(2)
        .map(|it| format!(" {}:{}", it[0], it[1]));
    entries.collect()
}

#[test]
fn tables_of_options_are_those_of_opensm() {
    for (name, conf) in cases()
        .into_iter()
        .filter(|(name, _)| ["g08-ftree-qos", "g12-router-esp0-lmc1"].contains(name))
    {
        let case = Case::new(name, &conf);
        let state = read(name, "state-0-up.txt");
        let tables = |at| {
            let tables = case.options.qos_tables(case.class(at));
            PortQos::of_options(&tables, &case.wanted(&case.opensm, at)).unwrap()
        };
        let mut compared = (0, 0);
        for line in state.lines().filter(|line| line.starts_with("vlarb ")) {
            let (subject, rest) = fields(line);
            let at = place(&case.opensm, subject);
            let number = if rest.starts_with("low0") { 1 } else { 3 };
            let blocks = tables(at).arbitration(0, at.port);
            assert_eq!(
                arbitration(&blocks, number),
                rest[rest.find(' ').unwrap()..],
                "{name} {line}"
            );
            compared.0 += 1;
        }
        for line in state.lines().filter(|line| line.starts_with("slvl ")) {
            let (subject, rest) = fields(line);
            let words: Vec<&str> = rest.split(' ').collect();
            let output: u8 = words[0].strip_prefix("out=").unwrap().parse().unwrap();
            let at = place(&case.opensm, &format!("{subject}/{output}"));
            let node = case.opensm.node(at.node).unwrap();
            if node.is_switch() && output == 0 && !node.has_enhanced_port0() {
                continue;
            }
            let (block, data) = match node.is_switch() {
                true => switch_sl_to_vl(1, output, tables(at).sl2vl),
                false => sl_to_vl(output, tables(at).sl2vl),
            };
            assert_eq!(block.attribute, attribute::SL_TO_VL);
            let hex: String = data[..8].iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, words[1], "{name} {line}");
            compared.1 += 1;
        }
        assert!(compared.0 > 5 && compared.1 > 5, "{name} {compared:?}");
    }
}
