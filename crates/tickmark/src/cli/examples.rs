//! What stands below the options in --help.

pub(super) const START: &str = "Start with:
  tickmark run          measure this machine (one to two minutes), save the recording and show it
  tickmark list         what can be measured
  tickmark help questions   which command answers a question
  tickmark help run     options and examples; the same for every command

Exit codes: 0 done, 1 failed, 2 usage, 3 a difference that --fail-on names, 4 partly done,\n5 --fail-on cannot be judged.";

pub(super) const RECORDINGS_EXAMPLES: &str = "\
Examples:
  tickmark recordings
  tickmark recordings delete 7f3a last~1
  tickmark recordings rename last before-the-update
  tickmark recordings prune --older-than 90 --keep 50 --dry-run
  tickmark recordings --rebuild
  tickmark history syscall.null clock   figures over time: when they changed, and what was new then";

pub(super) const RUN_EXAMPLES: &str = "\
Examples:
  tickmark run                            everything, one to two minutes
  tickmark run clock 'syscall.*'          a suite and some probes
  tickmark run lmbench                    the columns of lmbench's tables
  tickmark run syscall.null --budget 2s   one probe
  tickmark run syscall.null --once --format json   one figure in a second, for CI
  tickmark run --priority fifo:50 --cpu 1 --name tuned
  tickmark run --resume last              resume a run that was interrupted

Exit codes: 0 done; 1 nothing was obtained; 2 usage; 4 partly done: a run failed, timed out or was
interrupted, or what was asked for by name is not supported here (`status` in JSON says which).";

pub(super) const SHOW_EXAMPLES: &str = "\
REC is a name, an id or the beginning of one, a path, or last, last~1 ...

Examples:
  tickmark show last
  tickmark show web-3 timer.clock_nanosleep.late   with its histogram
  tickmark show 7f3a --format json
  tickmark show last --lmbench                     lmbench's ten tables, mean costs";

pub(super) const COMPARE_EXAMPLES: &str = "\
A replicate is one independent repetition that a test may count. The runs of one recording are not
independent: two recordings made one after the other differ even where nothing was changed. So a recording
is one replicate, and fewer than three a side decide nothing. Runs of imported lmbench results count as
replicates, which they are if both systems were run alternately. --unit run counts every run, which claims too much
where recordings differ.

A side may be several recordings, with commas or as a pattern of names: with three or more a side, made
alternately, each is a replicate; made one side after the other, each side is one. Single recordings are judged by how far earlier ones of this machine differ, where the store has
ten or more of the same configuration and length. Settings of one experiment are compared block by block.

Examples:
  tickmark compare last~1 last
  tickmark compare last~1 last --primary 'syscall.*'       only system calls carry claims; the rest is shown
  tickmark compare last~1 last --correct discovery         screening: 5 % of the claims are expected to be wrong
  tickmark compare 'before*' 'after*' --fail-on beyond     exit code 3 only where the change is larger than --margin
  tickmark compare a b --accept-missing                    also what one side could not measure in every run
  tickmark compare 'before*' 'after*' --format markdown
  tickmark compare clocksource:tsc clocksource:kvm-clock --format html > clocks.html
  tickmark compare tqm860l tqm860l1k --lmbench   lmbench's ten tables with averages and percentages
  tickmark compare 'before*' 'after*' --fail-on worse   three or more a side, made alternately: exit code 3 if something got worse, 5 if that cannot be judged";

pub(super) const EXPERIMENT_EXAMPLES: &str = "\
Knobs: clocksource, slack, policy, cpu, send (of net.tcp.streams: write, zerocopy, io_uring), sysctl:NAME, a file of /sys or /proc by its path, hugepages, affinity:TID (CPUs of a thread: now, or not:N for all but N), irq:N (of an interrupt, the same),
quota (of a
cgroup); an experiment file may also name commands that make a setting and undo it. Every setting is read
back after each block, and restored at the end, after an error and after Ctrl-C; --restore restores after kill -9.

Examples:
  tickmark experiment clocksource=tsc,kvm-clock clock syscall.null
  tickmark experiment slack=50us,1ns timer --blocks 20
  tickmark experiment policy=other,fifo:50 communication --width 2%
  tickmark experiment slack=50us,1ns timer --more 10          ten blocks more, compared with those before
  tickmark experiment sysctl:kernel.sched_autogroup_enabled=0,1 --command './bench.sh' --budget 10min
  tickmark experiment kernel=x86_64:hz=100,x86_64:hz=1000 syscall    guests, 5 boots each (see lab)
  tickmark experiment swappiness.toml        a file (docs/EXPERIMENTS.md)
  tickmark experiment clock-tick-100-vs-1000 --quick   a document's (tickmark experiments), which boots guests
  tickmark experiment --restore";

pub(super) const EXPERIMENTS_EXAMPLES: &str = "\
Each is measured by `tickmark experiment NAME`, in some two minutes with --quick, and shown by this: question, the document's answer and ours, each claim with our figure, its tables
and figures in its own form, and what cannot be had here.

Examples:
  tickmark experiments                                    what there is, and what each showed here
  tickmark experiment timecounter-cost --quick            measure one
  tickmark experiments timecounter-cost                   show it again
  tickmark experiments timecounter-cost -o page.html      as a page";

pub(super) const DOCTOR_EXAMPLES: &str = "\
Examples:
  tickmark doctor                                all checks, about 15 s
  tickmark doctor --only slow-clock,timer-slack  in a second or two, for a health check of a node
  tickmark doctor --of last                      a recording of `tickmark run`
  tickmark doctor --format prometheus            for a scraper
  tickmark doctor --prove                        change what was found, measure, put it back
  tickmark doctor --prove -- ./bench.sh          by how long a command takes

Exit codes: 0 nothing found, 3 something found, 1 nothing could be measured, 2 usage, 4 interrupted, 5 no check could see what it needs. What cannot be seen is named, and is
neither found nor fine.";

pub(super) const TIMERS_EXAMPLES: &str = "\
Ways: nanosleep, nanosleep-relative, timerfd, ppoll, epoll_pwait2, futex, posix-signal, posix-thread, io_uring, sleeper (of the
library tickmark-timer: woken early by what it learned, then spinning), std (Rust's sleep), tokio (its sleep), spin.

Examples:
  tickmark timers                                        every way, half a minute
  tickmark timers --methods nanosleep,timerfd --class other,fifo --cpu 1
  tickmark timers --methods nanosleep --slack 1ns        without timer slack
  tickmark timers --methods nanosleep --class fifo --idle free,held
  tickmark timers --methods sleeper --class fifo --duration 1h --late 20us --confidence 99%
  tickmark timers --methods nanosleep --bound 0.01%      and how long to measure to be certain that at most 0.01% are later
  tickmark timers --methods nanosleep --priority fifo:95 --timerlat   beside the kernel's own instrument
  tickmark timers --methods nanosleep --priority fifo:80 --cyclictest > cyclictest.txt
  tickmark timers --methods nanosleep --priority fifo:80 --cpus all --duration 1h --live   with a histogram meanwhile
  tickmark timers --methods nanosleep --cpu 1 --duration 1h --on-threshold 1ms trace   end at the first so late, with what ran
  tickmark timers simple many too-many --priority fifo:50       the scenarios of the APIC timer module
  tickmark timers many --in-kernel                       beside them the kernel module of kernel/tickmark_timer
  tickmark timers too-many --unit time --output plot --plots .  with plots
  tickmark timers --rows-from rows.toml    rows of your own: [[scenario]], name = 'burst', ns = [1000, 90000]
  tickmark timers --of last --format json                a recording again";

pub(super) const TICK_EXAMPLES: &str = "\
A loop reads the clock without pause; every gap is an interruption. As root its name comes from the kernel's own tracepoints, which are
recorded in half of the time; else from the kernel's counters, read after one gap in three, and from the trains of gaps that recur.

Examples:
  tickmark tick                                   the quietest CPU, 5 s
  tickmark tick --cpu all --duration 30s          each CPU at the same time, with a table and a map of when
  tickmark tick --priority fifo:50                without other tasks
  tickmark tick --hz-what-if 100,300,1000         what those rates would cost on this machine
  tickmark tick --hz-what-if 100,1000 --mhz 50,400   and on a slower processor
  tickmark tick --duration 2h                     in runs of 10 s at most; Ctrl-C keeps those that are done
  tickmark tick --duration 1h --on-threshold 500us trace          stop the kernel's tracer at such a gap (exit code 3)
  tickmark tick --duration 1h --on-threshold 1ms 'shell:ps aux > during'
  tickmark tick --of last --format json           a recording again";

pub(super) const STAT_EXAMPLES: &str = "\
A verdict is one of five: changed by more than the margin; changed; changed, but by less than the margin;
equivalent within the margin; undecided, with the number of values that would decide in 4 of 5 cases. Values must be independent replicates: samples of one process
are not (docs/METHODOLOGY.md says why).

Examples:
  tickmark stat before after
  tickmark stat -C 3 -d , runs.csv other.csv
  tickmark stat --paired --margin 0.5% a b --format json
  tickmark stat --compat -A before after      byte for byte what Debian's ministat prints: all of its options
  tickmark stat --compat=freebsd a b          with the figures of FreeBSD's of today";

pub(super) const IMPORT_EXAMPLES: &str = "\
Raw files (results/<os>/<host>.0, .1 ...) of one host and kernel become the runs of one recording; a summary page gives one recording for each host and kernel. Averages and percentages are not imported: \
they are computed from the rows. Files of sysbench, wrk, iperf3 (-J), netperf, sockperf, cyclictest (text, histogram, JSON; text is read as us) and perf \
bench are runs of one recording where they measured the same; each command of hyperfine's JSON, each block of super-smack's lines and each file \
of number columns is a recording. Lines of tickmark_timer_test in the kernel's log (dmesg) are runs, one for each row of timers. Exit code 4 says that something was left out, which is named.

Examples:
  tickmark import results/i686-pc-linux-gnu/board.*
  tickmark import summary.txt
  tickmark import before.txt after.txt                  columns of numbers
  tickmark import run1.txt run2.txt run3.txt --name tsc   three runs of sysbench or wrk";

pub(super) const EXPORT_EXAMPLES: &str = "\
Examples:
  tickmark export last --format csv > runs.csv           a row for each metric and run
  tickmark export last --format csv --raw > batches.csv  a row for each observation
  tickmark export last --format json
  tickmark export last --format perfetto > trace.json    the gaps of `tickmark tick`, with what ran in each
  tickmark export last --format hdr > gaps.hlog          their lengths, a histogram a second; or the wake-ups of `tickmark timers`, a run each";
