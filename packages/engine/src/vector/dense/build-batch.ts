// Links a batch of rows into an arena, in jobs of the pool.
import { assert } from '../../errors.ts'
import { elementAt } from '../element-at.ts'
import { stagingBytes, type WorkerPool } from '../pool.ts'
import type { Arena } from './arena.ts'
import { jobItemsMax } from './arena-plan.ts'
import { header } from './header.ts'
import { work } from './kernel.ts'
import { learnProjection } from './projection.ts'
import type { VectorRows } from './vector-rows.ts'

/** Rows in the order in which the log assigned them, with their versions of birth. */
export interface Batch {
  readonly ordinals: Uint32Array
  readonly births: Uint32Array
  readonly norms: Float32Array
  readonly vectors: VectorRows
}

/**
 * Links a batch into an arena: first its vectors are encoded, as many at a time as there is space for, then all rows are linked. `staged`
 * is awaited before each job, with how the job repairs the graph first.
 */
export async function buildInto(
  arena: Arena,
  batch: Batch,
  pool: WorkerPool,
  staged?: (before: number) => Promise<void>,
): Promise<void> {
  for (let from = 0; from < batch.ordinals.length; from += jobItemsMax) {
    const to = Math.min(batch.ordinals.length, from + jobItemsMax)
    let before = listItems(arena, batch, from, to)
    await staged?.(before)
    const encodableMax = Math.floor(stagingBytes / 4 / arena.shape.params.dimension)
    for (let first = 0; first < to - from; first += encodableMax) {
      const job = {
        before,
        first,
        encodable: Math.min(encodableMax, to - from - first),
        links: first + encodableMax >= to - from,
      }
      await runPiece(arena, batch, { from, to }, job, pool)
      before = work.idle
    }
    arena.setWord(header.rows, arena.word(header.rows) + to - from)
  }
}

async function runPiece(
  arena: Arena,
  batch: Batch,
  { from, to }: { readonly from: number; readonly to: number },
  { before, first, encodable, links }: { before: number; first: number; encodable: number; links: boolean },
  pool: WorkerPool,
): Promise<void> {
  const { dimension } = arena.shape.params
  await pool.runJob(arena, ({ buffer, offset }) => {
    const staged = new Float32Array(buffer, offset, encodable * dimension)
    batch.vectors.copy(from + first, from + first + encodable, staged)
    arena.setWord(header.jobVectors, offset)
    arena.kernel.openJob(before, to - from, first, encodable, links ? 1 : 0)
  })
}

/** Gives every row a head when there are enough rows. Like everything that determines what is built, this depends on the calls only. */
export async function beginHeads(arena: Arena, pool: WorkerPool): Promise<void> {
  const { headBytes, headsFrom } = arena.shape
  if (headBytes === 0 || arena.hasHeads || arena.word(header.end) < headsFrom) return
  await learnProjection(arena)
  await pool.runJob(arena, () => arena.kernel.openHeadsJob())
  arena.endLearning()
}

/** Share of reused rows from which sweeping all removed rows is cheaper than repairing around each. */
const sweepReusedShare = 1 / 64
/** Lists the items of a job and subtracts reused ordinals from the counts. Returns how the graph must be repaired first. */
function listItems(arena: Arena, batch: Batch, from: number, to: number): number {
  let reused = 0
  let unlinked = 0
  let end = arena.word(header.end)
  let entryReused = false
  const entry = arena.word(header.entry)
  for (let i = from; i < to; i++) {
    const ordinal = elementAt(batch.ordinals, i)
    assert(!arena.isAlive(ordinal), `ordinal ${ordinal} is free`)
    if (arena.birth(ordinal) !== undefined) {
      reused++
      // A row that followed another was never counted as linked.
      if (arena.kernel.isFollower(ordinal)) unlinked++
    }
    if (ordinal === entry) entryReused = true
    const item = arena.itemsAddress / 4 + (i - from) * 3
    arena.u32[item] = ordinal
    arena.u32[item + 1] = elementAt(batch.births, i)
    arena.f32[item + 2] = elementAt(batch.norms, i)
    if (ordinal >= end) end = ordinal + 1
  }
  const linked = arena.word(header.linked)
  const sweeps = reused > 64 && reused > linked * sweepReusedShare && arena.word(header.dead) > 0
  arena.setWord(header.end, end)
  arena.setWord(header.linked, linked - reused + unlinked)
  arena.kernel.attach(arena.ownThread)
  if (sweeps) return work.sweep
  // Rows that a sweep has removed already are no longer counted as dead.
  arena.setWord(header.dead, Math.max(0, arena.word(header.dead) - reused))
  if (entryReused) arena.kernel.chooseEntry(to - from)
  return reused > 0 ? work.repair : work.idle
}
