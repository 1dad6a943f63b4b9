//! The last rows of a query, in the order of the keys.

use azure_table::testing::Spy;
use azure_table::{Descending, Emulator, ErrorKind, Result, TableClient, TableEntity};
use azure_table_tests::errors::{assert_contains, assert_error};

use crate::api::create;

/// A composite key with the newest row first.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(row_key = "{channel}_{number}")]
struct Blog {
    #[table(partition_key)]
    site: String,
    channel: String,
    number: Descending<u32>,
}

fn blog(site: &str, channel: &str, number: u32) -> Blog {
    Blog {
        site: site.into(),
        channel: channel.into(),
        number: Descending(number),
    }
}

/// Two sites of two channels with five blogs each, in pages of three rows. `c10_…` sorts before `c1_…`.
async fn blogs() -> Result<(Spy, TableClient<Blog>)> {
    let spy = Spy::new(Emulator::new().page_size(3));
    let table = create(spy.clone(), "Blogs").await;
    let keys = ["a", "b"].map(|site| ["c1", "c10"].map(|channel| (site, channel)));
    let blogs = keys.as_flattened().iter();
    let all = blogs.flat_map(|(site, channel)| (1..=5).map(|number| blog(site, channel, number)));
    table.bulk().insert(all).await?.ensure_no_leftovers()?;
    spy.clear();
    Ok((spy, table))
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
    assert_error(&error, ErrorKind::InvalidInput, "more than 3 pages: raise `max_pages`");
    assert_eq!(spy.requests(), 3);
    // A limit may end with a page.
    assert_eq!(of_a().limit(6).last_rows(1, 2).await?.len(), 1);
    Ok(())
}

#[azure_table::test(cosmos)]
async fn cosmos_has_no_last_rows(blogs: TableClient<Blog>, spy: Spy) {
    spy.clear();
    let error = blogs.query().last_rows(1, 1).await.unwrap_err();
    assert_error(&error, ErrorKind::Unsupported, "Blogs");
    assert_contains(&error, "`resume_from`");
    assert_eq!(spy.requests(), 0);
}
