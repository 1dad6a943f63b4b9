//! The options of `SaveChanges` as methods of this crate, null values, and rows that are inserted between two pages.
//!
//! Sources: "How to get the most out of Windows Azure Tables" (2010), options for saving changes and null values;
//! "Windows Azure Table" (2009), continuation tokens.

use azure_table::{DynamicEntity, Emulator, ErrorKind, TableClient, TableEntity, TableServiceClient};

#[derive(TableEntity, Clone, Debug, PartialEq)]
struct Movie {
    #[table(partition_key)]
    category: String,
    #[table(row_key)]
    title: String,
    rating: f64,
    language: Option<String>,
}

fn movie(title: &str, rating: f64, language: Option<&str>) -> Movie {
    Movie {
        category: "Action".into(),
        title: title.into(),
        rating,
        language: language.map(str::to_owned),
    }
}

async fn movies() -> TableClient<Movie> {
    let service = TableServiceClient::from_transport(Emulator::new());
    let movies = service.table::<Movie>("Movies").unwrap();
    movies.create_table().await.unwrap();
    movies
}

/// The default sends a merge, `ReplaceOnUpdate` a replace. A null value is not stored.
#[tokio::test]
async fn replace_removes_the_property_that_a_merge_keeps() {
    let movies = movies().await;
    movies.insert(&movie("Cop Out", 4.5, Some("English"))).await.unwrap();
    let stored = async || movies.get(("Action", "Cop Out")).await.unwrap().unwrap();

    movies.merge(&movie("Cop Out", 4.6, None)).await.unwrap();
    assert_eq!(stored().await, movie("Cop Out", 4.6, Some("English")));
    movies.replace(&movie("Cop Out", 4.7, None)).await.unwrap();
    assert_eq!(stored().await, movie("Cop Out", 4.7, None));
    let any = movies.typed::<DynamicEntity>();
    let row = any.get(("Action", "Cop Out")).await.unwrap().unwrap();
    assert_eq!(row.get("language"), None, "the property is not stored");
}

/// `Batch` applies nothing where an operation fails, `ContinueOnError` all others.
#[tokio::test]
async fn batch_fails_as_a_whole_and_a_bulk_continues() {
    let movies = movies().await;
    movies.insert(&movie("Cop Out", 4.5, None)).await.unwrap();
    let new = [
        movie("Alien", 4.9, None),
        movie("Cop Out", 4.5, None),
        movie("Terminator", 4.8, None),
    ];
    let titles = async || {
        let rows = movies.query().partition("Action").all().await.unwrap();
        rows.into_iter().map(|movie| movie.title).collect::<Vec<_>>()
    };

    let mut batch = movies.batch();
    for movie in &new {
        batch.insert(movie).unwrap();
    }
    let error = batch.submit().await.unwrap_err();
    assert_eq!((error.kind(), error.batch_index()), (ErrorKind::AlreadyExists, Some(1)));
    assert_eq!(titles().await, ["Cop Out"]);

    let report = movies.bulk().insert(&new).await.unwrap();
    assert_eq!((report.applied(), report.leftovers().len()), (2, 1));
    assert_eq!(titles().await, ["Alien", "Cop Out", "Terminator"]);
}

/// The post attaches an entity with the ETag `*`: nothing is read, and any version is deleted.
#[tokio::test]
async fn delete_by_key_is_unconditional() {
    let movies = movies().await;
    movies.insert(&movie("Cop Out", 4.5, None)).await.unwrap();
    let old = movies.get(("Action", "Cop Out")).versioned().await.unwrap().unwrap();
    movies.replace(&movie("Cop Out", 4.6, None)).await.unwrap();
    let error = movies.delete(&old).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConditionNotMet);
    movies.delete(("Action", "Cop Out")).await.unwrap();
    assert!(!movies.exists(("Action", "Cop Out")).await.unwrap());
}

/// The paper: the token names where the next page starts. A row before it is not returned, a row behind it is.
#[tokio::test]
async fn row_inserted_before_the_position_of_a_query_is_not_returned() {
    let movies = movies().await;
    for title in ["Alien", "Cop Out", "Terminator"] {
        movies.insert(&movie(title, 4.0, None)).await.unwrap();
    }
    let query = movies.query().partition("Action").page_size(2);
    let page = query.clone().pages().try_next().await.unwrap().unwrap();
    assert_eq!(page.items().len(), 2);
    let position = page.continuation().clone();

    movies.insert(&movie("Sherlock Holmes", 4.0, None)).await.unwrap();
    movies.insert(&movie("Tron", 4.0, None)).await.unwrap();
    let rest = query.resume_from(position).all().await.unwrap();
    let rest: Vec<&str> = rest.iter().map(|movie| movie.title.as_str()).collect();
    assert_eq!(rest, ["Terminator", "Tron"]);
}
