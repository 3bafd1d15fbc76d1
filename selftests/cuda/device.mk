# SPDX-License-Identifier: GPL-2.0
#
# The device suite: programs for a card ("make card": device, rivals, table, in
# build/selftests/cuda/card), and the same for its emulation.

BENCH := $(CUDA)/bench
NVCC_ARCH ?= native
DEVICE_PROGS := device library rivals table
# Pragmas of the benchmark are those of nvcc.
DEVICE_WARN := -Wall -Wextra -Wno-unknown-pragmas -Wno-missing-field-initializers
DEVICE_EMU := -x c++ -std=c++17 $(DEVICE_WARN) -DEPF_CUDA_EMU -DKEYS=20000ULL \
	-include $(BENCH)/emulated.h -MMD -MP $(DIRS) -I$(CUDA)/emu
comma := ,
DEVICE_NVCC := -std=c++17 -O3 -arch=$(NVCC_ARCH) -MMD -MP $(DIRS) \
	-Xcompiler -Wall,-Wextra,-Wno-unknown-pragmas,-Wno-missing-field-initializers

BACKEND := $(patsubst $(CUDA)/%.cu,%.o,$(wildcard $(CUDA)/*.cu))
BACKEND_EMU := $(patsubst $(CUDA)/emu/%.cc,%.o,$(wildcard $(CUDA)/emu/*.cc))
BACKEND_EMU := $(addprefix $(BUILD)/cuda/emu/,$(BACKEND) $(BACKEND_EMU))
BACKEND_CARD := $(BACKEND:%=$(BUILD)/cuda/%)
RIVALS := classic.o counting.o keys.o run.o
RIVALS_EMU := $(RIVALS:%=$(BUILD)/bench/gpu/emulated/%)
RIVALS_CARD := $(RIVALS:%=$(BUILD)/bench/gpu/card/%)

EMULATED_PROGS := $(DEVICE_PROGS:%=$(OUT)/%_emulated)
CARD_PROGS := $(DEVICE_PROGS:%=$(OUT)/card/%)

# The example, with the launch in the form of the emulation.
EMULATED_EXAMPLE := $(OUT)/join_emulated
CARD_EXAMPLE := $(OUT)/card/join
$(OUT)/join.cu: $(ROOT)/user/examples/join.cu
	$(Q)mkdir -p $(@D)
	$(Q)sed -E 's/(\w+)<<<(.*), ([0-9]+)>>>\(/EPF_LAUNCH(\1, \2, \3, NULL, /' $< > $@

.PHONY: card backend_card backend_emu
card: $(CARD_PROGS) $(CARD_EXAMPLE) $(OUT)/answers.so

$(OUT)/answers.so: answers.c
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Wall -Wextra -shared -fPIC $(DIRS) $< -o $@

$(EMULATED_EXAMPLE): $(OUT)/emulated/snapshot.o
$(CARD_EXAMPLE): $(OUT)/card/snapshot.o

$(EMULATED_PROGS) $(EMULATED_EXAMPLE): $(OUT)/%_emulated: $(OUT)/emulated/%.o $(OUT)/emulated/host.o $(BACKEND_EMU)
	$(call say,LINK)
	$(Q)$(CXX) $(CXXFLAGS) $^ -o $@ -lm -pthread

$(CARD_PROGS) $(CARD_EXAMPLE): $(OUT)/card/%: $(OUT)/card/%.o $(OUT)/card/host.o $(BACKEND_CARD)
	$(call say,LINK)
	$(Q)$(NVCC) -arch=$(NVCC_ARCH) -cudart static $^ -o $@ -lm -lpthread

$(OUT)/rivals_emulated: $(OUT)/emulated/cbf.o $(RIVALS_EMU)
$(OUT)/card/rivals: $(OUT)/card/cbf.o $(RIVALS_CARD)

$(OUT)/emulated/%.o: %.cu
	$(call say,CXX)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CFLAGS) $(DEVICE_EMU) -c $< -o $@

$(OUT)/emulated/join.o: $(OUT)/join.cu
	$(call say,CXX)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CFLAGS) $(DEVICE_EMU) -c $< -o $@

$(OUT)/emulated/%.o: %.cc
	$(call say,CXX)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CFLAGS) $(DEVICE_EMU) -c $< -o $@

$(OUT)/card/%.o: %.cu
	$(call say,NVCC)
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) $(DEVICE_NVCC) -c $< -o $@

$(OUT)/card/join.o: $(ROOT)/user/examples/join.cu
	$(call say,NVCC)
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) $(DEVICE_NVCC) -c $< -o $@

$(OUT)/card/%.o: %.cc
	$(call say,NVCC)
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) $(DEVICE_NVCC) -x cu -c $< -o $@

$(OUT)/emulated/cbf.o $(OUT)/card/cbf.o: $(ROOT)/user/libepf/kinds/cbf.c
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(EPF_CFLAGS) -c $< -o $@

# These are made by their own Makefiles, which check whether they are up to date.
$(BACKEND_EMU) $(RIVALS_EMU): backend_emu ;
$(BACKEND_CARD) $(RIVALS_CARD): backend_card ;

backend_emu:
	$(Q)$(MAKE) -s --no-print-directory -C $(BENCH) BUILD=$(BUILD) emulated

backend_card:
	$(Q)$(MAKE) -s --no-print-directory -C $(BENCH) BUILD=$(BUILD) NVCC_ARCH=$(NVCC_ARCH) card

-include $(wildcard $(OUT)/emulated/*.d $(OUT)/card/*.d)
