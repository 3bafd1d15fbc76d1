#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A client waits for answers to DNS queries while a flood of spoofed UDP comes:
# how many answers does each kind of stateful firewall let through, at what cost?
# In network namespaces of its own, on this machine's own kernel:
#
#   namespace client                        namespace resolver
#   queries, open port                      dnsmasq, its upstream, flood
#   10.53.0.1 fw0 [firewall] ---- veth ---- fw1 10.53.0.2, 10.54.0.0/16
#
# Each firewall has the pair for itself. Every query goes to another address of
# the resolver. Nothing is forwarded, and no route leads out of the namespaces.
#
# Guarantee: exit status 0 means that the column "ours" delivered every answer and
# passed no more unsolicited packets than its error budget explains; see
# firewall_judge.py. The others are only reported; one that cannot run here says why.
#
# Exit: 0 as promised, 1 not, 2 could not run, or this machine was too slow to measure it.

# shellcheck disable=SC2317 # functions that are called by name

set -u -o pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
demo=$top/selftests/demo
built=$top/build/selftests/demo
epfctl=$top/build/user/epfctl
all='dropping none stateless conntrack conntrack_notrack conntrack_drop nft nft_ingress ipset recent ours ours_tc ours_mark ours_hook ours_iptables'
mac=02:00:00:00:00:01
export EPF_BACKEND=bpf
PATH=$PATH:/usr/sbin:/sbin

usage() {
	cat <<USAGE
usage: selftests/demo/firewall.sh [OPTION]...

  -j, --json       print JSON in place of the table
  --queries N      outstanding queries (500)
  --sources N      spoofed sources, a power of two (1048576)
  --planned N      flows that each firewall is planned for (this machine's
                   nf_conntrack_max)
  --seconds N      that flows are remembered for, at twice the plan (6); 0: do
                   not measure that
  --within N       seconds in which twice the planned flows are sent (0.7 of the
                   above)
  --unknown WHAT   what ours does while its filter does not know: accept (the
                   default) or drop
  --subjects LIST  firewalls to run: $all;
                   or ours_match, where the module and its match are loaded
  --prepared       install nothing, build nothing: all is there
  --results DIR    leave the measurements in DIR, for firewall_judge.py, and
                   judge nothing
  --promise NAME   the one that decides the exit status (ours)
USAGE
}

die() {
	echo "demo-firewall: $*" >&2
	exit 2
}

json='' queries=500 sources=1048576 planned='' seconds=6 within='' subjects=$all promise=ours budget=1e-6 prepared='' unknown=accept results=''
while [ $# -gt 0 ]; do
	case $1 in
	-j | --json) json=--json; shift ;;
	--prepared) prepared=1; shift ;;
	--queries | --sources | --planned | --seconds | --within | --unknown | --subjects | --promise | --results)
		[ $# -ge 2 ] || die "$1 needs a value"
		declare "${1#--}=$2"
		shift 2
		;;
	-h | --help) usage; exit 0 ;;
	*) usage >&2; exit 2 ;;
	esac
done
for number in "$queries" "$sources" "${planned:-1000}" "1$seconds" "1$within"; do
	case $number in
	0 | '' | *[!0-9]*) die "'$number' is not a number of at least 1" ;;
	esac
done
[ "$queries" -le 10000 ] || die '--queries: at most 10000'
most=1048576
if [ $((sources & (sources - 1))) -ne 0 ] || [ "$sources" -gt $most ]; then
	die "--sources: a power of two, at most $most"
fi
if [ "${planned:-1000}" -lt 1000 ] || [ "${planned:-1000}" -gt $most ]; then
	die "--planned: 1000 to $most"
fi

started=$SECONDS
step() {
	printf '[%3d s] %s\n' $((SECONDS - started)) "$*" >&2
}

in_ns() { # ip netns exec would hide /sys/fs/bpf
	local ns=$prefix$1
	shift
	nsenter --net="/run/netns/$ns" "$@"
}

prefix=demofw-$$- filter=demofw-$$ pinned=/sys/fs/bpf/demofw-$$ server='' runner=''

end_process() {
	[ -z "$1" ] || { kill "$1"; wait "$1"; } 2> /dev/null || true
}

# Whatever a firewall and its namespaces left; none of it need be there.
take_down() {
	{
		end_process "$runner"
		end_process "$server"
		in_ns client "$epfctl" detach fw0
		in_ns client "$epfctl" detach --hook nf:postrouting:300
		in_ns client "$epfctl" detach --hook nf:prerouting:-310
		rm -f "$pinned"-*
		"$epfctl" destroy --force "$filter"
		"$epfctl" --backend module destroy --force "$filter"
		ip netns del "${prefix}client"
		ip netns del "${prefix}resolver"
	} > /dev/null 2>&1
	runner='' server=''
}

at_exit() {
	local status=$?
	trap - EXIT
	trap '' INT TERM HUP
	take_down
	rm -rf "$work"
	exit $status
}

# No packet but the demo's own: no IPv6, no ARP. With GRO, and therefore NAPI,
# a veth takes redirected frames.
make_pair() {
	for ns in client resolver; do
		ip netns add "$prefix$ns" || return
		# shellcheck disable=SC2016 # for the inner shell
		in_ns "$ns" sh -c 'for c in all default; do
			echo 1 > /proc/sys/net/ipv6/conf/$c/disable_ipv6; done'
		ip -n "$prefix$ns" link set lo up
	done
	ip -n "${prefix}client" link add fw0 address $mac type veth \
		peer name fw1 address 02:00:00:00:00:02 netns "${prefix}resolver" || return
	in_ns client ethtool -K fw0 gro on &&
		in_ns resolver ethtool -K fw1 tx off tso off gso off > /dev/null &&
		ip -n "${prefix}client" addr add 10.53.0.1/24 dev fw0 &&
		ip -n "${prefix}resolver" addr add 10.53.0.2/24 dev fw1 &&
		ip -n "${prefix}client" link set fw0 up &&
		ip -n "${prefix}resolver" link set fw1 up &&
		ip -n "${prefix}client" neigh add 10.53.0.2 lladdr 02:00:00:00:00:02 dev fw0 &&
		ip -n "${prefix}resolver" neigh add 10.53.0.1 lladdr $mac dev fw1 &&
		ip -n "${prefix}client" route add default via 10.53.0.2 &&
		ip -n "${prefix}resolver" route add local 10.54.0.0/16 dev lo &&
		ip -n "${prefix}resolver" route add blackhole default
}

serve() {
	nsenter --net="/run/netns/${prefix}resolver" dnsmasq --no-daemon --conf-file=/dev/null \
		--no-hosts --no-resolv --server=127.0.0.1#5353 --cache-size=0 \
		--dns-forward-max=20000 > "$work/dnsmasq.log" 2>&1 &
	server=$!
	until in_ns resolver grep -q ':0035 ' /proc/net/udp; do
		kill -0 "$server" 2> /dev/null || return
		sleep .02
	done
}

# The firewalls: usage: rules_NAME SECONDS, how long they remember. What they
# print when they fail is why they are not in the table.

rules_dropping() { # what frames cost that nobody looks at
	in_ns client ip link set dev fw0 xdpdrv object "$built/flood.bpf.o" program drop_all
}

rules_none() { :; }

rules_stateless() {
	in_ns client nft -f - <<-'NFT'
		table inet f {
			chain in {
				type filter hook input priority 0
				udp sport 53 drop
			}
		}
	NFT
}

track() { # usage: track SECONDS RULE
	in_ns client nft -f - <<-NFT || return
		table inet f {
			chain in {
				type filter hook input priority 0; policy drop
				ct state established,related accept
				$2
			}
		}
	NFT
	in_ns client sh -c "echo $1 > /proc/sys/net/netfilter/nf_conntrack_udp_timeout"
}

rules_conntrack() { track "$1" 'udp dport 4500 accept'; }

rules_conntrack_notrack() { # what resolvers are advised to do
	rules_conntrack "$1" && in_ns client nft -f - <<-'NFT'
		table inet f {
			chain raw_in {
				type filter hook prerouting priority raw
				udp dport 4500 notrack
			}
			chain raw_out {
				type filter hook output priority raw
				udp sport 4500 notrack
			}
		}
	NFT
}

rules_conntrack_drop() { track "$1" ''; }

fill_set() { # usage: fill_set SECONDS HOOK, where the set is asked
	in_ns client nft -f - <<-NFT
		table inet f {
			set peers {
				typeof ip daddr . udp sport . udp dport
				flags dynamic, timeout
				timeout ${1}s
				size $planned
			}
			chain out {
				type filter hook output priority 0
				udp dport 53 update @peers { ip daddr . udp sport . udp dport }
			}
			chain in {
				type filter hook $2 priority 0
				udp sport 53 ip saddr . udp dport . udp sport @peers accept
				udp sport 53 drop
			}
		}
	NFT
}

rules_nft() { fill_set "$1" input; }

rules_nft_ingress() { fill_set "$1" 'ingress device fw0'; }

rules_ipset() {
	in_ns client ipset create peers hash:ip timeout "$1" maxelem "$planned" &&
		in_ns client iptables -w -A OUTPUT -p udp --dport 53 -j SET --add-set peers dst \
			--exist &&
		in_ns client iptables -w -A INPUT -p udp --sport 53 -m set ! --match-set peers src \
			-j DROP
}

rules_recent() {
	in_ns client iptables -w -A OUTPUT -p udp --dport 53 -m recent --name peers --rdest --set &&
		in_ns client iptables -w -A INPUT -p udp --sport 53 -m recent --name peers --rsource \
			! --rcheck --seconds "$1" -j DROP
}

filter() { # usage: filter SECONDS [module]
	local backend=(--backend bpf) turns=(--rotate kernel)
	[ -z "${2:-}" ] || backend=(--backend "$2") turns=() # the module ends epochs itself
	"$epfctl" "${backend[@]}" create "$filter" --time "$1s" \
		--rate $(((planned + $1 - 1) / $1)) --budget "$budget" "${turns[@]}"
}

reflexive() { # usage: reflexive OPTION...
	in_ns client "$epfctl" attach fw0 --filter "$filter" --reflexive --key flow \
		--match udp:sport=53 --fragments pass "$@"
}

rules_ours() { filter "$1" && reflexive --else drop --if-unknown "$unknown"; }

rules_ours_tc() { filter "$1" && reflexive --ask tc --else drop --if-unknown "$unknown"; }

# nftables decides, by two bits of the mark.
rules_ours_mark() {
	local unsure=$unknown
	[ "$unknown" = accept ] || unsure=mark=0x1000000/0x3000000
	filter "$1" && reflexive --ask tc --else mark=0x1000000/0x3000000 \
		--if-unknown "$unsure" && in_ns client nft -f - <<-'NFT'
			table inet f {
				chain in {
					type filter hook input priority 0
					meta mark and 0x3000000 == 0x1000000 drop
				}
			}
		NFT
}

rules_ours_hook() {
	filter "$1" || return
	in_ns client "$epfctl" attach --hook nf:postrouting:300 --filter "$filter" --key flow --learn \
		--match udp:dport=53 &&
		in_ns client "$epfctl" attach --hook nf:prerouting:-310 --filter "$filter" --key flow \
			--reverse --errors --match udp:sport=53 --else drop --if-unknown "$unknown" \
			--fragments pass
}

rules_ours_iptables() {
	filter "$1" &&
		"$epfctl" pin "$filter" "$pinned-learn" --key flow --learn > "$work/pinned" &&
		"$epfctl" pin "$filter" "$pinned-ask" --key flow --reverse --recent \
			--unknown "$unknown" >> "$work/pinned" &&
		in_ns client iptables -w -A OUTPUT -p udp --dport 53 \
			-m bpf --object-pinned "$pinned-learn" &&
		in_ns client iptables -w -A INPUT -p udp --sport 53 \
			-m bpf --object-pinned "$pinned-ask" -j ACCEPT &&
		in_ns client iptables -w -A INPUT -p udp --sport 53 -j DROP
}

rules_ours_match() {
	filter "$1" module &&
		in_ns client iptables -w -A OUTPUT -p udp --dport 53 \
			-m epf --name "$filter" --key flow --learn &&
		in_ns client iptables -w -A INPUT -p udp --sport 53 \
			-m epf --name "$filter" --key flow --reverse --recent \
			--unknown "$unknown" -j ACCEPT &&
		in_ns client iptables -w -A INPUT -p udp --sport 53 -j DROP
}

# What the firewall itself says of its memory; firewall_judge.py reads it.
declare -A state=([ipset]='ipset list -terse peers')
for subject in ours ours_{tc,mark,hook,iptables}; do
	state[$subject]="$epfctl -j show $filter"
done
state[ours_match]="$epfctl --backend module -j show $filter"

# usage: measure SUBJECT SECONDS ask|load: with namespaces of its own
measure() {
	make_pair 2> "$work/log" || die "the namespaces cannot be made: $(cat "$work/log")"
	serve || die "dnsmasq does not run: $(cat "$work/dnsmasq.log")"
	if ! "rules_$1" "$2" > "$work/said" 2>&1; then
		why=$(grep -i -m 1 -e error -e "can't" "$work/said" || tail -n 1 "$work/said")
		python3 -c 'import json, sys
json.dump({"absent": sys.argv[1]}, sys.stdout)' "$why" > "$work/$1.$3"
		take_down
		return
	fi
	timeout 60 "$demo/firewall_run.py" "$3" "$work/$1.$3" flood="$built/flood" \
		object="$built/flood.bpf.o" client="${prefix}client" resolver="${prefix}resolver" \
		mac=$mac queries="$queries" sources="$sources" planned="$planned" seconds="$2" \
		within="$within" state="${state[$1]:-}" &
	runner=$!
	wait "$runner" || die "$1: the run failed"
	runner=''
	take_down
}

prepare() {
	step 'looking for what is needed'
	"$top/scripts/deps.sh" --install firewall >&2 || exit 2
	for name in user selftests/demo; do
		make -j "$(nproc)" -C "$top/$name" > "$work/log" 2>&1 ||
			{ cat "$work/log" >&2; die "$name: not built"; }
	done
}

[ "$(id -u)" -eq 0 ] || die 'network namespaces and BPF programs need root'
work=$(mktemp -d) || exit 2
trap at_exit EXIT
trap 'exit 2' INT TERM HUP
if [ -z "$planned" ]; then
	planned=$(cat /proc/sys/net/netfilter/nf_conntrack_max 2> /dev/null) || planned=262144
	[ "$planned" -le $most ] || planned=$most
fi
[ -n "$prepared" ] || prepare
for subject in $subjects; do
	declare -F "rules_$subject" > /dev/null || die "no firewall '$subject'"
	step "$subject: $queries queries, $sources spoofed sources"
	measure "$subject" 30 ask
done
for subject in $subjects; do
	[ "$seconds" -gt 0 ] || break
	case $subject in dropping | none | stateless | conntrack | conntrack_notrack) continue ;; esac
	grep -q absent "$work/$subject.ask" && continue
	step "$subject: twice the planned $planned flows"
	measure "$subject" "$seconds" load
done
step 'done'
if [ -n "$results" ]; then
	for file in "$work"/*.{ask,load}; do
		[ ! -e "$file" ] || cp "$file" "$results" || exit 2
	done
	exit 0
fi
# shellcheck disable=SC2086 # a word for each
"$demo/firewall_judge.py" $json "$work" "$promise" "$budget" $subjects
