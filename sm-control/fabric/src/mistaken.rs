//! What a file looks like, for whoever gave it in the place of another.
//!
//! A dozen kinds of files are named on command lines and in configurations, many of them called
//! `something.conf`. A parser that gets the wrong one stops at its first line with a message about
//! a word. This looks for lines that only one kind has, and says what the file is and where it
//! belongs:
//!
//! ```text
//! f: this looks like a QoS policy, not like a fabric file; give it as --policy, or file of
//! [policy]
//! ```
//!
//! It is asked after a parser has failed (and before `opensm.conf`, of which nearly any text is
//! one), so it decides nothing about files that are fine. A guess must be right when it is made,
//! and may be missing: a line counts only if no other kind can have it.

use core::fmt;
use std::path::{Path, PathBuf};

use sa_snapshot::MAGIC as SNAPSHOT_MAGIC;

use crate::formats::{net, subnet_lst};

/// Files that are given to our programs.
///
/// In the order in which their users are met, not of their probability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// An ibsim net file, or the output of ibnetdiscover.
    Net,
    /// `opensm-subnet.lst`.
    SubnetList,
    /// `opensm-lfts.dump` and its like.
    Dump,
    /// `torus-2QoS.conf`.
    TorusConf,
    /// A QoS policy, in any dialect.
    Policy,
    /// `partitions.conf`.
    Partitions,
    /// `opensm.conf`.
    OpenSmConf,
    /// `sapphired.toml`.
    Configuration,
    /// `prefix-routes.conf`.
    PrefixRoutes,
    /// `opensm-sa.dump`.
    Aliases,
    /// A snapshot.
    Snapshot,
    /// Something packed that is not read, and what unpacks it.
    Packed(&'static str, &'static str),
    /// No text.
    Binary,
    /// Nothing.
    Empty,
}

impl FileKind {
    /// By the first lines that mean something. None where nothing is typical.
    ///
    /// A hundred lines of the first 64 KiB are looked at. NUL bytes count last: some editors leave
    /// one in a text.
    pub fn recognise(bytes: &[u8]) -> Option<Self> {
        // Long comments at the head of a file are common, megabytes of them are not.
        const LOOKED_AT: usize = 1 << 16;
        // Some twice: as they are, and read as Latin-1 by a reader of texts.
        const PACKED: [(&[u8], &str, &str); 6] = [
            (&[0x1f, 0x8b], "gzip", "gunzip"),
            ("\x1f\u{8b}".as_bytes(), "gzip", "gunzip"),
            (b"BZh", "bzip2", "bunzip2"),
            (&[0x28, 0xb5, 0x2f, 0xfd], "zstd", "unzstd"),
            ("(\u{b5}/\u{fd}".as_bytes(), "zstd", "unzstd"),
            (b"PK\x03\x04", "zip", "unzip"),
        ];
        // Bytes before lines: what is packed may have lines by chance.
        if bytes.starts_with(&SNAPSHOT_MAGIC) {
            return Some(Self::Snapshot);
        }
        for (magic, how, remedy) in PACKED {
            if bytes.starts_with(magic) {
                return Some(Self::Packed(how, remedy));
            }
        }
        let head = bytes.get(..LOOKED_AT).unwrap_or(bytes);
        let text = String::from_utf8_lossy(head);
        let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
        if bytes.len() < LOOKED_AT && lines.clone().all(str::is_empty) {
            return Some(Self::Empty);
        }
        // `#` begins a comment in all of these formats but XML.
        let meaningful = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let typical = meaningful.take(100).find_map(by_line);
        typical.or_else(|| head.contains(&0).then_some(Self::Binary))
    }

    /// How to give it in the right place.
    ///
    /// None for what no option takes.
    const fn place(self) -> Option<&'static str> {
        Some(match self {
            Self::Net => "--fabric, or path of [fabric]",
            Self::SubnetList => "--fabric or --lids, or path or lids of [fabric]",
            Self::Dump => "its directory as --fabric, or as path of [fabric]",
            Self::TorusConf => "--torus-conf, or torus_conf of [routing]",
            Self::Policy => "--policy, or file of [policy]",
            Self::Partitions => "--partitions, or file of [partitions]",
            Self::OpenSmConf => "--opensm-conf, or opensm_conf of [fabric]",
            Self::PrefixRoutes => "--prefix-routes, or prefix_routes of [fabric]",
            Self::Aliases => "--aliases, or aliases of [fabric]",
            Self::Snapshot => "--snapshot to the verbs that have it",
            Self::Configuration => "sapphired --config",
            Self::Packed(..) | Self::Binary | Self::Empty => return None,
        })
    }

    /// True for both kinds of fabric files, which may stand for each other.
    const fn is_fabric(self) -> bool {
        matches!(self, Self::Net | Self::SubnetList)
    }
}

/// What only files of one kind have in a line.
///
/// The order matters where words are shared: `torus` is a keyword of `torus-2QoS.conf` and might
/// begin a line of others, `qos` one of `opensm.conf`, where a TOML file has an equals sign.
fn by_line(line: &str) -> Option<FileKind> {
    const POLICY: [&str; 12] = [
        "port-groups",
        "port-group",
        "qos-setup",
        "qos-levels",
        "qos-level",
        "qos-match-rules",
        "qos-match-rule",
        "qos-ulps",
        "port-names",
        "vlarb-tables",
        "sl2vl-tables",
        "<qos-policy",
    ];
    const OPTIONS: [&str; 14] = [
        "guid",
        "m_key",
        "sm_key",
        "sa_key",
        "subnet_prefix",
        "subnet_timeout",
        "lmc",
        "qos",
        "max_op_vls",
        "routing_engine",
        "log_file",
        "sweep_interval",
        "m_key_lease_period",
        "qos_max_vls",
    ];
    const SECTIONS: [&str; 14] = [
        "fabric",
        "routing",
        "policy",
        "partitions",
        "port",
        "workers",
        "state",
        "control",
        "http",
        "log",
        "sa",
        "opensm",
        "local_service",
        "rmpp",
    ];
    // Up to a blank, a colon, an equals sign or the end of a tag.
    let word = line
        .split(|c: char| c.is_whitespace() || matches!(c, ':' | '>' | '='))
        .next()
        .unwrap_or_default();
    let section = line.trim_matches(['[', ']']);
    // `Name=0x8001, ipoib : ALL=full;`
    let is_partition = || {
        let (name, rest) = line.split_once(':')?;
        (name.contains("=0x") && (rest.contains(['=', ';']))).then_some(())
    };
    let is_option = OPTIONS.contains(&word) && line.split_whitespace().count() >= 2;
    if POLICY.contains(&word) {
        Some(FileKind::Policy)
    } else if routing::engine::torus::KEYWORDS.contains(&word) && !line.contains(':') {
        Some(FileKind::TorusConf)
    } else if line.starts_with('[') && line.ends_with(']') && SECTIONS.contains(&section) {
        Some(FileKind::Configuration)
    } else if line.starts_with("Unicast lids") || line.starts_with("dump_ucast_routes") {
        Some(FileKind::Dump)
    } else if subnet_lst::is_like(line) {
        Some(FileKind::SubnetList)
    } else if is_partition().is_some() {
        Some(FileKind::Partitions)
    } else if is_option && !line.contains('=') {
        Some(FileKind::OpenSmConf)
    } else {
        net::is_like(line).then_some(FileKind::Net)
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Net => "a fabric file",
            Self::SubnetList => "an opensm-subnet.lst",
            Self::Dump => "a dump of forwarding tables",
            Self::TorusConf => "a torus-2QoS.conf",
            Self::Policy => "a QoS policy",
            Self::Partitions => "a partitions.conf",
            Self::OpenSmConf => "an opensm.conf",
            Self::Configuration => "a configuration of sapphired",
            Self::PrefixRoutes => "a prefix-routes.conf",
            Self::Aliases => "an opensm-sa.dump",
            Self::Snapshot => "a snapshot",
            Self::Packed(how, _) => return write!(f, "something packed by {how}"),
            Self::Binary => "something binary",
            Self::Empty => "an empty file",
        })
    }
}

/// A file that was given in the place of another.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {}", path.display(), self.sentence())]
pub struct Mistaken {
    /// The file.
    pub path: PathBuf,
    /// What it looks like.
    pub kind: FileKind,
    /// What was expected where it was given.
    pub wanted: FileKind,
}

impl Mistaken {
    /// What it is and what to do about it, without the file's name.
    ///
    /// The file's name goes before it in messages and beside it in JSON documents.
    pub fn sentence(&self) -> String {
        let Self { kind, wanted, .. } = self;
        match (kind, kind.place()) {
            (FileKind::Packed(how, remedy), _) => format!(
                "this is packed by {how}; unpack it first ({remedy}), or pack it with xz, which is \
                 read as it is"
            ),
            (FileKind::Empty, _) => format!("the file is empty; expected {wanted}"),
            (FileKind::Snapshot, _) if *wanted == FileKind::Net => {
                "this is a snapshot, which holds no forwarding tables to work from; give the \
                 fabric file it was compiled from"
                    .to_owned()
            }
            (_, Some(place)) => {
                format!("this looks like {kind}, not like {wanted}; give it as {place}")
            }
            (_, None) => format!("this looks like {kind}, not like {wanted}"),
        }
    }
}

/// That a file cannot be what is wanted. None where it may be that, or looks like nothing known.
pub fn mistaken(path: &Path, bytes: &[u8], wanted: FileKind) -> Option<Mistaken> {
    let kind = FileKind::recognise(bytes)?;
    // Either file of a fabric may stand for the other; of an opensm.conf every option has its
    // default, as for OpenSM.
    let is_fine = kind == wanted
        || kind.is_fabric() && wanted == FileKind::Net
        || kind == FileKind::Empty && wanted == FileKind::OpenSmConf;
    (!is_fine).then(|| Mistaken {
        path: path.to_owned(),
        kind,
        wanted,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_what_only_they_have() {
        for (text, kind) in [
            ("# x\n\nSwitch 36 \"S\"\n", FileKind::Net),
            ("switchguid=0x200000\n", FileKind::Net),
            ("{ CA Ports:01 SystemGUID", FileKind::SubnetList),
            ("\u{feff}torus 3 3 3\n", FileKind::TorusConf),
            ("# c\nqos-ulps\n default: 0\n", FileKind::Policy),
            ("<?xml version=\"1.0\"?>\n<qos-policy>\n", FileKind::Policy),
            ("Default=0x7fff : ALL=full;\n", FileKind::Partitions),
            ("# DEVICE\nguid 0x0000\nqos TRUE\n", FileKind::OpenSmConf),
            ("[fabric]\npath = \"net\"\n", FileKind::Configuration),
            ("[[port]]\n", FileKind::Configuration),
            ("Unicast lids [0x0-0x24] of switch\n", FileKind::Dump),
            ("SAPHSNAP\x01", FileKind::Snapshot),
            ("", FileKind::Empty),
            (" \n\n", FileKind::Empty),
            ("a\0b", FileKind::Binary),
        ] {
            assert_eq!(FileKind::recognise(text.as_bytes()), Some(kind), "{text:?}");
        }
        let gzip = FileKind::recognise(&[0x1f, 0x8b, 8, 0]);
        assert_eq!(gzip, Some(FileKind::Packed("gzip", "gunzip")));
        assert_eq!(FileKind::recognise(b"hello\n# only\n"), None);
    }

    #[test]
    fn the_remedy_is_in_the_users_terms() {
        let said = |text: &str, wanted| {
            mistaken(Path::new("f"), text.as_bytes(), wanted).map(|it| it.to_string())
        };
        assert_eq!(
            said("qos-levels\n", FileKind::Net).unwrap(),
            "f: this looks like a QoS policy, not like a fabric file; give it as --policy, or file \
             of [policy]"
        );
        assert_eq!(
            said("", FileKind::TorusConf).unwrap(),
            "f: the file is empty; expected a torus-2QoS.conf"
        );
        assert_eq!(said("", FileKind::OpenSmConf), None);
        assert_eq!(said("torus 3 3 3", FileKind::TorusConf), None);
        assert_eq!(said("{ CA Ports:01", FileKind::Net), None);
        assert_eq!(said("nonsense", FileKind::Net), None);
    }
}
