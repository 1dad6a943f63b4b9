//! The layers of a folder of sources: its files and folders, in the order of their imports.
//!
//! Contains the check that the tests of all layers share.

use crate::sources::{SourceFile, Sources};

/// The layers of a folder.
#[derive(Clone, Copy, Debug)]
pub struct Layers<'a> {
    /// The path of the folder, such as `azure-table/src/client`.
    pub folder: &'a str,
    /// The names of its files and folders, highest first. The module of the folder itself has the folder's name.
    ///
    /// A layer may have several names, separated by spaces.
    pub names: &'a [&'a str],
}

impl Layers<'_> {
    /// Returns the position of the file's layer, 0 at the top, or `None` outside of the folder.
    ///
    /// # Panics
    /// The file belongs to no layer.
    pub fn position(&self, file: &SourceFile) -> Option<usize> {
        let name = match file.path.strip_prefix(self.folder)? {
            ".rs" => self.folder.rsplit('/').next(),
            below => below.strip_prefix('/')?.split(['/', '.']).next(),
        };
        let is_named = |layer: &&str| layer.split(' ').any(|layer| Some(layer) == name);
        let position = self.names.iter().position(is_named);
        assert!(position.is_some(), "{} belongs to no layer", file.path);
        position
    }

    /// Checks that the imports between the layers go down.
    ///
    /// # Panics
    /// One does not, or there are fewer than `least`.
    pub fn check_imports(&self, sources: &Sources, least: usize) {
        let (mut up, mut down) = (Vec::new(), 0);
        for (file, imports) in sources.files.iter().zip(sources.imports()) {
            let Some(above) = self.position(file) else { continue };
            for used in imports.iter().map(|&import| &sources.files[import]) {
                match self.position(used) {
                    Some(below) if below < above => up.push((&*file.path, &*used.path)),
                    Some(below) => down += usize::from(below > above),
                    None => {}
                }
            }
        }
        assert!(up.is_empty(), "imports of layers above: {up:#?}");
        assert!(down >= least, "{down} imports were found");
    }

    /// Checks that no files of the folder import each other.
    ///
    /// # Panics
    /// Some do.
    pub fn check_circles(&self, sources: &Sources) {
        let mut circles = sources.circles();
        circles.retain(|circle| circle.iter().any(|path| path.starts_with(self.folder)));
        assert!(circles.is_empty(), "files that import each other: {circles:#?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYERS: Layers<'_> = Layers {
        folder: "azure-table/src/client",
        names: &["client", "table bulk", "query"],
    };

    fn sources(files: &[(&str, &str)]) -> Sources {
        let file = |(path, text): &(&str, &str)| SourceFile::new((*path).to_owned(), (*text).to_owned());
        Sources::new(files.iter().map(file).collect())
    }

    #[test]
    fn imports_downward_pass() {
        let files = [
            ("azure-table/src/client.rs", "mod query; mod table;"),
            (
                "azure-table/src/client/table.rs",
                "use crate::client::query::page::Page;",
            ),
            ("azure-table/src/client/query/page.rs", "use crate::model::Error;"),
            (
                "azure-table/src/client_of_all.rs",
                "use crate::client::query::page::Page;",
            ),
        ];
        LAYERS.check_imports(&sources(&files), 1);
        LAYERS.check_circles(&sources(&files));
    }

    #[test]
    #[should_panic(expected = "imports of layers above")]
    fn import_upward_fails() {
        let files = [
            ("azure-table/src/client/table.rs", ""),
            (
                "azure-table/src/client/query/page.rs",
                "use crate::client::table::TableClient;",
            ),
        ];
        LAYERS.check_imports(&sources(&files), 0);
    }

    #[test]
    #[should_panic(expected = "files that import each other")]
    fn circle_inside_a_layer_fails() {
        let files = [
            (
                "azure-table/src/client/query/page.rs",
                "use crate::client::query::scan::Scan;",
            ),
            (
                "azure-table/src/client/query/scan.rs",
                "use crate::client::query::page::Page;",
            ),
        ];
        LAYERS.check_circles(&sources(&files));
    }

    #[test]
    #[should_panic(expected = "belongs to no layer")]
    fn file_without_a_layer_fails() {
        LAYERS.check_imports(&sources(&[("azure-table/src/client/ops/get.rs", "")]), 0);
    }
}
