//! A shape by one word, as benchmarks name their fabrics.
//!
//! ```text
//! fat-tree:PORTS                           three levels, 1 to 1
//! dragonfly:SWITCHESxHOSTSxGLOBAL          as many groups as the global cables reach
//! dragonfly-plus:LEAVESxSPINESxHOSTSxGLOBAL
//! hyperx:AxBxCxHOSTS                       any number of dimensions
//! random:SWITCHESxDEGREExHOSTS             seed 1
//! ```
//!
//! Only whole fabrics have such a word; `sapphire fabric` takes every option.

use thiserror::Error;

use super::wiring::Wiring;
use super::{
    DragonflySpec, FatTreeSpec, GenerateError, HyperXSpec, RandomSpec, dragonfly, fat_tree, hyperx,
    random,
};

/// A word that names no fabric.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NameError {
    /// A shape that there is, with other numbers than it takes.
    #[error("{name}: expected {expected}")]
    Numbers {
        /// The word as given.
        name: String,
        /// What it must look like.
        expected: &'static str,
    },
    /// Numbers of which no such fabric can be built.
    #[error("{name}: {source}")]
    Plan {
        /// The word as given.
        name: String,
        /// Why not.
        source: GenerateError,
    },
}

/// The fabric behind a word; none for a word that begins with no shape's name and a colon, which may be a
/// file. Errors: numbers that are none, or too many or few; a fabric that cannot be built.
pub fn named(name: &str) -> Result<Option<Wiring>, NameError> {
    let Some((shape, numbers)) = name.split_once(':') else {
        return Ok(None);
    };
    let Some((_, expected)) = SHAPES.iter().find(|(known, _)| *known == shape) else {
        return Ok(None);
    };
    let wrong = || NameError::Numbers {
        name: name.to_owned(),
        expected,
    };
    let numbers: Result<Vec<u16>, _> = numbers.split('x').map(str::parse).collect();
    let planned = plan(shape, &numbers.map_err(|_| wrong())?).ok_or_else(wrong)?;
    let planned = planned.map_err(|source| NameError::Plan {
        name: name.to_owned(),
        source,
    });
    planned.map(Some)
}

/// The shapes, and what their words look like.
const SHAPES: [(&str, &str); 5] = [
    ("fat-tree", "fat-tree:PORTS, as fat-tree:16"),
    (
        "dragonfly",
        "dragonfly:SWITCHESxHOSTSxGLOBAL, as dragonfly:8x4x4",
    ),
    (
        "dragonfly-plus",
        "dragonfly-plus:LEAVESxSPINESxHOSTSxGLOBAL, as dragonfly-plus:8x8x8x4",
    ),
    (
        "hyperx",
        "hyperx:AxBxHOSTS, or with more dimensions, as hyperx:8x8x4",
    ),
    (
        "random",
        "random:SWITCHESxDEGREExHOSTS, as random:500x12x16",
    ),
];

/// None where there are other numbers than the shape takes.
fn plan(shape: &str, numbers: &[u16]) -> Option<Result<Wiring, GenerateError>> {
    let byte = |number: u16| u8::try_from(number).ok();
    Some(match (shape, numbers) {
        ("fat-tree", &[ports]) => fat_tree(&FatTreeSpec::new(3, byte(ports)?)),
        ("dragonfly", &[switches, hosts, global]) => dragonfly(&DragonflySpec {
            switches: byte(switches)?,
            spines: None,
            hosts: byte(hosts)?,
            global: byte(global)?,
            groups: None,
        }),
        ("dragonfly-plus", &[leaves, spines, hosts, global]) => dragonfly(&DragonflySpec {
            switches: byte(leaves)?,
            spines: Some(byte(spines)?),
            hosts: byte(hosts)?,
            global: byte(global)?,
            groups: None,
        }),
        ("hyperx", [size @ .., hosts]) => hyperx(&HyperXSpec {
            size: size
                .iter()
                .map(|radix| byte(*radix))
                .collect::<Option<_>>()?,
            hosts: byte(*hosts)?,
            parallel: 1,
        }),
        ("random", &[switches, degree, hosts]) => random(&RandomSpec {
            switches,
            degree: byte(degree)?,
            hosts: byte(hosts)?,
            seed: 1,
        }),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(name: &str) -> [usize; 3] {
        named(name).unwrap().unwrap().counts()
    }

    #[test]
    fn every_shape_has_its_word() {
        assert_eq!(counts("fat-tree:4"), [20, 32, 16]);
        assert_eq!(counts("dragonfly:3x1x1"), [12, 18, 12]);
        assert_eq!(counts("dragonfly-plus:2x2x2x1"), [12, 15, 12]);
        assert_eq!(counts("hyperx:3x3x2x1"), [18, 45, 18]);
        assert_eq!(counts("random:14x4x1"), [14, 28, 14]);
        // The words in messages are words that work.
        for (_, expected) in SHAPES {
            let word = expected.rsplit(' ').next().unwrap();
            assert!(named(word).unwrap().is_some(), "{word}");
        }
    }

    #[test]
    fn other_words_are_files_or_mistakes() {
        assert_eq!(named("net").unwrap().map(|it| it.counts()), None);
        assert_eq!(named("here:net").unwrap().map(|it| it.counts()), None);
        for (word, says) in [
            (
                "fat-tree:4x4",
                "fat-tree:4x4: expected fat-tree:PORTS, as fat-tree:16",
            ),
            ("random:8x3", "random:8x3: expected random:SWITCHES"),
            ("hyperx:", "hyperx:: expected hyperx:AxBxHOSTS"),
            ("fat-tree:1", "fat-tree:1: "),
            ("fat-tree:300", "fat-tree:300: expected"),
        ] {
            let error = named(word).unwrap_err().to_string();
            assert!(error.starts_with(says), "{error}");
        }
    }
}
