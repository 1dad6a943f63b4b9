use azure_table::{DateTime, Descending, TableClient, TableEntity};

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    posted: Descending<DateTime>,
    text: String,
    rating: i32,
}

fn read(blogs: TableClient<Blog>, posted: DateTime) {
    let _ = blogs.get(("Channel9", posted));
    let _ = blogs.get(("Channel9", 5));
    let _ = blogs.get(("Channel9",));
    let _ = blogs.get("Channel9");
}

fn main() {}
