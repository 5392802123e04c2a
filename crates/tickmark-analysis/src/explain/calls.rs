//! What the plugin wrote of a stream of batches: who called whom, and the ways into the kernel (tcg-plugin/tree.c, cache.c).

use std::collections::BTreeMap;

/// A function in its place of the call tree. The first one is the program itself, and holds what programs executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The function.
    pub name: String,
    /// Its caller, by number; ways into the kernel have 0.
    pub parent: usize,
    /// Instructions of its own.
    pub own: u64,
    /// How often it was called.
    pub calls: u64,
    /// Misses of the caches of instructions and of data, where caches were simulated.
    pub misses: [u64; 2],
}

/// A way into the kernel: a system call, an interrupt, a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its first function.
    pub name: String,
    /// True if it came while the kernel ran.
    pub is_nested: bool,
    /// How often.
    pub count: u64,
    /// Instructions of all.
    pub instructions: u64,
    /// Lines of code that all of them fetched from, by the plugin's cache.c; none where no caches were simulated.
    pub lines: Option<u64>,
    /// By their number of instructions, in the order in which each was seen first.
    pub kinds: Vec<Kind>,
}

/// Visits of an entry with the same number of instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// Each; none where there were too many kinds to tell these apart.
    pub instructions: Option<u64>,
    /// How many.
    pub count: u64,
    /// Instructions of all of them, by function.
    pub by_function: BTreeMap<String, u64>,
}

/// A stream of batches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calls {
    /// Instructions of each window between marks.
    pub windows: Vec<u64>,
    /// The call tree: a caller comes before those that it calls.
    pub nodes: Vec<Node>,
    /// The ways into the kernel.
    pub entries: Vec<Entry>,
    /// Instructions of visits that were still open in the end, by their first function.
    pub unfinished: BTreeMap<String, u64>,
    /// Where caches were simulated: lines of instructions and of data that programs fetched again, by the way into the kernel that had
    /// put them out.
    pub refills: Option<BTreeMap<String, [u64; 2]>>,
}

/// Instructions of a guest that runs for minutes: no file's numbers overflow their sums.
const MOST: u64 = 1 << 36;

/// Calls within each other: the plugin keeps 256 of a thread, and each node is below its way into the kernel.
const DEEPEST: usize = 300;

/// The streams of a boot.
///
/// # Errors
/// The text is not what the plugin writes, or it lost track.
pub fn parse(text: &str) -> Result<Vec<Calls>, String> {
    let (mut streams, mut open, mut depths) = (Vec::new(), Calls::default(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        if line == "end" {
            streams.push(std::mem::take(&mut open));
            depths.clear();
            continue;
        }
        if line.strip_prefix("lost\t").is_some_and(|lost| lost != "0") {
            return Err("the plugin lost track: calls deeper than 256, or more than 1024 ways into the kernel open at once".to_owned());
        }
        open.add(line, &mut depths).ok_or_else(|| format!("line {} of the counts is garbage", number + 1))?;
    }
    match open == Calls::default() {
        true => Ok(streams),
        false => Err("the counts stop in the middle of a stream".to_owned()),
    }
}

impl Calls {
    /// A line: its kind, then its fields; how deep each node stands is kept beside.
    fn add(&mut self, line: &str, depths: &mut Vec<usize>) -> Option<()> {
        let mut fields = line.split('\t');
        let kind = fields.next()?;
        let count = |field: &str| field.parse::<u64>().ok().filter(|count| *count <= MOST);
        let name = |field: &str| (!field.is_empty()).then(|| field.to_owned());
        let numbers = |fields: std::str::Split<'_, char>| fields.map(count).collect::<Option<Vec<u64>>>();
        match kind {
            "windows" if self.windows.is_empty() => self.windows = numbers(fields)?,
            "node" => {
                let (number, parent): (usize, usize) =
                    (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
                let name = name(fields.next()?)?;
                let [own, calls, instructions, data] = numbers(fields)?[..] else { return None };
                let depth = depths.get(parent).map_or(0, |depth| depth + 1);
                // A caller before its callees: who goes through them once is done.
                if number != self.nodes.len() || parent >= number.max(1) || depth > DEEPEST {
                    return None;
                }
                depths.push(depth);
                self.nodes.push(Node { name, parent, own, calls, misses: [instructions, data] });
            }
            "entry" => {
                let name = name(fields.next()?)?;
                let [is_nested, count, instructions] = numbers(fields)?[..] else { return None };
                let is_nested = is_nested == 1;
                let (lines, kinds) = (None, Vec::new());
                self.entries.push(Entry { name, is_nested, count, instructions, lines, kinds });
            }
            "kind" => {
                let (each, visits) = (count(fields.next()?)?, count(fields.next()?)?);
                let function = |field: &str| {
                    let (function, own) = field.rsplit_once('=')?;
                    Some((name(function)?, count(own)?))
                };
                let functions = fields.map(function).collect::<Option<Vec<_>>>()?;
                let named = functions.len();
                let by_function: BTreeMap<_, _> = functions.into_iter().collect();
                // A function stands in a line once.
                if by_function.len() < named {
                    return None;
                }
                let instructions = (each > 0).then_some(each);
                self.entries.last_mut()?.kinds.push(Kind { instructions, count: visits, by_function });
            }
            "lines" => {
                let [lines] = numbers(fields)?[..] else { return None };
                let earlier = self.entries.last_mut()?.lines.replace(lines);
                return earlier.is_none().then_some(());
            }
            "unfinished" => {
                let name = name(fields.next()?)?;
                let [instructions] = numbers(fields)?[..] else { return None };
                *self.unfinished.entry(name).or_default() += instructions;
            }
            "lost" => {}
            "caches" if self.refills.is_none() => self.refills = Some(BTreeMap::new()),
            "refill" => {
                let name = name(fields.next()?)?;
                let [instructions, data] = numbers(fields)?[..] else { return None };
                let earlier = self.refills.as_mut()?.insert(name, [instructions, data]);
                return earlier.is_none().then_some(());
            }
            _ => return None,
        }
        Some(())
    }

    /// Instructions of all windows.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.windows.iter().sum()
    }

    /// The way into the kernel that each node is below, by number; that of the program is itself.
    pub(super) fn roots(&self) -> Vec<usize> {
        let mut roots: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for (number, node) in self.nodes.iter().enumerate() {
            roots.push(if node.parent == 0 { number } else { roots[node.parent] });
        }
        roots
    }

    /// Instructions below each way into the kernel, by name.
    pub(super) fn by_entry(&self) -> BTreeMap<&str, u64> {
        let mut sums = BTreeMap::new();
        for (node, root) in self.nodes.iter().zip(self.roots()).skip(1) {
            *sums.entry(self.nodes[root].name.as_str()).or_default() += node.own;
        }
        sums
    }

    /// Instructions of each node and all below it.
    pub(super) fn inclusive(&self) -> Vec<u64> {
        let mut sums: Vec<u64> = self.nodes.iter().map(|node| node.own).collect();
        for number in (1..self.nodes.len()).rev() {
            let parent = self.nodes[number].parent;
            // The program is beside the kernel and not above it.
            if parent > 0 {
                sums[parent] += sums[number];
            }
        }
        sums
    }

    /// The tree as stacks, the outermost function first, each with its own instructions.
    #[must_use]
    pub fn stacks(&self) -> Vec<(Vec<String>, u64)> {
        let mut paths: Vec<Vec<String>> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let mut path = if node.parent == 0 { Vec::new() } else { paths[node.parent].clone() };
            path.push(node.name.clone());
            paths.push(path);
        }
        let all = paths.into_iter().zip(&self.nodes).filter(|(_, node)| node.own > 0);
        all.map(|(path, node)| (path, node.own)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "windows\t40\t42\nnode\t0\t0\tprogram\t30\t0\t0\t0\nnode\t1\t0\tentry\t20\t2\t1\t0\n\
        node\t2\t1\tread\t12\t2\t0\t0\nnode\t3\t2\tcopy\t20\t4\t0\t2\nentry\tentry\t0\t2\t52\nlines\t7\n\
        kind\t25\t1\tentry=10\tread=5\tcopy=10\nkind\t27\t1\tentry=10\tread=7\tcopy=10\nlost\t0\n\
        caches\nrefill\tentry\t5\t6\nend\n";

    #[test]
    fn a_stream_is_what_was_written() {
        let streams = parse(TEXT).unwrap();
        let [calls] = &streams[..] else { panic!("{streams:?}") };
        assert_eq!(calls.instructions(), 82);
        assert_eq!(calls.inclusive(), [30, 52, 32, 20]);
        assert_eq!(calls.roots(), [0, 1, 1, 1]);
        let stacks: Vec<(String, u64)> =
            calls.stacks().into_iter().map(|(names, own)| (names.join(";"), own)).collect();
        let stack = |names: &str, own| (names.to_owned(), own);
        assert_eq!(
            stacks,
            [stack("program", 30), stack("entry", 20), stack("entry;read", 12), stack("entry;read;copy", 20)]
        );
        assert_eq!(calls.entries[0].kinds[1].by_function["read"], 7);
        assert_eq!((calls.refills.as_ref().unwrap()["entry"], calls.entries[0].lines), ([5, 6], Some(7)));
    }

    #[test]
    fn what_is_cut_or_lost_is_no_stream() {
        assert!(parse(&TEXT.replace("end\n", "")).unwrap_err().contains("in the middle"));
        assert!(parse(&TEXT.replace("lost\t0", "lost\t1")).unwrap_err().contains("lost track"));
        assert!(parse(&TEXT.replace("node\t3\t2", "node\t3\t3")).is_err());
        let deep = |line: String| parse(&format!("{line}end\n")).is_ok();
        let chain = |depth: usize| {
            (0..=depth)
                .map(|at| format!("node\t{at}\t{}\tf\t1\t1\t0\t0\n", at.max(1) - 1))
                .collect::<String>()
        };
        assert!(deep(chain(300)) && !deep(chain(301)), "as deep as the plugin goes");
        assert!(parse(&TEXT.replace("lost", "windows\t1\nlost")).is_err());
        assert!(parse(&TEXT.replace("end", "refill\tentry\t5\t6\nend")).is_err());
        assert!(parse(&TEXT.replace("lines\t7", "lines\t7\nlines\t7")).is_err());
        assert!(parse(&TEXT.replace("program\t30", "program\t18446744073709551615")).is_err());
        assert!(parse(&TEXT.replace("read=5\tcopy=10", "read=5\tread=10")).is_err());
        assert!(parse(&TEXT.replace("\tcopy=10", "\t=10")).is_err());
        assert_eq!(parse("").unwrap(), []);
    }
}
