//! A tail of changes with concurrent writers, skewed Timestamps, lost responses and restarts.

use std::time::Duration;

use azure_table_tests::tail::TailStudy;

const STUDY: TailStudy = TailStudy {
    writers: 8,
    writes: 2_000,
    rows: 50,
    pause: Duration::from_millis(40),
    skew: Duration::from_secs(2),
    overlap: Duration::from_secs(3),
    polls: 3,
    seed: 1,
};

#[tokio::test(start_paused = true)]
async fn tail_yields_every_last_version_despite_skew_and_lost_responses() {
    let outcome = STUDY.run().await;
    println!("{outcome}");
    assert_eq!(outcome.missed, 0, "{outcome}");
    assert!(outcome.stored > 350 && outcome.faults > 20, "{outcome}");
    assert!(outcome.progress.changes > 1_000 && outcome.again > 0, "{outcome}");
    assert!(outcome.progress.remembered < 400, "{outcome}");
}

/// Otherwise the test above would prove nothing.
#[tokio::test(start_paused = true)]
async fn tail_without_an_overlap_misses_rows() {
    let outcome = TailStudy {
        overlap: Duration::ZERO,
        ..STUDY
    }
    .run()
    .await;
    assert!(outcome.missed > 0, "{outcome}");
}
