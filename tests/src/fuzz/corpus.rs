//! The regression corpus, `tests/golden/fuzz`: requests and what they got, programs of RMPP.
//!
//! A line of requests is `name | world | what it gets | lid N offset:hex ...`; bytes that no
//! offset names are 0, and `offset:*` stands for every value of a byte. A line of programs is
//! `name | hex`, with blanks anywhere. `#` starts a comment line.

use sa_wire::umad::Slot;

use super::asks::{Request, Seen};
use super::worlds::WORLDS;

/// A line of requests.
pub struct Line {
    /// What is special about it.
    pub name: &'static str,
    /// What it gets; none for a line that only has to be survived.
    pub gets: Option<Seen>,
    /// One, or 256.
    pub requests: Vec<Request>,
}

/// The lines of a file of requests. Panics with the line that is wrong.
pub fn requests(file: &'static str) -> Vec<Line> {
    let lines = lines(file).map(|line| request(line).unwrap_or_else(|| panic!("{line}")));
    lines.collect()
}

/// Name and bytes of the programs in a file.
pub fn programs(file: &'static str) -> Vec<(&'static str, Vec<u8>)> {
    let program = |line: &'static str| {
        let (name, hex) = line.split_once('|')?;
        let hex: String = hex.split_ascii_whitespace().collect();
        Some((name.trim(), bytes(&hex)?))
    };
    lines(file)
        .map(|line| program(line).unwrap_or_else(|| panic!("{line}")))
        .collect()
}

fn lines(file: &'static str) -> impl Iterator<Item = &'static str> {
    let lines = file.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn request(line: &'static str) -> Option<Line> {
    let mut parts = line.split('|').map(str::trim);
    let name = parts.next()?;
    let world = parts.next()?;
    let world = WORLDS.iter().find(|known| known.name == world)?;
    let gets = match parts.next()? {
        "any" => None,
        gets => Some(seen(gets)?),
    };
    let mut words = parts.next()?.split_ascii_whitespace();
    let mut slot = Slot::EMPTY;
    let lid: u16 = words.by_ref().nth(1)?.parse().ok()?;
    slot.header.lid = lid.into();
    let mut star = None;
    for word in words {
        let (at, hex) = word.split_once(':')?;
        let at: usize = at.parse().ok()?;
        if hex == "*" {
            star = Some(at);
        } else {
            let bytes = bytes(hex)?;
            slot.mad
                .get_mut(at..at + bytes.len())?
                .copy_from_slice(&bytes);
        }
    }
    let values = if star.is_some() { 0..=u8::MAX } else { 0..=0 };
    let with = |value| {
        let mut slot = slot;
        if let Some(at) = star {
            slot.mad[at] = value;
        }
        (world, slot)
    };
    let requests = values.map(with).collect();
    Some(Line {
        name,
        gets,
        requests,
    })
}

fn seen(word: &str) -> Option<Seen> {
    Some(match word {
        "silence" => Seen::Silence,
        "empty" => Seen::Empty,
        "short" => Seen::Short,
        "long" => Seen::Long,
        status => Seen::Status(u16::from_str_radix(status.strip_prefix("0x")?, 16).ok()?),
    })
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = hex
        .chars()
        .map(|digit| {
            digit
                .to_digit(16)
                .and_then(|value| u8::try_from(value).ok())
        })
        .collect();
    let (pairs, rest) = digits.as_deref()?.as_chunks::<2>();
    rest.is_empty()
        .then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}
