//! All that is printed: control and format characters are escaped here, so that no name or path
//! from a file moves the cursor, changes colours or reorders text on a terminal.

use std::borrow::Cow;
use std::io::{self, StdoutLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether standard output was closed when the program started.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Makes every write to standard output an error: it was closed when the program started, and the
/// standard library opened `/dev/null` instead.
pub fn standard_output_is_closed() {
    CLOSED.store(true, Ordering::Relaxed);
}

/// Standard output for bytes of any kind.
///
/// # Errors
/// When it was closed when the program started.
pub(super) fn raw_stdout() -> io::Result<StdoutLock<'static>> {
    match CLOSED.load(Ordering::Relaxed) {
        true => Err(io::Error::other("it is closed")),
        false => Ok(io::stdout().lock()),
    }
}

/// Standard output for lines of text.
///
/// # Errors
/// See [`raw_stdout`].
pub(super) fn stdout() -> io::Result<Escaping<StdoutLock<'static>>> {
    Ok(Escaping { to: raw_stdout()?, escape: |c| c.escape_debug().to_string() })
}

/// Prints text on standard error. Text that nobody reads, as behind `2>&1 | head -1`, is lost,
/// which is no error.
pub(super) fn print_error(lines: &str) {
    let escape = |c: char| c.escape_debug().to_string();
    let _ = Escaping { to: io::stderr(), escape }.write_all(lines.as_bytes());
}

/// Returns a line of text with its control and format characters escaped, line ends too.
pub(super) fn escaped(line: &str) -> Cow<'_, str> {
    match line.contains(is_hidden) {
        false => Cow::Borrowed(line),
        true => {
            let shown = |c: char| match is_hidden(c) {
                true => c.escape_debug().to_string(),
                false => c.to_string(),
            };
            Cow::Owned(line.chars().map(shown).collect())
        }
    }
}

/// A writer of text that escapes control and format characters except line ends.
pub(super) struct Escaping<W> {
    to: W,
    escape: fn(char) -> String,
}

impl<W: Write> Escaping<W> {
    /// A writer of JSON, where hidden characters occur in strings alone.
    pub(super) fn json(to: W) -> Self {
        let utf16 = |c: char| {
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
        };
        Escaping { to, escape: utf16 }
    }
}

impl<W: Write> Write for Escaping<W> {
    /// Every call has whole characters, as formatting does.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let mut rest = &*text;
        let hidden = |c: char| c != '\n' && is_hidden(c);
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| hidden(*c)) {
            self.to.write_all(&rest.as_bytes()[..at])?;
            self.to.write_all((self.escape)(c).as_bytes())?;
            rest = &rest[at + c.len_utf8()..];
        }
        self.to.write_all(rest.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Whether a character has an effect instead of a glyph: control characters (Cc), format
/// characters (Cf) and separators of lines and paragraphs (Zl, Zp) of Unicode 16.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
            | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0001}' | '\u{e0020}'..='\u{e007f}')
}

#[cfg(test)]
mod tests;
