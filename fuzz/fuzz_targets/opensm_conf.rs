//! `opensm.conf`, and the tables that its options ask for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sa_fabric::OpenSmOptions;
use sa_fabric::options::PortClass;

fuzz_target!(|text: &[u8]| {
    let Some(options) = sa_fuzz::placed(text, OpenSmOptions::parse(text)) else { return };
    for class in
        [PortClass::Ca, PortClass::SwitchPort0, PortClass::SwitchExternal, PortClass::Router]
    {
        let _ = options.qos_tables(class);
    }
    let _ = (options.max_rate_code(), options.resp_time());
});
