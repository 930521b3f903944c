// A disk with a power cut: ext4 in a file behind a loop device. The file system itself drops everything that was not synced, including the
// journal, and every later call fails. Linux as root only.
import { execFile } from 'node:child_process'
import { mkdir, rm, truncate, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)
const diskBytes = 512 * 1024 * 1024
/** FS_IOC_SHUTDOWN with FS_GOING_FLAGS_NOLOGFLUSH. */
const shutdown = `
import fcntl, os, struct, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
fcntl.ioctl(fd, 0x8004587d, struct.pack('I', 2))
`

export interface PowerCutDisk {
  /** Where the disk is mounted. */
  readonly dir: string
  cut(): Promise<void>
  /** Once no process uses the disk: unmounts it, and mounts it like the next boot. */
  boot(): Promise<void>
  remove(): Promise<void>
}

/** Rejects with the reason if such a disk cannot be created. */
export async function makeDisk(base: string): Promise<PowerCutDisk> {
  const image = path.join(base, 'disk.img')
  const dir = path.join(base, 'disk')
  await writeFile(image, '')
  await truncate(image, diskBytes)
  await run('mkfs.ext4', ['-q', '-F', '-E', 'lazy_itable_init=0,lazy_journal_init=0', image])
  await mkdir(dir)
  const mount = () => run('mount', ['-o', 'loop', image, dir])
  const disk: PowerCutDisk = {
    dir,
    async cut() {
      await run('python3', ['-c', shutdown, dir])
    },
    async boot() {
      await unmount(dir)
      await mount()
    },
    async remove() {
      await unmount(dir)
      await rm(base, { recursive: true })
    },
  }
  await mount()
  try {
    // Only an attempt shows whether this kernel permits the cut.
    await disk.cut()
    await disk.boot()
    return disk
  } catch (error) {
    await disk.remove()
    throw error
  }
}

/** A process that just exited may still use the disk. */
async function unmount(dir: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await run('umount', [dir])
      return
    } catch (error) {
      if (tries >= 50) throw error
      await sleep(100)
    }
  }
}
