// Applies the changes of a trace to an engine directly, as a program would, for comparison with a replay.
import {
  type CollectionDefinition,
  type DenseFieldSchema,
  type DenseSchemaParams,
  type FieldSchema,
  type ObjectInput,
  openEngine,
} from '@annal/engine'
import type { OpenTrace } from '@annal/replay'

const inFlight = 64

type Change = (
  collection: ReturnType<ReturnType<Awaited<ReturnType<typeof openEngine>>['database']>['collection']>,
) => Promise<unknown>

/** Returns objects per second. Everything is decoded before the clock starts. */
export async function loadDirectly(trace: OpenTrace, dataDir: string): Promise<number> {
  const changes: Change[] = []
  let objects = 0
  let definition: CollectionDefinition | undefined
  for await (const entry of trace.entries()) {
    if (entry.kind !== 'event') continue
    const { event } = entry
    if (event.kind === 'collection-created') {
      const { dimension, precision, spaceType, M, efConstruction } = dense(event.fields)
      const params = { dimension, precision, spaceType, M, efConstruction }
      definition = { name: event.name, fields: [{ name: 'dense', type: 'vector', params }] }
    } else if (event.kind === 'objects-upserted') {
      const { vectors } = event.dense[0] as { vectors: Float32Array }
      const length = vectors.length / event.ids.length
      const inputs: ObjectInput[] = event.ids.map((id, i) => ({
        id,
        meta: event.metas[i] as Uint8Array,
        filter: event.filters[i] as string,
        fields: { dense: vectors.subarray(i * length, (i + 1) * length) },
      }))
      changes.push((collection) => collection.upsert(inputs))
      objects += inputs.length
    } else if (event.kind === 'objects-deleted') {
      changes.push((collection) => collection.delete(event.ids))
      objects += event.ids.length
    } else if (event.kind === 'filters-replaced') {
      const updates = event.ids.map((id, i) => ({ id, filter: event.filters[i] as string }))
      changes.push((collection) => collection.updateFilters(updates))
      objects += updates.length
    }
  }
  if (definition === undefined) throw new Error('the trace creates no collection')
  const engine = await openEngine({ dataDir, keepLog: true })
  const collection = await engine.database().createCollection(definition)
  const running = new Set<Promise<unknown>>()
  const from = performance.now()
  for (const change of changes) {
    const done: Promise<unknown> = change(collection).finally(() => running.delete(done))
    running.add(done)
    if (running.size >= inFlight) await Promise.race(running)
  }
  await Promise.all(running)
  const seconds = (performance.now() - from) / 1_000
  await engine.close()
  return objects / seconds
}

function dense(fields: readonly FieldSchema[]): DenseSchemaParams {
  // The workload has one dense field.
  return (fields[0] as DenseFieldSchema).params
}
