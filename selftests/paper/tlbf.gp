# SPDX-License-Identifier: GPL-2.0
# Time-limited filters: Figures 1 to 5, then changes of the rate.

load 'style.gp'
set datafile separator ','

ks = '7 8 9 10 11'
ls = '5 8 14 25 46'
configured = '0.1 0.01 0.001 0.0001 0.00001'

lines(table, test) = sprintf("< awk -F, '%s' '%s/tlbf_%s.csv'", test, dir, table)
pair(i) = sprintf('k = %s, l = %s', word(ks, i), word(ls, i))
sight(start, i) = lines('sizes', sprintf('$1 == "%s" && $2 == "0.01" && $3 == %s', \
	start, word(ks, i)))
lowest(start, i) = lines('sizes', sprintf('$1 == "%s" && $2 == "%s" && !(k && $3 != k) { k = $3; print }', \
	start, word(configured, i)))
met(start, i) = lines('errors', sprintf('$1 == "%s" && $2 == "%s"', start, word(configured, i)))
change(name, timed) = lines('changes', sprintf('$1 == "%s" && $2 == %d', name, timed))

starts = 'under over'
made(start) = start eq 'under' ? 'made for a tenth of the keys' : 'made for ten times the keys'
set lmargin 11
set key top right reverse Left samplen 2

# Figures 1 and 2: slices, and the size of slice 0.
do for [n = 1:2] { do for [kind in 'svg png'] {
	start = word(starts, n)
	eval sized(sprintf('tlbf_figure%d', n), kind, 840, 820)
	set multiplot layout 2,1
	set xrange [0:(n == 1 ? 2 : 4)]
	set xlabel ''
	set title sprintf('Figure %d: error .01, %s', n, made(start))
	set ylabel 'slices'
	set yrange [0:90]
	set ytics 10
	plot for [i = 1:5] sight(start, i) using 5:6 with lines lt i title pair(i)
	set title ''
	set xlabel 'time since the first key, of T'
	set ylabel 'bits of slice 0'
	set logscale y
	set yrange [*:*]
	set ytics auto
	set format y '10^{%L}'
	plot for [i = 1:5] sight(start, i) using 5:7 with lines lt i title pair(i)
	unset logscale y
	set format y '%g'
	unset multiplot
	unset output
} }

# Figure 3: bits a key.
do for [kind in 'svg png'] {
	eval sized('tlbf_figure3', kind, 840, 820)
	set multiplot layout 2,1
	set xrange [0:6]
	set yrange [10:60]
	set ytics 10
	set ylabel 'bits a key'
	do for [n = 1:2] {
		start = word(starts, n)
		set title sprintf('Figure 3: error .01, %s', made(start))
		set xlabel (n == 2 ? 'time since the first key, of T' : '')
		plot for [i = 1:5] sight(start, i) using 5:8 with lines lt i title pair(i)
	}
	unset multiplot
	unset output
}

# Figures 4 and 5: error, predicted and measured, then the zig-zag by k and l.
do for [n = 1:2] { do for [kind in 'svg png'] {
	start = word(starts, n)
	eval sized(sprintf('tlbf_figure%d', n + 3), kind, 840, 900)
	set multiplot layout 2,1
	set xrange [0:(n == 1 ? 4 : 6)]
	set xlabel ''
	set title sprintf('Figure %d: lowest k and l for each error, %s', n + 3, made(start))
	set ylabel 'false-positive rate'
	set logscale y
	set format y '10^{%L}'
	set yrange [1e-6:3]
	set ytics auto
	set key top right maxrows 3
	plot for [i = 1:5] lowest(start, i) using 5:9 with lines lt i \
			title word(configured, i), \
		for [i = 1:5] met(start, i) using 3:($5 > 0 ? $5 : NaN):6:7 \
			with yerrorbars lt i lw 1 ps .5 notitle, \
		met(start, 1) using 3:(1e-9):(1e-9):(1e-9) with yerrorbars lt 8 lw 1 ps .5 \
			title 'measured; 99.9 %', \
		for [i = 1:5] real(word(configured, i)) with lines lt 8 lw 1 dt 3 notitle
	unset logscale y
	set format y '%g'
	set title ''
	set xlabel 'time since the first key, of T'
	set yrange [0:.022]
	set key top right maxrows 3
	plot for [i = 1:5] sight(start, i) using 5:9 with lines lt i title pair(i), \
		.01 with lines lt 8 lw 1 dt 3 notitle
	unset multiplot
	unset output
} }

# What the paper does not test.
set key top right maxrows 4
do for [what in 'steps gaps'] { do for [kind in 'svg png'] {
	names = what eq 'steps' ? "'2x' '4x' '10x'" : "'gap T/2' 'gap 2 T' 'to 0.05x'"
	said = what eq 'steps' ? "'2x for T/2' '4x for T/2' '10x for T/2'" : \
		"'gap of T/2' 'gap of 2 T' 'a 20th for good'"
	eval sized('tlbf_'.what, kind, 840, 1000)
	set multiplot layout 3,1
	set xrange [-.5:(what eq 'steps' ? 3.5 : 6)]
	set xlabel ''
	set title "k = 7, l = 5, 1000 keys in T before: solid the paper's rules, dashed timed"
	set ylabel 'slices'
	set yrange [0:28]
	set ytics 4
	plot for [i = 1:3] change(word(names, i), 0) using 3:4 with lines lt i title word(said, i), \
		for [i = 1:3] change(word(names, i), 1) using 3:4 with lines lt i dt 2 notitle
	set title ''
	set ylabel 'memory, 64-bit words'
	set yrange [(what eq 'steps' ? 200 : 10):(what eq 'steps' ? 10000 : 4000)]
	set ytics auto
	set logscale y
	plot for [i = 1:3] change(word(names, i), 0) using 3:5 with lines lt i title word(said, i), \
		for [i = 1:3] change(word(names, i), 1) using 3:5 with lines lt i dt 2 notitle
	unset logscale y
	set xlabel 'time since the change, of T'
	set ylabel 'predicted error'
	set yrange [0:(what eq 'steps' ? .045 : .02)]
	plot for [i = 1:3] change(word(names, i), 0) using 3:6 with lines lt i title word(said, i), \
		for [i = 1:3] change(word(names, i), 1) using 3:6 with lines lt i dt 2 notitle
	unset multiplot
	unset output
} }
