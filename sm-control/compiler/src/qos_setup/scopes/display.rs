//! What is wrong with scopes, and what to do about it, in words.
//!
//! What and what to do are apart ([`FindingKind::remedy`]), as lints and JSON documents show them
//! in two places. Sentences use the words of the policy's file (`vlarb-high`, `sl2vl-scope`), not
//! those of InfiniBand's tables.
//!
//! ```text
//! 12:9: the vlarb-scope has no target: no port of this fabric is what it asks for (check who is in
//!   its groups, what they are cabled to, and its port numbers)
//! 20:9: vlarb-high has 12 entries, but ports hold 8, and keep the first 8: S1 port 1, S1 port 2
//! and
//!   34 more ports (give at most 8 entries)
//! ```

use core::fmt;

use policy::model::Skipped;
use sa_text::Position;
use sa_wire::SlToVl;

use super::finding::{Finding, FindingKind, ScopeKind};
use super::sl2vl::DROP;
use crate::qos_setup::warning::{Priority, Unequal};

impl fmt::Display for Finding {
    /// Shape: `line:column: what (what to do)`.
    ///
    /// What the parser found is told as the parser tells it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It has its place and its words already.
        if let FindingKind::Refused(remark) = &self.kind {
            return remark.fmt(f);
        }
        let Position { line, column } = self.span.start;
        write!(f, "{line}:{column}: {} ({})", self.kind, self.kind.remedy())
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(remark) => f.write_str(&remark.message),
            Self::Skipped { scope, skipped } => match skipped {
                Skipped::UnknownGroup => {
                    write!(
                        f,
                        "the {scope} is skipped: it names a port-group that does not exist"
                    )
                }
                Skipped::OutOfRange => {
                    write!(f, "the {scope} is skipped: a number is out of range")
                }
            },
            Self::NoTarget(scope) => write!(
                f,
                "the {scope} has no target: no port of this fabric is what it asks for"
            ),
            Self::Overruled(scope) => write!(
                f,
                "the {scope} has no effect: other scopes decide about all its ports"
            ),
            Self::NoSuchPort {
                keyword,
                numbers,
                ports,
                switches,
            } => write!(
                f,
                "'{keyword}' names ports that do not exist: {numbers}; the last port is {ports} \
                 on {switches}"
            ),
            Self::OneTable { ports } => write!(
                f,
                "CA and router ports have one SL2VL table, from port 0 to port 0, which 'from' or \
                 'to' leaves out on {ports}"
            ),
            Self::OneVl { ports, .. } => write!(
                f,
                "ports with one data VL are left alone: {ports} ({} in all)",
                ports.total
            ),
            Self::UnsupportedVl {
                table,
                operational,
                ports,
            } => write!(
                f,
                "{} on ports that operate VLs 0 to {} only, where these SLs are dropped (VL 15): \
                 {ports}",
                Beyond(*table, *operational),
                operational - 1
            ),
            Self::TableTooLong {
                priority,
                entries,
                cap,
                ports,
            } => write!(
                f,
                "{} has {entries} entries, but ports hold {cap}, and keep the first {cap}: {ports}",
                keyword(*priority)
            ),
            Self::QuotesUnsupportedVl {
                priority,
                vls,
                operational,
                ports,
            } => {
                let vls: Vec<_> = vls.iter().map(u64::to_string).collect();
                write!(
                    f,
                    "{} names VL {} on ports that operate VLs 0 to {} only: {ports}",
                    keyword(*priority),
                    vls.join(","),
                    operational - 1
                )
            }
            Self::TorusMapsSls { scopes } => write!(
                f,
                "torus-2QoS makes the SL2VL tables of all ports itself, to be free of deadlock; \
                 sl2vl-scopes that are ignored: {scopes}"
            ),
            Self::UnequalWeights {
                priority,
                weights,
                ports,
            } => write!(
                f,
                "{} is unfair between switches: {}, torus-2QoS needs them equal; on {ports}",
                keyword(*priority),
                Unequal(weights)
            ),
            Self::UnusedVlWeights { priority, ports } => write!(
                f,
                "{} gives weight to VLs 2-7, which torus-2QoS does not use at end ports: {ports}",
                keyword(*priority)
            ),
        }
    }
}

impl FindingKind {
    /// What to do about it.
    ///
    /// One or two things to do; "nothing" is said where it is so.
    pub fn remedy(&self) -> String {
        match self {
            Self::Refused(remark) => remark.help.join("; "),
            Self::Skipped { skipped, .. } => match skipped {
                Skipped::UnknownGroup => "define it in port-groups".to_owned(),
                Skipped::OutOfRange => "correct the number".to_owned(),
            },
            Self::NoTarget(_) => {
                "check who is in its groups, what they are cabled to, and its port numbers"
                    .to_owned()
            }
            Self::Overruled(_) => "remove it, or move it in front of or behind them".to_owned(),
            Self::NoSuchPort { ports, .. } => {
                format!("name ports from 0 to {ports}, or take the switches out of the group")
            }
            Self::OneTable { .. } => {
                "write * or add 0, or give these ports a scope of their own".to_owned()
            }
            Self::OneVl { .. } => {
                "nothing to do, or take them out of the scope's groups".to_owned()
            }
            Self::UnsupportedVl { operational, .. } => {
                let last = operational - 1;
                format!("choose VLs from 0 to {last}, or 15 to drop packets")
            }
            Self::TableTooLong { cap, .. } => format!("give at most {cap} entries"),
            Self::QuotesUnsupportedVl { operational, .. } => {
                format!("choose VLs from 0 to {}", operational - 1)
            }
            Self::TorusMapsSls { .. } => "remove them, or route with another engine".to_owned(),
            Self::UnequalWeights { .. } => {
                "give VLs 0-3 one weight, and VLs 4-7 one weight".to_owned()
            }
            Self::UnusedVlWeights { .. } => "give weight to VLs 0 and 1 only".to_owned(),
        }
    }
}

impl fmt::Display for ScopeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sl2Vl => "sl2vl-scope",
            Self::VlArb => "vlarb-scope",
        })
    }
}

/// The word of the file for a table.
const fn keyword(priority: Priority) -> &'static str {
    match priority {
        Priority::High => "vlarb-high",
        Priority::Low => "vlarb-low",
    }
}

/// The SLs of a table whose VLs are not among so many: `SL 8 goes to VL 8, SL 9 to VL 9`.
struct Beyond(SlToVl, u8);

impl fmt::Display for Beyond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(table, operational) = self;
        let is_beyond = |vl: u8| vl >= *operational && vl != DROP;
        let entries = (0..16).zip(table.0).filter(|(_, vl)| is_beyond(*vl));
        let words: Vec<String> = entries
            .map(|(sl, vl): (u8, u8)| format!("SL {sl} to VL {vl}"))
            .collect();
        write!(f, "the table maps {}", words.join(", "))
    }
}
