use azure_table::{TableClient, TableEntity, TableServiceClient};

struct Plain {
    name: String,
}

#[derive(TableEntity)]
struct Borrowed<'a> {
    #[table(partition_key)]
    channel: &'a str,
    #[table(row_key)]
    slug: &'a str,
}

fn use_it(plain: TableClient<Plain>, borrowed: TableClient<Borrowed<'static>>) {
    let _ = plain.insert(&Plain { name: String::new() });
    let _ = borrowed.insert(&Borrowed {
        channel: "a",
        slug: "b",
    });
    let _ = borrowed.get(("a", "b"));
}

fn first_use(service: TableServiceClient) -> azure_table::Result<()> {
    let plain = service.table::<Plain>("Plain")?;
    let _ = plain.query();
    Ok(())
}

fn main() {}
