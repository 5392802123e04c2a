//! Calendar time by the C library.

use std::ffi::CStr;

const RFC3339: &CStr = c"%Y-%m-%dT%H:%M:%SZ";

/// A broken-down time of the C library.
#[derive(Clone, Copy)]
pub struct Calendar(libc::tm);

impl Calendar {
    /// gmtime_r: seconds since 1970 to calendar time.
    #[must_use]
    #[inline(always)]
    pub fn from_seconds(seconds: i64) -> Self {
        // SAFETY: tm is plain numbers and a pointer that may be null.
        let mut time: libc::tm = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers are valid.
        unsafe { libc::gmtime_r(&raw const seconds, &raw mut time) };
        Self(time)
    }

    /// timegm: calendar time to seconds since 1970.
    #[must_use]
    #[inline(always)]
    pub fn to_seconds(self) -> i64 {
        let mut time = self.0;
        // SAFETY: `time` is valid to read and write.
        unsafe { libc::timegm(&raw mut time) }
    }

    /// The same time, some seconds on, without a carry: for chains of conversions.
    #[must_use]
    #[inline(always)]
    pub fn with_second(mut self, second: i64) -> Self {
        self.0.tm_sec = (second & 31) as i32;
        self
    }

    /// The second of the minute.
    #[must_use]
    #[inline(always)]
    pub fn second(&self) -> u64 {
        self.0.tm_sec as u64
    }

    /// strftime as RFC 3339 text, 20 bytes and a zero; how many bytes were written.
    #[inline(always)]
    pub fn format(&self, text: &mut [u8; 32]) -> usize {
        // SAFETY: the buffer and its length, a format that ends in a zero, a valid tm.
        unsafe { libc::strftime(text.as_mut_ptr().cast(), text.len(), RFC3339.as_ptr(), &raw const self.0) }
    }

    /// strptime of RFC 3339 text that ends in a zero byte; none where it is not.
    #[must_use]
    #[inline(always)]
    pub fn parse(text: &[u8; 32]) -> Option<Self> {
        if !text.contains(&0) {
            return None;
        }
        // SAFETY: tm is plain numbers and a pointer that may be null.
        let mut time: libc::tm = unsafe { std::mem::zeroed() };
        // SAFETY: the text ends in a zero, as checked; `time` is valid to write to.
        let end = unsafe { libc::strptime(text.as_ptr().cast(), RFC3339.as_ptr(), &raw mut time) };
        (!end.is_null()).then_some(Self(time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for seconds in [0, 951_782_399, 1_709_210_096, -1, 4_102_444_799] {
            assert_eq!(Calendar::from_seconds(seconds).to_seconds(), seconds);
        }
        let mut text = [0; 32];
        assert_eq!(Calendar::from_seconds(951_782_399).format(&mut text), 20);
        assert_eq!(&text[..20], b"2000-02-28T23:59:59Z");
        assert_eq!(Calendar::parse(&text).map(Calendar::to_seconds), Some(951_782_399));
        assert!(Calendar::parse(&[b'x'; 32]).is_none());
    }
}
