#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What the tests of kernels must notice: each variant is kernels with one edit.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh

CXX=${CXX:-c++}
built=${BUILD:-$PWD/build}/selftests/cuda
command -v "$CXX" > /dev/null || ktap_skip_all "no $CXX"
[ -x "$built/query" ] || ktap_skip_all 'not built'
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"

compile() {
	"$CXX" -x c++ -O0 -std=c++17 -DEPF_CUDA_EMU -Iinclude -Iinclude/uapi -I"$tmp/cuda" "$@"
}

# usage: build PROGRAM FILE EDIT UNIT...; the units are compiled again; an edit
# that changes nothing is an error
build() {
	program=$1 file=$2
	rm -rf "$tmp/cuda" "$tmp"/*.o && cp -r cuda "$tmp/" || return
	sed -i "$3" "$tmp/cuda/$file" || return
	! cmp -s "cuda/$file" "$tmp/cuda/$file" || return
	shift 3
	set -- ${1:+"$@"}
	for unit in insert probe query ready rotate tally; do
		case " $* " in
		*" $unit "*) compile $FLAGS -c "$tmp/cuda/$unit.cu" -o "$tmp/$unit.o" || return ;;
		*) cp "$built/$unit.o" "$tmp/" || return ;;
		esac
	done
	"$CXX" $FLAGS "$tmp"/*.o "$built/${program}_test.o" "$built/device.o" "$built/now.o" \
		"$built"/lib/*.o "$built"/lib/audit/*.o -o "$tmp/$program" -lxxhash -lm -pthread
}

# A claim fails and says so, or the emulation does; a crash does not count, nor
# does a loop.
noticed() {
	timeout 600 "$tmp/$1" --few 2>&1 | grep -e '^not ok' -e '^emu: ' -e 'runtime error: '
}

# usage: broken WHAT PROGRAM FILE EDIT UNIT...
broken() {
	what=$1
	shift
	if build "$@"; then
		ktap_check "$1: $what" noticed "$1"
	else
		ktap_fail "$1: $what" 'not built'
	fi
}

FLAGS=
ktap_plan 14 41
if build query look.cuh '2s/$/ /' query probe; then
	ktap_check 'questions: whole' "$tmp/query" --few
else
	ktap_fail 'questions: whole' 'not built'
fi
broken 'ages are off by one' query query.cu 's/<< (7 - (epoch & 7))/<< (6 - (epoch \& 7) \& 7)/' query
ktap_thorough broken 'ages are of lanes, whatever the epoch' query query.cu 's/ << (7 - (epoch & 7))//' query
broken 'bits behind the last key are not zero' query query.cu \
	's/bool present = i < n && hits;/bool present = hits;/' query
ktap_thorough broken 'no age where none is' query query.cu 's/: EPF_AGE_ABSENT;/: 0;/' query
ktap_thorough broken 'the histogram is upside down' query query.cu 's/? vote : ~vote/? ~vote : vote/' query
ktap_thorough broken 'the histogram has two bits of ages' query query.cu 's/bit < 3; bit++/bit < 2; bit++/' query
ktap_thorough broken 'a lane is not in the mask' query device.cuh 's/ALL_LANES 0xffffffffu/ALL_LANES 0x7fffffffu/' query
broken 'lanes without a key leave' query query.cu 's|i / WARP \* WARP < n;|i < n;|' query
ktap_thorough broken 'a lane leaves out a __syncwarp()' query look.cuh \
	's/^\t__syncwarp();/\tif (threadIdx.x % WARP) __syncwarp();/' query
ktap_thorough broken 'a round of the grid is too long' query query.cu 's/i += (__u32)nr_threads())/i += (__u32)nr_threads() + WARP)/' query
ktap_thorough broken 'not all parts have to have it' query look.cuh 's/lacks\[r\]\[0\] |= /lacks[r][0] = /' query
broken 'tags of one epoch for all lanes' query device.cuh \
	's/return epoch - ((epoch - i) & (EPF_LANES - 1));/return epoch;/' query
ktap_thorough broken 'two quarters of a line do not count' query look.cuh \
	's/__shfl_xor_sync(ALL_LANES, hits, 2)/__shfl_xor_sync(ALL_LANES, hits, 1)/' query
ktap_thorough broken 'the neighbour is told' query look.cuh 's/hits >> 8 \* at/hits >> 8 * (3 - at)/' query
ktap_thorough broken 'the neighbour'\''s positions' query look.cuh 's/m = served(mask, r)/m = mask/' query
ktap_thorough broken 'the neighbour'\''s line is not fetched' query look.cuh 's/line = served(at, r);/line = at;/' query
ktap_thorough broken 'keys one byte further' query device.cuh 's/(&k->hash, key, k->len)/(\&k->hash, key + 1, k->len)/' query
ktap_thorough broken 'a part of a word is left out' query device.cuh 's/((__u64)key | k->len)/(__u64)key/' query
broken 'one field more than there are' query look.cuh 's/epf_geom_set_bits(&g, N)/epf_geom_set_bits(\&g, N + 1)/' query
broken 'a kernel of another number of fields' query query.cu 's/g->bits : 0/g->bits ^ 1 : 0/' query
broken 'every launch answers into the same words' query query.cu 's|there.bitmap += from / WARP;||' query
ktap_thorough broken 'every launch answers into the same ages' query query.cu 's/there.ages += from;/there.ages += 0;/' query
ktap_thorough broken 'every launch asks for the same keys' query query.cu 's/k->data + from \*/k->data + 0 */' query
broken 'digests behind the last count' query probe.cu 's/i < n && hits/hits/' probe
ktap_thorough broken 'digests of another place' query probe.cu 's/seed + i/seed + 7777 + i/' probe
ktap_thorough broken 'no tag is added' lines device.cuh 's/epf_tag(epoch) | epf_geom_mask/epf_geom_mask/' insert
ktap_thorough broken 'every part has the same positions' lines device.cuh \
	's/epf_geom_mask(&f->geom, digest, j));/epf_geom_mask(\&f->geom, digest, 0));/' insert
broken 'what is added is not added at once' lines emu/emu.h \
	's/return __atomic_fetch_or(p, v, __ATOMIC_RELAXED);/word_t o = *p; emu_pause(); *p = o | v; return o;/' \
	insert
ktap_thorough broken 'into lanes of epochs that have gone' lines insert.cu 's/+ EPF_LANES > f->epoch/+ EPF_LANES >= f->epoch/' insert
ktap_thorough broken 'into the youngest lane alone' lines insert.cu 's/age < EPF_LANES; age++/age < 1; age++/' insert
ktap_thorough broken 'records that are no insertions' lines insert.cu 's/== EPF_JOURNAL_INSERT/!= 99/' insert
broken 'another lane is emptied' lines rotate.cu 's/(__u32)(epoch & 7)/(__u32)(epoch + 1 \& 7)/' rotate
ktap_thorough broken 'lanes that are current are stale' lines rotate.cu \
	's/epf_lane_tag(epoch, threadIdx.x % EPF_LANES)/epf_tag(epoch)/' rotate
ktap_thorough broken 'one word in four is not emptied' lines rotate.cu \
	'/word\[i + u \* step\] : tag/,$s/u < FLIGHT;/u < FLIGHT - 1;/' rotate
ktap_thorough broken 'one word in four is not counted' lines tally.cu \
	'/word_once/,$s/u < FLIGHT;/u < FLIGHT - 1;/' tally
ktap_thorough broken 'counting begins before all is zero' lines tally.cu '0,/__syncthreads();/s///' tally
ktap_thorough broken 'told before all is counted' lines tally.cu '/^\tfor (; i </,$s/__syncthreads();//' tally
broken 'all parts are the first' lines tally.cu 's/part \* COUNTERS + c/c/' tally
FLAGS='-fsanitize=alignment -fno-sanitize-recover'
broken 'words that are not aligned' query device.cuh 's/bool aligned = .*/bool aligned = true;/' query
broken 'digests that are not aligned' query device.cuh 's/return !k->len &&.*/return !k->len;/' query
ktap_finish
