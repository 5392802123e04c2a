//! The view in a terminal.

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Paragraph, Row, Table};
use std::io;
use std::time::{Duration, Instant};
use tickmark_analysis::live::{History, LiveQuantity};
use tickmark_render::live::{HEADS, bars, cells, cost, occupants, shown as words};
use tickmark_stats::order::largest_first;

/// Of the columns of [`HEADS`], and which of them are the most telling.
const WIDTHS: [u16; 12] = [4, 7, 10, 7, 8, 9, 9, 10, 9, 9, 7, 10];
const TELLING: [usize; 12] = [0, 6, 1, 7, 10, 8, 5, 4, 3, 9, 2, 11];
/// Columns that bars have at most.
const BARS: u16 = 120;
/// Where nothing is known of who had a CPU.
const UNKNOWN: &str = "not recorded: needs root, and at most 8 CPUs (--cpu)";
/// From this wake-up latency on a CPU is marked, in ns.
const MARKED: f64 = 1e6;

/// The user's command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    Nothing,
    End,
}

/// A terminal that is taken over, and given back when this is dropped.
pub(super) struct Screen {
    terminal: DefaultTerminal,
    state: State,
    own: f64,
}

/// The user's choices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct State {
    sorts: bool,
    minutes: bool,
    paused: bool,
    what: LiveQuantity,
    /// Who had each CPU in place of bars.
    names: bool,
    first: usize,
}

impl State {
    /// Takes a key; whether that ends it.
    fn press(&mut self, code: KeyCode, modifiers: KeyModifiers) -> bool {
        match code {
            KeyCode::Char('q') | KeyCode::Esc => return true,
            KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => return true,
            KeyCode::Char('s') => self.sorts = !self.sorts,
            KeyCode::Char('t') => self.minutes = !self.minutes,
            KeyCode::Char('p') => self.paused = !self.paused,
            KeyCode::Char('w') => self.names = !self.names,
            KeyCode::Char('b') => self.what = self.what.next(),
            KeyCode::Down => self.first += 1,
            KeyCode::Up => self.first = self.first.saturating_sub(1),
            KeyCode::PageDown => self.first += 20,
            KeyCode::PageUp => self.first = self.first.saturating_sub(20),
            _ => {}
        }
        false
    }
}

impl Screen {
    pub(super) fn open() -> io::Result<Self> {
        Ok(Self { terminal: ratatui::try_init()?, state: State::default(), own: 0.0 })
    }

    /// Hears keys until then; what they change is drawn at once.
    pub(super) fn wait(&mut self, until: Instant, all: &[History]) -> io::Result<Wish> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if !event::poll(left.min(Duration::from_millis(500)))? {
                return Ok(Wish::Nothing);
            }
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => {
                    if self.state.press(key.code, key.modifiers) {
                        return Ok(Wish::End);
                    }
                    self.show(all)?;
                }
                Event::Resize(..) => self.show(all)?,
                _ => {}
            }
        }
    }

    /// The observation on screen, unless it is paused.
    pub(super) fn draw(&mut self, all: &[History], own: f64) -> io::Result<()> {
        self.own = own;
        if self.state.paused { Ok(()) } else { self.show(all) }
    }

    fn show(&mut self, all: &[History]) -> io::Result<()> {
        let (state, own) = (self.state, self.own);
        self.terminal.draw(|frame| render(frame, all, state, own)).map(drop)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Which columns of [`HEADS`] such a terminal has room for: the most telling first, shown in their order.
fn fitting(width: u16) -> Vec<usize> {
    let mut left = width;
    let fits = |at: &usize| match left.checked_sub(WIDTHS[*at] + 1) {
        Some(less) => {
            left = less;
            true
        }
        None => false,
    };
    let mut columns: Vec<usize> = TELLING.into_iter().take_while(fits).collect();
    columns.sort_unstable();
    columns
}

/// Columns that the bars and their heading need.
const LEAST_BARS: u16 = 11;

/// What keys do, the most needed first.
const KEYS: [&str; 7] =
    ["q end", "s sort", "arrows scroll", "p pause", "w who had it", "t minutes", "b what bars show"];

/// As many of the parts, with dots between them, as a line has room for.
fn as_many(parts: &[&str], width: u16) -> String {
    let mut line = String::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        let dot = if line.is_empty() { "" } else { " · " };
        if line.chars().count() + dot.chars().count() + part.chars().count() > usize::from(width) {
            break;
        }
        line = line + dot + part;
    }
    line
}

fn render(frame: &mut ratatui::Frame<'_>, all: &[History], state: State, own: f64) {
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(3), Constraint::Length(2)])
            .areas(frame.area());
    let paused = if state.paused { "paused" } else { "" };
    let unit = if state.minutes { "minute" } else { "second" };
    let (cpus, what) =
        (format!("{} CPUs", all.len()), format!("bars: {}, of each {unit}", words(state.what)));
    let title = as_many(&["tickmark live", paused, &cpus, &what], frame.area().width);
    frame.render_widget(Paragraph::new(title).style(Style::new().add_modifier(Modifier::BOLD)), head);
    let mut shown: Vec<&History> = all.iter().collect();
    if state.sorts {
        let latest = |history: &&History| history.last().late.map_or(0.0, |late| late.1);
        largest_first(&mut shown, latest);
    }
    let columns = fitting(body.width.saturating_sub(LEAST_BARS));
    let room = body.width.saturating_sub(columns.iter().map(|at| WIDTHS[*at] + 1).sum::<u16>() + 1).min(BARS);
    let unit = match state {
        State { names: true, .. } => "who had it",
        State { minutes: true, .. } => "minutes",
        State { .. } => "seconds",
    };
    let heads = columns.iter().map(|at| HEADS[*at]).chain([unit]);
    let visible = usize::from(body.height.saturating_sub(1)).max(1);
    let first = state.first.min(shown.len().saturating_sub(visible));
    let row = |history: &&History| {
        let late = history.last().late.is_some_and(|late| late.1 >= MARKED);
        let style = if late { Style::new().fg(Color::Yellow) } else { Style::new() };
        let bars = match state.names {
            true => occupants(history).unwrap_or_else(|| UNKNOWN.to_owned()),
            false => bars(history, state.what, state.minutes, usize::from(room)),
        };
        let cells = cells(history);
        Row::new(columns.iter().map(|at| cells[*at].clone()).chain([bars]).map(Cell::from)).style(style)
    };
    let widths = columns.iter().map(|at| WIDTHS[*at]).chain([room]).map(Constraint::Length);
    let table = Table::new(shown[first..].iter().map(row), widths)
        .header(Row::new(heads).style(Style::new().add_modifier(Modifier::UNDERLINED)));
    frame.render_widget(table, body);
    let keys = Line::from(as_many(&KEYS, frame.area().width));
    frame.render_widget(Paragraph::new(vec![Line::from(cost(own)), keys]), foot);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use tickmark_analysis::live::Point;

    fn histories() -> Vec<History> {
        (0..40u32)
            .map(|cpu| {
                let mut history = History::new(cpu);
                let late = if cpu == 33 { 4_000_000 } else { 50_000 };
                history.add(Point::from_counts(
                    &[late],
                    &[],
                    [0, 1000],
                    Point { busy: Some(0.5), ..Point::default() },
                ));
                history
            })
            .collect()
    }

    fn drawn(state: State, width: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, 12)).unwrap();
        terminal.draw(|frame| render(frame, &histories(), state, 0.013)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn the_view_shows_what_is_late_what_it_costs_and_scrolls() {
        let text = drawn(State::default(), 140);
        assert!(text.contains("this view takes 1.3 % of one CPU") && text.contains("wake max"), "{text}");
        assert!(!text.contains("4.00 ms"), "CPU 33 is below: {text}");
        let sorted = drawn(State { sorts: true, ..State::default() }, 140);
        assert!(
            sorted.lines().nth(2).is_some_and(|line| line.contains("33") && line.contains("4.00 ms")),
            "{sorted}"
        );
        let below = drawn(State { first: 1000, ..State::default() }, 140);
        assert!(below.contains("39") && below.contains("4.00 ms"), "{below}");
        // A narrow terminal has fewer columns, each of them whole.
        let narrow = drawn(State { minutes: true, sorts: true, ..State::default() }, 40);
        assert!(
            narrow.contains("4.00 ms") && narrow.contains("busy") && !narrow.contains("lost"),
            "{narrow}"
        );
        assert!(fitting(3).is_empty() && fitting(300).len() == HEADS.len());
        assert!(
            narrow.contains("q end · s sort · arrows scroll")
                && !narrow.contains("who had it")
                && narrow.contains("minutes "),
            "{narrow}"
        );
    }

    #[test]
    fn keys_do_what_the_foot_says() {
        let (mut state, none) = (State::default(), KeyModifiers::NONE);
        for key in ['s', 't', 'p', 'b', 'w'] {
            assert!(!state.press(KeyCode::Char(key), none));
        }
        assert!(
            state.sorts && state.names && state.minutes && state.paused && state.what == LiveQuantity::Gap
        );
        state.press(KeyCode::Up, none);
        state.press(KeyCode::PageDown, none);
        assert_eq!(state.first, 20);
        assert!(
            state.press(KeyCode::Char('q'), none) && state.press(KeyCode::Char('c'), KeyModifiers::CONTROL)
        );
        assert!(!state.press(KeyCode::Char('c'), none));
    }
}
