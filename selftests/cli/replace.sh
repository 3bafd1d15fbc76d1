#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# How each program that writes a file treats what exists at its path: one rule for save,
# merge, dedup and audit. The device is a directory: inject.c.
# shellcheck disable=SC2317 # functions that claim calls
# shellcheck source=lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

needs_inject
export ASAN_OPTIONS=verify_asan_link_order=0
mkdir "$tmp/dev" "$tmp/dir"
chmod 755 "$tmp"
dir=$tmp/dir
writers='save merge dedup bitmap records'

python3 - "$tmp" << 'PYTHON'
import sys
sys.path.insert(0, "../dedup")
import pcap
frames = [bytes([n % 50]) * 60 for n in range(100)]
pcap.Capture([pcap.Packet(0, f) for f in frames]).save(sys.argv[1] + "/in.pcap")
with open(sys.argv[1] + "/keys", "w") as f:
    f.write("".join(f"{n}\n" for n in range(100)))
PYTHON
mkhost "$tmp/host1" keys=50 && mkhost "$tmp/host2" id=2 || exit 1

# A FIFO without a reader must not block a program.
injected() {
	EPF_FAKE=$tmp/dev EPF_STRUCK=$tmp/struck EPF_FAULT=$1 LD_PRELOAD=$tmp/inject.so \
		timeout -k 1 60 "$EPFCTL" "${@:2}" < /dev/null > "$tmp/out" 2> "$tmp/err"
	status=$?
} 2> /dev/null # the shell reports killed children

# writes WRITER FILE [FAULT]
writes() {
	case $1 in
	save) injected "${3:-}" save filter "$2" ;;
	merge) injected "${3:-}" merge -o "$2" "$tmp/host1" "$tmp/host2" ;;
	dedup) injected "${3:-}" dedup "$tmp/in.pcap" "$2" -D 100 ;;
	bitmap) injected "${3:-}" audit "$tmp/host1" "$tmp/keys" -F csv --fields 1 \
		--no-agent -b "$2" ;;
	records) injected "${3:-}" audit "$tmp/host1" "$tmp/keys" -F csv --fields 1 \
		--absent --no-agent -o "$2" ;;
	esac
}

injected '' create filter -W 7k
for writer in $writers; do
	writes $writer "$tmp/$writer"
	[ "$status" = 0 ] && [ -s "$tmp/$writer" ] ||
		ktap_skip_all "$writer does not work"
done

fresh() {
	rm -rf "$dir"
	mkdir -m 755 "$dir"
}
# Are only these names in the directory?
only() { [ "$(ls -A "$dir" | tr '\n' ' ')" = "$* " ]; }
written() { [ "$status" = 0 ] && cmp "$dir/$1" "$tmp/$writer"; }

# $writer makes a new file for each of these.

makes_new() {
	fresh
	(umask 027 && writes $writer "$dir/file" && written file) && only file &&
		[ "$(stat -c %a "$dir/file")" = "$1" ]
}
replaces() {
	fresh
	echo old > "$dir/file"
	chmod "$1" "$dir/file"
	ln "$dir/file" "$tmp/old.$writer"
	writes $writer "$dir/file"
	written file && only file && [ "$(stat -c %a "$dir/file")" = "$2" ] &&
		[ "$(cat "$tmp/old.$writer")" = old ] # it was not written in place
}
follows() {
	fresh
	mkdir "$dir/far"
	echo old > "$dir/far/file"
	ln -s far/file "$dir/one"
	ln -s "$dir/one" "$dir/two"
	writes $writer "$dir/two"
	written far/file && [ -L "$dir/one" ] && [ -L "$dir/two" ] &&
		only far one two && [ "$(ls -A "$dir/far")" = file ]
}
follows_dangling() {
	fresh
	mkdir "$dir/far"
	ln -s ../one "$dir/far/two"
	ln -s far/file "$dir/one"
	writes $writer "$dir/far/two"
	written far/file && [ -L "$dir/one" ] && [ -L "$dir/far/two" ]
}
# The kernel follows so many links of a path.
follows_many() {
	local i

	fresh
	ln -s file "$dir/1"
	for i in {2..41}; do
		ln -s $((i - 1)) "$dir/$i"
	done
	writes $writer "$dir/41"
	[ "$status" = 2 ] && grep -q 'Too many levels of symbolic links' "$tmp/err" &&
		[ ! -e "$dir/file" ] && writes $writer "$dir/40" && written file
}
# refused TEXT FILE NAMES: refused in one line, and FILE is unchanged
refused() {
	local before after

	before=$(stat -c '%F %i %a %Y %s' "$2")
	writes $writer "$2"
	after=$(stat -c '%F %i %a %Y %s' "$2")
	[ "$status" = 2 ] && [ ! -s "$tmp/out" ] && [ "$before" = "$after" ] &&
		[ "$(wc -l < "$tmp/err")" = 1 ] && grep -q "^error: .*$1" "$tmp/err" &&
		only "$3"
}
refuses_directory() {
	fresh
	mkdir "$dir/it"
	touch -d '1 hour ago' "$dir/it"
	refused 'Is a directory' "$dir/it" it
}
refuses_special() {
	fresh
	"$@" || return
	refused 'not a regular file' "$dir/it" it
}
make_fifo() { mkfifo "$dir/it"; }
make_socket() {
	python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' \
		"$dir/it"
}
streams() {
	fresh
	mkfifo "$dir/it"
	timeout 60 cat "$dir/it" > "$tmp/read" &
	writes $writer "$dir/it"
	wait $!
	[ "$status" = 0 ] && [ -p "$dir/it" ] && cmp "$tmp/read" "$tmp/$writer" && only it
}
# Runs as an unprivileged user, so that the permissions count.
refuses_read_only() {
	fresh
	echo old > "$dir/it"
	chmod 444 "$dir/it"
	chown -R 65534:65534 "$dir"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$EPFCTL" merge -o "$dir/it" \
		"$tmp/host1" "$tmp/host2" > "$tmp/out" 2> "$tmp/err"
	[ $? = 2 ] && grep -q '^error: .*Permission denied; nothing was changed' "$tmp/err" &&
		[ "$(cat "$dir/it")" = old ] && only it
}
# A user who cannot give the new file to the old one's group removes the group's
# permissions, because they were meant for another group.
drops_group() {
	fresh
	echo old > "$dir/it"
	chmod 666 "$dir/it"
	chown 65534:65534 "$dir"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$EPFCTL" dedup "$tmp/in.pcap" \
		"$dir/it" -D 100 > "$tmp/out" 2> "$tmp/err"
	status=$?
	writer=dedup
	written it && [ "$(stat -c '%a %u' "$dir/it")" = '606 65534' ]
}
keeps_owner() {
	fresh
	echo old > "$dir/it"
	chown 65534:65533 "$dir/it"
	writes $writer "$dir/it"
	written it && [ "$(stat -c %u:%g "$dir/it")" = "$1" ]
}
# The power fails at each step, and after the program has finished.
survives_cuts() {
	local n struck=0

	for ((n = 1; n <= 20; n++)); do
		fresh
		echo old > "$dir/file"
		rm -f "$tmp/struck"
		writes $writer "$dir/file" "disk:$n:cut"
		[ "$status" = 137 ] && [ -e "$tmp/struck" ] || return
		if [ "$(tr -d '\0' < "$dir/file")" != old ]; then
			cmp "$dir/file" "$tmp/$writer" || return
			struck=$n
		fi
	done
	[ "$struck" = 20 ]
}

# meets BEFORE CHANGE CHECK: another file appears at the path, at each step (at the first
# $steps); it stays unchanged, and nothing else is left
meets() {
	local n

	for ((n = 1; n <= ${steps:-20}; n++)); do
		fresh
		echo other > "$tmp/other"
		(cd "$dir" && eval "$1")
		rm -f "$tmp/struck"
		EPF_RUN="cd '$dir' && $2" writes $writer "$dir/file" "disk:$n:run"
		[ -e "$tmp/struck" ] || break
		"$3" && only file || return
		[ "$status" = 0 ] || one_line || return
	done
	[ "$n" -gt "${steps:-5}" ]
}
one_line() { [ "$status" = 2 ] && [ "$(wc -l < "$tmp/err")" = 1 ]; }
# A change before the check is written through.
is_link() {
	[ -L "$dir/file" ] && { [ "$status" = 0 ] || [ "$(cat "$tmp/other")" = other ]; }
}
is_fifo() { [ -p "$dir/file" ]; }
is_folder() { [ -d "$dir/file" ]; }
# It is private to its owner, as before.
is_private() { [ "$(stat -c %a "$dir/file")" = 600 ]; }
is_written() { written file; }

specials='make_fifo make_socket'
mknod "$tmp/char" c 1 3 2> /dev/null && mknod "$tmp/block" b 240 255 2> /dev/null &&
	specials+=' make_char make_block'
make_char() { mknod "$dir/it" c 1 3; }
make_block() { mknod "$dir/it" b 240 255; }

ktap_plan 90
for writer in $writers; do
	case $writer in
	save | merge) new=600 kept=600 owner=0:0 ;;
	*) new=640 kept=664 owner=65534:65533 ;;
	esac
	claim "$writer: a new file has mode $new under umask 027" makes_new $new
	claim "$writer: a file of mode 664 is replaced by one of mode $kept" replaces 664 $kept
	claim "$writer: a link stays, the file that it leads to is replaced" follows
	claim "$writer: a dangling link stays, the file that it leads to is made" \
		follows_dangling
	claim "$writer: a directory is refused" refuses_directory
	for special in make_fifo make_socket make_char make_block; do
		case $writer:$special in
		dedup:make_fifo | records:make_fifo)
			claim "$writer: a FIFO is written to, and stays" streams
			continue ;;
		dedup:make_char | records:make_char) # /dev/null, /dev/full: elsewhere
			continue ;;
		esac
		case " $specials " in
		*" $special "*) claim "$writer: $special: refused, and it stays" \
			refuses_special $special ;;
		*) ktap_skip "$writer: $special" 'no device can be made here' ;;
		esac
	done
	claim "$writer: power cut at each step: the old file or the new one" survives_cuts
	claim "$writer: a link that takes the file's place meanwhile stays" \
		meets 'echo old > file' "rm file && ln -s '$tmp/other' file" is_link
	claim "$writer: so does one that comes where nothing was" \
		meets '' "rm -f file && ln -s '$tmp/other' file" is_link
	claim "$writer: so does a FIFO" meets 'echo old > file' 'rm file && mkfifo file' is_fifo
	claim "$writer: so does a directory" meets 'echo old > file' 'rm file && mkdir file' \
		is_folder
	claim "$writer: a file of other permissions keeps them" meets 'echo old > file' \
		'rm file && (umask 077 && echo new > file)' is_private
	claim "$writer: a file that is removed meanwhile is made" meets 'echo old > file' \
		'[ ! -s file ] || [ "$(cat file)" != old ] || rm file' is_written
	if [ "$(id -u)" = 0 ]; then
		claim "$writer: whose the file is afterwards" keeps_owner $owner
	else
		ktap_skip "$writer: whose the file is afterwards" 'needs root'
	fi
done
writer=merge
claim 'a chain of 40 dangling links is followed, of 41 refused' follows_many
export EPF_PLAIN=1
claim 'where files cannot be exchanged a new one is made' makes_new 600
claim 'an old one is replaced' replaces 664 600
claim 'an old one is, power cut at each step' survives_cuts
steps=3 claim 'and a link that takes its place before the end stays' \
	meets 'echo old > file' "rm file && ln -s '$tmp/other' file" is_link
unset EPF_PLAIN
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups \
	"$EPFCTL" --version > /dev/null 2>&1; then
	claim 'a file that may not be written is not replaced' refuses_read_only
	claim 'a new file of another group does not give it the old one'"'"'s rights' drops_group
else
	ktap_skip 'a file that may not be written is not replaced' 'needs root'
	ktap_skip 'a new file of another group' 'needs root'
fi
ktap_finish
