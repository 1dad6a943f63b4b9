//! A week of earthquakes.

use crate::{line, output};

#[test]
fn all_events_are_loaded_and_the_strong_ones_found() {
    let text = output("quickstart");
    assert_eq!(line(&text, "loaded")[1], "1,707", "{text}");
    assert!(text.contains("got        6.4 22km NNE of Hualian, Taiwan"), "{text}");
    assert_eq!(line(&text, "streamed")[1], "84", "{text}");
    assert!(
        text.contains("4.7  2018-02-06T23:43:51.84Z   7km E of Hualian, Taiwan"),
        "{text}"
    );
}
