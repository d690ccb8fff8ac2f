//! The text of a root file.

use base64ct::{Base64, Encoding};
use minisign_verify::PublicKey;
use sa_text::{Line, Position, end_of, lines};

use super::{MAX_KEYS, MAX_ROOT_SIZE, Root, RootKey, RootProblem, RootRefusal};
use crate::identity::{FleetId, KeyId};
use crate::time::Wall;
use crate::trust::TrustedKey;

/// Milliseconds of a day.
const DAY: u64 = 86_400_000;

/// Lines as they come.
#[derive(Default)]
struct Draft {
    fleet: Option<FleetId>,
    version: Option<u32>,
    era: Option<u32>,
    threshold: Option<u32>,
    roots: Vec<(RootKey, KeyId)>,
    leaders: Vec<(TrustedKey, [u8; 32])>,
}

/// The words of a line, each with its place.
struct Words<'a> {
    line: Line<'a>,
    rest: usize,
}

/// Reads a root file; whether it is signed is not looked at.
pub(super) fn parse(bytes: &[u8]) -> Result<Root, RootRefusal> {
    let size = RootRefusal::Text(Position::START, RootProblem::Size);
    let text = core::str::from_utf8(bytes)
        .ok()
        .filter(|it| it.len() <= MAX_ROOT_SIZE);
    let text = text.ok_or(size)?;
    let mut all = lines(text);
    if all
        .next()
        .is_none_or(|line| line.text.trim_end() != "sapphire-root 1")
    {
        return Err(RootRefusal::Text(Position::START, RootProblem::Beginning));
    }
    let mut draft = Draft::default();
    for line in all {
        let mut words = Words { line, rest: 0 };
        draft.take(&mut words)?;
    }
    draft.whole(end_of(text))
}

impl Draft {
    /// One line. Blank ones and comments say nothing.
    fn take(&mut self, words: &mut Words<'_>) -> Result<(), RootRefusal> {
        let (at, Some(keyword)) = words.next() else {
            return Ok(());
        };
        match keyword {
            "fleet" => once(&mut self.fleet, at, words.read(RootProblem::Fleet, fleet)?)?,
            "version" => once(
                &mut self.version,
                at,
                words.read(RootProblem::Number, number)?,
            )?,
            "era" => once(&mut self.era, at, words.read(RootProblem::Number, number)?)?,
            "threshold" => once(
                &mut self.threshold,
                at,
                words.read(RootProblem::Number, number)?,
            )?,
            "root" => self.root(words)?,
            "leader" => self.leader(words)?,
            _ => return Err(RootRefusal::Text(at, RootProblem::Keyword)),
        }
        let (at, rest) = words.next();
        rest.map_or(Ok(()), |_| Err(RootRefusal::Text(at, RootProblem::Rest)))
    }

    /// A key that signs root files, and a name that is for people alone.
    fn root(&mut self, words: &mut Words<'_>) -> Result<(), RootRefusal> {
        let (at, _) = words.peek();
        let (id, bytes, key) = words.read(RootProblem::Key, public_key)?;
        let is_known = |(root, known): &(RootKey, KeyId)| *known == id || root.bytes == bytes;
        self.is_new(at, self.roots.iter().any(is_known))?;
        self.roots.push((RootKey { key, bytes }, id));
        words.next();
        Ok(())
    }

    /// A key that signs announcements, the day on which it ends, and a name.
    fn leader(&mut self, words: &mut Words<'_>) -> Result<(), RootRefusal> {
        let (at, _) = words.peek();
        let (id, bytes, _) = words.read(RootProblem::Key, public_key)?;
        let expires = words.read(RootProblem::Date, date)?;
        let is_known =
            |(leader, known): &(TrustedKey, [u8; 32])| leader.id == id || *known == bytes;
        self.is_new(at, self.leaders.iter().any(is_known))?;
        let weak = RootRefusal::Text(at, RootProblem::Key);
        let key = TrustedKey::new(id, &bytes, expires).ok_or(weak)?;
        self.leaders.push((key, bytes));
        words.next();
        Ok(())
    }

    /// Each key once: whoever could list one twice would count twice.
    fn is_new(&self, at: Position, is_known: bool) -> Result<(), RootRefusal> {
        let problem = if is_known {
            RootProblem::SameKey
        } else if self.roots.len() + self.leaders.len() >= MAX_KEYS {
            RootProblem::ManyKeys
        } else {
            return Ok(());
        };
        Err(RootRefusal::Text(at, problem))
    }

    /// A file without leaders is whole: it takes all of them away.
    fn whole(self, end: Position) -> Result<Root, RootRefusal> {
        let missing = |name| RootRefusal::Text(end, RootProblem::Missing(name));
        let threshold = self.threshold.ok_or_else(|| missing("threshold"))?;
        let threshold = usize::try_from(threshold).unwrap_or(usize::MAX);
        if threshold > self.roots.len() {
            return Err(RootRefusal::Text(end, RootProblem::Threshold));
        }
        Ok(Root {
            fleet: self.fleet.ok_or_else(|| missing("fleet"))?,
            version: self.version.ok_or_else(|| missing("version"))?,
            era: self.era.ok_or_else(|| missing("era"))?,
            threshold,
            roots: self.roots.into_iter().map(|(key, _)| key).collect(),
            leaders: self.leaders.into_iter().map(|(key, _)| key).collect(),
        })
    }
}

impl<'a> Words<'a> {
    /// The next word and where it is; nothing at the end and from `#` on.
    fn peek(&self) -> (Position, Option<&'a str>) {
        let text = self.line.text;
        let rest = text.get(self.rest..).unwrap_or("");
        let from = self.rest + (rest.len() - rest.trim_start().len());
        let word = rest
            .split_whitespace()
            .next()
            .filter(|word| !word.starts_with('#'));
        (self.line.at(from), word)
    }

    /// The same, and it is behind then.
    fn next(&mut self) -> (Position, Option<&'a str>) {
        let (at, word) = self.peek();
        let rest = self.line.text.get(self.rest..).unwrap_or("");
        let blank = rest.len() - rest.trim_start().len();
        self.rest += blank + word.map_or(0, str::len);
        (at, word)
    }

    /// The next word as what it must be; else the problem, at its place.
    fn read<T>(
        &mut self,
        problem: RootProblem,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, RootRefusal> {
        let (at, word) = self.next();
        word.and_then(read).ok_or(RootRefusal::Text(at, problem))
    }
}

/// A line that may be there once.
fn once<T>(place: &mut Option<T>, at: Position, value: T) -> Result<(), RootRefusal> {
    let before = place.replace(value);
    before.map_or(Ok(()), |_| Err(RootRefusal::Text(at, RootProblem::Twice)))
}

/// 32 hexadecimal digits, of which none may be left out.
fn fleet(word: &str) -> Option<FleetId> {
    let is_hex = word.len() == 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u128::from_str_radix(word, 16).ok().filter(|_| is_hex)?;
    Some(FleetId(number.to_be_bytes()))
}

/// From 1, in digits alone: `+1` is another way to write the same.
fn number(word: &str) -> Option<u32> {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_digit());
    word.parse().ok().filter(|number| is_plain && *number > 0)
}

/// Number, 32 bytes, and what checks signatures.
fn public_key(word: &str) -> Option<(KeyId, [u8; 32], PublicKey)> {
    let mut buffer = [0; 42];
    let [b'E', b'd', rest @ ..] = Base64::decode(word, &mut buffer).ok()? else {
        return None;
    };
    let (id, key) = rest.split_first_chunk::<8>()?;
    let public = PublicKey::from_base64(word).ok()?;
    Some((KeyId(*id), key.try_into().ok()?, public))
}

/// The beginning of a day such as `2027-06-30` (UTC); none for another text. Source: H. Hinnant,
/// chrono-Compatible Low-Level Date Algorithms, `days_from_civil`.
pub fn date(word: &str) -> Option<Wall> {
    let mut parts = word.split('-');
    let mut part = |digits| {
        let is_whole = |it: &&str| it.len() == digits && it.bytes().all(|it| it.is_ascii_digit());
        parts.next().filter(is_whole)?.parse::<u64>().ok()
    };
    let (year, month, day) = (part(4)?, part(2)?, part(2)?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let is_day =
        (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=last).contains(&day);
    if !is_day || parts.next().is_some() {
        return None;
    }
    // Years begin in March, so that the day that some have more is their last.
    let (year, month) = if month <= 2 {
        (year - 1, month + 9)
    } else {
        (year, month - 3)
    };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * month + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    Some(Wall((days - 719_468) * DAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (word, days) in [
            ("1970-01-01", Some(0)),
            ("2000-02-29", Some(11_016)),
            ("2000-03-01", Some(11_017)),
            ("2027-06-30", Some(20_999)),
            ("1900-02-29", None),
            ("2027-02-29", None),
            ("2027-13-01", None),
            ("2027-6-30", None),
            ("2027-06-30-1", None),
            ("1969-12-31", None),
        ] {
            assert_eq!(date(word), days.map(|days: u64| Wall(days * DAY)), "{word}");
        }
    }
}
