// Files of any size in a store of objects, in parts of a limited size. The name of a part is its SHA-256, so a part that is there already
// is never written again, and every part that is read is proved.
import { createHash } from 'node:crypto'
import path from 'node:path'
import { readFully, type Vfs, type VfsFile, writeFully } from '@annal/wal'

/** A file in a store. */
export interface FileInParts {
  readonly name: string
  readonly bytes: number
  /** SHA-256 of each part, in order. */
  readonly parts: readonly string[]
}

/** Where parts are stored. */
export interface PartStore {
  /** The largest part, in bytes. */
  readonly partBytesMax: number
  /** The key of the object that a part is. */
  keyOf(sum: string): string
  /** Stores a part unless it exists. Rejects if it may not be stored. */
  put(sum: string, bytes: Uint8Array): Promise<'stored' | 'exists'>
  /** Returns undefined if there is no such part. */
  get(sum: string): Promise<Uint8Array | undefined>
  /** The error for a part that is missing or damaged, or for a file that changed. `problem` names the file. */
  damaged(problem: string): Error
}

/** How a file is uploaded. */
export interface UploadWatch {
  /** Parts that are known to be in the store; those that are uploaded are added. */
  readonly known: Set<string>
  /** Called with the bytes that were stored. */
  readonly onBytes: (bytes: number) => void
  /** Throws when the upload is no longer wanted. */
  readonly checkWanted: () => void
}

/** Uploads the first `bytes` bytes of a file. Rejects as the store does. */
export async function uploadFile(
  vfs: Vfs,
  store: PartStore,
  { dir, name, bytes }: { readonly dir: string; readonly name: string; readonly bytes: number },
  { known, onBytes, checkWanted }: UploadWatch,
): Promise<FileInParts> {
  const parts: string[] = []
  const file = await vfs.open(path.join(dir, name), 'read')
  try {
    for (let offset = 0; offset < bytes; offset += store.partBytesMax) {
      checkWanted()
      const part = Buffer.allocUnsafe(Math.min(store.partBytesMax, bytes - offset))
      if ((await readFully(file, part, offset)) < part.length)
        throw store.damaged(`${name} ended before byte ${bytes} while it was uploaded`)
      const sum = sha256(part)
      parts.push(sum)
      if (known.has(sum)) continue
      if ((await store.put(sum, part)) === 'stored') onBytes(part.length)
      known.add(sum)
    }
  } finally {
    await file.close()
  }
  return { name, bytes, parts }
}

/**
 * Downloads a file into a folder. What an earlier download left of it is kept as far as its parts have their sums. Rejects if a part
 * is missing or differs, and as the store does.
 */
export async function downloadFile(
  vfs: Vfs,
  store: PartStore,
  { name, bytes, parts }: FileInParts,
  { dir, onBytes }: { readonly dir: string; readonly onBytes?: (bytes: number) => void },
): Promise<void> {
  if (path.basename(name) !== name || name === '' || name.startsWith('.'))
    throw store.damaged(`${name} is not a file name`)
  const target = path.join(dir, name)
  const file = await vfs.open(target, (await vfs.exists(target)) ? 'write' : 'create')
  try {
    const held = await heldParts(file, store.partBytesMax, parts)
    let offset = held.bytes
    await file.truncate(offset)
    if (offset > 0) onBytes?.(offset)
    for (const sum of parts.slice(held.count)) {
      const found = await store.get(sum)
      if (found === undefined) throw store.damaged(`the object ${store.keyOf(sum)} of ${name} is missing`)
      if (sha256(found) !== sum) throw store.damaged(`the object ${store.keyOf(sum)} of ${name} is damaged`)
      const part = Buffer.from(found.buffer, found.byteOffset, found.byteLength)
      await writeFully(file, part, offset)
      offset += part.length
      onBytes?.(part.length)
    }
    if (offset !== bytes) throw store.damaged(`${name} has ${offset} bytes instead of ${bytes}`)
    await file.datasync()
  } finally {
    await file.close()
  }
}

/** The parts at the beginning of a file that are those of the listing. */
async function heldParts(
  file: VfsFile,
  partBytesMax: number,
  parts: readonly string[],
): Promise<{ readonly count: number; readonly bytes: number }> {
  const size = await file.size()
  let bytes = 0
  for (const [count, sum] of parts.entries()) {
    const part = Buffer.allocUnsafe(Math.min(partBytesMax, size - bytes))
    if (part.length === 0) return { count, bytes }
    await readFully(file, part, bytes)
    if (sha256(part) !== sum) return { count, bytes }
    bytes += part.length
  }
  return { count: parts.length, bytes }
}

/** The SHA-256 of some bytes in hexadecimal digits. */
export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
