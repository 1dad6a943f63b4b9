//! The queries of the posts and of the REST reference: filter text, access path, and the rows that they find.
//!
//! Sources: "How to get the most out of Windows Azure Tables" (2010), the movies; "Windows Azure Table" (2009),
//! prefixes and types; "Azure develop solution for Table Storage" (AZ-203), employees and customers; the Java post on
//! tables (2012), filters of each type.

use azure_table::filter::AccessPath::{Partition, PartitionRange, Point, RowRange, TableScan};
use azure_table::{
    Column, DateTime, DynamicEntity, Emulator, Guid, Key, KeyPrefix, Property, TableClient, TableEntity,
    TableServiceClient,
};

#[derive(TableEntity)]
struct Movie {
    #[table(partition_key)]
    category: String,
    #[table(row_key)]
    title: String,
    favorite: bool,
}

async fn movies() -> TableClient<Movie> {
    let service = TableServiceClient::from_transport(Emulator::new());
    let movies = service.table::<Movie>("Movies").unwrap();
    movies.create_table().await.unwrap();
    for (category, title) in [
        ("Action", "Alien"),
        ("Action", "Cop Out"),
        ("Action", "Sherlock Holmes"),
        ("Action", "Terminator"),
        ("Action", "Tron"),
        ("SciFi", "Solaris"),
        ("SciFi", "Sphere"),
        ("SciFi", "Star Wars"),
        ("Thriller", "Shutter Island"),
        ("War", "Saving Private Ryan"),
    ] {
        let favorite = !title.starts_with('S');
        let (category, title) = (category.into(), title.into());
        let movie = Movie {
            category,
            title,
            favorite,
        };
        movies.insert(&movie).await.unwrap();
    }
    movies
}

#[tokio::test]
async fn queries_of_the_post_have_the_cost_that_it_names() {
    let movies = movies().await;
    let (category, title, favorite) = (Movie::CATEGORY, Movie::TITLE, Movie::FAVORITE.eq(true));
    let action = || category.eq("Action");
    for (filter, text, path, titles) in [
        (
            action() & title.eq("Terminator"),
            "PartitionKey eq 'Action' and RowKey eq 'Terminator'",
            Point,
            &["Terminator"][..],
        ),
        (
            action() & title.ge("Alien") & title.le("Terminator") & favorite.clone(),
            "PartitionKey eq 'Action' and RowKey ge 'Alien' and RowKey le 'Terminator' and favorite eq true",
            RowRange,
            &["Alien", "Cop Out", "Terminator"],
        ),
        (
            action() & title.starts_with("Sh"),
            "PartitionKey eq 'Action' and RowKey ge 'Sh' and RowKey lt 'Si'",
            RowRange,
            &["Sherlock Holmes"],
        ),
        (
            category.eq("SciFi") & title.between("Sphere", "Star Wars"),
            "PartitionKey eq 'SciFi' and RowKey ge 'Sphere' and RowKey le 'Star Wars'",
            RowRange,
            &["Sphere", "Star Wars"],
        ),
        (
            category.ge("Action") & category.lt("War") & favorite.clone(),
            "PartitionKey ge 'Action' and PartitionKey lt 'War' and favorite eq true",
            PartitionRange,
            &["Alien", "Cop Out", "Terminator", "Tron"],
        ),
        (
            category.between("SciFi", "Thriller"),
            "PartitionKey ge 'SciFi' and PartitionKey le 'Thriller'",
            PartitionRange,
            &["Solaris", "Sphere", "Star Wars", "Shutter Island"],
        ),
        (
            category.ne("Action"),
            "PartitionKey ne 'Action'",
            TableScan,
            &[
                "Solaris",
                "Sphere",
                "Star Wars",
                "Shutter Island",
                "Saving Private Ryan",
            ],
        ),
        (
            favorite,
            "favorite eq true",
            TableScan,
            &["Alien", "Cop Out", "Terminator", "Tron"],
        ),
        (
            title.starts_with("Sh"),
            "RowKey ge 'Sh' and RowKey lt 'Si'",
            TableScan,
            &["Sherlock Holmes", "Shutter Island"],
        ),
        (
            category.eq("War") | category.eq("Thriller"),
            "PartitionKey eq 'War' or PartitionKey eq 'Thriller'",
            TableScan,
            &["Shutter Island", "Saving Private Ryan"],
        ),
    ] {
        assert_eq!(filter.to_string(), text);
        let query = movies.query().filter(filter);
        assert_eq!(query.plan().unwrap().path(), path, "{text}");
        let found = query.all().await.unwrap();
        let found: Vec<&str> = found.iter().map(|movie| movie.title.as_str()).collect();
        assert_eq!(found, titles, "{text}");
    }
}

/// The post: two partitions by an `or` scan the table, so send two queries in parallel.
#[tokio::test]
async fn two_partitions_are_two_queries_of_a_fan_out() {
    let movies = movies().await;
    let query = movies
        .query()
        .filter(Movie::CATEGORY.is_in(["War", "Thriller"]))
        .fan_out();
    let plan = query.plan().unwrap();
    assert_eq!((plan.requests(), plan.path()), (2, Partition));
    let found = query.all().await.unwrap();
    let found: Vec<&str> = found.iter().map(|movie| movie.title.as_str()).collect();
    assert_eq!(found, ["Shutter Island", "Saving Private Ryan"]);
}

/// The paper: a channel for each PDC. `PDD` is the first text behind all that begin with `PDC`.
#[tokio::test]
async fn channels_are_found_by_the_prefix_of_their_name() {
    let service = TableServiceClient::from_transport(Emulator::new());
    let blogs = service.dynamic_table("Blogs").unwrap();
    blogs.create_table().await.unwrap();
    for channel in ["PD", "PDB", "PDC", "PDC2008", "PDC\u{ffff}", "PDD", "PDD2008"] {
        blogs.insert(&DynamicEntity::new(channel, "1")).await.unwrap();
    }
    let query = blogs.query().key_prefix(KeyPrefix::from_partition_text("PDC").unwrap());
    let plan = query.plan().unwrap();
    assert_eq!(plan.path(), PartitionRange);
    let text = "PartitionKey%20ge%20%27PDC%27%20and%20PartitionKey%20lt%20%27PDD%27";
    assert!(plan.request_text().contains(text), "{plan}");
    let found: Vec<String> = query
        .all()
        .await
        .unwrap()
        .into_iter()
        .map(|blog| blog.partition_key)
        .collect();
    assert_eq!(found, ["PDC", "PDC2008", "PDC\u{ffff}"]);
}

/// The paper: `Rating > 1.2` skips an entity whose rating is an integer.
#[tokio::test]
async fn comparison_skips_a_property_of_another_type() {
    let service = TableServiceClient::from_transport(Emulator::new());
    let blogs = service.dynamic_table("Blogs").unwrap();
    blogs.create_table().await.unwrap();
    let (mut a, mut b) = (DynamicEntity::new("p", "a"), DynamicEntity::new("p", "b"));
    a.insert("Rating", 5);
    b.insert("Rating", 4.5);
    blogs.insert(&a).await.unwrap();
    blogs.insert(&b).await.unwrap();
    let rating = Column::<DynamicEntity, f64>::property("Rating").gt(1.2);
    assert_eq!(rating.to_string(), "Rating gt 1.2");
    let found = blogs.query().partition("p").filter(rating).keys().all().await.unwrap();
    assert_eq!(found, [Key::from_text("p", "b").unwrap()]);
}

#[derive(TableEntity)]
#[table(rename_all = "PascalCase")]
struct Employee {
    #[table(partition_key)]
    department: String,
    #[table(row_key)]
    id: String,
    last_name: String,
}

/// AZ-203: four kinds of queries of employees, and the `or` that is not a range.
#[test]
fn queries_of_the_exam_guide_have_the_kind_that_it_names() {
    let service = TableServiceClient::from_transport(Emulator::new());
    let employees = service.table::<Employee>("Employees").unwrap();
    let sales = || Employee::DEPARTMENT.eq("Sales");
    let (id, last_name) = (Employee::ID, Employee::LAST_NAME);
    for (filter, text, path) in [
        (sales() & id.eq("2"), "PartitionKey eq 'Sales' and RowKey eq '2'", Point),
        (
            sales() & id.ge("S") & id.lt("T"),
            "PartitionKey eq 'Sales' and RowKey ge 'S' and RowKey lt 'T'",
            RowRange,
        ),
        (
            sales() & last_name.eq("Smith"),
            "PartitionKey eq 'Sales' and LastName eq 'Smith'",
            Partition,
        ),
        (last_name.eq("Jones"), "LastName eq 'Jones'", TableScan),
        (
            sales() & (id.eq("121") | id.eq("322")),
            "PartitionKey eq 'Sales' and (RowKey eq '121' or RowKey eq '322')",
            Partition,
        ),
    ] {
        assert_eq!(filter.to_string(), text);
        let plan = employees.query().filter(filter).plan().unwrap();
        assert_eq!(plan.path(), path, "{text}");
    }
}

/// The REST reference, "Sample Query Expressions", and `generateFilterCondition` of the Java post.
#[test]
fn comparisons_have_the_text_of_the_reference() {
    fn column<T: Property>(name: &'static str) -> Column<DynamicEntity, T> {
        Column::property(name)
    }
    let since: DateTime = "2008-07-10T00:00:00Z".parse().unwrap();
    let guid: Guid = "a455c695-df98-5678-aaaa-81d3367e5a34".parse().unwrap();
    for (filter, text) in [
        (
            column::<String>("LastName").eq("Smith") & column::<String>("FirstName").eq("John"),
            "LastName eq 'Smith' and FirstName eq 'John'",
        ),
        (
            column::<String>("LastName").starts_with("A"),
            "LastName ge 'A' and LastName lt 'B'",
        ),
        (column::<String>("LastName").eq("o'clock"), "LastName eq 'o''clock'"),
        (column::<i32>("Age").gt(30), "Age gt 30"),
        (column::<bool>("IsActive").eq(true), "IsActive eq true"),
        (
            column::<DateTime>("CustomerSince").eq(since),
            "CustomerSince eq datetime'2008-07-10T00:00:00Z'",
        ),
        (
            column::<Guid>("GuidValue").eq(guid),
            "GuidValue eq guid'a455c695-df98-5678-aaaa-81d3367e5a34'",
        ),
        (column::<String>("Prop").gt("foo"), "Prop gt 'foo'"),
        (column::<i64>("Prop").gt(50), "Prop gt 50L"),
        (column::<f64>("Prop").gt(50.5), "Prop gt 50.5"),
        (column::<Vec<u8>>("Prop").eq([1, 2, 3]), "Prop eq X'010203'"),
    ] {
        assert_eq!(filter.to_string(), text);
    }
}
