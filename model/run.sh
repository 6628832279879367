#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Check the models, and that each step is needed: with it every state is good, without it some state is not.
#   model/run.sh          all checks, two to three minutes
#   model/run.sh trace MODEL FLAGS...   the shortest story of a violation, step by step
# Exits 77 where there is no spin or no compiler.
set -u
here=$(cd "$(dirname "$0")" && pwd)
for tool in spin cc; do
	command -v $tool >/dev/null 2>&1 || { echo "skipped: $tool is not installed"; exit 77; }
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# build MODEL FLAGS...: ./pan
build() {
	model=$1
	shift
	cp "$here/$model.pml" model.pml
	spin -a "$@" model.pml >spin.out 2>&1 || { cat spin.out; exit 1; }
	cc -O2 -w -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 ${SHORTEST:-} -o pan pan.c || exit 1
}

if [ "${1:-}" = trace ]; then
	shift
	model=$1
	shift
	SHORTEST=-DREACH
	build "$model" "$@"
	./pan -i -m20000 >pan.out 2>&1
	spin -t -p -g "$@" model.pml | cut -c1-150
	exit 0
fi

failed=0
# check holds|breaks MODEL FLAGS...
check() {
	expected=$1
	shift
	build "$@"
	./pan -m200000 -w24 >pan.out 2>&1
	states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.out)
	if grep -q 'max search depth too small\|out of memory' pan.out; then
		verdict='was not searched to its end'
	elif grep -q 'errors: 0' pan.out; then
		verdict=holds
	else
		verdict=breaks
	fi
	printf '%-7s %-44s %s states\n' "$verdict" "$*" "$states"
	[ "$verdict" = "$expected" ] || { echo "        expected: $expected"; failed=1; }
}

check holds commit -DPARTITIONS=1
check holds commit -DPARTITIONS=2 -DDEATHS=1
check holds commit -DPARTITIONS=1 -DDEATHS=1 -DSTALE
check holds commit -DPARTITIONS=1 -DDEATHS=1 -DWIPE
for step in NO_EXCLUSIVE NO_TOKEN NO_FINISH NO_ARCHIVE NO_EXCL_RECORD EARLY_DROP; do
	check breaks commit -DPARTITIONS=1 -D$step
done
check breaks commit -DPARTITIONS=1 -DSTALE -DNO_GUARD

check holds power
check holds power -DNO_JOURNAL
for step in NO_SYNC1 NO_SYNC2 NO_SYNC2_AGAIN NO_SYNC3 NO_REARCHIVE EARLY_DROP; do
	check breaks power -D$step
done

check holds store
check holds store -DKNOWN
check holds store -DLATE_REQUESTS -DDEATHS=0
check holds store -DAGAIN -DKNOWN -DDEATHS=0
for step in NO_SETTLE NO_ARCHIVE NO_CONDITION NO_EXCL_RECORD EARLY_DELETE; do
	check breaks store -D$step
done
for step in NO_INFER NO_FALLBACK; do
	check breaks store -DAGAIN -DKNOWN -D$step
done
check breaks store -DKNOWN -DOLD_LOOK
for step in ONE_NAME PLAN_ALWAYS; do
	check breaks store -DLATE_REQUESTS -DDEATHS=0 -D$step
done
exit $failed
