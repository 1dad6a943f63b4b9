//! Cursors: the rows after and before a row, in the order of the keys.

use azure_table::Descending;
use azure_table::filter::AccessPath;
use azure_table::query::Cursor;
use azure_table::testing::Spy;
use azure_table::{
    Continuation, DynamicEntity, Emulator, ErrorKind, Key, Result, TableClient, TableEntity, TableServiceClient,
};
use proptest::prelude::*;

/// A composite key with the newest row first.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(row_key = "{channel}_{number}")]
struct Blog {
    #[table(partition_key)]
    site: String,
    channel: String,
    number: Descending<u32>,
    is_even: bool,
}

fn blog(site: &str, channel: &str, number: u32) -> Blog {
    Blog {
        site: site.into(),
        channel: channel.into(),
        number: Descending(number),
        is_even: number.is_multiple_of(2),
    }
}

/// Two sites of two channels with five blogs each, in pages of three rows. `c10_…` sorts before `c1_…`.
async fn blogs() -> Result<(Spy, TableClient<Blog>)> {
    let spy = Spy::new(Emulator::new().page_size(3));
    let table = TableServiceClient::from_transport(spy.clone()).table::<Blog>("Blogs")?;
    table.create_table().await?;
    let all = ["a", "b"].into_iter().flat_map(|site| {
        let channels = ["c1", "c10"].into_iter();
        channels.flat_map(move |channel| (1..=5).map(move |number| blog(site, channel, number)))
    });
    table.bulk().insert(all).await?.ensure_no_leftovers()?;
    spy.clear();
    Ok((spy, table))
}

#[tokio::test]
async fn pages_link_both_ways() -> Result<()> {
    let (spy, table) = blogs().await?;
    for query in [
        table.query(),
        table.query().partition("a"),
        table.query().key_prefix(Key::<Blog>::prefix(("a", "c10"))?),
        table.query().filter(Blog::IS_EVEN.eq(true)),
    ] {
        let all = query.clone().all().await?;
        for size in [1, 2, 4] {
            let mut links = Vec::new();
            let mut read = Vec::new();
            let mut page = query.clone().limit(size).all().await?;
            while let Some(last) = page.last() {
                read.extend(page.iter().cloned());
                links.push((Cursor::of(&page[0])?, page.clone()));
                let next = Cursor::of(last)?.to_string().parse()?;
                page = query.clone().after(next).limit(size).all().await?;
            }
            assert_eq!(read, all);
            for pair in links.windows(2) {
                let previous = query.clone().before(pair[1].0.clone()).last_rows(size, 10).await?;
                assert_eq!(previous, pair[0].1);
            }
            assert!(
                query
                    .clone()
                    .before(links[0].0.clone())
                    .last_rows(size, 10)
                    .await?
                    .is_empty()
            );
        }
    }
    // In one partition the service reads from the cursor on.
    let of_partition = table.query().partition("a").after(Cursor::of(&blog("a", "c1", 3))?);
    assert_eq!(of_partition.plan()?.path(), AccessPath::RowRange);
    spy.clear();
    assert_eq!(of_partition.all().await?.len(), 2);
    assert_eq!(spy.requests(), 1);
    Ok(())
}

#[tokio::test]
async fn cursor_only_narrows_a_query() -> Result<()> {
    let (spy, table) = blogs().await?;
    let (of_a, of_b) = (Cursor::of(&blog("a", "c1", 1))?, Cursor::of(&blog("b", "c10", 1))?);
    let in_b = || table.query().partition("b");
    assert_eq!(in_b().after(of_a.clone()).count().await?, 10);
    assert_eq!(in_b().before(of_a.clone()).count().await?, 0);
    assert_eq!(table.query().partition("a").after(of_b.clone()).count().await?, 0);
    assert_eq!(table.query().after(of_a.clone()).before(of_b.clone()).count().await?, 4);
    // A deleted row is still a position.
    table.delete(&blog("a", "c1", 3)).await?;
    let gone = Cursor::from(&Key::of(&blog("a", "c1", 3))?);
    let rest = table.query().partition("a").after(gone).limit(1).all().await?;
    assert_eq!(rest, [blog("a", "c1", 2)]);
    // The other ways to read a query.
    assert_eq!(table.query().after(of_b.clone()).scan().count().await?, 5);
    let both = table.query().after(of_a.clone()).before(of_b.clone());
    assert_eq!(both.fan_out().partitions(["b", "a"]).all().await?.len(), 4);
    assert_eq!(table.delete_where(table.query().after(of_b)).await?.applied(), 5);
    let invalid: Cursor = serde_json::from_str(r#"{"of":"cursor","partition_key":"a/b","row_key":""}"#).unwrap();
    spy.clear();
    let error = table.query().after(invalid).all().await.unwrap_err();
    assert_eq!((error.kind(), spy.requests()), (ErrorKind::InvalidInput, 0), "{error}");
    Ok(())
}

#[tokio::test]
async fn last_rows_are_read_within_a_limit_of_pages() -> Result<()> {
    let (spy, table) = blogs().await?;
    let of_a = || table.query().partition("a");
    assert_eq!(of_a().last_rows(2, 4).await?, [blog("a", "c1", 2), blog("a", "c1", 1)]);
    assert_eq!(spy.requests(), 4, "ten rows in pages of three");
    assert_eq!(of_a().last_rows(100, 4).await?.len(), 10);
    assert_eq!(of_a().last_rows(0, 4).await?.len(), 0);
    spy.clear();
    let error = of_a().last_rows(2, 3).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(
        error.to_string().contains("more than 3 pages: raise `max_pages`"),
        "{error}"
    );
    assert_eq!(spy.requests(), 3);
    // A limit may end with a page.
    assert_eq!(of_a().limit(6).last_rows(1, 2).await?.len(), 1);
    Ok(())
}

#[tokio::test]
async fn cosmos_has_no_cursors() -> Result<()> {
    let spy = Spy::new(Emulator::cosmos());
    let table = TableServiceClient::from_transport(spy.clone()).table::<Blog>("Blogs")?;
    let cursor = Cursor::of(&blog("a", "c", 1))?;
    for error in [
        table.query().after(cursor.clone()).all().await.unwrap_err(),
        table.query().before(cursor).count().await.unwrap_err(),
        table.query().last_rows(1, 1).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(
            error.to_string().contains("Blogs") && error.to_string().contains("`resume_from`"),
            "{error}"
        );
    }
    assert_eq!(spy.requests(), 0);
    Ok(())
}

#[test]
fn changed_or_foreign_cursor_is_rejected() -> Result<()> {
    let (key, other) = ([1; 32], [2; 32]);
    let (one, two) = (Cursor::of(&blog("a", "c", 1))?, Cursor::of(&blog("a", "c", 2))?);
    let signed = one.signed(&key)?;
    let is_of_url = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    assert!(signed.chars().all(is_of_url), "{signed}");
    assert_eq!(Cursor::verified(&signed, &key)?, one);
    let signature = signed.split_once('.').unwrap().1;
    for (text, key) in [
        (one.to_string(), key),
        (format!("{two}.{signature}"), key),
        (format!("{one}."), key),
        (format!("{signed}A"), key),
        (signed.clone(), other),
    ] {
        let error = Cursor::verified(&text, &key).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("not signed with this key"), "{error}");
    }
    for error in [
        one.signed(&[1; 31]).unwrap_err(),
        Cursor::verified(&signed, b"").unwrap_err(),
    ] {
        assert!(error.to_string().contains("at least 32"), "{error}");
    }
    let error = Continuation::default()
        .to_string()
        .parse::<Cursor>()
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("this is the continuation of a query, not a cursor"),
        "{error}"
    );
    assert!(
        signed.parse::<Cursor>().is_err(),
        "a signed text is verified, not parsed"
    );
    Ok(())
}

async fn check(
    keys: Vec<[String; 2]>,
    cursor: [String; 2],
    one_partition: bool,
) -> std::result::Result<(), TestCaseError> {
    let table = TableServiceClient::from_transport(Emulator::new())
        .dynamic_table("Things")
        .unwrap();
    table.create_table().await.unwrap();
    for [partition, row] in keys {
        table
            .insert_or_replace(&DynamicEntity::new(partition, row))
            .await
            .unwrap();
    }
    let [partition, row] = cursor;
    let query = || {
        if one_partition {
            table.query().partition(&partition)
        } else {
            table.query()
        }
    };
    let cursor = || Cursor::of(&DynamicEntity::new(&partition, &row)).unwrap();
    let all = query().keys().all().await.unwrap();
    let mut parts = query().before(cursor()).keys().all().await.unwrap();
    parts.extend(
        table
            .get((&*partition, &*row))
            .await
            .unwrap()
            .map(|row| Key::of(&row).unwrap()),
    );
    let after = query().after(cursor()).keys().all().await.unwrap();
    prop_assert_eq!(
        query().after(cursor()).last_rows(1, 9).await.unwrap().len(),
        after.len().min(1)
    );
    parts.extend(after);
    prop_assert_eq!(parts, all);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Before, at and after a cursor are all rows, each once and in order, also for keys that no row has.
    #[test]
    fn cursor_splits_the_rows_in_two(
        keys in proptest::collection::vec(["[ab'é\u{10000}\u{ffff}]{0,2}", "[ab'é\u{10000}\u{ffff}]{0,2}"], 0..12),
        cursor in ["[ab'é\u{10000}\u{ffff}]{0,2}", "[ab'é\u{10000}\u{ffff}]{0,2}"],
        one_partition in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(check(keys, cursor, one_partition))?;
    }
}
