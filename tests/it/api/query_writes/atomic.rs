//! Writes by query in one entity group transaction: all selected rows, or none.

use azure_table::bulk::UpdateWhere;
use azure_table::operation::OperationKind;
use azure_table::testing::{Fault, FaultRule, Faults};
use azure_table::{
    Change, DynamicEntity, Emulator, Error, ErrorKind, TableClient, TableEntity, TableQuery, TableServiceClient,
};
use azure_table_tests::entities::Marked;
use azure_table_tests::errors::{assert_contains, assert_error};

use crate::api::interceptor::before_first_batch;

#[derive(TableEntity, Debug, Clone, PartialEq)]
struct Movie {
    #[table(partition_key)]
    category: String,
    #[table(row_key)]
    title: String,
    year: i32,
    favorite: bool,
    synopsis: Option<String>,
}

/// Inserts `rows` movies of each category.
async fn fill(movies: &TableClient<Movie>, rows: usize, categories: &[&str]) {
    let all = categories.iter().flat_map(|category| {
        (0..rows).map(|row| Movie {
            category: (*category).to_owned(),
            title: format!("{row:03}"),
            year: 2010,
            favorite: false,
            synopsis: Some("x".repeat(100)),
        })
    });
    let report = movies.bulk().insert(all).await.unwrap();
    assert_eq!(report.leftovers().len(), 0);
}

/// Makes all movies of a query favorites.
fn favor(
    movies: &TableClient<Movie>,
    query: TableQuery<Movie>,
) -> UpdateWhere<'static, Movie, Movie, impl FnMut(&mut Movie) + use<>, ()> {
    movies.update_where(query, |movie: &mut Movie| movie.favorite = true)
}

async fn favorites(movies: &TableClient<Movie>) -> usize {
    movies.query().filter(Movie::FAVORITE.eq(true)).count().await.unwrap()
}

#[azure_table::test]
async fn rows_of_a_query_are_written_in_one_transaction(movies: TableClient<Movie>, faults: Faults) {
    fill(&movies, 100, &["action", "drama"]).await;
    let before = faults.requests();
    let action = movies.query().partition("action").page_size(30);
    assert_eq!(favor(&movies, action).atomic().await.unwrap(), 100);
    // Four pages and one batch.
    assert_eq!(faults.requests() - before, 5);
    assert_eq!(favorites(&movies).await, 100);

    let one = Movie::TITLE.eq("007").and(Movie::CATEGORY.eq("action"));
    let patch = movies.patch_where(one, [Movie::YEAR.set(1)]);
    assert_eq!(patch.atomic().await.unwrap(), 1);
    let delete = movies.delete_where(movies.query().partition("drama"));
    assert_eq!(delete.atomic().await.unwrap(), 100);
    assert_eq!(movies.query().count().await.unwrap(), 100);
}

#[azure_table::test]
async fn nothing_is_sent_if_no_row_changes(movies: TableClient<Movie>, faults: Faults) {
    fill(&movies, 3, &["action"]).await;
    let before = faults.requests();
    let all = || movies.query().partition("action");
    let update = movies.update_where(all(), |_| Change::Keep);
    assert_eq!(update.atomic().await.unwrap(), 0);
    let delete = movies.delete_where(all().filter(Movie::YEAR.lt(0)));
    assert_eq!(delete.atomic().await.unwrap(), 0);
    assert_eq!(faults.requests() - before, 2);
}

/// The limits of a transaction apply. The error names the limit, and nothing is written.
#[azure_table::test]
async fn rows_that_do_not_fit_are_an_error_before_the_write(movies: TableClient<Movie>, faults: Faults) {
    fill(&movies, 101, &["action", "drama"]).await;
    let before = faults.requests();
    let many = movies.query().partition("action").page_size(1_000);
    let error = favor(&movies, many.clone()).atomic().await.unwrap_err();
    let why = "at least 101 rows, the limit of a transaction is 100";
    assert_error(&error, ErrorKind::InvalidInput, why);
    assert_eq!(faults.requests() - before, 1);

    let two = movies.query().filter(Movie::TITLE.lt("003"));
    let error = favor(&movies, two).atomic().await.unwrap_err();
    assert_error(&error, ErrorKind::InvalidInput, "action");
    assert_contains(&error, "drama");

    let write = |letter: &str| {
        let text = letter.repeat(30_000);
        let change = move |movie: &mut Movie| movie.synopsis = Some(text.clone());
        movies.update_where(many.clone().limit(100), change).atomic()
    };
    // 3 MB, then 6 MB.
    assert_eq!(write("x").await.unwrap(), 100);
    let error = write("é").await.unwrap_err();
    assert_error(&error, ErrorKind::InvalidInput, "4194304");
    assert_eq!(favorites(&movies).await, 0);
}

#[azure_table::test]
async fn change_in_between_fails_the_whole_transaction(movies: TableClient<Movie>, emulator: Emulator) {
    fill(&movies, 5, &["action"]).await;
    let other = movies.clone();
    let transport = before_first_batch(emulator, async move || {
        let patch = other.patch(("action", "003"), [Movie::YEAR.set(1)]);
        patch.await.unwrap();
    });
    let service = TableServiceClient::from_transport(transport);
    let late = service.table::<Movie>("Movies").unwrap();
    let action = late.query().partition("action");
    let error = favor(&late, action).atomic().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConditionNotMet);
    assert_eq!(error.entity(), Some(("action", "003")));
    assert_eq!(favorites(&movies).await, 0);
}

#[azure_table::test]
async fn row_that_does_not_fit_fails_the_transaction_unless_it_is_skipped(movies: TableClient<Movie>) {
    fill(&movies, 3, &["action"]).await;
    let other = DynamicEntity::new("action", "other");
    movies.typed().insert(&other).await.unwrap();
    let action = || movies.query().partition("action");
    let error = favor(&movies, action()).atomic().await.unwrap_err();
    assert_eq!(error.entity(), Some(("action", "other")), "{error}");
    assert_eq!(favorites(&movies).await, 0);
    let fitting = action().skip_bad_rows(|_| ());
    assert_eq!(favor(&movies, fitting).atomic().await.unwrap(), 3);
}

/// Two writers under the same ETag may write the same content, so only a write id shows whose transaction was applied.
#[azure_table::test(start_paused)]
async fn lost_response_is_in_doubt_without_a_write_id(movies: TableClient<Movie>, faults: Faults) {
    fill(&movies, 5, &["action"]).await;
    let counters = movies.typed::<Marked>();
    for name in ["1", "2", "3"] {
        counters.insert(&Marked::new("a", name, 1)).await.unwrap();
    }
    faults.add(FaultRule::new(Fault::LoseResponse).on(OperationKind::Batch).every(1));
    let group = counters.query().partition("a");
    let update = counters.update_where(group.clone(), |counter| counter.count += 1);
    assert_eq!(update.atomic().await.unwrap(), 3);
    assert!(group.all().await.unwrap().iter().all(|counter| counter.count == 2));

    let action = movies.query().partition("action");
    let error = favor(&movies, action).atomic().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InDoubt);
    assert_eq!(favorites(&movies).await, 5);
}

#[azure_table::test]
async fn error_of_the_closure_and_a_position_end_it_before_the_write(movies: TableClient<Movie>) {
    #[derive(Debug)]
    struct Stop;
    impl From<Error> for Stop {
        fn from(error: Error) -> Self {
            panic!("{error}")
        }
    }
    fill(&movies, 5, &["action"]).await;
    let all = || movies.query().partition("action");
    let stopped = movies.update_where(all(), |_| Err::<(), Stop>(Stop)).atomic();
    let Stop = stopped.await.unwrap_err();

    let stopped = movies.update_where(all(), |_| Err::<(), Error>(Error::other("stop")));
    let position = stopped.await.unwrap_err().position();
    let resumed = movies.update_where(all(), |_| ()).resume_from(position).atomic();
    assert_contains(resumed.await.unwrap_err(), "`resume_from` before `atomic`");
}
