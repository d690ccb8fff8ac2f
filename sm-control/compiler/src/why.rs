//! Why a pair of ports gets no PathRecord: the first step of an answer that fails, for people.
//!
//! Goes by the parts that the reference goes by, in the order of OpenSM's
//! `osm_sa_path_record.c` (`pr_rcv_get_path_parms`).
//!
//! ```text
//! H1 port 1 to H2 port 1: SL of the level: SL 8 leads to VL 15 at S3 from port 1 to port 4;
//!   of all SLs the path carries 0, 1, 2, 3
//! ```
//!
//! An answer "no records" has one of a dozen reasons, and a client is told none of them. `sapphire
//! why` and the explanations of `sapphire query` ask here. The steps are those of an answer without
//! further wishes; selectors and named SLs are judged by whoever knows the request.
//!
//! It looks at one LID of the destination after the other: where one has a path, there is nothing
//! to explain. It decides nothing, so it may be wrong only in its words; the answer itself comes
//! from the snapshot.

use std::collections::BTreeSet;

use policy::Ranges;
use policy::model::Level;
use routing::reference::{Walk, walk};
use routing::{EndPortIx, SwitchName};
use sa_wire::{Lid, Sl};

use crate::state::FabricState;

/// A step that fails, and what would have passed.
///
/// Three parts, as messages here have them: which step, what is there, what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// Which.
    pub step: Step,
    /// What is found there, in a sentence.
    pub found: String,
    /// What would have passed, or what to do.
    pub remedy: String,
}

/// The steps of an answer that can fail when the request sets no further conditions.
///
/// In the order in which an answer goes through them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// The ports share no partition.
    Partition,
    /// No route, or none that any SL survives.
    Route,
    /// The way drops the level's SL.
    LevelSl,
    /// The level's path bits leave no LID of the destination.
    PathBits,
    /// No P_Key that request, level and ports agree on.
    Pkey,
    /// The way drops the SL of the partition.
    PartitionSl,
    /// The engine of another SM chose the SL, and it is not known here.
    EngineSl,
}

impl Step {
    /// In a few words.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Partition => "shared partition",
            Self::Route => "route",
            Self::LevelSl => "SL of the level",
            Self::PathBits => "path bits of the level",
            Self::Pkey => "P_Key",
            Self::PartitionSl => "SL of the partition",
            Self::EngineSl => "SL of the routing engine",
        }
    }
}

/// The first step at which paths from `source` to `destination` fail, of all paths that of the
/// first LID; none where there is a path. `level` is what the policy gives them, `pkey` what the
/// request names.
///
/// Cost: a walk for each LID of the destination, until one has a path.
pub fn obstacle(
    parts: &FabricState,
    (source, destination): (EndPortIx, EndPortIx),
    pkey: Option<u16>,
    level: Option<&Level>,
) -> Option<Obstacle> {
    let pair = Pair {
        parts,
        source,
        destination,
        level: level.filter(|_| parts.options.qos),
    };
    pair.obstacle(pkey)
}

/// Two ports and what the policy gives them.
struct Pair<'a> {
    parts: &'a FabricState,
    source: EndPortIx,
    destination: EndPortIx,
    /// None with QoS off: levels do not count then.
    level: Option<&'a Level>,
}

impl Pair<'_> {
    /// None where some LID has a path.
    fn obstacle(&self, pkey: Option<u16>) -> Option<Obstacle> {
        let shared = self.shared_bases();
        // A port may always have a path to itself as far as partitions go.
        if shared.is_empty() && self.source != self.destination {
            return self.fails(
                Step::Partition,
                "the ports share no partition in which one of them is a full member",
                "make both members of one in partitions.conf",
            );
        }
        let mut first = None;
        for lid in self.parts.topology.end_port(self.destination).lids() {
            // A LID with a path ends it: then the pair has one.
            let obstacle = self.to_lid(lid, pkey, &shared)?;
            // That a LID is not for this level says little while another one is.
            let says_more = first
                .as_ref()
                .is_none_or(|first: &Obstacle| first.step == Step::PathBits);
            if says_more {
                first = Some(obstacle);
            }
        }
        first
    }

    /// What stands in the way to one LID.
    /// What stands in the way to one LID; none: nothing does.
    fn to_lid(&self, lid: Lid, pkey: Option<u16>, shared: &BTreeSet<u16>) -> Option<Obstacle> {
        let (topology, routes) = (&self.parts.topology, &self.parts.routes);
        let walked = match walk(topology, routes, self.parts.qos(), self.source, lid) {
            Ok(walked) => walked,
            Err(why) => {
                let why = why.in_words(topology);
                return self.fails(Step::Route, why, "`sapphire check` tells what is missing");
            }
        };
        let level_sl = self.level.and_then(|level| level.sl).map(|sl| *sl);
        if let Some(sl) = level_sl
            && let Some(obstacle) = self.dropped(Step::LevelSl, sl, &walked)
        {
            return Some(obstacle);
        }
        // Path bits before keys, as in the reference.
        self.path_bits(lid)
            .or_else(|| self.pkey(pkey, shared))
            .or_else(|| match level_sl {
                Some(_) => None,
                None => self.dropped(Step::PartitionSl, self.partition_sl(pkey, shared), &walked),
            })
            .or_else(|| self.engine_sl(lid))
    }

    /// That nobody here knows the SL which the routing engine gave the path.
    fn engine_sl(&self, lid: Lid) -> Option<Obstacle> {
        let slid = self.parts.topology.end_port(self.source).lid;
        if self
            .parts
            .routes
            .path_sl(Sl::default(), slid, lid)
            .is_some()
        {
            return None;
        }
        let found = "the SL that the routing engine of the SM gives this path is not known, so it is not answered";
        let remedy = "have the SLs read from the SM, or beside the dumps as `psl`";
        self.fails(Step::EngineSl, found, remedy)
    }

    /// An obstacle, with its words.
    fn fails(
        &self,
        step: Step,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Option<Obstacle> {
        Some(Obstacle {
            step,
            found: found.into(),
            remedy: remedy.into(),
        })
    }

    /// That the way drops an SL, or that there is no such SL; none where it is carried.
    fn dropped(&self, step: Step, sl: u8, walked: &Walk) -> Option<Obstacle> {
        let Ok(known) = Sl::new(sl) else {
            let found = format!("there is no SL {sl}");
            return self.fails(step, found, "give an SL from 0 to 15");
        };
        if walked.carried.carries(known) {
            return None;
        }
        let carried = Sl::ALL.iter().filter(|sl| walked.carried.carries(**sl));
        let carried: Vec<String> = carried.map(|sl| sl.get().to_string()).collect();
        let found = format!(
            "SL {sl} leads to VL 15 {}",
            self.where_dropped(known, walked)
        );
        let remedy = format!("of all SLs the path carries {}", carried.join(", "));
        self.fails(step, found, remedy)
    }

    /// The first place that drops an SL.
    fn where_dropped(&self, sl: Sl, walked: &Walk) -> String {
        let routes = &self.parts.routes;
        // The source's own table maps before any switch does.
        if !routes.end_port_sl2vl(self.source).carried().carries(sl) {
            return String::from("at the source port");
        }
        let drops = |hop: &&routing::reference::Hop| {
            let table = routes.sl2vl(hop.switch, hop.input, hop.output);
            !table.carried().carries(sl)
        };
        walked.hops.iter().find(drops).map_or_else(
            || String::from("on the way"),
            |hop| {
                let switch = SwitchName::new(&self.parts.topology, hop.switch, None);
                format!("at {switch} from port {} to port {}", hop.input, hop.output)
            },
        )
    }

    /// That the level leaves out this LID; in OpenSM's dialect path bits have no effect.
    fn path_bits(&self, lid: Lid) -> Option<Obstacle> {
        let counts = |policy: &policy::Policy| policy.dialect.is_rfc();
        self.parts.policy.as_ref().filter(|policy| counts(policy))?;
        let allowed = self.level?.path_bits.as_ref()?;
        let port = self.parts.topology.end_port(self.destination);
        if allowed.contains(u64::from(lid.get() - port.lid.get())) {
            return None;
        }
        let lids = port.lmc.lids();
        self.fails(
            Step::PathBits,
            format!("none of the {lids} LIDs of the destination has the level's path bits"),
            format!("with this LMC path bits go from 0 to {}", lids - 1),
        )
    }

    /// That there is no key for the path: the one that is asked for is not shared or not the
    /// level's, or none is both.
    fn pkey(&self, asked: Option<u16>, shared: &BTreeSet<u16>) -> Option<Obstacle> {
        let in_level = |base: u16| match self.level_pkeys() {
            Some(pkeys) => pkeys.contains(base.into()),
            None => true,
        };
        let fits = |base: &u16| in_level(*base);
        let usable: Vec<String> = shared
            .iter()
            .filter(|base| fits(base))
            .map(|base| format!("0x{base:04x}"))
            .collect();
        let found = match asked.map(|pkey| pkey & 0x7fff) {
            Some(base) if !shared.contains(&base) => {
                format!("the ports do not share P_Key 0x{base:04x}")
            }
            Some(base) if !in_level(base) => format!("the level leaves out P_Key 0x{base:04x}"),
            None if usable.is_empty() => String::from("the ports share none of the level's P_Keys"),
            _ => return None,
        };
        let remedy = match usable.is_empty() {
            true => String::from("no P_Key would have passed"),
            false => format!("passing: {}", usable.join(", ")),
        };
        self.fails(Step::Pkey, found, remedy)
    }

    /// The partitions that the level is for; none for all.
    fn level_pkeys(&self) -> Option<&Ranges> {
        let pkeys = self.level?.pkeys.as_ref()?;
        Some(&pkeys.value).filter(|pkeys| !pkeys.is_empty())
    }

    /// The SL of the partition that an answer would name: the one asked for, else the first of the
    /// level's, else the first shared in the order of OpenSM's maps.
    fn partition_sl(&self, asked: Option<u16>, shared: &BTreeSet<u16>) -> u8 {
        let least = |pkeys: &Ranges| {
            let mut bases = shared.iter().copied();
            bases.find(|base| pkeys.contains((*base).into()))
        };
        // The order of OpenSM's map, by reversed bytes.
        let first = || shared.iter().copied().min_by_key(|base| base.swap_bytes());
        let base = asked
            .map(|pkey| pkey & 0x7fff)
            .or_else(|| self.level_pkeys().and_then(least))
            .or_else(first);
        let partition = base.and_then(|base| self.parts.partitions.by_base(base));
        partition.map_or(0, |partition| partition.sl.get())
    }

    /// Bases of partitions that both ports are in, one of them as a full member.
    fn shared_bases(&self) -> BTreeSet<u16> {
        let table = |port: EndPortIx| self.parts.partitions.pkey_table(port.index());
        let others = table(self.destination);
        let mut shared = BTreeSet::new();
        for mine in table(self.source) {
            let meets = |theirs: &sa_wire::Pkey| {
                theirs.base() == mine.base() && (theirs.is_full() || mine.is_full())
            };
            if others.iter().any(meets) {
                shared.insert(mine.base());
            }
        }
        shared
    }
}
