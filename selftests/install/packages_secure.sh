#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In a guest that booted with Secure Boot on, whose root has the packages installed and whose
# firmware has the key of DKMS enrolled. packages.py boots it.
# shellcheck disable=SC2317 # functions that ktap_check calls

[ -n "${EPF_VM:-}" ] && [ -d /var/lib/dkms ] || exec echo '1..0 # SKIP packages.py boots this'
. "$(dirname "$0")/../ktap.sh"
signed=$(modinfo -n epochfilter)
copy=/tmp/epochfilter.ko
ktap_plan 5

locked_down() {
	cat /sys/kernel/security/lockdown && ! grep -q '\[none\]' /sys/kernel/security/lockdown
}

# doctor, while no module is loaded, says what a key that is not enrolled takes.
advises() {
	epfctl doctor | tr -s ' \n' ' ' > /tmp/doctor
	cat /tmp/doctor
	grep -q 'missing module signature only signed modules load' /tmp/doctor &&
		grep -q 'mokutil --import /var/lib/dkms/mok.pub' /tmp/doctor
}

# usage: rejected PATTERN: insmod of the copy fails, for this reason
rejected() {
	dmesg -C
	! insmod $copy || return
	dmesg
	dmesg | grep -q "$1"
}

unsigned() {
	xz -dc "$signed" > $copy && strip --strip-debug $copy && rejected 'unsigned module is rejected'
}

# One bit of the code differs from what was signed.
altered() {
	xz -dc "$signed" > $copy && printf 'X' | dd of=$copy bs=1 seek=4096 conv=notrunc status=none &&
		! insmod $copy
}

loads() {
	modinfo -F signer epochfilter
	modprobe epochfilter && modprobe epochfilter_kinds && grep '^epochfilter_kinds' /proc/modules
}

ktap_check 'the kernel was booted with Secure Boot, and is locked down' locked_down
ktap_check 'doctor names the key to enroll' advises
ktap_check 'a module without signature is refused' unsigned
ktap_check 'one that was altered after it was signed is refused' altered
ktap_check 'the modules that DKMS signed with the enrolled key load' loads
ktap_finish
