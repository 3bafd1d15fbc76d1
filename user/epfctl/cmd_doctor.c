// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl doctor: what this machine has and lacks, and what to do. */
#include "doctor.h"

#include "audit.h"
#include "ebpf/ebpf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define KERNEL_MIN_MAJOR 6
#define KERNEL_MIN_MINOR 1
#define LEN DOCTOR_LEN
/* The certificate of the key with which DKMS signs modules. */
#define DKMS_KEY "/var/lib/dkms/mok.pub"

/* What a thing is needed for. */
enum need {
	NEED_BUILD,
	NEED_USE,
	NEED_CHANGE,
	NEED_ATTACH,
	NEED_SHARE,
	NEED_GPU,
	NEED_BPF,
	NEED_HOLD,
	NEED_SPEED,
	NEED_ATTACHED,
	NEED_DECLARED,
	NR_NEEDS,
	BPF_TOO = 0x100,
};

static const char *const needs[NR_NEEDS] = {
	"build", "use",  "change", "attach",   "share",    "gpu",
	"bpf",   "hold", "speed",  "attached", "declared",
};

/**
 * struct check - one check
 * @what: a short name
 * @need: what the thing is needed for; with BPF_TOO also for filters that are pure BPF
 * @ask: true: all right. @state: what there is; @remedy: what to do
 */
struct check {
	const char *what;
	unsigned int need;
	bool (*ask)(const struct machine *m, char *state, char *remedy);
};

static void doctor_put(char *to, const char *text)
{
	snprintf(to, LEN, "%s", text);
}

static bool ask_kernel(const struct machine *m, char *state, char *remedy)
{
	doctor_put(state, m->release);
	doctor_put(remedy, "boot Linux 6.1 or newer; 6.12 is the one most tested");
	return m->major > KERNEL_MIN_MAJOR ||
	       (m->major == KERNEL_MIN_MAJOR && m->minor >= KERNEL_MIN_MINOR);
}

static bool ask_modules(const struct machine *m, char *state, char *remedy)
{
	(void)m;
	doctor_put(state, "CONFIG_MODULES");
	doctor_put(remedy, "this kernel cannot load modules: boot one that can "
			   "(Debian's do)");
	return doctor_file("%s", "/proc/modules");
}

static bool ask_config(const struct machine *m, char *state, char *remedy)
{
	static const char *const options[] = {
		"CONFIG_BPF_SYSCALL",
		"CONFIG_BPF_JIT",
		"CONFIG_DEBUG_INFO_BTF",
		"CONFIG_DEBUG_INFO_BTF_MODULES",
		NULL,
	};
	const char *lacking;
	bool known;

	lacking = doctor_config(m, options, &known);
	if (!known) {
		doctor_put(state, "not known: no /boot/config-*, no /proc/config.gz");
		return true;
	}
	snprintf(state, LEN, lacking ? "without %s" : "BPF and BTF", lacking);
	doctor_put(remedy, "boot a kernel built with it (Debian's are)");
	return !lacking;
}

static bool ask_headers(const struct machine *m, char *state, char *remedy)
{
	char package[sizeof(m->release) + 16];

	snprintf(state, LEN, "%s/build", m->modules);
	if (doctor_file("%s/build/Makefile", m->modules))
		return true;
	snprintf(package, sizeof(package), "linux-headers-%s", m->release);
	if (doctor_has_package(package))
		snprintf(remedy, LEN, "apt install %s", package);
	else
		doctor_put(remedy, "no package has the headers of this kernel: boot a kernel "
				   "of the distribution, 6.12 or newer (if this is one, "
				   "the package lists are old: apt update)");
	return false;
}

static bool ask_header_btf(const struct machine *m, char *state, char *remedy)
{
	bool vmlinux = doctor_file("%s/build/vmlinux", m->modules);
	bool tool = doctor_file("%s/build/tools/bpf/resolve_btfids/"
				"resolve_btfids",
				m->modules);

	if (!doctor_file("%s/build/Makefile", m->modules)) {
		doctor_put(state, "no headers");
		doctor_put(remedy, "install the headers, see above");
		return false;
	}
	snprintf(state, LEN, "%s, %s", vmlinux ? "vmlinux" : "no vmlinux",
		 tool ? "resolve_btfids" : "no resolve_btfids");
	doctor_put(remedy, "a module built with these headers has no kfuncs: use a "
			   "6.12 or newer kernel of the distribution and its headers");
	return vmlinux && tool;
}

static bool ask_kernel_btf(const struct machine *m, char *state, char *remedy)
{
	(void)m;
	doctor_put(state, "/sys/kernel/btf/vmlinux");
	doctor_put(remedy, "boot a kernel with CONFIG_DEBUG_INFO_BTF=y");
	return doctor_file("%s", state);
}

static bool ask_installed(const struct machine *m, char *state, char *remedy)
{
	char path[LEN], line[1024];

	snprintf(path, sizeof(path), "%s/modules.dep", m->modules);
	doctor_put(state, "epochfilter.ko in modules.dep");
	doctor_put(remedy, "make && make install-module in the source, or its DKMS "
			   "package; then depmod");
	return doctor_line(path, "/epochfilter.ko", line, sizeof(line));
}

static bool ask_signature(const struct machine *m, char *state, char *remedy)
{
	(void)m;
	doctor_put(state, doctor_wants_signature() ?
				  "only signed modules load (Secure Boot or lockdown)" :
				  "no signature needed");
	doctor_put(
		remedy,
		doctor_file("%s", DKMS_KEY) ?
			"modprobe epochfilter; if the key is rejected: mokutil --import " DKMS_KEY
			", reboot, enroll the key" :
			"sign epochfilter.ko with a key enrolled by mokutil, or "
			"switch Secure Boot off");
	return !doctor_wants_signature() || doctor_file("%s", "/sys/module/epochfilter");
}

static bool ask_loaded(const struct machine *m, char *state, char *remedy)
{
	char version[64] = "";

	(void)m;
	doctor_line("/sys/module/epochfilter/version", "", version, sizeof(version));
	snprintf(state, LEN, "epochfilter%s%s", *version ? " " : "", version);
	doctor_put(remedy, "modprobe epochfilter");
	return doctor_file("%s", "/sys/module/epochfilter");
}

static bool ask_device(const struct machine *m, char *state, char *remedy)
{
	int dev = open(EPF_DEVICE, O_RDONLY | O_CLOEXEC), err = errno;

	(void)m;
	snprintf(state, LEN, "%s%s%s", EPF_DEVICE, dev < 0 ? ": " : "",
		 dev < 0 ? strerror(err) : "");
	doctor_put(remedy, dev < 0 && (err == EACCES || err == EPERM) ?
				   "run as root, or join the group that owns it" :
				   "modprobe epochfilter");
	if (dev >= 0)
		close(dev);
	return dev >= 0;
}

static bool ask_net_admin(const struct machine *m, char *state, char *remedy)
{
	(void)m;
	doctor_put(state, "CAP_NET_ADMIN");
	doctor_put(remedy, "run as root; without it: list, show, test, watch");
	return caps_has(CAP_NET_ADMIN);
}

static bool ask_module_btf(const struct machine *m, char *state, char *remedy)
{
	(void)m;
	doctor_put(state, "/sys/kernel/btf/epochfilter");
	doctor_put(remedy, doctor_file("%s", "/sys/module/epochfilter") ?
				   "the module was built without BTF: build it with headers "
				   "that have vmlinux and resolve_btfids" :
				   "modprobe epochfilter");
	return doctor_file("%s", "/sys/kernel/btf/epochfilter");
}

static bool ask_bpf(const struct machine *m, char *state, char *remedy)
{
	bool inside = ebpf_user_namespace && ebpf_user_namespace();

	(void)m;
	doctor_put(state, inside ? "CAP_BPF, a BPF token" : "CAP_BPF");
	doctor_put(remedy, inside ? "let root outside mount a BPF file system for this "
				    "user namespace that delegates (see epfctl(8))" :
				    "run as root, or with it and CAP_NET_ADMIN");
	return (caps_has(CAP_SYS_ADMIN) || caps_has(CAP_BPF)) && (!inside || ebpf_token());
}

static bool ask_bpffs(const struct machine *m, char *state, char *remedy)
{
	(void)m;
	doctor_put(state, "bpffs on /sys/fs/bpf");
	doctor_put(remedy, open_no_bpffs());
	return open_bpffs_there();
}

static bool ask_libxdp(const struct machine *m, char *state, char *remedy)
{
	(void)m;
	doctor_put(state, "libxdp's xdp-dispatcher.o");
	doctor_put(remedy, "apt install libxdp1; without it one program has the "
			   "interface to itself");
	return doctor_glob("{/usr,/usr/local}/{lib,lib64,lib/*-linux-gnu}/bpf/"
			   "xdp-dispatcher.o");
}

static bool ask_memlock(const struct machine *m, char *state, char *remedy)
{
	/* Since 5.11 BPF memory is charged to the control group instead. */
	bool charged = m->major > 5 || (m->major == 5 && m->minor >= 11);
	struct rlimit r = { 0 };

	getrlimit(RLIMIT_MEMLOCK, &r);
	if (charged)
		doctor_put(state, "memlock: this kernel does not limit BPF by it");
	else
		snprintf(state, LEN, "memlock: %s",
			 r.rlim_cur == RLIM_INFINITY ? "unlimited" : fmt_bytes(r.rlim_cur).s);
	doctor_put(remedy, "ulimit -l unlimited");
	return charged || r.rlim_cur == RLIM_INFINITY;
}

/* In xdp_vlan.c, which is missing in a build without libbpf. */
int vlan_offloads(const char *ifname, __u32 *on) __attribute__((weak));

/* The offload only rules out some keys, so this is a remark and never missing. */
static bool ask_vlan(const struct machine *m, char *state, char *remedy)
{
	struct if_nameindex *all = vlan_offloads ? if_nameindex() : NULL, *i;
	size_t used = 0;
	__u32 on;

	(void)m;
	(void)remedy;
	doctor_put(state, "no card takes them off");
	for (i = all; i && i->if_name && used + IF_NAMESIZE + 2 < LEN / 2; i++)
		if (!vlan_offloads(i->if_name, &on) && on)
			used += (size_t)snprintf(state + used, LEN - used, "%s%s", used ? ", " : "",
						 i->if_name);
	if (used)
		snprintf(state + used, LEN - used,
			 " takes them off "
			 "(attach --vlan-offload off)");
	if (all)
		if_freenameindex(all);
	return true;
}

static bool ask_gpu(const struct machine *m, char *state, char *remedy)
{
	char text[EPF_WHY_LEN];
	bool there = epf_gpu_there(text);

	(void)m;
	doctor_put(state, there || doctor_nvidia() ? text : "no NVIDIA card");
	doctor_put(remedy, "nothing: audits are done by the CPU, with the same answers");
	return there;
}

static const struct check checks[] = {
	{ "kernel", NEED_USE | BPF_TOO, ask_kernel },
	{ "module support", NEED_USE, ask_modules },
	{ "kernel config", NEED_ATTACH, ask_config },
	{ "kernel BTF", NEED_ATTACH, ask_kernel_btf },
	{ "headers", NEED_BUILD, ask_headers },
	{ "headers for BTF", NEED_BUILD, ask_header_btf },
	{ "module installed", NEED_BUILD, ask_installed },
	{ "module signature", NEED_USE, ask_signature },
	{ "module loaded", NEED_USE, ask_loaded },
	{ "device", NEED_USE, ask_device },
	{ "right to change", NEED_CHANGE | BPF_TOO, ask_net_admin },
	{ "module BTF", NEED_ATTACH, ask_module_btf },
	{ "right to attach", NEED_ATTACH | BPF_TOO, ask_bpf },
	{ "bpffs", NEED_ATTACH | BPF_TOO, ask_bpffs },
	{ "libxdp", NEED_SHARE, ask_libxdp },
	{ "locked memory", NEED_ATTACH, ask_memlock },
	{ "VLAN tags", NEED_ATTACH, ask_vlan },
	{ "GPU", NEED_GPU, ask_gpu },
	{ "BPF backend", NEED_BPF, ask_bpf_built },
	{ "BPF JIT", NEED_SPEED, ask_bpf_jit },
	{ "BPF by users", NEED_BPF, ask_bpf_users },
	{ "holders", NEED_HOLD, ask_bpf_held },
	{ "attachments", NEED_ATTACHED, ask_bpf_attached },
	{ "declared", NEED_DECLARED, ask_declared },
};

/* Headings, in the order in which they are printed. */
static const char *const groups[] = { "for both", "for pure BPF", "for the module", "more" };

static size_t group_of(unsigned int need)
{
	if (need & BPF_TOO)
		return 0;
	switch (need) {
	case NEED_BUILD:
	case NEED_USE:
	case NEED_CHANGE:
	case NEED_ATTACH:
		return 2;
	case NEED_SHARE:
	case NEED_GPU:
	case NEED_DECLARED:
		return 3;
	default:
		return 1;
	}
}

/* Run one check and append it to @all. A build without libbpf lacks some of them. */
static bool examine(const struct check *c, const struct machine *m, json_t *all)
{
	char state[LEN] = "", remedy[LEN] = "";
	bool good = c->ask ? c->ask(m, state, remedy) : true;

	json_array_append_new(all,
			      c->ask ? json_pack("{ss sb ss ss ss*}", "check", c->what, "ok", good,
						 "needed_for", needs[c->need & ~BPF_TOO], "state",
						 state, "remedy", good ? NULL : remedy) :
				       json_null());
	return good;
}

static void print_check(json_t *o)
{
	const char *what, *need, *state, *remedy = "";
	int good;

	if (json_unpack(o, "{ss sb ss ss s?s}", "check", &what, "ok", &good, "needed_for", &need,
			"state", &state, "remedy", &remedy))
		return;
	print_wrapped(27, "%-8s %-17s %s", good ? "ok" : "missing", what, state);
	if (!good)
		print_wrapped(11, "%-8s   for %s: %s", "", need, remedy);
}

static void doctor_text(const bool *able, json_t *all)
{
	size_t group, i;

	printf("filters that are pure BPF, without the module: %s\n",
	       able[NEED_BPF] ? "usable" : "not usable");
	printf("filters of the module: %s; creating and changing them: %s; "
	       "packets: %s\n",
	       able[NEED_USE] ? "usable" : "not usable", able[NEED_CHANGE] ? "yes" : "no",
	       able[NEED_ATTACH] ? "yes" : "no");
	printf("epfctl plan and epfctl dedup need none of this\n");
	for (group = 0; group < ARRAY_SIZE(groups); group++) {
		printf("\n%s:\n", groups[group]);
		for (i = 0; i < ARRAY_SIZE(checks); i++)
			if (group_of(checks[i].need) == group)
				print_check(json_array_get(all, i));
	}
	json_decref(all);
}

static void doctor_json(const bool *able, json_t *all)
{
	json_t *o = json_object();
	size_t i;

	for (i = NEED_USE; i < NR_NEEDS; i++)
		json_object_set_new(o, needs[i], json_boolean(able[i]));
	for (i = json_array_size(all); i-- > 0;)
		if (json_is_null(json_array_get(all, i)))
			json_array_remove(all, i);
	out_json(json_pack("{so so}", "checks", all, "able", o));
}

int cmd_doctor(int argc, char **argv)
{
	static const struct option longs[] = { { 0 } };
	static const struct spec spec = {
		.usage = "doctor",
		.help = "Check this machine: which filters can be used, then what each backend\n"
			"needs. Each line is ok or missing. A line that is missing also says what\n"
			"the thing is needed for and what to do.\n"
			"exit status: 0 filters can be used, of the module or pure BPF (with\n"
			"--backend: of that backend), 2 they cannot\n",
		.shorts = "",
		.longs = longs,
	};
	bool able[NR_NEEDS], good;
	struct machine m;
	json_t *all;
	size_t i;

	if (next_option(argc, argv, &spec) >= 0 || !operands(argc, argv, 0, 0, &spec))
		return EXIT_FAIL;
	if (!doctor_machine(&m))
		return fail_errno(errno, "uname: %m");
	all = json_array();
	for (i = 0; i < NR_NEEDS; i++)
		able[i] = true;
	for (i = 0; i < ARRAY_SIZE(checks); i++) {
		good = examine(&checks[i], &m, all);
		able[checks[i].need & ~BPF_TOO] &= good;
		able[NEED_BPF] &= good || !(checks[i].need & BPF_TOO);
	}
	able[NEED_CHANGE] &= able[NEED_USE];
	able[NEED_ATTACH] &= able[NEED_CHANGE];
	able[NEED_SHARE] &= able[NEED_ATTACH];
	(out_mode == OUT_TEXT ? doctor_text : doctor_json)(able, all);
	return epf_backend_chosen(able[NEED_USE], able[NEED_BPF]) ? EXIT_YES : EXIT_FAIL;
}
