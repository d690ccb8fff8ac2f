//! What all documents have: head, navigation, the state in one line.
//!
//! ```text
//!  Sapphire   Overview Fabric Path Policy Snapshots Fleet Events   ready, epoch 7
//!  ──────────────────────────────────────────────────────────────────────────────
//!  main
//! ```
//!
//! Headings begin at the page's own `h1`; the name of the program is none, as it is the same
//! everywhere.

use maud::{DOCTYPE, Markup, html};

/// A page of the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Here {
    /// What the daemon is at.
    Overview,
    /// The picture, or a switch of it.
    Fabric,
    /// What a pair of ports is answered.
    Path,
    /// A policy that is tried.
    Policy,
    /// What is and was in force.
    Snapshots,
    /// The part of this host in its fleet; only where it is of one.
    Fleet,
    /// What happened.
    Events,
}

impl Here {
    /// In the order of the navigation.
    const ALL: [Self; 7] = [
        Self::Overview,
        Self::Fabric,
        Self::Path,
        Self::Policy,
        Self::Snapshots,
        Self::Fleet,
        Self::Events,
    ];

    /// Its address and its name.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Overview => ("/", "Overview"),
            Self::Fabric => ("/fabric", "Fabric"),
            Self::Path => ("/path", "Path"),
            Self::Policy => ("/policy", "Policy"),
            Self::Snapshots => ("/snapshots", "Snapshots"),
            Self::Fleet => ("/fleet", "Fleet"),
            Self::Events => ("/events", "Events"),
        }
    }
}

/// What stands in the head of every page.
#[derive(Debug, Clone, Copy)]
pub struct Shell<'a> {
    /// Why the daemon should be asked nothing now; none: it is ready.
    pub not_ready: Option<&'a str>,
    /// Of the snapshot in force; none before the first.
    pub epoch: Option<u64>,
    /// This host is of a fleet.
    pub has_fleet: bool,
}

impl Shell<'_> {
    /// A whole document. `title` is for the browser; `main` has the heading of the page.
    pub(crate) fn document(&self, here: Here, title: &str, main: &Markup) -> String {
        let document = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (title) " – Sapphire" }
                    link rel="icon" href="/page.svg" type="image/svg+xml";
                    link rel="stylesheet" href="/page.css";
                    script src="/page.js" defer {}
                }
                body data-epoch=[self.epoch] {
                    a class="skip" href="#main" { "Skip to content" }
                    (self.bar(here))
                    p id="news" class="news" role="status" hidden { span {} " " a href="" { "Show it" } }
                    main id="main" tabindex="-1" { (main) }
                }
            }
        };
        document.into_string()
    }

    /// Navigation and state.
    fn bar(&self, here: Here) -> Markup {
        let is_there = |page: &Here| *page != Here::Fleet || self.has_fleet;
        html! {
            header {
                span class="brand" { "Sapphire" }
                nav aria-label="Pages" {
                    ul {
                        @for page in Here::ALL.into_iter().filter(is_there) {
                            @let (address, name) = page.words();
                            li { a href=(address) aria-current=[(page == here).then_some("page")] { (name) } }
                        }
                    }
                }
                p class="state" {
                    @match self.not_ready {
                        None => span id="state" class="badge good" { "ready" },
                        Some(_) => span id="state" class="badge bad" { "not ready" },
                    }
                    " epoch " span id="epoch" { @match self.epoch { Some(epoch) => (epoch), None => "–" } }
                }
            }
        }
    }
}

/// A page that has nothing to show, and says why.
pub fn message(shell: Shell<'_>, here: Here, title: &str, words: &str) -> String {
    let main = html! {
        h1 { (title) }
        p { (words) }
    };
    shell.document(here, title, &main)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_what_browsers_and_readers_need() {
        let shell = Shell {
            not_ready: Some("no"),
            epoch: None,
            has_fleet: false,
        };
        let text = message(shell, Here::Path, "Path", "a <b> & \"c\"");
        assert_eq!(
            text,
            concat!(
                "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" ",
                "content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\">",
                "<title>Path – Sapphire</title><link rel=\"icon\" href=\"/page.svg\" type=\"image/svg+xml\">",
                "<link rel=\"stylesheet\" href=\"/page.css\"><script src=\"/page.js\" defer></script></head>",
                "<body><a class=\"skip\" href=\"#main\">Skip to content</a><header><span class=\"brand\">Sapphire</span>",
                "<nav aria-label=\"Pages\"><ul><li><a href=\"/\">Overview</a></li><li><a href=\"/fabric\">Fabric</a></li>",
                "<li><a href=\"/path\" aria-current=\"page\">Path</a></li><li><a href=\"/policy\">Policy</a></li><li><a href=\"/snapshots\">Snapshots</a></li>",
                "<li><a href=\"/events\">Events</a></li></ul></nav><p class=\"state\">",
                "<span id=\"state\" class=\"badge bad\">not ready</span> epoch <span id=\"epoch\">–</span></p></header>",
                "<p id=\"news\" class=\"news\" role=\"status\" hidden><span></span> <a href=\"\">Show it</a></p>",
                "<main id=\"main\" tabindex=\"-1\"><h1>Path</h1><p>a &lt;b&gt; &amp; &quot;c&quot;</p></main></body></html>",
            )
        );
    }
}
