//! The positions from which reads and writes resume: their text, and positions of another method.

use azure_table::bulk::WritePosition;
use azure_table::query::ScanPosition;
use azure_table::testing::{Fault, FaultRule, Faults, Spy};
use azure_table::{
    AccountKey, Continuation, DynamicEntity, Emulator, ErrorKind, NoRetry, Result, TableClient, TableServiceClient,
};
use azure_table_tests::errors::assert_error;
use futures::TryStreamExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::{Debug, Display};
use std::str::FromStr;

/// A table of five rows, and a position of each type in it.
struct Positions {
    service: TableServiceClient,
    table: TableClient<DynamicEntity>,
    query: Continuation,
    scan: ScanPosition,
    write: WritePosition,
}

impl Positions {
    async fn new() -> Result<Self> {
        let faults = Faults::new(Emulator::new());
        let service = TableServiceClient::from_transport(faults.clone()).retry(NoRetry);
        Self::of(service, &faults).await
    }

    async fn of(service: TableServiceClient, faults: &Faults) -> Result<Self> {
        service.ensure_tables(["Blogs", "Others"]).await?;
        let table = service.dynamic_table("Blogs")?;
        for n in 0..5 {
            table.insert(&DynamicEntity::new("p", n.to_string())).await?;
        }
        let page = table.query().page_size(2).pages().try_next().await?.unwrap();
        let mut scan = table.query().page_size(2).scan().stream();
        for _ in 0..2 {
            scan.try_next().await?.unwrap();
        }
        let failing = faults.add(FaultRule::new(Fault::NoConnection).on_writes().nth(2));
        let deleted = table.delete_where(table.query().page_size(2)).concurrency(1).await;
        faults.remove(&failing);
        Ok(Self {
            query: page.continuation().clone(),
            scan: scan.position().clone(),
            write: deleted.unwrap_err().position(),
            service,
            table,
        })
    }
}

/// Otherwise a copy that is resumed after a failover to another account would skip rows.
#[tokio::test]
async fn position_of_another_account_or_service_is_rejected() -> Result<()> {
    const KEY: &str = "AAECAwQFBgc=";
    let client = |name: &str, url: &str, emulator: Emulator| {
        let emulator = Faults::new(emulator.account(name, KEY)?);
        let service = TableServiceClient::new(url, AccountKey::new(name, KEY)?)?.transport(emulator.clone());
        Ok::<_, azure_table::Error>((service.retry(NoRetry), emulator))
    };
    let (own, faults) = client("contoso", "https://contoso.table.core.windows.net", Emulator::new())?;
    let all = Positions::of(own, &faults).await?;
    for (name, url, emulator) in [
        ("fabrikam", "https://fabrikam.table.core.windows.net", Emulator::new()),
        ("contoso", "https://contoso.table.cosmos.azure.com", Emulator::cosmos()),
    ] {
        let (service, faults) = client(name, url, emulator)?;
        let other = service.dynamic_table("Blogs")?;
        let query = || other.query().page_size(2);
        let errors = [
            query().resume_from(all.query.clone()).all().await.unwrap_err(),
            query().scan().resume_from(all.scan.clone()).count().await.unwrap_err(),
            other
                .delete_where(query())
                .resume_from(all.write.clone())
                .await
                .unwrap_err()
                .into_error(),
        ];
        for error in errors {
            assert_error(&error, ErrorKind::InvalidInput, "account");
        }
        assert_eq!(faults.requests(), 0);
    }
    Ok(())
}

/// `Blogs` and `bLOGS` name one table on Table storage, and two on Cosmos DB.
#[tokio::test]
async fn position_of_a_table_in_another_case_is_accepted_if_it_names_the_same_table() -> Result<()> {
    for (emulator, is_same) in [(Emulator::new(), true), (Emulator::cosmos(), false)] {
        let faults = Faults::new(emulator);
        let service = TableServiceClient::from_transport(faults.clone()).retry(NoRetry);
        let all = Positions::of(service.clone(), &faults).await?;
        service.ensure_tables(["bLOGS"]).await?;
        let other = service.dynamic_table("bLOGS")?;
        let query = || other.query().page_size(2);
        let write = other.delete_where(query()).resume_from(all.write.clone()).await;
        let results = [
            query().resume_from(all.query.clone()).all().await.map(drop),
            query().scan().resume_from(all.scan.clone()).count().await.map(drop),
            write.map(drop).map_err(|interrupted| interrupted.into_error()),
        ];
        for result in results {
            let kind = result.as_ref().map_err(azure_table::Error::kind);
            assert_eq!(
                kind,
                if is_same { Ok(&()) } else { Err(ErrorKind::InvalidInput) },
                "{result:?}"
            );
        }
    }
    Ok(())
}

/// Returns the two stored forms of a position, after a check that both are read back.
fn stored<T: Display + FromStr + Serialize + DeserializeOwned + PartialEq + Debug>(position: &T) -> [String; 2]
where
    T::Err: Debug,
{
    let (text, json) = (position.to_string(), serde_json::to_string(position).unwrap());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    assert!(text.chars().all(is_plain), "{text}");
    assert_eq!(&text.parse::<T>().unwrap(), position);
    assert_eq!(&serde_json::from_str::<T>(&json).unwrap(), position);
    [text, json]
}

/// Checks that both forms of a position are an error of another type, which names both.
fn reject<T: FromStr<Err = azure_table::Error> + DeserializeOwned + Debug>(
    [text, json]: &[String; 2],
    [found, expected]: [&str; 2],
) {
    let why = format!("this is {found}, not {expected}");
    let error = text.parse::<T>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains(&why), "{error}: {why}");
    let error = serde_json::from_str::<T>(json).unwrap_err();
    assert!(error.to_string().contains(&why), "{error}: {why}");
}

#[tokio::test]
async fn every_position_resumes_from_its_text() -> Result<()> {
    let Positions {
        table,
        query,
        scan,
        write,
        ..
    } = Positions::new().await?;
    // The delete removed two rows before it was interrupted.
    let (from_query, from_scan) = (query.to_string().parse()?, scan.to_string().parse()?);
    assert_eq!(table.query().page_size(2).resume_from(from_query).all().await?.len(), 3);
    let scan = table.query().page_size(2).scan().resume_from(from_scan);
    assert_eq!(scan.count().await?, 3);
    let position: WritePosition = write.to_string().parse()?;
    let deleted = table.delete_where(table.query().page_size(2)).resume_from(position);
    assert_eq!(deleted.await?.applied(), 3);
    Ok(())
}

#[tokio::test]
async fn finished_query_yields_and_sends_nothing() -> Result<()> {
    let spy = Spy::new(Emulator::new());
    let service = TableServiceClient::from_transport(spy.clone());
    service.ensure_tables(["Blogs"]).await?;
    let table = service.dynamic_table("Blogs")?;
    for n in 0..5 {
        table.insert(&DynamicEntity::new("p", n.to_string())).await?;
    }
    let query = || table.query().page_size(2);
    let mut position = Continuation::default();
    assert_eq!(query().resume_from(position.clone()).all().await?.len(), 5);
    for rows in [2, 2, 1] {
        assert!(!position.is_finished());
        let page = query().resume_from(position).pages().try_next().await?.unwrap();
        assert_eq!(page.items().len(), rows);
        let [text, _] = stored(page.continuation());
        position = text.parse()?;
    }
    assert!(position.is_finished());
    spy.clear();
    let at_end = || query().resume_from(position.clone());
    assert!(at_end().pages().try_next().await?.is_none());
    assert_eq!(at_end().count().await?, 0);
    assert_eq!(table.delete_where(at_end()).await?.applied(), 0);
    assert_eq!(spy.requests(), 0);

    // One query's end is not another's.
    let other = query()
        .partition("p")
        .resume_from(position.clone())
        .all()
        .await
        .unwrap_err();
    assert!(other.to_string().contains("belongs to another query"), "{other}");
    let other = service.list_tables().resume_from(position).await.unwrap_err();
    assert!(other.to_string().contains("belongs to another query"), "{other}");
    let tables = service.list_tables().pages().try_next().await?.unwrap();
    let rest = service.list_tables().resume_from(tables.continuation().clone());
    assert!(rest.await?.is_empty());
    // A limit that cuts a page ends its query. At the end of a page, the query can go on.
    for (limit, is_cut) in [(3, true), (4, false)] {
        let limited = query().limit(limit).pages().try_collect::<Vec<_>>().await?;
        assert_eq!(limited.len(), 2);
        assert!(!limited[0].continuation().is_finished());
        let last = limited[1].continuation();
        assert_eq!(last.is_finished(), is_cut);
        let rest = query().resume_from(last.clone()).count().await?;
        assert_eq!(rest, if is_cut { 0 } else { 1 });
    }
    Ok(())
}

#[tokio::test]
async fn scan_that_was_rejected_before_it_began_resumes_from_the_start() -> Result<()> {
    let table = Positions::new().await?.table;
    let rows = table.query().count().await?;
    let mut rejected = table.query().scan().ranges(["a/b"]).stream();
    assert_eq!(rejected.try_next().await.unwrap_err().kind(), ErrorKind::InvalidInput);
    let position: ScanPosition = rejected.position().to_string().parse()?;
    assert_eq!(table.query().scan().resume_from(position).count().await?, rows);
    Ok(())
}

#[tokio::test]
async fn page_of_a_scan_that_a_limit_cuts_short_is_read_again() -> Result<()> {
    let table = Positions::new().await?.table;
    for n in ["8", "9"] {
        table.insert(&DynamicEntity::new("p", n)).await?;
    }
    let query = || table.query().page_size(2);
    assert_eq!(query().count().await?, 5);
    let mut limited = query().limit(3).scan().stream();
    for rows in [Some(2), Some(1), None] {
        assert_eq!(limited.try_next_page().await?.map(|page| page.len()), rows);
    }
    let rest = query().scan().resume_from(limited.position().clone());
    assert_eq!(rest.count().await?, 3);
    Ok(())
}

#[tokio::test]
async fn limit_of_no_rows_has_no_first_row() -> Result<()> {
    let table = Positions::new().await?.table;
    assert!(table.query().first().await?.is_some());
    assert!(table.query().limit(0).first().await?.is_none());
    let parts = || table.query().fan_out().partitions(["p", "q"]);
    assert!(parts().first().await?.is_some());
    let none = table.query().limit(0).fan_out().partitions(["p", "q"]);
    assert!(none.first().await?.is_none());
    Ok(())
}

#[tokio::test]
async fn position_of_another_type_is_named() -> Result<()> {
    const QUERY: &str = "the continuation of a query";
    const SCAN: &str = "a position of `scan`";
    const WRITE: &str = "a position of a write over a query, such as `delete_where`";
    let all = Positions::new().await?;
    let positions = [
        (stored(&all.query), QUERY),
        (stored(&all.scan), SCAN),
        (stored(&all.write), WRITE),
    ];
    for (position, found) in &positions {
        for expected in [QUERY, SCAN, WRITE] {
            let names = [*found, expected];
            match expected {
                _ if expected == *found => {}
                QUERY => reject::<Continuation>(position, names),
                SCAN => reject::<ScanPosition>(position, names),
                _ => reject::<WritePosition>(position, names),
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn position_in_the_wrong_builder_is_named() -> Result<()> {
    let all = Positions::new().await?;
    let (service, table) = (&all.service, &all.table);
    let tables = service.list_tables().page_size(1).pages().try_next().await?.unwrap();
    let of_tables = tables.continuation().clone();
    // Without the identity of its query, as an earlier version stored it.
    let mut old = serde_json::to_value(&of_tables).unwrap();
    old.as_object_mut().unwrap().retain(|name, _| name == "next_table_name");
    for of_tables in [of_tables, serde_json::from_value(old).unwrap()] {
        let error = table.query().resume_from(of_tables).all().await.unwrap_err();
        let why = "this is the continuation of `list_tables`, not of a query";
        assert!(error.to_string().contains(why), "{error}");
    }
    let error = service.list_tables().resume_from(all.query.clone()).await.unwrap_err();
    let why = "this is the continuation of a query, not of `list_tables`";
    assert!(error.to_string().contains(why), "{error}");

    let updated = table.update_where(table.query().page_size(2), |_| {});
    let error = updated.resume_from(all.write.clone()).await.unwrap_err();
    let why = "this is a position of `delete where`, not of `update where`";
    assert!(error.to_string().contains(why), "{error}");

    // A continuation without a position would begin again without notice.
    let none: Continuation = serde_json::from_str("{}").unwrap();
    let error = table.query().resume_from(none).all().await.unwrap_err();
    assert_error(&error, ErrorKind::InvalidInput, "names no position");
    Ok(())
}

/// A program may read some pages with this client and some with another one, as during a migration.
#[tokio::test]
async fn continuation_passes_as_tokens_between_clients() -> Result<()> {
    let Positions {
        table, query, service, ..
    } = Positions::new().await?;
    assert!(
        service
            .dynamic_table("Blogs")?
            .url()
            .ends_with("/devstoreaccount1/Blogs")
    );
    let (partition_key, row_key) = query.tokens().unwrap();
    let same = Continuation::from_tokens(partition_key, row_key)?;
    let mut pages = table.query().page_size(2).resume_from(same).pages();
    let mut rows = Vec::new();
    let mut more = Vec::new();
    while let Some(page) = pages.try_next().await? {
        more.push(page.has_more());
        rows.extend(page.into_items().into_iter().map(|row| row.row_key));
    }
    assert_eq!(rows, ["2", "3", "4"]);
    assert_eq!(more, [true, false]);
    assert_eq!(Continuation::default().tokens(), None);
    assert!(Continuation::from_tokens("p", None)?.tokens().is_some());
    assert_eq!(
        Continuation::from_tokens("", Some("")).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    Ok(())
}
