//! The format of a file, by the ending of its name.

use std::path::Path;

use clap::ValueEnum;

use crate::failure::{Done, usage};
use crate::files::is_stream;
use crate::rows::compression::Compression;

/// The form of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowForm {
    /// One JSON object a line: exact
    #[value(name = "jsonl")]
    JsonLines,
    /// An array of JSON objects, as AzCopy 7 wrote them: only to import
    Json,
    /// A column for each property, with its type in the header: Age:Edm.Int32
    Csv,
    /// A column for each property, for DuckDB, pandas, Spark
    Parquet,
}

/// The form of the rows, and the compression around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileFormat {
    pub(crate) form: RowForm,
    pub(crate) compression: Compression,
}

impl FileFormat {
    /// Returns the format of a file. `form` is what the user names, if the ending does not tell.
    ///
    /// # Errors
    /// Neither tells the form, or a Parquet file is to be compressed as a whole.
    pub(crate) fn of(path: &Path, form: Option<RowForm>) -> Done<Self> {
        let name = path.file_name().unwrap_or_default();
        let name = name.to_string_lossy().to_ascii_lowercase();
        let (name, compression) = Compression::of(&name);
        let by_ending = match name.rsplit_once('.') {
            Some((_, "jsonl" | "ndjson")) => Some(RowForm::JsonLines),
            Some((_, "json")) => Some(RowForm::Json),
            Some((_, "csv")) => Some(RowForm::Csv),
            Some((_, "parquet")) => Some(RowForm::Parquet),
            Some((_, "part")) if form.is_none() => {
                usage!(
                    "{}: an unfinished export: the command that wrote it goes on with --resume",
                    path.display()
                );
            }
            _ if is_stream(path) => Some(RowForm::JsonLines),
            _ => None,
        };
        let Some(form) = form.or(by_ending) else {
            usage!(
                "{}: the ending names no format: .jsonl, .json, .csv, .parquet, or --format",
                path.display()
            );
        };
        if form == RowForm::Parquet && compression != Compression::None {
            usage!("{}: a Parquet file compresses its own columns", path.display());
        }
        Ok(Self { form, compression })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;

    #[test]
    fn an_ending_names_form_and_compression() {
        for (name, form, compression) in [
            ("a.jsonl", RowForm::JsonLines, Compression::None),
            ("a.b.JSONL.gz", RowForm::JsonLines, Compression::Gzip),
            ("a.csv.zst", RowForm::Csv, Compression::Zstandard),
            ("a.parquet", RowForm::Parquet, Compression::None),
        ] {
            assert_eq!(
                FileFormat::of(Path::new(name), None).unwrap(),
                FileFormat { form, compression }
            );
        }
        for name in ["a.parquet.gz", "a.txt", "jsonl"] {
            assert_eq!(
                FileFormat::of(Path::new(name), None).unwrap_err().code(),
                Failure::USAGE,
                "{name}"
            );
        }
    }
}
