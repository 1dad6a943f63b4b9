//! All mistakes of a struct come together, and its use elsewhere is not a mistake on top of them.

use azure_table::{Result, TableEntity, TableServiceClient};

struct Cache;

#[derive(TableEntity)]
#[table(rename_all = "kebab-case")]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    slug: String,
    #[table(rename = rtg)]
    stars: i32,
    #[table(rename = "RowKey")]
    rating: i32,
    #[table(ingore)]
    cache: Cache,
}

async fn use_it(service: TableServiceClient, blog: Blog) -> Result<()> {
    let blogs = service.table::<Blog>("Blogs")?;
    blogs.insert(&blog).await?;
    blogs.get(("a", "b")).await?;
    blogs.query().partition("a").filter(Blog::RATING.ge(3)).all().await?;
    Ok(())
}

fn main() {}
