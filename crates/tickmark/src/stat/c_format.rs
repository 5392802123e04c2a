//! Numbers as C's printf writes them.

/// `%.{digits}g`.
pub(crate) fn g(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        let sign = if value.is_sign_negative() { "-" } else { "" };
        return format!("{sign}{}", if value.is_nan() { "nan" } else { "inf" });
    }
    if value == 0.0 {
        return if value.is_sign_negative() { "-0".to_owned() } else { "0".to_owned() };
    }
    let digits = digits.max(1);
    // The exponent after rounding decides on the form.
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| -> String {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", trim(mantissa), exponent.abs())
    } else {
        trim(&format!("{value:.*}", (digits as i32 - 1 - exponent) as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::g;

    #[test]
    fn as_glibc_has_it() {
        for (value, digits, text) in [
            (1450.1375, 6, "1450.14"),
            (0.0001, 6, "0.0001"),
            (0.00001, 6, "1e-05"),
            (123_456_789.0, 8, "1.2345679e+08"),
            (99_999_999.6, 8, "1e+08"),
            (999_999.5, 6, "1e+06"),
            (100.0, 6, "100"),
            (-0.5, 6, "-0.5"),
            (2.5, 1, "2"),
            (1.7e18, 8, "1.7e+18"),
            (0.0, 6, "0"),
            (f64::INFINITY, 6, "inf"),
            (-f64::NAN, 6, "-nan"),
        ] {
            assert_eq!(g(value, digits), text, "{value}");
        }
    }
}
