//! Links between machines: which pairs are slow though their machines are not, and which machines are slow to whomever.
//!
//! A pair is compared with the other pairs of its two machines: it is slow if it is slower than those of either. What a machine does to all of its
//! pairs is the machine's, and is judged by their median among all machines'. How far is too far says the rule of the machines' figures.

use super::{Bounds, Rule};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use tickmark_stats::order::largest_first;
use tickmark_stats::{Sorted, median, outlying};

/// A machine of fewer pairs is not judged, and neither are they: whether it or a pair is slow cannot be told.
const FEWEST: usize = 3;

/// A pair that was measured, perhaps again: machines by their place among the survey's.
#[derive(Debug, Clone, Default)]
pub struct Link {
    /// Who asked.
    pub asks: usize,
    /// Who answered; none of a machine that did not take part.
    pub answers: Option<usize>,
    /// The median of its trips, ns.
    pub trip: Option<f64>,
    /// Bytes a second from who asked.
    pub there: Option<f64>,
    /// And to it.
    pub back: Option<f64>,
    /// Segments that were sent again.
    pub resent: Option<f64>,
    /// The share of time that a side stood runnable without a CPU.
    pub waited: Option<f64>,
    /// Why there is nothing.
    pub why: Option<String>,
}

/// A metric of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LinkMetric {
    /// A byte, there and back: ns.
    Trip,
    /// A stream, from the one to the other: bytes a second.
    Stream,
}

/// A machine's role on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LinkRole {
    /// Either end of trips.
    Trips,
    /// It sends streams.
    Sends,
    /// It receives them.
    Receives,
}

/// A pair that is slower than the others of its machines.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Slow {
    /// One machine; of a stream the one that sends.
    pub from: String,
    /// The other.
    pub to: String,
    /// In what.
    pub way: LinkMetric,
    /// Its value: the best, where it was measured again.
    pub value: f64,
    /// The median of the other pairs of that one of the two machines whose others are slower.
    pub usual: f64,
    /// How often it was measured.
    pub measured: usize,
    /// TCP segments that were sent again, the fewest of any time.
    pub resent: Option<f64>,
    /// The share of time that a side stood runnable without a CPU, in the best measurement.
    pub waited: Option<f64>,
}

/// A machine whose pairs are slow, whoever is the other.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowMachine {
    /// Which.
    pub node: String,
    /// In what.
    pub part: LinkRole,
    /// The median of its pairs.
    pub value: f64,
    /// That of all machines.
    pub median: f64,
    /// How many pairs it has.
    pub pairs: usize,
    /// The share of time that an end of its pairs stood runnable without a CPU: the median.
    pub waited: Option<f64>,
}

/// A pair, or a machine alone, of which there is nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Missing {
    /// The machine, or the one that asked.
    pub node: String,
    /// The other one.
    pub other: Option<String>,
    /// Why.
    pub why: String,
}

/// A figure over all pairs.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spread {
    /// Of what.
    pub way: LinkMetric,
    /// Of how many; a stream counts each way.
    pub count: usize,
    /// Minimum, 5th percentile, median, 95th percentile, maximum.
    pub quantiles: [f64; 5],
}

/// How links were measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct How {
    /// When that began (RFC 3339).
    pub begun: String,
    /// For how long, each of trips and a stream each way, ns.
    pub time: i64,
    /// So many pairs at once; none are all of a round.
    pub at_once: Option<i64>,
    /// An address of the network that was measured; none is the one by which machines reached who coordinated them.
    pub network: Option<String>,
}

/// Links that were measured together.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// How.
    pub how: How,
    /// Each time that one was.
    pub links: Vec<Link>,
}

/// The links of a survey, judged.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Links {
    /// How they were measured.
    pub how: How,
    /// Machines that have a pair.
    pub nodes: usize,
    /// Pairs that were measured.
    pub pairs: usize,
    /// Machines of enough pairs to be judged.
    pub judged: usize,
    /// True if those are enough to be judged by each other.
    pub machines_judged: bool,
    /// Slow pairs, the worst first.
    pub slow: Vec<Slow>,
    /// Slow machines, the worst first.
    pub machines: Vec<SlowMachine>,
    /// Links that could not be measured.
    pub missing: Vec<Missing>,
    /// Over all pairs.
    pub spread: Vec<Spread>,
    /// The chance that any pair or machine is named where all are equal.
    pub false_alarm: f64,
    /// A smaller difference is none, as a share.
    pub margin: f64,
}

/// One direction of a pair, as what it costs: ns, or s a byte.
struct Edge {
    from: usize,
    to: usize,
    cost: f64,
    measured: usize,
    resent: Option<f64>,
    waited: Option<f64>,
}

/// Looks at links.
#[must_use]
pub fn examine(series: &Series, names: &dyn Fn(usize) -> String, rule: Rule) -> Links {
    let links = &series.links;
    // A trip has no direction, and who asks again may be the other one.
    let trips =
        edges(links, |link, answers| vec![(link.asks.min(answers), link.asks.max(answers), link.trip)]);
    let streams = edges(links, |link, answers| {
        let cost = |rate: Option<f64>| rate.filter(|rate| *rate > 0.0).map(|rate| 1.0 / rate);
        vec![(link.asks, answers, cost(link.there)), (answers, link.asks, cost(link.back))]
    });
    // Five questions share the chance: trips and streams of pairs; trips, sending and receiving of machines (Sidak).
    let each = Rule { false_alarm: 1.0 - (1.0 - rule.false_alarm).powf(0.2), ..rule };
    let mut slow = slow(&trips, LinkMetric::Trip, each, names);
    slow.extend(self::slow(&streams, LinkMetric::Stream, each, names));
    largest_first(&mut slow, |one| far(one.value, one.usual));
    let both = |edge: &Edge| vec![edge.from, edge.to];
    let mut machines = slow_machines(&trips, LinkRole::Trips, &both, each, names);
    machines.extend(slow_machines(&streams, LinkRole::Sends, &|edge| vec![edge.from], each, names));
    machines.extend(slow_machines(&streams, LinkRole::Receives, &|edge| vec![edge.to], each, names));
    largest_first(&mut machines, |one| far(one.value, one.median));
    let mut count: BTreeMap<usize, usize> = BTreeMap::new();
    trips.iter().flat_map(both).for_each(|node| *count.entry(node).or_default() += 1);
    let judged = count.values().filter(|count| **count >= FEWEST).count();
    Links {
        how: series.how.clone(),
        nodes: count.len(),
        pairs: trips.len(),
        judged,
        machines_judged: judged >= outlying::FEWEST,
        slow,
        machines,
        missing: missing(links, names),
        spread: [(&trips, LinkMetric::Trip), (&streams, LinkMetric::Stream)]
            .into_iter()
            .filter_map(|(edges, way)| spread(edges, way))
            .collect(),
        false_alarm: rule.false_alarm,
        margin: rule.margin,
    }
}

/// How far a value lies from another, whichever is better, as a logarithm.
fn far(value: f64, usual: f64) -> f64 {
    (value / usual).ln().abs()
}

/// A cost, converted to the figure's own unit.
fn shown(way: LinkMetric, cost: f64) -> f64 {
    if way == LinkMetric::Trip { cost } else { 1.0 / cost }
}

/// The pairs of links, by the best of each: what disturbed it once is none of the link's.
fn edges(links: &[Link], of: impl Fn(&Link, usize) -> Vec<(usize, usize, Option<f64>)>) -> Vec<Edge> {
    let mut all: BTreeMap<(usize, usize), Edge> = BTreeMap::new();
    for link in links {
        let Some(answers) = link.answers else { continue };
        for (from, to, cost) in of(link, answers) {
            let Some(cost) = cost.filter(|cost| *cost > 0.0) else { continue };
            let (resent, waited) = (link.resent, link.waited);
            let edge = all.entry((from, to)).or_insert(Edge { from, to, cost, measured: 0, resent, waited });
            edge.measured += 1;
            edge.resent = [edge.resent, resent].into_iter().flatten().min_by(f64::total_cmp);
            if cost < edge.cost {
                (edge.cost, edge.waited) = (cost, waited);
            }
        }
    }
    all.into_values().collect()
}

/// The costs of each machine's pairs, by the ends of `ends`.
fn by_machine(edges: &[Edge], ends: &dyn Fn(&Edge) -> Vec<usize>) -> BTreeMap<usize, Vec<f64>> {
    let mut all: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for edge in edges {
        ends(edge).into_iter().for_each(|node| all.entry(node).or_default().push(edge.cost));
    }
    all
}

/// The median of these but for one of this value; none where too few are left.
fn of_others(costs: Option<&Vec<f64>>, own: f64) -> Option<f64> {
    let costs = costs.filter(|costs| costs.len() >= FEWEST)?;
    let at = costs.iter().position(|cost| *cost == own)?;
    median(costs.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, cost)| *cost))
}

fn slow(edges: &[Edge], way: LinkMetric, rule: Rule, names: &dyn Fn(usize) -> String) -> Vec<Slow> {
    // The pairs of a machine: all of them for trips, for streams those in which it does the same.
    let (sends, receives) = match way {
        LinkMetric::Trip => {
            let all = by_machine(edges, &|edge| vec![edge.from, edge.to]);
            (all.clone(), all)
        }
        LinkMetric::Stream => {
            (by_machine(edges, &|edge| vec![edge.from]), by_machine(edges, &|edge| vec![edge.to]))
        }
    };
    let judged: Vec<(&Edge, f64)> = edges
        .iter()
        .filter_map(|edge| {
            let others =
                [of_others(sends.get(&edge.from), edge.cost)?, of_others(receives.get(&edge.to), edge.cost)?];
            Some((edge, others[0].max(others[1])))
        })
        .collect();
    let ratios: Vec<f64> = judged.iter().map(|(edge, usual)| edge.cost / usual).collect();
    let Some(bounds) = Bounds::of_values(&ratios, rule.false_alarm, rule.margin) else { return Vec::new() };
    // The others of either machine are as good as it gets: a pair that is as slow as one of them is no slow pair.
    let most = bounds.high.max(1.0 + rule.margin);
    let apart = judged.into_iter().zip(ratios).filter(|(_, ratio)| *ratio > most);
    apart
        .map(|((edge, usual), _)| Slow {
            from: names(edge.from),
            to: names(edge.to),
            way,
            value: shown(way, edge.cost),
            usual: shown(way, usual),
            measured: edge.measured,
            resent: edge.resent,
            waited: edge.waited,
        })
        .collect()
}

fn slow_machines(
    edges: &[Edge],
    part: LinkRole,
    ends: &dyn Fn(&Edge) -> Vec<usize>,
    rule: Rule,
    names: &dyn Fn(usize) -> String,
) -> Vec<SlowMachine> {
    let way = if part == LinkRole::Trips { LinkMetric::Trip } else { LinkMetric::Stream };
    let enough = by_machine(edges, ends).into_iter().filter(|(_, costs)| costs.len() >= FEWEST);
    let machines: Vec<(usize, f64, usize)> = enough
        .filter_map(|(node, costs)| Some((node, median(costs.iter().copied())?, costs.len())))
        .collect();
    let values: Vec<f64> = machines.iter().map(|(_, value, _)| *value).collect();
    let Some(bounds) = Bounds::of_values(&values, rule.false_alarm, rule.margin) else { return Vec::new() };
    let apart = machines.into_iter().filter(|(_, value, _)| *value > bounds.high);
    let waited = |node: usize| {
        let own = edges.iter().filter(|edge| ends(edge).contains(&node));
        median(own.filter_map(|edge| edge.waited))
    };
    apart
        .map(|(node, value, pairs)| SlowMachine {
            node: names(node),
            part,
            value: shown(way, value),
            median: shown(way, bounds.centre),
            pairs,
            waited: waited(node),
        })
        .collect()
}

fn spread(edges: &[Edge], way: LinkMetric) -> Option<Spread> {
    let sorted = Sorted::new(edges.iter().map(|edge| shown(way, edge.cost)));
    let at = |q: f64| sorted.quantile(q);
    Some(Spread { way, count: edges.len(), quantiles: [at(0.0)?, at(0.05)?, at(0.5)?, at(0.95)?, at(1.0)?] })
}

/// Of what there is nothing: what was measured another time is not missing.
fn missing(links: &[Link], names: &dyn Fn(usize) -> String) -> Vec<Missing> {
    let pair = |link: &Link| link.answers.map(|answers| (link.asks.min(answers), link.asks.max(answers)));
    let observation = |link: &Link| link.trip.is_some();
    let whole: BTreeSet<(usize, usize)> =
        links.iter().filter(|link| observation(link)).filter_map(pair).collect();
    let came: BTreeSet<usize> = links
        .iter()
        .filter(|link| observation(link))
        .flat_map(|link| [Some(link.asks), link.answers])
        .flatten()
        .collect();
    let (mut all, mut listed) = (Vec::new(), BTreeSet::new());
    for link in links.iter().filter(|link| !observation(link)) {
        let is_known = pair(link).map_or_else(|| came.contains(&link.asks), |pair| whole.contains(&pair));
        // Told once, and by the first reason.
        if !is_known && listed.insert(pair(link).unwrap_or((link.asks, link.asks))) {
            let why = link.why.clone().unwrap_or_else(|| "nothing came of it".to_owned());
            all.push(Missing { node: names(link.asks), other: link.answers.map(names), why });
        }
    }
    all
}

#[cfg(test)]
mod tests;
