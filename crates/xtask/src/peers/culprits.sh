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
busybox stty -F /dev/ttyS1 -opost
for kind in $kinds; do
	culprit "$kind" 0 1 >/tmp/said &
	busybox sleep .3
	tickmark tick --cpu 0 --duration "$length" --format json >/tmp/page
	kill -TERM $!
	wait $!
	{
		echo "== $kind"
		busybox cat /tmp/said /tmp/page
	} >/dev/ttyS1
done
busybox poweroff -f
