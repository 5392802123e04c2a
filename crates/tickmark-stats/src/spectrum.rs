//! How periodic points in time are, at every frequency: the Rayleigh test's statistic.

/// |sum of exp(2 pi i f t)| / N on the grid f = 0, step, 2 step ... up to `highest`: 1 for points that
/// are all one period apart, about 1/sqrt(N) for points at random. Times in s, frequencies in Hz. Lord
/// Rayleigh 1880; Mardia and Jupp, Directional statistics, section 6.3.
pub(crate) fn rayleigh(times: &[f64], step: f64, highest: f64) -> Vec<f64> {
    let turn = |t: &f64| (std::f64::consts::TAU * step * t).sin_cos();
    let (sine, cosine): (Vec<f64>, Vec<f64>) = times.iter().map(turn).unzip();
    let (mut re, mut im) = (vec![1.0; times.len()], vec![0.0; times.len()]);
    let count = times.len().max(1) as f64;
    let lines = (highest / step) as usize + 1;
    let mut power = Vec::with_capacity(lines);
    for _ in 0..lines {
        let (mut x, mut y) = (0.0, 0.0);
        for i in 0..times.len() {
            x += re[i];
            y += im[i];
            // The next line of the grid: each point turns by its own angle.
            (re[i], im[i]) = (re[i] * cosine[i] - im[i] * sine[i], re[i] * sine[i] + im[i] * cosine[i]);
        }
        power.push(f64::hypot(x, y) / count);
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_stands_out_at_its_frequency_and_its_multiples() {
        let times: Vec<f64> = (0..100).map(|i| f64::from(i) * 0.01 + 0.003).collect();
        let power = rayleigh(&times, 0.25, 250.0);
        assert!((power[400] - 1.0).abs() < 1e-9 && (power[800] - 1.0).abs() < 1e-9);
        assert!(power[200] < 1e-9 && power[600] < 1e-9, "half and one and a half cancel");
    }
}
