//! A daemon with the page, and a browser that looks at it.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Result, bail, ensure};
use sa_tests::http;
use sa_tests::ring::{self, CONFIG};
use sa_tests::skip;
use sa_tests::webdriver::{self, Browser};
use serde_json::Value;

pub(crate) const POLICY: &str = "qos-levels\n qos-level\n  name: DEFAULT\n  sl: 0\n  packet-life: 15\n end-qos-level\n qos-level\n  \
                      name: STORAGE\n  sl: 8\n  packet-life: 14\n end-qos-level\nend-qos-levels\nqos-match-rules\n \
                      qos-match-rule\n  use: class 7\n  qos-class: 7\n  qos-level-name: STORAGE\n end-qos-match-rule\n \
                      qos-match-rule\n  use: key of nobody\n  pkey: 0x0123\n  qos-level-name: STORAGE\n \
                      end-qos-match-rule\nend-qos-match-rules\n";

/// What orders have to bring, where [`with_token`] made the files.
pub(crate) const TOKEN: &str = "a+token&of/16=letters";

/// One at a time: each has a browser, which is many processes.
static ONE: Mutex<()> = Mutex::new(());

/// A daemon with the page, and a browser.
pub(crate) struct Bed {
    pub(crate) browser: Browser,
    pub(crate) ring: ring::Bed,
    address: SocketAddr,
    _turn: MutexGuard<'static, ()>,
}

/// None where there is no browser, which is said.
pub(crate) fn bed(change: impl FnOnce(&Path) -> Result<()>) -> Result<Option<Bed>> {
    bed_of(["3", "3", "3"], change)
}

/// The same on a torus with so many switches along each axis.
pub(crate) fn bed_of(
    radix: [&str; 3],
    change: impl FnOnce(&Path) -> Result<()>,
) -> Result<Option<Bed>> {
    if !webdriver::is_installed() {
        skip(
            "browser: chromium and chromedriver are not here (tests/packages); NOTHING WAS LOOKED AT",
        )?;
        return Ok(None);
    }
    let turn = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let more = "[policy]\nfile = \"policy.conf\"\nwatch = true\n[http]\nlisten = \"127.0.0.1:0\"\nui = true\n";
    let mut ring = ring::Bed::of(radix, &format!("{CONFIG}{more}"))?;
    fs::write(ring.dir().join("policy.conf"), POLICY)?;
    change(ring.dir())?;
    ring.serve()?;
    let address = http::address(&ring.printed()?)?;
    let browser = Browser::start()?;
    Ok(Some(Bed {
        browser,
        ring,
        address,
        _turn: turn,
    }))
}

/// Files as they are made.
pub(crate) fn as_made(_: &Path) -> Result<()> {
    Ok(())
}

/// Orders are taken from who has the token.
pub(crate) fn with_token(directory: &Path) -> Result<()> {
    let token = directory.join("token");
    fs::write(&token, format!("{TOKEN}\n"))?;
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600))?;
    let config = directory.join("sapphired.toml");
    let text = fs::read_to_string(&config)?;
    let more = "ui = true\ntoken_file = \"token\"\n";
    Ok(fs::write(config, text.replace("ui = true\n", more))?)
}

impl Bed {
    pub(crate) fn go(&self, path: &str) -> Result<()> {
        self.browser.go(&format!("http://{}{path}", self.address))
    }

    /// Nothing is wrong with the page that is shown, as far as a program can tell.
    pub(crate) fn judge(&self, page: &str) -> Result<()> {
        let axe = concat!(include_str!("axe/axe.min.js"), "\n", include_str!("axe.js"));
        let mut wrong = Vec::new();
        for script in [include_str!("judge.js"), axe] {
            match self.browser.run(script)? {
                Value::Array(said) => wrong.extend(said),
                other => bail!("{page}: a judge said {other}"),
            }
        }
        ensure!(wrong.is_empty(), "{page}: {:#}", Value::Array(wrong));
        Ok(())
    }

    /// The same in both widths and both colours, of what is shown.
    pub(crate) fn judge_all(&self, page: &str) -> Result<()> {
        for width in [1280, 360] {
            self.browser.resize(width, 900)?;
            for scheme in ["light", "dark"] {
                self.browser.prefer(scheme)?;
                self.judge(&format!("{page} at {width} in {scheme}"))?;
            }
        }
        Ok(())
    }

    /// Who has the focus: its words, or its id.
    pub(crate) fn focus(&self) -> Result<String> {
        let script = "const it = document.activeElement; return it.textContent.trim() || it.id;";
        Ok(self
            .browser
            .run(script)?
            .as_str()
            .unwrap_or_default()
            .to_owned())
    }

    /// Waits until the page shows these words.
    pub(crate) fn wait_words(&self, words: &str) -> Result<()> {
        let words = Value::String(words.to_owned());
        let shows = format!("return document.body.textContent.includes({words})");
        self.browser.wait(&words.to_string(), &shows)
    }

    /// Tries a policy by the form, and waits for its verdict.
    pub(crate) fn try_policy(&self, text: &str) -> Result<()> {
        self.go("/policy")?;
        let script = format!(
            "document.getElementById('policy').value = {}; document.querySelector('button').focus(); return true",
            Value::String(text.to_owned())
        );
        self.browser.run(&script)?;
        self.browser.press(ENTER)?;
        let told = "return !!document.getElementById('verdict')";
        self.browser.wait("the verdict", told)
    }

    /// Puts a policy into force that the daemon finds by itself, and waits for its epoch.
    pub(crate) fn set_policy(&self, text: &str, epoch: u64) -> Result<()> {
        self.go("/events")?;
        fs::write(self.ring.dir().join("policy.conf"), text)?;
        self.wait_words(&format!("epoch {epoch} is in force"))
    }

    /// Types these words where the focus is.
    pub(crate) fn types(&self, words: &str) -> Result<()> {
        words.chars().try_for_each(|key| self.browser.press(key))
    }

    /// What the console says, but that a page came with another status than 200: it is a page all the same.
    pub(crate) fn complaints(&self, page: &str, expected: &str) -> Result<()> {
        let complaints = self.browser.complaints()?;
        let told = complaints.iter().filter(|it| !it.contains(expected));
        let told: Vec<_> = told.collect();
        ensure!(told.is_empty(), "{page}: {told:#?}");
        Ok(())
    }
}

pub(crate) const TAB: char = '\u{e004}';
pub(crate) const ENTER: char = '\u{e007}';
