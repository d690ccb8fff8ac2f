//! Reading a torus-2QoS.conf line by line.
//! Source: OpenSM `osm_torus.c` (`parse_config` and what it calls).
//!
//! Lenient and strict just where OpenSM is: a number may have letters behind it, missing arguments are an
//! error, the last of several lines counts, and a comment begins at the start of a line and nowhere else.
//! What OpenSM passes over in silence becomes a remark.
//!
//! ```text
//! yp_link 0x200000          error at the end of the line: 1 of 2 arguments
//! max_changes many          remark: `many` is no number and is read as 0
//! torus 6 5 4m spare        remark: `spare` is ignored; z is open
//! ```

use sa_text::{Number, Position};

use super::problem::{ConfigError, ConfigProblem, ConfigRemark, ConfigWarning};
use super::{KEYWORDS, Places, Seed, SeedLink, TorusConfig};
use crate::placement::{Axis, Direction};

/// OpenSM's default for ports of a group.
const DEFAULT_PORTGROUP_MAX_PORTS: u32 = 16;
/// OpenSM's default for changes that are reported.
const DEFAULT_MAX_CHANGES: u32 = 32;

/// Reads line after line.
pub(super) struct Reader {
    pub(super) config: TorusConfig,
    pub(super) errors: Vec<ConfigError>,
    /// Line of the accepted `torus` or `mesh`.
    size_line: Option<u32>,
    /// Lines of keywords of which only the last counts: portgroup_max_ports, port_order,
    /// max_changes.
    once: [Option<u32>; 3],
}

/// A line being read.
struct Line<'t> {
    line: sa_text::Line<'t>,
    /// Start of what has not been read. Units: bytes.
    next: usize,
}

/// A word of a line.
/// Words have no blanks; there are no quotes in this file.
#[derive(Clone, Copy)]
struct Word<'t> {
    text: &'t str,
    at: Position,
}

impl Word<'_> {
    /// An error at this word.
    const fn wrong(self, problem: ConfigProblem) -> ConfigError {
        let at = self.at;
        ConfigError { at, problem }
    }
}

impl Reader {
    /// OpenSM's defaults, and no size.
    pub(super) fn new() -> Self {
        Self {
            config: TorusConfig {
                radix: [0; 3],
                mesh: [false; 3],
                seeds: Vec::new(),
                portgroup_max_ports: DEFAULT_PORTGROUP_MAX_PORTS,
                port_order: Vec::new(),
                max_changes: DEFAULT_MAX_CHANGES,
                warnings: Vec::new(),
                places: Places::default(),
            },
            errors: Vec::new(),
            size_line: None,
            once: [None; 3],
        }
    }

    /// Reads a line. A bad one does not keep the others from being read.
    // OpenSM looks at the first character of the first word only: `#torus` is a comment, `torus#` a
    // word.
    pub(super) fn line(&mut self, line: sa_text::Line<'_>) {
        let mut line = Line { line, next: 0 };
        let Some(keyword) = line.word() else { return };
        if keyword.text.starts_with('#') {
            return;
        }
        if let Err(error) = self.keyword(&mut line, keyword) {
            self.errors.push(error);
        }
    }

    /// What a line says, by its first word.
    fn keyword(&mut self, line: &mut Line<'_>, keyword: Word<'_>) -> Result<(), ConfigError> {
        match keyword.text {
            "torus" => self.size(line, keyword, "torus")?,
            "mesh" => self.size(line, keyword, "mesh")?,
            // Takes the rest of the line itself, and judges it.
            "port_order" => return self.port_order(line),
            "next_seed" => self.push_seed(keyword.at),
            "portgroup_max_ports" => {
                self.config.portgroup_max_ports = self.count(line, "portgroup_max_ports", 0)?;
            }
            "max_changes" => self.config.max_changes = self.count(line, "max_changes", 2)?,
            other => match seed_keyword(other) {
                Some(SeedKeyword::Link(direction, name)) => {
                    self.open_seed(keyword.at);
                    let links = &mut self.config.places.links;
                    links.insert(keyword.at.line, keyword.at.column);
                    self.link(line, direction, name)?;
                }
                Some(SeedKeyword::Dateline(axis, name)) => {
                    self.open_seed(keyword.at);
                    self.dateline(line, axis, name)?;
                }
                None => {
                    let word = other.to_owned();
                    return Err(keyword.wrong(ConfigProblem::UnknownKeyword { word }));
                }
            },
        }
        self.rest_is_ignored(line);
        Ok(())
    }

    /// `torus` or `mesh`. The radices of a line that breaks off are kept, so that datelines below
    /// it are not reported as well.
    // A broken line counts as none: a later one is read and not called a second.
    fn size(
        &mut self,
        line: &mut Line<'_>,
        keyword: Word<'_>,
        name: &'static str,
    ) -> Result<(), ConfigError> {
        if let Some(first) = self.size_line {
            let problem = ConfigProblem::SecondSize {
                keyword: name,
                first,
            };
            return Err(keyword.wrong(problem));
        }
        if name == "mesh" {
            self.config.mesh = [true; 3];
        }
        for axis in 0..3 {
            let word = line.argument(name, axis, 3, "<x radix> <y radix> <z radix>")?;
            self.radix(axis, word);
        }
        self.size_line = Some(keyword.at.line);
        Ok(())
    }

    /// A radix, and whether a letter behind it opens or closes the rings of its axis.
    fn radix(&mut self, axis: usize, word: Word<'_>) {
        let number = Number::read(word.text);
        self.config.places.radix[axis] = Some(word.at);
        let radix = number.unsigned_32();
        self.config.radix[axis] = radix;
        let mesh = &mut self.config.mesh[axis];
        // What is behind the number: a suffix, or letters that are remarked upon.
        let mut rest = &word.text[number.length..];
        // A word that is no number has no suffix either: `m` alone is a radix of 0.
        if radix != 0 {
            for (suffixes, is_mesh) in [(['m', 'M'], true), (['t', 'T'], false)] {
                if let Some(behind) = rest.strip_prefix(suffixes) {
                    (rest, *mesh) = (behind, is_mesh);
                    break;
                }
            }
        }
        // Two switches are joined by one bundle of cables: nothing to go round.
        *mesh |= radix == 2;
        self.judge_number(word, number, rest);
    }

    /// A link of the seed at hand. A second one in the same direction replaces the first.
    fn link(
        &mut self,
        line: &mut Line<'_>,
        direction: Direction,
        name: &'static str,
    ) -> Result<(), ConfigError> {
        let usage = "<guid of the common switch> <guid of its neighbour>";
        let mut guids = [0; 2];
        for (index, guid) in guids.iter_mut().enumerate() {
            let word = line.argument(name, index, 2, usage)?;
            let number = self.number(word);
            *guid = number.unsigned_64();
        }
        let [common, neighbour] = guids;
        let link = SeedLink {
            common,
            neighbour,
            line: line.line.number,
        };
        // A seed is open: the caller saw to it before.
        let earlier = self.config.seeds.last_mut().and_then(|seed| {
            let place = &mut seed.links[usize::from(direction.group())];
            place.replace(link)
        });
        if let Some(earlier) = earlier {
            let remark = ConfigRemark::Replaced {
                keyword: name,
                first: earlier.line,
            };
            self.remark(line.line.at(0), remark);
        }
        Ok(())
    }

    /// Where coordinate 0 lies, as seen from the seed's switch.
    fn dateline(
        &mut self,
        line: &mut Line<'_>,
        axis: Axis,
        name: &'static str,
    ) -> Result<(), ConfigError> {
        let word = line.argument(name, 0, 1, "<position>")?;
        let number = self.number(word);
        let value = number.signed_32();
        let radix = self.config.radix[axis.index()];
        // Also with radix 0, where nothing is in range: then the size line is missing or comes
        // later.
        if value.unsigned_abs() >= radix {
            let problem = if radix == 0 && self.size_line.is_none() {
                ConfigProblem::DatelineBeforeSize { axis }
            } else {
                ConfigProblem::DatelineRange { axis, value, radix }
            };
            return Err(word.wrong(problem));
        }
        if let Some(seed) = self.config.seeds.last_mut() {
            seed.dateline[axis.index()] = value;
        }
        Ok(())
    }

    /// A seed keyword before any `next_seed` opens the first seed.
    fn open_seed(&mut self, at: Position) {
        if self.config.seeds.is_empty() {
            self.push_seed(at);
        }
    }

    /// Opens a seed.
    fn push_seed(&mut self, at: Position) {
        self.config.places.seeds.push(at);
        self.config.seeds.push(Seed {
            line: at.line,
            ..Seed::default()
        });
    }

    /// Takes the whole line, so that a comment behind it turns into port numbers, as in OpenSM.
    /// Duplicates are dropped, so that each port has one turn.
    fn port_order(&mut self, line: &mut Line<'_>) -> Result<(), ConfigError> {
        self.only_once(line, "port_order", 1);
        let (mut order, mut places) = (Vec::new(), Vec::new());
        // As many words as there are ports; what comes behind is ignored like any surplus word.
        while order.len() < TorusConfig::ORDERED_PORTS
            && let Some(word) = line.word()
        {
            let number = self.number(word);
            let port = number.unsigned_32();
            if order.contains(&port) {
                self.remark(word.at, ConfigRemark::DuplicatePort { port });
                continue;
            }
            // Kept: the check against the fabric names it together with a switch that lacks it.
            if port > 254 {
                self.remark(word.at, ConfigRemark::NoSuchPort { port });
            }
            order.push(port);
            places.push(word.at);
        }
        self.rest_is_ignored(line);
        self.config.places.port_order = places;
        // The last line counts whole; nothing of an earlier one is left.
        self.config.port_order = order;
        Ok(())
    }

    /// The number behind a keyword of which the last counts. Shape: `slot` by keyword.
    fn count(
        &mut self,
        line: &mut Line<'_>,
        name: &'static str,
        slot: usize,
    ) -> Result<u32, ConfigError> {
        let word = line.argument(name, 0, 1, "<number>")?;
        self.only_once(line, name, slot);
        if slot == 0 {
            self.config.places.portgroup_max_ports = Some(word.at);
        }
        let number = self.number(word);
        Ok(number.unsigned_32())
    }

    /// Remarks that an earlier line no longer counts.
    fn only_once(&mut self, line: &Line<'_>, keyword: &'static str, slot: usize) {
        let start = line.line.at(0);
        if let Some(first) = self.once[slot].replace(start.line) {
            self.remark(start, ConfigRemark::Replaced { keyword, first });
        }
    }

    /// The number that a word begins with, or 0.
    fn number(&mut self, word: Word<'_>) -> Number {
        let number = Number::read(word.text);
        self.judge_number(word, number, &word.text[number.length..]);
        number
    }

    /// Remarks on a word that is no number, or that has `rest` behind its number.
    /// One remark at most: a word that is no number has nothing behind it.
    fn judge_number(&mut self, word: Word<'_>, number: Number, rest: &str) {
        if number.length == 0 {
            let word_as_written = word.text.to_owned();
            self.remark(
                word.at,
                ConfigRemark::NotANumber {
                    word: word_as_written,
                },
            );
        } else if !rest.is_empty() {
            let (value, rest) = (number.unsigned_64(), rest.to_owned());
            self.remark(word.at, ConfigRemark::TrailingCharacters { value, rest });
        }
    }

    /// Remarks on words behind those that were needed, unless they are a comment.
    fn rest_is_ignored(&mut self, line: &mut Line<'_>) {
        if let Some(word) = line.word().filter(|word| !word.text.starts_with('#')) {
            let remark = ConfigRemark::IgnoredArguments {
                word: word.text.to_owned(),
            };
            self.remark(word.at, remark);
        }
    }

    /// Keeps a remark with its place.
    fn remark(&mut self, at: Position, remark: ConfigRemark) {
        self.config.warnings.push(ConfigWarning { at, remark });
    }
}

impl<'t> Line<'t> {
    /// The next word; none at the end of the line.
    fn word(&mut self) -> Option<Word<'t>> {
        // A carriage return parts words, so that a file with CRLF reads as one without.
        let is_separator = |character: char| matches!(character, ' ' | '\t' | '\r');
        let text = self.line.text;
        let rest = text[self.next..].trim_start_matches(is_separator);
        let start = text.len() - rest.len();
        let length = rest.find(is_separator).unwrap_or(rest.len());
        self.next = start + length;
        (length > 0).then(|| Word {
            text: &rest[..length],
            at: self.line.at(start),
        })
    }

    /// The next word. Errors: the line ends before it, with what is missing.
    fn argument(
        &mut self,
        keyword: &'static str,
        found: usize,
        wanted: usize,
        usage: &'static str,
    ) -> Result<Word<'t>, ConfigError> {
        // Where the missing word would have to be written.
        let at = self.line.at(self.line.text.trim_end().len());
        let problem = ConfigProblem::MissingArguments {
            keyword,
            found,
            wanted,
            usage,
        };
        self.word().ok_or(ConfigError { at, problem })
    }
}

/// What a keyword says of a seed.
/// With the keyword as messages spell it.
enum SeedKeyword {
    Link(Direction, &'static str),
    Dateline(Axis, &'static str),
}

/// The axis is the keyword's first letter.
fn seed_keyword(word: &str) -> Option<SeedKeyword> {
    let name = KEYWORDS.into_iter().find(|keyword| *keyword == word)?;
    // No other keyword begins with x, y or z.
    let axis = Axis::ALL
        .into_iter()
        .find(|axis| name.starts_with(axis.letter()))?;
    match &name[1..] {
        "p_link" => Some(SeedKeyword::Link(axis.plus(), name)),
        "m_link" => Some(SeedKeyword::Link(axis.minus(), name)),
        "_dateline" => Some(SeedKeyword::Dateline(axis, name)),
        _ => None,
    }
}
