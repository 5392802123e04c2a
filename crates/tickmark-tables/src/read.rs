//! Reading a table.

use crate::{Column, Error, Kind, Schema, write};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::cell::RefCell;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The columns of a table that were asked for, in that order.
#[derive(Debug, Clone)]
pub struct Table {
    /// As many as were asked for.
    pub columns: Vec<Column>,
    /// How many rows each has.
    pub rows: usize,
}

impl Table {
    /// The text of a row in a column.
    #[must_use]
    pub fn text(&self, column: usize, row: usize) -> Option<&str> {
        match self.columns.get(column)? {
            Column::Text(texts) => texts.get(row),
            _ => None,
        }
    }

    /// The number of a row in a column.
    #[must_use]
    pub fn number(&self, column: usize, row: usize) -> Option<f64> {
        match self.columns.get(column)? {
            Column::Number(all) => *all.get(row)?,
            Column::Integer(all) => all.get(row)?.map(|value| value as f64),
            _ => None,
        }
    }
}

/// Reads these columns of every file (`*.parquet`) in a folder and the folders in it, in the order of their paths.
///
/// # Errors
/// There is none, or one of them is no such table.
pub fn read(folder: &Path, wanted: Schema) -> Result<Table, Error> {
    let mut files = Vec::new();
    find(folder, &mut files).map_err(Error::file("read", folder))?;
    files.sort();
    let mut columns = write::empty(wanted);
    for path in &files {
        let read = reading(path, || read_file(path, wanted));
        columns.iter_mut().zip(read?).for_each(|(all, more)| all.append(more));
    }
    let rows = columns.first().map_or(0, Column::len);
    Ok(Table { columns, rows })
}

thread_local! {
    /// The file that is being read.
    static READING: RefCell<Option<PathBuf>> = const { RefCell::new(None) };
}

/// Calls `read`, with the file that it reads known to [`error_of_panic`].
pub(crate) fn reading<T>(path: &Path, read: impl FnOnce() -> T) -> T {
    READING.set(Some(path.to_owned()));
    let result = read();
    READING.set(None);
    result
}

/// The error to report for a panic of this thread: the library panics at some damaged files, and the release program cannot catch that.
/// None where no file is being read.
#[must_use]
pub fn error_of_panic() -> Option<Error> {
    READING.take().map(|path| Error::damaged(&path, "its reader gave up"))
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else if path.extension().is_some_and(|is| is == "parquet") {
            files.push(path);
        }
    }
    Ok(())
}

fn read_file(path: &Path, wanted: Schema) -> Result<Vec<Column>, Error> {
    // A pipe would be waited for.
    let is_file = std::fs::metadata(path).and_then(|is| match is.is_file() {
        true => Ok(()),
        false => Err(std::io::Error::other("it is no regular file")),
    });
    let file = is_file.and_then(|()| File::open(path)).map_err(Error::file("read", path))?;
    let failed = |error: ParquetError| Error::damaged(path, error);
    let reader = SerializedFileReader::new(file).map_err(failed)?;
    let described = reader.metadata().file_metadata().schema_descr().columns();
    // Whether a column may lack values: other programs say so where none does.
    let known: Vec<(String, bool)> =
        described.iter().map(|c| (c.name().to_owned(), c.max_def_level() > 0)).collect();
    let mut columns = write::empty(wanted);
    for group in 0..reader.num_row_groups() {
        let rows = reader.get_row_group(group).map_err(failed)?;
        let count =
            usize::try_from(rows.metadata().num_rows()).map_err(|error| Error::damaged(path, error))?;
        for ((name, kind), column) in wanted.iter().zip(&mut columns) {
            let at = known.iter().position(|(own, _)| own == name);
            let at = at.ok_or_else(|| Error::damaged(path, format!("it has no column {name}")))?;
            let lacks = known[at].1;
            let values = rows.get_column_reader(at).and_then(|reader| take(reader, *kind, count, lacks));
            column.append(values.map_err(failed)?);
        }
    }
    Ok(columns)
}

/// The values of a column of a group, which may lack some.
fn take(reader: ColumnReader, kind: Kind, count: usize, lacks: bool) -> Result<Column, ParquetError> {
    fn all<T: DataType>(
        mut reader: ColumnReaderImpl<T>,
        count: usize,
        lacks: bool,
    ) -> Result<Vec<Option<T::T>>, ParquetError> {
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        let mut taken = 0;
        while taken < count {
            let levels = lacks.then_some(&mut levels);
            let (rows, _, _) = reader.read_records(count - taken, levels, None, &mut values)?;
            if rows == 0 {
                return Err(ParquetError::General("it has fewer rows than it says".to_owned()));
            }
            taken += rows;
        }
        if !lacks {
            return Ok(values.into_iter().map(Some).collect());
        }
        let mut values = values.into_iter();
        Ok(levels.iter().map(|level| if *level > 0 { values.next() } else { None }).collect())
    }
    match (reader, kind) {
        (ColumnReader::ByteArrayColumnReader(reader), Kind::Text) => {
            let mut texts = crate::Texts::default();
            for value in all(reader, count, lacks)? {
                texts.push(value.as_ref().map(|bytes| String::from_utf8_lossy(bytes.data())).as_deref());
            }
            Ok(Column::Text(texts))
        }
        (ColumnReader::DoubleColumnReader(reader), Kind::Number) => {
            all(reader, count, lacks).map(Column::Number)
        }
        (ColumnReader::Int64ColumnReader(reader), Kind::Integer) => {
            all(reader, count, lacks).map(Column::Integer)
        }
        (ColumnReader::BoolColumnReader(reader), Kind::Flag) => all(reader, count, lacks).map(Column::Flag),
        _ => Err(ParquetError::General("a column of another kind".to_owned())),
    }
}
