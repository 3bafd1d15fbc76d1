# SPDX-License-Identifier: GPL-2.0
# Section aged: Figures 2, 4, 6, 7 and 8 of Shtul, Baquero and Almeida, 2020.

load 'style.gp'
set datafile separator ','
file(name) = sprintf('%s/aged_%s.csv', dir, name)

do for [kind in 'svg png'] {
	eval open('aged_figure2', kind)
	set title 'Figure 2: fill of the slices just before a shift, k = 10, l = 15'
	set xlabel 'slice, the youngest at the right'
	set ylabel 'share of bits set'
	set xrange [24.7:-0.7]
	set yrange [0:0.6]
	set xtics 0, 2
	set key top right
	set boxwidth 0.7
	set style fill solid 0.35
	plot file('figure2') using 1:2 with boxes lt 6 title 'measured', \
		'' using 1:5 with points lt 1 title '1 - 2^{-(i+1)/k}, exact ramp', \
		'' using 1:6 with lines lt 2 dt 2 title 'straight ramp of the paper'
	unset output
	reset
	load 'style.gp'
	set datafile separator ','

	eval sized('aged_figure4', kind, 980, 500)
	set multiplot layout 1, 2 title 'Figure 4: what is found of a generation, k = 10, l = 15'
	set xlabel 'shifts since its insertion'
	set ylabel 'share of its keys found'
	set xrange [0:28.5]
	set xtics 0, 5
	set yrange [0:1.08]
	unset key
	set arrow from 15, 0 to 15, 1.08 nohead dt 3 lc rgb '#444444'
	plot file('figure4') using 1:($1 < 25 ? $6 : 1/0) with points lt 7 pt 8 ps 1.6 title 'powers of 1/2', \
		'' using 1:2:3:4 with yerrorbars lt 1 title 'measured', \
		'' using 1:5 with lines lt 2 title 'predicted'
	unset arrow
	set logscale y
	set format y '10^{%L}'
	set yrange [1e-3:1.5]
	set key bottom left
	set arrow from 15, 1e-3 to 15, 1.5 nohead dt 3 lc rgb '#444444'
	plot file('figure4') using 1:($6 > 0 ? $6 : 1/0) with points lt 7 pt 8 ps 1.6 title 'powers of 1/2', \
		'' using 1:2:3:4 with yerrorbars lt 1 title 'measured', \
		'' using 1:5 with lines lt 2 title 'predicted'
	unset multiplot
	unset output
	reset
	load 'style.gp'
	set datafile separator ','

	eval sized('aged_figure6', kind, 900, 620)
	set title 'Figure 6: error while keys are inserted, window of 1000'
	set xlabel 'distinct keys inserted'
	set ylabel 'false-positive rate'
	set logscale y
	set format y '10^{%L}'
	set xrange [0:10000]
	set yrange [1e-7:1]
	set key bottom right maxrows 3
	plot file('figure6_4_3') using 1:2 with lines lt 1 title 'k = 4, l = 3', \
		'' using 1:3 with points lt 1 notitle, \
		file('figure6_7_5') using 1:2 with lines lt 2 title '7, 5', \
		'' using 1:3 with points lt 2 notitle, \
		file('figure6_10_7') using 1:2 with lines lt 3 title '10, 7', \
		'' using 1:3 with points lt 3 notitle, \
		file('figure6_14_11') using 1:2 with lines lt 4 title '14, 11', \
		'' using 1:3 with points lt 4 notitle, \
		file('figure6_17_13') using 1:2 with lines lt 5 title '17, 13', \
		'' using 1:3 with points lt 5 notitle, \
		1/0 with points lt 7 pt 7 title 'one filter, probed'
	unset output
	reset
	load 'style.gp'
	set datafile separator ','

	eval open('aged_figure7', kind)
	set title 'Figure 7: error where keys repeat, window of 1000'
	set xlabel 'repeats, share of the window'
	set ylabel 'false-positive rate'
	set logscale y
	set format y '10^{%L}'
	set xrange [-0.02:0.92]
	set yrange [1e-14:1]
	set key bottom left
	plot for [i = 0:4] file('figure7') using 1:2 * i + 2 with points lt i + 1 \
			title word('4,3 7,5 10,7 14,11 17,13', i + 1), \
		for [i = 0:4] '' using 1:2 * i + 3 with lines lt i + 1 notitle, \
		1/0 with lines lt 8 title 'F'
	unset output

	eval open('aged_figure8', kind)
	set title 'Figure 8: error where keys repeat, shapes for 0.1, window of 1000'
	set yrange [1e-5:0.3]
	plot for [i = 0:4] file('figure8') using 1:2 * i + 2 with points lt i + 1 \
			title word('4,3 5,7 6,14 7,28 8,56', i + 1), \
		for [i = 0:4] '' using 1:2 * i + 3 with lines lt i + 1 notitle, \
		1/0 with lines lt 8 title 'F'
	unset output
	reset
	load 'style.gp'
	set datafile separator ','
}
