//! A serde struct in every call of the client.

use azure_table::entity::{AnnotatedEntity, SerdeEntity};
use azure_table::{
    Column, EdmValue, Emulator, ErrorKind, Filter, TableClient, TableOperation, TableServiceClient, Versioned,
};
use serde::{Deserialize, Serialize};

use super::table;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Blog {
    // The RowKey first: the keys may have any order.
    #[serde(rename = "RowKey")]
    id: String,
    title: String,
    #[serde(rename = "PartitionKey")]
    channel: String,
    views: i64,
    author: Option<String>,
}

fn blog(id: &str) -> Blog {
    Blog {
        id: id.into(),
        title: "Hello".into(),
        channel: "Channel9".into(),
        views: 5,
        author: Some("Ada".into()),
    }
}

#[tokio::test]
async fn single_writes_and_reads_take_serde_structs() {
    let blogs = table::<Blog>().await;
    blogs.insert(&SerdeEntity(blog("1"))).await.unwrap();
    assert_eq!(
        blogs.get(("Channel9", "1")).await.unwrap(),
        Some(SerdeEntity(blog("1")))
    );
    let again = blogs.insert(&SerdeEntity(blog("1"))).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::AlreadyExists);
    let echo = blogs.insert_returning(&SerdeEntity(blog("2"))).await.unwrap();
    assert_eq!(echo.title, "Hello");
    assert_eq!(blogs.insert_if_not_exists(&SerdeEntity(blog("2"))).await.unwrap(), None);

    let mut changed = SerdeEntity(blog("1"));
    changed.author = None;
    blogs.merge(&changed).await.unwrap();
    let stored = blogs.get(("Channel9", "1")).await.unwrap().unwrap();
    assert_eq!(stored.author.as_deref(), Some("Ada"));
    blogs.replace(&changed).await.unwrap();
    assert_eq!(blogs.get(("Channel9", "1")).await.unwrap().unwrap().author, None);
    blogs.insert_or_merge(&SerdeEntity(blog("1"))).await.unwrap();
    blogs.insert_or_replace(&SerdeEntity(blog("3"))).await.unwrap();
    assert_eq!(blogs.query().partition("Channel9").all().await.unwrap().len(), 3);

    let views = Column::<SerdeEntity<Blog>, i32>::property("views");
    blogs.patch(("Channel9", "3"), [views.set(9)]).await.unwrap();
    blogs.modify(("Channel9", "3"), |blog| blog.views += 1).await.unwrap();
    assert_eq!(blogs.get(("Channel9", "3")).await.unwrap().unwrap().views, 10);
    blogs.delete(&SerdeEntity(blog("3"))).await.unwrap();
    blogs.delete(("Channel9", "2")).await.unwrap();
    assert!(!blogs.exists(("Channel9", "3")).await.unwrap());
}

#[tokio::test]
async fn references_are_written_without_a_clone() {
    let blogs = table::<Blog>().await;
    let own = [blog("1"), blog("2"), blog("3")];
    blogs.insert(&SerdeEntity(&own[0])).await.unwrap();
    let mut batch = blogs.batch();
    batch.insert(&SerdeEntity(&own[1])).unwrap();
    batch.submit().await.unwrap();
    let report = blogs.bulk().insert(own[2..].iter().map(SerdeEntity)).await.unwrap();
    assert_eq!(report.applied(), 1);
    let rows = blogs.query().all().await.unwrap();
    assert_eq!(rows.into_iter().map(SerdeEntity::into_inner).collect::<Vec<_>>(), own);
}

#[tokio::test]
async fn versioned_writes_fail_if_the_row_has_changed() {
    let blogs = table::<Blog>().await;
    blogs.insert(&SerdeEntity(blog("1"))).await.unwrap();
    let mut first: Versioned<SerdeEntity<Blog>> = blogs.get(("Channel9", "1")).versioned().await.unwrap().unwrap();
    let mut second = first.clone();
    first.title = "First".into();
    first.etag = blogs.replace(&first).await.unwrap();
    second.title = "Second".into();
    let lost = blogs.replace(&second).await.unwrap_err();
    assert_eq!(lost.kind(), ErrorKind::ConditionNotMet);
    blogs.delete(&first).await.unwrap();
}

#[tokio::test]
async fn batches_and_bulks_write_serde_structs() {
    let blogs = table::<Blog>().await;
    let mut batch = blogs.batch();
    batch.insert(&SerdeEntity(blog("1"))).unwrap();
    batch.insert_or_replace(&SerdeEntity(blog("2"))).unwrap();
    batch.submit().await.unwrap();
    let rows = (3..=250).map(|n| SerdeEntity(blog(&n.to_string())));
    assert_eq!(blogs.bulk().insert(rows).await.unwrap().applied(), 248);
    let operation = TableOperation::merge(&SerdeEntity::new(blog("1")));
    blogs.execute(operation).await.unwrap();
    assert_eq!(blogs.query().all().await.unwrap().len(), 250);
}

#[tokio::test]
async fn filters_are_text_or_columns_of_a_given_name_and_type() {
    let blogs = table::<Blog>().await;
    for (id, views) in [("1", 1), ("2", 2), ("3", 3)] {
        blogs.insert(&SerdeEntity(Blog { views, ..blog(id) })).await.unwrap();
    }
    let raw = Filter::raw("views ge 2 and title eq 'Hello'");
    assert_eq!(blogs.query().filter(raw).all().await.unwrap().len(), 2);
    let views = Column::<SerdeEntity<Blog>, i32>::property("views");
    assert_eq!(blogs.query().filter(views.gt(2)).all().await.unwrap()[0].id, "3");
}

#[tokio::test]
async fn annotated_table_stores_exact_types_and_reads_rows_of_both_forms() {
    let service = TableServiceClient::from_transport(Emulator::new());
    let plain = service.table::<SerdeEntity<Blog>>("Blogs").unwrap();
    plain.create_table().await.unwrap();
    let exact: TableClient<AnnotatedEntity<Blog>> = plain.annotated();
    plain.insert(&SerdeEntity(blog("1"))).await.unwrap();
    let popular = Blog {
        views: 3_000_000_000,
        ..blog("2")
    };
    exact.insert(&SerdeEntity(&popular)).await.unwrap();
    let mut batch = exact.batch();
    batch.insert(&SerdeEntity(blog("3"))).unwrap();
    batch.submit().await.unwrap();

    let types = |id: &'static str| {
        let rows = service.dynamic_table("Blogs").unwrap();
        async move {
            rows.get(("Channel9", id))
                .await
                .unwrap()
                .unwrap()
                .remove("views")
                .unwrap()
        }
    };
    assert_eq!(types("1").await, EdmValue::Int32(5));
    assert_eq!(types("2").await, EdmValue::Int64(3_000_000_000));
    assert_eq!(types("3").await, EdmValue::Int64(5));
    let views = [5, 3_000_000_000, 5];
    let of = |rows: Vec<i64>| assert_eq!(rows, views);
    of(plain
        .query()
        .all()
        .await
        .unwrap()
        .iter()
        .map(|blog| blog.views)
        .collect());
    of(exact
        .query()
        .all()
        .await
        .unwrap()
        .iter()
        .map(|blog| blog.views)
        .collect());

    exact.modify(("Channel9", "2"), |blog| blog.views += 1).await.unwrap();
    let error = plain
        .modify(("Channel9", "2"), |blog| blog.views += 1)
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("property `views`: 3000000002 is beyond Edm.Int32"),
        "{error}"
    );
}
