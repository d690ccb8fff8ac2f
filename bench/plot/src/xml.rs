//! XML, well formed by construction: elements close in the order in which they were opened, and text is escaped
//! wherever it goes.
//!
//! For example
//!
//! ```text
//! xml.open("g", &[("fill", &"red")]);      <g fill="red">
//! xml.words("text", &[], "a < b");         <text>a &lt; b</text>
//! xml.close();                             </g>
//! ```
//!
//! Names of elements and attributes are constants of the program and are not checked.

use std::fmt::{Display, Write};

/// A document as it grows. Every element stands on a line of its own, so that two pictures can be
/// compared with `diff`.
///
/// `open` has the elements that are not closed yet, the innermost last.
#[derive(Debug, Default)]
pub struct Xml {
    text: String,
    open: Vec<&'static str>,
}

/// Name and value of an attribute. The value is escaped when it is written.
pub type Attribute<'a> = (&'static str, &'a dyn Display);

impl Xml {
    /// Closes all open elements and gives the document.
    pub fn finish(mut self) -> String {
        // Whoever forgets to close still gets a document that parses.
        while !self.open.is_empty() {
            self.close();
        }
        self.text
    }

    /// Adds text as it stands: a comment or a style sheet that is known to be well formed.
    pub fn raw(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Begins an element that others go into.
    pub fn open(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        self.begin(name, attributes);
        self.text.push_str(">\n");
        self.open.push(name);
    }

    /// Ends the element that was begun last.
    pub fn close(&mut self) {
        if let Some(name) = self.open.pop() {
            // Writing to a string does not fail.
            let _ = writeln!(self.text, "</{name}>");
        }
    }

    /// An element without content.
    pub fn empty(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        self.begin(name, attributes);
        self.text.push_str("/>\n");
    }

    /// An element that explains itself to whoever points at it.
    ///
    /// Browsers show the title at the pointer, screen readers read it.
    pub fn titled(&mut self, name: &'static str, attributes: &[Attribute<'_>], title: &str) {
        self.begin(name, attributes);
        let _ = writeln!(self.text, "><title>{}</title></{name}>", escape(title));
    }

    /// An element of words.
    pub fn words(&mut self, name: &'static str, attributes: &[Attribute<'_>], words: &str) {
        self.begin(name, attributes);
        let _ = writeln!(self.text, ">{}</{name}>", escape(words));
    }

    /// Up to the attributes; whoever calls ends the tag.
    fn begin(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        let _ = write!(self.text, "<{name}");
        for (key, value) in attributes {
            let _ = write!(self.text, " {key}=\"{}\"", escape(&value.to_string()));
        }
    }
}

/// Text as it stands in elements and attributes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            // All five of XML 1.0, section 4.6: quotes too, as the same text goes into attributes.
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
