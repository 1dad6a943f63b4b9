//! Counts violations of the rules of "How we write" in `CONTRIBUTING.md`. The counts may only fall.
//!
//! `cargo xtask language` prints the table below as it is now.

use xtask::language::{counts, table};

/// The number of violations of each rule.
const COUNTS: [(&str, usize); 26] = [
    ("doc comments that begin with What", 0),
    ("doc comments that begin with How", 1),
    ("doc comments that begin with Whether", 0),
    ("doc comments that begin with Who", 0),
    ("doc comments that begin with Where", 0),
    ("doc comments that begin with Makes", 0),
    ("comments over 120 characters", 0),
    ("\"who asks\" (the caller, the credential)", 0),
    ("\"wishes\" (options)", 0),
    ("\"may wish\" (options)", 0),
    ("\"on its way\" (in flight)", 0),
    ("\"on their way\" (in flight)", 0),
    ("\"of own doing\" (in doubt)", 0),
    ("\"found out about\" (read back)", 0),
    ("\"tried again\" (retried)", 0),
    ("\"tries again\" (retries)", 0),
    ("\"in force\" (in effect)", 0),
    ("\"there is none\" (name what is missing)", 0),
    ("\"second region\" (secondary)", 0),
    ("\"secret made of\" (say what is not guaranteed)", 0),
    ("names with \"refus\" (reject, service error)", 0),
    ("names with \"answer\" (response, respond)", 0),
    ("names with \"asked\" (requested)", 0),
    ("names with \"begun\" (started)", 0),
    ("names with \"told\" (reported)", 0),
    ("sentences of guides over 30 words", 0),
];

/// The maximum number of places named in a failure.
const NAMED: usize = 25;

#[test]
fn no_rule_of_language_is_broken_more_often() {
    let counts = counts();
    let mut wrong = String::new();
    for (rule, places) in &counts {
        let (found, listed) = (
            places.len(),
            COUNTS
                .iter()
                .find(|(of, _)| of == rule)
                .map_or(0, |(_, listed)| *listed),
        );
        if found < listed {
            wrong += &format!("{rule}: lower the number to {found}\n");
        }
        if found > listed {
            let named = places
                .iter()
                .take(NAMED)
                .map(|(place, text)| format!("  {place}: {text}\n"));
            let named: String = named.collect();
            wrong += &format!("{rule}: {found}, at most {listed} are allowed. The latest files first:\n{named}");
        }
    }
    let table = table(&counts);
    let rules = COUNTS
        .iter()
        .filter(|(rule, _)| !counts.iter().any(|(of, _)| of == rule));
    assert_eq!(rules.count(), 0, "a rule of COUNTS is unknown:\n{table}");
    assert!(wrong.is_empty(), "{wrong}COUNTS is now:\n{table}");
}
