// Finds the checkpoints of a data directory by their manifests.
import { join } from 'node:path'
import { EngineError } from '../errors.ts'
import type { Checkpoint, CheckpointPlace } from './checkpoint.ts'
import { lsnHeldByAll, type Manifest, manifestName, readManifest } from './manifest.ts'

const checkpointName = /^(\d{20})-[0-9a-f]{8}$/

/** A checkpoint that cannot be used. */
export interface DamagedCheckpoint {
  readonly path: string
  readonly message: string
  /** Whether it is useless for any directory, so that newer checkpoints may replace it. */
  readonly isLost: boolean
}

/** Finds the checkpoints with valid manifests, newest first, and the faults of the others. */
export async function findCheckpoints(
  place: CheckpointPlace,
): Promise<{ readonly good: Checkpoint[]; readonly damaged: DamagedCheckpoint[] }> {
  const { vfs, dir } = place
  if (!(await vfs.exists(dir))) return { good: [], damaged: [] }
  const names = (await vfs.list(dir))
    .filter((name) => checkpointName.test(name))
    .sort()
    .reverse()
  const good: Checkpoint[] = []
  const damaged: DamagedCheckpoint[] = []
  for (const name of names) {
    const path = join(dir, name)
    try {
      const manifest = await readManifest(vfs, join(path, manifestName))
      const stranger = strangerFault(place, name, manifest)
      if (stranger === undefined) good.push({ path, manifest })
      // Not removed: it may be the only copy of another directory's data.
      else damaged.push({ path, message: `${path} is not used: ${stranger}`, isLost: false })
    } catch (error) {
      if (!(error instanceof EngineError)) throw error
      damaged.push({ path, message: error.message, isLost: error.code === 'snapshot_damaged' })
    }
  }
  return { good: good.sort(newestFirst), damaged }
}

/** Of two checkpoints of one record, the one that holds more of the log comes first. */
function newestFirst({ manifest: a }: Checkpoint, { manifest: b }: Checkpoint): number {
  return b.lsn - a.lsn || lsnHeldByAll(b) - lsnHeldByAll(a)
}

/** Why a checkpoint does not belong to this directory or to its folder name. */
function strangerFault({ directory }: CheckpointPlace, folder: string, manifest: Manifest): string | undefined {
  const [own, { directory: writer, name }] = [directory(), manifest]
  if (writer !== undefined && own !== undefined && writer !== own)
    return `it is a checkpoint of directory ${writer}, but this is directory ${own}`
  if (name !== undefined && name !== folder) return `its manifest belongs to checkpoint ${name}`
  return undefined
}
