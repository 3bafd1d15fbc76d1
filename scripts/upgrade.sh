#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Replaces the loaded module by another build, and keeps its filters and attachments:
# detach, save, unload, load, restore, attach. The filters keep their contents, hash
# keys and parameters; ids and statistics start anew, except the number of
# insertions. During the gap packets pass without lookup; the gap is measured and
# printed. No key is lost that was inserted before the gap and is still in its
# window.
#
# Meanwhile the limit of filters is 0, so that nobody creates one that is not saved (unload.sh).
#
# Everything that can be checked is checked before anything changes. A failure
# before the old module is unloaded restores the previous state. The snapshots are
# removed at the end, and kept if something fails later.

set -u

usage() {
	cat <<'USAGE'
usage: upgrade.sh [MODULE.ko]

Without MODULE.ko: the one that 'modprobe epochfilter' loads. EPF_CTL names
another epfctl, EPF_STATE the directory of the snapshots (below /var/tmp).
USAGE
}

epfctl=${EPF_CTL:-epfctl}
params=/sys/module/epochfilter/parameters
limit=$params/max_filters

die() {
	echo "upgrade: $*" >&2
	exit 1
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
esac
[ $# -le 1 ] || { usage >&2; exit 2; }
module=${1:-$(modinfo -n epochfilter 2> /dev/null)}
[ "$(id -u)" -eq 0 ] || die 'needs root'
[ -d /sys/module/epochfilter ] || die 'the module is not loaded: load it, there is nothing to keep'
[ -r "$module" ] || die "cannot read the new module '$module'"
command -v "$epfctl" > /dev/null || die "no '$epfctl' here: set EPF_CTL"
magic=$(modinfo -F vermagic "$module") || die "$module is not a module"
[ "${magic%% *}" = "$(uname -r)" ] ||
	die "$module was built for ${magic%% *}, this is $(uname -r)"

# Prints a line for each attachment: INTERFACE, then the options to attach it again.
attachments() {
	local line ifname filter key action from mode prio
	local form='^([^ ]+): filter ([^ ,]+), key ([^,]+), (drop|count|mark)'
	form+='( from (0x[0-9a-f]+))?, (native|generic) mode(, prio ([0-9]+))?'
	form+=', program [0-9]+$'

	while IFS= read -r line; do
		case $line in
		'' | ' '*) continue ;;
		esac
		[[ $line =~ $form ]] ||
			die "cannot attach this again, detach it first: $line"
		ifname=${BASH_REMATCH[1]} filter=${BASH_REMATCH[2]}
		key=${BASH_REMATCH[3]} action=${BASH_REMATCH[4]}
		from=${BASH_REMATCH[6]} mode=${BASH_REMATCH[7]}
		prio=${BASH_REMATCH[9]}
		echo "$ifname --filter $filter --key $key --action $action" \
			"--mode $mode${from:+ --mark $from}" \
			"${prio:+--prio }${prio:---no-dispatcher}"
	done
}

status=$("$epfctl" status) || die 'cannot read what is attached'
attached=$(attachments <<< "$status") || exit 1
options=()
for p in "$params"/*; do
	[ "${p##*/}" = selftest ] || options+=("${p##*/}=$(< "$p")")
done
state=${EPF_STATE:-$(mktemp -d /var/tmp/epochfilter-upgrade.XXXXXX)} || exit 1
mkdir -p "$state" || exit 1
most=$(< "$limit")
allow_filters() {
	[ ! -e "$limit" ] || echo "$most" > "$limit"
}
trap allow_filters EXIT
trap 'exit 1' HUP INT TERM
echo 0 > "$limit"
mapfile -t filters < <("$epfctl" list --names)

# Attaches everything that was attached. Return: 0 if all of it could be.
attach_all() {
	local line failed=0

	while IFS= read -r line; do
		[ -n "$line" ] || continue
		# shellcheck disable=SC2086 # options
		"$epfctl" attach ${line#* } "${line%% *}" > /dev/null || failed=1
	done <<< "$attached"
	return $failed
}

# Filters of other kinds than lanes hold the module epochfilter_kinds, which must go
# first. They are saved already.
dropped=()
drop_kinds() {
	local name

	[ -d /sys/module/epochfilter_kinds ] || return 0
	for name in "${locked[@]}"; do
		"$epfctl" destroy "$name" || return
		dropped+=("$name")
	done
}

# For failures before the old module is unloaded: restores the previous state.
undo() {
	local name

	allow_filters
	for name in "${dropped[@]}"; do
		"$epfctl" restore "$name" "$state/$name" > /dev/null ||
			die "cannot restore '$name' from $state/$name"
	done
	attach_all || echo 'upgrade: not all could be attached again' >&2
	rm -rf "$state"
	die "$*; nothing was changed"
}

# usage: removed MODULE: removes it, if it is loaded and nothing uses it
removed() {
	local users

	[ -d "/sys/module/$1" ] || return 0
	read -r users < "/sys/module/$1/refcnt" && [ "$users" -eq 0 ] && rmmod "$1" 2> /dev/null
}

# Filters that were not saved: of somebody who began to create them before the limit was 0.
unsaved() {
	"$epfctl" list --names | grep -vxF -f <(printf '%s\n' "${filters[@]}")
}

# The kernel releases programs a moment after they are detached, and the memory of a
# destroyed filter a moment after that.
unload() {
	local i

	if [ -d /sys/module/xt_epf ]; then
		rmmod xt_epf 2> /dev/null || return
	fi
	for ((i = 0; i < 50; i++)); do
		if removed epochfilter_kinds && [ "$(< /sys/module/epochfilter/refcnt)" = 0 ]; then
			! unsaved || return
			removed epochfilter && return
		fi
		sleep 0.1
	done
	return 1
}

begin=$(date +%s%N)
while IFS= read -r line; do
	[ -z "$line" ] || "$epfctl" detach "${line%% *}" ||
		undo "cannot detach ${line%% *}"
done <<< "$attached"
declare -A how # options of restore that a snapshot does not record
locked=()
for name in "${filters[@]}"; do
	shown=$("$epfctl" -j show "$name")
	[[ $shown != *'"aligned":true'* ]] || how[$name]=--align
	[[ $shown = *'"kind":"lanes"'* ]] || locked+=("$name")
	"$epfctl" save "$name" "$state/$name" > /dev/null ||
		undo "cannot save '$name'"
done
drop_kinds || undo 'a filter of another kind than lanes is in use'
unload ||
	undo 'the module is in use: close what holds its filters (epfctl list, users), delete iptables rules with -m epf'
kept="the snapshots are in $state: load a module, then 'epfctl restore NAME $state/NAME'"
insmod "$module" "${options[@]}" || modprobe epochfilter ||
	die "no module can be loaded; $kept"
kinds=${module%/*}/epochfilter_kinds.${module##*/epochfilter.}
if [ ${#dropped[@]} -gt 0 ] && [ -r "$kinds" ]; then # else it is loaded on demand
	insmod "$kinds" || die "$kinds does not load; $kept"
fi
for name in "${filters[@]}"; do
	# shellcheck disable=SC2086 # an option or none
	"$epfctl" restore "$name" "$state/$name" ${how[$name]:-} > /dev/null ||
		die "cannot restore '$name'; $kept"
done
attach_all || die "not all could be attached again; $kept"
end=$(date +%s%N)
rm -rf "$state"
echo "upgraded: ${#filters[@]} filters, $(grep -c . <<< "$attached") interfaces; a gap of $(((end - begin) / 1000000)) ms"
