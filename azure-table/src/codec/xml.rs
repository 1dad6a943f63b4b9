//! XML, which the service's front end speaks where a request never got to the tables.
//!
//! Reading is quick-xml's; a document type, and so every entity of its own, is refused.

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;

/// The code and the message of an error in either of its forms: `<Error><Code>…</Code><Message>…</Message></Error>`, or
/// the same below `m:error` with lower-case names.
///
/// Source: REST "Status and error codes".
pub(crate) fn error(text: &str) -> Option<(String, Option<String>)> {
    let mut reader = Reader::from_str(text);
    let (mut code, mut message) = (None, None);
    let mut element = String::new();
    let mut depth = 0_usize;
    loop {
        match reader.read_event().ok()? {
            Event::Start(start) => {
                depth += 1;
                element = start.local_name().as_ref().to_ascii_lowercase();
            }
            Event::End(_) => {
                depth = depth.checked_sub(1)?;
                element.clear();
            }
            Event::Text(text) => append(&element, &text.xml10_content(), &mut code, &mut message),
            Event::GeneralRef(reference) => {
                let text = match reference.resolve_char_ref().ok()? {
                    Some(character) => character.to_string(),
                    None => resolve_predefined_entity(&reference)?.to_owned(),
                };
                append(&element, &text, &mut code, &mut message);
            }
            Event::DocType(_) => return None,
            Event::Eof if depth == 0 => return code.map(|code| (code, message)),
            Event::Eof => return None,
            _ => {}
        }
    }
}

/// Adds text to what the element it stands in is about.
fn append(element: &str, text: &str, code: &mut Option<String>, message: &mut Option<String>) {
    let into = match element {
        "code" => code,
        "message" => message,
        _ => return,
    };
    into.get_or_insert_with(String::new).push_str(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
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
    fn what_is_no_error_is_none() {
        for text in ["", "<html><body>Hi</body></html>", "{}", "<Error><Code>", "<a></b>"] {
            assert_eq!(error(text), None, "{text}");
        }
        assert_eq!(
            error("<!DOCTYPE x [<!ENTITY a 'b'>]><Error><Code>a</Code></Error>"),
            None
        );
    }
}
