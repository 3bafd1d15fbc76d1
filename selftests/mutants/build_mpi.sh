# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What builds variants of epfmpi, for run; with Open MPI.

need_openmpi() {
	command -v mpicc.openmpi > /dev/null || echo 'no mpicc.openmpi'
}

build_mpi() {
	script 300 EPF_MPI="$tmp/epfmpi" BUILD="$build"
	judge=finishes
	relink broken-mpi epfmpi MPICC=mpicc.openmpi MPI_OUT="$build/selftests/mpi/openmpi"
}
