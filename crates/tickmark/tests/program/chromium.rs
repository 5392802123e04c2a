//! Chromium without network, driven over its pipe: JSON messages that end with a zero byte (the Chrome DevTools Protocol,
//! chromedevtools.github.io/devtools-protocol; `--remote-debugging-pipe` reads them from descriptor 3 and writes them to 4).

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const PROGRAM: &str = "/usr/bin/chromium";
/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(60);

/// A browser that has no network, and what its pages complained of or asked for.
pub(crate) struct Chromium {
    program: Child,
    requests: ChildStdin,
    messages: Receiver<Value>,
    /// The page that is looked at.
    session: Option<String>,
    last_id: u64,
    complaints: Vec<String>,
    _profile: tempfile::TempDir,
}

impl Chromium {
    pub(crate) fn start() -> Self {
        assert!(Path::new(PROGRAM).exists(), "{PROGRAM} is missing; `cargo xtask test` installs it");
        let profile = tempfile::tempdir().unwrap();
        let mut chromium = Command::new("sh");
        chromium.args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null"#, PROGRAM]);
        chromium.args(["--headless", "--no-sandbox", "--remote-debugging-pipe", "--window-size=1200,900"]);
        chromium.args(["--disable-quic", "--disable-background-networking", "--disable-component-update"]);
        chromium.args(["--disable-sync", "--no-first-run", "--disable-gpu"]);
        chromium.arg(format!("--user-data-dir={}", profile.path().display()));
        chromium.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut program = chromium.spawn().unwrap();
        let requests = program.stdin.take().unwrap();
        let answers = BufReader::new(program.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in answers.split(0).map_while(Result::ok) {
                if sender.send(serde_json::from_slice(&message).unwrap()).is_err() {
                    break;
                }
            }
        });
        let (session, last_id, complaints) = (None, 0, Vec::new());
        Self { program, requests, messages, session, last_id, complaints, _profile: profile }
    }

    /// Opens a file in a page of its own, and waits until it is loaded.
    pub(crate) fn open(&mut self, page: &Path) {
        self.session = None;
        let target = self.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = self.call("Target.attachToTarget", &attach);
        self.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Log", "Runtime", "Network", "Page"] {
            self.call(&format!("{domain}.enable"), &json!({}));
        }
        self.call("Page.navigate", &json!({ "url": format!("file://{}", page.display()) }));
        while self.next_message()["method"] != "Page.loadEventFired" {}
    }

    /// Calls a method of the protocol; its result.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        self.last_id += 1;
        let mut request = json!({ "id": self.last_id, "method": method, "params": params });
        if let Some(session) = &self.session {
            request["sessionId"] = session.as_str().into();
        }
        self.requests.write_all(format!("{request}\0").as_bytes()).unwrap();
        loop {
            let mut message = self.next_message();
            if message["id"] == self.last_id {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].take();
            }
        }
    }

    /// The next answer or event; complaints are kept.
    fn next_message(&mut self) -> Value {
        let message = self.messages.recv_timeout(LIMIT);
        let message = message.unwrap_or_else(|error| panic!("{PROGRAM} has no answer: {error}"));
        let (kind, params) = (message["method"].as_str().unwrap_or_default(), &message["params"]);
        let is_foreign = || !params["request"]["url"].as_str().is_some_and(|url| url.starts_with("file:"));
        let complains = match kind {
            "Log.entryAdded" | "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" => true,
            "Network.requestWillBeSent" => is_foreign(),
            _ => false,
        };
        if complains {
            self.complaints.push(format!("{kind}: {params}"));
        }
        message
    }

    /// What all pages complained of or asked for until now.
    pub(crate) fn complaints(&mut self) -> &[String] {
        // Events of before come before this answer.
        self.evaluate("1");
        &self.complaints
    }

    /// Value of a JavaScript expression in the page.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        // Through text, so that objects come whole.
        let given =
            self.call("Runtime.evaluate", &json!({ "expression": format!("JSON.stringify({expression})") }));
        assert!(given["exceptionDetails"].is_null(), "{expression}: {given}");
        serde_json::from_str(given["result"]["value"].as_str().unwrap_or("null")).unwrap()
    }

    /// Types into what has the focus.
    pub(crate) fn insert_text(&mut self, text: &str) {
        self.call("Input.insertText", &json!({ "text": text }));
    }

    pub(crate) fn press_enter(&mut self) {
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { "\r" } else { "" };
            let key = json!({ "type": kind, "key": "Enter", "code": "Enter", "text": text, "windowsVirtualKeyCode": 13 });
            self.call("Input.dispatchKeyEvent", &key);
        }
    }

    /// The page looks as on a screen of this size in pixels.
    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": true });
        self.call("Emulation.setDeviceMetricsOverride", &size);
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}
