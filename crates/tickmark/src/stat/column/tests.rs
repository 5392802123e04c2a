//! Numbers of a column, as programs and people write them.

use super::*;

pub(in crate::stat) const FIRST: Column<'_> = Column {
    number: 1,
    delimiters: b" \t",
    longest: usize::MAX,
    any: false,
    strict: false,
    forms: Some(PLAIN),
};
const PLAIN: Forms<'_> = Forms { heading: None, decimal_comma: false, missing: &[] };

fn read(column: Column<'_>, text: &str) -> Result<Vec<f64>, (usize, String)> {
    column.read(text.as_bytes()).map(|numbers| numbers.values).map_err(|bad| match bad {
        ColumnError::Line(line, token) => (line, token),
        ColumnError::Missing(line) | ColumnError::Long(line) => (line, String::new()),
        ColumnError::Unit(line, [own, before]) => (line, format!("{own} after {before}")),
        ColumnError::Heading(known) => (0, known.join(" ")),
        ColumnError::Many => panic!("{MOST} numbers"),
        ColumnError::Io(error) => panic!("{error}"),
    })
}

#[test]
fn lines_as_the_older_tool_takes_them() {
    let text = "1 #c\n\n#x\n 2\r\n\t0x10\n1e3 9\n+.5e1\n";
    assert_eq!(read(FIRST, text).unwrap(), [1.0, 2.0, 16.0, 1000.0, 5.0]);
    assert_eq!(read(Column { number: 2, ..FIRST }, "1 2\n3\n4  5 6").unwrap(), [2.0, 5.0]);
    assert_eq!(
        read(Column { delimiters: b",;", number: 2, forms: None, ..FIRST }, "1,2;3\n,4;; 5\n").unwrap(),
        [2.0, 5.0]
    );
    assert_eq!(read(FIRST, "1\nabc\n").unwrap_err(), (2, "abc".to_owned()));
    assert_eq!(read(FIRST, "1\n2\ninf\n").unwrap_err(), (3, "inf".to_owned()));
    assert!(read(Column { any: true, ..FIRST }, "nan\n-inf").unwrap()[0].is_nan());
    assert_eq!(read(FIRST, "").unwrap(), [0.0; 0]);
    let strict = Column { strict: true, ..FIRST };
    assert_eq!(read(strict, "#c\n1\n\n3\n").unwrap_err(), (3, String::new()));
    assert_eq!(read(strict, "#c\n1\n3\n").unwrap(), [1.0, 3.0]);
    let pieces = Column { longest: 4, ..FIRST };
    assert_eq!(read(pieces, "123456\n7\n").unwrap(), [1234.0, 56.0, 7.0]);
}

#[test]
fn the_longest_number_says_to_which_step_they_were_printed() {
    let step = |text: &str| FIRST.read(text.as_bytes()).unwrap().step;
    assert_eq!((step("1\n2\n"), step("1\n2.25\n3.5"), step("1e3\n2e3 x")), (1.0, 0.01, 1e3));
    assert_eq!((step("0x10\n2\n"), step("")), (0.0, 0.0));
}

#[test]
fn one_unit_is_named_and_two_are_refused() {
    let unit = |text: &str| FIRST.read(text.as_bytes()).unwrap().unit;
    assert_eq!(
        (unit("1 ms\n2.5 ms x\n"), unit("1 a\n2 b\n"), unit("3\n")),
        ("ms".into(), String::new(), String::new())
    );
    let mixed = FIRST.read("1 ms\n900 us\n3 s\n".as_bytes()).unwrap();
    assert_eq!((mixed.values, mixed.unit.as_str(), mixed.converted), (vec![1.0, 0.9, 3000.0], "ms", 2));
    assert_eq!(read(FIRST, "1 ms\n900 KB\n").unwrap_err(), (2, "KB after ms".to_owned()));
    assert_eq!(read(FIRST, "1 ms\n2\n").unwrap_err(), (2, " after ms".to_owned()));
    assert_eq!(read(FIRST, "1\n2 ms\n").unwrap_err(), (2, "ms after ".to_owned()));
    assert_eq!(read(Column { forms: None, ..FIRST }, "1 ms\n900 us\n").unwrap(), [1.0, 900.0]);
}

#[test]
fn large_integers_keep_their_digits() {
    let text = "1\n9007199254740993\n9007199254740995\n-9007199254740993\n1.5e300\n";
    let numbers = FIRST.read(text.as_bytes()).unwrap();
    assert_eq!(
        numbers.large,
        [(1, 9_007_199_254_740_993), (2, 9_007_199_254_740_995), (3, -9_007_199_254_740_993)]
    );
}

#[test]
fn numbers_as_people_paste_them() {
    let all = |column: Column<'_>, text: &str| {
        column.read(text.as_bytes()).map(|numbers| (numbers.values, numbers.unit, numbers.heading))
    };
    let headed = all(FIRST, "\u{feff}time_ms\r\n12.1\r\n12.4\r\n").unwrap();
    assert_eq!(headed, (vec![12.1, 12.4], String::new(), Some("time_ms".to_owned())));
    assert_eq!(all(FIRST, "12.1ms\n\"12.4ms\"\n").unwrap().0, [12.1, 12.4]);
    assert_eq!(all(FIRST, "0m12.100s\n1m0.5s\n").unwrap(), (vec![12.1, 60.5], "s".to_owned(), None));
    assert_eq!(all(FIRST, "00:00:12.10\n01:01:00\n").unwrap().0, [12.1, 3660.0]);
    let comma = Column { forms: Some(Forms { decimal_comma: true, ..PLAIN }), ..FIRST };
    assert!(matches!(all(comma, "0,8729\n1.234,5 ms\n"), Err(ColumnError::Unit(2, _))));
    assert_eq!(all(comma, "0,8729\n1.234,5\n").unwrap().0, [0.8729, 1234.5]);
    let gaps = ["-".to_owned(), "NaN".to_owned()];
    let missing = Column { forms: Some(Forms { missing: &gaps, ..PLAIN }), ..FIRST };
    let numbers = missing.read("12.1\n-\nNaN\n12.3\n".as_bytes()).unwrap();
    assert_eq!((numbers.values, numbers.missing), (vec![12.1, 12.3], 2));
    let named = Column { delimiters: b",", forms: Some(Forms { heading: Some("b"), ..PLAIN }), ..FIRST };
    assert_eq!(all(named, "a,b\n1,2\n3,4\n").unwrap().0, [2.0, 4.0]);
    assert_eq!(
        read(Column { forms: Some(Forms { heading: Some("c"), ..PLAIN }), ..named }, "a,b\n1,2\n")
            .unwrap_err(),
        (0, "a b".to_owned())
    );
    for refused in ["1\n-\n", "1\nNaN\n", "1,234\n", "a\nb\n1\n", "1\nx\n", "1:2\n", "NaN\n1\n"] {
        assert!(read(FIRST, refused).is_err(), "{refused:?}");
    }
    let gaps = Column { delimiters: b",", number: 2, ..FIRST };
    assert_eq!(read(gaps, "a,,1.5\nb,7,2.5\nc,,2.6\n").unwrap(), [7.0], "an empty cell keeps its place");
    for mixed in ["941 Mbits/sec\n1.10 frobs\n", "59 s\n1 minute\n"] {
        assert!(matches!(read(FIRST, mixed), Err((2, _))), "{mixed:?}");
    }
    let rates = FIRST.read("941 Mbit/s\n1.10 Gbit/s\n".as_bytes()).unwrap();
    assert!((rates.values[1] - 1100.0).abs() < 1e-9, "{rates:?}");
    assert!(read(comma, "1,5\n5.5\n").is_err());
    assert!(read(Column { strict: true, ..missing }, "1\n-\n").is_err(), "pairs would shift");
}

#[test]
fn a_line_without_an_end_is_refused_before_memory_is() {
    let endless = std::io::repeat(0);
    assert!(matches!(FIRST.read(endless), Err(ColumnError::Long(1))));
}

#[test]
fn lines_across_pieces_are_whole() {
    let text: String = (0..300_000).map(|i| format!("{i}.25\n")).collect();
    let values = read(FIRST, &text).unwrap();
    assert_eq!(
        (values.len(), values[299_999], values.iter().sum::<f64>()),
        (300_000, 299_999.25, 44_999_925_000.0)
    );
}
