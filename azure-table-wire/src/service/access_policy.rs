//! The stored access policies of a table: named parts of shared access signatures that can be changed or revoked later.
//!
//! Defines [`StoredAccessPolicy`] as a value, the limits on a table's list, and its XML in both directions. The
//! response to a read and the body of a write are the same document. Not confirmed: that the service rejects two
//! policies with the same name, as this crate does. (It rejected six with the same name, but six exceed the limit
//! anyway.)
//!
//! Source: REST "Get Table ACL", "Set Table ACL", "Define a stored access policy"; recorded bodies.

use bytes::Bytes;

use crate::codec::odata::time::TimeText;
use crate::codec::xml::Element;
use crate::error::{Error, Result, ValueError};
use crate::sas::permissions::TablePermissions;
use crate::value::datetime::DateTime;

/// The maximum number of policies per table.
const MAX_POLICIES: usize = 5;
/// The maximum length of a policy's name, in characters.
const MAX_ID: usize = 64;

/// A stored access policy of a table.
///
/// Shared access signatures refer to it by name, with `TableSas::policy`.
///
/// Set each of start, expiry and permissions either here or in the signature, never in both. A signature works only
/// while its policy exists. Changing or removing a policy takes effect on all its signatures within 30 seconds.
///
/// ```
/// use azure_table::{DateTime, TablePermissions};
/// use azure_table::service::StoredAccessPolicy;
/// let policy = StoredAccessPolicy {
///     permissions: Some(TablePermissions::READ),
///     expiry: Some("2030-01-01T00:00:00Z".parse::<DateTime>().unwrap()),
///     ..StoredAccessPolicy::new("read-only")
/// };
/// assert_eq!(policy.start, None);
/// ```
///
/// Source: REST "Set Table ACL", "Define a stored access policy".
#[doc(alias("TableSignedIdentifier", "TableAccessPolicy"))]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAccessPolicy {
    /// The name of the policy: 1 to 64 characters, unique within the table.
    pub id: String,
    /// The time from which signatures are valid, or `None` to leave it to the signature.
    pub start: Option<DateTime>,
    /// The time at which signatures expire, or `None` to leave it to the signature.
    pub expiry: Option<DateTime>,
    /// The permissions of signatures, or `None` to leave them to the signature.
    pub permissions: Option<TablePermissions>,
}

impl StoredAccessPolicy {
    /// Creates a policy that leaves everything to the signatures.
    ///
    /// You can still revoke signatures that name it.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            start: None,
            expiry: None,
            permissions: None,
        }
    }

    fn list_to_xml(policies: &[Self], has_body: fn(&[Element]) -> bool) -> Bytes {
        let moment = |name, time: Option<DateTime>| {
            time.map(|time| Element::of_text(name, TimeText::seven_digits(time).to_string()))
        };
        let signed = policies.iter().map(|policy| {
            let fields: Vec<Element> = [
                moment("Start", policy.start),
                moment("Expiry", policy.expiry),
                policy
                    .permissions
                    .map(|letters| Element::of_text("Permission", letters)),
            ]
            .into_iter()
            .flatten()
            .collect();
            let body = has_body(&fields).then(|| Element::new("AccessPolicy").with(fields));
            Element::new("SignedIdentifier")
                .with([Element::of_text("Id", &policy.id)])
                .with(body)
        });
        Element::new("SignedIdentifiers").with(signed).write()
    }

    fn read(signed: &Element) -> Result<Self, ValueError> {
        let id = signed
            .child("Id")
            .ok_or_else(|| ValueError::new("a policy has no Id"))?;
        let body = signed.child("AccessPolicy");
        let body_with = |name| body.filter(|body| body.value(name).is_some());
        let moment = |name| body_with(name).map(|body| body.moment(name)).transpose();
        let letters = body.and_then(|body| body.value("Permission"));
        let permissions = letters.map(|letters| {
            let read = letters.parse();
            read.map_err(|_| ValueError::new(format!("Permission is {letters:?}, not letters of r, a, u and d")))
        });
        Ok(Self {
            id: id.text().to_owned(),
            start: moment("Start")?,
            expiry: moment("Expiry")?,
            permissions: permissions.transpose()?,
        })
    }
}

/// Returns the document of a table's policies for a request.
///
/// A policy that leaves everything to the signatures has an empty `AccessPolicy` element, as recorded clients sent
/// it.
pub fn list_to_request(policies: &[StoredAccessPolicy]) -> Bytes {
    StoredAccessPolicy::list_to_xml(policies, |_| true)
}

/// Parses a document of policies. Elements may have any order; unknown ones are ignored.
pub fn list_from_xml(document: &[u8]) -> Result<Vec<StoredAccessPolicy>, ValueError> {
    let root = Element::read_root(document, "SignedIdentifiers", "of access policies")?;
    root.children("SignedIdentifier")
        .map(StoredAccessPolicy::read)
        .collect()
}

/// Rejects a list that the service would reject.
pub fn check_list(policies: &[StoredAccessPolicy]) -> Result<()> {
    let invalid = |why: String| Err(Error::invalid_input(format!("access policies: {why}")));
    if policies.len() > MAX_POLICIES {
        return invalid(format!(
            "{} policies, more than the limit of {MAX_POLICIES}",
            policies.len()
        ));
    }
    for (index, policy) in policies.iter().enumerate() {
        let id = &policy.id;
        let length = id.chars().count();
        if !(1..=MAX_ID).contains(&length) {
            return invalid(format!("an id has {length} characters, it must have 1 to {MAX_ID}"));
        }
        if id.contains(char::is_control) {
            return invalid(format!("id {id:?}: it must not have control characters"));
        }
        if policies.iter().take(index).any(|earlier| earlier.id == *id) {
            return invalid(format!("id {id:?} occurs twice"));
        }
    }
    Ok(())
}

/// Returns the document for a response. A policy that leaves everything to the signatures has no `AccessPolicy`
/// element.
pub fn list_for_response(policies: &[StoredAccessPolicy]) -> Bytes {
    StoredAccessPolicy::list_to_xml(policies, |fields| !fields.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn recorded_document_is_parsed_and_recorded_response_written() {
        let sent = "<?xml version='1.0' encoding='utf-8'?>\n<SignedIdentifiers><SignedIdentifier><Id>testid</Id><AccessPolicy><Start>2011-10-11</Start><Expiry>2011-10-12</Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>";
        let document = "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><SignedIdentifiers><SignedIdentifier><Id>testid</Id><AccessPolicy><Start>2011-10-11T00:00:00.0000000Z</Start><Expiry>2011-10-12T00:00:00.0000000Z</Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>";
        let policies = list_from_xml(sent.as_bytes()).unwrap();
        assert_eq!(policies, list_from_xml(document.as_bytes()).unwrap());
        assert_eq!(
            list_for_response(&policies),
            document.trim_start_matches('\u{feff}').as_bytes()
        );
        let none = "<?xml version=\"1.0\" encoding=\"utf-8\"?><SignedIdentifiers />";
        assert_eq!(list_for_response(&[]), none.as_bytes());
        assert_eq!(list_from_xml(none.as_bytes()), Ok(Vec::new()));
    }

    /// The service rejects fractions of three digits (recorded in 2020).
    #[test]
    fn times_of_a_request_have_seven_digits() {
        let policy = StoredAccessPolicy {
            expiry: Some("2024-01-01T00:00:13.5Z".parse().unwrap()),
            ..StoredAccessPolicy::new("1")
        };
        let document = list_to_request(&[policy]);
        let document = String::from_utf8_lossy(&document);
        assert!(
            document.contains("<Expiry>2024-01-01T00:00:13.5000000Z</Expiry>"),
            "{document}"
        );
    }

    #[test]
    fn elements_have_any_order_and_policies_may_be_empty() {
        let go = "<SignedIdentifiers><SignedIdentifier><AccessPolicy><Permission>dr</Permission><Expiry>2024-01-01T00:00:00Z</Expiry></AccessPolicy><Id>1</Id></SignedIdentifier><SignedIdentifier><Id>2</Id><AccessPolicy /></SignedIdentifier></SignedIdentifiers>";
        let policies = list_from_xml(go.as_bytes()).unwrap();
        let first = StoredAccessPolicy {
            expiry: Some("2024-01-01T00:00:00Z".parse().unwrap()),
            permissions: Some(TablePermissions::READ | TablePermissions::DELETE),
            ..StoredAccessPolicy::new("1")
        };
        assert_eq!(policies, [first, StoredAccessPolicy::new("2")]);
        let written = list_for_response(&policies[1..]);
        assert!(written.ends_with(b"<SignedIdentifier><Id>2</Id></SignedIdentifier></SignedIdentifiers>"));
    }

    #[test]
    fn invalid_documents_are_rejected() {
        let with =
            |body: &str| format!("<SignedIdentifiers><SignedIdentifier>{body}</SignedIdentifier></SignedIdentifiers>");
        for wrong in [
            String::new(),
            "<a/>".into(),
            with(""),
            with("<Id>1</Id><AccessPolicy><Start>soon</Start></AccessPolicy>"),
            with("<Id>1</Id><AccessPolicy><Permission>rx</Permission></AccessPolicy>"),
            with("<Id>1</Id><AccessPolicy><Permission>rr</Permission></AccessPolicy>"),
        ] {
            assert!(list_from_xml(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn documented_limits_are_enforced() {
        let named = |ids: &[&str]| ids.iter().map(|id| StoredAccessPolicy::new(*id)).collect::<Vec<_>>();
        let long = "é".repeat(64);
        assert!(check_list(&named(&["1", "2", "3", "4", &long])).is_ok());
        for (ids, why) in [
            (
                &["1", "2", "3", "4", "5", "6"][..],
                "6 policies, more than the limit of 5",
            ),
            (&[""], "an id has 0 characters"),
            (&[&*"x".repeat(65)], "an id has 65 characters, it must have 1 to 64"),
            (&["a\n"], "control characters"),
            (&["a", "a"], "\"a\" occurs twice"),
        ] {
            let error = check_list(&named(ids)).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    fn any_policy() -> impl Strategy<Value = StoredAccessPolicy> {
        let moment =
            || proptest::option::of((0..DateTime::MAX.ticks()).prop_map(|ticks| DateTime::from_ticks(ticks).unwrap()));
        let letters = proptest::sample::select(vec!["", "r", "ra", "raud", "d"]);
        ("[ -~é😀]{1,12}", moment(), moment(), letters).prop_map(|(id, start, expiry, letters)| StoredAccessPolicy {
            start,
            expiry,
            permissions: letters.parse().ok(),
            ..StoredAccessPolicy::new(id)
        })
    }

    proptest! {
        #[test]
        fn written_documents_parse_to_the_same_policies(policies in proptest::collection::vec(any_policy(), 0..6)) {
            let document = list_for_response(&policies);
            prop_assert_eq!(list_from_xml(&document).unwrap(), policies);
        }
    }
}
