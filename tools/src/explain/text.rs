//! The account of an answer, for people.
//!
//! A line for each thing, with a word of 12 columns in front. A rule is named by file and line, as
//! editors and compilers do it, so that one can jump there.
//!
//! People read the whole from the top; whoever wants a single fact takes the document.
//!
//! Order matters more than form here: groups of both ends, rules in the order of the file, the way,
//! the engine, and the answer with its status at the end, where the eye is when the command
//! returns.
//!
//! ```text
//! source      NAME LID 1, port GUID .., at 0,0,0          two lines: ends
//! service     0x..: what it is                            where the request names one
//! groups      source in storage, compute                  two lines, by the policy
//! rule        FILE:LINE: no | yes | would hold too
//! hop 1       SWITCH in 7 out 1, SL 0 on VL 0, ..
//! engine      torus-2qos, SL 0: bit 3 (0) ..
//! answer      LID 9, ..         or  status 0x.., because, instead
//! job         NAME: SL ..                                 for services that do not ask
//! ```

use std::fmt::Display;

use sa_compiler::account::{Account, Engine, Hops, Job, Obstacle, Record, Rules};

/// For people.
/// Ends, service, rules, way, engine, answer: what one reads last is what one asked for.
pub(crate) fn print(account: &Account) {
    print_account(account);
    if let Some(job) = &account.job {
        print_job(job);
    }
}

/// The answer comes behind its reasons.
fn print_account(account: &Account) {
    let ends = [
        ("source", &account.source),
        ("destination", &account.destination),
    ];
    for (role, end) in ends {
        // Nothing rather than "at -": most fabrics are no torus.
        let torus = end.torus.as_ref();
        let torus = torus.map_or_else(String::new, |at| format!(", at {at}"));
        outln!(
            "{role:<12}{} LID {}, port GUID {}{torus}",
            text(end.name.as_ref()),
            end.lid,
            end.guid
        );
    }
    if let Some(service) = &account.service {
        outln!("service     {}: {}", service.service_id, service.what);
    }
    match &account.policy {
        Some(policy) => print_policy(policy),
        // QoS may be off, or no file given; both answer alike.
        None => outln!("policy      none"),
    }
    print_hops(&account.hops);
    print_engine(&account.engine);
    match &account.record {
        Some(record) => print_record(record),
        None => {
            outln!("answer      status {}, no record", account.status);
            if let Some(obstacle) = &account.no_record {
                print_obstacle(obstacle, account.policy.as_ref());
            }
        }
    }
}

/// What is missing is a dash or null, so that columns of words stay the same.
fn print_record(record: &Record) {
    outln!(
        "answer      LID {}, SL {}, P_Key {}, MTU {}, {}, packet life {}, {}{}",
        record.dlid,
        record.sl,
        record.pkey,
        number(record.mtu_bytes),
        text(record.rate.as_ref()),
        record.packet_life,
        if record.reversible {
            "reversible"
        } else {
            "not reversible"
        },
        flow_label(record)
    );
}

/// Most answers have none.
///
/// Without a label there is no hop limit worth a word either.
fn flow_label(record: &Record) -> String {
    match record.flow_label {
        0 => String::new(),
        label => format!(", flow label 0x{label:05x}, hop limit {}", record.hop_limit),
    }
}

/// For a program that is told its SL: the last word, because it is what was asked for.
///
/// Its SL is one for the pair that was asked about: a program that uses it for all pairs needs a
/// line that reserves it.
fn print_job(job: &Job) {
    let (name, sl) = (&job.service, number(job.sl));
    // In capitals, because a wrong SL here can lock the fabric up.
    if let Some(warning) = &job.warning {
        outln!("WARNING     {warning}");
        outln!("job         {name}: SL {sl} holds for this pair alone");
    } else if let Some(line) = job.reserved_line {
        outln!("job         {name}: SL {sl}, which line {line} of the policy reserves for it");
    } else {
        outln!("job         {name}: SL {sl} for this pair; another pair may have another");
    }
}

/// Rules that did not hold, the one that did, those that come too late: the order of the file.
fn print_policy(policy: &Rules) {
    for (role, groups) in [
        ("source", &policy.source_groups),
        ("destination", &policy.destination_groups),
    ] {
        // That a port is in no group is often the reason that was looked for.
        match groups.is_empty() {
            true => outln!("groups      {role} in none"),
            false => outln!("groups      {role} in {}", groups.join(", ")),
        }
    }
    // The demo has no file that a reader could open.
    let file = policy.file.as_deref().unwrap_or("line");
    for rule in &policy.earlier_rules {
        let purpose = purpose(rule.r#use.as_ref());
        outln!(
            "rule        {file}:{}: no, {}{purpose}",
            rule.line,
            rule.why
        );
    }
    let (level, gives) = (&policy.level, &policy.level_gives);
    match policy.rule_line {
        Some(line) => {
            let purpose = purpose(policy.rule_use.as_ref());
            outln!("rule        {file}:{line}: yes, level {level} with {gives}{purpose}");
        }
        None => outln!("rule        none: default level {level} with {gives}"),
    }
    for rule in &policy.later_rules {
        let (line, level) = (rule.line, &rule.level);
        outln!("rule        {file}:{line}: would hold too, level {level}, but comes later");
    }
}

/// What a rule is for, in its author's words.
fn purpose(words: Option<&String>) -> String {
    words.map_or_else(String::new, |words| format!(" ({words})"))
}

/// The step that fails, and which rules would have had their turn.
fn print_obstacle(obstacle: &Obstacle, policy: Option<&Rules>) {
    outln!("because     {}: {}", obstacle.step, obstacle.found);
    outln!("instead     {}", obstacle.remedy);
    // Who sees a later rule that would do asks why it was not taken.
    if policy.is_some_and(|policy| !policy.later_rules.is_empty()) {
        outln!(
            "            the first rule that holds is final, even where its level is impossible"
        );
    }
}

/// The sum of bits is taken apart for engines that make one.
///
/// Engines that take the SL as the policy gives it have nothing to add.
fn print_engine(engine: &Engine) {
    let name = &engine.name;
    let Some(chosen) = &engine.chosen else {
        outln!("engine      {name}");
        return;
    };
    outln!(
        "engine      {name}, SL {}: bit 3 ({}) from the level or partition, bits 0-2 ({}) from the datelines between {} and {}",
        chosen.sl,
        chosen.kept_bit,
        chosen.datelines,
        text(chosen.from.as_ref()),
        text(chosen.to.as_ref())
    );
}

/// Numbered from 1, as people count.
///
/// From the source's switch to the destination's; where there is no way, why.
fn print_hops(hops: &Hops) {
    let way = match hops {
        Hops::Way(way) => way,
        Hops::None { no_path } => {
            outln!("path        none: {no_path}");
            return;
        }
    };
    for (nth, hop) in (1..).zip(way) {
        outln!(
            "hop {nth:<8}{} in {} out {}, SL {} on VL {}, MTU {}, {}",
            hop.switch,
            hop.r#in,
            hop.out,
            hop.sl,
            number(hop.vl),
            number(hop.mtu_bytes),
            text(hop.rate.as_ref())
        );
    }
}

/// A dash for what is not known.
fn text(words: Option<&String>) -> &str {
    words.map_or("-", String::as_str)
}

/// As JSON has it.
///
/// `null` stands for a code that has no number.
fn number(number: Option<impl Display>) -> String {
    number.map_or_else(|| "null".to_owned(), |number| number.to_string())
}
