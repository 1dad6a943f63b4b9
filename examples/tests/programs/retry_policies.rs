//! Each retry policy against the same faults.

use std::ops::RangeInclusive;

use crate::output;

/// The waits of a policy in seconds, and its result.
fn row(text: &str, policy: &str) -> (Vec<f64>, String) {
    let line = text.lines().find(|line| line.trim_start().starts_with(policy)).unwrap();
    let words: Vec<&str> = line
        .trim_start()
        .trim_start_matches(policy)
        .split_whitespace()
        .collect();
    // Each number with a decimal is a wait, but for the last: the total.
    let mut times: Vec<f64> = words
        .iter()
        .map(|word| word.trim_end_matches(','))
        .filter(|word| word.contains('.'))
        .map(|word| word.parse().unwrap())
        .collect();
    let total = times.pop().unwrap();
    assert!((times.iter().sum::<f64>() - total).abs() < 0.5, "{line}");
    let result = words.iter().skip_while(|word| !word.starts_with(char::is_alphabetic));
    (times, result.copied().collect::<Vec<_>>().join(" "))
}

#[test]
fn waits_and_results_are_those_of_the_policies() {
    let text = output("retry_policies");
    let expected: [(&str, &[RangeInclusive<f64>], &str); 8] = [
        ("NoRetry", &[], "ServerFault, 503"),
        (
            "ExponentialRetry::default",
            &[0.3..=1.2, 0.6..=1.0, 1.2..=2.0],
            "found, after 3 faults",
        ),
        (
            "ExponentialRetry::storage_client_2010",
            &[3.0..=3.0, 27.0..=39.0, 75.0..=90.0],
            "found, after 3 faults",
        ),
        (
            "LinearRetry::default",
            &[3.0..=3.0, 3.0..=3.0, 3.0..=3.0],
            "found, after 3 faults",
        ),
        ("… limit_attempts(2)", &[3.0..=3.0], "ServerFault, 500"),
        ("… limit_elapsed(5 s)", &[3.0..=3.0], "ServerFault, 500"),
        ("… with an empty budget", &[], "ServerFault, 503"),
        ("not after a 502 (own)", &[3.0..=3.0, 3.0..=3.0], "ServerFault, 502"),
    ];
    for (policy, waits, result) in expected {
        let found = row(&text, policy);
        assert_eq!(found.1, result, "{policy}\n{text}");
        assert_eq!(found.0.len(), waits.len(), "{policy}\n{text}");
        assert!(
            waits.iter().zip(&found.0).all(|(range, wait)| range.contains(wait)),
            "{policy}\n{text}"
        );
    }
}
