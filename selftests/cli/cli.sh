#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# epfctl without the module: sizes, usage, bad input, snapshot files.
# shellcheck disable=SC2317 # functions that claim calls
# shellcheck source=lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

mksnap "$tmp/good" || ktap_skip_all 'mksnap.c needs a compiler and libxxhash-dev'
ktap_plan 309

# Usage
gives 0 '^epfctl [0-9]+\.' --version
gives 0 'verbs:.*plan .*doctor' --help
gives 0 '^usage: epfctl plan ' help plan
gives 0 '^usage: epfctl list ' ls --help
gives 0 '^usage: epfctl list ' help ls
fails "unknown verb 'frobnicate'" help frobnicate
fails "one argument too many" help plan create
for verb in plan create list show destroy insert test rotate clear swap \
	save restore merge audit watch metrics doctor; do
	gives 0 "^usage: epfctl $verb" $verb --help
done
fails "no verb given: 'epfctl --help'"
fails "did you mean 'create'" crate
fails "did you mean 'destroy'" destory
fails "unknown verb 'frobnicate'" frobnicate
fails "unknown verb ''" ''
fails 'unknown option --frob' --frob plan
fails 'unknown option --frob: see .epfctl plan --help' plan --frob
fails 'unknown option -z' test x -z
fails '--window needs a value' plan --window
fails '-W needs a value' plan -W
fails '--json=3 takes no value' plan -W 1 --json=3
fails 'one argument too many' plan -W 1M again
fails 'too few arguments' save x
fails 'one argument too many' list all

# Errors and warnings as JSON, wherever -j or -p stands
fails 'unknown option --frob: see' -j plan --frob
fails 'unknown option --frob: see' plan --frob -j
fails 'unknown option --frob: see' plan --frob --pretty
fails "unknown verb 'frobnicate'" frobnicate --json
fails "unknown verb 'frobnicate'" -p frobnicate
fails 'no verb given' -j
fails 'is not a number' plan -W ten -j
fails '-W needs a value' plan -j -W
fails 'too few arguments' save x -j
fails 'No such file' show --file "$tmp/nowhere" -p
fails "'-j' is one argument too many" list -- -j
claim 'a cluster of letters has it too' eval \
	'epf test -qj --frob; grep -q "^{\"error\":\"unknown option --frob" "$tmp/err"'
claim 'what follows an option that takes a value is that' eval \
	'epf plan -W -j; grep -q "^error: --window .-j. is not a number" "$tmp/err"'
odd_name() {
	epf -j plan -W 1 $'a"\\\xff\n'
	cp "$tmp/err" "$tmp/out"
	json 'd["error"].startswith("\x27a\"\\\ufffd?\x27 is one argument") and d["verb"] == "plan" and d["status"] == 2 and len(d) == 3'
}
claim 'JSON also with quotes, bytes that are no UTF-8, and control characters' odd_name
warns() {
	epf plan -T 29ms --rate 1M -j
	[ "$status" = 0 ] && json 'd["window_ns"] == 29000000' &&
		grep -q '^{"warning":"--time is shorter' "$tmp/err" &&
		[ "$(wc -l < "$tmp/err")" = 1 ]
}
claim 'so are warnings; the answer is on stdout' warns

# Ended by a signal: the status is 128 and its number
# ended_by SIGNAL NUMBER ARG...: while it waits for its standard input
ended_by() {
	local i

	rm -f "$tmp/fifo"
	mkfifo "$tmp/fifo"
	"$EPFCTL" "${@:3}" < "$tmp/fifo" > "$tmp/out" 2> "$tmp/err" &
	exec 8> "$tmp/fifo"
	for ((i = 0; i < 600; i++)); do # until the tool (not the shell before it) catches SIGTERM, bit 14
		[ "/proc/$!/exe" -ef "$EPFCTL" ] &&
			((0x$(awk '/^SigCgt/ { print $2 }' "/proc/$!/status") & 1 << 14)) && break
		sleep 0.1
	done
	while kill -s "$1" $! 2> /dev/null; do # a signal before it reads is not noticed
		sleep 0.1
	done
	wait $!
	status=$?
	exec 8>&-
	one_error $((128 + $2)) stopped "${@:3}"
}
claim 'SIGINT: exit status 130' ended_by INT 2 test x -
claim 'SIGTERM: 143, with -j too' ended_by TERM 15 insert x - -j

# 80 columns
narrow() {
	[ -s "$tmp/out" ] && awk 'length > 80 { exit 1 }' "$tmp/out"
}
narrow_help() {
	local verb

	for verb in '' $("$EPFCTL" --help | sed -n 's/^  \([a-z]\+\)  .*/\1/p'); do
		# shellcheck disable=SC2086 # none for the first
		epf $verb --help
		narrow || return
	done
}
claim 'no line of help is longer than 80 columns' narrow_help
narrow_plans() {
	local kind

	epf plan -W 1M --compare
	narrow || return
	for kind in lanes ge gebl apbf apbbf tlbf dict chain elastic; do
		epf plan -T 1h --rate 100k --kind "$kind" && narrow || return
	done
}
claim 'nor of a plan, or of the table of kinds' narrow_plans
epf doctor
claim 'nor of doctor' narrow
verdict_first() {
	head -n 1 "$tmp/out" | grep -q '^filters that are pure BPF, without the module: ' &&
		[ "$(grep -E '^[a-zA-Z ]+:$' "$tmp/out" | paste -sd,)" = 'for both:,for pure BPF:,for the module:,more:' ]
}
claim 'its verdict comes first, then groups by backend' verdict_first

# Numbers
gives 0 'insertions' plan --window 1
gives 0 'window +count: 1000000 insertions' plan -W 1e6
gives 0 'pace +up to 3.33e\+07 insertions/s' plan -W 1e6 --rate 30M
gives 0 '"max_rate":33333333,' -j plan -W 1e6
too_fast() {
	epf plan "${@:2}"
	[ "$status" = 0 ] && grep -q "^warning: .* $1" "$tmp/err"
}
claim 'a window that is filled within a grace period: a warning' \
	too_fast '--window 150000' -W 1e5 --rate 5M
claim 'one of time that is as short, too' too_fast '--time 30ms' -T 29ms --rate 1M
gives 0 'time: 30 ms' plan -T 30ms --rate 1M
gives 0 'window +count: 1500000 insertions' plan -W 1.5M
gives 0 'window +count: 7 insertions' plan -W 7 --budget 0.5
for bad in -5 0x10 ten 1x '' ' 1' inf nan 1e; do
	fails "--window '.*' is not a number" plan --window "$bad"
done
fails "--window '99999999999999999999' is too large: at most 1099511627775" \
	plan --window 99999999999999999999
fails 'is too large' plan --window 1e400
fails 'is too large' plan --window 1099511627776
fails 'is too small' plan --window 0
fails 'is not whole' plan --window 1.5
fails 'is not whole' plan --window 1000000.0001
gives 0 '"window_ns":120000000000,' -j plan --time 2min --rate 1
gives 0 '"window_ns":4611686018427387904,' -j plan --time 4611686018427387904ns --rate 0.001
fails "has no unit: write 10s" plan --time 10 --rate 1
fails 'is not a number' plan --time 10parsecs --rate 1
fails 'is too large' plan --time 999999999d --rate 1
fails 'is out of range' plan -W 1M --budget 0
fails 'is out of range' plan -W 1M --budget 1.5
fails 'is out of range' plan -W 1M --budget 1e-400
fails 'is not a rate' plan -W 1M --budget 1/2
for value in 1e-10 1e-12 0.9 2; do
	fails "--budget '$value' is out of range: 1e-9 to 0.5\$" plan -W 1M --budget "$value"
	fails "--budget '$value' is out of range: 1e-9 to 0.5\$" dedup -b "$value" in out
done
gives 0 'hash +nh' plan -W 1M
fails '--memory 1 B is too small: the smallest filter takes 4 KiB$' \
	plan -W 1M --memory 1
fails '--lines-per-key 3: it is 1, 2 or 4$' plan -W 1M --lines-per-key 3
gives 0 'budget +1e-08' plan -W 1M --budget 0.000001%
fails 'is not a number per second' plan -T 10s --rate fast
fails 'is not a number per second' plan -T 10s --rate 1e-400

# Windows and sizes
fails 'no window given' plan
fails 'keeps keys a seventh of the window longer' plan -W 1M --slack 0.1
fails 'is none of lanes, ge' plan -W 1M --kind bloom
fails 'go with --kind lanes only' plan -W 1M --kind ge --lines 64
fails 'has a window of time' plan -W 1M --kind tlbf
fails 'has a window of time' plan -W 1M --kind chain
fails 'needs --rate PPS to be sized' plan -T 10s --kind ge
fails 'above --memory' plan -W 1M --kind ge --memory 1M
fails 'with that --slack' plan -W 1M --kind apbf --slack 0.001
# The least slack of each kind, as docs/THEORY.md has it in column 6, is taken, and no smaller one.
least_slacks() {
	local kind slack bad=0 nr=0 window
	while read -r kind slack; do
		window=(-W 1M)
		case $kind in tlbf | chain) window=(-T 10s --rate 100k) ;; esac
		"$EPFCTL" plan "${window[@]}" -b 1e-3 --kind "$kind" --slack "$slack" > "$tmp/out" 2>&1 ||
			{ echo "# $kind: $slack is refused" && bad=1; }
		slack=$(awk "BEGIN { print $slack * 0.99 }")
		! "$EPFCTL" plan "${window[@]}" -b 1e-3 --kind "$kind" --slack "$slack" > "$tmp/out" 2>&1 ||
			{ echo "# $kind: $slack is taken" && bad=1; }
		nr=$((nr + 1))
	done < <(sed -nE 's/^\| \[(lanes|ge|gebl|apbf|apbbf|tlbf|chain|dict|elastic)\].*/&/p' ../../docs/THEORY.md |
		awk -F ' *[|] *' '{ match($2, /[a-z]+/); kind = substr($2, RSTART, RLENGTH)
			match($6, /1?[\/.][0-9]+/); split(substr($6, RSTART, RLENGTH), part, "/")
			printf "%s %.7f\n", kind, part[2] ? 1 / part[2] + 1e-7 : part[1] }')
	[ "$nr" = 9 ] && [ $bad = 0 ]
}
claim 'the least slacks of docs/THEORY.md' least_slacks
# usage: compared BUDGET: kind and bits a key of each, the least first
compared() {
	"$EPFCTL" plan -W 1M -b "$1" --compare | awk '$3 == "MiB" { print $1, $4 + 0 }' | sort -k 2n
}
# Columns 2 and 3 there are what --compare prints, and so are the kinds with the least memory.
bits_a_key() {
	local column
	for column in 3:1e-3 4:1e-6; do
		awk -F ' *[|] *' -v column="${column%:*}" '/^\| \[/ && $column {
			match($2, /[a-z]+/); print substr($2, RSTART, RLENGTH), $column + 0 }' ../../docs/THEORY.md |
			sort -k 2n | cmp -s - <(compared "${column#*:}") || return
	done
	[[ $(compared 2.5e-4) = elastic* && $(compared 1e-4) = dict* ]]
}
claim 'the bits a key of docs/THEORY.md, and which kind takes the least' bits_a_key
fails '--compare sizes each kind by itself' plan -W 1M --compare --kind ge
fails 'is out of range' plan -W 1M --compare --slack 2
fails '--compare sizes each kind by itself' plan -W 1M --compare --lines-per-key 2
fails '--cluster takes a window of --time and a --rate' plan -W 1M --cluster 10
fails 'take coarser keys' plan -T 1m --rate 10.1M --cluster 10
fails 'leave out --compare and --plot' plan -T 1m --rate 1M --cluster 10 --compare
fails 'leave out --lines and --memory' plan -T 1m --rate 1M --cluster 10 --memory 1G
fails '--cluster .1025. is too large' plan -T 1m --rate 1M --cluster 1025
fails '--window and --time together need --mode' plan -W 1M -T 10s
fails '--mode time does not go with --window' plan -W 1M --mode time
fails 'is none of count, time' plan -W 1M --mode sideways
fails 'needs --rate' plan -T 10s
fails 'is below the budget' plan -W 1M --budget 1e-3 --limit 1e-4
fails 'cannot hold 1e\+06 keys at 0.0001, the best is' \
	plan -W 1M --memory 64K
fails 'more than the 128 GiB' plan -W 1e12 --budget 1e-9
fails 'an explicit geometry takes all of' plan -W 1M --lines 1M
fails 'no such geometry' plan -W 1M --lines 1001 --lines-per-key 2 \
	--bits-per-key 8
fails 'no such geometry' plan -W 1M --lines 1M --lines-per-key 3 \
	--bits-per-key 9
fails 'no such geometry' plan -W 1M --lines 1M --lines-per-key 1 \
	--bits-per-key 16
fails 'no such geometry' plan -W 1M --lines 1M --lines-per-key 2 \
	--bits-per-key 7
fails 'no such geometry' plan -W 1M --lines 1G --lines-per-key 1 \
	--bits-per-key 8
fails '--lines 1048576 take 64 MiB' plan -W 1M --lines 1048576 \
	--lines-per-key 1 --bits-per-key 8 --memory 1M
gives 0 'never fails open' plan -W 1M --limit never
gives 0 'at least 1000000, at most 1142864 insertions' plan -W 1M
gives 0 'at least 10 s, at most 11.43 s' plan -T 10s --rate 100k

# plan_claims DESCRIPTION EXPRESSION ARG...
plan_claims() {
	epf -j plan "${@:3}"
	claim "$1" json "$2"
}
plan_claims 'plan: prediction within the budget' \
	'0 < d["predicted_fpr"] <= d["budget"] == 1e-4' -W 1M
plan_claims 'plan: a million flows at 1e-4 take at most 5 MiB' \
	'd["memory_bytes"] <= 5 << 20 and d["lines"] * 64 == d["memory_bytes"]' \
	-W 1M -b 1e-4
plan_claims 'plan: a memory limit is kept' 'd["memory_bytes"] <= 8 << 20' \
	-W 1M -b 1e-4 --memory 8M
plan_claims 'plan: a chain has room for two of its largest tables' \
	'd["shape"]["lines_max"] * 64 * 2 == 16 << 20' -T 60s --rate 1k --kind chain --memory 16M
plan_claims 'plan: a tlbf has room for all slices at their largest' \
	'8 << 20 < 8 * d["shape"]["words_max"] * (d["shape"]["k"] + d["shape"]["l"] + 2) <= 16 << 20' \
	-T 60s --rate 1k --kind tlbf --memory 16M
plan_claims 'plan: kept by both, insertions and time' \
	'd["kept_inserts"]["max"] == 80 and d["kept_ns"]["min"] == 10**9' \
	-W 70 -T 1s --rate 100 --mode both
plan_claims 'plan: lines per key as asked' 'd["lines_per_key"] == 1' \
	-W 1M --lines-per-key 1

claim 'the memory of the filter of all in docs/CLUSTER.md' grep -q "^| 1 M | $("$EPFCTL" -j plan -T 1m --rate 1M |
	sed 's/.*"memory_bytes":\([0-9]*\).*/\1/' | awk '{ printf "%.0f", $1 / 1e6 }') MB |" ../../docs/CLUSTER.md
plan_claims 'plan --cluster: digests of 8 bytes, heads of 152; a broker, or leaf nodes; 440 ns a key' \
	'(c := d["cluster"])["new_keys_s"] == 1e6 and c["hosts"] == 100 and
	c["publish_bytes_s"] == 8e4 + 1520 and c["receive_bytes_s"] == 100 * c["publish_bytes_s"] and
	c["broker_bytes_s"] == 100 * c["receive_bytes_s"] and c["leaf_nodes"] == 10 and
	c["leaf_bytes_s"] == 10 * c["receive_bytes_s"] and abs(c["cpus"] - .4356) < 1e-9 and c["threads"] == 1 and
	abs(c["stream_bytes"] / (c["receive_bytes_s"] * 60 * 9 / 7) - 1) < 1e-5 and
	210e6 < d["memory_bytes"] < 240e6 and 2.1e6 < c["own_memory_bytes"] < 2.4e6' \
	-T 1m --rate 1M --cluster 100
plan_claims 'plan --cluster: ten million new keys per second are allowed' \
	'(c := d["cluster"])["cpus"] < 4.3 and c["threads"] == 4' -T 1m --rate 10M --cluster 3
plan_claims 'plan --compare: ten kinds, each within the budget' \
	'[k["kind"] for k in d][0] == "lanes" and len(d) == 10 and
	all(0 < k["predicted_fpr"] <= 1e-3 for k in d)' \
	-W 100k -b 1e-3 --compare
for kind in ge gebl apbf apbbf dict elastic; do
	plan_claims "plan --kind $kind: kept, small enough, as compared" \
		"d['kind'] == '$kind' and d['predicted_fpr'] <= 1e-3 and
		d['shape'] and d['kept_inserts']['min'] == 100000 and
		100000 < d['kept_inserts']['max'] <= 120100 and
		10 < d['memory_bits_per_key'] < 40" \
		-W 100k -b 1e-3 --kind "$kind" --slack 20%
done
for kind in tlbf chain; do
	plan_claims "plan --kind $kind: a window of time" \
		"d['kind'] == '$kind' and d['kept_ns']['min'] == 10**10 and
		10**10 < d['kept_ns']['max'] <= 1.2 * 10**10 and d['shape']" \
		-T 10s --rate 10000 -b 1e-3 --kind "$kind" --slack 20%
done
# usage: again KIND ARG...: the shape of a plan, given back, makes the plan again
again() {
	local shape

	"$EPFCTL" plan -j -b 1e-3 --kind "$@" > "$tmp/sized"
	shape=$(python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(d["kind"] + ":" + ",".join(f"{k}={v}" for k, v in reversed(d["shape"].items())))' \
		"$tmp/sized")
	"$EPFCTL" plan -j -b 1e-3 "${@:2}" --kind "$shape" > "$tmp/given"
	python3 -c 'import json, sys
sized, given = (json.load(open(name)) for name in sys.argv[1:])
free = ["keys", "memory_bits_per_key", "predicted_fpr"]
if sized["kind"] in ("tlbf", "chain"):  # of which memory comes and goes
    free.append("memory_bytes")
for name in free:
    sized.pop(name), given.pop(name, None)
sys.exit(sized != given)' "$tmp/sized" "$tmp/given"
}
for kind in ge gebl apbf apbbf dict tlbf chain elastic; do
	claim "plan --kind $kind: its shape, given back, is the plan" again "$kind" -T 10s --rate 10k
done
fails 'layout is missing' plan -W 1M --kind ge:segment_bits=99,bits=1,epochs=3
fails "'bits' is there twice" plan -W 1M --kind ge:bits=1,bits=1
fails "'k' is not NAME" plan -W 1M --kind ge:k=1
fails "'segment_bits' is not NAME" plan -W 1M --kind ge:segment_bits
fails 'is too large' plan -W 1M --kind ge:bits=4294967296
fails 'no filter of --kind ge has this shape' \
	plan -W 1M --kind ge:segment_bits=99,bits=1,epochs=1,layout=0
fails "lanes: 'lines' is not" plan -W 1M --kind lanes:lines=1
fails 'leave --slack out' plan -W 1M --kind elastic:lines=99,line_words=8,epochs=7 --slack 0.5
fails 'give --time' plan -W 1M --kind tlbf:words_first=9,words_min=9,words_max=9,k=3,l=3
plan_claims 'plan --compare --slack: none is slacker' \
	'all(k["slack"] <= 0.1 for k in d if "error" not in k) and
	"error" in d[0]' -W 100k -b 1e-3 --compare --slack 10%

# Names and keys: refused before anything is opened
for name in a/b ../x .hidden '' 'a b' $'a\nb' \
	12345678901234567890123456789012; do
	fails 'is not a name' create "$name" -W 1M
	fails 'is not a name' destroy "$name"
done
fails 'is not a name' swap a b/c
fails 'is not a name' show a/b
fails 'cannot be swapped with itself' swap a a
fails '--key: .*give --key-file' create x -W 1M --key 000102030405060708090a0b0c0d0e0f
claim 'and that does not show the key' [ -z "$(cat "$tmp/out" "$tmp/err" | grep 000102)" ]
fails 'no keys given' insert x
fails 'argument:1: the key is empty' insert x ''
fails 'argument:2: the key is longer than 256' test x ok "$(printf %0257d 0)"
printf 'a\nb\n\nc\n' > "$tmp/in"
fails 'standard input:3: the key is empty' insert x -
printf 'a\n%0257d\n' 0 > "$tmp/in"
fails 'standard input:2: the key is longer' insert x -
printf '%0600000d' 0 0 > "$tmp/in"
fails 'standard input:1: the line is longer than 1 MiB' insert x -
printf 'ab\nabc\n' > "$tmp/keys"
fails 'keys:2: not pairs of hex digits' test x --format hex -f "$tmp/keys"
fails '1: not pairs of hex digits' test x --format hex zz
fails '1: the key is longer' test x --format hex "$(printf %0514d 0)"
fails '1: a digest is 16 hex digits' test x --digest 12
fails '1: not JSON' test x --format json '{"key": '
fails '1: neither a JSON string' test x --format json 5
fails '1: the object needs exactly one of' test x --format json '{"no": "x"}'
fails '1: the object needs exactly one of' test x --format json \
	'{"key": "x", "hex": "00"}'
fails '1: the key is empty' test x --format json '""'
fails 'is none of text, hex, json' test x --format xml y
fails 'nowhere: No such file' insert x -f "$tmp/nowhere"
fails ': Is a directory' insert x -f "$tmp"
fails '--count .9. is too large' rotate x --count 9
fails '--count .0. is too small' watch x --count 0

# The module is not loaded
missing="/dev/epochfilter is not there: load the module with 'modprobe"
if [ -e /dev/epochfilter ]; then
	for what in list create test doctor; do
		ktap_skip "$what without the module" 'it is loaded here'
	done
else
	fails "$missing" list
	fails "$missing" create x -W 1M
	fails "$missing" test x key
	gives 2 'missing +device.*modprobe epochfilter' doctor
fi
epf -j doctor
claim 'doctor -j is JSON' json 'len(d["checks"]) > 10 and "use" in d["able"]'

# elsewhere AROUND REGEX: doctor on a machine without headers, with one card of another
# vendor, and with the changes that AROUND makes
elsewhere() {
	local here=$EPFCTL

	EPFCTL=$tmp/elsewhere
	cat > "$EPFCTL" <<- SCRIPT
		#!/bin/sh
		exec unshare -m sh -e -c 'mount -t tmpfs none /lib/modules
		mount -t tmpfs none /sys/bus
		mkdir -p /sys/bus/pci/devices/0
		PATH=$tmp/apt:\$PATH
		echo 0x8086 > /sys/bus/pci/devices/0/vendor
		$1
		exec $here doctor'
	SCRIPT
	chmod 755 "$EPFCTL"
	epf
	EPFCTL=$here
	[[ $(tr '\n' '\037' < "$tmp/out") =~ $2 ]] && [ ! -s "$tmp/err" ]
}
mkdir "$tmp/apt"
cat > "$tmp/apt/apt-cache" << 'SCRIPT'
#!/bin/sh
[ "$1" = pkgnames ] && seq 100000
[ -z "$OFFERED" ] || echo "$2-rt" "$2" | tr ' ' '\n'
SCRIPT
chmod 755 "$tmp/apt/apt-cache"
release=$(uname -r)
if unshare -m mount -t tmpfs none /lib/modules 2> /dev/null &&
	[ ! -e "/var/lib/dpkg/info/linux-headers-$release.list" ]; then
	claim 'doctor names no headers that no package has' elsewhere : \
		'missing +headers +[^:]*: +no package has the headers of this kernel'
	claim 'it names those that apt has' elsewhere 'export OFFERED=y' \
		"for build: apt install linux-headers-${release//+/\\+}"$'\037'
else
	ktap_skip 'doctor without headers' 'not root, or they are installed'
	ktap_skip 'doctor without headers that apt has' 'likewise'
fi
if unshare -m mount -t tmpfs none /sys/bus 2> /dev/null &&
	[ ! -e /dev/nvidia0 ] && [ ! -e /dev/dxg ]; then
	claim 'doctor: no NVIDIA card' elsewhere : 'GPU +no NVIDIA card'
	claim 'a card without its driver: what is missing is said' elsewhere \
		'echo 0x10de > /sys/bus/pci/devices/0/vendor' \
		'GPU +([^n]|n[^o]|no [^N])'
else
	ktap_skip 'doctor without a card' 'not root, or there is one'
	ktap_skip 'doctor with a card' 'likewise'
fi

fails 'not a number from 1' attach e -f x --action mark --mark ' -18446744073709551615'

# Output that cannot be written
full() {
	"$EPFCTL" plan -W 1M > /dev/full 2> "$tmp/err"
	status=$?
	: > "$tmp/out"
	[ "$status" = 2 ] &&
		grep -q '^error: cannot write the output: No space' "$tmp/err"
}
claim 'output to a full disk is an error' full

# Snapshot files
fails 'No such file' show --file "$tmp/nowhere"
fails 'is not a regular file' show --file /dev/null
fails 'Is a directory' show --file "$tmp"
: > "$tmp/snap"
fails 'is not a snapshot' show --file "$tmp/snap"
gives 0 'snapshot of sample.*checksums +sound' show --file "$tmp/good"
claim 'a snapshot shows no hash key' [ "$(grep -ciE 'key +0*1' "$tmp/out")" = 0 ]
gives 0 '"inserts":123' -j show --file "$tmp/good"
cp "$tmp/good" "$tmp/"$'\xff' # not UTF-8
gives 0 '"file":' -j show --file "$tmp/"$'\xff'
fails 'is not a regular file' show --file <(cat "$tmp/good")
for fault in magic:'is not a snapshot' version:'of a version' \
	header_bytes:'of a version' kind: no-lines: lines-overflow: \
	lines-per-key: bits-per-key: mode: window: budget: limit: name: \
	name-empty: name-escape: epoch: epoch-order:; do
	text=${fault#*:}
	mksnap "$tmp/$fault" "${fault%%:*}"
	fails "${text:-parameters that no filter can have}" \
		show --file "$tmp/$fault"
done
cp "$tmp/good" "$tmp/snap"
echo more >> "$tmp/snap"
fails 'is longer than its header says' restore x "$tmp/snap"

# refused FILE: does restore refuse it with one line?
refused() {
	epf restore x "$1"
	[ "$status" = 2 ] && [ "$(wc -l < "$tmp/err")" = 1 ] &&
		grep -qE "$2" "$tmp/err"
}
size=$(stat -c %s "$tmp/good")
cut_anywhere() {
	local length

	for length in 1 7 8 15 16 100 $((size - 4097)) $((size - 4096)) \
		$((size - 1)); do
		head -c "$length" "$tmp/good" > "$tmp/snap"
		refused "$tmp/snap" 'truncated|not a snapshot' || return
	done
}
claim 'a snapshot cut at any place is refused' cut_anywhere
# change_anywhere REGEX: the possible faults
change_anywhere() {
	local at

	for ((at = 0; at < size; at += at < 300 ? 3 : 257)); do
		cp "$tmp/good" "$tmp/snap"
		flip "$tmp/snap" "$at"
		refused "$tmp/snap" "$1" || return
	done
}
claim 'a snapshot with any byte changed is refused' change_anywhere \
	'corrupt|not a snapshot|version'

# How its keys are made
gives 0 'keys +not recorded' show --file "$tmp/good"
while read -r desc text; do
	mksnap --keys "$desc" "$tmp/keyed"
	gives 0 "keys +$text"$'\037' show --file "$tmp/keyed"
done <<- KEYS
	1,0,0,0 text or bytes
	2,0,0,0 packets \(--key frame\)
	2,1,3,64 packets \(--key packet --no-mac --no-vlan --bytes 64\)
	2,2,4,0 packets \(--key flow --nonip frame\)
	2,3,512,0 packets \(--key conversation --scope mark\)
	2,4,1152,24 packets \(--key peer --prefix 24,128 --scope vlan --zone N\)
	2,5,16,24 packets \(--key peer-port --prefix 24,128 --reverse\)
	3,0,0,0 IP addresses of 4 or 16 bytes
	4,0,0,0 digests
	5,0,0,0 of several kinds
KEYS
# Descriptions that fit no key: kinds, options of other keys, unused bits
for desc in 0,0,0,0 6,0,0,0 255,0,0,0 1,1,0,0 1,0,1,0 5,0,0,1 2,6,0,0 2,0,1,0 \
	2,2,1536,0 2,2,1024,65536 2,2,0,65536 2,1,1024,0 2,1,4,0 2,2,1,0 2,2,0,64 2,3,16,0 2,5,0,33 2,1,32768,0 3,0,0,4 4,255,65535,4294967295; do
	mksnap --keys $desc "$tmp/keyed"
	fails 'keys of a kind that no filter can have' show --file "$tmp/keyed"
done
mksnap --keys 1,0,0,0 "$tmp/keyed"
cp "$tmp/good" "$tmp/plain"
cp "$tmp/keyed" "$tmp/good"
size=$(stat -c %s "$tmp/good")
claim 'one that says it, cut at any place, is refused' cut_anywhere
claim 'and with any byte changed' change_anywhere \
	'corrupt|not a snapshot|version|keys of a kind'
head -c 288 "$tmp/good" > "$tmp/snap"
tail -c +297 "$tmp/good" >> "$tmp/snap"
claim 'and without what it says' refused "$tmp/snap" 'corrupt|truncated'
cp "$tmp/plain" "$tmp/good"

# Of a locked kind
mksnap --dict "$tmp/dict"
gives 0 'kind +dict: .*memory +768 B.*sound' show --file "$tmp/dict"
gives 0 '"kind":"dict".*"inserts":123' -j show --file "$tmp/dict"
for fault in state-size: state-shape: state-words: state-more:truncated \
	state-less:longer state-now: state-epoch: state-past: state-kind: \
	state-mode:'parameters that no' locked-lines:'parameters that no' \
	window:'parameters that no' memory-map:'memory that no filter can have'; do
	text=${fault#*:}
	mksnap --dict "$tmp/bad" "${fault%%:*}"
	fails "${text:-state that no filter can have}" show --file "$tmp/bad"
done
cp "$tmp/dict" "$tmp/good"
size=$(stat -c %s "$tmp/good")
claim 'one of a dictionary cut at any place is refused' cut_anywhere
claim 'or with any byte changed' change_anywhere \
	'corrupt|not a snapshot|version|truncated|state'

ktap_finish
