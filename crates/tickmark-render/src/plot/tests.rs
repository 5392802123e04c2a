use super::*;
use crate::number::{bytes, percent, time};

fn plot() -> Plot {
    let series = |name: &str, of: fn(f64) -> f64| {
        Series::line(name, (1..30).map(|x| (f64::from(x), of(f64::from(x)))).collect())
    };
    Plot {
        title: "Error of each timer".to_owned(),
        x: Axis::linear("timer", |x| x.to_string()),
        y: Axis::log("error", time),
        series: vec![
            series("one-shot", |x| 800.0 * x),
            series("hybrid <&>", |x| if x == 3.0 { 0.0 } else { 35.0 }),
        ],
    }
}

fn all() -> Vec<Drawing> {
    let tail = Series {
        points: (0..60)
            .map(|n| (1.0 - 10f64.powf(-f64::from(n) / 10.0), 50_000.0 + f64::from(n * n) * 300.0))
            .collect(),
        shape: Shape::Steps,
        ..Series::default()
    };
    let band = Series {
        name: "half".to_owned(),
        points: vec![(1.0, 0.5), (2.0, 0.4), (1024.0, 0.1)],
        band: vec![(0.4, 0.6), (0.3, 0.5), (0.0, 0.2)],
        shape: Shape::Points,
    };
    let dots = Dots {
        title: "System calls".to_owned(),
        axis: Axis::log("cost", time),
        kinds: vec!["floor".to_owned(), "mean".to_owned()],
        rows: vec![
            Row {
                name: "null call (getppid)".to_owned(),
                values: vec![vec![160.0, 164.0, 161.0], vec![170.0]],
            },
            Row {
                name: "a name that is longer than what there is room for".to_owned(),
                values: vec![vec![980.0], vec![]],
            },
        ],
    };
    let bar = |name: &str, point: f64, ends, stands_out| Bar {
        name: name.to_owned(),
        point,
        ends,
        words: if stands_out { "changed" } else { "undecided" }.to_owned(),
        stands_out,
    };
    let forest = Forest {
        title: "Change of each figure".to_owned(),
        axis: Axis::linear("change", percent),
        reference: (0.0, 0.01),
        bars: vec![
            bar("clock", 0.2, Some((0.14, 0.26)), true),
            bar("pipe", -0.01, Some((-0.06, 0.04)), false),
            bar("exact", 0.0, None, false),
        ],
    };
    let heat = Heat {
        title: "Lost, by CPU and time".to_owned(),
        x: ("0 s".to_owned(), "2 s".to_owned(), "share of the time".to_owned()),
        rows: vec![("CPU 0".to_owned(), vec![0.0, 0.2, 1.0, 0.4]), ("CPU 1".to_owned(), vec![0.0; 4])],
        most: "12 %".to_owned(),
    };
    let y = Axis::linear("share", percent);
    let stack = |names: &[&str], own| (names.iter().map(|name| (*name).to_owned()).collect(), own);
    let flame = Flame {
        title: "Instructions by function".to_owned(),
        unit: "instructions".to_owned(),
        stacks: vec![stack(&["entry", "read"], 70.0), stack(&["entry"], 20.0), stack(&["program"], 10.0)],
        before: Vec::new(),
    };
    vec![
        Drawing::Plot(plot()),
        Drawing::Plot(Plot {
            title: "Tail".to_owned(),
            x: Axis::tail("share of wake-ups"),
            y: Axis::log("late", time),
            series: vec![tail],
        }),
        Drawing::Plot(Plot {
            title: "By size".to_owned(),
            x: Axis::octaves("bytes", bytes),
            y,
            series: vec![band],
        }),
        Drawing::Dots(dots),
        Drawing::Forest(forest),
        Drawing::Heat(heat),
        Drawing::Flame(flame),
    ]
}

#[test]
fn points_stand_where_they_belong() {
    let text: Vec<String> = all().iter().map(|drawing| drawing.text(76)).collect();
    assert!(text.iter().flat_map(|text| text.lines()).all(|line| line.chars().count() <= 78), "{text:#?}");
    insta::assert_snapshot!(text.join("\n"));
}

/// Well-formed as XML, with nothing that a number could have become by dividing by zero.
#[test]
fn drawings_are_well_formed_and_have_their_texts() {
    for drawing in all() {
        let svg = drawing.svg();
        let mut open = Vec::new();
        for tag in svg.split('<').skip(1).map(|rest| rest.split('>').next().unwrap()) {
            let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
            match (tag.starts_with('/'), tag.ends_with('/')) {
                (true, _) => assert_eq!(open.pop(), Some(name), "{svg}"),
                (false, false) => open.push(name),
                (false, true) => {}
            }
        }
        assert!(open.is_empty() && svg.contains(&format!("<title>{}</title>", drawing.title())), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
    let svg = all()[0].svg();
    assert!(svg.contains("hybrid &lt;&amp;&gt;") && svg.matches("<polyline").count() == 4);
    // As many series as there are ways to wait are all told apart, in both.
    let series = (0..13).map(|number| {
        Series::line(format!("way {number}"), vec![(1.0, 1.0), (2.0, 2.0 + f64::from(number))])
    });
    let many = Plot { series: series.collect(), ..plot() };
    let (svg, text) = (many.svg(), many.text(40, 8));
    let lines: std::collections::BTreeSet<String> = svg
        .lines()
        .filter(|line| line.starts_with("<polyline") && line.contains("2.5"))
        .map(|line| line.split("stroke=").nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(lines.len(), 13, "{svg}");
    let marks: std::collections::BTreeSet<&str> =
        text.lines().filter_map(|line| line.trim_start().split_once(" way ")).map(|(mark, _)| mark).collect();
    assert_eq!(marks.len(), 13, "{text}");
}

#[test]
fn an_interval_that_says_nothing_does_not_hide_the_others() {
    let bar = |number: u32, far: f64| Bar {
        name: format!("figure {number}"),
        point: 0.0,
        ends: Some((-far, far)),
        words: "undecided".to_owned(),
        stands_out: false,
    };
    let bars = (0..20).map(|number| bar(number, if number == 7 { 5.0 } else { 0.02 })).collect();
    let forest = Forest {
        title: "Change".to_owned(),
        axis: Axis::linear("change", percent),
        reference: (0.0, 0.01),
        bars,
    };
    let (text, svg) = (forest.text(80), forest.svg());
    let cut: Vec<&str> = text.lines().filter(|line| line.contains('<') && line.contains('>')).collect();
    assert!(cut.len() == 1 && cut[0].contains("figure 7"), "{text}");
    assert!(svg.matches('\u{25b8}').count() == 1 && text.contains("2.0 %"), "{text}");
}

#[test]
fn nothing_is_shown_of_nothing() {
    let none = Plot { series: vec![Series::line("", vec![(1.0, 0.0), (f64::NAN, 1.0)])], ..plot() };
    assert!(none.text(20, 5).is_empty() && none.svg().is_empty());
    for drawing in all() {
        let empty = match drawing {
            Drawing::Plot(plot) => Drawing::Plot(Plot { series: Vec::new(), ..plot }),
            Drawing::Dots(dots) => Drawing::Dots(Dots { rows: Vec::new(), ..dots }),
            Drawing::Forest(forest) => Drawing::Forest(Forest { bars: Vec::new(), ..forest }),
            Drawing::Heat(heat) => Drawing::Heat(Heat { rows: Vec::new(), ..heat }),
            Drawing::Flame(flame) => Drawing::Flame(Flame { stacks: Vec::new(), ..flame }),
        };
        assert!(empty.svg().is_empty() && empty.text(80).is_empty(), "{}", empty.title());
        assert!(!empty.file().contains(' '));
    }
}
