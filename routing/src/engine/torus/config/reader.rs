//! Reading a torus-2QoS.conf line by line.
//! Source: OpenSM `osm_torus.c` (`parse_config` and what it calls).

use super::number::{self, Number};
use super::problem::{ConfigError, ConfigProblem, ConfigRemark, ConfigWarning};
use super::{KEYWORDS, Place, Places, Seed, SeedLink, TorusConfig};
use crate::placement::{Axis, Direction};

const DEFAULT_PORTGROUP_MAX_PORTS: u32 = 16;
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
    number: u32,
    text: &'t str,
    /// Start of what has not been read.
    at: usize,
}

/// A word of a line.
#[derive(Clone, Copy)]
struct Word<'t> {
    text: &'t str,
    /// Byte of the line, from 1.
    column: u32,
}

impl Word<'_> {
    const fn at(self, line: u32) -> Place {
        Place {
            line,
            column: self.column,
        }
    }
}

impl Reader {
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

    pub(super) fn line(&mut self, number: u32, text: &str) {
        let mut line = Line {
            number,
            text,
            at: 0,
        };
        let Some(keyword) = line.word() else { return };
        if keyword.text.starts_with('#') {
            return;
        }
        if let Err((column, problem)) = self.keyword(&mut line, keyword) {
            self.errors.push(ConfigError {
                line: number,
                column,
                problem,
            });
        }
    }

    fn keyword(&mut self, line: &mut Line<'_>, keyword: Word<'_>) -> Result<(), Trouble> {
        match keyword.text {
            "torus" => self.size(line, keyword, "torus")?,
            "mesh" => self.size(line, keyword, "mesh")?,
            "port_order" => return self.port_order(line),
            "next_seed" => self.push_seed(line.number, keyword.column),
            "portgroup_max_ports" => {
                self.config.portgroup_max_ports = self.count(line, "portgroup_max_ports", 0)?;
            }
            "max_changes" => self.config.max_changes = self.count(line, "max_changes", 2)?,
            other => match seed_keyword(other) {
                Some(SeedKeyword::Link(direction, name)) => {
                    self.open_seed(line.number, keyword.column);
                    let links = &mut self.config.places.links;
                    links.insert(line.number, keyword.column);
                    self.link(line, direction, name)?;
                }
                Some(SeedKeyword::Dateline(axis, name)) => {
                    self.open_seed(line.number, keyword.column);
                    self.dateline(line, axis, name)?;
                }
                None => {
                    let word = other.to_owned();
                    return Err((keyword.column, ConfigProblem::UnknownKeyword { word }));
                }
            },
        }
        self.rest_is_ignored(line);
        Ok(())
    }

    /// `torus` or `mesh`. The radices of a line that breaks off are kept, so that datelines below
    /// it are not reported as well.
    fn size(
        &mut self,
        line: &mut Line<'_>,
        keyword: Word<'_>,
        name: &'static str,
    ) -> Result<(), Trouble> {
        if let Some(first) = self.size_line {
            let problem = ConfigProblem::SecondSize {
                keyword: name,
                first,
            };
            return Err((keyword.column, problem));
        }
        if name == "mesh" {
            self.config.mesh = [true; 3];
        }
        for axis in 0..3 {
            let word = line.argument(name, axis, 3, "<x radix> <y radix> <z radix>")?;
            self.radix(line.number, axis, word);
        }
        self.size_line = Some(line.number);
        Ok(())
    }

    fn radix(&mut self, line: u32, axis: usize, word: Word<'_>) {
        let number = number::read(word.text);
        self.config.places.radix[axis] = Some(word.at(line));
        let radix = number.unsigned_32();
        self.config.radix[axis] = radix;
        let mesh = &mut self.config.mesh[axis];
        let rest = match number.rest.as_bytes() {
            [b'm' | b'M', ..] if radix != 0 => {
                *mesh = true;
                &number.rest[1..]
            }
            [b't' | b'T', ..] if radix != 0 => {
                *mesh = false;
                &number.rest[1..]
            }
            _ => number.rest,
        };
        // Two switches are joined by one bundle of cables: nothing to go round.
        *mesh |= radix == 2;
        self.judge_number(line, word, number.followed_by(rest));
    }

    fn link(
        &mut self,
        line: &mut Line<'_>,
        direction: Direction,
        name: &'static str,
    ) -> Result<(), Trouble> {
        let usage = "<guid of the common switch> <guid of its neighbour>";
        let mut guids = [0; 2];
        for (index, guid) in guids.iter_mut().enumerate() {
            let word = line.argument(name, index, 2, usage)?;
            let number = number::read(word.text);
            self.judge_number(line.number, word, number);
            *guid = number.unsigned_64();
        }
        let [common, neighbour] = guids;
        let link = SeedLink {
            common,
            neighbour,
            line: line.number,
        };
        let earlier = self.config.seeds.last_mut().and_then(|seed| {
            let place = &mut seed.links[usize::from(direction.group())];
            place.replace(link)
        });
        if let Some(earlier) = earlier {
            self.remark(
                line.number,
                1,
                ConfigRemark::Replaced {
                    keyword: name,
                    first: earlier.line,
                },
            );
        }
        Ok(())
    }

    fn dateline(
        &mut self,
        line: &mut Line<'_>,
        axis: Axis,
        name: &'static str,
    ) -> Result<(), Trouble> {
        let word = line.argument(name, 0, 1, "<position>")?;
        let number = number::read(word.text);
        self.judge_number(line.number, word, number);
        let value = number.signed_32();
        let radix = self.config.radix[axis.index()];
        if value.unsigned_abs() >= radix {
            let problem = if radix == 0 && self.size_line.is_none() {
                ConfigProblem::DatelineBeforeSize { axis }
            } else {
                ConfigProblem::DatelineRange { axis, value, radix }
            };
            return Err((word.column, problem));
        }
        if let Some(seed) = self.config.seeds.last_mut() {
            seed.dateline[axis.index()] = value;
        }
        Ok(())
    }

    /// A seed keyword before any `next_seed` opens the first seed.
    fn open_seed(&mut self, line: u32, column: u32) {
        if self.config.seeds.is_empty() {
            self.push_seed(line, column);
        }
    }

    fn push_seed(&mut self, line: u32, column: u32) {
        self.config.places.seeds.push(Place { line, column });
        self.config.seeds.push(Seed {
            line,
            ..Seed::default()
        });
    }

    /// Takes the whole line, so that a comment behind it turns into port numbers, as in OpenSM.
    fn port_order(&mut self, line: &mut Line<'_>) -> Result<(), Trouble> {
        self.only_once(line.number, "port_order", 1);
        let (mut order, mut places) = (Vec::new(), Vec::new());
        while order.len() < TorusConfig::ORDERED_PORTS
            && let Some(word) = line.word()
        {
            let number = number::read(word.text);
            self.judge_number(line.number, word, number);
            let port = number.unsigned_32();
            if order.contains(&port) {
                self.remark(
                    line.number,
                    word.column,
                    ConfigRemark::DuplicatePort { port },
                );
                continue;
            }
            if port > 254 {
                self.remark(line.number, word.column, ConfigRemark::NoSuchPort { port });
            }
            order.push(port);
            places.push(word.at(line.number));
        }
        self.rest_is_ignored(line);
        self.config.places.port_order = places;
        self.config.port_order = order;
        Ok(())
    }

    fn count(
        &mut self,
        line: &mut Line<'_>,
        name: &'static str,
        slot: usize,
    ) -> Result<u32, Trouble> {
        let word = line.argument(name, 0, 1, "<number>")?;
        self.only_once(line.number, name, slot);
        if slot == 0 {
            self.config.places.portgroup_max_ports = Some(word.at(line.number));
        }
        let number = number::read(word.text);
        self.judge_number(line.number, word, number);
        Ok(number.unsigned_32())
    }

    fn only_once(&mut self, line: u32, keyword: &'static str, slot: usize) {
        if let Some(first) = self.once[slot].replace(line) {
            self.remark(line, 1, ConfigRemark::Replaced { keyword, first });
        }
    }

    fn judge_number(&mut self, line: u32, word: Word<'_>, number: Number<'_>) {
        let remark = if !number.has_digits {
            ConfigRemark::NotANumber {
                word: word.text.to_owned(),
            }
        } else if number.rest.is_empty() {
            return;
        } else {
            let rest = number.rest.to_owned();
            ConfigRemark::TrailingCharacters {
                value: number.unsigned_64(),
                rest,
            }
        };
        self.remark(line, word.column, remark);
    }

    fn rest_is_ignored(&mut self, line: &mut Line<'_>) {
        if let Some(word) = line.word().filter(|word| !word.text.starts_with('#')) {
            let remark = ConfigRemark::IgnoredArguments {
                word: word.text.to_owned(),
            };
            self.remark(line.number, word.column, remark);
        }
    }

    fn remark(&mut self, line: u32, column: u32, remark: ConfigRemark) {
        self.config.warnings.push(ConfigWarning {
            line,
            column,
            remark,
        });
    }
}

/// Column and problem.
type Trouble = (u32, ConfigProblem);

impl<'t> Line<'t> {
    /// The next word; none at the end of the line.
    fn word(&mut self) -> Option<Word<'t>> {
        let is_separator = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
        let bytes = self.text.as_bytes();
        let start = self.at
            + bytes[self.at..]
                .iter()
                .take_while(|b| is_separator(b))
                .count();
        let end = start
            + bytes[start..]
                .iter()
                .take_while(|b| !is_separator(b))
                .count();
        self.at = end;
        (start < end).then(|| Word {
            text: &self.text[start..end],
            column: column(start),
        })
    }

    fn argument(
        &mut self,
        keyword: &'static str,
        found: usize,
        wanted: usize,
        usage: &'static str,
    ) -> Result<Word<'t>, Trouble> {
        let end = column(self.text.trim_end().len());
        let problem = ConfigProblem::MissingArguments {
            keyword,
            found,
            wanted,
            usage,
        };
        self.word().ok_or((end, problem))
    }
}

fn column(index: usize) -> u32 {
    u32::try_from(index).map_or(u32::MAX, |index| index.saturating_add(1))
}

enum SeedKeyword {
    Link(Direction, &'static str),
    Dateline(Axis, &'static str),
}

fn seed_keyword(word: &str) -> Option<SeedKeyword> {
    let name = KEYWORDS.into_iter().find(|keyword| *keyword == word)?;
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
