//! A serde struct in every call of the client.

use azure_table::entity::{AnnotatedEntity, SerdeEntity};
use azure_table::{Column, DynamicEntity, EdmValue, ErrorKind, Filter, Result, TableClient, TableOperation, Versioned};
use serde::{Deserialize, Serialize};

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

#[azure_table::test]
async fn single_writes_and_reads_take_serde_structs(blogs: TableClient<SerdeEntity<Blog>>) -> Result<()> {
    blogs.insert(&SerdeEntity(blog("1"))).await?;
    assert_eq!(blogs.get(("Channel9", "1")).await?, Some(SerdeEntity(blog("1"))));
    let again = blogs.insert(&SerdeEntity(blog("1"))).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::AlreadyExists);
    let echo = blogs.insert_returning(&SerdeEntity(blog("2"))).await?;
    assert_eq!(echo.title, "Hello");
    assert_eq!(blogs.insert_if_not_exists(&SerdeEntity(blog("2"))).await?, None);

    let mut changed = SerdeEntity(blog("1"));
    changed.author = None;
    blogs.merge(&changed).await?;
    let stored = blogs.get(("Channel9", "1")).await?.unwrap();
    assert_eq!(stored.author.as_deref(), Some("Ada"));
    blogs.replace(&changed).await?;
    assert_eq!(blogs.get(("Channel9", "1")).await?.unwrap().author, None);
    blogs.insert_or_merge(&SerdeEntity(blog("1"))).await?;
    blogs.insert_or_replace(&SerdeEntity(blog("3"))).await?;
    assert_eq!(blogs.query().partition("Channel9").all().await?.len(), 3);

    let views = Column::<SerdeEntity<Blog>, i32>::property("views");
    blogs.patch(("Channel9", "3"), [views.set(9)]).await?;
    blogs.modify(("Channel9", "3"), |blog| blog.views += 1).await?;
    assert_eq!(blogs.get(("Channel9", "3")).await?.unwrap().views, 10);
    blogs.delete(&SerdeEntity(blog("3"))).await?;
    blogs.delete(("Channel9", "2")).await?;
    assert!(!blogs.exists(("Channel9", "3")).await?);
    Ok(())
}

#[azure_table::test]
async fn references_are_written_without_a_clone(blogs: TableClient<SerdeEntity<Blog>>) -> Result<()> {
    let own = [blog("1"), blog("2"), blog("3")];
    blogs.insert(&SerdeEntity(&own[0])).await?;
    let mut batch = blogs.batch();
    batch.insert(&SerdeEntity(&own[1]))?;
    batch.submit().await?;
    let report = blogs.bulk().insert(own[2..].iter().map(SerdeEntity)).await?;
    assert_eq!(report.applied(), 1);
    let rows = blogs.query().all().await?;
    assert_eq!(rows.into_iter().map(SerdeEntity::into_inner).collect::<Vec<_>>(), own);
    Ok(())
}

#[azure_table::test]
async fn versioned_writes_fail_if_the_row_has_changed(blogs: TableClient<SerdeEntity<Blog>>) -> Result<()> {
    blogs.insert(&SerdeEntity(blog("1"))).await?;
    let mut first: Versioned<SerdeEntity<Blog>> = blogs.get(("Channel9", "1")).versioned().await?.unwrap();
    let mut second = first.clone();
    first.title = "First".into();
    first.etag = blogs.replace(&first).await?;
    second.title = "Second".into();
    let lost = blogs.replace(&second).await.unwrap_err();
    assert_eq!(lost.kind(), ErrorKind::ConditionNotMet);
    blogs.delete(&first).await?;
    Ok(())
}

#[azure_table::test]
async fn batches_and_bulks_write_serde_structs(blogs: TableClient<SerdeEntity<Blog>>) -> Result<()> {
    let mut batch = blogs.batch();
    batch.insert(&SerdeEntity(blog("1")))?;
    batch.insert_or_replace(&SerdeEntity(blog("2")))?;
    batch.submit().await?;
    let rows = (3..=250).map(|n| SerdeEntity(blog(&n.to_string())));
    assert_eq!(blogs.bulk().insert(rows).await?.applied(), 248);
    let operation = TableOperation::merge(&SerdeEntity::new(blog("1")));
    blogs.execute(operation).await?;
    assert_eq!(blogs.query().all().await?.len(), 250);
    Ok(())
}

#[azure_table::test]
async fn filters_are_text_or_columns_of_a_given_name_and_type(blogs: TableClient<SerdeEntity<Blog>>) -> Result<()> {
    for (id, views) in [("1", 1), ("2", 2), ("3", 3)] {
        blogs.insert(&SerdeEntity(Blog { views, ..blog(id) })).await?;
    }
    let raw = Filter::raw("views ge 2 and title eq 'Hello'");
    assert_eq!(blogs.query().filter(raw).all().await?.len(), 2);
    let views = Column::<SerdeEntity<Blog>, i32>::property("views");
    assert_eq!(blogs.query().filter(views.gt(2)).all().await?[0].id, "3");
    Ok(())
}

#[azure_table::test]
async fn annotated_table_stores_exact_types_and_reads_rows_of_both_forms(
    plain: TableClient<SerdeEntity<Blog>>,
) -> Result<()> {
    let exact: TableClient<AnnotatedEntity<Blog>> = plain.annotated();
    plain.insert(&SerdeEntity(blog("1"))).await?;
    let popular = Blog {
        views: 3_000_000_000,
        ..blog("2")
    };
    exact.insert(&SerdeEntity(&popular)).await?;
    let mut batch = exact.batch();
    batch.insert(&SerdeEntity(blog("3")))?;
    batch.submit().await?;

    let rows = plain.typed::<DynamicEntity>().query().all().await?;
    let types = [EdmValue::Int32(5), EdmValue::Int64(3_000_000_000), EdmValue::Int64(5)];
    assert!(rows.iter().map(|row| &row.properties["views"]).eq(&types), "{rows:?}");
    let views = [5, 3_000_000_000, 5];
    assert!(plain.query().all().await?.iter().map(|blog| blog.views).eq(views));
    assert!(exact.query().all().await?.iter().map(|blog| blog.views).eq(views));

    exact.modify(("Channel9", "2"), |blog| blog.views += 1).await?;
    let error = plain.modify(("Channel9", "2"), |blog| blog.views += 1).await;
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("property `views`: 3000000002 is beyond Edm.Int32"),
        "{error}"
    );
    Ok(())
}
