// Judges a damaged directory: everything is read correctly or rejected with a code, a second start finds what the first one left, and
// `verify` detects in advance what a start will reject.
import { type Engine, verifyArchive, verifyDataDirectory } from '@annal/engine'
import type { Vfs } from '@annal/wal'
import type { EngineParts } from '../../src/engine/engine-parts.ts'
import { openEngine } from '../../src/engine.ts'
import { EngineError } from '../../src/errors.ts'
import { answersOf, type World } from './world.ts'

/** With these codes a start may be rejected, because everything else depends on the damaged file. */
const startRefusals: ReadonlySet<string> = new Set(['log_damaged', 'identity_damaged'])

export interface Judged {
  /** A word for the statistics. */
  readonly outcome: string
  /** Violations. */
  readonly faults: readonly string[]
}

export interface JudgeWork {
  readonly parts: EngineParts
  readonly scratchDir: string
  /** Codes with which a start may be refused, besides those of a damaged log or identity. */
  readonly alsoRefused?: string
  /** Reads may find what a start does not read: damage of single vectors. */
  readonly readsFind?: boolean
  /** Whether backups and the past are read, too. */
  readonly looksBack: boolean
}

/** No result here depends on durability, and syncs would take most of the time. */
export function withoutSync(vfs: Vfs): Vfs {
  return {
    ...vfs,
    syncDirectory: async () => undefined,
    open: async (path, mode) => ({ ...(await vfs.open(path, mode)), datasync: async () => undefined }),
  }
}

export async function judge(dataDir: string, world: World, work: JudgeWork): Promise<Judged> {
  const faults: string[] = []
  const verified = await verifyDataDirectory({ dataDir, scratchDir: work.scratchDir }).catch((error: Error) => error)
  if (verified instanceof Error && !isNamed(verified)) faults.push(`verify: ${verified.stack}`)
  const isSaidGood = !(verified instanceof Error) && verified.isGood
  const archived = await verifyArchive({ dataDir }).catch((error: Error) => error)
  if (archived instanceof Error && !isNamed(archived)) faults.push(`verify of the archive: ${archived.stack}`)
  const isArchiveGood = archived === undefined || (!(archived instanceof Error) && archived.faults.length === 0)
  const isSilent = !(verified instanceof Error) && verified.findings.length === 0 && isArchiveGood
  let outcome = ''
  // The second start must find what the first one found, unless the first one repaired it.
  for (let start = 0; start < 2; start++) {
    const found = await startAndLook(dataDir, world, work)
    faults.push(...found.faults.map((sentence) => `start ${start}: ${sentence}`))
    outcome = start === 0 ? found.outcome : `${outcome}, then ${found.outcome}`
    if (found.outcome === 'right, named' ? isSilent : found.outcome !== 'right' && isSaidGood)
      faults.push(`verify says good, and start ${start} is ${found.outcome}`)
  }
  return { outcome, faults }
}

async function startAndLook(dataDir: string, world: World, work: JudgeWork): Promise<Judged> {
  const { parts, looksBack, alsoRefused, readsFind = false } = work
  let engine: Engine
  try {
    engine = await openEngine({ dataDir, threads: 1, archive: { maxBytes: 1e12, maxAgeMs: 1e12 } }, parts)
  } catch (error) {
    const code = (error as { code?: string }).code ?? ''
    const isRefused = startRefusals.has(code) || code === alsoRefused
    return { outcome: 'start refused', faults: isRefused ? [] : [`${(error as Error).stack}`] }
  }
  const faults: string[] = []
  try {
    const { reasons } = engine.health()
    const answers = await answersOf(engine)
    let isRefused = false
    for (const [name, expected] of world.answers) {
      const found = answers.get(name)
      if (found === undefined) faults.push(`${name} is absent`)
      for (const key of ['digest', 'objects', 'hits'] as const) {
        if (found?.[key] === 'refused') isRefused = true
        else if (found?.[key] !== expected[key]) faults.push(`${name} gives wrong ${key}`)
      }
    }
    if (isRefused && reasons.length === 0 && !readsFind) faults.push('something is refused, and health names nothing')
    if (looksBack) faults.push(...(await lookBack(engine, dataDir, world)))
    return { outcome: isRefused ? 'refused' : reasons.length > 0 ? 'right, named' : 'right', faults }
  } catch (error) {
    return { outcome: 'failed', faults: [...faults, `${(error as Error).stack}`] }
  } finally {
    await engine.close()
  }
}

/** Backups and the past are the right state or rejected with a code, and `verify` finds what is rejected. */
async function lookBack(engine: Engine, dataDir: string, world: World): Promise<string[]> {
  const faults: string[] = []
  const { backups } = engine.database()
  const refused = async (what: string, restore: () => Promise<unknown>, digest: string): Promise<boolean> => {
    try {
      await restore()
      if (engine.database().collection('t').stateDigest() !== digest) faults.push(`${what} restores another state`)
      await engine.database().deleteCollection('t')
      return false
    } catch (error) {
      if (!isNamed(error as Error)) faults.push(`${what}: ${(error as Error).stack}`)
      return true
    }
  }
  for (const [name, digest] of world.backups) {
    if (!backups.list().some((backup) => backup.name === name)) {
      if (engine.health().reasons.length === 0) faults.push(`backup ${name} is gone, and nothing says so`)
      continue
    }
    const isRefused = await refused(`backup ${name}`, () => backups.restore(name, 't'), digest)
    const found = await backups.verify(name)
    if (isRefused !== found.length > 0)
      faults.push(`backup ${name}: refused ${isRefused}, verify finds ${found.length}`)
  }
  const { lsn, digest } = world.past
  const isRefused = await refused('the past', () => backups.restorePast('a', 't', { lsn }), digest)
  const archived = await verifyArchive({ dataDir })
  if (isRefused && archived?.faults.length === 0) faults.push('the past is refused, and the archive is said to be good')
  return faults
}

/** Whether an error has a code of Annal and names the file or object that it is about. */
function isNamed(error: Error): boolean {
  const code = (error as { code?: string }).code ?? ''
  return (
    (error instanceof EngineError || error.name === 'WalError') && /^[a-z_]+$/.test(code) && error.message.length > 20
  )
}
