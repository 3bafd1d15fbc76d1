# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What builds variants of the metrics, for run.

need_microhttpd() {
	echo | "$CC" -fsyntax-only -include microhttpd.h -xc - 2> /dev/null ||
		echo 'no libmicrohttpd'
}

# usage: metrics_cc OUTPUT SOURCE|OPTION...
metrics_cc() {
	"$CC" -O1 -std=gnu11 -D_GNU_SOURCE= -DEPF_VERSION='"1.2.3"' -Iuser -Iuser/libepf \
		-Iinclude -Iinclude/uapi selftests/metrics/fake.c \
		"$copy/user/metrics/metrics.c" "${@:2}" "$build/user/libepf.a" -o "$1" \
		-lxxhash -lm -pthread
}

# The page without the endpoint.
build_page() {
	script 3000 EPF_METRICS_BIN="$tmp"
	judge=says
	metrics_cc "$tmp/page" selftests/metrics/page.c
}

build_endpoint() {
	script 3000 EPF_LIMIT=15 EPF_METRICS_BIN="$tmp"
	metrics_cc "$tmp/serve_fake" selftests/metrics/serve.c "$copy/user/epfagent/http.c" \
		user/records/rec_error.c -lmicrohttpd
}
