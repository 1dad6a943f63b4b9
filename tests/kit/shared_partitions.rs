//! Queries of the entities that share a partition with the rows of a pattern.

use azure_table::filter::AccessPath;
use azure_table::{
    Continuation, Emulator, Error, ErrorKind, Result, TableClient, TableEntity, TableQuery, TableServiceClient,
};
use azure_table_patterns::{Changes, Fence, Indexed, Leases, Queue, Sequence, UniqueInTable};
use azure_table_tests::entities::Header;
use futures::TryStreamExt;
use std::time::Duration;

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(index(by_mail = (mail), unique))]
struct User {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: u32,
    mail: String,
    visits: i64,
}

/// A type that every row fits.
#[derive(TableEntity, Clone, Debug)]
struct Loose {
    #[table(partition_key)]
    tenant: String,
    #[table(row_key)]
    id: String,
    note: Option<String>,
}

const IDS: [u32; 5] = [1, 2, 3, 4, 5];
const MINUTE: Duration = Duration::from_secs(60);

fn user(id: u32) -> User {
    User {
        tenant: "t".into(),
        id,
        mail: format!("{id}@example.com"),
        visits: 0,
    }
}

async fn service() -> Result<TableServiceClient> {
    let service = TableServiceClient::from_transport(Emulator::new());
    service.ensure_tables(["Users", "Claims"]).await?;
    Ok(service)
}

async fn users() -> Result<TableClient<User>> {
    let users = service().await?.table::<User>("Users")?;
    assert_eq!(users.bulk().insert(IDS.map(user)).await?.applied(), 5);
    Ok(users)
}

/// Checks every read and write over the query, which selects the five users beside `others` rows of a pattern.
async fn check(users: &TableClient<User>, query: TableQuery<User>, others: usize) -> Result<()> {
    let plain = users.query().partition("t");
    let rows = users.typed::<azure_table::DynamicEntity>();
    let error = plain.clone().all().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
    assert!(
        error.to_string().contains("exclude it with `without_row_keys`"),
        "{error}"
    );
    assert_eq!(plain.count().await?, IDS.len() + others);

    let of_tenant = query.clone().partition("t");
    let ids = |users: Vec<User>| users.into_iter().map(|user| user.id).collect::<Vec<_>>();
    assert_eq!(ids(of_tenant.clone().all().await?), IDS);
    assert_eq!(of_tenant.clone().count().await?, 5);
    assert_eq!(of_tenant.clone().first().await?, Some(user(1)));
    assert_eq!(ids(of_tenant.clone().limit(5).all().await?), IDS);
    assert_eq!(of_tenant.clone().keys().all().await?.len(), 5);
    assert_eq!(of_tenant.clone().select((User::ID,)).all().await?, IDS.map(|id| (id,)));
    assert_eq!(of_tenant.clone().versioned().all().await?.len(), 5);
    let mut pages = of_tenant.clone().page_size(3).pages();
    let first = pages.try_next().await?.unwrap();
    assert_eq!(first.items().len(), 3, "a page is shorter than its size");
    let next: Continuation = first.continuation().to_string().parse()?;
    assert_eq!(ids(of_tenant.clone().resume_from(next).all().await?), [4, 5]);

    assert_eq!(query.clone().scan().ranges(["m"]).count().await?, 5);
    let scanned: Vec<User> = query.clone().scan().stream().try_collect().await?;
    assert_eq!(ids(scanned), IDS);
    let changes = Changes::new(of_tenant.clone()).max_polls(1).stream()?;
    let changed: Vec<_> = changes.try_collect().await?;
    assert_eq!(changed.len(), 5);
    let fan_out = query.clone().fan_out().partitions(["t", "u"]);
    assert_eq!(fan_out.plan()?.requests(), 2, "a part is split");
    assert_eq!(fan_out.stream().try_collect::<Vec<_>>().await?.len(), 5);
    let plan = of_tenant.plan()?;
    assert_eq!(plan.path(), AccessPath::Partition);
    assert!(plan.notes().is_empty(), "{plan}");
    assert!(plan.request_text().contains("RowKey%20lt"), "{plan}");

    let written = users.update_where(of_tenant.clone(), |user| user.visits += 1).await?;
    assert_eq!((written.applied(), written.rejected()), (5, 0));
    let written = users.patch_where(of_tenant.clone(), [User::VISITS.set(7)]).await?;
    assert_eq!((written.applied(), written.rejected()), (5, 0));
    assert!(of_tenant.clone().all().await?.iter().all(|user| user.visits == 7));
    let deleted = users.delete_where(of_tenant.clone().limit(2)).await?;
    assert_eq!(deleted.applied(), 2);
    assert_eq!(users.delete_where(of_tenant).await?.applied(), 3);
    assert_eq!(
        rows.query().partition("t").count().await?,
        others,
        "a row of the pattern is gone"
    );
    Ok(())
}

#[tokio::test]
async fn index_rows_are_not_entities() -> Result<()> {
    let table = service().await?.table::<User>("Users")?;
    let users = Indexed::open(&table).await?;
    for user in IDS.map(user) {
        users.insert(&user).await?;
    }
    check(&table, users.query(), 5).await?;
    // `delete_where` of the table leaves index rows, which block nobody.
    users.insert(&user(1)).await.map(drop)
}

#[tokio::test]
async fn values_across_partitions_are_not_entities() -> Result<()> {
    let service = service().await?;
    let users = service.table::<User>("Users")?;
    let mails = UniqueInTable::new(&users, &service.dynamic_table("Claims")?, "~mail;");
    for user in IDS.map(user) {
        assert!(mails.insert(&user, &user.mail).await?);
    }
    check(&users, mails.query(), 5).await?;
    let elsewhere = User {
        tenant: "u".into(),
        ..user(1)
    };
    assert!(
        !mails.insert(&elsewhere, &elsewhere.mail).await?,
        "the page says that the value stays taken"
    );
    Ok(())
}

#[tokio::test]
async fn items_of_a_queue_are_not_entities() -> Result<()> {
    let users = users().await?;
    let mails = Queue::<String>::new(&users, "t", "~outbox;");
    for _ in 0..3 {
        mails.push(&"welcome".to_owned()).await?;
    }
    check(&users, users.query().without_row_keys("~outbox;"), 3).await?;
    assert!(mails.take(MINUTE).await?.is_some());
    Ok(())
}

#[tokio::test]
async fn header_of_a_fence_is_not_an_entity() -> Result<()> {
    let users = users().await?;
    let new = Header {
        group: "t".into(),
        rows: 0,
        write: None,
    };
    let mut fence = Fence::open(&users.typed(), &new).await?;
    check(&users, users.query().without_row_keys("$header"), 1).await?;
    fence.transact(|_| Ok(Vec::new())).await
}

#[tokio::test]
async fn leases_and_sequences_are_not_entities() -> Result<()> {
    let users = users().await?;
    let lease = Leases::new(&users, MINUTE).acquire("t", "lease-mail", "a").await?;
    assert_eq!(Sequence::new(&users, "t", "sequence-user").next().await?, 1);
    let query = users.query().without_row_keys("lease-").without_row_keys("sequence-");
    check(&users, query, 2).await?;
    lease.expect("it was free").release().await
}

#[tokio::test]
async fn claim_reads_as_an_entity_whose_fields_are_all_optional() -> Result<()> {
    let service = service().await?;
    let rows = service.table::<Loose>("Users")?;
    let mails = UniqueInTable::new(&rows, &service.dynamic_table("Claims")?, "~mail;");
    let row = Loose {
        tenant: "t".into(),
        id: "é".into(),
        note: None,
    };
    assert!(mails.insert(&row, "m").await?);
    assert_eq!(rows.query().partition("t").all().await?.len(), 2, "the page says so");
    let own = mails.query().partition("t").all().await?;
    assert_eq!(own.len(), 1);
    assert_eq!(own[0].id, "é", "an entity after the claims is missing");
    Ok(())
}

#[tokio::test]
async fn prefix_that_excludes_every_row_or_none_is_rejected() -> Result<()> {
    let users = users().await?;
    for (prefix, why) in [
        ("", "it is empty, which would exclude every row"),
        ("a/b", "'/' at position 1"),
    ] {
        let error: Error = users.query().without_row_keys(prefix).all().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(why), "{error}");
    }
    Ok(())
}
