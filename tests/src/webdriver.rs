//! A browser that a test looks through: headless Chromium by WebDriver, which is JSON over HTTP.
//!
//! ```text
//!  test ── POST /session/ID/.. ──> chromedriver ──> chromium --headless, with a profile of its own
//! ```
//!
//! Only what the tests need is here, so that no crate for it is built. Source: W3C, WebDriver; Chrome DevTools Protocol for sizes, colour
//! schemes and keys that the former has no word for.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use sa_rig::{Scratch, wait_for};
use serde_json::{Value, json};

/// For a browser to start, and for whatever it is asked.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one window; it ends when this goes.
#[derive(Debug)]
pub struct Browser {
    // In order of dropping: the processes go before their files.
    driver: Driver,
    session: String,
    _scratch: Scratch,
}

/// chromedriver.
#[derive(Debug)]
struct Driver {
    child: Child,
    port: u16,
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Both programs are here.
pub fn is_installed() -> bool {
    ["chromium", "chromedriver"].iter().all(|program| {
        let mut command = Command::new(program);
        let quiet = command
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        quiet.status().is_ok_and(|status| status.success())
    })
}

impl Browser {
    /// Starts one.
    pub fn start() -> Result<Self> {
        let scratch = Scratch::new()?;
        let driver = Driver::start(scratch.path())?;
        let profile = scratch.path().join("profile");
        let profile = format!("--user-data-dir={}", profile.display());
        let mut arguments = vec![profile.as_str()];
        arguments.extend([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
        ]);
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let made = driver.ask("POST", "/session", &wanted)?;
        let session = made["sessionId"].as_str().context("a session")?.to_owned();
        Ok(Self {
            driver,
            session,
            _scratch: scratch,
        })
    }

    fn ask(&self, method: &str, what: &str, body: &Value) -> Result<Value> {
        let path = format!("/session/{}/{what}", self.session);
        self.driver.ask(method, &path, body)
    }

    /// Goes to a page, and waits until it is there.
    pub fn go(&self, address: &str) -> Result<()> {
        self.ask("POST", "url", &json!({ "url": address }))
            .map(drop)
    }

    /// Runs a script in the page, which ends with `return`.
    pub fn run(&self, script: &str) -> Result<Value> {
        self.ask(
            "POST",
            "execute/sync",
            &json!({ "script": script, "args": [] }),
        )
    }

    /// Waits until a script says true.
    pub fn wait(&self, what: &str, script: &str) -> Result<()> {
        let waited = wait_for(what, PATIENCE, || {
            let said = self.run(script).map_err(std::io::Error::other)?;
            Ok(said == Value::Bool(true))
        });
        Ok(waited?)
    }

    /// A command of the DevTools protocol.
    pub fn devtools(&self, command: &str, parameters: &Value) -> Result<Value> {
        let body = json!({ "cmd": command, "params": parameters });
        self.ask("POST", "goog/cdp/execute", &body)
    }

    /// Gives the page so much room. Units: pixels.
    pub fn resize(&self, width: u32, height: u32) -> Result<()> {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", &size)
            .map(drop)
    }

    /// `light` or `dark`.
    pub fn prefer(&self, scheme: &str) -> Result<()> {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.devtools(
            "Emulation.setEmulatedMedia",
            &json!({ "features": [feature] }),
        )
        .map(drop)
    }

    /// Presses a key: a letter, or one of the private code points that WebDriver gives keys.
    pub fn press(&self, key: char) -> Result<()> {
        let keys = [("keyDown", key), ("keyUp", key)];
        let keys = keys.map(|(what, key)| json!({ "type": what, "value": key.to_string() }));
        let actions = json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": keys }] });
        self.ask("POST", "actions", &actions).map(drop)
    }

    /// What the console of the browser has said since the last call, but for what is of no matter.
    pub fn complaints(&self) -> Result<Vec<String>> {
        let log = self.ask("POST", "se/log", &json!({ "type": "browser" }))?;
        let entries = log.as_array().context("a log")?;
        let bad = entries
            .iter()
            .filter(|it| matches!(it["level"].as_str(), Some("SEVERE" | "WARNING")));
        Ok(bad
            .map(|it| it["message"].as_str().unwrap_or_default().to_owned())
            .collect())
    }

    /// What the window shows, as a PNG file.
    pub fn picture(&self, file: &Path) -> Result<()> {
        let text = self.ask("GET", "screenshot", &Value::Null)?;
        let text = text.as_str().context("a picture")?;
        fs::write(file, decoded(text)?).with_context(|| file.display().to_string())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser ends with its session; the driver with this.
        let _ = self.driver.ask(
            "DELETE",
            &format!("/session/{}", self.session),
            &Value::Null,
        );
    }
}

impl Driver {
    /// On a port that was free; it says which.
    fn start(directory: &Path) -> Result<Self> {
        let mut command = Command::new("chromedriver");
        command
            .arg("--port=0")
            .current_dir(directory)
            .stdin(Stdio::null());
        command
            .stderr(File::create(directory.join("driver"))?)
            .stdout(Stdio::piped());
        // Caches and settings of whoever runs the tests are left alone.
        command
            .env("HOME", directory)
            .env("XDG_CONFIG_HOME", directory)
            .env("XDG_CACHE_HOME", directory);
        let mut child = command.spawn()?;
        let mut lines = BufReader::new(child.stdout.take().context("its output")?);
        let mut driver = Self { child, port: 0 };
        let mut line = String::new();
        while lines.read_line(&mut line)? > 0 {
            let said = line.split("started successfully on port ").nth(1);
            if let Some(port) = said.and_then(|rest| rest.trim().trim_end_matches('.').parse().ok())
            {
                driver.port = port;
                return Ok(driver);
            }
            line.clear();
        }
        bail!("chromedriver did not start")
    }

    /// One request. Errors: what the driver says, with the command.
    fn ask(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let reply: Value = serde_json::from_slice(&body_of(&mut BufReader::new(stream))?)?;
        let value = &reply["value"];
        ensure!(value["error"].is_null(), "{method} {path} {body}: {value}");
        Ok(value.clone())
    }
}

/// The body of a reply, by its length.
fn body_of(stream: &mut impl BufRead) -> Result<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        ensure!(stream.read_line(&mut line)? > 0, "a reply without end");
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse()?;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(body)
}

/// Base64. Errors: a letter that is none of it.
fn decoded(text: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0);
    for letter in text.bytes().filter(|letter| *letter != b'=') {
        let six = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            other => bail!("{other} is no letter of base64"),
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 0xff)?);
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(decoded(text).unwrap(), bytes.as_bytes());
        }
        assert!(decoded("Zm9*").is_err());
    }
}
