#define _GNU_SOURCE /* statx */
/* SPDX-License-Identifier: Apache-2.0
 * Mount ids and file system types. statx gives the mount id since Linux 5.8, the same version in which syncfs began to
 * report write-back errors; before that, id 0 stands for all mounts and st_dev alone has to do. */
#include "store/fs_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x1000U
#endif

/* Magic numbers from statfs(2) of the file systems whose syncfs is known to write and to report. Overlay is absent on
 * purpose: it syncs the layer below but does not pass its errors on, and with `volatile` it syncs nothing. */
enum { MAGIC_EXT = 0xEF53, MAGIC_XFS = 0x58465342, MAGIC_TMPFS = 0x01021994 };
#define MAGIC_BTRFS 0x9123683EU

int linux_stat(const char *path, struct fs_stat *out)
{
	struct statx got;
	if (statx(AT_FDCWD, path, 0, STATX_BASIC_STATS | STATX_MNT_ID, &got) != 0)
		return errno;
	*out = (struct fs_stat){
		.bytes = got.stx_size,
		.inode = got.stx_ino,
		.device = makedev(got.stx_dev_major, got.stx_dev_minor),
		.mount = got.stx_mask & STATX_MNT_ID ? got.stx_mnt_id : 0,
		.mtime_ns = (int64_t)got.stx_mtime.tv_sec * 1000000000 + got.stx_mtime.tv_nsec,
		.links = got.stx_nlink,
		.mode = got.stx_mode & 07777U,
		.owner = got.stx_uid,
		.is_directory = S_ISDIR(got.stx_mode),
	};
	return 0;
}

static bool kernel_reports(void)
{
	struct utsname name;
	unsigned major = 0, minor = 0;
	if (uname(&name) != 0 || sscanf(name.release, "%u.%u", &major, &minor) != 2)
		return false;
	return major > 5 || (major == 5 && minor >= 8);
}

bool linux_syncfs_reports(int descriptor)
{
	struct statfs got;
	if (!kernel_reports() || fstatfs(descriptor, &got) != 0)
		return false;
	unsigned magic = (unsigned)got.f_type;
	return magic == MAGIC_EXT || magic == MAGIC_XFS || magic == MAGIC_TMPFS || magic == MAGIC_BTRFS;
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw": the word after " - " of the line with this id. */
static void type_of_mount(uint64_t mount, char *type, size_t size)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t room = 0;
	while (file && getline(&line, &room, file) > 0) {
		if (strtoull(line, NULL, 10) != mount)
			continue;
		const char *at = strstr(line, " - ");
		size_t length = at ? strcspn(at + 3, " \n") : 0;
		if (length > 0 && length < size) {
			memcpy(type, at + 3, length);
			type[length] = '\0';
		}
		break;
	}
	free(line);
	if (file)
		fclose(file);
}

static bool is_one_of(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(word, *words) == 0)
			return true;
	return false;
}

int linux_describe(const char *path, struct fs_traits *out)
{
	static const char *const without_journal[] = {"ext2", "vfat", "msdos", "exfat", "fuseblk", NULL};
	struct fs_stat stat;
	struct statfs got;
	memset(out, 0, sizeof *out);
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return errno;
	int failed = fstatfs(descriptor, &got) == 0 ? linux_stat(path, &stat) : errno;
	if (failed == 0) {
		if (stat.mount)
			type_of_mount(stat.mount, out->type, sizeof out->type);
		out->name_max = got.f_namelen > 0 ? (unsigned)got.f_namelen : 255;
		out->syncfs = linux_syncfs_reports(descriptor);
		out->journal = !is_one_of(out->type, without_journal);
	}
	close(descriptor);
	return failed;
}
