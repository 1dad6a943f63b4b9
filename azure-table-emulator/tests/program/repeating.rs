//! `--adverse` with one seed: two runs of the same requests have the same course.

use azure_table::{Continuation, DynamicEntity, Error, Page};

use crate::control::service;
use crate::{Running, emulator};

const SEEDS: u64 = 20;
/// The requests for the pages of a query, with those that failed.
const PAGES: usize = 12;

fn failure(error: &Error) -> String {
    format!("{:?} {:?} {:?}", error.kind(), error.status(), error.code())
}

/// Notes a page, and where the next one begins.
fn note<T>(
    page: azure_table::Result<Option<Page<T>>>,
    key: fn(&T) -> String,
    from: &mut Option<Continuation>,
) -> String {
    match page {
        Ok(Some(page)) => {
            *from = Some(page.continuation().clone()).filter(|next| !next.is_finished());
            let keys: Vec<_> = page.items().iter().map(key).collect();
            format!("{keys:?} {}", from.is_some())
        }
        Ok(None) => String::new(),
        Err(error) => failure(&error),
    }
}

/// Sends the same requests to a new program, and returns their outcomes.
async fn course(profile: &str, seed: u64) -> Vec<String> {
    let seed = seed.to_string();
    let running = Running::of(emulator(&["--port=0", "-q", "--profile", profile, "--adverse", &seed]));
    let service = service(&running);
    let mut course = Vec::new();
    for name in ["Blogs", "Others", "Third", "Third", "Fourth"] {
        let created = service.dynamic_table(name).unwrap().create_table().await;
        course.push(created.map_or_else(|e| failure(&e), |()| "created".to_owned()));
    }
    let deleted = service.dynamic_table("Fourth").unwrap().delete_table().await;
    course.push(deleted.map_or_else(|e| failure(&e), |()| "deleted".to_owned()));
    let blogs = service.dynamic_table("Blogs").unwrap();
    for n in 0..20 {
        let row = DynamicEntity::new(format!("p{}", n % 3), n.to_string());
        let inserted = blogs.insert(&row).await;
        course.push(inserted.map_or_else(|e| failure(&e), |_| "inserted".to_owned()));
    }
    let mut from = None;
    for _ in 0..PAGES {
        let mut query = blogs.query().page_size(3);
        if let Some(from) = from.clone() {
            query = query.resume_from(from);
        }
        let page = query.pages().try_next().await;
        course.push(note(page, |row| row.row_key.clone(), &mut from));
    }
    let mut from = None;
    for _ in 0..PAGES {
        let mut list = service.list_tables().page_size(2);
        if let Some(from) = from.clone() {
            list = list.resume_from(from);
        }
        let page = list.pages().try_next().await;
        course.push(note(page, String::clone, &mut from));
    }
    course
}

#[tokio::test]
async fn seed_repeats_the_course_of_the_same_requests() {
    for profile in ["storage", "cosmos"] {
        let mut courses = Vec::new();
        for seed in 0..SEEDS {
            let (first, second) = tokio::join!(course(profile, seed), course(profile, seed));
            assert_eq!(first, second, "{profile}, seed {seed}");
            courses.push(first);
        }
        courses.sort();
        courses.dedup();
        assert!(courses.len() > 10, "{profile}: {} different courses", courses.len());
    }
}
