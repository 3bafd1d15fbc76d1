#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Boots a stock kernel in QEMU on top of this machine's own root file system
# and runs one command in it as root. Guarantees:
#  - stdout carries only the command's output, as it comes; the kernel's log goes to a
#    file and is shown on stderr when something fails;
#  - exit status 0 means that the command exited 0 and wrote the status line last, and
#    that the kernel reported no warning meanwhile: a panic, a hang or a lost guest never
#    counts as success;
#  - the guest sees the root file system and the repository at their own paths
#    and may write anywhere; only what it writes below $EPF_OUT is kept.
# Needs no root. The guest has no network but its own.

set -u -o pipefail

export PATH=$PATH:/usr/sbin:/sbin
here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../.." && pwd)

usage() {
	cat <<'USAGE'
usage: selftests/vm/run.sh [OPTION]... -- COMMAND [ARG]...

  --kernel RELEASE|IMAGE  kernel to boot (scripts/deps.sh --kernel)
  --modules DIR   .../lib/modules/RELEASE that belongs to an IMAGE
  --root DIR      root file system to share (/)
  --arch arm64    emulate this architecture; --root is of it (scripts/cross.sh)
  --build DIR     mount this in place of build/
  --smp N         CPUs (2)
  --mem SIZE      memory (2G)
  --timeout SECONDS       for boot and command together (600)
  --icount        one CPU, one virtual nanosecond per instruction; idle time
                  passes at once
  --idle          with --icount: idle time passes as it does here, so that what
                  waits for the host does not run into its time limits
  --parallel      one host thread per emulated CPU even on QEMU before 8.1,
                  where they take turns because this may crash the guest
  --secure-boot CERTIFICATE
                  boot by UEFI with Secure Boot on: shim, GRUB and the stock kernel as
                  Debian signs them, and this machine-owner key (DER) enrolled
  --append ARGS   further kernel parameters
  --out DIR       writable share, EPF_OUT in the guest (build/vm/out)
  --keep-log FILE         keep the kernel's log
  --allow-warn    do not fail because of kernel warnings

The command runs in the caller's directory with EPF_VM=1 and the caller's
EPF_* variables. Exit status: the command's own, or 123 the kernel reported
warnings, 124 timeout, 125 the guest could not run or gave no status.
USAGE
}

die() {
	echo "vm: $*" >&2
	exit 125
}

# Log lines that a healthy kernel does not print.
complaints='WARNING:|BUG:|Oops|Call Trace|general protection|refcount_t'
complaints+='|rcu:.*(stall|detected)|Kernel panic|KASAN|KFENCE|UBSAN'
complaints+='|INFO: (task|possible|trying to register)|kmemleak: [1-9]'
complaints+='|blocked for more than|corruption|unregister_netdevice: waiting'
# The corresponding taint bits: machine check, bad page, oops, warning, soft lockup.
bad_taint=$((1 << 4 | 1 << 5 | 1 << 7 | 1 << 9 | 1 << 14))

kernel=${EPF_KERNEL:-} modules='' root=/ arch='' build='' smp=2 mem=2G timeout=600 icount='' idle=off parallel='' secure=''
append='' out='' keep_log='' allow_warn=''
while [ $# -gt 0 ]; do
	case $1 in
	--kernel | --modules | --root | --arch | --build | --smp | --mem | --timeout | --secure-boot | --append | --out | --keep-log)
		[ $# -ge 2 ] || die "$1 needs a value"
		;;&
	--kernel) kernel=$2; shift ;;
	--modules) modules=$2; shift ;;
	--root) root=$2; shift ;;
	--arch) arch=$2; shift ;;
	--build) build=$2; shift ;;
	--smp) smp=$2; shift ;;
	--mem) mem=$2; shift ;;
	--timeout) timeout=$2; shift ;;
	--secure-boot) secure=$2; shift ;;
	--append) append=$2; shift ;;
	--out) out=$2; shift ;;
	--keep-log) keep_log=$2; shift ;;
	--icount) icount=1 ;;
	--idle) idle=on ;;
	--parallel) parallel=1 ;;
	--allow-warn) allow_warn=1 ;;
	-h | --help) usage; exit 0 ;;
	--) shift; break ;;
	*) usage >&2; exit 125 ;;
	esac
	shift
done
[ $# -gt 0 ] || { usage >&2; exit 125; }
qemu=qemu-system-x86_64 machine=q35 console=ttyS0 busybox=$(command -v busybox)
case $arch in
'') ;;
arm64) qemu=qemu-system-aarch64 machine=virt console=ttyAMA0 busybox=$root/bin/busybox ;;
*) die "no architecture '$arch'" ;;
esac
for tool in "$qemu" "${busybox:-busybox}" cpio modprobe; do
	command -v "$tool" >/dev/null || die "$tool is missing: scripts/deps.sh vm"
done

# Scratch and caches; in another place for a user who cannot write to the tree.
state=$repo/build/vm
if ! mkdir -p "$state" 2>/dev/null || ! [ -w "$state" ]; then
	state=${TMPDIR:-/tmp}/epf-vm-$(id -u)
	(umask 077 && mkdir -p "$state")
	[ -O "$state" ] || die "cannot use $state"
fi
out=${out:-$state/out}
mkdir -p "$out" || die "cannot create $out"
out=$(cd "$out" && pwd -P)
root=$(cd "$root" && pwd -P) || exit 125
build=${build:+$(cd "$build" && pwd -P)}

# The kernel's release or image, and its modules.
if [ -z "$kernel" ] && [ "$root" = / ]; then
	kernel=$("$repo/scripts/deps.sh" --kernel) || exit 125
elif [ -z "$kernel" ]; then
	kernel=$(cd "$root/boot" && printf '%s\n' vmlinuz-* | sort -V | tail -n 1)
	kernel=${kernel#vmlinuz-}
fi
case $kernel in
*/*)
	image=$kernel
	bind_modules=${modules:+$(cd "$modules" && pwd -P)}
	modules=$bind_modules
	;;
*)
	image=${root%/}/boot/vmlinuz-$kernel
	bind_modules=
	modules=${root%/}/lib/modules/$kernel
	[ -d "$modules" ] || die "no modules in $modules: scripts/deps.sh vm"
	;;
esac
[ -r "$image" ] || die "cannot read $image: scripts/deps.sh vm"

scratch=$(mktemp -d "$state/run.XXXXXX") || exit 125
qemu_pid=
# shellcheck disable=SC2317 # called by the trap
cleanup() {
	if [ -n "$qemu_pid" ]; then
		kill "$qemu_pid" 2>/dev/null
		wait "$qemu_pid" 2>/dev/null
	fi
	rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

initramfs=$state/initramfs-$(echo "$modules" | cksum | tr -d ' ').cpio
for file in "$here"/{mkinitramfs.sh,init,stage2} "$busybox" ${modules:+"$modules/modules.dep"}; do
	if ! [ "$initramfs" -nt "$file" ]; then
		"$here/mkinitramfs.sh" "$modules" "$initramfs" "$busybox" || die 'cannot pack the initramfs'
		break
	fi
done

# A guest that waits for its CPU would consider the timer broken, and stalled tasks hung.
patience='no_timer_check watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=300'
patience+=' sysctl.kernel.hung_task_timeout_secs=600'
# Under emulation, a program at fixed addresses starts in two thirds of the time (QEMU
# 7.2: 100 starts of epfctl take 7.0 s of CPU instead of 10.9).
layout=norandmaps

# usage: choose_boot INITRD: the options of QEMU that boot it with the image
choose_boot() {
	local line="console=$console ignore_loglevel printk.devkmsg=on log_buf_len=4M panic=-1 oops=panic $patience $layout $append"
	if [ -z "$secure" ]; then
		boot=(-machine "$machine" -kernel "$image" -initrd "$1" -append "$line")
		return
	fi
	"$here/secure_boot.py" "$secure" "$scratch/vars.fd" && mkdir -p "$scratch"/esp/EFI/{BOOT,debian} &&
		cp "$repo/build/tools/shimx64.efi.signed" "$scratch/esp/EFI/BOOT/BOOTX64.EFI" &&
		cp "$repo/build/tools/grubx64.efi.signed" "$scratch/esp/EFI/BOOT/grubx64.efi" &&
		cp "$image" "$scratch/esp/vmlinuz" && cp "$1" "$scratch/esp/initrd" ||
		die 'cannot prepare Secure Boot: scripts/deps.sh vm'
	printf '%s\n' 'set timeout=0' "linux /vmlinuz $line" 'initrd /initrd' boot > "$scratch/esp/EFI/debian/grub.cfg"
	boot=(-machine "q35,smm=on" -global "driver=cfi.pflash01,property=secure,value=on"
		-drive "if=pflash,format=raw,unit=0,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.secboot.fd"
		-drive "if=pflash,format=raw,unit=1,file=$scratch/vars.fd"
		-drive "file=fat:$scratch/esp,format=raw,if=none,id=esp,readonly=on"
		-device "virtio-blk-pci,drive=esp")
}

# usage: start_qemu SECONDS INITRD ARG...
# Output, status and log are regular files: QEMU writes them at once and in
# full, so that nothing is lost when the guest powers off or dies.
start_qemu() {
	local limit=$1 initrd=$2
	shift 2
	choose_boot "$initrd"
	: > "$scratch/output"
	: > "$scratch/status"
	setpriv --pdeathsig TERM timeout -k 5 "$limit" "$qemu" "$@" \
		"${boot[@]}" -m "$mem" -nodefaults -no-user-config -display none -no-reboot \
		-chardev "file,id=log,path=$scratch/log" -serial chardev:log \
		-device virtio-serial-pci,ioeventfd=off \
		-chardev "file,id=output,path=$scratch/output" \
		-device virtserialport,nr=1,name=epf.output,chardev=output \
		-chardev "file,id=status,path=$scratch/status" \
		-device virtserialport,nr=2,name=epf.status,chardev=status \
		< /dev/null 2> "$scratch/qemu.err" &
	qemu_pid=$!
}

wait_qemu() {
	wait "$qemu_pid" 2>/dev/null # bash would report an abort here
	qemu_status=$?
	qemu_pid=
}

pack() { # the files of $scratch become another initramfs, appended to the first
	cat "$initramfs"
	(cd "$scratch" && printf '%s\n' "$@" | cpio --quiet -o -H newc -R 0:0)
}

# /dev/kvm may open and still not run a stock kernel: boot one, once per boot
# of this machine and kernel.
kvm_works() {
	local cache boot_id
	[ -z "$arch" ] && [ -w /dev/kvm ] || return 1
	cache=$state/accel-${image##*/}
	boot_id=$(cat /proc/sys/kernel/random/boot_id)
	if [ "$(head -n 1 "$cache" 2>/dev/null)" != "$boot_id" ]; then
		: > "$scratch/job.probe"
		pack job.probe > "$scratch/initrd"
		start_qemu 10 "$scratch/initrd" -accel kvm -cpu host -smp "$smp"
		wait_qemu
		{
			echo "$boot_id"
			cat "$scratch/status"
		} > "$cache.$$"
		mv "$cache.$$" "$cache"
	fi
	grep -q '^boots' "$cache"
}

# Before 8.1 QEMU's parallel emulation may run stale code while another CPU
# patches it (static keys, ftrace, BPF), which ends as "Oops: int3".
emulate_in_parallel() {
	[ -n "$parallel" ] && return
	local version
	version=$("$qemu" --version | sed -n '1s/.*version \([0-9.]*\).*/\1/p')
	printf '8.1\n%s\n' "$version" | sort -V -C
}

# usage: unpack_kernel: sets image to the kernel inside it, if that has an entry for QEMU
# (PVH): an emulated kernel takes a second of CPU to unpack itself. See the kernel's
# Documentation/arch/x86/boot.rst for the numbers; the last four bytes are a length.
unpack_kernel() {
	local sectors offset length inside
	inside=$state/vmlinux-$(echo "$image" | cksum | tr -d ' ')
	if ! [ -e "$inside" ] || [ "$inside" -nt "$image" ] || [ "$inside" -ot "$image" ]; then
		read -r sectors < <(od -An -tu1 -j $((0x1f1)) -N 1 "$image")
		read -r offset length < <(od -An -tu4 -j $((0x248)) -N 8 "$image")
		tail -c "+$(((sectors + 1) * 512 + offset + 1))" "$image" | head -c $((length - 4)) > "$scratch/packed"
		{ zstd -qdc "$scratch/packed" || xz -dc "$scratch/packed"; } > "$scratch/inside" 2> /dev/null &&
			touch -r "$image" "$scratch/inside" && mv "$scratch/inside" "$inside" || return
	fi
	! readelf -n "$inside" | grep -q '^ *Xen .*(0x00000012)' || image=$inside
}

# Under emulation, disable slow features that do not concern the module: indirect branch
# mitigations, five-level page tables, unused registers saved at each switch, byte-wise
# copies, memory that is zeroed before the kernel itself uses it, security modules that no
# test asks. On arm64, sign pointers by a fast algorithm. (mitigations=off would change what
# the verifier checks.)
emulate() {
	local cpu=max,-mpx,-pku,-erms
	[ -z "$arch" ] || cpu=max,pauth-impdef=on
	[ -n "$arch$secure" ] || unpack_kernel
	accel=(-accel "tcg,thread=$1" -cpu "$cpu" -smp "$smp")
	append="spectre_v2=off no5lvl init_on_alloc=0 lsm=lockdown,capability,bpf $append"
}

if [ -n "$icount" ]; then
	# Fixed seed, clock and layout: the only remaining variation is the response time
	# of the host's file system.
	append="nokaslr norandmaps $append"
	accel=(-accel "tcg,thread=single" -icount "shift=0,sleep=$idle" -cpu max -smp 1
		-seed 1 -rtc "base=2026-01-01,clock=vm")
elif kvm_works; then
	accel=(-accel kvm -cpu host -smp "$smp")
elif emulate_in_parallel; then
	emulate multi
else
	emulate single
fi

# libpcap needs D-Bus for captures of it, and D-Bus eight more libraries. Without those a
# process of ours starts in 60% of the time under emulation (QEMU 7.2: 200 starts of epfctl
# take 8.7 s of CPU instead of 15), so the guest has, in place of D-Bus, the same functions,
# which abort. (LD_LIBRARY_PATH would cost ten failed lookups for each library.)
bare_dbus() {
	echo 'LIBDBUS_1_3 { dbus_*; };' > "$scratch/dbus.map" &&
		nm -D --defined-only "$dbus" | sed -n 's/.* T \(dbus_[a-z_0-9]*\)@.*/void \1(void) { __builtin_trap(); }/p' |
		cc -shared -fPIC -nostdlib -Wl,-soname,libdbus-1.so.3 "-Wl,--version-script=$scratch/dbus.map" \
			-x c - -o "$scratch/dbus.so" && mv "$scratch/dbus.so" "$bare"
}
dbus='' bare=$state/libdbus-1.so.3
if [ "$root" = / ]; then
	dbus=$(ldconfig -p | sed -n 's/.*libdbus-1\.so\.3 .*=> //p;T;q')
	[ -z "$dbus" ] || [ -e "$bare" ] || bare_dbus 2> /dev/null || dbus=
fi

share_repo=
shares=(
	-fsdev "local,id=root,path=$root,security_model=none,readonly=on,multidevs=remap"
	-device "virtio-9p-pci,fsdev=root,mount_tag=root"
	-fsdev "local,id=out,path=$out,security_model=none,multidevs=remap"
	-device "virtio-9p-pci,fsdev=out,mount_tag=out"
)
if [ "$root" != / ]; then
	share_repo=1
	shares+=(
		-fsdev "local,id=repo,path=$repo,security_model=none,readonly=on,multidevs=remap"
		-device "virtio-9p-pci,fsdev=repo,mount_tag=repo"
	)
fi

# The job file is bash, read by stage2.
{
	for name in "${!EPF_@}"; do
		echo "export $name=${!name@Q}"
	done
	echo "repo=${repo@Q} share_repo=$share_repo out=${out@Q}"
	echo "modules=${bind_modules@Q} build=${build@Q}"
	[ -z "$dbus" ] || echo "replaced=${dbus@Q} replacement=${bare@Q}"
	echo "workdir=${PWD@Q}"
	echo "command=(${*@Q})"
} > "$scratch/job"
pack job > "$scratch/initrd"

started() {
	grep -q 'epf-vm: command starts' "$scratch/kernel.log"
}

# A boot lost under --parallel says nothing about the command.
lost_boot() {
	[ -n "$parallel" ] && ! started && grep -q 'Oops: int3' "$scratch/kernel.log"
}

for _ in 1 2 3; do
	start_qemu "$timeout" "$scratch/initrd" "${accel[@]}" "${shares[@]}"
	tail -f -n +1 -s 0.1 --pid="$qemu_pid" "$scratch/output" &
	wait $! # in the background, so that the traps above run at once
	wait_qemu
	tr -d '\r' < "$scratch/log" > "$scratch/kernel.log" 2>/dev/null
	lost_boot || break
done
[ -z "$keep_log" ] || cp "$scratch/kernel.log" "$keep_log"

# Prints the log since the command began, or the end of a boot that did not get there,
# without lines of every run.
command_log() {
	if started; then
		sed '1,/epf-vm: command starts/d' "$scratch/kernel.log"
	else
		tail -n 40 "$scratch/kernel.log"
	fi | grep -v -e 'epf-vm: command ended' -e 'ACPI: PM: Preparing' -e 'reboot: Power down'
}

show_log() {
	{
		command_log | sed '1s/^/vm: kernel log:\n/'
		cat "$scratch/qemu.err"
	} >&2
}

# Prints the kernel's complaints. Races of the kernel with itself are ignored.
complained() {
	[ -n "$allow_warn" ] || command_log | grep -E "$complaints" |
		grep -v -e 'BUG: KCSAN: [^[]*$'
}

status='' tainted=0
if [[ $(cat "$scratch/status") =~ ^status\ ([0-9]+)\ tainted\ ([0-9]+)$ ]]; then
	status=${BASH_REMATCH[1]} tainted=${BASH_REMATCH[2]}
fi

if [ -z "$status" ]; then
	show_log
	case $qemu_status in
	124 | 137)
		echo "vm: no status within $timeout s" >&2
		exit 124
		;;
	esac
	echo 'vm: the guest ended without a status' >&2
	if started && [ -n "$(complained)" ]; then
		echo 'vm: the kernel complained:' >&2
		complained >&2
		exit 123
	fi
	exit 125
fi

found=$(complained)
if [ -z "$allow_warn" ] && [ $((tainted & bad_taint)) -ne 0 ]; then
	found+=$'\n'"taint flags $tainted"
fi

case $status in
0 | 4) [ -z "$found" ] || show_log ;; # 4: a suite that skipped itself
*) show_log ;;
esac
if [ -n "$found" ]; then
	echo 'vm: the kernel complained:' >&2
	echo "$found" >&2
	case $status in 0 | 4) status=123 ;; esac
fi
exit "$status"
