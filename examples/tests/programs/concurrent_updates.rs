//! Several writers of one row.

use crate::{line, output};

#[test]
fn conflicts_are_seen_and_unconditional_writes_lose_sales() {
    let text = output("concurrent_updates");
    assert!(text.contains("412 UpdateConditionNotSatisfied"), "{text}");
    assert!(text.contains("Ben saves  89 left"), "{text}");
    assert_eq!(
        line(&text, "Unconditional")[1..],
        ["40", "95", "60", "35", "0"],
        "{text}"
    );
    assert_eq!(line(&text, "UnderEtag")[1..], ["5", "95", "95", "0", "35"], "{text}");
    let modify = line(&text, "Modify");
    assert_eq!(modify[1..5], ["40", "60", "60", "0"], "{text}");
    assert_ne!(modify[5], "0", "{text}");
}
