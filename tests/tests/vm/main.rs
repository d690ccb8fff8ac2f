//! The whole SA on real umad: in a VM whose kernel has software HCAs on a simulated fabric, beside
//! an unmodified OpenSM and its unmodified clients. `tests/vm/README.md` says how it works.
//!
//! Slow, so only with `SAPPHIRE_VM=1`. This one program is both sides: on the host it boots the VMs
//! and judges what comes out of them; started with `guest` it is a client or a server in a VM.

mod bench;
mod guest;
mod host;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.split_first() {
        Some((first, rest)) if first == "guest" => match guest::run(rest) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                println!("FAIL {error:#}");
                ExitCode::FAILURE
            }
        },
        _ => host::run(&words),
    }
}
