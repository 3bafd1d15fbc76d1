# SPDX-License-Identifier: GPL-2.0
# The front door: each part has its own Makefile, and all output goes to build/.

V ?= 0
export V
Q := $(if $(filter 1,$(V)),,@)
MAKEFLAGS += --no-print-directory

VERSION := $(shell cat VERSION)
DESTDIR ?=
UDEVDIR ?= /usr/lib/udev/rules.d
SRCDIR ?= /usr/src/epochfilter-$(VERSION)

all: user cuda module

help:
	@echo 'make            the tool, the library, the BPF programs, the module; with nvcc for GPUs'
	@echo 'make check      all tests; those of the module in virtual machines'
	@echo '                T=core/kind_ge or T="xdp/*": only these, built as needed'
	@echo 'make check-fast most that need no virtual machine, without broken variants'
	@echo 'make check-kernels  in full what depends on the kernel, on 6.1, 6.12, 6.12-rt, newest'
	@echo 'make check-debug those of the module on rt, KASAN, lockdep and KCSAN kernels'
	@echo 'make check-arm64 (check-s390x)  what is cross-built for it, under emulation; for arm64 also in a virtual machine'
	@echo 'make check-cluster a live cluster of eight hosts on this machine, of four in a VM with the module, with every fault'
	@echo 'make check-static sparse, W=1, clang, coccinelle, clang-tidy'
	@echo 'make demo       drop the repeats of a real capture in the kernel [PCAP=file] [BACKEND=bpf|module]'
	@echo 'make demo-firewall  DNS answers, unsolicited packets, time and memory of stateful firewalls under a UDP flood, as root; one of them in a VM'
	@echo 'make bench      ratios to peers; report in build/bench'
	@echo 'make check-abi  does libepf.so have all that its last release had, unchanged?'
	@echo 'make check-gpu  the device suite on the GPU of this machine: 100 million keys (docs/GPU.md)'
	@echo 'make bench-gpu  rates on that GPU, beside what its memory can do; build/bench/gpu'
	@echo 'make paper      the papers'\'' tables and figures again, side by side; build/paper [LOG=access.log]'
	@echo 'make fuzz       the fuzz targets for longer [SECONDS=600 of CPU time, each]'
	@echo 'make style      the house rules a program can check'
	@echo 'make mutants    what the broken variants break, and which test must fail [T=core/chain*]'
	@echo 'make deps       install what is missing (or print the apt line) [FOR=build]'
	@echo 'make dist       the committed tree as a tarball, the same bytes each time; build/dist'
	@echo 'make deb        Debian packages of it; build/deb [ARCH=arm64: cross-built, as root; build/deb/arm64]'
	@echo 'make rpm (arch) packages for Fedora (Arch), where rpmbuild (makepkg) is; build/packages'
	@echo 'make install    tool, library, agent, manuals [DESTDIR=]'
	@echo 'make install-module  the module, by DKMS if there, and its udev rule [DESTDIR=]'
	@echo 'make install-python  the Python package epf [PYTHON=/usr/bin/python3]; uninstall-python'
	@echo 'make uninstall  remove all of that'
	@echo 'make clean      remove build/'
	@echo 'Options: V=1 shows commands; KREL=release builds for another kernel'

# FOR=build omits the packages that only the tests need, FOR=demo most of those.
deps:
	$(Q)scripts/deps.sh --install $(FOR)

# Before a build of everything, report all that is missing for any part of it.
ifneq ($(filter all,$(or $(MAKECMDGOALS),all)),)
user cuda module: | lacks
endif
lacks:
	$(Q)$(MAKE) -C user required ALSO='$(strip $(MODULE_LACKS))'

user bpf:
	$(Q)$(MAKE) -C $@

cuda:
	$(Q)$(MAKE) -C cuda card

# Builds for the running kernel if its headers can give a module BTF, else for the kernel
# that the tests boot.
RUNNING := $(shell uname -r)
FOR_KERNEL = $(or $(KREL),$(if \
	$(wildcard /lib/modules/$(RUNNING)/build/vmlinux),$(RUNNING)))
module:
	$(Q)$(MAKE) -C kmod $(addprefix KREL=,$(FOR_KERNEL))

# Missing packages of Debian. If another kernel is chosen than the one of "make deps",
# kmod/Makefile names its packages.
CHOSEN = $(shell scripts/deps.sh --kernel 2>/dev/null)
MODULE_LACKS = $(if $(KDIR)$(FOR_KERNEL)$(wildcard /lib/modules/$(CHOSEN)/build/Makefile),, \
	linux-headers-$(or $(CHOSEN),amd64)) $(if $(shell command -v pahole),,pahole)

check:
	$(Q)scripts/deps.sh --install
	$(Q)selftests/check.sh $(if $(T),only '$(T)',all)

check-fast:
	$(Q)selftests/check.sh fast

check-kernels:
	$(Q)scripts/deps.sh --install
	$(Q)selftests/check.sh kernels

check-debug:
	$(Q)scripts/deps.sh --install all debug
	$(Q)selftests/check.sh debug

# On another architecture, cross-built: programs run under emulation; the module in a guest.
check-arm64 check-s390x:
	$(Q)selftests/arch.sh $(@:check-%=%)

check-cluster:
	$(Q)scripts/deps.sh --install build vm test
	$(Q)$(MAKE) -C user
	$(Q)$(MAKE) -C kmod
	$(Q)$(MAKE) -C selftests/cluster long

check-static:
	$(Q)scripts/deps.sh --install build debug
	$(Q)scripts/static.sh

demo:
	$(Q)selftests/demo/demo.sh $(if $(PCAP),--pcap '$(PCAP)') $(if $(BACKEND),--backend '$(BACKEND)')

demo-firewall:
	$(Q)selftests/demo/firewall_demo.sh

bench:
	$(Q)scripts/deps.sh --install
	$(Q)selftests/bench/run.sh

check-abi:
	$(Q)$(MAKE) -C user shared
	$(Q)scripts/abi.sh check

check-gpu:
	$(Q)selftests/cuda/check_gpu.sh

bench-gpu:
	$(Q)cuda/bench/gpu.sh

paper:
	$(Q)scripts/deps.sh --install paper
	$(Q)selftests/paper/run.sh $(if $(LOG),--log '$(LOG)') $(if $(OUT),'$(OUT)')

fuzz:
	$(Q)$(MAKE) -C selftests/fuzz long SECONDS=$(or $(SECONDS),600)

style:
	$(Q)scripts/style.sh

mutants:
	$(Q)selftests/mutants/table.py list $(if $(T),'$(T)')

dist:
	$(Q)scripts/dist.sh

deb:
	$(Q)scripts/deps.sh --install deb
	$(Q)$(if $(ARCH),scripts/deb_cross.sh '$(ARCH)',scripts/deb.sh)

rpm arch:
	$(Q)scripts/recipe.sh $@

install:
	$(Q)$(MAKE) -C user install
	$(Q)$(MAKE) -C cuda install
	@echo "installed: tool, library and agent; 'make install-module' installs the kernel module, which is optional"

# A staged install (DESTDIR) only lays files out; a real one also installs the
# module for the running kernel.
install-module:
	$(Q)scripts/module.sh install '$(DESTDIR)' '$(SRCDIR)' '$(UDEVDIR)' '$(VERSION)'

uninstall:
	$(Q)scripts/module.sh uninstall '$(DESTDIR)' '$(SRCDIR)' '$(UDEVDIR)' '$(VERSION)'
	$(Q)$(MAKE) -C cuda uninstall
	$(Q)$(MAKE) -C user uninstall

install-python uninstall-python:
	$(Q)$(MAKE) -C user $@

clean:
	$(Q)rm -rf build

.PHONY: all help deps lacks user bpf cuda module check check-cluster check-fast check-kernels check-debug \
	check-static check-arm64 check-s390x check-abi check-gpu demo demo-firewall bench bench-gpu paper fuzz style mutants dist deb rpm arch install install-module uninstall \
	install-python uninstall-python clean
