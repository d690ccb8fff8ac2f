//! A root file as it is written: its lines in one order, with names.
//!
//! [`sa_fleet::root`] reads the same text and keeps what is believed; this keeps what is written,
//! so that the next version can be made of it. Blank lines and comments are not kept.
//!
//! ```text
//! sapphire-root 1                              which format
//! fleet 000102030405060708090a0b0c0d0e0f       never another one
//! version 2                                    one more each time
//! era 1
//! threshold 2
//! root RWQBAQEBAQEBAYqIk... alice              as many as there are, in the order in which they came
//! root RWQCAgICAgICAoE5d... bob
//! leader RWQDAwMDAwMDAzuzb... 2027-06-30 sm-a
//! ```
//!
//! A name is for people, and for the file of a signature: it is given by [`is_name`] where it is
//! made here, and taken as it is where somebody else has written it.

use core::fmt;
use std::str::FromStr;

use sa_fleet::identity::FleetId;
use sa_fleet::root::{Root, RootRefusal};
use sa_text::lines;

use crate::day::Day;
use crate::public::{NoKey, PublicKey};
use crate::secret::SecretKey;

/// What stands in a root file. What it comes to is judged by [`RootText::judged`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootText {
    /// Which fleet.
    pub fleet: FleetId,
    /// From 1; hosts take no file with one that is not greater than theirs.
    pub version: u32,
    /// From 1; raised when the memory of terms was lost.
    pub era: u32,
    /// As many root keys sign the file, and the one after it.
    pub threshold: u32,
    /// Keys that sign root files.
    pub roots: Vec<RootLine>,
    /// Keys that sign announcements.
    pub leaders: Vec<LeaderLine>,
}

/// A key that signs root files. Shape: `RW... NAME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootLine {
    /// The key.
    pub key: PublicKey,
    /// For people; may be empty.
    pub name: String,
}

/// A key that signs announcements. Shape: `RW... 2027-06-30 NAME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderLine {
    /// The key.
    pub key: PublicKey,
    /// From then on it does not count.
    pub expires: Day,
    /// For people; may be empty.
    pub name: String,
}

/// True for a name that also can be a part of a file's: 1 to 64 letters, digits, `-`, `_` and `.`,
/// and neither `.` nor `-` first.
pub fn is_name(word: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let begins = word.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_');
    begins && word.len() <= 64 && word.bytes().all(is_part)
}

impl RootText {
    /// From a text, signed or not.
    ///
    /// # Errors
    ///
    /// [`RootRefusal::Text`], with its place.
    pub fn read(text: &[u8]) -> Result<Self, RootRefusal> {
        match Root::installed(text, &[]) {
            // Nothing was signed, as no signature was given: but it was read.
            Ok(_) | Err(RootRefusal::OwnKeys { .. }) => {}
            Err(refusal) => return Err(refusal),
        }
        let text = core::str::from_utf8(text).unwrap_or_default();
        let mut root = Self {
            fleet: FleetId([0; 16]),
            version: 0,
            era: 0,
            threshold: 0,
            roots: Vec::new(),
            leaders: Vec::new(),
        };
        for line in lines(text).skip(1) {
            // It was judged above: what is not there now cannot be.
            let _ = root.take(line.text);
        }
        Ok(root)
    }

    /// One line; none where a word of it is not what it should be.
    fn take(&mut self, line: &str) -> Option<()> {
        let words = line.split_whitespace();
        let mut words = words.take_while(|word| !word.starts_with('#'));
        let keyword = words.next()?;
        let first = words.next()?;
        match keyword {
            "fleet" => {
                let number = u128::from_str_radix(first, 16).ok()?;
                self.fleet = FleetId(number.to_be_bytes());
            }
            "version" => self.version = first.parse().ok()?,
            "era" => self.era = first.parse().ok()?,
            "threshold" => self.threshold = first.parse().ok()?,
            "root" => self.roots.push(RootLine {
                key: first.parse().ok()?,
                name: words.next().unwrap_or_default().to_owned(),
            }),
            "leader" => self.leaders.push(LeaderLine {
                key: first.parse().ok()?,
                expires: words.next()?.parse().ok()?,
                name: words.next().unwrap_or_default().to_owned(),
            }),
            _ => {}
        }
        Some(())
    }

    /// Its text, which hosts read.
    ///
    /// # Errors
    ///
    /// What they would refuse, at its place in that text.
    pub fn judged(&self) -> Result<String, RootRefusal> {
        let text = self.to_string();
        let again = Self::read(text.as_bytes())?;
        // A name of two words, or one with a `#`, would be read as another.
        match again == *self {
            true => Ok(text),
            false => Err(RootRefusal::Text(
                sa_text::Position::START,
                sa_fleet::root::RootProblem::Rest,
            )),
        }
    }

    /// The signature of its text, as minisign writes it.
    ///
    /// # Errors
    ///
    /// As [`Self::read`]: nobody signs what no host can read.
    pub fn sign(text: &[u8], key: &SecretKey) -> Result<String, RootRefusal> {
        let root = Self::read(text)?;
        let (version, fleet) = (root.version, Hex(root.fleet));
        let said = format!("root file, version {version}, of fleet {fleet}");
        Ok(key.sign(text, &said))
    }

    /// Which fleet, as it is written.
    pub fn fleet(&self) -> String {
        Hex(self.fleet).to_string()
    }
}

/// 32 digits.
struct Hex(FleetId);

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0.0))
    }
}

impl fmt::Display for RootText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "sapphire-root 1")?;
        writeln!(f, "fleet {}", Hex(self.fleet))?;
        writeln!(f, "version {}", self.version)?;
        writeln!(f, "era {}", self.era)?;
        writeln!(f, "threshold {}", self.threshold)?;
        for line in &self.roots {
            writeln!(f, "{}", format!("root {line}").trim_end())?;
        }
        for line in &self.leaders {
            writeln!(f, "{}", format!("leader {line}").trim_end())?;
        }
        Ok(())
    }
}

impl fmt::Display for RootLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.key, self.name)
    }
}

impl fmt::Display for LeaderLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.key, self.expires, self.name)
    }
}

/// Why words are no line of a root file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoLine {
    /// No key.
    #[error(transparent)]
    Key(#[from] NoKey),
    /// Other words than the line has.
    #[error("expected {0}, each once, and a name of letters, digits, `-`, `_` and `.`")]
    Words(&'static str),
}

impl FromStr for RootLine {
    type Err = NoLine;

    /// With or without `root` in front.
    fn from_str(text: &str) -> Result<Self, NoLine> {
        let wrong = NoLine::Words("`RW... NAME`");
        let words: Vec<&str> = text.split_whitespace().collect();
        let words = words.strip_prefix(&["root"]).unwrap_or(&words);
        let [key, name] = words else {
            return Err(wrong);
        };
        let key = key.parse()?;
        match is_name(name) {
            true => Ok(Self {
                key,
                name: (*name).to_owned(),
            }),
            false => Err(wrong),
        }
    }
}

impl FromStr for LeaderLine {
    type Err = NoLine;

    /// With or without `leader` in front.
    fn from_str(text: &str) -> Result<Self, NoLine> {
        let wrong = NoLine::Words("`RW... 2027-06-30 NAME`");
        let words: Vec<&str> = text.split_whitespace().collect();
        let words = words.strip_prefix(&["leader"]).unwrap_or(&words);
        let [key, expires, name] = words else {
            return Err(wrong);
        };
        let key = key.parse()?;
        let expires = expires.parse().map_err(|_| wrong)?;
        match is_name(name) {
            true => Ok(Self {
                key,
                expires,
                name: (*name).to_owned(),
            }),
            false => Err(wrong),
        }
    }
}
