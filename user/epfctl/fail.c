// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Errors of calls to the module and of files that are written. */
#include "cmd.h"

#include <errno.h>
#include <string.h>

#include "libepf/atomic_file.h"

/* Why the call failed, and what to do, if that is the same for every verb. */
static const char *advice(int err)
{
	switch (err) {
	case EINVAL:
		return "the parameters are invalid";
	case E2BIG:
		return "this is above the limit for one filter: raise max_filter_mib in "
		       "/sys/module/epochfilter/parameters";
	case ENOSPC:
		return "a limit on the number or memory of filters is reached: destroy a "
		       "filter, or raise the limit in "
		       "/sys/module/epochfilter/parameters";
	case ENOMEM:
		return "out of memory, or above the limit of this control group";
	case EBADMSG:
		return "the snapshot is invalid: save it again";
	case ENODEV:
		return "the filter was destroyed by force";
	case ENOTTY:
		return "the loaded module does not know this command: load the "
		       "module that belongs to this epfctl";
	case EUCLEAN:
		return EPF_HALF_SWAPPED;
	case EOPNOTSUPP:
		return "the loaded module does not know this kind of filter: load a "
		       "newer one";
	default:
		return strerror(err);
	}
}

int fail_call(int err, const char *doing, const char *name)
{
	if (err == -EPERM)
		return caps_denied(doing);
	if (err == -ENOENT && name)
		return fail_errno(err, "there is no filter '%s': 'epfctl list' shows all filters",
				  name);
	if (name)
		return fail_errno(err, "%s '%s': %s", doing, name, advice(-err));
	return fail_errno(err, "%s: %s", doing, advice(-err));
}

int fail_write(const char *path, int err, bool renamed)
{
	if (renamed)
		return fail_errno(err,
				  "%s is saved, but its directory cannot be synced (%s): "
				  "after a power failure it may be the old file",
				  path, epf_file_why(err));
	if (err == -EINVAL)
		return fail_errno(err, "%s is not a regular file: give another path", path);
	return fail_errno(err, "%s: %s; nothing was changed", path, epf_file_why(err));
}
