//! A URL for a second process.

use crate::{line, output};

#[test]
fn the_reader_sees_the_orders_of_one_customer_and_changes_none() {
    let text = output("sas");
    assert!(text.contains("reader     order 1 of ada: tea"), "{text}");
    assert!(text.contains("reader     order 2 of ada: cup"), "{text}");
    assert_eq!(line(&text, "reader a query of the whole table finds")[8], "2", "{text}");
    assert!(!text.contains("kettle") && !text.contains("sig="), "{text}");
    assert!(text.contains("reader     the order of ben exists: false"), "{text}");
    assert!(line(&text, "reader delete:").contains(&"403"), "{text}");
    assert!(text.contains("the reader ended with exit status: 0"), "{text}");
    let (_, revoked) = text.split_once("removes the policy").unwrap();
    assert!(
        revoked.contains("its stored access policy \"readers\" was revoked"),
        "{text}"
    );
}
