//! The blogs of an author, each stored under its date and under its category in one transaction.

use std::error::Error;

use azure_table::{DynamicEntity, Key, PropertyGroup, TableClient, TableEntity, TableOperation};

/// The properties of both rows: Table 4 of the post.
#[derive(PropertyGroup, Clone)]
#[table(rename_all = "PascalCase")]
struct Content {
    date_published: String,
    category: String,
    text: String,
}

/// RowKey: the date, `;`, the title, so that a month is a range of keys.
#[derive(TableEntity)]
#[table(partition_key = "{author}", row_key = "{day};{title}")]
struct ByDate {
    author: String,
    day: String,
    title: String,
    #[table(flatten)]
    content: Content,
}

/// RowKey: the category, `;`, the title, so that a category is a range of keys.
#[derive(TableEntity)]
#[table(partition_key = "{author}", row_key = "{category};{title}")]
struct ByCategory {
    author: String,
    category: String,
    title: String,
    #[table(flatten)]
    content: Content,
}

/// Inserts the blogs, and reads those of a month and those of a category.
pub(crate) async fn show(blogs: &TableClient<DynamicEntity>) -> Result<(), Box<dyn Error>> {
    for (date_published, title, category) in [
        ("2009/12/24", "SnowInSeattle", "Weather"),
        ("2010/09/20", "RandyToVikings", "Sports"),
        ("2010/11/30", "CyberMonday", "Shopping"),
        ("2010/12/01", "PartitionKeys", "Azure"),
        ("2010/12/31", "BowlGames", "Sports"),
        ("2011/01/01", "Resolutions", "SportsCars"),
    ] {
        insert(blogs, date_published, title, category).await?;
    }

    let by_date = blogs.typed::<ByDate>();
    let day = |day: &str| Key::<ByDate>::prefix(("Brady", day));
    let december = by_date.query().between(day("20101201")?, day("20101231")?);
    println!("\nblogs of Brady in December 2010, {:?}:", december.plan()?.path());
    for blog in december.all().await? {
        print(Key::of(&blog)?.row_key(), &blog.content);
    }

    let by_category = blogs.typed::<ByCategory>();
    let sports = by_category.query().key_prefix(Key::prefix(("Brady", "Sports"))?);
    println!("\nblogs of Brady about sports, {:?}:", sports.plan()?.path());
    for blog in sports.all().await? {
        print(Key::of(&blog)?.row_key(), &blog.content);
    }
    Ok(())
}

/// Inserts both rows of a blog or none.
async fn insert(
    blogs: &TableClient<DynamicEntity>,
    date_published: &str,
    title: &str,
    category: &str,
) -> azure_table::Result<()> {
    let content = Content {
        date_published: date_published.into(),
        category: category.into(),
        text: format!("about {title}"),
    };
    let by_date = ByDate {
        author: "Brady".into(),
        day: date_published.replace('/', ""),
        title: title.into(),
        content: content.clone(),
    };
    let by_category = ByCategory {
        author: "Brady".into(),
        category: category.into(),
        title: title.into(),
        content,
    };
    let mut batch = blogs.batch();
    batch.push(TableOperation::insert(&by_date))?;
    batch.push(TableOperation::insert(&by_category))?;
    batch.submit().await.map(drop)
}

fn print(row_key: &str, content: &Content) {
    let Content {
        date_published,
        category,
        text,
    } = content;
    println!("  {row_key:<24} {date_published}  {category:<8} {text}");
}
