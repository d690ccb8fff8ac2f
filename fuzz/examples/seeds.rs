//! Writes the regression corpus as seeds of `mad` and `rmpp` into a directory of corpora.

use std::path::{Path, PathBuf};

use sa_tests::fuzz::asks::{Request, to_mad_input};
use sa_tests::fuzz::corpus::{programs, requests};

const REQUESTS: [&str; 3] = [
    include_str!("../../tests/golden/fuzz/mad.txt"),
    include_str!("../../tests/golden/fuzz/path_record.txt"),
    include_str!("../../tests/golden/fuzz/multi_path_record.txt"),
];
const PROGRAMS: &str = include_str!("../../tests/golden/fuzz/rmpp.txt");

fn main() -> std::io::Result<()> {
    let Some(directory) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: seeds CORPORA");
        std::process::exit(2);
    };
    let lines = REQUESTS.into_iter().flat_map(requests);
    let first = |mut requests: Vec<Request>| requests.swap_remove(0);
    let mads = lines.map(|line| to_mad_input(&first(line.requests)));
    write(&directory.join("mad"), mads)?;
    let programs = programs(PROGRAMS).into_iter().map(|(_, program)| program);
    write(&directory.join("rmpp"), programs)
}

fn write(directory: &Path, inputs: impl Iterator<Item = Vec<u8>>) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    for (number, input) in inputs.enumerate() {
        std::fs::write(directory.join(format!("seed-{number:03}")), input)?;
    }
    Ok(())
}
