#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What engine.c and mirrors.c must notice: each variant is the emulated card, or
# libepf's side of it, with one edit.

cd "$(dirname "$0")/../.." || exit 1
. selftests/ktap.sh

CC=${CC:-cc}
CXX=${CXX:-c++}
build=$(realpath -m "${BUILD:-build}")
objects=$build/cuda/emu
program=$build/selftests/gpu/engine
libepf=$build/user/libepf.a
command -v "$CXX" > /dev/null || ktap_skip_all "no $CXX"
[ -e "$objects/flow.o" ] && [ -x "$program" ] && [ -e "$libepf" ] || ktap_skip_all 'not built'
tmp=$(mktemp -d) || exit 1
ktap_cleanup rm -rf "$tmp"
mkdir "$tmp/cuda"
includes="-Iinclude -Iinclude/uapi -Icuda"

# usage: card FILE EDIT: the library; an edit that changes nothing is an error
card() {
	sed "$2" "cuda/$1.cu" > "$tmp/$1.cu" || return
	! cmp -s "cuda/$1.cu" "$tmp/$1.cu" || return
	# shellcheck disable=SC2086 # a list
	"$CXX" -x c++ -std=c++17 -O1 -w -fPIC -fvisibility=hidden -DEPF_CUDA_EMU $includes \
		-c "$tmp/$1.cu" -o "$tmp/$1.o" || return
	# shellcheck disable=SC2046 # a list
	"$CXX" -shared -o "$tmp/card.so" "$tmp/$1.o" \
		$(ls "$objects"/*.o | grep -v "/$1.o") -pthread
	lib=$tmp/card.so test=$program
}

# usage: side EDIT: engine.c with another audit/cuda.c; the linker takes the rest
# of libepf
side() {
	cp -r user/libepf/audit "$tmp/" || return
	sed -i "$1" "$tmp/audit/cuda.c" || return
	! cmp -s user/libepf/audit/cuda.c "$tmp/audit/cuda.c" || return
	# shellcheck disable=SC2086 # a list
	"$CC" -O1 -std=gnu11 -D_GNU_SOURCE= -w -Iuser/libepf $includes \
		selftests/gpu/engine.c selftests/gpu/process.c "$tmp/audit/cuda.c" "$libepf" \
		-o "$tmp/engine" -lxxhash -lm -pthread -ldl || return
	lib=$build/cuda/libepf_cuda_emu.so test=$tmp/engine
}

# usage: mirror EDIT: mirrors.c with another mirror.c
mirror() {
	sed "$1" user/libepf/mirror.c > "$tmp/mirror.c" || return
	! cmp -s user/libepf/mirror.c "$tmp/mirror.c" || return
	sed "s|\"../../user/libepf/mirror.c\"|\"$tmp/mirror.c\"|; s|\"../audit/|\"|" \
		selftests/gpu/mirrors.c > "$tmp/mirrors.c" || return
	# shellcheck disable=SC2086 # a list
	"$CC" -O1 -std=gnu11 -D_GNU_SOURCE= -w -Iuser/libepf -Iselftests/audit $includes \
		"$tmp/mirrors.c" "$libepf" \
		-o "$tmp/mirrors" -lxxhash -lm -pthread -ldl || return
	lib=$build/cuda/libepf_cuda_emu.so test=$tmp/mirrors
}

# A claim that begins so fails, and says so.
claim_fails() {
	EPF_CUDA_LIBRARY=$lib timeout 3000 "$test" "$build/selftests/gpu/wrong.so" \
		"$1" 2> /dev/null | grep '^not ok'
}

# usage: broken WHAT CLAIM card FILE EDIT | side EDIT | mirror EDIT
broken() {
	if "${@:3}"; then
		ktap_check "$1" claim_fails "$2"
	else
		ktap_fail "$1" 'not built'
	fi
}

ktap_plan 11 42
broken 'kernels do not wait for keys' "answers" card flow \
	's/err = cudaStreamWaitEvent(f->card->run, s->up, 0);/err = cudaSuccess;/'
ktap_thorough broken 'answers are copied before they are there' "answers" card flow \
	's/err = cudaStreamWaitEvent(f->card->down, s->run, 0);/err = cudaSuccess;/'
ktap_thorough broken 'a slot is used again before its answer has come' "answers" card flow \
	's/cudaError_t err = cudaEventSynchronize(s->down);/cudaError_t err = cudaSuccess;/'
ktap_thorough broken 'a buffer of lines is filled again too early' "answers" card flow \
	's/if (i < nr \&\& i >= SLOTS)/if (!SLOTS)/'
broken 'lines are asked before they are there' "journals" card flow \
	's/return err ? err : cudaStreamSynchronize(c->up);/return err;/'
ktap_thorough broken 'keys are sent before they are copied' "copies by the caller" card flow \
	'/^static cudaError_t send_keys/,/^}/s/stage_end(&s->fill);//'
ktap_thorough broken 'lines are sent before they are copied' "copies by the caller" card flow \
	'/^static cudaError_t send(/,/^}/s/stage_end(&s->fill);//'
ktap_thorough broken 'ages are not waited for' "copies by the caller" card flow \
	's/^\t\tstage_end(&c->slot\[i\].drain);//'
ktap_thorough broken 'answers come before those before are copied' "copies by the caller" card flow \
	's/^\tstage_end(&s->drain);//'
broken 'a chunk is not copied' "copies by many" card stage 's/copy(s, at, n);/copy(s, at, n - 1);/'
ktap_thorough broken 'what is pinned is taken from elsewhere' "keys in pinned" card flow \
	's/f->pinned ? host_keys(f, i) : s->keys/s->keys/'
broken 'keys are counted twice' "answers" card flow \
	's/a->ages_of\[i\] += nr\[i\];/a->ages_of[i] += 2 * nr[i];/'
ktap_thorough broken 'counters of the piece before' "answers" card flow \
	's/= cudaMemsetAsync(count, 0, COUNT_BYTES, run);/= cudaSuccess;/'
ktap_thorough broken 'pieces are no whole words' "answers" card flow \
	's/f->bytes & ~(__u64)(WORD_KEYS - 1);/f->bytes;/'
broken 'a kernel is given memory of the host' "answers" card flow \
	's/keys->data = s->keys_there;/keys->data = f->host->data;/'
ktap_thorough broken 'the host reads memory of the card' "answers" card flow \
	's/memcpy(a->bitmap + first \/ 8, s->answer + /memcpy(a->bitmap + first \/ 8, s->answer_there + /'
ktap_thorough broken 'lines are not settled' "journals" card engine \
	's/return ret ? ret : settle(h, e);/return ret;/'
ktap_thorough broken 'an epoch begins in what is there' "journals" card engine \
	's/err = epf_cu_clear(&h->lines, epoch, card.run);/(void)0;/'
broken 'tags come round' "journals" card engine \
	's/if (epochs >= EPF_LANES)/if (epochs >= 99)/'
broken 'the device of the caller is used' "a caller's other device" card engine \
	's/return err ? err : cudaSetDevice(CARD);/return err;/'
ktap_thorough broken 'the caller is left with another device' "a caller's other device" card engine \
	's/if (theirs != CARD \&\& cudaSetDevice(theirs))/if (0)/'
ktap_thorough broken 'the caller of release() is' "a caller's other device" card engine \
	'/^static void release/,/^}/s/^\tleave(0, &e);/\tpthread_mutex_unlock(\&lock);/'
broken 'other lines answer' "views in turns" side \
	's/gpu.kept\[i\].serial == v->serial/gpu.kept[i].held/'
ktap_thorough broken 'lines are read at another epoch' "lines are copied once" side \
	's/return k->epoch == v->epoch;/return true;/'
ktap_thorough broken 'records that are lacking' "records bring" side \
	's/k->version < t->first ||//; s/k->version - t->first/0/'
ktap_thorough broken 'lines of no serial are kept' "lines are copied once" side \
	's/(!v->serial || !gpu.fit)/(0)/; s/for (i = 0; v->serial \&\& /for (i = 0; /'
ktap_thorough broken 'the piece of a column is its beginning' "a column that" card engine \
	's/(const char \*)keys.data + first \* bytes;/(const char *)keys.data;/'
ktap_thorough broken 'a column of other keys is asked' "a column that" side \
	's/o->serial == k->serial \&\& o->len == k->keys.len/o->serial/'
ktap_thorough broken 'what nobody asks for again is kept' "a column that" side \
	's/c->used \&\& keys->data/keys->data/'
ktap_thorough broken 'room that is needed is taken again' "but where room" side \
	's/c->never = true;//'
ktap_thorough broken 'records are not kept' "" mirror \
	's/m->records\[m->trail.nr++\] = \*rec;/m->trail.nr++;/'
broken 'records that were lost are not missed' "" mirror \
	's/m->trail.first = m->version;/m->trail.first = 0;/'
ktap_thorough broken 'a mirror that was renewed is the old one' "" mirror \
	's/m->serial = epf_view_serial();/m->serial += !m->serial;/; s/epf_cuda_forget(m->serial);//; s/^\tm->version = 0;//'
ktap_thorough broken 'the caller is left with another context' "a caller's own" card engine \
	's/^\t\tset_context(their_context);/\t\t(void)0;/'
ktap_thorough broken 'the limit of the process stays' "a limit of" card card \
	's/cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, c->limit);//'
broken 'a forked child uses the card' "a forked" card engine \
	's/return process \&\& process != getpid();/return false;/'
ktap_thorough broken 'scratch is taken for each batch' "scratch stays" card card \
	's/if (\*have >= want)/if (0)/'
ktap_thorough broken 'one piece, which overlaps with nothing' "a question is cut" card flow \
	's/= f->n \/ PIECES + 1;/= f->n;/'
ktap_thorough broken 'the text of an error is lost' "the runtime's own" card engine \
	's/card_fails(e, err, "waiting for the GPU")/card_wrong(e, -EIO, "waiting")/'
ktap_thorough broken 'the probe does not use the card' "a card that cannot be" card card \
	's/err = try_card();/err = cudaSuccess;/'
broken 'not ready yet is for ever' "and is used" card card \
	's/return -EAGAIN;/return -ENODEV;/'
ktap_thorough broken 'a card that is not ready is probed without pause' "a card that is not" side \
	's/return again \&\& now_ms() >= again;/return again != 0;/'
ktap_finish
