//! Rows that are read, changed and written back.

use crate::output;

#[test]
fn favorites_are_saved_together_or_not_at_all() {
    let text = output("read_modify_write");
    assert!(
        text.contains("movies     3 in one transaction: 3 favorites\n"),
        "{text}"
    );
    assert!(text.contains("movies     InvalidInput: 3 favorites\n"), "{text}");
}

#[test]
fn score_is_merged_and_the_other_properties_stay() {
    let text = output("read_modify_write");
    assert!(text.contains("gamers     42 by a struct\n"), "{text}");
    assert!(text.contains("gamers     43 without one, of clan Contoso\n"), "{text}");
}
