//! The account of an answer, for people.

use serde_json::Value;

/// For people.
pub(crate) fn print(explanation: &Value) {
    print_account(explanation);
    print_job(&explanation["job"]);
}

fn print_account(explanation: &Value) {
    for role in ["source", "destination"] {
        let end = &explanation[role];
        let torus = end["torus"]
            .as_str()
            .map(|at| format!(", at {at}"))
            .unwrap_or_default();
        outln!(
            "{role:<12}{} LID {}, port GUID {}{torus}",
            text(&end["name"]),
            end["lid"],
            text(&end["guid"])
        );
    }
    print_service(&explanation["service"]);
    print_policy(&explanation["policy"]);
    print_hops(&explanation["hops"]);
    print_engine(&explanation["engine"]);
    let record = &explanation["record"];
    if record.is_null() {
        let status = text(&explanation["status"]);
        outln!("answer      status {status}, no record");
        print_obstacle(&explanation["no_record"], &explanation["policy"]);
        return;
    }
    outln!(
        "answer      LID {}, SL {}, P_Key {}, MTU {}, {}, packet life {}, {}{}",
        record["dlid"],
        record["sl"],
        text(&record["pkey"]),
        record["mtu_bytes"],
        text(&record["rate"]),
        record["packet_life"],
        if record["reversible"] == true {
            "reversible"
        } else {
            "not reversible"
        },
        flow_label(record)
    );
}

/// Most answers have none.
fn flow_label(record: &Value) -> String {
    match record["flow_label"].as_u64() {
        None | Some(0) => String::new(),
        Some(label) => format!(
            ", flow label 0x{label:05x}, hop limit {}",
            record["hop_limit"]
        ),
    }
}

fn print_service(service: &Value) {
    if !service.is_null() {
        let (id, what) = (text(&service["service_id"]), text(&service["what"]));
        outln!("service     {id}: {what}");
    }
}

/// For a program that is told its SL: the last word, because it is what was asked for.
fn print_job(job: &Value) {
    if job.is_null() {
        return;
    }
    let (name, sl) = (text(&job["service"]), &job["sl"]);
    if let Some(warning) = job["warning"].as_str() {
        outln!("WARNING     {warning}");
        outln!("job         {name}: SL {sl} holds for this pair alone");
    } else if let Some(line) = job["reserved_line"].as_u64() {
        outln!("job         {name}: SL {sl}, which line {line} of the policy reserves for it");
    } else {
        outln!("job         {name}: SL {sl} for this pair; another pair may have another");
    }
}

fn print_policy(policy: &Value) {
    if policy.is_null() {
        outln!("policy      none");
        return;
    }
    for (role, key) in [
        ("source", "source_groups"),
        ("destination", "destination_groups"),
    ] {
        let groups: Vec<&str> = list(&policy[key]).map(text).collect();
        match groups.is_empty() {
            true => outln!("groups      {role} in none"),
            false => outln!("groups      {role} in {}", groups.join(", ")),
        }
    }
    let file = policy["file"].as_str().unwrap_or("line");
    for rule in list(&policy["earlier_rules"]) {
        let (line, why) = (&rule["line"], text(&rule["why"]));
        outln!(
            "rule        {file}:{line}: no, {why}{}",
            purpose(&rule["use"])
        );
    }
    let (level, gives) = (text(&policy["level"]), text(&policy["level_gives"]));
    match policy["rule_line"].as_u64() {
        Some(line) => {
            let purpose = purpose(&policy["rule_use"]);
            outln!("rule        {file}:{line}: yes, level {level} with {gives}{purpose}");
        }
        None => outln!("rule        none: default level {level} with {gives}"),
    }
    for rule in list(&policy["later_rules"]) {
        let (line, level) = (&rule["line"], text(&rule["level"]));
        outln!("rule        {file}:{line}: would hold too, level {level}, but comes later");
    }
}

/// What a rule is for, in its author's words.
fn purpose(words: &Value) -> String {
    let words = words.as_str();
    words.map_or_else(String::new, |words| format!(" ({words})"))
}

/// The step that fails, and which rules would have had their turn.
fn print_obstacle(obstacle: &Value, policy: &Value) {
    if obstacle.is_null() {
        return;
    }
    let (step, found) = (text(&obstacle["step"]), text(&obstacle["found"]));
    outln!("because     {step}: {found}");
    outln!("instead     {}", text(&obstacle["remedy"]));
    if list(&policy["later_rules"]).next().is_some() {
        outln!(
            "            the first rule that holds is final, even where its level is impossible"
        );
    }
}

fn print_engine(engine: &Value) {
    let name = text(&engine["name"]);
    if engine["sl"].is_null() {
        outln!("engine      {name}");
        return;
    }
    outln!(
        "engine      {name}, SL {}: bit 3 ({}) from the level or partition, bits 0-2 ({}) from the datelines between {} and {}",
        engine["sl"],
        engine["kept_bit"],
        engine["datelines"],
        text(&engine["from"]),
        text(&engine["to"])
    );
}

fn print_hops(hops: &Value) {
    if let Some(why) = hops["no_path"].as_str() {
        outln!("path        none: {why}");
        return;
    }
    for (number, hop) in (1..).zip(list(hops)) {
        outln!(
            "hop {number:<8}{} in {} out {}, SL {} on VL {}, MTU {}, {}",
            text(&hop["switch"]),
            hop["in"],
            hop["out"],
            hop["sl"],
            hop["vl"],
            hop["mtu_bytes"],
            text(&hop["rate"])
        );
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("-")
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
