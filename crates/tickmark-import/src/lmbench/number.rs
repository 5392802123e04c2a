//! Numbers as lmbench prints them, and figures with as many digits as they are worth.

/// A printed number and what one step of its last digit is worth: `154.` is 154 to the unit, `30.K` is 30,000
/// to the thousand, `1.0200` is to the ten-thousandth. None where it is none, or not positive.
#[must_use]
pub fn printed(text: &str) -> Option<(f64, f64)> {
    let (digits, factor) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1e3),
        b'M' => (&text[..text.len() - 1], 1e6),
        _ => (text, 1.0),
    };
    // Where the decimal mark is a comma: it prints no thousands.
    let with_point = digits.replace(',', ".");
    let digits = with_point.as_str();
    if !digits.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return None;
    }
    let value: f64 = digits.parse().ok()?;
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    (value > 0.0).then(|| (value * factor, factor / 10f64.powi(decimals as i32)))
}

/// Rounds to the nearest multiple of a step.
#[must_use]
pub fn rounded(value: f64, step: f64) -> f64 {
    if step <= 0.0 {
        return value;
    }
    // Divided by the inverse where that is whole: 3.8 and not 3.8000000000000003.
    let inverse = (1.0 / step).round();
    let count = (value / step).round();
    if step < 1.0 && (inverse * step - 1.0).abs() < 1e-9 { count / inverse } else { count * step }
}

/// The step that figures with this deviation are worth: down to the first digit of the deviation, two digits of the
/// value at least and five at most; four where they are all the same.
#[must_use]
pub fn step(value: f64, deviation: f64) -> f64 {
    let power = |digits: i32| 10f64.powi(value.abs().log10().floor() as i32 + 1 - digits);
    if value == 0.0 {
        return 1.0;
    }
    if deviation <= 0.0 {
        // What is counted is whole.
        return if value.fract() == 0.0 { 1.0 } else { power(4) };
    }
    10f64.powf(deviation.log10().floor()).clamp(power(5), power(2))
}

/// A figure to its step.
#[must_use]
pub fn to_step(value: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{:.decimals$}", rounded(value, step))
}

/// A percentage as pages of lmbench print it.
#[must_use]
pub fn percent_cell(percent: f64) -> String {
    match format!("{percent:+.1}").as_str() {
        "+0.0" | "-0.0" => "+-0".to_owned(),
        text => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_numbers_know_their_digits() {
        assert_eq!(printed("154."), Some((154.0, 1.0)));
        assert_eq!(printed("30.K"), Some((30_000.0, 1_000.0)));
        assert_eq!(printed("22.0K"), Some((22_000.0, 100.0)));
        assert_eq!(printed("6.19"), Some((6.19, 0.01)));
        for none in ["", "K", "-1", "0.00", "2.4.25-", "nan", "inf", "Linux", "-0.02"] {
            assert_eq!(printed(none), None, "{none}");
        }
    }

    #[test]
    fn figures_have_the_digits_that_their_spread_allows() {
        let shown = |value, deviation| to_step(value, step(value, deviation));
        assert_eq!(shown(6.198, 0.0045), "6.198");
        assert_eq!(shown(6.198, 0.03), "6.20");
        assert_eq!(shown(30_200.0, 447.0), "30200");
        assert_eq!(shown(144.7, 80.0), "140", "two digits at least");
        assert_eq!(shown(1.083, 0.0), "1.083");
        assert_eq!(to_step(30_200.0, 1_000.0), "30000");
    }
}
