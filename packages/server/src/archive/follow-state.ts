// What a directory that follows an archive knows of it: the file FOLLOWS, which keeps every other program from opening the directory. When
// the directory has taken over, TOOK-OVER says so instead.
import path from 'node:path'
import { createWhole, followsName, type LogPosition, nodeVfs, readFully, sizeOf, writeFully } from '@annal/wal'
import { sha256 } from '../cluster/file-parts.ts'
import { ArchiveError } from './archive-error.ts'

/** The content of FOLLOWS. */
export interface FollowState {
  /** s3://BUCKET/PREFIX/ */
  readonly from: string
  /** Where the copy ends. Undefined while the checkpoint with which it begins is downloaded. */
  readonly end?: {
    readonly position: LogPosition
    /** The number of the newest message, and its checksum in hexadecimal digits. */
    readonly number: number
    readonly sum: string
  }
  /** The timeline of a takeover that was begun. */
  readonly takeover?: number
}

/** The content of TOOK-OVER. */
export interface Takeover {
  readonly from: string
  /** The number of the message with which this directory took over. */
  readonly number: number
}

const tookOverName = 'TOOK-OVER'

export function readFollowState(dataDir: string): Promise<FollowState | undefined> {
  return read<FollowState>(path.join(dataDir, followsName))
}

export function writeFollowState(dataDir: string, state: FollowState): Promise<void> {
  return write(path.join(dataDir, followsName), state)
}

/** Undefined if the directory began its archive, or has none. */
export function readTakeover(dataDir: string): Promise<Takeover | undefined> {
  return read<Takeover>(path.join(dataDir, tookOverName))
}

/** The directory follows no longer. */
export async function endFollowing(dataDir: string, takeover: Takeover): Promise<void> {
  const vfs = nodeVfs()
  await write(path.join(dataDir, tookOverName), takeover)
  await vfs.remove(path.join(dataDir, followsName))
  await vfs.syncDirectory(dataDir)
}

async function write(file: string, content: object): Promise<void> {
  // The checksum of a frame has 64 bits.
  const text = JSON.stringify(content, (_key, value) => (typeof value === 'bigint' ? { u64: String(value) } : value))
  const line = Buffer.from(`${sha256(Buffer.from(text))} ${text}\n`)
  await createWhole(nodeVfs(), file, (opened) => writeFully(opened, line, 0))
}

async function read<T>(file: string): Promise<T | undefined> {
  const vfs = nodeVfs()
  if (!(await vfs.exists(file))) return undefined
  const bytes = Buffer.alloc(await sizeOf(vfs, file))
  const opened = await vfs.open(file, 'read')
  try {
    await readFully(opened, bytes, 0)
  } finally {
    await opened.close()
  }
  const [sum, text = ''] = [bytes.toString().slice(0, 64), bytes.toString().slice(65, -1)]
  if (sha256(Buffer.from(text)) !== sum) throw new ArchiveError('archive_damaged', `${file} is damaged`)
  return JSON.parse(text, (_key, value) =>
    typeof value === 'object' && value !== null && typeof value.u64 === 'string' ? BigInt(value.u64) : value,
  ) as T
}
