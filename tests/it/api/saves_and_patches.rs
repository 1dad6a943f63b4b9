//! Writes that update the ETag of the entity, patches of many rows, and tables named by their type.

use azure_table::entity::NamedTable;
use azure_table::{
    DynamicEntity, ETag, Emulator, ErrorKind, Result, TableClient, TableEntity, TableOperation, TableServiceClient,
    Versioned,
};
use azure_table_tests::entities::Tracked;
use azure_table_tests::errors::assert_contains;

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Blogs")]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: u32,
    rating: i32,
    text: String,
}

fn blog(channel: &str, id: u32) -> Blog {
    Blog {
        channel: channel.into(),
        id,
        rating: 1,
        text: "hi".into(),
    }
}

async fn fill(blogs: &TableClient<Blog>) {
    for (channel, id) in [("a", 1), ("a", 2), ("b", 1)] {
        blogs.insert(&blog(channel, id)).await.unwrap();
    }
}

#[azure_table::test]
async fn saved_entity_has_the_new_etag(blogs: TableClient<Blog>) {
    fill(&blogs).await;
    let mut read: Versioned<Blog> = blogs.get(("a", 1)).versioned().await.unwrap().unwrap();
    let mut stale = read.clone();
    for rating in [2, 3] {
        read.rating = rating;
        blogs.save(&mut read).await.unwrap();
    }
    let stored = blogs.get(("a", 1)).versioned().await.unwrap().unwrap();
    assert_eq!((&stored.entity, &stored.etag), (&read.entity, &read.etag));

    let held = stale.etag.clone();
    let error = blogs.save(&mut stale).await.unwrap_err();
    assert_eq!((error.kind(), &stale.etag), (ErrorKind::ConditionNotMet, &held));
    blogs.refresh(&mut stale).await.unwrap();
    blogs.save(&mut stale).await.unwrap();
}

/// The service rejects such a text with 400 `InvalidInput`.
#[azure_table::test]
async fn only_text_of_the_form_of_an_etag_is_sent(blogs: TableClient<Blog>) {
    fill(&blogs).await;
    let read = blogs.get(("a", 1)).versioned().await.unwrap().unwrap();
    let rows = blogs.typed::<DynamicEntity>();
    for text in [
        "garbage",
        "",
        "W/",
        "W/\"",
        "\"",
        "w/\"1\"",
        "\"1\", \"2\"",
        "datetime'2026-01-01T00%3A00%3A00Z'",
    ] {
        let form = "is no ETag, which has the form `W/\"…\"`: pass the whole text that a read or a write returned";
        let stored = Versioned {
            etag: ETag::new(text),
            ..read.clone()
        };
        let row = DynamicEntity {
            etag: Some(ETag::new(text)),
            ..DynamicEntity::from_entity(&read.entity).unwrap()
        };
        for error in [
            blogs.replace(&read).if_match(ETag::new(text)).await.unwrap_err(),
            blogs.replace(&stored).await.unwrap_err(),
            blogs.delete(&stored).await.unwrap_err(),
            rows.merge(&row).await.unwrap_err(),
        ] {
            assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0), "{text}");
            assert_contains(&error, form);
        }
        let mut batch = blogs.batch();
        let operation = TableOperation::delete::<Blog>(("a", 1)).if_match(ETag::new(text));
        assert!(batch.push(operation).is_err(), "{text}");
        assert!(batch.push(TableOperation::replace(&stored)).is_err(), "{text}");
        batch.push(TableOperation::replace(&stored).unconditionally()).unwrap();
    }
    let stale = blogs.replace(&read).if_match(ETag::new("W/\"wrong\""));
    assert_eq!(stale.await.unwrap_err().kind(), ErrorKind::ConditionNotMet);
    blogs.replace(&read).if_match(ETag::new("*")).await.unwrap();
}

/// A .NET entity always has its ETag. A program that forgets `.versioned()` must not overwrite the writes of others.
#[azure_table::test]
async fn entity_without_an_etag_is_not_saved(blogs: TableClient<Blog>) {
    fill(&blogs).await;
    let mut read = blogs.get(("a", 1)).await.unwrap().unwrap();
    read.rating = 99;
    let error = blogs.save(&mut read).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(
        error.to_string(),
        "replace in table Blogs: entity (\"a\", \"0000000001\"): the entity holds no ETag: read it with `.versioned()`, \
         or overwrite any version with `replace`"
    );
    let stored = blogs.get(("a", 1)).await.unwrap().unwrap();
    assert_ne!(stored.rating, 99);

    let mut row = DynamicEntity::new("a", "1");
    let error = blogs.typed::<DynamicEntity>().save(&mut row).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[azure_table::test]
async fn etag_field_takes_the_new_etag_too(rows: TableClient<Tracked>) {
    let mut row = Tracked::new("g", 1, "0");
    row.version = Some(rows.insert(&row).await.unwrap());
    for value in 1..=3 {
        row.value = value.to_string();
        rows.save(&mut row).await.unwrap();
    }
    let stored = rows.get(("g", 1)).await.unwrap().unwrap();
    assert_eq!((&*stored.value, &stored.version), ("3", &row.version));
}

#[azure_table::test]
async fn batch_patches_columns_under_the_version_it_is_given(blogs: TableClient<Blog>) {
    fill(&blogs).await;
    let read = blogs.get(("a", 2)).versioned().await.unwrap().unwrap();
    let mut batch = blogs.batch();
    batch.patch(("a", 1), [Blog::RATING.set(5)]).unwrap();
    batch.patch(&read, [Blog::TEXT.set("bye")]).unwrap();
    batch.submit().await.unwrap();
    let rows = blogs.query().partition("a").all().await.unwrap();
    assert_eq!((rows[0].rating, &*rows[0].text), (5, "hi"));
    assert_eq!((rows[1].rating, &*rows[1].text), (1, "bye"));

    let mut batch = blogs.batch();
    batch.patch(&read, [Blog::RATING.set(9)]).unwrap();
    assert_eq!(batch.submit().await.unwrap_err().kind(), ErrorKind::ConditionNotMet);
}

#[azure_table::test]
async fn bulk_patches_rows_of_several_partitions(blogs: TableClient<Blog>) {
    fill(&blogs).await;
    let patches = [("a", 1), ("b", 1), ("b", 7)].map(|key| (key, [Blog::RATING.set(5)]));
    let report = blogs.bulk().patch(patches).await.unwrap();
    assert_eq!((report.applied(), report.rejected()), (2, 1));
    let rows = blogs.query().all().await.unwrap();
    let shown: Vec<_> = rows.iter().map(|row| (row.rating, &*row.text)).collect();
    assert_eq!(shown, [(5, "hi"), (1, "hi"), (5, "hi")]);
}

#[test]
fn type_names_its_table() {
    #[derive(TableEntity)]
    #[table(name = "Pairs")]
    struct Pair<T> {
        #[table(partition_key)]
        one: String,
        #[table(row_key)]
        other: String,
        value: T,
    }
    #[derive(TableEntity)]
    #[table(name = "Anything", tag = "Kind")]
    enum Anything {
        Blog(Blog),
        #[table(other)]
        Other(DynamicEntity),
    }
    #[derive(TableEntity)]
    struct Plain {
        #[table(partition_key)]
        one: String,
        #[table(row_key)]
        other: String,
    }
    impl NamedTable for Plain {
        const TABLE: &'static str = "no table";
    }
    fn name<E: NamedTable>(service: &TableServiceClient) -> Result<String> {
        Ok(service.table_of::<E>()?.name().to_string())
    }
    let service = TableServiceClient::from_transport(Emulator::new());
    assert_eq!(name::<Blog>(&service).unwrap(), "Blogs");
    assert_eq!(name::<Pair<i32>>(&service).unwrap(), "Pairs");
    assert_eq!(name::<Anything>(&service).unwrap(), "Anything");
    let prefixed = service.prefixed("t42").unwrap();
    assert_eq!(name::<Blog>(&prefixed).unwrap(), "t42Blogs");
    assert_eq!(name::<Plain>(&service).unwrap_err().kind(), ErrorKind::InvalidInput);
}
