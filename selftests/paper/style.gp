# SPDX-License-Identifier: GPL-2.0
# What the plots share. A section loads it, then draws each plot once for svg
# and once for png:
#
#	load 'style.gp'
#	set datafile separator ','
#	do for [kind in 'svg png'] {
#		eval open('ge_error', kind)
#		plot dir.'/ge_error.csv' using 1:2 with lines ls 1 title 'x'
#	}

set encoding utf8
svg(w, h) = sprintf("set terminal svg size %d,%d font 'DejaVu Sans,13' background rgb 'white'", w, h)
png(w, h) = sprintf("set terminal pngcairo size %d,%d font 'DejaVu Sans,12'", w, h)
sized(name, kind, w, h) = (kind eq 'svg' ? svg(w, h) : png(w, h)). \
	sprintf("; set output '%s/%s.%s'", dir, name, kind)
open(name, kind) = sized(name, kind, 840, 560)

# Told apart without seeing red and green (Okabe and Ito).
set linetype 1 lc rgb '#0072b2' lw 2 pt 7 ps 0.9
set linetype 2 lc rgb '#d55e00' lw 2 pt 5 ps 0.9
set linetype 3 lc rgb '#009e73' lw 2 pt 9 ps 1.0
set linetype 4 lc rgb '#cc79a7' lw 2 pt 13 ps 1.0
set linetype 5 lc rgb '#e69f00' lw 2 pt 11 ps 1.0
set linetype 6 lc rgb '#56b4e9' lw 2 pt 6 ps 1.0
set linetype 7 lc rgb '#000000' lw 2 pt 4 ps 1.0
set linetype 8 lc rgb '#888888' lw 2 pt 8 ps 1.0
set linetype cycle 8

set border 3 lc rgb '#444444'
set tics nomirror out
set grid lc rgb '#dddddd' lw 1
set key opaque box lc rgb '#dddddd'
