//! A browser without a window, driven by the DevTools protocol over two pipes.

use base64::Engine;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A page in a browser of its own.
pub(crate) struct Browser {
    child: Child,
    commands: File,
    answers: BufReader<File>,
    session: String,
    sent: u64,
    /// Errors and warnings of the page, and addresses asked for.
    complaints: Vec<String>,
    _profile: TempDir,
}

impl Browser {
    /// Opens a file in a window so many pixels wide.
    pub(crate) fn open(file: &Path, width: u32) -> Browser {
        let profile = tempfile::tempdir().unwrap();
        let pipes = ["commands", "answers"].map(|name| profile.path().join(name));
        assert!(Command::new("mkfifo").args(&pipes).status().unwrap().success());
        let name = NAMES.iter().find(|name| {
            let mut asked = Command::new(name);
            asked.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
            asked.status().is_ok_and(|status| status.success())
        });
        // The browser reads commands from descriptor 3 and answers on 4.
        let script = "exec \"$0\" --headless --no-sandbox --disable-gpu --remote-debugging-pipe \
                      --user-data-dir=\"$1/profile\" 3<\"$1/commands\" 4>\"$1/answers\"";
        let child = Command::new("sh")
            .args(["-c", script, name.expect("a browser on PATH")])
            .arg(profile.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let commands = File::options().write(true).open(&pipes[0]).unwrap();
        let answers = BufReader::new(File::open(&pipes[1]).unwrap());
        let mut browser = Browser {
            child,
            commands,
            answers,
            session: String::new(),
            sent: 0,
            complaints: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let to = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", to)["sessionId"].clone();
        browser.session = session.as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        let size =
            json!({ "width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": false });
        browser.call("Emulation.setDeviceMetricsOverride", size);
        browser.call("Page.navigate", json!({ "url": format!("file://{}", file.display()) }));
        browser
    }

    /// Sends a command and gives its result; what the page says meanwhile is kept.
    fn call(&mut self, method: &str, params: Value) -> Value {
        self.sent += 1;
        let mut message = json!({ "id": self.sent, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.commands.write_all(message.to_string().as_bytes()).unwrap();
        self.commands.write_all(&[0]).unwrap();
        loop {
            let mut bytes = Vec::new();
            self.answers.read_until(0, &mut bytes).unwrap();
            bytes.pop();
            let answer: Value = serde_json::from_slice(&bytes).expect("the browser has ended");
            if answer["id"] == json!(self.sent) {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.listen(&answer);
        }
    }

    fn listen(&mut self, event: &Value) {
        let params = &event["params"];
        let complaint = match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => Some(params["exceptionDetails"].to_string()),
            "Runtime.consoleAPICalled" => Some(params["args"].to_string()),
            "Log.entryAdded" => Some(params["entry"]["text"].to_string()),
            "Network.requestWillBeSent" => {
                let url = params["request"]["url"].as_str().unwrap_or_default();
                let own = url.starts_with("file:") || url.starts_with("data:");
                (!own).then(|| format!("asked for {url}"))
            }
            _ => None,
        };
        self.complaints.extend(complaint);
    }

    fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "returnByValue": true });
        let result = self.call("Runtime.evaluate", params);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Returns `property` of the first element that fits `selector`, once there is one.
    pub(crate) fn text(&mut self, selector: &str, property: &str) -> String {
        let begun = Instant::now();
        let found = format!("document.querySelector({selector:?})?.{property} ?? null");
        loop {
            match self.evaluate(&found) {
                Value::String(text) => return text,
                _ if begun.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(50)),
                other => panic!("{selector}: {other}, {:?}", self.complaints),
            }
        }
    }

    pub(crate) fn number(&mut self, expression: &str) -> f64 {
        self.evaluate(expression).as_f64().unwrap_or_else(|| panic!("{expression}: no number"))
    }

    pub(crate) fn focus(&mut self, selector: &str) {
        self.evaluate(&format!("document.querySelector({selector:?}).focus()"));
    }

    /// Presses and releases a key as a keyboard does.
    pub(crate) fn press(&mut self, key: &str, code: u32) {
        for kind in ["rawKeyDown", "keyUp"] {
            let event =
                json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Where the middle of an element is, once it is in view.
    fn middle(&mut self, selector: &str) -> (Value, Value) {
        let place = format!(
            "(() => {{ const e = document.querySelector({selector:?}); e.scrollIntoView({{ block: \
             'center' }}); \
             const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; \
             }})()"
        );
        let place = self.evaluate(&place);
        (place[0].clone(), place[1].clone())
    }

    /// Moves the pointer over the middle of an element.
    pub(crate) fn point_at(&mut self, selector: &str) {
        let (x, y) = self.middle(selector);
        self.call("Input.dispatchMouseEvent", json!({ "type": "mouseMoved", "x": x, "y": y }));
    }

    pub(crate) fn click(&mut self, selector: &str) {
        let (x, y) = self.middle(selector);
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// A PNG of what is in view.
    pub(crate) fn screenshot(&mut self) -> Vec<u8> {
        let shot = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        let data = shot["data"].as_str().unwrap();
        base64::engine::general_purpose::STANDARD.decode(data).unwrap()
    }

    /// Errors, warnings and requests so far.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        self.evaluate("0"); // what was said before it has come
        std::mem::take(&mut self.complaints)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
