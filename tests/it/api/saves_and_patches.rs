//! Writes that update the ETag of the entity, patches of many rows, and tables named by their type.

use azure_table::entity::NamedTable;
use azure_table::{
    DynamicEntity, ETag, Emulator, ErrorKind, TableClient, TableEntity, TableOperation, TableServiceClient, Versioned,
};

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

async fn blogs() -> TableClient<Blog> {
    let blogs = TableServiceClient::from_transport(Emulator::new())
        .table_of::<Blog>()
        .unwrap();
    blogs.create_table().await.unwrap();
    for (channel, id) in [("a", 1), ("a", 2), ("b", 1)] {
        blogs.insert(&blog(channel, id)).await.unwrap();
    }
    blogs
}

#[tokio::test]
async fn saved_entity_has_the_new_etag() {
    let blogs = blogs().await;
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
#[tokio::test]
async fn only_text_of_the_form_of_an_etag_is_sent() {
    let blogs = blogs().await;
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
        let error = blogs.replace(&read).if_match(ETag::new(text)).await.unwrap_err();
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0), "{text}");
        let form = "is no ETag, which has the form `W/\"…\"`: pass the whole text that a read or a write returned";
        assert!(error.to_string().contains(form), "{error}");
        let stored = Versioned {
            etag: ETag::new(text),
            ..read.clone()
        };
        let row = DynamicEntity {
            etag: Some(ETag::new(text)),
            ..DynamicEntity::from_entity(&read.entity).unwrap()
        };
        for error in [
            blogs.replace(&stored).await.unwrap_err(),
            blogs.delete(&stored).await.unwrap_err(),
            rows.merge(&row).await.unwrap_err(),
        ] {
            assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0), "{text}");
            assert!(error.to_string().contains(form), "{error}");
        }
        let mut batch = blogs.batch();
        let operation = TableOperation::delete::<Blog>(("a", 1)).if_match(ETag::new(text));
        assert!(batch.push(operation).is_err(), "{text}");
        assert!(batch.push(TableOperation::replace(&stored)).is_err(), "{text}");
        batch.push(TableOperation::replace(&stored).unconditionally()).unwrap();
    }
    let stale = blogs
        .replace(&read)
        .if_match(ETag::new("W/\"wrong\""))
        .await
        .unwrap_err();
    assert_eq!(stale.kind(), ErrorKind::ConditionNotMet);
    blogs.replace(&read).if_match(ETag::new("*")).await.unwrap();
}

/// A .NET entity always has its ETag. A program that forgets `.versioned()` must not overwrite the writes of others.
#[tokio::test]
async fn entity_without_an_etag_is_not_saved() {
    let blogs = blogs().await;
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

#[tokio::test]
async fn etag_field_takes_the_new_etag_too() {
    #[derive(TableEntity, Debug)]
    struct Counter {
        #[table(partition_key)]
        name: String,
        #[table(row_key)]
        of: String,
        value: i64,
        #[table(etag)]
        etag: Option<ETag>,
    }
    let counters = TableServiceClient::from_transport(Emulator::new())
        .table::<Counter>("Counters")
        .unwrap();
    counters.create_table().await.unwrap();
    let mut counter = Counter {
        name: "visits".into(),
        of: "home".into(),
        value: 0,
        etag: None,
    };
    counter.etag = Some(counters.insert(&counter).await.unwrap());
    for value in 1..=3 {
        counter.value = value;
        counters.save(&mut counter).await.unwrap();
    }
    let stored = counters.get(("visits", "home")).await.unwrap().unwrap();
    assert_eq!((stored.value, &stored.etag), (3, &counter.etag));
}

#[tokio::test]
async fn batch_patches_columns_under_the_version_it_is_given() {
    let blogs = blogs().await;
    let read = blogs.get(("a", 2)).versioned().await.unwrap().unwrap();
    let mut batch = blogs.batch();
    batch
        .patch(("a", 1), [Blog::RATING.set(5)])
        .unwrap()
        .patch(&read, [Blog::TEXT.set("bye")])
        .unwrap();
    batch.submit().await.unwrap();
    let rows = blogs.query().partition("a").all().await.unwrap();
    assert_eq!((rows[0].rating, &*rows[0].text), (5, "hi"));
    assert_eq!((rows[1].rating, &*rows[1].text), (1, "bye"));

    let mut batch = blogs.batch();
    batch.patch(&read, [Blog::RATING.set(9)]).unwrap();
    assert_eq!(batch.submit().await.unwrap_err().kind(), ErrorKind::ConditionNotMet);
}

#[tokio::test]
async fn bulk_patches_rows_of_several_partitions() {
    let blogs = blogs().await;
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
    let service = TableServiceClient::from_transport(Emulator::new());
    assert_eq!(service.table_of::<Blog>().unwrap().name().as_str(), "Blogs");
    assert_eq!(service.table_of::<Pair<i32>>().unwrap().name().as_str(), "Pairs");
    assert_eq!(service.table_of::<Anything>().unwrap().name().as_str(), "Anything");
    let prefixed = service.prefixed("t42").unwrap();
    assert_eq!(prefixed.table_of::<Blog>().unwrap().name().as_str(), "t42Blogs");
    assert_eq!(service.table_of::<Plain>().unwrap_err().kind(), ErrorKind::InvalidInput);
}
