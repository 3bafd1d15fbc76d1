// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Open the device, filters and snapshots. Each error says what to do. */
#include "cmd.h"
#include "ebpf/ebpf.h"

#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

bool open_bpffs_there(void)
{
	struct statfs fs;

	return !statfs("/sys/fs/bpf", &fs) && (unsigned long)fs.f_type == BPF_FS_MAGIC;
}

static bool own_mounts(void)
{
	return ebpf_own_mounts && ebpf_own_mounts();
}

const char *open_no_bpffs(void)
{
	if (own_mounts())
		return "no BPF file system at /sys/fs/bpf, and one that is mounted here ends with "
		       "this command: use 'nsenter --net=/run/netns/NAME' in place of "
		       "'ip netns exec NAME'";
	return "no BPF file system at /sys/fs/bpf, which attachments and filters without the "
	       "module need: run 'mount -t bpf bpf /sys/fs/bpf'";
}

int open_device(void)
{
	int dev = epf_dev_open();
	bool none = dev == -ENOENT || dev == -ENXIO || dev == -ENODEV;

	if (none && epf_backend_chosen(false, true) && own_mounts() && !open_bpffs_there())
		dev = -ENOTSUP;
	if (none && dev != -ENOTSUP)
		fail_errno(dev,
			   EPF_DEVICE " is not there: load the module with 'modprobe "
				      "epochfilter' ('epfctl doctor' says more)%s",
			   caps_admin() ? "" :
					  "; with CAP_BPF and CAP_NET_ADMIN filters "
					  "need no module");
	else if (dev == -ENOTSUP)
		fail_errno(dev, "%s%s", open_no_bpffs(),
			   caps_admin() ? "" : ", for which this process lacks CAP_SYS_ADMIN");
	else if ((dev == -EACCES || dev == -EPERM) && !epf_backend_chosen(true, false))
		fail_errno(dev, EPF_BPF_PINS " may not be used by this user: run as root, or "
					     "as the owner of it or of /sys/fs/bpf");
	else if (dev == -EACCES || dev == -EPERM)
		fail_errno(dev, EPF_DEVICE " may not be opened by this user: run as root, "
					   "or join the group that owns it");
	else if (dev < 0)
		fail_errno(dev, EPF_DEVICE ": %s", strerror(-dev));
	return dev;
}

int open_filter(const char *name)
{
	int dev, filter;

	if (!parse_name(name))
		return -EINVAL;
	dev = open_device();
	if (dev < 0)
		return dev;
	filter = epf_dev_find(dev, name);
	epf_close(dev);
	if (filter < 0)
		fail_call(filter, "opening", name);
	return filter;
}

bool open_snapshot(const char *path, struct epf_snap_file *file)
{
	struct meter meter = { .what = "checking" };
	enum epf_snap_fault fault;
	int err;

	catch_signals();
	err = epf_snap_open(path, file, meter_update, &meter, &fault);
	meter_end(&meter);
	if (!err)
		return true;
	if (err == -ECANCELED)
		fail("%s: stopped while checking", path);
	else if (err == -ESPIPE)
		fail("%s is not a regular file", path);
	else if (fault == EPF_SNAP_IO)
		fail_errno(-err, "%s: %m", path);
	else
		fail("%s %s: %s", path, epf_snap_fault_text(fault), epf_snap_fault_advice(fault));
	return false;
}

int open_named(const char *name)
{
	int dev = open_device(), filter, second;

	if (dev < 0)
		return dev;
	filter = epf_dev_filter(dev, name);
	second = filter == -ENOENT ? epf_backend_second(dev) : -ENOENT;
	if (second >= 0) {
		filter = epf_dev_filter(second, name);
		epf_close(second);
	}
	epf_close(dev);
	return filter;
}
