//! What operators have drained: switches, and cables by one of their ends.
//!
//! ```text
//! 0x0000000000200010 0 1764181000 S0       node GUID, port (0: the switch), since when (seconds since 1970), name
//! 0x0000000000200000 3 1764181007 L0
//! 0x0000000000200001 0! 1764181009 L1      severed: its hosts have no path
//! ```
//!
//! A file of the `[state]` directory, written as one step before anything of it is done, so a drain
//! outlives a restart. Parts go by GUID: what has gone and comes back is drained still.

use core::fmt::Write;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sa_compiler::drained::Drained;
use sa_compiler::pipeline::unix_time;
use sa_fabric::PortRef;
use sa_fabric::outlet::{Folder, Readers, WriteError};
use sa_sm::model::{Node, Subnet};
use sa_wire::Guid;
use tracing::warn;

use crate::server::operators::sweeps::Part;

/// In the state directory.
const FILE: &str = "drained";

/// All of them, and where they are kept.
#[derive(Debug, Clone, Default)]
pub(in crate::server) struct Drains {
    /// In the order in which they were drained.
    parts: Vec<Part>,
    /// None without a state directory.
    path: Option<PathBuf>,
}

impl Part {
    /// `S0`, or `S0:3`.
    pub(in crate::server) fn word(&self) -> String {
        match self.port {
            None => self.name.clone(),
            Some(port) => format!("{}:{port}", self.name),
        }
    }

    /// Names and times aside.
    fn is(&self, other: &Self) -> bool {
        (self.guid, self.port) == (other.guid, other.port)
    }

    /// The port, or port 0 of the switch; none where it is away.
    pub(in crate::server) fn place(&self, subnet: &Subnet) -> Option<PortRef> {
        let node = subnet.by_guid(self.guid)?;
        Some(PortRef {
            node,
            port: self.port.unwrap_or(0),
        })
    }

    /// Of a node that is there; drained from now on. `port`: none for the whole switch.
    fn of(node: &Node, port: Option<u8>) -> Self {
        Self {
            guid: node.guid(),
            port,
            name: node.description(),
            since: unix_time(),
            severed: false,
        }
    }

    /// As the file has it, without its end of line.
    fn line(&self) -> String {
        let Self {
            guid,
            since,
            name,
            severed,
            ..
        } = self;
        // A name is a device's word and may hold anything.
        let name: String = name.chars().filter(|it| !it.is_control()).collect();
        let port = self.port.unwrap_or(0);
        let mark = if *severed { "!" } else { "" };
        format!("{guid} {port}{mark} {since} {name}")
    }

    /// None: it is no such line.
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.splitn(4, ' ');
        let guid = guid(words.next()?)?;
        let word = words.next()?;
        let severed = word.strip_suffix('!');
        let port: u8 = severed.unwrap_or(word).parse().ok()?;
        Some(Self {
            severed: severed.is_some(),
            guid,
            port: (port != 0).then_some(port),
            since: words.next()?.parse().ok()?,
            name: words.next().unwrap_or_default().to_owned(),
        })
    }
}

impl Drains {
    /// What an earlier run has left. A line that cannot be read is told: routes may lead over what
    /// it meant.
    pub(in crate::server) fn read(directory: Option<&Path>) -> Self {
        let path = directory.map(|directory| directory.join(FILE));
        let text = path.as_deref().map(fs::read_to_string);
        let text = match text {
            Some(Ok(text)) => text,
            // A file that is not there is the rule.
            Some(Err(error)) if error.kind() != ErrorKind::NotFound => {
                let path = path.as_deref().unwrap_or_else(|| Path::new(FILE)).display();
                warn!("{path}: {error}; routes may lead over what was drained");
                String::new()
            }
            _ => String::new(),
        };
        let mut parts = Vec::new();
        for line in text.lines() {
            match Part::parse(line) {
                Some(part) => parts.push(part),
                None => warn!("{FILE}: no drained part: {line:?}; routes may lead over it"),
            }
        }
        Self { parts, path }
    }

    /// In the order in which they were drained.
    pub(in crate::server) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// As the compiler takes them.
    pub(in crate::server) fn wanted(&self) -> Drained {
        let mut drained = Drained::default();
        for part in &self.parts {
            match part.port {
                // Sets: who drains a part twice has drained it once.
                None => {
                    drained.severed.extend(part.severed.then_some(part.guid));
                    drained.switches.insert(part.guid)
                }
                Some(port) => drained.ports.insert((part.guid, port)),
            };
        }
        drained
    }

    /// With one part more. Errors: it is drained already.
    pub(in crate::server) fn with(&self, part: Part) -> Result<Self, String> {
        if self.parts.iter().any(|it| it.is(&part)) {
            return Err(format!("{} is drained already", part.word()));
        }
        let mut more = self.clone();
        more.parts.push(part);
        Ok(more)
    }

    /// The last one is severed: routes are as if that switch had failed. None where it is a cable,
    /// which has no hosts.
    pub(in crate::server) fn with_last_severed(&self) -> Option<Self> {
        let mut more = self.clone();
        let last = more.parts.last_mut()?;
        last.severed = last.port.is_none();
        last.severed.then_some(more)
    }

    /// Without what a name means, and what that was. Errors: nothing that is drained is called so.
    pub(in crate::server) fn without(
        &self,
        name: &str,
        subnet: &Subnet,
    ) -> Result<(Self, Part), String> {
        // None where it is away; then its name and GUID in the file decide.
        let meant = resolve(name, subnet).ok();
        // A cable may be named by its other end.
        let far = meant.as_ref().and_then(|part| {
            let far = subnet.peer(part.place(subnet)?)?;
            Some(Part::of(subnet.node(far.node)?, Some(far.port)))
        });
        // Whichever of them an operator has in mind.
        let is_it = |part: &&Part| {
            part.word() == name
                || part.is_called(name)
                || [&meant, &far].into_iter().flatten().any(|it| it.is(part))
        };
        let found = self.parts.iter().find(is_it).cloned();
        let found = found.ok_or_else(|| {
            format!("{name} is not drained; `sapphire drain --list` shows what is")
        })?;
        let mut less = self.clone();
        less.parts.retain(|part| !part.is(&found));
        Ok((less, found))
    }

    /// Keeps them over a restart. Errors: the file cannot be written, and stays as it was.
    pub(in crate::server) fn keep(&self) -> Result<(), WriteError> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let mut text = String::new();
        for part in &self.parts {
            let _ = writeln!(text, "{}", part.line());
        }
        Folder::of(path)?.write(FILE, Readers::All, text.as_bytes())
    }

    /// They do not outlive the process.
    pub(in crate::server) const fn is_in_memory(&self) -> bool {
        self.path.is_none()
    }
}

impl Part {
    /// By its GUID, as in `0x200010` or `0x200010:3`. For a switch that is away.
    fn is_called(&self, name: &str) -> bool {
        let (switch, port) = match self.port {
            None => (name, None),
            Some(_) => match name.rsplit_once(':') {
                Some((switch, port)) => (switch, port.parse().ok()),
                None => return false,
            },
        };
        guid(switch) == Some(self.guid) && port == self.port
    }
}

/// The part that a word names: a switch by name or GUID, or one end of a cable as SWITCH:PORT.
/// Errors: there is none, in words.
pub(in crate::server) fn resolve(word: &str, subnet: &Subnet) -> Result<Part, String> {
    // First: a name may have a colon.
    match switch(word, subnet) {
        Ok(node) => Ok(Part::of(node, None)),
        Err(problem) => {
            let Some((name, port)) = word.rsplit_once(':') else {
                return Err(problem);
            };
            let node = switch(name, subnet)?;
            let ports = node.port_count();
            let number = port.parse().ok().filter(|port| (1..=ports).contains(port));
            let number = number
                .ok_or_else(|| format!("{word}: expected a port number of {name}, 1 to {ports}"))?;
            // Hosts hang on cables too, but a port without one has nothing to leave.
            let has_cable = node.port(number).is_some_and(|port| port.peer.is_some());
            match has_cable {
                true => Ok(Part::of(node, Some(number))),
                false => Err(format!("{word}: that port has no cable")),
            }
        }
    }
}

/// Errors: no switch, or several, are called so.
fn switch<'a>(word: &str, subnet: &'a Subnet) -> Result<&'a Node, String> {
    let wanted = guid(word);
    let switches = || subnet.nodes().iter().filter(|node| node.is_switch());
    let named = |node: &&Node| node.description() == word;
    // A GUID is one node's alone, a name may be several'.
    if let Some(node) = switches().find(|node| Some(node.guid()) == wanted) {
        return Ok(node);
    }
    let mut found = switches().filter(named);
    match (found.next(), found.next()) {
        (Some(node), None) => Ok(node),
        (Some(one), Some(other)) => Err(format!(
            "{word} is the name of several switches, {} and {} among them; give the GUID",
            one.guid(),
            other.guid()
        )),
        (None, _) => Err(format!(
            "{word}: no such switch; expected a switch by its name or 0xGUID, or one end of a cable as SWITCH:PORT"
        )),
    }
}

/// `0x` and up to 16 digits.
pub(in crate::server) fn guid(word: &str) -> Option<Guid> {
    let digits = word.strip_prefix("0x")?;
    let is_number = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_hexdigit());
    let raw = u64::from_str_radix(digits, 16).ok().filter(|_| is_number);
    Guid::new(raw?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(guid: u64, port: Option<u8>) -> Part {
        Part {
            guid: Guid::new(guid).unwrap(),
            port,
            name: format!("S {guid}"),
            since: 1_764_181_000,
            severed: false,
        }
    }

    #[test]
    fn what_is_kept_is_what_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let none = Drains::read(Some(directory.path()));
        assert!(none.parts().is_empty() && none.wanted().is_empty());
        let some = none
            .with(part(7, None))
            .unwrap()
            .with(part(9, Some(3)))
            .unwrap();
        some.keep().unwrap();
        let again = Drains::read(Some(directory.path()));
        assert_eq!(again.parts(), some.parts());
        assert!(some.with_last_severed().is_none(), "a cable");
        let severed = none.with(part(7, None)).unwrap().with_last_severed();
        severed.as_ref().unwrap().keep().unwrap();
        let again = Drains::read(Some(directory.path()));
        assert_eq!(again.wanted().severed, again.wanted().switches);
        some.keep().unwrap();
        let again = Drains::read(Some(directory.path()));
        assert!(again.wanted().severed.is_empty());
        assert!(again.with(part(7, None)).is_err(), "twice");
        let (less, gone) = again.without("0x9:3", &Subnet::default()).unwrap();
        assert_eq!((gone.port, less.parts().len()), (Some(3), 1));
        assert!(less.without("0x9", &Subnet::default()).is_err());
        assert!(less.without("S 7", &Subnet::default()).is_ok());
    }

    #[test]
    fn what_is_no_part_is_left_out() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(
            directory.path().join(FILE),
            "junk\n0x7 300 1 a\n0x7 0 1 a b\n",
        )
        .unwrap();
        let drains = Drains::read(Some(directory.path()));
        assert_eq!(drains.parts().len(), 1);
        assert_eq!(drains.parts()[0].name, "a b");
    }
}
