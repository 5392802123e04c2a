//! A table of another program as CSV.

use crate::Error;
use crate::read::reading;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::fs::File;
use std::path::Path;

/// The columns that lie at the top of a Parquet file, as CSV with headings: numbers and texts as they are, times as in RFC 3339, nothing for
/// a value that is not there. Lists and groups are left out.
///
/// # Errors
/// It is no Parquet file, or compressed in another way than by Snappy; its text has more than `most` bytes.
pub fn csv_from_parquet(path: &Path, most: usize) -> Result<String, Error> {
    let file = File::open(path).map_err(Error::file("read", path))?;
    reading(path, || write_rows(file, most)).map_err(|why| match why {
        // "Disabled feature at compile time: zstd"
        ParquetError::General(text) if text.contains("Disabled feature") => {
            let codec = text.rsplit(' ').next().unwrap_or_default();
            let why = format!("it is compressed by {codec}; by Snappy or not at all it is read");
            Error::file("read", path)(std::io::Error::other(why))
        }
        why => Error::file("read", path)(std::io::Error::other(why)),
    })
}

fn write_rows(file: File, most: usize) -> Result<String, ParquetError> {
    let reader = SerializedFileReader::new(file)?;
    let mut text = String::new();
    let columns = reader.metadata().file_metadata().schema().get_fields();
    let plain: Vec<&str> = columns.iter().filter(|one| one.is_primitive()).map(|one| one.name()).collect();
    let line = |cells: Vec<String>| cells.join(",") + "\n";
    text += &line(plain.iter().map(|name| quoted(name)).collect());
    for row in reader.get_row_iter(None)? {
        let row = row?;
        let cells = row.get_column_iter().filter(|(name, _)| plain.contains(&name.as_str()));
        text += &line(cells.map(|(_, field)| cell(field)).collect());
        if text.len() > most {
            return Err(ParquetError::General(format!("more than {most} bytes as text")));
        }
    }
    Ok(text)
}

fn cell(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Str(text) => quoted(text),
        Field::TimestampMillis(_) | Field::TimestampMicros(_) => {
            // "2026-11-27 10:00:00 +00:00" is two blanks away from RFC 3339.
            field.to_string().replacen(' ', "T", 1).replace(' ', "")
        }
        other => quoted(&other.to_string()),
    }
}

/// A cell of CSV (RFC 4180).
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
