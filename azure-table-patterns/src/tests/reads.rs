//! Queries by an index.

use azure_table::{DynamicEntity, Result};
use futures::{StreamExt as _, TryStreamExt as _};

use super::{Person, emulated, with};

/// Neither hides the entities beside it.
#[tokio::test]
async fn entity_that_cannot_be_read_is_one_item_of_a_query() -> Result<()> {
    let (table, people) = with(&emulated(), 4).await?;
    let mut row = table.typed::<DynamicEntity>().get(("t", "0000000002")).await?.unwrap();
    row.insert("mail", 7);
    table.typed::<DynamicEntity>().replace(&row).await?;
    let row = DynamicEntity::new("t", "$ix;by_name Ada x");
    table.typed::<DynamicEntity>().insert(&row).await?;

    let read = people.by(Person::BY_NAME, ("t", "Ada"))?.stream();
    let read: Vec<_> = read.map(|entity| entity.ok().map(|person| person.id)).collect().await;
    assert_eq!(read, [Some(1), None, Some(3), Some(4), None]);
    Ok(())
}

#[tokio::test]
async fn pages_of_a_query_continue_by_their_tokens() -> Result<()> {
    let (table, people) = with(&emulated(), 5).await?;
    let mut row = table.typed::<DynamicEntity>().get(("t", "0000000002")).await?.unwrap();
    row.insert("name", "Bob");
    table.typed::<DynamicEntity>().replace(&row).await?;
    let by_name = || -> Result<_> { Ok(people.by(Person::BY_NAME, ("t", "Ada"))?.page_size(2)) };
    let by_team = || -> Result<_> { Ok(people.by(Person::BY_TEAM, ("t", "law"))?.page_size(2)) };

    let (mut seen, mut from) = (Vec::new(), None);
    loop {
        let query = by_name()?;
        let query = from.into_iter().fold(query, super::super::IndexQuery::resume_from);
        let page = query.pages().try_next().await?.unwrap();
        seen.push(page.items().iter().map(|person| person.id).collect::<Vec<_>>());
        if !page.has_more() {
            break;
        }
        from = Some(page.continuation().to_string().parse()?);
    }
    // The second person has another name than its index row.
    assert_eq!(seen.concat(), [1, 3, 4, 5]);
    assert_eq!(seen[0], [1]);

    let sizes = |pages: Vec<azure_table::Page<Person>>| pages.iter().map(|page| page.items().len()).collect::<Vec<_>>();
    let pages: Vec<_> = by_team()?.limit(3).pages().try_collect().await?;
    assert_eq!(sizes(pages), [2, 1]);
    // The page that reaches the limit is whole, so the next one goes on after it.
    let pages: Vec<_> = by_name()?.limit(2).pages().try_collect().await?;
    let position = pages[1].continuation().to_string();
    assert_eq!(sizes(pages), [1, 2]);
    let rest: Vec<_> = by_name()?.resume_from(position.parse()?).pages().try_collect().await?;
    let rest: Vec<_> = rest
        .iter()
        .flat_map(azure_table::Page::items)
        .map(|person| person.id)
        .collect();
    assert_eq!(rest, [5]);

    row.insert("mail", 7);
    table.typed::<DynamicEntity>().insert_or_replace(&row).await?;
    let pages: Vec<_> = by_name()?.pages().collect().await;
    assert!(pages.len() == 1 && pages[0].is_err(), "{pages:?}");
    Ok(())
}
