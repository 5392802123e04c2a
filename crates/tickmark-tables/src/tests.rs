//! Tables that come back, and files that are none.

use super::*;
use serde_json::{Value, json};

const SCHEMA: Schema =
    &[("name", Kind::Text), ("value", Kind::Number), ("count", Kind::Integer), ("fine", Kind::Flag)];

fn write(path: &Path, rows: &[Vec<Value>]) {
    let mut writer = Writer::create(path, SCHEMA).unwrap();
    rows.iter().for_each(|row| writer.push(row).unwrap());
    writer.finish().unwrap();
}

#[test]
fn what_was_written_comes_back_from_all_files_of_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let first = vec![
        vec![json!("a"), json!(1.5), json!(3), json!(true)],
        vec![Value::Null, Value::Null, Value::Null, Value::Null],
        vec![json!("b'\u{1b};drop"), json!(-0.25), json!(-7), json!(false)],
    ];
    write(&folder.path().join("day=1/x.parquet"), &first);
    // More than one group of rows.
    let many: Vec<Vec<Value>> =
        (0..450_000).map(|i| vec![json!("c"), json!(f64::from(i)), json!(i), json!(i % 2 == 0)]).collect();
    write(&folder.path().join("day=2/y.parquet"), &many);
    let table = read(folder.path(), SCHEMA).unwrap();
    assert_eq!(table.rows, 450_003);
    assert_eq!((table.text(0, 0), table.number(1, 0)), (Some("a"), Some(1.5)));
    assert_eq!((table.text(0, 1), table.number(1, 1), table.number(2, 1)), (None, None, None));
    assert_eq!((table.text(0, 2), table.number(2, 2)), (Some("b'\u{1b};drop"), Some(-7.0)));
    assert_eq!(table.number(1, 450_002), Some(449_999.0));
    assert!(
        matches!(&table.columns[3], Column::Flag(all) if all[0] == Some(true) && all[450_002] == Some(false))
    );
    let names: Vec<_> = std::fs::read_dir(folder.path().join("day=1")).unwrap().flatten().collect();
    assert_eq!(names.len(), 1, "no draft is left");
}

#[test]
fn a_file_that_is_cut_short_or_another_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    write(&path, &vec![vec![json!("a"), json!(1.5), json!(3), json!(true)]; 1000]);
    let whole = std::fs::read(&path).unwrap();
    for length in [0, 3, 8, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..length]).unwrap();
        let error = read(folder.path(), SCHEMA).unwrap_err().to_string();
        assert!(
            error.contains("t.parquet is no whole Parquet file") && error.lines().count() == 1,
            "{error}"
        );
    }
    // Any byte may be wrong: an answer, an error, or a panic that names the file.
    std::panic::set_hook(Box::new(|_| {}));
    let mut panics = 0;
    for at in (0..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        std::fs::write(&path, &damaged).unwrap();
        if std::panic::catch_unwind(|| read(folder.path(), SCHEMA)).is_err() {
            panics += 1;
            let error = error_of_panic().unwrap().to_string();
            assert!(error.contains("t.parquet is no whole Parquet file"), "{error}");
        }
        assert!(error_of_panic().is_none(), "nothing is being read");
    }
    let _ = std::panic::take_hook();
    assert!(panics > 0, "without any, the hook for them is not needed");
    std::fs::write(&path, &whole).unwrap();
    let error = read(folder.path(), &[("other", Kind::Text)]).unwrap_err().to_string();
    assert!(error.contains("no column other"), "{error}");
    assert!(read(folder.path(), &[("name", Kind::Number)]).is_err(), "a column of another kind");
    assert!(read(&folder.path().join("nowhere"), SCHEMA).is_err());
}

#[test]
fn what_is_not_finished_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(&folder.path().join("t.parquet"), SCHEMA).unwrap();
    writer.push(&[json!("a")]).unwrap();
    drop(writer);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// As other programs write columns that lack nothing.
#[test]
fn columns_that_may_lack_nothing_are_read_as_well() {
    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
    let folder = tempfile::tempdir().unwrap();
    let schema =
        "message other { required double value; optional int64 count; required binary name (UTF8); }";
    let schema = std::sync::Arc::new(parquet::schema::parser::parse_message_type(schema).unwrap());
    let file = std::fs::File::create(folder.path().join("x.parquet")).unwrap();
    let mut writer =
        parquet::file::writer::SerializedFileWriter::new(file, schema, std::sync::Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<DoubleType>().write_batch(&[1.0, 2.0, 3.0], None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<parquet::data_type::Int64Type>().write_batch(&[7], Some(&[0, 1, 0]), None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let names = ["a", "b", "c"].map(ByteArray::from);
    column.typed::<ByteArrayType>().write_batch(&names, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let table = read(folder.path(), &SCHEMA[..3]).unwrap();
    let row = |row| (table.text(0, row), table.number(1, row), table.number(2, row));
    assert_eq!(table.rows, 3);
    assert_eq!([row(0), row(1)], [(Some("a"), Some(1.0), None), (Some("b"), Some(2.0), Some(7.0))]);
}

#[test]
fn a_table_as_csv() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let row = |name: Value, value: Value| vec![name, value, json!(9_007_199_254_740_993_i64), json!(true)];
    write(&path, &[row(json!("a,\"b\""), json!(1.5)), row(Value::Null, Value::Null)]);
    let text = csv_from_parquet(&path, 1 << 20).unwrap();
    assert_eq!(
        text,
        "name,value,count,fine\n\"a,\"\"b\"\"\",1.5,9007199254740993,true\n,,9007199254740993,true\n"
    );
    assert!(csv_from_parquet(&path, 30).unwrap_err().to_string().contains("more than 30 bytes"));
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 3]).unwrap();
    assert!(csv_from_parquet(&path, 1 << 20).is_err());
}
