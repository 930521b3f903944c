// Missing and swapped files: every kind of file, deleted, cut, swapped with another of its kind, or replaced by an older copy or by one of
// another directory. Afterwards everything is read correctly or rejected with a code, no error below the directory is a bare error of the
// operating system, a second start finds what the first one left, and `verify` detects the fault in advance.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Engine, verifyArchive, verifyDataDirectory } from '@annal/engine'
import { nodeVfs, type Vfs } from '@annal/wal'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'
import type { EngineParts } from '../../src/engine/engine-parts.ts'
import { openEngine } from '../../src/engine.ts'
import { EngineError } from '../../src/errors.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import { eagerDeltas } from '../snapshot/eager-deltas.ts'
import { applyFault, chosen, type Fault, faultsOf, filesIn, kindOf, kinds, type Way } from './faults.ts'
import { answersOf, copyTree, makeWorld, type World } from './world.ts'

tap.setTimeout(1_200_000)

const seed = chosenSeed()
const isLong = process.env.ANNAL_LONG === '1'
/** Cases for each fault and kind of file, and the number of kinds, which the seed selects. */
const casesMax = Number(process.env.ANNAL_CASES ?? (isLong ? 12 : 1))
const kindsMax = isLong || process.env.ANNAL_CASES !== undefined ? kinds.length : 6
/** Kinds whose names match; all of them by default. */
const kindsWanted = new RegExp(process.env.ANNAL_KINDS ?? '')
const ways: readonly Way[] = ['deleted', 'cut', 'swapped', 'older', 'foreign']
/** The number of ways, which the seed selects. */
const waysMax = isLong || process.env.ANNAL_CASES !== undefined ? ways.length : 4

/** With these codes a start may be rejected, because everything else depends on the damaged file. */
const startRefusals: ReadonlySet<string> = new Set(['log_damaged', 'identity_damaged'])

test(`missing and swapped files (ANNAL_SEED=${seed})`, async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'annal-places-'))
  t.teardown(() => rm(root, { recursive: true }))
  const pool = await openWorkerPool({ threads: 1 })
  t.teardown(() => pool.close())
  const parts = { pool, vfs: withoutSync(nodeVfs()), deltas: eagerDeltas }
  const world = await makeWorld(join(root, 'one'), seed, parts)
  const other = await makeWorld(join(root, 'two'), seed + 1, parts)
  const random = seededRandom(seed)
  const files = filesIn(world.dir)
  const tally = new Map<string, number>()
  for (const way of chosen(ways, waysMax, random)) {
    const all = faultsOf(way, { dir: world.dir, older: world.older, foreign: other.dir })
    for (const [kind] of chosen(kinds, kindsMax, random)) {
      if (!kindsWanted.test(kind)) continue
      const cases = chosen(
        all.filter((fault) => fault.kind === kind),
        casesMax,
        random,
      )
      t.ok(
        cases.length > 0 ||
          (way === 'swapped' && files.filter((file) => kindOf(file) === kind).length < 2) ||
          way === 'older',
        `${kind} can be ${way}`,
      )
      for (const fault of cases) {
        const copy = join(root, 'copy')
        await copyTree(world.dir, copy)
        if (!applyFault(copy, world.dir, fault)) continue
        const judged = await judge(copy, world, fault, parts, root)
        const key = `${way}: ${judged.outcome}`
        tally.set(key, (tally.get(key) ?? 0) + 1)
        for (const sentence of judged.faults) t.fail(`${nameOf(fault, root)}: ${judged.outcome}: ${sentence}`)
      }
    }
  }
  t.comment(JSON.stringify(Object.fromEntries([...tally].sort())))
  t.ok(tally.size > 0)
})

/** No result here depends on durability, and syncs would take most of the time. */
function withoutSync(vfs: Vfs): Vfs {
  return {
    ...vfs,
    syncDirectory: async () => undefined,
    open: async (path, mode) => ({ ...(await vfs.open(path, mode)), datasync: async () => undefined }),
  }
}

function nameOf({ way, reach, file, bytes }: Fault, root: string): string {
  return `${file} (${reach}) ${way}${bytes === undefined ? '' : ` with ${bytes.slice(root.length + 1)}`}`
}

interface Judged {
  /** A word for the statistics. */
  readonly outcome: string
  /** Violations. */
  readonly faults: readonly string[]
}

async function judge(dataDir: string, world: World, fault: Fault, parts: EngineParts, root: string): Promise<Judged> {
  const faults: string[] = []
  const verified = await verifyDataDirectory({ dataDir, scratchDir: root }).catch((error: Error) => error)
  if (verified instanceof Error && !isNamed(verified)) faults.push(`verify: ${verified.stack}`)
  const isSaidGood = !(verified instanceof Error) && verified.isGood
  const isSilent = !(verified instanceof Error) && verified.findings.length === 0
  let outcome = ''
  // The second start must find what the first one found, unless the first one repaired it.
  for (let start = 0; start < 2; start++) {
    const found = await startAndLook(dataDir, world, fault, parts)
    faults.push(...found.faults.map((sentence) => `start ${start}: ${sentence}`))
    outcome = start === 0 ? found.outcome : `${outcome}, then ${found.outcome}`
    if (found.outcome === 'right, named' ? isSilent : found.outcome !== 'right' && isSaidGood)
      faults.push(`verify says good, and start ${start} is ${found.outcome}`)
  }
  return { outcome, faults }
}

async function startAndLook(dataDir: string, world: World, fault: Fault, parts: EngineParts): Promise<Judged> {
  let engine: Engine
  try {
    engine = await openEngine({ dataDir, threads: 1, archive: { maxBytes: 1e12, maxAgeMs: 1e12 } }, parts)
  } catch (error) {
    const isRefused = startRefusals.has((error as { code?: string }).code ?? '')
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
    if (isRefused && reasons.length === 0) faults.push('something is refused, and health names nothing')
    if (/backup|archive/.test(kindOf(fault.file) ?? '')) faults.push(...(await lookBack(engine, dataDir, world)))
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
