// One search, from the checked request to hits: pin a version, evaluate the filter, run each field by the cheapest plan,
// decorate, let go. The result shows the collection as of one version.
import { EngineError } from '../errors.ts'
import type { SearchHit, SearchResult } from '../object.ts'
import type { Replica } from '../replica/replica.ts'
import type { DenseField, DenseHits, OrdinalBitmap } from '../vector/field.ts'
import { denseHits } from './hits.ts'
import type { DenseTask, SearchPlanInput } from './request.ts'

/** What the filter leaves, counted exactly. */
interface Matches {
  readonly bitmap: OrdinalBitmap
  readonly count: number
  ordinals(): Uint32Array
}

export async function search(replica: Replica, input: SearchPlanInput): Promise<SearchResult> {
  const version = replica.version
  const lsn = replica.lsnApplied
  const release = replica.pins.pin(version)
  try {
    const matches = input.filter && matchesOf(replica, input)
    const results = await Promise.all(
      input.tasks.map(async (task): Promise<[string, readonly SearchHit[]]> => {
        if (task.kind === 'sparse') {
          throw new EngineError(
            'not_supported',
            `search in sparse fields is not supported yet; field ${task.definition.name} is sparse`,
            {
              field: task.definition.name,
            },
          )
        }
        const field = replica.dense[task.at] as DenseField
        const found = await runDense(field, task, { version, matches, input })
        return [task.definition.name, denseHits(replica, task, found, { field, includeVectors: input.includeVectors })]
      }),
    )
    return { results: Object.fromEntries(results), lsn }
  } finally {
    release()
  }
}

function matchesOf(replica: Replica, input: SearchPlanInput): Matches {
  const { bitmap, count } = replica.filters.evaluate(input.filter ?? [])
  return { bitmap, count, ordinals: () => bitmap.toOrdinals() }
}

/** Nothing matches: nothing to do. Few match: look at each. Else: walk the graph and keep what matches. */
async function runDense(
  field: DenseField,
  task: DenseTask,
  context: { readonly version: number; readonly matches: Matches | undefined; readonly input: SearchPlanInput },
): Promise<DenseHits> {
  const { version, matches, input } = context
  const { k, query } = task
  if (matches?.count === 0)
    return { ordinals: new Uint32Array(0), similarities: new Float32Array(0), visited: 0, distances: 0 }
  if (matches && matches.count <= input.prefilterThreshold)
    return field.scan(query, { k, version, ordinals: matches.ordinals() })
  if (!matches) return field.search(query, { k, ef: task.ef, version })
  const ef = Math.ceil((task.ef * (100 + input.boostPercentage)) / 100)
  return field.search(query, { k, ef, version, allowed: matches.bitmap })
}
