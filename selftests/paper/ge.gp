# SPDX-License-Identifier: GPL-2.0
load 'style.gp'
set datafile separator ','
set datafile missing 'NaN'

file(table) = sprintf('%s/ge_%s.csv', dir, table)
there(table) = int(system(sprintf("test -e '%s' && echo 1 || echo 0", file(table))))
rows(table, column, value) = sprintf("< awk -F, '$%d == \"%s\"' '%s'", column, value, file(table))

# Error against bits per key; below it, how far measurement is off.
do for [kind in 'svg png'] {
	eval sized('ge_error', kind, 840, 820)
	set multiplot
	set lmargin 11
	set xrange [5:25]
	set xtics 2
	set size 1,0.66
	set origin 0,0.34
	set title "Guarded epochs: error with all epochs full, W = 20,000"
	set xlabel ''
	set ylabel 'false-positive rate'
	set logscale y
	set format y '10^{%L}'
	set yrange [1e-4:1]
	set key top right reverse Left samplen 3
	plot rows('error', 1, '4') using 2:4 with lines lt 1 title 'r = 4, closed form (Proposition 2)', \
		rows('error', 1, '8') using 2:4 with lines lt 2 dt 2 title 'r = 8, closed form (Proposition 2)', \
		rows('error', 1, '4') using 2:6:7:8 with yerrorbars lt 1 title 'r = 4, measured', \
		rows('error', 1, '8') using 2:6:7:8 with yerrorbars lt 2 title 'r = 8, measured', \
		rows('error', 2, '14') using 2:9 with points lt 7 pt 6 ps 2.2 title "the paper's Table 1"
	unset logscale
	set format y '%.0f %%'
	set size 1,0.34
	set origin 0,0
	set title ''
	set xlabel 'bits per key of the window'
	set ylabel 'above closed form'
	set yrange [-12:24]
	set key top left reverse Left samplen 3
	plot 0 with lines lc rgb '#444444' lw 1 notitle, \
		rows('error', 1, '8') using 2:(100*($5/$4-1)) with lines lt 2 dt 2 title 'r = 8, what double hashing adds', \
		rows('error', 1, '4') using ($2-0.12):(100*($6/$4-1)):(100*($7/$4-1)):(100*($8/$4-1)) \
			with yerrorbars lt 1 title 'r = 4, 99.9 % interval', \
		rows('error', 1, '8') using ($2+0.12):(100*($6/$4-1)):(100*($7/$4-1)):(100*($8/$4-1)) \
			with yerrorbars lt 2 title 'r = 8'
	unset multiplot
}
reset
load 'style.gp'
set datafile separator ','
set datafile missing 'NaN'

# Table 1 as bars.
label(s) = s[1:12] eq 'Blocked GE r' ? (strlen(s) > 15 ? "Blocked GE r=8,\ndistinct offsets" : 'Blocked GE r=8') : s
do for [kind in 'svg png'] {
	eval sized('ge_table1', kind, 1080, 800)
	set multiplot layout 2,1
	set bmargin 3.5
	set style data histogram
	set style histogram clustered gap 1
	set style fill solid 0.85 noborder
	set boxwidth 0.95
	set xlabel ''
	set xtics scale 0 font ',11'
	set grid noxtics ytics
	set key top right reverse Left
	do for [m in 'fpr expired'] {
		set title m eq 'fpr' ? 'Table 1, synthetic streams, 14 bits per key: new keys found' : \
			'The same: keys of the window before found'
		set ylabel m eq 'fpr' ? 'false-positive rate' : 'share found'
		set yrange [0:(m eq 'fpr' ? 0.24 : 0.34)]
		plot rows('table1', 1, m) using 3:xtic(label(strcol(2))) lt 8 title 'paper', \
			'' using 4 lt 1 title 'ours', \
			'' using ($0-0.19):3:(strcol(3) eq 'NaN' ? '' : sprintf('%.4f', $3)) \
				with labels offset 0,0.6 font ',9' notitle, \
			'' using ($0+0.19):4:(sprintf('%.4f', $4)) \
				with labels offset 0,0.6 font ',9' notitle
	}
	unset multiplot
}
reset
load 'style.gp'
set datafile separator ','

# Medians over the budgets.
name(s) = s eq 'cbf' ? 'counting, 4 bits' : s eq 'sbf' ? 'stable (loses live keys)' : \
	s eq 'ge4' ? 'guarded epochs, r = 4' : s eq 'ge8' ? 'guarded epochs, r = 8' : \
	s eq 'gebl8' ? 'blocked, r = 8, double hashing' : 'blocked, r = 8, distinct offsets'
do for [table in 'synthetic log'] {
	if (there(table.'_medians')) {
		do for [kind in 'svg png'] {
			eval open('ge_'.table, kind)
			set title table eq 'log' ? 'Access log: median error of three rows' : \
				'Synthetic streams: median error of nine rows'
			set xlabel 'bits per key of the window'
			set ylabel 'false-positive rate'
			set logscale y
			set xrange [5:15]
			set xtics 2
			set yrange [1e-3:1]
			set key bottom left reverse Left samplen 3
			plot for [s in 'cbf sbf ge4 ge8 gebl8 gebl8_distinct'] \
				rows(table.'_medians', 2, s) using 1:3 with linespoints title name(s)
		}
	}
}
