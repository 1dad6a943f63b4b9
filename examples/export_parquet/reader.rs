//! The file as another program reads it: without the struct.

use std::error::Error;
use std::fs::File;
use std::path::Path;

use parquet::basic::ConvertedType;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor as _;

/// Prints the columns of the file, its size, and the strongest quake.
pub(crate) fn show(path: &Path) -> Result<(), Box<dyn Error>> {
    let file = SerializedFileReader::new(File::open(path)?)?;
    let metadata = file.metadata().file_metadata();
    println!(
        "exported   {} rows in {} row groups, {} bytes\n",
        metadata.num_rows(),
        file.num_row_groups(),
        std::fs::metadata(path)?.len()
    );
    for column in metadata.schema_descr().columns() {
        let meaning = match column.converted_type() {
            ConvertedType::NONE => String::new(),
            meaning => meaning.to_string(),
        };
        println!(
            "  {:<10} {:<10}  {meaning}",
            column.name(),
            column.physical_type().to_string()
        );
    }
    let mut strongest = (f64::MIN, String::new());
    for row in file.get_row_iter(None)? {
        let row = row?;
        // The magnitude may be absent.
        if let Ok(magnitude) = row.get_double(3)
            && magnitude > strongest.0
        {
            strongest = (magnitude, row.get_string(4)?.clone());
        }
    }
    println!("\nstrongest  {:.1} {}", strongest.0, strongest.1);
    Ok(())
}
