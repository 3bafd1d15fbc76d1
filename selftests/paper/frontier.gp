# SPDX-License-Identifier: GPL-2.0
# usage: gnuplot -e "dir='OUTDIR'" frontier.gp

load 'style.gp'
set datafile separator ','
points = dir.'/frontier_points.csv'
of(kind, column) = (strcol(1) eq kind ? column : NaN)

kinds = 'lanes1 lanes2 lanes4 elastic dict ge gebl apbf apbbf tlbf cbf sbf'
title = '"lanes L=1" "lanes L=2" "lanes L=4" "elastic" "dict" "ge" "gebl" "apbf" "apbbf" "tlbf" "cbf, without its queue" "sbf, loses keys"'
color = '#0072b2 #0072b2 #0072b2 #d55e00 #009e73 #000000 #000000 #cc79a7 #cc79a7 #e69f00 #888888 #888888'
dashes = '3 2 1 1 1 1 2 1 2 1 1 2'
marks = '7 5 9 13 11 4 6 1 2 3 8 12'

do for [kind in 'svg png'] {
	eval sized('frontier_error', kind, 1080, 680)
	set logscale y 2
	set format y '2^{%L}'
	set xrange [4:46]
	set yrange [1./2**20:1]
	set ytics 4
	set mytics 1
	set xtics 4
	set xlabel 'bits a key of the window; no key is kept for longer than 8/7 of it'
	set ylabel 'error, all epochs full'
	set key outside right center Left reverse samplen 3
	set title 'Error and memory for the same promise: lines predicted, marks measured'
	plot for [i = 1:words(kinds)] points using 3:(of(word(kinds, i), $4)) \
			with lines lc rgb word(color, i) lw 2 dt int(word(dashes, i)) notitle, \
		for [i = 1:words(kinds)] points using 3:(of(word(kinds, i), $5)) \
			with points lc rgb word(color, i) pt int(word(marks, i)) ps 0.9 notitle, \
		for [i = 1:words(kinds)] NaN with linespoints lc rgb word(color, i) lw 2 \
			dt int(word(dashes, i)) pt int(word(marks, i)) title word(title, i), \
		dir.'/frontier_bound.csv' using 2:1 with lines lc rgb '#b00020' lw 4 \
			title 'bound (Naor and Yogev)'
	unset output
}

kinds = 'lanes1 lanes2 lanes4 elastic dict ge ge_paper gebl apbf apbbf tlbf cbf'
title = '"lanes L=1" "lanes L=2" "lanes L=4" "elastic" "dict" "ge, cells" "ge, the paper''s layout" "gebl" "apbf" "apbbf" "tlbf" "cbf"'
color = '#0072b2 #0072b2 #0072b2 #d55e00 #009e73 #000000 #888888 #000000 #cc79a7 #cc79a7 #e69f00 #888888'
dashes = '3 2 1 1 1 1 1 2 1 2 1 2'
marks = '7 5 9 13 11 4 10 6 1 2 3 8'

do for [kind in 'svg png'] {
	eval sized('frontier_lines', kind, 1180, 600)
	set multiplot title 'Lines of 64 bytes that a test touches, in the mean (counted)'
	set logscale xy 2
	set ytics 2
	set format y '%g'
	set xtics ('2^{-4}' 2.**-4, '2^{-8}' 2.**-8, '2^{-12}' 2.**-12, '2^{-16}' 2.**-16, '2^{-20}' 2.**-20)
	set xrange [1./4:1./2**20]
	set yrange [0.9:64]
	set xlabel 'error'
	set ylabel 'lines'
	unset key
	set title 'of an absent key'
	set tmargin at screen 0.87
	set bmargin at screen 0.13
	set lmargin at screen 0.06
	set rmargin at screen 0.385
	plot for [i = 1:words(kinds)] points using 2:(of(word(kinds, i), $10)) \
			with linespoints lc rgb word(color, i) lw 2 \
			dt int(word(dashes, i)) pt int(word(marks, i)) notitle
	set title 'of a key of the window'
	set key at screen 0.99, screen 0.5 right center Left reverse samplen 3
	unset ylabel
	set lmargin at screen 0.42
	set rmargin at screen 0.745
	plot for [i = 1:words(kinds)] points using 2:(of(word(kinds, i), $11)) \
			with linespoints lc rgb word(color, i) lw 2 \
			dt int(word(dashes, i)) pt int(word(marks, i)) title word(title, i)
	unset multiplot
	unset output
}
