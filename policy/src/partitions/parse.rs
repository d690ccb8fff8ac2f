//! Reads `partitions.conf` line by line.
//!
//! OpenSM reads a line into a buffer, cuts it at `#` and `;` and goes on with what is left, so that one line
//! may hold several statements and one statement several lines. What its reader does beyond its buffer is
//! refused here, see [`PartitionsConfig::parse`].
//!
//! ```text
//! # one statement on two lines, then two on one
//! a=1 : ALL ,
//!   0x2=full ; b=2 : SELF ; c=3 : ALL ;
//! ```
//!
//! A statement is open from its colon to its semicolon; while it is, whatever comes is its members.

use std::collections::HashMap;

use sa_text::{Span, Spanned, check_length};
use sa_wire::Sl;

use super::Membership;
use super::config::{Definition, Item, Notice, NoticeKind, PartitionsConfig, Statement};
use super::flags::{GroupFlags, Outcome};
use super::piece::Piece;
use super::words::{cut, membership, multicast_gid, no_definition, parse_base, who};
use crate::error::{Error, Problem};

/// Errors: the first thing that OpenSM would drop the file for.
/// A file with nothing but comments is refused: OpenSM falls back to its defaults then.
pub(super) fn parse(text: &str) -> Result<PartitionsConfig, Error> {
    check_length(text)?;
    let mut reader = Reader::new();
    let mut next = Span::START;
    for line in text.split_inclusive('\n') {
        let content = line.strip_suffix('\n').unwrap_or(line);
        reader.line(Piece::line(content, next))?;
        // Where the next line begins, newline included.
        next = next.piece(line, line.len()..line.len());
    }
    if reader.config.statements.is_empty() {
        Err(Error::new(Span::START, Problem::NoStatement))
    } else {
        Ok(reader.config)
    }
}

/// OpenSM reads lines into a buffer; what is longer goes on as if it were the next line.
const MAX_LINE_BYTES: usize = 4093;

/// What was read, and the statement that is not at its end.
struct Reader {
    config: PartitionsConfig,
    /// By base: place of the partition in the configuration.
    places: HashMap<u16, u16>,
    /// Of partitions with one name the first in the order of the SM's map: its key there.
    first_by_name: HashMap<String, u16>,
    last_generated: u16,
    /// The last statement is not at its end; members without a word get this.
    open: Option<Membership>,
}

impl Reader {
    /// The default partition is there before anything is read.
    fn new() -> Self {
        let mut reader = Self {
            config: PartitionsConfig {
                partitions: Vec::new(),
                ..PartitionsConfig::default()
            },
            places: HashMap::new(),
            first_by_name: HashMap::new(),
            last_generated: 0,
            open: None,
        };
        for Definition { name, base } in PartitionsConfig::default().partitions {
            reader.place(&name, base);
        }
        reader
    }

    /// One line, which may end statements and begin others.
    fn line(&mut self, line: Piece<'_>) -> Result<(), Error> {
        let length = line.text.len();
        if length > MAX_LINE_BYTES {
            let what = "a line";
            let limit = MAX_LINE_BYTES;
            return Err(line.refuse(Problem::TooLong {
                what,
                length,
                limit,
            }));
        }
        if let Some(at) = line.text.find('\0') {
            return Err(line.with(&line.text[at..=at]).refuse(Problem::NulByte));
        }
        // A comment ends the line wherever it begins, also within a member.
        let mut rest = line.split('#').0;
        while !rest.trimmed().text.is_empty() {
            let (part, behind) = rest.split(';');
            self.part(part, behind.is_some())?;
            // No semicolon: the statement goes on in the next line.
            let Some(behind) = behind else { break };
            // Only now: what stands before the semicolon still belonged to it.
            self.open = None;
            rest = behind;
        }
        Ok(())
    }

    /// What a line says about one statement.
    fn part(&mut self, part: Piece<'_>, ends: bool) -> Result<(), Error> {
        if part.trimmed().text.is_empty() {
            return Err(part.refuse(Problem::EmptyStatement));
        }
        let items = match self.open {
            Some(_) => part,
            // The first colon ends the definition; later ones belong to addresses.
            None => match part.split(':') {
                (header, Some(items)) => {
                    self.open = Some(self.header(header)?);
                    items
                }
                (_, None) => return Err(no_definition(part)),
            },
        };
        self.items(items, ends)
    }

    /// Gives what members are without a word of their own.
    fn header(&mut self, header: Piece<'_>) -> Result<Membership, Error> {
        let (first, mut rest) = header.split(',');
        let mut statement = Statement {
            partition: 0,
            ipoib: false,
            first_place: false,
            sl: Sl::default(),
            flags: GroupFlags::default(),
            items: Vec::new(),
            span: header.trimmed().span(),
        };
        let mut default = Membership::Limited;
        while let Some(flags) = rest {
            let (flag, behind) = flags.split(',');
            self.flag(flag, &mut statement, &mut default);
            rest = behind;
        }
        // Behind the flags: an error in the key is told when the rest has been noted.
        statement.partition = self.partition(first)?;
        statement.sl = statement.flags.sl.unwrap_or_default();
        self.config.statements.push(statement);
        Ok(default)
    }

    /// A flag of a definition. What is unknown is passed over, as in OpenSM, and noted.
    fn flag(&mut self, flag: Piece<'_>, statement: &mut Statement, default: &mut Membership) {
        let (name, value) = flag.assignment();
        let value = value.map(|value| value.text);
        // Flags of groups first, so that `i` is ipoib only because no group flag begins so.
        let outcome = match statement.flags.set(name.text, value) {
            Outcome::Unknown if "ipoib".starts_with(name.text) => {
                statement.ipoib = true;
                Outcome::Taken
            }
            Outcome::Unknown if "defmember".starts_with(name.text) => {
                match value.and_then(membership) {
                    Some(how) => {
                        *default = how;
                        Outcome::Taken
                    }
                    None => Outcome::BadValue,
                }
            }
            // The only word that may not be cut short.
            Outcome::Unknown if name.text == "indx0" => {
                statement.first_place = true;
                Outcome::Taken
            }
            outcome => outcome,
        };
        self.note_flag(flag, name.text, outcome);
    }

    /// Notes a flag that has no effect.
    fn note_flag(&mut self, flag: Piece<'_>, name: &str, outcome: Outcome) {
        let name = String::from(name);
        match outcome {
            Outcome::Taken => {}
            Outcome::BadValue => self.note(flag, NoticeKind::FlagValue(name)),
            Outcome::Unknown => self.note(flag, NoticeKind::UnknownFlag(name)),
        }
    }

    /// Notes what is passed over.
    fn note(&mut self, at: Piece<'_>, kind: NoticeKind) {
        let span = at.trimmed().span();
        self.config.notices.push(Notice { span, kind });
    }

    /// Finds or makes the partition of a definition, `name`, `name=key`, `=key` or `key`.
    fn partition(&mut self, definition: Piece<'_>) -> Result<u16, Error> {
        let (name, key) = definition.assignment();
        let starts_with_digit = name.text.starts_with(|c: char| c.is_ascii_digit());
        let (name, key) = match key {
            // `0x123` alone is a key without a name.
            None if starts_with_digit => ("", Some(name)),
            key => (name.text, key),
        };
        let base = key.map_or(Ok(0), parse_base)?;
        // 0 stands for no key: a partition of that name, or a new key.
        let base = match base {
            0 => match self.place_by_name(name) {
                Some(place) => return Ok(place),
                None => self
                    .generate()
                    .ok_or_else(|| definition.refuse(Problem::KeysExhausted))?,
            },
            base => base,
        };
        Ok(self.place(name, base))
    }

    /// OpenSM finds a partition by name in the order of its map of keys, so that of two with one name the one
    /// with the lesser key counts.
    fn place_by_name(&self, name: &str) -> Option<u16> {
        self.places
            .get(&self.first_by_name.get(name)?.swap_bytes())
            .copied()
    }

    /// The next base that nobody has; none when all are taken.
    fn generate(&mut self) -> Option<u16> {
        let base =
            (self.last_generated + 1..0x7fff).find(|base| !self.places.contains_key(base))?;
        self.last_generated = base;
        Some(base)
    }

    /// The first name of a partition stays.
    fn place(&mut self, name: &str, base: u16) -> u16 {
        if let Some(place) = self.places.get(&base) {
            return *place;
        }
        let name = match name {
            "" => format!("{base:04x}"),
            name => String::from(cut(name)),
        };
        // There are fewer bases than places.
        let place = u16::try_from(self.config.partitions.len()).unwrap_or(u16::MAX);
        // The key as the SM's map compares it.
        let key = base.swap_bytes();
        let first = self.first_by_name.entry(name.clone()).or_insert(key);
        *first = key.min(*first);
        self.config.partitions.push(Definition { name, base });
        self.places.insert(base, place);
        place
    }

    /// Members and groups. Shape: `ends` when a semicolon follows.
    fn items(&mut self, items: Piece<'_>, ends: bool) -> Result<(), Error> {
        let mut rest = Some(items);
        while let Some(items) = rest {
            let (item, behind) = items.split(',');
            let (name, value) = item.assignment();
            // A group takes the rest of the part; members cannot follow it.
            if name.text == "mgid" {
                return self.group(item, value, behind, ends);
            }
            self.member(name, value)?;
            rest = behind;
        }
        Ok(())
    }

    /// Adds to the statement that is open.
    fn add(&mut self, at: Span, item: Item) {
        if let Some(statement) = self.config.statements.last_mut() {
            statement.items.push(Spanned::new(item, at));
        }
    }

    /// Ports by word or GUID, with a membership of their own or the statement's.
    fn member(&mut self, name: Piece<'_>, how: Option<Piece<'_>>) -> Result<(), Error> {
        // An empty name is a beginning of NONE as well, so trailing commas do no harm.
        if "NONE".starts_with(name.text) {
            return Ok(());
        }
        let given = how.map(|word| match membership(word.text) {
            Some(how) => how,
            None => {
                self.note(word, NoticeKind::Membership(String::from(word.text)));
                Membership::Limited
            }
        });
        // `defmember` of the definition, else limited.
        let membership = given.or(self.open).unwrap_or(Membership::Limited);
        let who = who(name)?;
        self.add(name.span(), Item::Member { who, membership });
        Ok(())
    }

    /// A multicast group takes all that follows on its line, up to the semicolon.
    fn group(
        &mut self,
        item: Piece<'_>,
        mgid: Option<Piece<'_>>,
        mut flags: Option<Piece<'_>>,
        ends: bool,
    ) -> Result<(), Error> {
        let address = mgid.map_or("", |mgid| mgid.text);
        let Some(mgid) = multicast_gid(address) else {
            let text = String::from(address);
            if flags.is_some() && ends {
                // OpenSM takes the flags for a new statement and drops the file.
                return Err(item.refuse(Problem::MulticastGid { text }));
            }
            self.note(item, NoticeKind::MulticastGid(text));
            return Ok(());
        };
        let of_statement = self.config.statements.last().map(|last| last.flags);
        // Inherits from the statement all but these two.
        let mut own = GroupFlags {
            sl: None,
            tclass: 0,
            ..of_statement.unwrap_or_default()
        };
        while let Some(more) = flags {
            let (flag, behind) = more.split(',');
            let (name, value) = flag.assignment();
            let outcome = own.set(name.text, value.map(|value| value.text));
            self.note_flag(flag, name.text, outcome);
            flags = behind;
        }
        self.add(item.trimmed().span(), Item::Group { mgid, flags: own });
        Ok(())
    }
}
