//! Blogs and their comments in one table: the property `EntityType` selects the variant of a row.

use std::error::Error;

use azure_table::query::Families;
use azure_table::{DateTime, DynamicEntity, Key, TableClient, TableEntity};

/// A row of a user: a blog or a comment.
#[derive(TableEntity)]
#[table(tag = "EntityType")]
pub(crate) enum Entry {
    Blogs(Blog),
    Comments(Comment),
}

#[derive(TableEntity)]
#[table(partition_key = "{user}", row_key = "{posted}", rename_all = "PascalCase")]
pub(crate) struct Blog {
    user: String,
    posted: DateTime,
    message: String,
}

/// The RowKey begins with the RowKey of the blog, so that comments follow their blog.
#[derive(TableEntity)]
#[table(partition_key = "{user}", row_key = "{posted}_{id:03}", rename_all = "PascalCase")]
pub(crate) struct Comment {
    user: String,
    /// The time of the blog.
    posted: DateTime,
    id: u32,
    comment: String,
    rating: i32,
}

/// Inserts blogs and comments. Reads all blogs of a user with their comments, then one of them with its comments.
pub(crate) async fn show(entries: &TableClient<Entry>) -> Result<(), Box<dyn Error>> {
    let [first, second]: [DateTime; 2] = ["2008-10-01T10:00:00Z".parse()?, "2008-10-02T10:00:00Z".parse()?];
    let comment = |posted, id, comment: &str, rating| {
        Entry::Comments(Comment {
            user: "Joe".into(),
            posted,
            id,
            comment: comment.into(),
            rating,
        })
    };
    let blog = |posted, message: &str| {
        Entry::Blogs(Blog {
            user: "Joe".into(),
            posted,
            message: message.into(),
        })
    };
    let mut batch = entries.batch();
    for entry in [
        // The order of the inserts does not matter.
        comment(second, 1, "Congratulations", 5),
        blog(second, "We won"),
        comment(first, 2, "At last", 4),
        comment(first, 1, "Who plays?", 3),
        blog(first, "Kick-off"),
    ] {
        batch.insert(&entry)?;
    }
    batch.submit().await?;

    println!("\nentries of Joe as stored:");
    for row in entries.typed::<DynamicEntity>().query().partition("Joe").all().await? {
        let kind: String = row.property("EntityType")?;
        let names: Vec<&str> = row.properties.keys().map(String::as_str).collect();
        println!("  {:<24} {kind:<9} {}", row.row_key, names.join(", "));
    }

    let all = entries.query().partition("Joe");
    println!("\nblogs of Joe with their comments, {:?}:", all.plan()?.path());
    print(&all.gather().await?);

    // From the key of the blog to the last key that begins with it and `_`.
    let blog = Key::<Blog>::prefix(("Joe", first))?.into_enum();
    let comments = Key::<Comment>::prefix(("Joe", first))?.into_enum();
    let one = entries.query().between(blog, comments);
    println!("\none blog of Joe with its comments, {:?}:", one.plan()?.path());
    print(&one.gather().await?);
    Ok(())
}

fn print(blogs: &Families<Blog, Comment>) {
    for (blog, comments) in blogs.iter() {
        println!("  {}", blog.message);
        for comment in comments {
            println!("    {} {}, rated {}", comment.id, comment.comment, comment.rating);
        }
    }
}
