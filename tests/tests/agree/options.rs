//! `partitions.conf`, `opensm.conf` and QoS policies.

use std::fmt::Write;

use crate::dice::Dice;

/// What a fabric's files may name.
pub(crate) struct Names {
    /// Port GUIDs.
    pub(crate) guids: Vec<u64>,
    /// Those of routers.
    pub(crate) routers: Vec<u64>,
    /// NodeDescriptions.
    pub(crate) nodes: Vec<String>,
}

/// Numbers whose neighbours are worth asking for.
pub(crate) const CLASSES: [u64; 8] = [0, 1, 7, 8, 100, 4094, 4095, 5000];
pub(crate) const KEYS: [u64; 9] = [1, 2, 3, 0x100, 0x123, 0x456, 0x7ffe, 0x7fff, 0x8123];
pub(crate) const IDS: [u64; 9] = [
    0,
    1,
    22,
    0x10000,
    0x1ffff,
    0x106_0cbc,
    0x106_ffff,
    1 << 40,
    u64::MAX,
];

pub(crate) fn partitions(dice: &mut Dice, names: &Names) -> String {
    let mut text = String::new();
    if !dice.one_in(6) {
        let how = dice.pick(&["full", "full", "limited", "both"]);
        let _ = writeln!(text, "Default=0x7fff{} : ALL={how};", sl(dice));
    }
    for _ in 0..=dice.below(6) {
        let key = dice.pick(&KEYS);
        let word = dice.pick(&["", ", defmember=full", ", indx0", ", ipoib", ", ipoib"]);
        let of_groups = group_flags(dice);
        let mgids = dice.pick(&[
            "",
            "",
            "\n mgid=ff12:1::1\n ",
            "\n mgid=ff12:1::1,sl=3\n mgid=ff1e:2::2\n ",
        ]);
        let members = dice.list(8, |dice| {
            let who = match dice.below(10) {
                0 => dice
                    .pick(&["ALL", "ALL_CAS", "ALL_SWITCHES", "ALL_ROUTERS", "SELF"])
                    .into(),
                _ => format!("0x{:x}", dice.pick(&names.guids)),
            };
            who + dice.pick(&["=full", "=full", "=limited", "=both", ""])
        });
        let _ = writeln!(
            text,
            "p{}=0x{key:x}{word}{}{of_groups} : {mgids}{members};",
            dice.below(4),
            sl(dice)
        );
    }
    text
}

/// Every port in partitions of its own choice.
pub(crate) fn many_partitions(dice: &mut Dice, names: &Names) -> String {
    let mut text = String::new();
    for key in 1..=12 {
        let members: Vec<_> = names.guids.iter().filter(|_| dice.one_in(3)).collect();
        let _ = write!(text, "p{key}=0x{key:x} : ALL_SWITCHES=full");
        for guid in members {
            // Lines are read into a buffer of 4 KiB.
            let _ = write!(text, ",\n0x{guid:x}={}", dice.pick(&["full", "limited"]));
        }
        text.push_str(";\n");
    }
    text
}

fn group_flags(dice: &mut Dice) -> String {
    let mut text = String::new();
    let mut flag = |dice: &mut Dice, name: &str, values: &[u32]| {
        if dice.one_in(3) {
            let _ = write!(text, ", {name}={}", dice.pick(values));
        }
    };
    flag(dice, "mtu", &[1, 4, 5]);
    flag(dice, "rate", &[2, 3, 7, 18]);
    flag(dice, "scope", &[2, 5, 14]);
    flag(dice, "TClass", &[3, 255]);
    flag(dice, "FlowLabel", &[1, 0x12345, 0xfffff]);
    text
}

/// Prefixes of other subnets; the third is this one's now and then.
pub(crate) const ELSEWHERE: [u64; 4] = [
    0xfec0_0000_0000_0007,
    0xfec0_0000_0000_0008,
    0x2001_0db8_0000_0007,
    1,
];

/// Often to a router, now and then to a host or nobody.
pub(crate) fn prefix_routes(dice: &mut Dice, names: &Names) -> String {
    let mut text = "# other subnets\n".to_owned();
    for _ in 0..=dice.below(4) {
        let prefix = match dice.below(3) {
            0 => "*".to_owned(),
            _ => format!("{:x}", dice.pick(&ELSEWHERE)),
        };
        let router = match dice.below(6) {
            0..=2 => "*".to_owned(),
            3 => format!("0x{:x}", dice.pick(&names.guids)),
            _ if names.routers.is_empty() => "99".to_owned(),
            _ => format!("0x{:x}", dice.pick(&names.routers)),
        };
        let _ = writeln!(text, "{prefix}\t{router} # and so on");
    }
    text
}

/// Second GUIDs for one in `often` of the ports, in the form of `opensm-sa.dump`; before,
/// among and behind the ports' own in the order of tables.
pub(crate) fn aliases(dice: &mut Dice, names: &Names, often: usize) -> String {
    let mut text = "# second GUIDs\n\n".to_owned();
    let mut seen = names.guids.clone();
    for base in &names.guids {
        if !dice.one_in(often) {
            continue;
        }
        for block in 0..=dice.below(2) {
            let mut guids = [0_u64; 8];
            for (place, guid) in guids.iter_mut().enumerate() {
                let alias = match dice.below(3) {
                    0 => dice.next(),
                    1 => base ^ 1 << dice.below(64),
                    _ => base ^ u64::from(dice.byte()) << 56,
                };
                let is_own = block == 0 && place == 0;
                if !is_own && dice.one_in(5) && alias != 0 && !seen.contains(&alias) {
                    seen.push(alias);
                    *guid = alias;
                }
            }
            if block == 0 {
                guids[0] = *base;
            }
            let _ = write!(
                text,
                "GUIDInfo Record: base_guid=0x{base:016x} lid=0x0001 block_num=0x{block:x}"
            );
            for (place, guid) in guids.iter().enumerate() {
                let _ = write!(text, " guid{place}=0x{guid:016x}");
            }
            text.push_str("\n\n");
        }
    }
    text
}

fn sl(dice: &mut Dice) -> String {
    if dice.one_in(2) {
        format!(", sl={}", dice.below(16))
    } else {
        String::new()
    }
}

pub(crate) fn opensm_conf(dice: &mut Dice) -> String {
    let mut text = String::new();
    let mut line = |dice: &mut Dice, times, key: &str, value: &dyn Fn(&mut Dice) -> String| {
        if dice.one_in(times) {
            let _ = writeln!(text, "{key} {}", value(dice));
        }
    };
    let flag = |dice: &mut Dice| dice.pick(&["TRUE", "FALSE"]).to_owned();
    line(dice, 2, "subnet_prefix", &|dice| {
        format!("0x{:x}", dice.pick(&PREFIXES))
    });
    line(dice, 3, "subnet_timeout", &|dice| {
        dice.pick(&[0u8, 1, 17, 18, 62, 63]).to_string()
    });
    line(dice, 3, "sa_key", &|dice| {
        dice.pick(&["0", "1", "7"]).to_owned()
    });
    line(dice, 3, "allow_both_pkeys", &flag);
    line(dice, 3, "lmc", &|dice| dice.below(3).to_string());
    line(dice, 4, "lmc_esp0", &flag);
    line(dice, 6, "max_op_vls", &|dice| dice.within(1, 5).to_string());
    line(dice, 6, "max_rate_enum", &|dice| {
        dice.pick(&[2u8, 12, 18, 22, 24]).to_string()
    });
    line(dice, 6, "use_original_extended_sa_rates_only", &flag);
    for class in ["", "ca_", "swe_", "sw0_", "rtr_"] {
        line(dice, 4, &format!("qos_{class}sl2vl"), &sl2vl);
    }
    text
}

/// The link-local one, common ones, and one that looks like a multicast GID's.
pub(crate) const PREFIXES: [u64; 4] = [
    0xfe80 << 48,
    0xfec0 << 48,
    0xfec0_0000_0000_0001,
    0x2001_0db8_0000_0007,
];

/// VL 15 now and then, which drops an SL.
fn sl2vl(dice: &mut Dice) -> String {
    let often = dice.pick(&[3, 8, 30]);
    let vl = |dice: &mut Dice| {
        if dice.one_in(often) {
            15
        } else {
            dice.below(15)
        }
    };
    let vls: Vec<_> = (0..16).map(|_| vl(dice).to_string()).collect();
    vls.join(",")
}

pub(crate) fn policy(dice: &mut Dice, names: &Names) -> String {
    let mut text = "qos-levels\n".to_owned();
    for name in ["default", "L1", "L2", "L3"] {
        level(dice, name, &mut text);
    }
    text += "end-qos-levels\nport-groups\n";
    for group in ["A", "B", "C", "D"] {
        let _ = writeln!(text, "port-group\nname: {group}");
        for _ in 0..dice.below(3) {
            let _ = writeln!(text, "{}", selector(dice, names));
        }
        text += "end-port-group\n";
    }
    text += "end-port-groups\nqos-match-rules\n";
    // More than 64 need a second word.
    let rules = dice.pick(&[0, 2, 5, 9, 20, 63, 64, 90, 140]);
    for _ in 0..dice.below(rules + 1) {
        rule(dice, rules, &mut text);
    }
    text += "end-qos-match-rules\n";
    for _ in 0..dice.pick(&[0, 0, 3]) {
        let (ulp, sl) = (ulp(dice, names), dice.below(16));
        let _ = writeln!(text, "qos-ulps\n{ulp} : {sl}\nend-qos-ulps");
    }
    text
}

fn level(dice: &mut Dice, name: &str, text: &mut String) {
    let sl = if dice.one_in(12) {
        dice.pick(&[15, 16, 31])
    } else {
        dice.within(0, 9)
    };
    let _ = writeln!(text, "qos-level\nname: {name}\nsl: {sl}");
    let mut line = |dice: &mut Dice, times, key: &str, value: &dyn Fn(&mut Dice) -> String| {
        if dice.one_in(times) {
            let _ = writeln!(text, "{key}: {}", value(dice));
        }
    };
    line(dice, 4, "mtu-limit", &|dice| dice.within(1, 5).to_string());
    line(dice, 4, "rate-limit", &|dice| {
        dice.within(2, 18).to_string()
    });
    line(dice, 4, "packet-life", &|dice| {
        dice.pick(&[0u8, 1, 12, 20, 63, 64, 200]).to_string()
    });
    line(dice, 4, "pkey", &|dice| ranges(dice, &KEYS));
    line(dice, 9, "path-bits", &|dice| dice.below(4).to_string());
    *text += "end-qos-level\n";
}

fn ranges(dice: &mut Dice, pool: &[u64]) -> String {
    dice.list(3, |dice| {
        let (low, high) = (dice.pick(pool), dice.pick(pool));
        match dice.below(3) {
            0 => format!("{low}-{high}"),
            1 => format!("{low}-{}", low.saturating_add(1)),
            _ => low.to_string(),
        }
    })
}

fn selector(dice: &mut Dice, names: &Names) -> String {
    match dice.below(7) {
        0..=2 => format!("port-guid: {}", ranges(dice, &names.guids)),
        3 => format!("pkey: {}", ranges(dice, &KEYS)),
        4 => format!("partition: {}", dice.pick(&["p0", "p1", "p2", "Default"])),
        5 => format!(
            "node-type: {}",
            dice.pick(&["CA", "SWITCH,SELF", "ALL", "ROUTER"])
        ),
        _ => {
            let node = &names.nodes[dice.below(names.nodes.len())];
            format!("port-name: \"{node}/P{}\"", dice.within(1, 2))
        }
    }
}

/// With `rules` others. Those that hold for most queries would hide all that follow.
fn rule(dice: &mut Dice, rules: usize, text: &mut String) {
    *text += "qos-match-rule\n";
    let groups = |dice: &mut Dice| dice.pick(&["A", "b", "C", "D, A"]);
    if dice.one_in(3) {
        let _ = writeln!(text, "source: {}", groups(dice));
    }
    if dice.one_in(2) {
        let _ = writeln!(text, "destination: {}", groups(dice));
    }
    if !dice.one_in(2 + rules / 4) {
        match dice.below(3) {
            0 => *text += &format!("qos-class: {}\n", ranges(dice, &CLASSES)),
            1 => *text += &format!("service-id: {}\n", ranges(dice, &IDS)),
            _ => *text += &format!("pkey: {}\n", ranges(dice, &KEYS)),
        }
    }
    if dice.one_in(4) {
        *text += &format!("qos-class: {}\n", ranges(dice, &CLASSES));
    }
    let level = dice.pick(&["L1", "l2", "L3", "default"]);
    let _ = writeln!(text, "qos-level-name: {level}\nend-qos-match-rule");
}

fn ulp(dice: &mut Dice, names: &Names) -> String {
    match dice.below(9) {
        0 => "sdp".to_owned(),
        1 => "rds".to_owned(),
        2 => "iser".to_owned(),
        3 => format!("any, service-id {}", ranges(dice, &IDS)),
        4 => format!("any, pkey {}", ranges(dice, &KEYS)),
        5 => format!("any, target-port-guid {}", ranges(dice, &names.guids)),
        6 => format!("any, source-port-guid {}", ranges(dice, &names.guids)),
        7 => format!(
            "any, source-target-port-guid {}",
            ranges(dice, &names.guids)
        ),
        _ => "sdp, port-num 0-3, 65535".to_owned(),
    }
}
