# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Plots of a run: dir is where report.py has put ceilings.csv and rivals.csv.
load '../../selftests/paper/style.gp'
set datafile separator ','
set datafile missing 'NaN'

do for [kind in 'svg png'] {
	eval open('ceilings', kind)
	set title 'Random lines from the memory of the card, and queries'
	set xlabel 'bytes of the filter'
	set ylabel 'G lines or keys a second'
	set logscale x
	set format x '10^{%L}'
	set yrange [0:*]
	set key top right reverse Left
	plot dir.'/ceilings.csv' every ::1 using 1:2 with linespoints lt 8 title '32-byte lines', \
		'' every ::1 using 1:3 with linespoints lt 7 title '64-byte lines: the ceiling', \
		'' every ::1 using 1:4 with linespoints lt 6 title '128-byte lines', \
		'' every ::1 using 1:5 with linespoints lt 1 title 'query, one line a key', \
		'' every ::1 using 1:6 with linespoints lt 2 title 'the same with ages'
}
reset
load '../../selftests/paper/style.gp'
set datafile separator ','

do for [kind in 'svg png'] {
	eval open('rivals', kind)
	set title 'Side by side at the largest window: half live keys, half absent (error)'
	set xlabel ''
	set ylabel 'G keys a second'
	set style data histogram
	set style fill solid 0.85 noborder
	set boxwidth 0.8
	set xtics rotate by -35 scale 0 font ',10'
	set rmargin 10
	set style histogram clustered gap 0.5
	set offsets 0,0,graph 0.12,0
	set yrange [0:*]
	set key off
	plot dir.'/rivals.csv' every ::1 using 4:xtic(1) lt 1, \
		'' every ::1 using ($0):4:(sprintf("%.2g\n(%.2g %%)", $4, 100 * $3)) \
			with labels offset 0,1.2 font ',9'
}
