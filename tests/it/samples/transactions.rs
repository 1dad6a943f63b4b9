//! Rows that belong together and are written in one transaction: a member and its rentals, a blog under two keys,
//! favorite movies, a raise for a department.
//!
//! Source: "How to get the most out of Windows Azure Tables" (2010), entity group transactions, intra-partition index,
//! inserting and updating entities; "Windows Azure Storage Client for Java Tables Deep Dive" (2012), salaries.

use std::sync::{Arc, Mutex};

use azure_table::{
    DynamicEntity, Emulator, ErrorKind, Key, Result, TableClient, TableEntity, TableOperation, TableServiceClient,
};

use crate::api::interceptor::Interceptor;

/// A table, and the requests to it: the method, the decoded query and the body.
async fn table(name: &str) -> (TableClient<DynamicEntity>, Arc<Mutex<Vec<String>>>) {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&requests);
    let transport = Interceptor::new(Emulator::new(), move |request| {
        let query = request
            .uri()
            .query()
            .unwrap_or_default()
            .replace("%20", " ")
            .replace("%27", "'");
        let query = query.replace("%3B", ";").replace("%3C", "<").replace("%2C", ",");
        let body = String::from_utf8_lossy(request.body());
        seen.lock()
            .unwrap()
            .push(format!("{} {query} {body}", request.method()));
    });
    let table = TableServiceClient::from_transport(transport)
        .dynamic_table(name)
        .unwrap();
    table.create_table().await.unwrap();
    requests.lock().unwrap().clear();
    (table, requests)
}

/// Inserts `Rental_<movie>` and counts it in the row `Member`, both or none.
async fn rent(table: &TableClient<DynamicEntity>, member: &str, movie: &str) -> Result<()> {
    let mut row = table.get((member, "Member")).versioned().await?.unwrap();
    let rentals: i32 = row.property("Rentals")?;
    row.insert("Rentals", rentals + 1);
    let mut rental = DynamicEntity::new(member, format!("Rental_{movie}"));
    rental.insert("Due", "2010-11-20");
    let mut batch = table.batch();
    batch.insert(&rental)?.replace(&row)?;
    batch.submit().await.map(drop)
}

/// Deletes the rental and counts it no more.
async fn give_back(table: &TableClient<DynamicEntity>, member: &str, movie: &str) -> Result<()> {
    let mut row = table.get((member, "Member")).versioned().await?.unwrap();
    let rentals: i32 = row.property("Rentals")?;
    row.insert("Rentals", rentals - 1);
    let mut batch = table.batch();
    batch.delete((member, format!("Rental_{movie}")))?.replace(&row)?;
    batch.submit().await.map(drop)
}

/// The count and the number of the rentals.
async fn state(table: &TableClient<DynamicEntity>, member: &str) -> (i32, usize) {
    let rows = table.query().partition(member).all().await.unwrap();
    let count = rows
        .iter()
        .find(|row| row.row_key == "Member")
        .unwrap()
        .property("Rentals")
        .unwrap();
    (
        count,
        rows.iter().filter(|row| row.row_key.starts_with("Rental_")).count(),
    )
}

#[tokio::test]
async fn rental_and_the_count_of_its_member_change_together() {
    let (table, _) = table("Rentals").await;
    let mut member = DynamicEntity::new("m7", "Member");
    member.insert("Name", "Jean");
    member.insert("Rentals", 0);
    table.insert(&member).await.unwrap();

    for movie in ["TheJackal", "Unforgiven"] {
        rent(&table, "m7", movie).await.unwrap();
    }
    assert_eq!(state(&table, "m7").await, (2, 2));
    // A movie that is rented already: the count stays.
    let error = rent(&table, "m7", "TheJackal").await.unwrap_err();
    assert_eq!((error.kind(), error.batch_index()), (ErrorKind::AlreadyExists, Some(0)));
    assert_eq!(state(&table, "m7").await, (2, 2));
    // A movie that is not: neither does the count change.
    let error = give_back(&table, "m7", "Alien").await.unwrap_err();
    assert_eq!((error.kind(), error.batch_index()), (ErrorKind::NotFound, Some(0)));
    assert_eq!(state(&table, "m7").await, (2, 2));
    give_back(&table, "m7", "TheJackal").await.unwrap();
    assert_eq!(state(&table, "m7").await, (1, 1));

    // Two clerks at once: the ETag of the member lets one count only, and no rental is lost or counted twice.
    let clerks = ["A", "B", "C", "D"].map(|movie| rent(&table, "m7", movie));
    let rented = futures::future::join_all(clerks)
        .await
        .into_iter()
        .filter(Result::is_ok)
        .count();
    assert!(rented >= 1);
    assert_eq!(state(&table, "m7").await, (1 + rented as i32, 1 + rented));
}

/// Table 4 and Table 5 of the post: the primary row.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(
    partition_key = "{author}",
    row_key = "{published};{title}",
    rename_all = "PascalCase"
)]
struct Blog {
    author: String,
    published: String,
    title: String,
    category: String,
    text: String,
}

/// Table 4: the same blog by its category.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(
    partition_key = "{author}",
    row_key = "{category};{title}",
    rename_all = "PascalCase"
)]
struct Twin {
    author: String,
    category: String,
    title: String,
    #[table(rename = "DatePublished")]
    published: String,
    text: String,
}

/// Table 5: an index row, which has only what finds the primary row.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(
    partition_key = "{author}",
    row_key = "{category};{title}",
    rename_all = "PascalCase"
)]
struct IndexRow {
    author: String,
    category: String,
    title: String,
    #[table(rename = "DatePublished")]
    published: String,
}

fn brady() -> Vec<Blog> {
    let blogs = [
        ("20100920", "RandyToVikings", "Sports"),
        ("20101130", "CyberMonday", "Shopping"),
        ("20101201", "PartitionKeys", "Azure"),
        ("20101231", "BowlGames", "Sports"),
        ("20110101", "SportsOfTheYear", "Sport"),
    ];
    let blogs = blogs.map(|(published, title, category)| Blog {
        author: "Brady".to_owned(),
        published: published.to_owned(),
        title: title.to_owned(),
        category: category.to_owned(),
        text: format!("about {title}"),
    });
    blogs.into()
}

fn titles<'a>(titles: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    titles.map(String::as_str).collect()
}

#[tokio::test]
async fn blogs_of_an_author_are_found_by_date_and_by_category() {
    let (table, requests) = table("Blogs").await;
    for blog in brady() {
        let Blog {
            author,
            published,
            title,
            category,
            text,
        } = blog.clone();
        let twin = Twin {
            author,
            category,
            title,
            published,
            text,
        };
        let mut batch = table.batch();
        batch.push(TableOperation::insert(&blog)).unwrap();
        batch.push(TableOperation::insert(&twin)).unwrap();
        batch.submit().await.unwrap();
    }
    requests.lock().unwrap().clear();
    let sports = table
        .typed::<Twin>()
        .query()
        .key_prefix(Key::prefix(("Brady", "Sports")).unwrap());
    let sports = sports.all().await.unwrap();
    assert_eq!(
        titles(sports.iter().map(|twin| &twin.title)),
        ["BowlGames", "RandyToVikings"]
    );
    assert_eq!(sports[0].text, "about BowlGames");
    let day = |day| Key::<Blog>::prefix(("Brady", day)).unwrap();
    let december = table.typed::<Blog>().query().between(day("20101201"), day("20101231"));
    let december = december.all().await.unwrap();
    assert_eq!(
        titles(december.iter().map(|blog| &blog.title)),
        ["PartitionKeys", "BowlGames"]
    );
    // The post's conditions: the delimiter, and the character after it.
    let requests = requests.lock().unwrap();
    for (request, from, to) in [
        (&requests[0], "Sports;", "Sports<"),
        (&requests[1], "20101201;", "20101231<"),
    ] {
        let condition = format!("PartitionKey eq 'Brady' and RowKey ge '{from}' and RowKey lt '{to}'");
        assert!(request.contains(&condition), "{request}");
    }
}

#[tokio::test]
async fn index_row_leads_to_the_primary_row() {
    let (table, requests) = table("Blogs").await;
    for blog in brady() {
        let Blog {
            author,
            published,
            title,
            category,
            ..
        } = blog.clone();
        let row = IndexRow {
            author,
            category,
            title,
            published,
        };
        let mut batch = table.batch();
        batch.push(TableOperation::insert(&blog)).unwrap();
        batch.push(TableOperation::insert(&row)).unwrap();
        batch.submit().await.unwrap();
    }
    // The text is stored once.
    assert!(
        requests
            .lock()
            .unwrap()
            .iter()
            .all(|batch| batch.matches("about ").count() == 1)
    );
    let sports = table
        .typed::<IndexRow>()
        .query()
        .key_prefix(Key::prefix(("Brady", "Sports")).unwrap());
    let mut texts = Vec::new();
    for row in sports.all().await.unwrap() {
        let key = (row.author, format!("{};{}", row.published, row.title));
        texts.push(
            table
                .get(key)
                .await
                .unwrap()
                .unwrap()
                .property::<String>("Text")
                .unwrap(),
        );
    }
    assert_eq!(texts, ["about BowlGames", "about RandyToVikings"]);
}

#[derive(TableEntity, Clone)]
#[table(rename_all = "PascalCase")]
struct Movie {
    #[table(partition_key)]
    category: String,
    #[table(row_key)]
    title: String,
    release_year: i32,
    rating: f64,
    language: Option<String>,
    favorite: bool,
}

/// `UpdateObject` and `SaveChanges(Batch)` of the post.
#[tokio::test]
async fn favorite_movies_are_merged_under_their_etags_in_one_batch() {
    let (table, requests) = table("Movies").await;
    let movies = table.typed::<Movie>();
    let rows = [
        ("Cop Out", 4.5, Some("English")),
        ("Terminator", 4.8, None),
        ("White Water Rapids Survival", 3.9, Some("English")),
    ];
    for (title, rating, language) in rows {
        let movie = Movie {
            category: "Action".into(),
            title: title.into(),
            release_year: 2010,
            rating,
            language: language.map(str::to_owned),
            favorite: false,
        };
        let mut row = DynamicEntity::from_entity(&movie).unwrap();
        row.insert("Revenue", 0.0);
        table.insert(&row).await.unwrap();
    }
    requests.lock().unwrap().clear();
    let rated = movies.query().partition("Action").filter(Movie::RATING.gt(4.0));
    let read = rated.clone().versioned().all().await.unwrap();
    let mut batch = movies.batch();
    for mut movie in read.clone() {
        movie.favorite = true;
        batch.merge(&movie).unwrap();
    }
    assert_eq!(batch.submit().await.unwrap().len(), 2);

    let sent = std::mem::take(&mut *requests.lock().unwrap());
    let [query, batch] = sent.as_slice() else {
        panic!("{sent:?}")
    };
    assert!(query.contains("PartitionKey eq 'Action' and Rating gt 4.0"), "{query}");
    // OData 3 calls the MERGE of the post PATCH.
    assert_eq!(batch.matches("\nPATCH ").count(), 2, "{batch}");
    assert!(!batch.contains("PUT "), "{batch}");
    for movie in &read {
        assert!(batch.contains(&format!("If-Match: {}", movie.etag)), "{batch}");
    }
    // Null values are not sent, and properties that the struct does not know are not removed.
    assert_eq!(
        (
            batch.matches("\"ReleaseYear\":2010").count(),
            batch.matches("\"Language\"").count()
        ),
        (2, 1)
    );
    for (title, rating, language) in rows {
        let row = table.get(("Action", title)).await.unwrap().unwrap();
        assert_eq!(row.property::<bool>("Favorite").unwrap(), rating > 4.0);
        assert_eq!(row.property::<Option<String>>("Language").unwrap().as_deref(), language);
        assert_eq!(
            (row.property("ReleaseYear").unwrap(), row.property("Revenue").unwrap()),
            (2010, 0.0)
        );
    }

    // One movie is edited in between: its ETag fails the whole transaction.
    let read = rated.versioned().all().await.unwrap();
    let mut edited = read[1].clone();
    edited.rating = 4.9;
    movies.merge(&edited).await.unwrap();
    let mut batch = movies.batch();
    for mut movie in read {
        movie.favorite = false;
        batch.merge(&movie).unwrap();
    }
    let error = batch.submit().await.unwrap_err();
    assert_eq!(
        (error.kind(), error.batch_index()),
        (ErrorKind::ConditionNotMet, Some(1))
    );
    let favorites = movies.query().filter(Movie::FAVORITE.eq(true)).all().await.unwrap();
    assert_eq!((favorites.len(), favorites[1].rating), (2, 4.9));
}

#[tokio::test]
async fn salaries_of_washington_are_raised_in_one_batch() {
    let (table, requests) = table("employees").await;
    let rows = [
        ("1", 40_000.0, "Name"),
        ("2", 60_000.0, "Agency"),
        ("3", 100_000.0, "Car"),
    ];
    for (row_key, salary, other) in rows {
        let mut row = DynamicEntity::new("Washington", row_key);
        row.insert("Salary", salary);
        row.insert(other, "unchanged");
        table.insert(&row).await.unwrap();
    }
    requests.lock().unwrap().clear();
    let salaries = table
        .query()
        .partition("Washington")
        .select_names(["Salary"])
        .all()
        .await
        .unwrap();
    let mut batch = table.batch();
    for mut row in salaries {
        let salary: f64 = row.property("Salary").unwrap();
        let factor = match salary {
            ..50_000.0 => 1.1,
            ..100_000.0 => 1.05,
            _ => continue,
        };
        row.insert("Salary", salary * factor);
        batch.merge(&row).unwrap();
    }
    assert_eq!(batch.submit().await.unwrap().len(), 2);

    // Only salaries are read and written: whole rows would undo what others change meanwhile.
    let requests = std::mem::take(&mut *requests.lock().unwrap());
    let [read, write] = requests.as_slice() else {
        panic!("{requests:?}");
    };
    assert!(
        read.starts_with("GET") && read.contains("$select=PartitionKey,RowKey,Salary"),
        "{read}"
    );
    assert!(
        write.starts_with("POST") && write.matches("\"Salary\":").count() == 2,
        "{write}"
    );
    assert!(
        rows.iter()
            .all(|(_, _, other)| !write.contains(&format!("\"{other}\""))),
        "{write}"
    );
    for ((row_key, _, other), expected) in rows.into_iter().zip([44_000.0, 63_000.0, 100_000.0]) {
        let row = table.get(("Washington", row_key)).await.unwrap().unwrap();
        assert!(
            (row.property::<f64>("Salary").unwrap() - expected).abs() < 0.001,
            "{row:?}"
        );
        assert_eq!(row.property::<String>(other).unwrap(), "unchanged");
    }
}
