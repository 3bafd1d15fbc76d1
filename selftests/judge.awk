# SPDX-License-Identifier: GPL-2.0
#
# The verdict on one run of a test program, from its output and the variables status (its
# exit status), timeout (its limit in seconds) and suite (the program is a guest, which
# prints the output of runner.sh). Prints one line:
#
#	VERDICT PASSED FAILED SKIPPED WHY
#
# VERDICT is pass, skip, fail, or again: it failed, but no property was violated, so it
# may run once more with another seed.
#
# A failed point is a violated property unless the point says that it may fail by chance:
#
#	not ok 3 - errors are as predicted # chance 1e-9
#
# or the program says, before its points, what it depends on besides the code under test:
#
#	# retry: sockets and processes of a busy machine
#
# In such a program a failed point that ends with "# LAW" still counts as a violated
# property. So do always a sanitizer's report, a kernel's complaint, a signal and a hang,
# but not a program that ended early.

BEGIN {
	plan = -1
	sanitizer = "ERROR: [A-Za-z]*Sanitizer|WARNING: ThreadSanitizer|runtime error: "
}

suite && /^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped\r?$/ {
	closed = 1
	good += $1
	bad += $3
	skips += $5
	law = law || bad > 0 # the guest's runner has already run it twice
}

# A program that failed inside the guest has failed for good, however the guest ends.
suite && /^not ok/ {
	law = 1
}

!suite && /^ok( |$)/ {
	points++
	if (tolower($0) ~ /# *skip/)
		skips++
}

!suite && /^not ok/ {
	points++
	bad++
	if (/# LAW/ || !(lenient || /# chance [0-9]/))
		law = 1
}

!suite && /^1\.\.[0-9]+/ {
	plan = substr($1, 4) + 0
}

/^# retry: / {
	lenient = 1
}

/^vm: the kernel complained/ {
	complained = 1
}

complained || $0 ~ sanitizer {
	reported = 1
}

# Was it killed by a signal that its own fault raises (ILL, TRAP, ABRT, BUS, FPE, SEGV,
# SYS), or by KILL, which timeout sends to a program that hangs and ignores TERM?
function crashed(status)
{
	return status ~ /^(132|133|134|135|136|137|139|159)$/
}

function why_of_suite()
{
	if (status == 124)
		return "TIMEOUT"
	if (!closed)
		return "ended without its totals, exit=" status
	if (status != 0 && !bad && status != 4)
		return "exit=" status
	if (status == 0 && good + skips == 0)
		return "no test points"
	return ""
}

function why_of_program()
{
	if (status == 124)
		return "TIMEOUT " timeout " seconds"
	if (plan < 0)
		return "no plan, exit=" status
	if (plan != points)
		return "planned " plan ", ran " points + 0 ", exit=" status
	if (status != 0 && !bad)
		return "exit=" status
	if (points == 0)
		return "no test points"
	return ""
}

END {
	if (!suite)
		good = points - bad - skips
	if (status == 4 && !bad && !suite && !complained) {
		if (!points)
			skips = 1
		print "skip", good + 0, 0, skips + 0
		exit
	}
	why = suite ? why_of_suite() : why_of_program()
	if (why == "" && complained && !bad)
		why = "the kernel complained"
	if (why != "")
		bad++
	else if (bad)
		why = "exit=" status
	if (status == 123 || status == 124 || crashed(status) || reported)
		law = 1
	print bad ? (law ? "fail" : "again") : "pass", good + 0, bad + 0, skips + 0, why
}
