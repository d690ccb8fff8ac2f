//! The file of the option `root_guid_file`: node GUIDs of switches, one a line.
//!
//! ```text
//! # top switches
//! 0x0002c902400d1188  spine 1
//! 0x0002c902400d1190
//! ```
//! What stands behind a blank is a remark; `#` begins a comment line. OpenSM also takes numbers
//! that are not hexadecimal; here those are an error, as they are mistakes in every file seen.
//! Source: OpenSM `cl_nodenamemap.c` (`parse_node_map`).

use sa_text::lines;
use sa_wire::Guid;

use super::guid;
use crate::error::ParseError;
use crate::text::Cursor;

/// The GUIDs of a file, each once, in its order. Errors: a line that is none.
pub fn read(text: &str) -> Result<Vec<Guid>, ParseError> {
    let mut roots = Vec::new();
    for line in lines(text) {
        let mut cursor = Cursor::new(line);
        cursor.skip_blanks();
        if cursor.rest().is_empty() || cursor.rest().starts_with('#') {
            continue;
        }
        let root = guid(&mut cursor)?;
        if !cursor.rest().is_empty() {
            super::blank(&mut cursor)?;
        }
        if !roots.contains(&root) {
            roots.push(root);
        }
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guids_are_read_and_all_else_has_a_place() {
        let text = "# top\n0x2c9 spine 1\n\n  0x00000000000002ca\n0x2c9\n";
        let roots = read(text).unwrap();
        let raw: Vec<u64> = roots.iter().map(|root| root.get()).collect();
        assert_eq!(raw, [0x2c9, 0x2ca]);
        for (text, line) in [
            ("0x1\nspine\n", 2),
            ("0x1x\n", 1),
            ("0x0\n", 1),
            ("12\n", 1),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!(error.at.line, line, "{text:?}: {error:?}");
        }
    }
}
