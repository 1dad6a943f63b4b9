//! Rows that belong together and are written in one transaction: a member and its rentals, a blog under two keys,
//! favorite movies, a raise for a department.
//!
//! Source: "How to get the most out of Windows Azure Tables" (2010), entity group transactions, intra-partition index,
//! inserting and updating entities; "Windows Azure Storage Client for Java Tables Deep Dive" (2012), salaries.

use azure_table::testing::Spy;
use azure_table::{DynamicEntity, ErrorKind, Key, Result, TableClient, TableEntity, TableOperation};

/// Adds to the count in the row `Member`, under its ETag, together with one other operation: both or none.
async fn count(table: &TableClient, member: &str, by: i32, other: TableOperation) -> Result<()> {
    let mut row = table.get((member, "Member")).versioned().await?.unwrap();
    let rentals: i32 = row.property("Rentals")?;
    row.insert("Rentals", rentals + by);
    let mut batch = table.batch();
    batch.push(other)?.replace(&row)?;
    batch.submit().await.map(drop)
}

/// Inserts `Rental_<movie>` and counts it.
async fn rent(table: &TableClient, member: &str, movie: &str) -> Result<()> {
    let mut rental = DynamicEntity::new(member, format!("Rental_{movie}"));
    rental.insert("Due", "2010-11-20");
    count(table, member, 1, TableOperation::insert(&rental)).await
}

/// Deletes the rental and counts it no more.
async fn give_back(table: &TableClient, member: &str, movie: &str) -> Result<()> {
    let rental = TableOperation::delete::<DynamicEntity>((member, format!("Rental_{movie}")));
    count(table, member, -1, rental).await
}

/// The count and the number of the rentals.
async fn state(table: &TableClient, member: &str) -> Result<(i32, usize)> {
    let rows = table.query().partition(member).all().await?;
    let member = rows.iter().find(|row| row.row_key == "Member").unwrap();
    let rentals = rows.iter().filter(|row| row.row_key.starts_with("Rental_"));
    Ok((member.property("Rentals")?, rentals.count()))
}

#[azure_table::test]
async fn rental_and_the_count_of_its_member_change_together(table: TableClient) -> Result<()> {
    let mut member = DynamicEntity::new("m7", "Member");
    member.insert("Name", "Jean");
    member.insert("Rentals", 0);
    table.insert(&member).await?;

    for movie in ["TheJackal", "Unforgiven"] {
        rent(&table, "m7", movie).await?;
    }
    assert_eq!(state(&table, "m7").await?, (2, 2));
    // A movie that is rented already: the count stays.
    let error = rent(&table, "m7", "TheJackal").await.unwrap_err();
    assert_eq!((error.kind(), error.batch_index()), (ErrorKind::AlreadyExists, Some(0)));
    assert_eq!(state(&table, "m7").await?, (2, 2));
    // A movie that is not: neither does the count change.
    let error = give_back(&table, "m7", "Alien").await.unwrap_err();
    assert_eq!((error.kind(), error.batch_index()), (ErrorKind::NotFound, Some(0)));
    assert_eq!(state(&table, "m7").await?, (2, 2));
    give_back(&table, "m7", "TheJackal").await?;
    assert_eq!(state(&table, "m7").await?, (1, 1));

    // Clerks at once: the ETag of the member lets one count only, and no rental is lost or counted twice.
    let clerks = ["A", "B", "C", "D"].map(|movie| rent(&table, "m7", movie));
    let clerks = futures::future::join_all(clerks).await;
    let rented = clerks.iter().filter(|rented| rented.is_ok()).count();
    assert!(rented >= 1);
    assert_eq!(state(&table, "m7").await?, (1 + rented as i32, 1 + rented));
    Ok(())
}

/// Table 4 and Table 5 of the post: the primary row.
#[derive(TableEntity)]
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
#[derive(TableEntity)]
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
#[derive(TableEntity)]
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

/// Inserts each blog with its other row in one batch.
async fn insert_with<Other: TableEntity>(table: &TableClient, other: impl Fn(Blog) -> Other) -> Result<()> {
    for [published, title, category] in [
        ["20100920", "RandyToVikings", "Sports"],
        ["20101130", "CyberMonday", "Shopping"],
        ["20101201", "PartitionKeys", "Azure"],
        ["20101231", "BowlGames", "Sports"],
        ["20110101", "SportsOfTheYear", "Sport"],
    ] {
        let blog = Blog {
            author: "Brady".into(),
            published: published.into(),
            title: title.into(),
            category: category.into(),
            text: format!("about {title}"),
        };
        let mut batch = table.batch();
        batch.push(TableOperation::insert(&blog))?;
        batch.push(TableOperation::insert(&other(blog)))?;
        batch.submit().await?;
    }
    Ok(())
}

#[azure_table::test]
async fn blogs_of_an_author_are_found_by_date_and_by_category(blogs: TableClient, spy: Spy) -> Result<()> {
    let twin = |blog: Blog| Twin {
        author: blog.author,
        category: blog.category,
        title: blog.title,
        published: blog.published,
        text: blog.text,
    };
    insert_with(&blogs, twin).await?;
    spy.clear();
    let sports = Key::prefix(("Brady", "Sports"))?;
    let sports = blogs.typed::<Twin>().query().key_prefix(sports).all().await?;
    let texts: Vec<_> = sports.iter().map(|twin| twin.text.as_str()).collect();
    assert_eq!(texts, ["about BowlGames", "about RandyToVikings"]);
    let day = |day| Key::<Blog>::prefix(("Brady", day));
    let december = blogs.typed::<Blog>().query();
    let december = december.between(day("20101201")?, day("20101231")?).all().await?;
    let titles: Vec<_> = december.iter().map(|blog| blog.title.as_str()).collect();
    assert_eq!(titles, ["PartitionKeys", "BowlGames"]);
    // The post's conditions: the delimiter, and the character after it.
    for (request, [from, to]) in spy
        .exchanges()
        .iter()
        .zip([["Sports;", "Sports<"], ["20101201;", "20101231<"]])
    {
        let condition = format!("PartitionKey eq 'Brady' and RowKey ge '{from}' and RowKey lt '{to}'");
        assert_eq!(request.parameter("$filter"), Some(condition));
    }
    assert_eq!(spy.requests(), 2);
    Ok(())
}

#[azure_table::test]
async fn index_row_leads_to_the_primary_row(blogs: TableClient, spy: Spy) -> Result<()> {
    spy.clear();
    let index_row = |blog: Blog| IndexRow {
        author: blog.author,
        category: blog.category,
        title: blog.title,
        published: blog.published,
    };
    insert_with(&blogs, index_row).await?;
    // The text is stored once.
    let batches = spy.exchanges();
    assert!(batches.iter().all(|batch| batch.body().matches("about ").count() == 1));
    let sports = Key::prefix(("Brady", "Sports"))?;
    let mut texts = Vec::new();
    for row in blogs.typed::<IndexRow>().query().key_prefix(sports).all().await? {
        let key = (row.author, format!("{};{}", row.published, row.title));
        texts.push(blogs.get(key).await?.unwrap().property::<String>("Text")?);
    }
    assert_eq!(texts, ["about BowlGames", "about RandyToVikings"]);
    Ok(())
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
#[azure_table::test]
async fn favorite_movies_are_merged_under_their_etags_in_one_batch(table: TableClient, spy: Spy) -> Result<()> {
    let movies = table.typed::<Movie>();
    let rows = [
        ("Cop Out", 4.5, Some("English")),
        ("Terminator", 4.8, None),
        ("White Water Rapids Survival", 3.9, Some("English")),
    ];
    for (title, rating, language) in rows {
        let mut row = DynamicEntity::from_entity(&Movie {
            category: "Action".into(),
            title: title.into(),
            release_year: 2010,
            rating,
            language: language.map(str::to_owned),
            favorite: false,
        })?;
        row.insert("Revenue", 0.0);
        table.insert(&row).await?;
    }
    spy.clear();
    let rated = movies.query().partition("Action").filter(Movie::RATING.gt(4.0));
    let read = rated.clone().versioned().all().await?;
    let mut batch = movies.batch();
    for mut movie in read.clone() {
        movie.favorite = true;
        batch.merge(&movie)?;
    }
    assert_eq!(batch.submit().await?.len(), 2);

    let sent = spy.exchanges();
    assert_eq!(sent.len(), 2);
    let filter = "PartitionKey eq 'Action' and Rating gt 4.0";
    assert_eq!(sent[0].parameter("$filter").as_deref(), Some(filter));
    // OData 3 calls the MERGE of the post PATCH. Null values are not sent.
    let batch = sent[1].body();
    let parts = ["\nPATCH ", "PUT ", "\"ReleaseYear\":2010", "\"Language\""];
    assert_eq!(parts.map(|part| batch.matches(part).count()), [2, 0, 2, 1], "{batch}");
    for movie in &read {
        assert!(batch.contains(&format!("If-Match: {}", movie.etag)), "{batch}");
    }
    // Properties that the struct does not know are not removed.
    for (title, rating, language) in rows {
        let row = table.get(("Action", title)).await?.unwrap();
        assert_eq!(row.property::<bool>("Favorite")?, rating > 4.0);
        assert_eq!(row.property::<Option<String>>("Language")?.as_deref(), language);
        assert_eq!((row.property("ReleaseYear")?, row.property("Revenue")?), (2010, 0.0));
    }

    // One movie is edited in between: its ETag fails the whole transaction.
    let read = rated.versioned().all().await?;
    let mut edited = read[1].clone();
    edited.rating = 4.9;
    movies.merge(&edited).await?;
    let mut batch = movies.batch();
    for mut movie in read {
        movie.favorite = false;
        batch.merge(&movie)?;
    }
    let error = batch.submit().await.unwrap_err();
    assert_eq!(
        (error.kind(), error.batch_index()),
        (ErrorKind::ConditionNotMet, Some(1))
    );
    let favorites = movies.query().filter(Movie::FAVORITE.eq(true)).all().await?;
    assert_eq!((favorites.len(), favorites[1].rating), (2, 4.9));
    Ok(())
}

#[azure_table::test]
async fn salaries_of_washington_are_raised_in_one_batch(employees: TableClient, spy: Spy) -> Result<()> {
    let rows = [
        ("1", 40_000.0, "Name"),
        ("2", 60_000.0, "Agency"),
        ("3", 100_000.0, "Car"),
    ];
    for (row_key, salary, other) in rows {
        let mut row = DynamicEntity::new("Washington", row_key);
        row.insert("Salary", salary);
        row.insert(other, "unchanged");
        employees.insert(&row).await?;
    }
    spy.clear();
    let salaries = employees.query().partition("Washington").select_names(["Salary"]);
    let mut batch = employees.batch();
    for mut row in salaries.all().await? {
        let salary: f64 = row.property("Salary")?;
        let factor = match salary {
            ..50_000.0 => 1.1,
            ..100_000.0 => 1.05,
            _ => continue,
        };
        row.insert("Salary", salary * factor);
        batch.merge(&row)?;
    }
    assert_eq!(batch.submit().await?.len(), 2);

    // Only salaries are read and written: whole rows would undo what others change meanwhile.
    let requests = spy.exchanges();
    assert_eq!(
        requests.iter().map(|it| it.method()).collect::<Vec<_>>(),
        ["GET", "POST"]
    );
    let selected = requests[0].parameter("$select");
    assert_eq!(selected.as_deref(), Some("PartitionKey,RowKey,Salary"));
    let written = requests[1].body();
    assert_eq!(written.matches("\"Salary\":").count(), 2, "{written}");
    assert!(
        rows.iter()
            .all(|(_, _, other)| !written.contains(&format!("\"{other}\""))),
        "{written}"
    );
    for ((row_key, _, other), expected) in rows.into_iter().zip([44_000.0, 63_000.0, 100_000.0]) {
        let row = employees.get(("Washington", row_key)).await?.unwrap();
        assert!((row.property::<f64>("Salary")? - expected).abs() < 0.001, "{row:?}");
        assert_eq!(row.property::<String>(other)?, "unchanged");
    }
    Ok(())
}
