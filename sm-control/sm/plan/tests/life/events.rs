//! What happens to a subnet, one thing or several at once.

use fabric_simulator::{Effect, Rule, Simulator};
use sa_fabric::{NodeIx, PortRef};
use sa_sm::sm_info::{SmInfo, SmState};
use sa_wire::Mlid;
use sa_wire::mad::{Status, method};
use std::time::Duration;

use crate::random::Random;
use crate::site::{CLOSED, OPEN, Site, policy};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Nothing,
    CableOut,
    CableIn,
    CableFlaps,
    HostOff,
    HostOn,
    HostReboots,
    HostMoves,
    HostIsNew,
    SwitchOff,
    SwitchOn,
    SwitchReboots,
    OtherSm,
    OtherSmGone,
    Partitions,
    PartitionsBroken,
    Policy,
    PolicyBroken,
    Engine,
    Join,
    Leave,
    Alias,
    SmpsLost,
    SmpsRefused,
    SmpsLate,
    SwitchMute,
    SwitchHeard,
    Several,
}

/// How often, in relation to each other.
const WEIGHTS: [(Kind, usize); 26] = [
    (Kind::Nothing, 1),
    (Kind::CableOut, 10),
    (Kind::CableIn, 8),
    (Kind::CableFlaps, 4),
    (Kind::HostOff, 5),
    (Kind::HostOn, 5),
    (Kind::HostReboots, 3),
    (Kind::HostMoves, 4),
    (Kind::HostIsNew, 2),
    (Kind::SwitchOff, 4),
    (Kind::SwitchOn, 5),
    (Kind::SwitchReboots, 5),
    (Kind::OtherSm, 3),
    (Kind::Partitions, 5),
    (Kind::PartitionsBroken, 2),
    (Kind::Policy, 4),
    (Kind::PolicyBroken, 2),
    (Kind::Engine, 2),
    (Kind::Join, 8),
    (Kind::Leave, 5),
    (Kind::Alias, 3),
    (Kind::SmpsLost, 4),
    (Kind::SmpsRefused, 3),
    (Kind::SmpsLate, 3),
    (Kind::SwitchMute, 3),
    (Kind::Several, 6),
];

/// What the next sweeps meet, besides the subnet.
#[derive(Debug, Default)]
pub(crate) struct Weather {
    /// SMPs are lost, refused or late in the next sweep.
    pub(crate) is_rough: bool,
    /// A switch that answers nothing.
    pub(crate) mute: Option<NodeIx>,
    /// The host of another SM.
    pub(crate) other_sm: Option<NodeIx>,
    /// Files or options have changed, or are broken.
    pub(crate) is_new: bool,
    pub(crate) is_broken: bool,
    /// Groups or alias GUIDs have changed.
    pub(crate) has_joined: bool,
}

impl Kind {
    /// Anything. What has begun ends soon.
    pub(crate) fn draw(random: &mut Random, weather: &Weather) -> Self {
        if weather.other_sm.is_some() && random.one_of(3) {
            return Self::OtherSmGone;
        }
        if weather.mute.is_some() && random.one_of(3) {
            return Self::SwitchHeard;
        }
        let all = WEIGHTS.iter().map(|(_, weight)| weight).sum();
        let mut left = random.below(all);
        for (kind, weight) in WEIGHTS {
            match left.checked_sub(weight) {
                Some(more) => left = more,
                // What is found with mute switches is not mended yet: docs/sm.md, "What is missing".
                None if kind == Self::SwitchMute && !has_mute() => return Self::Nothing,
                None => return kind,
            }
        }
        Self::Nothing
    }

    /// What may happen in the middle of a sweep.
    pub(crate) fn draw_amidst(random: &mut Random) -> Self {
        let kinds = [
            Self::CableOut,
            Self::CableIn,
            Self::CableFlaps,
            Self::HostOff,
            Self::HostOn,
            Self::HostReboots,
            Self::HostMoves,
            Self::SwitchReboots,
        ];
        random.pick(&kinds).unwrap()
    }
}

/// Switches fall mute too.
fn has_mute() -> bool {
    std::env::var_os("SAPPHIRE_EVENTS_MUTE").is_some()
}

/// Where it happens.
pub(crate) struct Scene<'a> {
    pub(crate) site: &'a mut Site,
    pub(crate) weather: &'a mut Weather,
    pub(crate) simulator: &'a mut Simulator,
    pub(crate) random: &'a mut Random,
    /// Each thing is printed.
    pub(crate) is_told: bool,
}

impl Scene<'_> {
    /// Does it, if it can be. None: nothing is there that it could happen to.
    pub(crate) fn happen(&mut self, kind: Kind) -> Option<()> {
        match kind {
            Kind::Nothing => {}
            Kind::CableOut | Kind::CableIn | Kind::CableFlaps => self.cable(kind)?,
            Kind::HostOff
            | Kind::HostOn
            | Kind::HostReboots
            | Kind::HostMoves
            | Kind::HostIsNew => self.host(kind)?,
            Kind::SwitchOff | Kind::SwitchOn | Kind::SwitchReboots => self.switch(kind)?,
            Kind::OtherSm | Kind::OtherSmGone => self.other_sm(kind)?,
            Kind::Partitions
            | Kind::PartitionsBroken
            | Kind::Policy
            | Kind::PolicyBroken
            | Kind::Engine => self.files(kind),
            Kind::Join | Kind::Leave | Kind::Alias => self.clients(kind)?,
            Kind::SmpsLost | Kind::SmpsRefused | Kind::SmpsLate => self.smps(kind),
            Kind::SwitchMute | Kind::SwitchHeard => self.mute(kind)?,
            Kind::Several => {
                for _ in 0..2 + self.random.below(4) {
                    let kind = Kind::draw_amidst(self.random);
                    self.happen(kind);
                }
            }
        }
        self.site.settle(self.simulator);
        if self.is_told {
            println!("  {kind:?}: {:?} {:?}", self.site.pulled, self.site.off);
        }
        Some(())
    }

    fn cable(&mut self, kind: Kind) -> Option<()> {
        let all = 0..self.site.cables.len();
        let pulled = &mut self.site.pulled;
        let inside: Vec<usize> = all.filter(|nth| !pulled.contains(nth)).collect();
        let out: Vec<usize> = pulled.iter().copied().collect();
        match kind {
            Kind::CableIn => drop(pulled.remove(&self.random.pick(&out)?)),
            Kind::CableOut if out.len() < 5 => {
                pulled.insert(self.random.pick(&inside)?);
            }
            Kind::CableFlaps => {
                let (one, far) = self.site.cables[self.random.pick(&inside)?];
                if self.simulator.peer(one) == Some(far) {
                    self.simulator.plug(one, far);
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn host(&mut self, kind: Kind) -> Option<()> {
        let site = &mut *self.site;
        let busy = self.weather.other_sm;
        let hosts: Vec<NodeIx> = site
            .hosts()
            .into_iter()
            .filter(|it| Some(*it) != busy)
            .collect();
        let off: Vec<NodeIx> = site.off.iter().copied().collect();
        let off: Vec<NodeIx> = off
            .into_iter()
            .filter(|it| site.homes.contains_key(it))
            .collect();
        let free: Vec<PortRef> = site.free.iter().copied().collect();
        match kind {
            Kind::HostOff if off.len() < 6 => drop(site.off.insert(self.random.pick(&hosts)?)),
            Kind::HostOn => {
                let host = self.random.pick(&off)?;
                site.off.remove(&host);
                self.simulator.reboot(host);
            }
            Kind::HostReboots => self.simulator.reboot(self.random.pick(&hosts)?),
            Kind::HostMoves => {
                let to = self.random.pick(&free)?;
                site.put(self.random.pick(&hosts)?, to);
            }
            Kind::HostIsNew => {
                let spare: Vec<NodeIx> = site.spare.iter().copied().collect();
                let to = self.random.pick(&free)?;
                let host = self.random.pick(&spare)?;
                // Two stay in the shop, so that there is always a free port to move to.
                if spare.len() < 3 {
                    return None;
                }
                site.put(host, to);
            }
            _ => return None,
        }
        Some(())
    }

    fn switch(&mut self, kind: Kind) -> Option<()> {
        let site = &mut *self.site;
        let off: Vec<NodeIx> = site.off.iter().copied().collect();
        let off: Vec<NodeIx> = off
            .into_iter()
            .filter(|it| !site.homes.contains_key(it))
            .collect();
        let on = site.switches();
        match kind {
            Kind::SwitchOff if off.len() < 2 => drop(site.off.insert(self.random.pick(&on)?)),
            Kind::SwitchOn => {
                let switch = self.random.pick(&off)?;
                site.off.remove(&switch);
                self.simulator.reboot(switch);
            }
            Kind::SwitchReboots => self.simulator.reboot(self.random.pick(&on)?),
            _ => return None,
        }
        Some(())
    }

    /// A greater master, one that stands by, one with another key.
    fn other_sm(&mut self, kind: Kind) -> Option<()> {
        if let Some(host) = self.weather.other_sm.take() {
            self.simulator.set_manager(
                PortRef {
                    node: host,
                    port: 1,
                },
                None,
            );
        }
        if kind == Kind::OtherSmGone {
            return Some(());
        }
        let host = self.random.pick(&self.site.hosts())?;
        let guid = Some(self.site.guid(host));
        let (priority, state, sm_key) = match self.random.below(3) {
            0 => (15, SmState::Master, 1),
            1 => (0, SmState::Standby, 1),
            _ => (15, SmState::Master, 2),
        };
        let info = SmInfo {
            guid,
            sm_key,
            act_count: 1,
            priority,
            state,
        };
        self.weather.other_sm = Some(host);
        let at = PortRef {
            node: host,
            port: 1,
        };
        self.simulator.set_manager(at, Some(info.data()));
        Some(())
    }

    fn files(&mut self, kind: Kind) {
        let site = &mut *self.site;
        self.weather.is_new = true;
        match kind {
            Kind::Partitions => {
                let nth = self.random.below(4);
                site.is_open = nth < 3;
                match nth {
                    0 => site.write("partitions.conf", OPEN),
                    3 => site.write("partitions.conf", CLOSED),
                    _ => site.write("partitions.conf", &site.partitions(self.random)),
                }
            }
            Kind::PartitionsBroken => {
                self.weather.is_broken = true;
                site.write("partitions.conf", "Default=0x7fff : ALL=\n=full;;");
            }
            Kind::Policy => {
                let sl = if self.random.one_of(3) { 8 } else { 0 };
                let life = u8::try_from(14 + self.random.below(4)).unwrap();
                site.write("qos-policy.conf", &policy(sl, life));
            }
            Kind::PolicyBroken => {
                self.weather.is_broken = true;
                site.write("qos-policy.conf", "qos-levels\n qos-level\n  sl: 99\n");
            }
            _ => {
                // Back to the first one soon, which is what such a subnet is for.
                let nth = self.random.below(site.engines.len() * 2);
                site.set_engine(if nth < site.engines.len() { nth } else { 0 });
            }
        }
    }

    fn clients(&mut self, kind: Kind) -> Option<()> {
        let site = &mut *self.site;
        self.weather.has_joined = true;
        let host = self.random.pick(&site.hosts())?;
        let guid = site.guid(host);
        let mlid = u16::try_from(0xc001 + self.random.below(6) * 17).unwrap();
        let mlid = Mlid::new(mlid).unwrap();
        match kind {
            Kind::Join => drop(site.members.entry(mlid).or_default().insert(guid)),
            Kind::Leave => {
                let members = site.members.get_mut(&mlid)?;
                let gone = *members
                    .iter()
                    .nth(self.random.below(members.len().max(1)))?;
                members.remove(&gone);
                site.members.retain(|_, members| !members.is_empty());
            }
            _ => {
                let places = site.aliases.entry(guid).or_insert_with(|| vec![guid.get()]);
                let number = self.random.below(1 << 20);
                places.truncate(3);
                places.push(0x0200_0000_0000_0000 | u64::try_from(number).unwrap());
            }
        }
        Some(())
    }

    fn smps(&mut self, kind: Kind) {
        self.weather.is_rough = true;
        for _ in 0..=self.random.below(4) {
            let node = self.random.pick(&self.site.switches());
            let node = node.map(|node| self.site.fabric.node(node).guid);
            let effect = match kind {
                Kind::SmpsLost => Effect::Lost,
                Kind::SmpsRefused => Effect::Status(Status::INVALID_FIELD),
                // Longer than it is waited for, or shorter.
                _ => Effect::Late(Duration::from_millis(
                    u64::try_from(50 + self.random.below(900)).unwrap(),
                )),
            };
            let is_set = kind == Kind::SmpsRefused || self.random.one_of(2);
            self.simulator.add_rule(Rule {
                node: node.filter(|_| !self.random.one_of(3)),
                method: is_set.then_some(method::SET),
                skip: u64::try_from(self.random.below(60)).unwrap(),
                count: u64::try_from(1 + self.random.below(30)).unwrap(),
                ..Rule::always(effect)
            });
        }
    }

    fn mute(&mut self, kind: Kind) -> Option<()> {
        self.simulator.clear_rules();
        self.weather.mute = None;
        if kind == Kind::SwitchMute {
            let switch = self.random.pick(&self.site.switches())?;
            self.weather.mute = Some(switch);
            self.be_mute();
        }
        Some(())
    }

    /// Rules that outlast others.
    pub(crate) fn be_mute(&mut self) {
        if let Some(switch) = self.weather.mute {
            self.simulator.add_rule(Rule {
                node: Some(self.site.fabric.node(switch).guid),
                ..Rule::always(Effect::Lost)
            });
        }
    }
}
