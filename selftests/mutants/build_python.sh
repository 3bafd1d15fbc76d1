# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What builds variants of the Python package, for run.

# The package that is built, with the edited file in it. Tests run to their end, because they
# remove what they make.
build_package() {
	script 3000 EPF_PYTHON="$tmp/python"
	rm -rf "$tmp/python" && cp -r "$build/user/python" "$tmp/python" &&
		cp -r "$copy/user/python/epf" "$tmp/python/"
}

# usage: need_module NAME
need_module() {
	/usr/bin/python3 -c "import $1" 2> /dev/null || echo "no python3-$1"
}

need_mypy() {
	command -v mypy > /dev/null || echo 'no mypy'
}
