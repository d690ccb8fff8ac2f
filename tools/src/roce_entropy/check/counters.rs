//! Counters of source ports as text.

use std::collections::BTreeMap;

use super::Seen;

/// Lines `PORT COUNT`, blanks or a comma between; `#` before comments. Errors: place and what was
/// expected there.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Seen>, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        format!(
            " expected a capture (pcap) or text, found neither: byte {} is no text",
            error.valid_up_to()
        )
    })?;
    let mut lines = BTreeMap::new();
    let mut all = Vec::new();
    for (nth, line) in text.lines().enumerate() {
        let nth = nth + 1;
        let line = line.split('#').next().unwrap_or_default();
        let column = |word: &str| word.as_ptr().addr() - line.as_ptr().addr() + 1;
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
            return Err(format!(
                "{nth}:{}: expected a UDP source port, found `{word}`",
                column(word)
            ));
        };
        let Some(count) = words.next() else {
            return Err(format!(
                "{nth}:{}: expected a count after the port",
                line.trim_end().len() + 1
            ));
        };
        let packets = count
            .parse()
            .map_err(|_| format!("{nth}:{}: expected a count, found `{count}`", column(count)))?;
        if let Some(more) = words.next() {
            return Err(format!(
                "{nth}:{}: expected the end of the line after PORT COUNT, found `{more}`",
                column(more)
            ));
        }
        if let Some(before) = lines.insert(port, nth) {
            return Err(format!(
                "{nth}:{}: port {port} was given before, on line {before}",
                column(word)
            ));
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
        let seen = read(b"port,count\n49152,7\n# none\n49153 0\n 50000\t2\n").unwrap();
        let ports: Vec<(u16, u64)> = seen.iter().map(|it| (it.port, it.packets)).collect();
        assert_eq!(ports, [(49152, 7), (50000, 2)]);
    }

    #[test]
    fn mistakes_have_their_place() {
        let said = |text: &str| read(text.as_bytes()).unwrap_err();
        assert!(said("49152 1\nx 2").starts_with("2:1: expected a UDP source port"));
        assert!(said("70000 2").starts_with("1:1: expected a UDP source port"));
        assert!(said("49152").starts_with("1:6: expected a count"));
        assert!(said("49152 -1").starts_with("1:7: expected a count"));
        assert!(said("49152 1 1").starts_with("1:9: expected the end"));
        assert!(
            said("49152 1\n49152 1").starts_with("2:1: port 49152 was given before, on line 1")
        );
        assert!(read(b"\xff\xfe").unwrap_err().contains("neither"));
    }
}
