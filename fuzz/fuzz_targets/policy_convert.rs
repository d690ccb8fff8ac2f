//! QoS policies in any dialect, written in every dialect and read again. The first byte chooses.
#![no_main]

use sa_text::decode;
use libfuzzer_sys::fuzz_target;
use policy::{Dialect, ParseOptions, convert, parse_as};

fuzz_target!(|bytes: &[u8]| {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let from = Dialect::ALL[usize::from(*first) % Dialect::ALL.len()];
    let text = decode(bytes);
    let Ok(policy) = parse_as(&text, Some(from), &ParseOptions::default()) else { return };
    for to in Dialect::ALL {
        let converted = convert(&policy, to);
        let again = parse_as(&converted.text, Some(to), &ParseOptions::default());
        let again = again.expect("what is written is read");
        assert_eq!(convert(&again, to).text, converted.text, "nothing changes the second time");
    }
});
