//! The queries of the posts: filter text, access path, and the rows that they find.
//!
//! Sources: "How to get the most out of Windows Azure Tables" (2010), the movies; "Windows Azure Table" (2009),
//! prefixes and types; "Azure develop solution for Table Storage" (AZ-203), the `or` that is not a range.

use azure_table::filter::AccessPath::{Partition, PartitionRange, Point, RowRange, TableScan};
use azure_table::{Column, DynamicEntity, Key, KeyPrefix, Result, TableClient};

use azure_table_tests::entities::Valued;

/// A category, a title, and if it is a favorite.
type Movie = Valued<bool>;

async fn fill(movies: &TableClient<Movie>) -> Result<()> {
    for (category, titles) in [
        (
            "Action",
            &["Alien", "Cop Out", "Sherlock Holmes", "Terminator", "Tron"][..],
        ),
        ("SciFi", &["Solaris", "Sphere", "Star Wars"]),
        ("Thriller", &["Shutter Island"]),
        ("War", &["Saving Private Ryan"]),
    ] {
        for title in titles {
            let is_favorite = !title.starts_with('S');
            movies.insert(&Movie::new(category, title, is_favorite)).await?;
        }
    }
    Ok(())
}

fn titles(movies: &[Movie]) -> String {
    let titles: Vec<&str> = movies.iter().map(|movie| movie.name.as_str()).collect();
    titles.join(", ")
}

#[azure_table::test]
async fn queries_of_the_post_have_the_cost_that_it_names(movies: TableClient<Movie>) -> Result<()> {
    fill(&movies).await?;
    let (category, title, favorite) = (Movie::GROUP, Movie::NAME, Movie::VALUE.eq(true));
    let action = || category.eq("Action");
    for (filter, text, path, found) in [
        (
            action() & title.eq("Terminator"),
            "PartitionKey eq 'Action' and RowKey eq 'Terminator'",
            Point,
            "Terminator",
        ),
        (
            action() & title.ge("Alien") & title.le("Terminator") & favorite.clone(),
            "PartitionKey eq 'Action' and RowKey ge 'Alien' and RowKey le 'Terminator' and value eq true",
            RowRange,
            "Alien, Cop Out, Terminator",
        ),
        (
            action() & title.starts_with("Sh"),
            "PartitionKey eq 'Action' and RowKey ge 'Sh' and RowKey lt 'Si'",
            RowRange,
            "Sherlock Holmes",
        ),
        (
            action() & title.ge("C") & title.lt("T"),
            "PartitionKey eq 'Action' and RowKey ge 'C' and RowKey lt 'T'",
            RowRange,
            "Cop Out, Sherlock Holmes",
        ),
        (
            category.eq("SciFi") & title.between("Sphere", "Star Wars"),
            "PartitionKey eq 'SciFi' and RowKey ge 'Sphere' and RowKey le 'Star Wars'",
            RowRange,
            "Sphere, Star Wars",
        ),
        (
            action() & favorite.clone(),
            "PartitionKey eq 'Action' and value eq true",
            Partition,
            "Alien, Cop Out, Terminator, Tron",
        ),
        (
            action() & (title.eq("Alien") | title.eq("Tron")),
            "PartitionKey eq 'Action' and (RowKey eq 'Alien' or RowKey eq 'Tron')",
            Partition,
            "Alien, Tron",
        ),
        (
            category.ge("Action") & category.lt("War") & favorite.clone(),
            "PartitionKey ge 'Action' and PartitionKey lt 'War' and value eq true",
            PartitionRange,
            "Alien, Cop Out, Terminator, Tron",
        ),
        (
            category.between("SciFi", "Thriller"),
            "PartitionKey ge 'SciFi' and PartitionKey le 'Thriller'",
            PartitionRange,
            "Solaris, Sphere, Star Wars, Shutter Island",
        ),
        (
            category.ne("Action"),
            "PartitionKey ne 'Action'",
            TableScan,
            "Solaris, Sphere, Star Wars, Shutter Island, Saving Private Ryan",
        ),
        (favorite, "value eq true", TableScan, "Alien, Cop Out, Terminator, Tron"),
        (
            title.starts_with("Sh"),
            "RowKey ge 'Sh' and RowKey lt 'Si'",
            TableScan,
            "Sherlock Holmes, Shutter Island",
        ),
        (
            category.eq("War") | category.eq("Thriller"),
            "PartitionKey eq 'War' or PartitionKey eq 'Thriller'",
            TableScan,
            "Shutter Island, Saving Private Ryan",
        ),
    ] {
        assert_eq!(filter.to_string(), text);
        let query = movies.query().filter(filter);
        assert_eq!(query.plan()?.path(), path, "{text}");
        assert_eq!(titles(&query.all().await?), found, "{text}");
    }

    // Two partitions by an `or` scan the table, so the post sends two queries in parallel.
    let two = Movie::GROUP.is_in(["War", "Thriller"]);
    let query = movies.query().filter(two).fan_out();
    let plan = query.plan()?;
    assert_eq!((plan.requests(), plan.path()), (2, Partition));
    assert_eq!(titles(&query.all().await?), "Shutter Island, Saving Private Ryan");
    Ok(())
}

/// The paper: a channel for each PDC. `PDD` is the first text behind all that begin with `PDC`.
#[azure_table::test]
async fn channels_are_found_by_the_prefix_of_their_name(blogs: TableClient) -> Result<()> {
    for channel in ["PD", "PDB", "PDC", "PDC2008", "PDC\u{ffff}", "PDD", "PDD2008"] {
        blogs.insert(&DynamicEntity::new(channel, "1")).await?;
    }
    let query = blogs.query().key_prefix(KeyPrefix::from_partition_text("PDC")?);
    let plan = query.plan()?;
    assert_eq!(plan.path(), PartitionRange);
    let text = "PartitionKey%20ge%20%27PDC%27%20and%20PartitionKey%20lt%20%27PDD%27";
    assert!(plan.request_text().contains(text), "{plan}");
    let found = query.all().await?.into_iter().map(|blog| blog.partition_key);
    assert_eq!(found.collect::<Vec<_>>(), ["PDC", "PDC2008", "PDC\u{ffff}"]);
    Ok(())
}

/// The paper: `Rating > 1.2` skips an entity whose rating is an integer.
#[azure_table::test]
async fn comparison_skips_a_property_of_another_type(blogs: TableClient) -> Result<()> {
    let (mut a, mut b) = (DynamicEntity::new("p", "a"), DynamicEntity::new("p", "b"));
    a.insert("Rating", 5);
    b.insert("Rating", 4.5);
    blogs.insert(&a).await?;
    blogs.insert(&b).await?;
    let rating = Column::<DynamicEntity, f64>::property("Rating").gt(1.2);
    assert_eq!(rating.to_string(), "Rating gt 1.2");
    let found = blogs.query().partition("p").filter(rating).keys().all().await?;
    assert_eq!(found, [Key::from_text("p", "b")?]);
    Ok(())
}
