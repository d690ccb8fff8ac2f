//! A file of names.
//!
//! ```text
//! # storage of ours
//! scratch, tmpfs = tcp 5000-5003 "scratch file system"
//! legacy         = id 0x1000000000000bad
//! nfs            = tcp 20049, 2050          replaces the built-in one
//! ```
//!
//! Names of the file go before those built in, so that a site can say what its services use.

use sa_text::{Span, check_length};

use super::names::{Meaning, Ulp, UlpNames};
use super::scan::Scan;
use super::space::PortSpace;
use crate::error::Error;
use crate::error::{UlpError, UlpProblem};

impl UlpNames {
    /// These names and those of a file. A name that is there already is replaced.
    ///
    /// A line is `name[, alias]* = sdp|tcp|udp|ib PORTS ["title"]` or `.. = id IDS ["title"]`,
    /// where ports and ids are numbers and ranges with commas between; `#` begins a comment.
    ///
    /// Errors: the first line that is none of these, with its place.
    /// Cost: O(lines x names).
    pub fn extend(&self, text: &str) -> Result<Self, Error> {
        check_length(text)?;
        let mut added: Vec<Ulp> = Vec::new();
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            let statement = line.split('#').next().unwrap_or_default();
            // A byte order mark stands before the first line only, and elsewhere is no harm.
            let statement = statement.trim_end().trim_start_matches('\u{feff}');
            if !statement.trim_start().is_empty() {
                // Errors count in the statement; the file counts from its beginning.
                let start = offset + line.find(statement).unwrap_or(0);
                let entry = entry(statement, &added).map_err(|error| error.in_text(text, start))?;
                added.push(entry);
            }
            offset += line.len();
        }
        let is_new = |ulp: &&Ulp| !added.iter().any(|new| new.is_called(&ulp.name));
        let mut entries: Vec<Ulp> = self.entries().iter().filter(is_new).cloned().collect();
        for old in &mut entries {
            // An alias of a built-in name that the file defines leads to the file's.
            old.aliases
                .retain(|alias| !added.iter().any(|new| new.is_called(alias)));
        }
        entries.append(&mut added);
        Ok(Self::new(entries))
    }
}

/// One line. Errors: a name that the file has already; anything that is not as [`UlpNames::extend`] says.
/// Names are kept in lower case; they compare without case.
fn entry(line: &str, before: &[Ulp]) -> Result<Ulp, UlpError> {
    let mut scan = Scan::new(line);
    let mut names: Vec<String> = Vec::new();
    loop {
        let at = scan.place();
        let word = scan.word();
        let word = word.ok_or_else(|| scan.unexpected("a name, as in nfs = tcp 20049"))?;
        let name = word.to_ascii_lowercase();
        if names.contains(&name) || before.iter().any(|ulp| ulp.is_called(&name)) {
            let problem = UlpProblem::Twice { name };
            return Err(UlpError {
                at,
                length: word.len(),
                problem,
            });
        }
        names.push(name);
        if !scan.accept(',') {
            break;
        }
    }
    if !scan.accept('=') {
        return Err(scan.unexpected("'=' behind the name"));
    }
    let meaning = meaning(&mut scan)?;
    let title = title(&mut scan)?;
    let mut names = names.into_iter();
    let name = names.next().unwrap_or_default();
    Ok(Ulp {
        // Shown beside ids, so something has to stand there.
        title: title.unwrap_or_else(|| name.clone()),
        name,
        aliases: names.collect(),
        meaning,
    })
}

/// The ids behind the equals sign.
/// Errors: no kind, or numbers out of its range.
fn meaning(scan: &mut Scan<'_>) -> Result<Meaning, UlpError> {
    let kinds = [
        ("sdp", Some(PortSpace::Sdp)),
        ("tcp", Some(PortSpace::Tcp)),
        ("udp", Some(PortSpace::Udp)),
        ("ib", Some(PortSpace::Ib)),
        // Ids of no port space: whole numbers.
        ("id", None),
    ];
    let found = kinds.into_iter().find(|(word, _)| scan.keyword(&[word]));
    let Some((_, space)) = found else {
        return Err(scan.unexpected("sdp, tcp, udp or ib with ports, or id with service ids"));
    };
    let ids = match space {
        Some(space) => {
            let ports = scan.ranges("port", 0xffff)?;
            let base = space.range().0;
            ports
                .iter()
                .map(|(low, high)| (base + low, base + high))
                .collect()
        }
        None => scan.ranges("service id", u64::MAX)?,
    };
    Ok(Meaning::Ids { ids, space })
}

/// What stands between quotes at the end of the line.
/// Up to 255 bytes, without quotes inside.
fn title(scan: &mut Scan<'_>) -> Result<Option<String>, UlpError> {
    /// What may follow the ids, as messages say it.
    const EXPECTED: &str = "',' and another number, a title between quotes, or the end of the line";
    if scan.is_at_end() {
        return Ok(None);
    }
    let inner = scan
        .rest()
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    match inner {
        // There are no escapes, so a title ends at the first quote.
        Some(title) if !title.contains('"') && title.len() <= 255 => Ok(Some(title.to_owned())),
        _ => Err(scan.unexpected(EXPECTED)),
    }
}

impl UlpError {
    /// The same in a file, where the text begins at byte `start`.
    fn in_text(self, text: &str, start: usize) -> Error {
        let from = start + self.at;
        let span = Span::in_text(text, from..from + self.length);
        self.at_span(span)
    }
}

#[cfg(test)]
mod tests {
    use sa_wire::ServiceId;

    use super::*;

    #[test]
    fn a_file_adds_and_replaces() {
        let text = "# site\nbeegfs, Bee = tcp 8000-8010,8020 \"BeeGFS\" # storage\n\n\
                    srp = id 0x2c90200402bd4\nnfs-rdma = tcp 20050\n";
        let names = UlpNames::default().extend(text).unwrap();
        let tcp = PortSpace::Tcp.range().0;
        assert_eq!(
            names.ids("bee"),
            Ok(vec![(tcp + 8000, tcp + 8010), (tcp + 8020, tcp + 8020)])
        );
        assert_eq!(names.ids("beegfs port 9"), Ok(vec![(tcp + 9, tcp + 9)]));
        assert_eq!(
            names.find("BEE").map(|ulp| ulp.title.as_str()),
            Some("BeeGFS")
        );
        assert_eq!(names.describe(ServiceId(tcp + 8001)), "beegfs");
        assert_eq!(names.describe(ServiceId(0x2_c902_0040_2bd4)), "srp");
        assert_eq!(names.ids("nfs-rdma"), Ok(vec![(tcp + 20050, tcp + 20050)]));
        assert_eq!(names.ids("nfs"), Ok(vec![(tcp + 20049, tcp + 20049)]));
        assert_eq!(
            names
                .entries()
                .iter()
                .filter(|ulp| ulp.is_called("srp"))
                .count(),
            1
        );
    }

    #[test]
    fn errors_have_their_place() {
        for (text, place, words) in [
            (
                "a = tcp 1\n b tcp 2\n",
                (2, 4),
                "expected '=' behind the name, found 'tcp'",
            ),
            (
                "\u{e9} = tcp 1\n",
                (1, 1),
                "expected a name, as in nfs = tcp 20049, found '\u{e9}'",
            ),
            (
                "a = tcp 1\r\n\ta = tcp 2",
                (2, 2),
                "'a' is defined twice in this file",
            ),
            ("x, x = id 1", (1, 4), "'x' is defined twice in this file"),
            ("a = tcp 70000", (1, 9), "port 70000 is over 65535"),
            (
                "a = rtp 1",
                (1, 5),
                "expected sdp, tcp, udp or ib with ports, or id with service ids, found 'rtp'",
            ),
            ("a = id", (1, 7), "expected service id, found the end"),
            (
                "a = id 1 2",
                (1, 10),
                "expected ',' and another number, a title between quotes, or the end of the line, found '2'",
            ),
            (
                "a = id 1 \"t",
                (1, 10),
                "expected ',' and another number, a title between quotes, or the end of the line, found '\"t'",
            ),
        ] {
            let error = UlpNames::default().extend(text).unwrap_err();
            assert_eq!((error.line(), error.column()), place, "{text}");
            assert_eq!(error.message(), words);
        }
    }
}
