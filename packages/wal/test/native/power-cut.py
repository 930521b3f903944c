# Stops a mounted ext4 or xfs file system as a power cut would, when a line comes in: nothing that was not synced reaches
# the disk.
import fcntl, os, struct, sys

FS_IOC_SHUTDOWN = 0x8004587D
NO_LOG_FLUSH = 2

directory = os.open(sys.argv[1], os.O_RDONLY)
sys.stdin.readline()
fcntl.ioctl(directory, FS_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
