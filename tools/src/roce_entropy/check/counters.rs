//! Counters of source ports as text.
//!
//! For those who have no capture: a switch's or a host's counters by UDP source port. For example
//!
//! ```text
//! port,count        # a heading is skipped
//! 49152 1200
//! 49664, 980
//! ```

use std::collections::BTreeMap;

use std::path::Path;

use sa_text::Position;

use super::Seen;
use crate::failure::{Failure, Outcome};

/// Lines `PORT COUNT`, blanks or a comma between; `#` before comments. Errors: place and what was
/// expected there.
///
/// Shape: a port once; ports with a count of 0 are left out, as no flow was seen with them.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Outcome<Vec<Seen>> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let text = format!(
            "expected a capture (pcap) or text, found neither: byte {} is no text",
            error.valid_up_to()
        );
        Failure::failed_in(path, text)
    })?;
    let mut lines = BTreeMap::new();
    let mut all = Vec::new();
    for (nth, line) in text.lines().enumerate() {
        let nth = nth + 1;
        // Before words are looked for: a comment may stand behind a count.
        let line = line.split('#').next().unwrap_or_default();
        let wrong = |byte: usize, what: String| {
            let at = Position {
                line: u32::try_from(nth).unwrap_or(u32::MAX),
                ..Position::in_text(line, byte)
            };
            Failure::failed_at(path, at, what)
        };
        // The word is a part of the line, so that its place is a difference of addresses.
        let byte = |word: &str| word.as_ptr().addr() - line.as_ptr().addr();
        let mut words = line
            .split(|it: char| it.is_whitespace() || it == ',')
            .filter(|word| !word.is_empty());
        let Some(word) = words.next() else {
            continue;
        };
        let Ok(port) = word.parse() else {
            // A heading, as tables of counters have one.
            if all.is_empty() && word.eq_ignore_ascii_case("port") {
                continue;
            }
            let what = format!("expected a UDP source port, found `{word}`");
            return Err(wrong(byte(word), what));
        };
        let Some(count) = words.next() else {
            let what = "expected a count after the port".to_owned();
            return Err(wrong(line.trim_end().len(), what));
        };
        let packets = count
            .parse()
            .map_err(|_| wrong(byte(count), format!("expected a count, found `{count}`")))?;
        if let Some(more) = words.next() {
            let what = format!("expected the end of the line after PORT COUNT, found `{more}`");
            return Err(wrong(byte(more), what));
        }
        if let Some(before) = lines.insert(port, nth) {
            let what = format!("port {port} was given before, on line {before}");
            return Err(wrong(byte(word), what));
        }
        if packets > 0 {
            all.push(Seen {
                hosts: None,
                qpn: None,
                port,
                packets,
            });
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_have_counts() {
        let seen = read(
            Path::new("f"),
            b"port,count\n49152,7\n# none\n49153 0\n 50000\t2\n",
        )
        .unwrap();
        let ports: Vec<(u16, u64)> = seen.iter().map(|it| (it.port, it.packets)).collect();
        assert_eq!(ports, [(49152, 7), (50000, 2)]);
    }

    #[test]
    fn mistakes_have_their_place() {
        let said = |text: &[u8]| {
            let failure = read(Path::new("f"), text).unwrap_err();
            failure.text().strip_prefix("f:").unwrap().to_owned()
        };
        assert!(said(b"49152 1\nx 2").starts_with("2:1: expected a UDP source port"));
        assert!(said(b"70000 2").starts_with("1:1: expected a UDP source port"));
        assert!(said(b"49152").starts_with("1:6: expected a count"));
        assert!(said(b"49152 -1").starts_with("1:7: expected a count"));
        assert!(said(b"49152 1 1").starts_with("1:9: expected the end"));
        assert!(
            said(b"49152 1\n49152 1").starts_with("2:1: port 49152 was given before, on line 1")
        );
        assert!(said(b"\xff\xfe").contains("neither"));
    }
}
