//! A property that the program encrypts.

use crate::output;

#[test]
fn keys_rotate_and_a_moved_ciphertext_decrypts() {
    let text = output("sealed_property");
    let found: Vec<&str> = text.lines().filter(|line| line.contains("row 2")).collect();
    let expected = [
        "stored     row 2, key 1: flu",
        "rotated    row 2, key 2: flu",
        "moved      row 2, key 2: gout",
    ];
    assert_eq!(found, expected, "{text}");
}
