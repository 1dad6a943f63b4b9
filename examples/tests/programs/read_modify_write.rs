//! Rows that are read, changed and written back.

use crate::output;

/// A replace would remove the revenue.
#[test]
fn favorites_are_merged_together_or_not_at_all() {
    let text = output("read_modify_write");
    let (_, movies) = text
        .split_once("movies     3 merged in one transaction: 3 favorites\n")
        .unwrap();
    let movies: Vec<&str> = movies.lines().take(4).map(str::trim).collect();
    assert_eq!(
        movies,
        [
            "Cop Out                      Favorite true, Language English, Rating 4.5, ReleaseYear 2010, Revenue 0.5",
            "Law Abiding Citizen          Favorite true, Language English, Rating 4.2, ReleaseYear 2009, Revenue 0.5",
            "Terminator                   Favorite true, Rating 4.8, ReleaseYear 1984, Revenue 0.5",
            "White Water Rapids Survival  Favorite false, Language English, Rating 3.9, ReleaseYear 2010, Revenue 0.5",
        ]
    );
    assert!(text.contains("movies     InvalidInput: 3 favorites\n"), "{text}");
}

#[test]
fn score_is_merged_and_the_other_properties_stay() {
    let text = output("read_modify_write");
    assert!(text.contains("gamers     42 by a struct\n"), "{text}");
    assert!(text.contains("gamers     43 without one, of clan Contoso\n"), "{text}");
}
