/* SPDX-License-Identifier: Apache-2.0
 * What only Linux can tell about a path: its mount, and what the file system there is. Used by fs_posix alone. */
#ifndef RECLOSER_STORE_FS_LINUX_H
#define RECLOSER_STORE_FS_LINUX_H

#include "store/fs.h"

/* Both return 0 or an errno. A symbolic link is followed. */
int linux_stat(const char *path, struct fs_stat *out);
int linux_describe(const char *path, struct fs_traits *out);
/* syncfs on this descriptor writes everything and reports what could not be written. */
bool linux_syncfs_reports(int descriptor);

#endif
