"""Places that Otava and ruptures find in series: JSON lists on standard input, a list of places for each program and series on standard output.

Otava as its command line has it (windows of 50, p .001); ruptures with PELT on means and a penalty of 2 log n times the variance of
differences of neighbours, halved."""

import json
import sys

import numpy
import ruptures
from otava.analysis import compute_change_points


def otava(values):
    found, _ = compute_change_points(list(values))
    return [int(point.index) for point in found]


def pelt(values):
    values = numpy.array(values)
    noise = numpy.var(numpy.diff(values)) / 2
    finder = ruptures.Pelt(model="l2", min_size=3, jump=1).fit(values.reshape(-1, 1))
    return finder.predict(pen=2 * numpy.log(len(values)) * noise)[:-1]


series = json.load(sys.stdin)
json.dump([[finder(values) for values in series] for finder in (otava, pelt)], sys.stdout)
