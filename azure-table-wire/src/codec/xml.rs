//! XML, in which the service describes itself: its properties, its statistics, access policies, keys, and the errors of
//! requests that never reached the tables.
//!
//! Defines [`Element`], a small tree without attributes, and its conversion from and to text. The callers know what
//! the elements mean.
//!
//! quick-xml reads the text, within limits. Document types, and with them custom entities, are rejected, as are trees
//! that are too deep or have too many elements. A byte order mark at the start, which live responses have, is skipped.
//!
//! Source: recorded responses; Extensible Markup Language 1.0.

use bytes::Bytes;
use quick_xml::Reader;
use quick_xml::escape::{partial_escape, resolve_predefined_entity};
use quick_xml::events::Event;

use crate::error::ValueError;
use crate::value::datetime::{self, DateTime};

/// The maximum depth of nested elements. The service's own documents have five levels.
const MAX_DEPTH: usize = 16;
/// The maximum number of elements in a document. The service's own have a few hundred at most.
const MAX_ELEMENTS: usize = 4_096;

/// The start of live responses.
pub const BYTE_ORDER_MARK: &str = "\u{feff}";
const DECLARATION: &str = r#"<?xml version="1.0" encoding="utf-8"?>"#;

/// An element with text, or with child elements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// The name, without a prefix.
    name: String,
    text: String,
    children: Vec<Element>,
}

impl Element {
    /// Creates an empty element.
    pub fn new(name: &str) -> Self {
        Self::of_text(name, "")
    }

    /// Creates an element with text.
    pub fn of_text(name: &str, text: impl ToString) -> Self {
        Self {
            name: name.to_owned(),
            text: text.to_string(),
            children: Vec::new(),
        }
    }

    /// Adds child elements.
    pub fn with(mut self, children: impl IntoIterator<Item = Self>) -> Self {
        self.children.extend(children);
        self
    }

    /// Returns the text, unchanged. Text between child elements is not kept.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the first child element of this name.
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// Returns the child elements of this name.
    pub fn children<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// Returns the trimmed text of the child of this name. Returns `None` without a child, or if it is empty.
    pub fn value(&self, name: &str) -> Option<&str> {
        let text = self.child(name)?.text().trim();
        Some(text).filter(|text| !text.is_empty())
    }

    /// Returns the time of the child of this name.
    pub fn moment(&self, name: &str) -> Result<DateTime, ValueError> {
        let text = self.value(name).unwrap_or_default();
        datetime::of_service(text).map_err(|_| ValueError::new(format!("{name} is {text:?}, not a time")))
    }

    /// Returns the boolean of the child of this name, or `false` without a child. Ignores case: an SDK writes `False`.
    pub fn flag(&self, name: &str) -> Result<bool, ValueError> {
        match self.child(name).map(|child| child.text().trim()) {
            None => Ok(false),
            Some(text) if text.eq_ignore_ascii_case("true") => Ok(true),
            Some(text) if text.eq_ignore_ascii_case("false") => Ok(false),
            Some(text) => Err(ValueError::new(format!("{name} is {text:?}, not true or false"))),
        }
    }

    /// Returns the whole number of the child of this name.
    pub fn number(&self, name: &str) -> Result<Option<u32>, ValueError> {
        let Some(child) = self.child(name) else { return Ok(None) };
        let text = child.text().trim();
        let number = text.parse().map(Some);
        number.map_err(|_| ValueError::new(format!("{name} is {text:?}, not a whole number")))
    }

    /// Parses a document whose root has this name. `what` is the document, for the error.
    pub fn read_root(document: &[u8], name: &str, what: &str) -> Result<Self, ValueError> {
        let root = Self::read(document).filter(|root| root.name == name);
        root.ok_or_else(|| ValueError::new(format!("not a document {what}")))
    }

    /// Parses a document. Returns its root, or `None` if the document is malformed or exceeds a limit.
    pub fn read(document: &[u8]) -> Option<Self> {
        let mut reader = Reader::from_str(std::str::from_utf8(document).ok()?.trim_start_matches('\u{feff}'));
        reader.config_mut().expand_empty_elements = true;
        // The open elements, outermost first. The first one collects the root.
        let mut open = vec![Self::default()];
        let mut elements = 0;
        loop {
            match reader.read_event().ok()? {
                Event::Start(start) => {
                    elements += 1;
                    if open.len() > MAX_DEPTH || elements > MAX_ELEMENTS {
                        return None;
                    }
                    open.push(Self::new(start.local_name().as_ref()));
                }
                Event::End(_) => {
                    let mut closed = open.pop()?;
                    if !closed.children.is_empty() {
                        closed.text.clear();
                    }
                    open.last_mut()?.children.push(closed);
                }
                Event::Text(text) => open.last_mut()?.text.push_str(&text.xml10_content()),
                Event::CData(data) => open.last_mut()?.text.push_str(&data.xml10_content()),
                Event::GeneralRef(reference) => {
                    let text = &mut open.last_mut()?.text;
                    match reference.resolve_char_ref().ok()? {
                        Some(character) => text.push(character),
                        None => text.push_str(resolve_predefined_entity(&reference)?),
                    }
                }
                Event::DocType(_) => return None,
                Event::Eof => break,
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::Empty(_) => {}
            }
        }
        let mut outside = open.pop()?;
        let root = outside.children.pop()?;
        let is_alone = open.is_empty() && outside.children.is_empty() && outside.text.trim().is_empty();
        is_alone.then_some(root)
    }

    /// Returns the document with this root.
    pub fn write(&self) -> Bytes {
        let mut out = DECLARATION.to_owned();
        self.append_to(&mut out);
        out.into()
    }

    fn append_to(&self, out: &mut String) {
        let name = &self.name;
        if self.children.is_empty() && self.text.is_empty() {
            out.push_str(&format!("<{name} />"));
            return;
        }
        out.push_str(&format!("<{name}>"));
        out.push_str(&partial_escape(self.text.as_str()));
        for child in &self.children {
            child.append_to(out);
        }
        out.push_str(&format!("</{name}>"));
    }
}

/// Returns the code and the message of an error in either of its forms:
/// `<Error><Code>…</Code><Message>…</Message></Error>`, or the same below `m:error` with lower-case names.
///
/// Source: REST "Status and error codes".
pub fn error(text: &str) -> Option<(String, Option<String>)> {
    let root = Element::read(text.as_bytes())?;
    let said = |name: &str| {
        let mut children = root.children.iter();
        let found = children.find(|child| child.name.eq_ignore_ascii_case(name))?;
        Some(found.text.clone())
    };
    Some((said("code")?, said("message")))
}

/// Formats an error as a document of the Table service. `prefix` is the prefix of its elements, `m:` or empty.
pub fn error_document(prefix: &str, code: &str, message: &str) -> String {
    let namespace = prefix.trim_end_matches(':');
    let colon = if namespace.is_empty() { "" } else { ":" };
    format!(
        "{DECLARATION}<{prefix}error \
         xmlns{colon}{namespace}=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\">\
         <{prefix}code>{}</{prefix}code><{prefix}message xml:lang=\"en-US\">{}</{prefix}message></{prefix}error>",
        partial_escape(code),
        partial_escape(message)
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_forms_of_an_error_are_read() {
        let storage = "<?xml version=\"1.0\"?>\n<Error>\n <Code>AuthorizationFailure</Code>\n <Message>No &lt;key&gt;&#33;\nRequestId:x</Message>\n</Error>";
        assert_eq!(
            error(storage),
            Some(("AuthorizationFailure".into(), Some("No <key>!\nRequestId:x".into())))
        );
        let tables = "<m:error xmlns:m=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\">\
            <m:code>X</m:code><m:message xml:lang=\"en-US\">Text</m:message></m:error>";
        assert_eq!(error(tables), Some(("X".into(), Some("Text".into()))));
    }

    #[test]
    fn other_documents_are_not_errors() {
        for text in ["", "<html><body>Hi</body></html>", "{}", "<Error><Code>", "<a></b>"] {
            assert_eq!(error(text), None, "{text}");
        }
        assert_eq!(
            error("<!DOCTYPE x [<!ENTITY a 'b'>]><Error><Code>a</Code></Error>"),
            None
        );
    }

    #[test]
    fn documents_of_any_layout_are_read() {
        let read = Element::read(
            "\u{feff}<?xml version='1.0' encoding='utf-8'?>\n<!-- c --><a>\n <b>1</b>\n <b x=\"y\"/><m:c> &amp;<![CDATA[<d>]]>\r\n</m:c></a>\n"
                .as_bytes(),
        )
        .unwrap();
        assert_eq!((&*read.name, read.text()), ("a", ""));
        let texts: Vec<&str> = read.children("b").map(Element::text).collect();
        assert_eq!(texts, ["1", ""]);
        assert_eq!(read.child("c").unwrap().text(), " &<d>\n");
        assert_eq!(read.child("d"), None);
    }

    #[test]
    fn malformed_and_oversized_documents_are_rejected() {
        let deep = |levels: usize| format!("{}{}", "<a>".repeat(levels), "</a>".repeat(levels));
        assert!(Element::read(deep(MAX_DEPTH).as_bytes()).is_some());
        let many = |elements: usize| format!("<r>{}</r>", "<a/>".repeat(elements));
        assert!(Element::read(many(MAX_ELEMENTS - 1).as_bytes()).is_some());
        for wrong in [
            "",
            "text",
            "<a/>text",
            "<a/><a/>",
            "<a>",
            "</a>",
            "<a></b>",
            "<a>&other;</a>",
            "<a>&#xD800;</a>",
            "<!DOCTYPE a><a/>",
            &deep(MAX_DEPTH + 1),
            &many(MAX_ELEMENTS),
        ] {
            assert_eq!(Element::read(wrong.as_bytes()), None, "{wrong:.40}");
        }
        assert_eq!(Element::read(b"<a>\xff</a>"), None);
    }

    fn any_element() -> impl Strategy<Value = Element> {
        let name = "[A-Za-z][A-Za-z0-9]{0,5}";
        // The characters that XML permits.
        let text = "[\\t\\n\\r -~é😀]{0,12}";
        let leaf = (name, text).prop_map(|(name, text)| Element::of_text(&name, text));
        leaf.prop_recursive(3, 20, 4, move |inner| {
            (name, proptest::collection::vec(inner, 1..4))
                .prop_map(|(name, children)| Element::new(&name).with(children))
        })
    }

    proptest! {
        #[test]
        fn written_document_reads_the_same(element in any_element()) {
            prop_assert_eq!(Element::read(&element.write()), Some(element));
        }

        #[test]
        fn no_document_panics(text in "[<>/a!\\[\\]&;#x?=' -]{0,40}") {
            let _ = Element::read(text.as_bytes());
        }
    }
}
