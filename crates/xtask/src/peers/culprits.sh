#!/bin/busybox sh
# Process 1 of a guest: watches its first CPU beside each culprit that the kernel's command line names.
export PATH=/bin HOME=/tmp TICKMARK_STORE=/tmp/store
busybox mount -t proc proc /proc
busybox mount -t sysfs sysfs /sys
busybox mount -t devtmpfs devtmpfs /dev
busybox mount -t tmpfs tmpfs /tmp
busybox ip link set lo up
for word in $(busybox cat /proc/cmdline); do
	case $word in
	tickmark.kinds=*) kinds=$(echo "${word#*=}" | busybox tr , ' ') ;;
	tickmark.length=*) length=${word#*=} ;;
	esac
done
# The kernel's own tracer of the same, where it has one: who had the first CPU, for 3 s.
osnoise() {
	busybox mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
	[ -d /sys/kernel/tracing/osnoise ] || return
	busybox mkdir -p /sys/kernel/tracing/instances/peer
	(
		cd /sys/kernel/tracing/instances/peer || exit
		echo 16384 >buffer_size_kb
		echo 0 >../../osnoise/cpus
		echo 1 >events/osnoise/enable
		echo osnoise >current_tracer
		busybox sleep 3
		echo 0 >tracing_on
		busybox awk '
			{
				for (at = 1; at < NF; at++)
					if ($at ~ /^(irq|softirq|thread|nmi)_noise:$/) {
						time = $(at - 1) + 0
						first = first ? first : time
						key = $at " " $(at + 1)
						count[key]++
						total[key] += $(NF - 1)
						break
					}
			}
			END {
				printf "{\"span\": %.6f", time - first
				for (key in count)
					printf ", \"%s\": [%d, %d]", key, count[key], total[key]
				print "}"
			}' trace
		echo nop >current_tracer
	)
	busybox rmdir /sys/kernel/tracing/instances/peer
}

busybox stty -F /dev/ttyS1 -opost
for kind in $kinds; do
	culprit "$kind" 0 1 >/tmp/said &
	busybox sleep .3
	tickmark tick --cpu 0 --duration "$length" --format json >/tmp/page
	osnoise >/tmp/osnoise
	kill -TERM $!
	wait $!
	{
		echo "== $kind"
		busybox cat /tmp/said
		echo "$(busybox cat /tmp/osnoise)"
		busybox cat /tmp/page
	} >/dev/ttyS1
done
busybox poweroff -f
