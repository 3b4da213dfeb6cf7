#!/bin/sh
# Makes what a virtual machine boots: Debian's kernel, and a root of Debian's own
# with the packages to be tried, as one archive in memory.
#   guest.sh make CACHE DIR BIN PACKAGES PROBE    DIR/vmlinuz and DIR/root.cpio.zst
# CACHE keeps what was fetched, for the next run. Exit 77: this machine cannot, and
# why on standard output.
set -eu

cannot() {
	echo "cannot make a guest here: $1"
	exit 77
}

cache=$2 dir=$3 bin=$4 packages=$5 probe=$6
[ "$(id -u)" = 0 ] || cannot "it takes root"
for program in debootstrap:debootstrap cpio:cpio zstd:zstd apt-get:apt dpkg-deb:dpkg; do
	command -v "${program%%:*}" >/dev/null || cannot "${program%%:*} is missing (Debian: ${program#*:})"
done

mkdir -p "$cache"
if [ ! -e "$cache/vmlinuz" ]; then
	tmp=$cache/kernel.new
	rm -rf "$tmp" && mkdir "$tmp"
	(
		cd "$tmp"
		image=$(apt-cache depends --no-recommends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[^ ]*\).*/\1/p')
		apt-get download -q "${image:?}" >/dev/null
		dpkg-deb -x ./*.deb .
		cp boot/vmlinuz-* vmlinuz
	) >"$cache/kernel.log" 2>&1 || cannot "no kernel: apt-get does not have linux-image-cloud-amd64: $(tail -1 "$cache/kernel.log")"
	mv "$tmp/vmlinuz" "$cache/vmlinuz"
	rm -rf "$tmp"
fi
if [ ! -e "$cache/base/done" ]; then
	rm -rf "$cache/base"
	debootstrap --variant=minbase --include=systemd-sysv,dbus,udev,procps,tpm-udev bookworm "$cache/base" \
		>"$cache/debootstrap.log" 2>&1 || cannot "no root: debootstrap failed: $(tail -1 "$cache/debootstrap.log")"
	rm -rf "$cache/base/var/cache/apt" "$cache/base/var/lib/apt/lists" "$cache/base/usr/share/doc" "$cache/base/usr/share/locale"
	mkdir -p "$cache/base/var/cache/apt/archives/partial"
	touch "$cache/base/done"
fi

cp "$cache/vmlinuz" "$dir/vmlinuz"
root=$dir/root
cp -a "$cache/base" "$root"
install -D -m 0755 "$bin/fakepf" "$root/usr/bin/fakepf"
install -D -m 0755 "$probe" "$root/opt/probe"
cp "$packages"/*.deb "$root/opt/"
cp "$(dirname "$0")/test-users.conf" "$root/opt/test-users.conf"
echo guest >"$root/etc/hostname"
# The second serial line carries the commands of the test.
cat >"$root/etc/systemd/system/test-agent.service" <<'UNIT'
[Unit]
Description=Runs what the test on the other end of ttyS1 asks for
DefaultDependencies=no
After=basic.target systemd-tmpfiles-setup.service
[Service]
ExecStartPre=/bin/stty -F /dev/ttyS1 raw -echo
ExecStart=/opt/probe probe agent /dev/ttyS1
WorkingDirectory=/
UNIT
mkdir -p "$root/etc/systemd/system/basic.target.wants"
ln -s ../test-agent.service "$root/etc/systemd/system/basic.target.wants/test-agent.service"
(cd "$root" && find . | LC_ALL=C sort | cpio --quiet -o -H newc) | zstd -q -3 -T0 >"$dir/root.cpio.zst"
rm -rf "$root"
