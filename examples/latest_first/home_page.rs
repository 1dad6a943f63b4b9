//! The home page of a social network: the latest changes of a user, blogs and photos in one order.

use std::error::Error;

use azure_table::{DateTime, Descending, TableClient, TableEntity};

/// A change by a user, of any kind. The time comes before the kind, since the home page shows all kinds.
#[derive(TableEntity)]
#[table(tag = "Kind")]
pub(crate) enum Change {
    Wrote(Post),
    Uploaded(Photo),
}

#[derive(TableEntity)]
#[table(partition_key = "{user}", row_key = "{created}_Blog")]
pub(crate) struct Post {
    user: String,
    created: Descending<DateTime>,
    text: String,
}

#[derive(TableEntity)]
#[table(partition_key = "{user}", row_key = "{created}_Photo")]
pub(crate) struct Photo {
    user: String,
    created: Descending<DateTime>,
    caption: String,
}

/// Prints the latest changes, of all kinds and of one.
pub(crate) async fn show(changes: &TableClient<Change>) -> Result<(), Box<dyn Error>> {
    let mut batch = changes.batch();
    for (day, text) in [
        (3, "hello"),
        (4, "photo of a boat"),
        (9, "on a boat"),
        (11, "photo of a gull"),
    ] {
        let created = format!("2009-05-{day:02}T12:00:00Z").parse::<DateTime>()?.into();
        let (user, text) = ("joe".to_owned(), text.to_owned());
        if let Some(caption) = text.strip_prefix("photo of ").map(str::to_owned) {
            let photo = Photo { user, created, caption };
            batch.insert(&Change::Uploaded(photo))?;
        } else {
            batch.insert(&Change::Wrote(Post { user, created, text }))?;
        }
    }
    batch.submit().await?;

    println!("\nthe home page of joe, the latest three:");
    for change in changes.query().partition("joe").limit(3).all().await? {
        match change {
            Change::Wrote(Post { created, text, .. }) => println!("  {created}  Blog   {text}"),
            Change::Uploaded(Photo { created, caption, .. }) => println!("  {created}  Photo  {caption}"),
        }
    }
    // The paper queries a range from `…_Photo` to `…_Photo`. It limits the times, not the kind: that needs a filter.
    let photos = changes.query().partition("joe").filter(Change::UPLOADED.only());
    println!("\nphotos only, {:?}:", photos.plan()?.path());
    for Photo { created, caption, .. } in photos.gather::<Vec<Photo>>().await? {
        println!("  {created}  Photo  {caption}");
    }
    Ok(())
}
