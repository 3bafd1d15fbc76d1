# SPDX-License-Identifier: GPL-2.0
# usage: gnuplot -e "dir='OUTDIR'" dict.gp

load 'style.gp'
set datafile separator ','
curves = dir.'/dict_curves.csv'
of(name, column) = (strcol(1) eq name ? column : NaN)
# Any slack is as 1/2.
slacks = 'any 1/2 1/7 1/16 1/64'
color = '#0072b2 #56b4e9 #009e73 #e69f00 #d55e00'

do for [kind in 'svg png'] {
	eval sized('dict_space', kind, 900, 600)
	set key left top Left reverse
	set xrange [2:20]
	set yrange [0:45]
	set xtics 2
	set format x '2^{-%g}'
	set xlabel 'error'
	set ylabel 'bits a key of the window'
	set title 'Naor and Yogev: dict, and the formula of Theorem 1.1 (dashed), by slack m/n'
	plot for [i = 1:words(slacks)] curves using 2:(of(word(slacks, i), $3)) \
			with lines lc rgb word(color, i) lw 2 notitle, \
		for [i = 1:words(slacks)] curves using 2:(of(word(slacks, i), $4)) \
			with lines lc rgb word(color, i) lw 2 dt 2 notitle, \
		for [i = 1:words(slacks)] dir.'/dict_space.csv' using 2:(of(word(slacks, i), $3)) \
			with points lc rgb word(color, i) pt 7 ps 1 notitle, \
		for [i = 1:words(slacks)] NaN with linespoints lc rgb word(color, i) lw 2 pt 7 \
			title 'slack '.word(slacks, i)
	unset output
}
