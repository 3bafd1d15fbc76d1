// SPDX-License-Identifier: GPL-2.0
/* Errors of calls to the module and of files that are written. */
#include "cmd.h"

#include <errno.h>
#include <string.h>

#include "libepf/atomic_file.h"

/* What to do, where the reason is the same for every verb. */
static const char *advice(int err)
{
	switch (err) {
	case EINVAL:
		return "these parameters are refused";
	case E2BIG:
		return "above the module's limit of one filter, see "
		       "/sys/module/epochfilter/parameters";
	case ENOSPC:
		return "the limits on number or memory of filters are reached, "
		       "see /sys/module/epochfilter/parameters";
	case ENOMEM:
		return "not enough memory, or over the limit of this control "
		       "group";
	case EBADMSG:
		return "this snapshot is refused: save again";
	case ENODEV:
		return "the filter was destroyed by force";
	case ENOTTY:
		return "the loaded module does not know this command: load the "
		       "one that belongs to this epfctl";
	case EUCLEAN:
		return EPF_HALF_SWAPPED;
	case EOPNOTSUPP:
		return "the loaded module does not know this kind of filter";
	default:
		return strerror(err);
	}
}

int fail_call(int err, const char *doing, const char *name)
{
	if (err == -EPERM)
		return caps_denied(doing);
	if (err == -ENOENT && name)
		return fail("there is no filter '%s': 'epfctl list' shows them",
			    name);
	if (name)
		return fail("%s '%s': %s", doing, name, advice(-err));
	return fail("%s: %s", doing, advice(-err));
}

int fail_write(const char *path, int err, bool renamed)
{
	if (renamed)
		return fail("%s: saved, but its directory cannot be synced (%s): "
			    "after a power cut it may be the old file", path,
			    epf_file_why(err));
	if (err == -EINVAL)
		return fail("%s is not a regular file: take another path", path);
	return fail("%s: %s; nothing was changed", path, epf_file_why(err));
}
