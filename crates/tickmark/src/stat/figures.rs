//! Symbols and layout of ministat's sets and plots.

/// The symbol of each set; the first is an empty cell.
pub(super) const SYMBOLS: [char; 8] = [' ', 'x', '+', '*', '%', '#', '@', 'O'];

/// Its figures of a set.
#[derive(Clone, Copy)]
pub(super) struct Figures {
    pub(super) count: f64,
    pub(super) least: f64,
    pub(super) most: f64,
    pub(super) median: f64,
    pub(super) mean: f64,
    pub(super) variance: f64,
}

impl Figures {
    pub(super) fn deviation(&self) -> f64 {
        self.variance.sqrt()
    }
}
