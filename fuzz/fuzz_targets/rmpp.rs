//! RMPP sequences: a program of single bytes drives senders and receivers, a client of theirs that
//! plays by the rules, and packets that do not. Nothing may panic, grow, or stay for ever, and
//! every packet that is sent is judged.
#![no_main]

libfuzzer_sys::fuzz_target!(|program: &[u8]| {
    sa_tests::fuzz::transfers::run(program);
});
