// Exact answers under filters, by scans of float32 rows.
import { openDenseField, openWorkerPool } from '@annal/engine/testing'
import type { Dataset } from '../sets/dataset.ts'
import { fill } from '../sets/fill.ts'

/** Rows in the order of a scan that contain the ten best of most filters. */
const scanned = 2_000

/** For each share and query, the ordinals of the k nearest rows that `allows` accepts. */
export async function filteredTruth(
  set: Dataset,
  queries: readonly Float32Array[],
  { shares, k, allows }: { shares: readonly number[]; k: number; allows(row: number, share: number): boolean },
): Promise<readonly (readonly ReadonlySet<number>[])[]> {
  const { dimension, base, metric } = set
  const pool = await openWorkerPool()
  // A graph with almost no links, because only its rows are scanned.
  const params = { dimension, spaceType: metric, precision: 'float32' as const, M: 2, efConstruction: 2 }
  const field = await openDenseField({ kind: 'dense', name: 'exact', params }, pool)
  await fill(field, base, dimension, `${set.name} exact`)
  const version = 1e6
  const rows = base.length / dimension
  const lists = shares.map((share) =>
    Uint32Array.from({ length: rows }, (_, i) => i).filter((row) => allows(row, share)),
  )
  const truth: ReadonlySet<number>[][] = shares.map(() => [])
  for (const query of queries) {
    const near = await field.scan(query, { k: Math.min(rows, scanned), version })
    for (const [i, share] of shares.entries()) {
      const allowed = near.ordinals.filter((row) => allows(row, share))
      const best =
        allowed.length >= k ? allowed : (await field.scan(query, { k, version, ordinals: lists[i]! })).ordinals
      truth[i]?.push(new Set(best.subarray(0, k)))
    }
  }
  await field.close()
  await pool.close()
  return truth
}
