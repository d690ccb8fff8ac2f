//! Why a pair of ports gets the PathRecord it gets: a form, and the account of the snapshot in
//! force.
//!
//! The account is the compiler's, the same that `sapphire explain` prints. The form goes by GET, so
//! that an answer has an address.

use maud::{Markup, html};
use sa_compiler::account::{Account, End, Engine, Hops, Record, Rules};

use crate::shell::{Here, Shell};
use crate::words::{escaped, name_of};

/// What is in the fields, as it was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Question {
    /// A name, GUID or LID; empty before anything is asked.
    pub source: String,
    /// Likewise.
    pub destination: String,
    /// Each may be empty.
    pub service_id: String,
    /// Likewise.
    pub pkey: String,
    /// Likewise.
    pub qos_class: String,
    /// Likewise.
    pub tclass: String,
    /// Likewise.
    pub sl: String,
}

/// What came of it.
#[derive(Debug)]
pub enum Answer {
    /// Nothing was asked yet.
    None,
    /// It cannot be asked like that, or of nothing: why.
    Wrong(String),
    /// The account of a snapshot.
    Account {
        /// Of the snapshot.
        epoch: u64,
        /// Its account.
        account: Box<Account>,
    },
}

/// Names of the fields in an address, with their labels and what stands in them as an example.
const OPTIONAL: [(&str, &str, &str); 5] = [
    ("service_id", "Service id", "0x0000000001060fb3"),
    ("pkey", "P_Key", "0x7fff"),
    ("qos_class", "QoS class", "0 to 4095"),
    ("tclass", "Traffic class", "0 to 255"),
    ("sl", "SL", "0 to 15"),
];

/// The page.
pub fn page(shell: Shell<'_>, question: &Question, answer: &Answer) -> String {
    let main = html! {
        h1 { "Path" }
        p class="lead" { "What the SA answers for a pair of ports, from the snapshot in force, and why." }
        (form(question))
        @match answer {
            Answer::None => {},
            Answer::Wrong(why) => p class="note error" role="alert" { (name_of(why)) },
            Answer::Account { epoch, account } => (told(*epoch, account)),
        }
    };
    shell.document(Here::Path, "Path", &main)
}

impl Question {
    /// The value of an optional field.
    fn value(&self, name: &str) -> &str {
        match name {
            "service_id" => &self.service_id,
            "pkey" => &self.pkey,
            "qos_class" => &self.qos_class,
            "tclass" => &self.tclass,
            _ => &self.sl,
        }
    }
}

fn form(question: &Question) -> Markup {
    let ends = [
        ("src", "Source", &question.source),
        ("dst", "Destination", &question.destination),
    ];
    html! {
        form action="/path" method="get" class="form" {
            @for (name, label, value) in ends {
                p {
                    label for=(name) { (label) }
                    input type="text" id=(name) name=(name) value=(value) required maxlength="200" autocomplete="off" spellcheck="false"
                        placeholder="name, NAME:PORT, GUID or LID";
                }
            }
            fieldset {
                legend { "What the request names besides" }
                @for (name, label, example) in OPTIONAL {
                    p {
                        label for=(name) { (label) }
                        input type="text" id=(name) name=(name) value=(question.value(name)) maxlength="20" autocomplete="off"
                            placeholder=(example);
                    }
                }
            }
            p { button type="submit" { "Ask" } }
        }
    }
}

/// The answer first, then its reasons in their order.
fn told(epoch: u64, account: &Account) -> Markup {
    html! {
        section aria-labelledby="answer" {
            h2 id="answer" { "Answer" }
            @match &account.record {
                Some(record) => (self::record(record)),
                None => (refused(account)),
            }
            p class="small" { "Epoch " (epoch) ", status " (account.status) "." }
        }
        h2 { "Ends" }
        (ends(account))
        h2 { "Rules" }
        @match &account.policy {
            Some(rules) => (self::rules(rules)),
            None => p { "There is no policy in force." },
        }
        h2 { "Hops" }
        (hops(&account.hops))
        (engine(&account.engine))
    }
}

fn record(record: &Record) -> Markup {
    let flow = format!(
        "0x{:05x}, hop limit {}",
        record.flow_label, record.hop_limit
    );
    let facts = [
        ("DLID", record.dlid.to_string()),
        ("SL", record.sl.to_string()),
        ("P_Key", record.pkey.clone()),
        (
            "MTU",
            record
                .mtu_bytes
                .map_or_else(|| "–".to_owned(), |mtu| mtu.to_string()),
        ),
        (
            "Rate",
            record.rate.clone().unwrap_or_else(|| "–".to_owned()),
        ),
        ("Packet life time", record.packet_life.to_string()),
        ("QoS class", record.qos_class.to_string()),
        ("Traffic class", record.tclass.to_string()),
        (
            "Reversible",
            if record.reversible { "yes" } else { "no" }.to_owned(),
        ),
        (
            "Flow label",
            if record.flow_label == 0 {
                "none".to_owned()
            } else {
                flow
            },
        ),
    ];
    html! {
        dl class="facts answer" { @for (name, value) in facts { div { dt { (name) } dd { (value) } } } }
    }
}

/// Why there is no record, and what would have passed.
fn refused(account: &Account) -> Markup {
    html! {
        p class="note warning" { strong { "No record." } " Status " (account.status) "." }
        @if let Some(obstacle) = &account.no_record {
            dl {
                dt { "Because of" } dd { (obstacle.step) ": " (name_of(&obstacle.found)) }
                dt { "Remedy" } dd { (name_of(&obstacle.remedy)) }
            }
        } @else {
            p { "Nothing stands in the way of a path without further wishes: what the request names besides is what it cannot have." }
        }
    }
}

fn ends(account: &Account) -> Markup {
    let rows: [(&str, &End); 2] = [
        ("Source", &account.source),
        ("Destination", &account.destination),
    ];
    html! {
        div class="wide" role="region" aria-label="Ends" tabindex="0" {
            table {
                thead { tr { th scope="col" { "End" } th scope="col" { "Name" } th scope="col" { "LID" } th scope="col" { "Port GUID" } th scope="col" { "P_Keys" } th scope="col" { "Place" } } }
                tbody {
                    @for (role, end) in rows {
                        tr {
                            th scope="row" { (role) }
                            td { (end.name.as_deref().map_or_else(|| "–".to_owned(), name_of)) }
                            td { (end.lid) }
                            td { code { (end.guid) } }
                            td { (end.pkeys.join(", ")) }
                            td { (end.torus.as_deref().unwrap_or("–")) }
                        }
                    }
                }
            }
        }
        @if let Some(service) = &account.service { p { "Service id " code { (service.service_id) } ": " (service.what) "." } }
    }
}

/// Rules that did not hold, the one that did, those that come too late: the order of the file.
fn rules(rules: &Rules) -> Markup {
    let file = rules.file.as_deref().unwrap_or("line");
    let level = |level: &str| format!("level {level}");
    html! {
        p {
            "Groups of the source: " (list(&rules.source_groups)) ". Groups of the destination: " (list(&rules.destination_groups)) "."
        }
        div class="wide" role="region" aria-label="Rules" tabindex="0" {
            table {
                caption { "The first rule that holds is final" }
                thead { tr { th scope="col" { "Rule" } th scope="col" { "Holds" } th scope="col" { "Why" } } }
                tbody {
                    @for rule in &rules.earlier_rules {
                        tr { th scope="row" { code { (name_of(file)) ":" (rule.line) } } td { "no" } td { (purpose(rule.r#use.as_ref())) (name_of(&rule.why)) } }
                    }
                    tr class="chosen" {
                        @match rules.rule_line {
                            Some(line) => th scope="row" { code { (name_of(file)) ":" (line) } },
                            None => th scope="row" { "no rule" },
                        }
                        td { strong { (if rules.rule_line.is_some() { "yes" } else { "default" }) } }
                        td { (purpose(rules.rule_use.as_ref())) (name_of(&level(&rules.level))) @if let Some(line) = rules.level_line { " (" code { (name_of(file)) ":" (line) } ")" } ": " (rules.level_gives) }
                    }
                    @for rule in &rules.later_rules {
                        tr { th scope="row" { code { (name_of(file)) ":" (rule.line) } } td { "too late" } td { (name_of(&level(&rule.level))) } }
                    }
                }
            }
        }
    }
}

/// What a rule is for, in its author's words, before the rest.
fn purpose(words: Option<&String>) -> String {
    words.map_or_else(String::new, |words| format!("{} – ", name_of(words)))
}

fn list(names: &[String]) -> String {
    let names: Vec<_> = names.iter().map(|name| name_of(name)).collect();
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    }
}

/// The way packets take; where the tables end, why.
fn hops(hops: &Hops) -> Markup {
    let way = match hops {
        Hops::Way(way) => way,
        Hops::None { no_path } => return html! { p class="note warning" { (name_of(no_path)) } },
    };
    html! {
        div class="wide" role="region" aria-label="Hops" tabindex="0" {
            table class="numbers" {
                thead { tr { @for head in ["Hop", "Switch", "In", "Out", "SL", "VL", "MTU", "Rate"] { th scope="col" { (head) } } } }
                tbody {
                    @for (nth, hop) in (1..).zip(way) {
                        tr {
                            th scope="row" { (nth) }
                            td { @match hop.guid {
                                Some(guid) => a href={ "/switch?name=" (escaped(&guid.to_string())) } { (name_of(&hop.switch)) },
                                None => (name_of(&hop.switch)),
                            } }
                            td { (hop.r#in) } td { (hop.out) } td { (hop.sl) }
                            td { @match hop.vl { Some(vl) => (vl), None => "–" } }
                            td { @match hop.mtu_bytes { Some(mtu) => (mtu), None => "–" } }
                            td { (hop.rate.as_deref().unwrap_or("–")) }
                        }
                    }
                }
            }
        }
    }
}

/// The part that the engine has in the SL, where it has one.
fn engine(engine: &Engine) -> Markup {
    html! {
        p {
            "Routes by " (engine.name)
            @if let Some(chosen) = &engine.chosen {
                ": SL " (chosen.sl) " is bit 3 (" (chosen.kept_bit) ") from the level or partition and bits 0 to 2 ("
                (chosen.datelines) ") from the datelines between " (chosen.from.as_deref().unwrap_or("–")) " and "
                (chosen.to.as_deref().unwrap_or("–"))
            }
            "."
        }
    }
}
