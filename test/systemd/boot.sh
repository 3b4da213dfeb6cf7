#!/bin/sh
# Boots this machine's own system in a container, with the packages to be tried.
#   boot.sh up DIR BIN PACKAGES PROBE NAME    runs until it is killed; in namespaces of its own
#   boot.sh clean NAME               removes the control groups it left
# Exit 77: this machine cannot, and why on standard output.
set -eu

cannot() {
	echo "cannot boot a container here: $1"
	exit 77
}

groups() { # cgroup2 as the container will see it, in place of what is there
	umount -R /sys/fs/cgroup 2>/dev/null || true
	mount -t cgroup2 cgroup2 /sys/fs/cgroup
}

if [ "$1" = clean ]; then
	groups
	# A group can be removed once the last of its killed processes is gone.
	for _ in $(seq 100); do
		[ -d "/sys/fs/cgroup/$2" ] || exit 0
		find "/sys/fs/cgroup/$2" -depth -type d -exec rmdir {} + 2>/dev/null || true
		sleep 0.1
	done
	echo "processes are left in /sys/fs/cgroup/$2"
	exit 1
fi

dir=$2 bin=$3 packages=$4 probe=$5 name=$6
mount -t tmpfs -o mode=0755,size=1g systemd-test "$dir" 2>/dev/null || cannot "no tmpfs can be mounted"
mkdir "$dir/upper" "$dir/work" "$dir/root"
root=$dir/root
mount -t overlay -o "lowerdir=/,upperdir=$dir/upper,workdir=$dir/work" systemd-test "$root" 2>/dev/null ||
	cannot "no overlay of / can be mounted"
groups 2>/dev/null || cannot "cgroup2 cannot be mounted"
mkdir -p "/sys/fs/cgroup/$name" 2>/dev/null && echo $$ 2>/dev/null >"/sys/fs/cgroup/$name/cgroup.procs" ||
	cannot "no control group can be made"

# What else the stories need; installing is one of them.
install -D -m 0755 "$bin/fakepf" "$root/usr/bin/fakepf"
install -D -m 0755 "$probe" "$root/opt/probe"
cp "$packages"/*.deb "$root/opt/"
cp "$(dirname "$0")/test-users.conf" "$root/opt/test-users.conf"

export SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1
exec systemd-nspawn --directory="$root" --boot --register=no --keep-unit --private-network --link-journal=no \
	--machine="$name" --console=pipe --capability=all --system-call-filter="@memlock @keyring bpf landlock_create_ruleset landlock_add_rule landlock_restrict_self" \
	systemd.unit=basic.target
