//! XML, well formed by construction.

use std::fmt::{Display, Write};

/// A document as it grows.
#[derive(Debug, Default)]
pub(crate) struct Xml {
    text: String,
    open: Vec<&'static str>,
}

/// Name and value of an attribute.
pub(crate) type Attribute<'a> = (&'static str, &'a dyn Display);

impl Xml {
    /// Everything written, with all elements closed.
    pub(crate) fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.text
    }

    /// Verbatim.
    pub(crate) fn raw(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Begins an element that others go into.
    pub(crate) fn open(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        self.begin(name, attributes);
        self.text.push_str(">\n");
        self.open.push(name);
    }

    /// Ends the element that was begun last.
    pub(crate) fn close(&mut self) {
        if let Some(name) = self.open.pop() {
            let _ = writeln!(self.text, "</{name}>");
        }
    }

    /// An element without content.
    pub(crate) fn empty(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        self.begin(name, attributes);
        self.text.push_str("/>\n");
    }

    /// An element that explains itself to whoever points at it.
    pub(crate) fn titled(&mut self, name: &'static str, attributes: &[Attribute<'_>], title: &str) {
        self.begin(name, attributes);
        let _ = writeln!(self.text, "><title>{}</title></{name}>", escape(title));
    }

    /// An element of words.
    pub(crate) fn words(&mut self, name: &'static str, attributes: &[Attribute<'_>], words: &str) {
        self.begin(name, attributes);
        let _ = writeln!(self.text, ">{}</{name}>", escape(words));
    }

    fn begin(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        let _ = write!(self.text, "<{name}");
        for (key, value) in attributes {
            let _ = write!(self.text, " {key}=\"{}\"", escape(&value.to_string()));
        }
    }
}

/// Text as it stands in elements and attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}
