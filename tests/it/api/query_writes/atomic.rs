//! Writes by query in one entity group transaction: all selected rows, or none.

use azure_table::operation::OperationKind;
use azure_table::testing::{Fault, FaultRule, Faults};
use azure_table::{
    Change, DynamicEntity, Emulator, Error, ErrorKind, Guid, TableClient, TableEntity, TableServiceClient,
};

use crate::api::interceptor::Interceptor;

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

/// A client over faults, and the movies: `rows` of each category.
async fn movies(rows: usize, categories: &[&str]) -> (Faults, TableClient<Movie>) {
    let faults = Faults::new(Emulator::new());
    let service = TableServiceClient::from_transport(faults.clone());
    let movies = service.table::<Movie>("Movies").unwrap();
    fill(&movies, rows, categories).await;
    (faults, movies)
}

async fn fill(movies: &TableClient<Movie>, rows: usize, categories: &[&str]) {
    movies.create_table().await.unwrap();
    let all = categories.iter().flat_map(|category| {
        (0..rows).map(|row| Movie {
            category: (*category).to_owned(),
            title: format!("{row:03}"),
            year: 2010,
            favorite: false,
            synopsis: Some("x".repeat(100)),
        })
    });
    let report = movies.bulk().insert(all.collect::<Vec<_>>()).await.unwrap();
    assert_eq!(report.leftovers().len(), 0);
}

async fn favorites(movies: &TableClient<Movie>) -> usize {
    movies.query().filter(Movie::FAVORITE.eq(true)).count().await.unwrap()
}

#[tokio::test]
async fn rows_of_a_query_are_written_in_one_transaction() {
    let (faults, movies) = movies(100, &["action", "drama"]).await;
    let action = movies.query().partition("action").page_size(30);
    let before = faults.requests();
    let written = movies
        .update_where(action, |movie| movie.favorite = true)
        .atomic()
        .await
        .unwrap();
    assert_eq!(written, 100);
    // Four pages and one batch.
    assert_eq!(faults.requests() - before, 5);
    assert_eq!(favorites(&movies).await, 100);

    let patched = movies.patch_where(
        Movie::TITLE.eq("007").and(Movie::CATEGORY.eq("action")),
        [Movie::YEAR.set(1)],
    );
    assert_eq!(patched.atomic().await.unwrap(), 1);
    assert_eq!(
        movies
            .delete_where(movies.query().partition("drama"))
            .atomic()
            .await
            .unwrap(),
        100
    );
    assert_eq!(movies.query().count().await.unwrap(), 100);
}

#[tokio::test]
async fn nothing_is_sent_if_no_row_changes() {
    let (faults, movies) = movies(3, &["action"]).await;
    let before = faults.requests();
    let all = || movies.query().partition("action");
    assert_eq!(movies.update_where(all(), |_| Change::Keep).atomic().await.unwrap(), 0);
    assert_eq!(
        movies
            .delete_where(all().filter(Movie::YEAR.lt(0)))
            .atomic()
            .await
            .unwrap(),
        0
    );
    assert_eq!(faults.requests() - before, 2);
}

/// The limits of a transaction apply. The error names the limit, and nothing is written.
#[tokio::test]
async fn rows_that_do_not_fit_are_an_error_before_the_write() {
    let (faults, movies) = movies(101, &["action", "drama"]).await;
    let before = faults.requests();
    let many = movies.query().partition("action").page_size(1_000);
    let error = movies
        .update_where(many.clone(), |movie| movie.favorite = true)
        .atomic()
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(
        error
            .to_string()
            .contains("at least 101 rows, the limit of a transaction is 100"),
        "{error}"
    );
    assert_eq!(faults.requests() - before, 1);

    let two = movies.query().filter(Movie::TITLE.lt("003"));
    let error = movies
        .update_where(two, |movie| movie.favorite = true)
        .atomic()
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(
        error.to_string().contains("action") && error.to_string().contains("drama"),
        "{error}"
    );

    let large = |movie: &mut Movie| movie.synopsis = Some("x".repeat(30_000));
    // 3 MB, then 6 MB.
    assert_eq!(
        movies
            .update_where(many.clone().limit(100), large)
            .atomic()
            .await
            .unwrap(),
        100
    );
    let larger = |movie: &mut Movie| movie.synopsis = Some("é".repeat(30_000));
    let error = movies.update_where(many.limit(100), larger).atomic().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("4194304"), "{error}");
    assert_eq!(favorites(&movies).await, 0);
}

#[tokio::test]
async fn change_in_between_fails_the_whole_transaction() {
    let emulator = Emulator::new();
    let writer = TableServiceClient::from_transport(emulator.clone())
        .table::<Movie>("Movies")
        .unwrap();
    let other = writer.clone();
    let transport = Interceptor::before_first_batch(emulator, move || {
        let other = other.clone();
        Box::pin(async move {
            other.patch(("action", "003"), [Movie::YEAR.set(1)]).await.unwrap();
        })
    });
    let movies = TableServiceClient::from_transport(transport)
        .table::<Movie>("Movies")
        .unwrap();
    fill(&writer, 5, &["action"]).await;
    let action = movies.query().partition("action");
    let error = movies
        .update_where(action, |movie| movie.favorite = true)
        .atomic()
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConditionNotMet);
    assert_eq!(error.entity(), Some(("action", "003")));
    assert_eq!(favorites(&movies).await, 0);
}

#[tokio::test]
async fn row_that_does_not_fit_fails_the_transaction_unless_it_is_skipped() {
    let (_, movies) = movies(3, &["action"]).await;
    let other = DynamicEntity::new("action", "other");
    movies.typed().insert(&other).await.unwrap();
    let action = || movies.query().partition("action");
    let favor = |movie: &mut Movie| movie.favorite = true;
    let error = movies.update_where(action(), favor).atomic().await.unwrap_err();
    assert_eq!(error.entity(), Some(("action", "other")), "{error}");
    assert_eq!(favorites(&movies).await, 0);
    let fitting = action().skip_bad_rows(|_| ());
    assert_eq!(movies.update_where(fitting, favor).atomic().await.unwrap(), 3);
}

/// Two writers under the same ETag may write the same content, so only a write id shows whose transaction was applied.
#[tokio::test(start_paused = true)]
async fn lost_response_is_in_doubt_without_a_write_id() {
    #[derive(TableEntity)]
    struct Counter {
        #[table(partition_key)]
        group: String,
        #[table(row_key)]
        id: u32,
        count: i32,
        #[table(write_id)]
        written_by: Option<Guid>,
    }

    let (faults, movies) = movies(5, &["action"]).await;
    let counters = movies.typed::<Counter>();
    for id in 0..3 {
        let counter = Counter {
            group: "a".into(),
            id,
            count: 1,
            written_by: None,
        };
        counters.insert(&counter).await.unwrap();
    }
    faults.add(FaultRule::new(Fault::LoseResponse).on(OperationKind::Batch).every(1));
    let group = counters.query().partition("a");
    assert_eq!(
        counters
            .update_where(group.clone(), |counter| counter.count += 1)
            .atomic()
            .await
            .unwrap(),
        3
    );
    assert!(group.all().await.unwrap().iter().all(|counter| counter.count == 2));

    let action = movies.query().partition("action");
    let error = movies
        .update_where(action.clone(), |movie| movie.year += 1)
        .atomic()
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InDoubt);
    assert!(action.all().await.unwrap().iter().all(|movie| movie.year == 2011));
}

#[tokio::test]
async fn error_of_the_closure_and_a_position_end_it_before_the_write() {
    #[derive(Debug)]
    struct Stop;
    impl From<Error> for Stop {
        fn from(error: Error) -> Self {
            panic!("{error}")
        }
    }
    let (_, movies) = movies(5, &["action"]).await;
    let all = || movies.query().partition("action");
    let Stop = movies
        .update_where(all(), |_| Err::<(), Stop>(Stop))
        .atomic()
        .await
        .unwrap_err();

    let interrupted = movies
        .update_where(all(), |_| Err::<(), Error>(Error::other("stop")))
        .await
        .unwrap_err();
    let resumed = movies
        .update_where(all(), |_| ())
        .resume_from(interrupted.position())
        .atomic();
    let error = resumed.await.unwrap_err();
    assert!(error.to_string().contains("`resume_from` before `atomic`"), "{error}");
}
