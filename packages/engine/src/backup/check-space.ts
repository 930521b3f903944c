// Refuses work for which the disk has no room.
import { EngineError } from '../errors.ts'
import type { BackupHost } from './host.ts'

/** Refuses early when the disk has too little space. */
export async function checkSpace(host: Pick<BackupHost, 'vfs' | 'dataDir'>, bytes: number): Promise<void> {
  const free = await host.vfs.freeBytes(host.dataDir)
  if (free >= bytes) return
  throw new EngineError('read_only', `this needs ${bytes} bytes of free disk space, but only ${free} are free`, {
    field: 'disk',
    value: free,
    limit: bytes,
  })
}
