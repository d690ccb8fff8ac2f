//! `partitions.conf`, `opensm.conf` and QoS policies.

use std::fmt::Write;

use crate::rng::Rng;

/// What a fabric's files may name.
pub struct Names {
    /// Port GUIDs.
    pub guids: Vec<u64>,
    /// Those of routers.
    pub routers: Vec<u64>,
    /// NodeDescriptions.
    pub nodes: Vec<String>,
}

/// Numbers whose neighbours are worth asking for.
pub const CLASSES: [u64; 8] = [0, 1, 7, 8, 100, 4094, 4095, 5000];
/// P_Keys, without membership.
pub const KEYS: [u64; 9] = [1, 2, 3, 0x100, 0x123, 0x456, 0x7ffe, 0x7fff, 0x8123];
/// Service ids, some at the borders of ranges that policies name.
pub const IDS: [u64; 9] = [
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

/// A `partitions.conf` with up to seven partitions.
pub fn partitions(rng: &mut Rng, names: &Names) -> String {
    let mut text = String::new();
    if !rng.one_in(6) {
        let how = rng.pick(&["full", "full", "limited", "both"]);
        let _ = writeln!(text, "Default=0x7fff{} : ALL={how};", sl(rng));
    }
    for _ in 0..=rng.below(6) {
        let key = rng.pick(&KEYS);
        let word = rng.pick(&["", ", defmember=full", ", indx0", ", ipoib", ", ipoib"]);
        let of_groups = group_flags(rng);
        let mgids = rng.pick(&[
            "",
            "",
            "\n mgid=ff12:1::1\n ",
            "\n mgid=ff12:1::1,sl=3\n mgid=ff1e:2::2\n ",
        ]);
        let members = rng.list(8, |rng| {
            let who = match rng.below(10) {
                0 => rng
                    .pick(&["ALL", "ALL_CAS", "ALL_SWITCHES", "ALL_ROUTERS", "SELF"])
                    .into(),
                _ => format!("0x{:x}", rng.pick(&names.guids)),
            };
            who + rng.pick(&["=full", "=full", "=limited", "=both", ""])
        });
        let _ = writeln!(
            text,
            "p{}=0x{key:x}{word}{}{of_groups} : {mgids}{members};",
            rng.below(4),
            sl(rng)
        );
    }
    text
}

/// Every port in partitions of its own choice.
pub fn many_partitions(rng: &mut Rng, names: &Names) -> String {
    let mut text = String::new();
    for key in 1..=12 {
        let members: Vec<_> = names.guids.iter().filter(|_| rng.one_in(3)).collect();
        let _ = write!(text, "p{key}=0x{key:x} : ALL_SWITCHES=full");
        for guid in members {
            // Lines are read into a buffer of 4 KiB.
            let _ = write!(text, ",\n0x{guid:x}={}", rng.pick(&["full", "limited"]));
        }
        text.push_str(";\n");
    }
    text
}

fn group_flags(rng: &mut Rng) -> String {
    let mut text = String::new();
    let mut flag = |rng: &mut Rng, name: &str, values: &[u32]| {
        if rng.one_in(3) {
            let _ = write!(text, ", {name}={}", rng.pick(values));
        }
    };
    flag(rng, "mtu", &[1, 4, 5]);
    flag(rng, "rate", &[2, 3, 7, 18]);
    flag(rng, "scope", &[2, 5, 14]);
    flag(rng, "TClass", &[3, 255]);
    flag(rng, "FlowLabel", &[1, 0x12345, 0xfffff]);
    text
}

/// Prefixes of other subnets; the third is this one's now and then.
pub const ELSEWHERE: [u64; 4] = [
    0xfec0_0000_0000_0007,
    0xfec0_0000_0000_0008,
    0x2001_0db8_0000_0007,
    1,
];

/// Often to a router, now and then to a host or nobody.
pub fn prefix_routes(rng: &mut Rng, names: &Names) -> String {
    let mut text = "# other subnets\n".to_owned();
    for _ in 0..=rng.below(4) {
        let prefix = match rng.below(3) {
            0 => "*".to_owned(),
            _ => format!("{:x}", rng.pick(&ELSEWHERE)),
        };
        let router = match rng.below(6) {
            0..=2 => "*".to_owned(),
            3 => format!("0x{:x}", rng.pick(&names.guids)),
            _ if names.routers.is_empty() => "99".to_owned(),
            _ => format!("0x{:x}", rng.pick(&names.routers)),
        };
        let _ = writeln!(text, "{prefix}\t{router} # and so on");
    }
    text
}

/// Second GUIDs for one in `often` of the ports, in the form of `opensm-sa.dump`; before,
/// among and behind the ports' own in the order of tables.
pub fn aliases(rng: &mut Rng, names: &Names, often: usize) -> String {
    let mut text = "# second GUIDs\n\n".to_owned();
    let mut seen = names.guids.clone();
    for base in &names.guids {
        if !rng.one_in(often) {
            continue;
        }
        for block in 0..=rng.below(2) {
            let mut guids = [0_u64; 8];
            for (place, guid) in guids.iter_mut().enumerate() {
                let alias = match rng.below(3) {
                    0 => rng.number(),
                    1 => base ^ 1 << rng.below(64),
                    _ => base ^ u64::from(rng.byte()) << 56,
                };
                let is_own = block == 0 && place == 0;
                if !is_own && rng.one_in(5) && alias != 0 && !seen.contains(&alias) {
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

fn sl(rng: &mut Rng) -> String {
    if rng.one_in(2) {
        format!(", sl={}", rng.below(16))
    } else {
        String::new()
    }
}

/// An `opensm.conf` of what changes answers.
pub fn opensm_conf(rng: &mut Rng) -> String {
    let mut text = String::new();
    let mut line = |rng: &mut Rng, times, key: &str, value: &dyn Fn(&mut Rng) -> String| {
        if rng.one_in(times) {
            let _ = writeln!(text, "{key} {}", value(rng));
        }
    };
    let flag = |rng: &mut Rng| rng.pick(&["TRUE", "FALSE"]).to_owned();
    line(rng, 2, "subnet_prefix", &|rng| {
        format!("0x{:x}", rng.pick(&PREFIXES))
    });
    line(rng, 3, "subnet_timeout", &|rng| {
        rng.pick(&[0u8, 1, 17, 18, 62, 63]).to_string()
    });
    line(rng, 3, "sa_key", &|rng| {
        rng.pick(&["0", "1", "7"]).to_owned()
    });
    line(rng, 3, "allow_both_pkeys", &flag);
    line(rng, 3, "lmc", &|rng| rng.below(3).to_string());
    line(rng, 4, "lmc_esp0", &flag);
    line(rng, 6, "max_op_vls", &|rng| rng.within(1, 5).to_string());
    line(rng, 6, "max_rate_enum", &|rng| {
        rng.pick(&[2u8, 12, 18, 22, 24]).to_string()
    });
    line(rng, 6, "use_original_extended_sa_rates_only", &flag);
    for class in ["", "ca_", "swe_", "sw0_", "rtr_"] {
        line(rng, 4, &format!("qos_{class}sl2vl"), &sl2vl);
    }
    text
}

/// The link-local one, common ones, and one that looks like a multicast GID's.
pub const PREFIXES: [u64; 4] = [
    0xfe80 << 48,
    0xfec0 << 48,
    0xfec0_0000_0000_0001,
    0x2001_0db8_0000_0007,
];

/// VL 15 now and then, which drops an SL.
fn sl2vl(rng: &mut Rng) -> String {
    let often = rng.pick(&[3, 8, 30]);
    let vl = |rng: &mut Rng| {
        if rng.one_in(often) { 15 } else { rng.below(15) }
    };
    let vls: Vec<_> = (0..16).map(|_| vl(rng).to_string()).collect();
    vls.join(",")
}

/// A QoS policy in OpenSM's dialect.
pub fn policy(rng: &mut Rng, names: &Names) -> String {
    let mut text = "qos-levels\n".to_owned();
    for name in ["default", "L1", "L2", "L3"] {
        level(rng, name, &mut text);
    }
    text += "end-qos-levels\nport-groups\n";
    for group in ["A", "B", "C", "D"] {
        let _ = writeln!(text, "port-group\nname: {group}");
        for _ in 0..rng.below(3) {
            let _ = writeln!(text, "{}", selector(rng, names));
        }
        text += "end-port-group\n";
    }
    text += "end-port-groups\nqos-match-rules\n";
    // More than 64 need a second word.
    let rules = rng.pick(&[0, 2, 5, 9, 20, 63, 64, 90, 140]);
    for _ in 0..rng.below(rules + 1) {
        rule(rng, rules, &mut text);
    }
    text += "end-qos-match-rules\n";
    for _ in 0..rng.pick(&[0, 0, 3]) {
        let (ulp, sl) = (ulp(rng, names), rng.below(16));
        let _ = writeln!(text, "qos-ulps\n{ulp} : {sl}\nend-qos-ulps");
    }
    text
}

fn level(rng: &mut Rng, name: &str, text: &mut String) {
    let sl = if rng.one_in(12) {
        rng.pick(&[15, 16, 31])
    } else {
        rng.within(0, 9)
    };
    let _ = writeln!(text, "qos-level\nname: {name}\nsl: {sl}");
    let mut line = |rng: &mut Rng, times, key: &str, value: &dyn Fn(&mut Rng) -> String| {
        if rng.one_in(times) {
            let _ = writeln!(text, "{key}: {}", value(rng));
        }
    };
    line(rng, 4, "mtu-limit", &|rng| rng.within(1, 5).to_string());
    line(rng, 4, "rate-limit", &|rng| rng.within(2, 18).to_string());
    line(rng, 4, "packet-life", &|rng| {
        rng.pick(&[0u8, 1, 12, 20, 63, 64, 200]).to_string()
    });
    line(rng, 4, "pkey", &|rng| ranges(rng, &KEYS));
    line(rng, 9, "path-bits", &|rng| rng.below(4).to_string());
    *text += "end-qos-level\n";
}

fn ranges(rng: &mut Rng, pool: &[u64]) -> String {
    rng.list(3, |rng| {
        let (low, high) = (rng.pick(pool), rng.pick(pool));
        match rng.below(3) {
            0 => format!("{low}-{high}"),
            1 => format!("{low}-{}", low.saturating_add(1)),
            _ => low.to_string(),
        }
    })
}

fn selector(rng: &mut Rng, names: &Names) -> String {
    match rng.below(7) {
        0..=2 => format!("port-guid: {}", ranges(rng, &names.guids)),
        3 => format!("pkey: {}", ranges(rng, &KEYS)),
        4 => format!("partition: {}", rng.pick(&["p0", "p1", "p2", "Default"])),
        5 => format!(
            "node-type: {}",
            rng.pick(&["CA", "SWITCH,SELF", "ALL", "ROUTER"])
        ),
        _ => {
            let node = &names.nodes[rng.below(names.nodes.len())];
            format!("port-name: \"{node}/P{}\"", rng.within(1, 2))
        }
    }
}

/// With `rules` others. Those that hold for most queries would hide all that follow.
fn rule(rng: &mut Rng, rules: usize, text: &mut String) {
    *text += "qos-match-rule\n";
    let groups = |rng: &mut Rng| rng.pick(&["A", "b", "C", "D, A"]);
    if rng.one_in(3) {
        let _ = writeln!(text, "source: {}", groups(rng));
    }
    if rng.one_in(2) {
        let _ = writeln!(text, "destination: {}", groups(rng));
    }
    if !rng.one_in(2 + rules / 4) {
        match rng.below(3) {
            0 => *text += &format!("qos-class: {}\n", ranges(rng, &CLASSES)),
            1 => *text += &format!("service-id: {}\n", ranges(rng, &IDS)),
            _ => *text += &format!("pkey: {}\n", ranges(rng, &KEYS)),
        }
    }
    if rng.one_in(4) {
        *text += &format!("qos-class: {}\n", ranges(rng, &CLASSES));
    }
    let level = rng.pick(&["L1", "l2", "L3", "default"]);
    let _ = writeln!(text, "qos-level-name: {level}\nend-qos-match-rule");
}

fn ulp(rng: &mut Rng, names: &Names) -> String {
    match rng.below(9) {
        0 => "sdp".to_owned(),
        1 => "rds".to_owned(),
        2 => "iser".to_owned(),
        3 => format!("any, service-id {}", ranges(rng, &IDS)),
        4 => format!("any, pkey {}", ranges(rng, &KEYS)),
        5 => format!("any, target-port-guid {}", ranges(rng, &names.guids)),
        6 => format!("any, source-port-guid {}", ranges(rng, &names.guids)),
        7 => format!("any, source-target-port-guid {}", ranges(rng, &names.guids)),
        _ => "sdp, port-num 0-3, 65535".to_owned(),
    }
}
