// Annal in this process, with the settings that a program gets. Every batch is on disk when it is acknowledged.
import { openEngine, type Precision } from '@annal/engine'
import { type Database, inBatches, k, type OpenDatabase, parts } from '../database.ts'

export const openAnnal: OpenDatabase = async ({ dimension, metric }, folder, variant): Promise<Database> => {
  const engine = await openEngine({ dataDir: folder })
  const precision = variant as Precision
  const params = { dimension, spaceType: metric, precision, M: 16, efConstruction: 128 }
  const docs = await engine
    .database()
    .createCollection({ name: 'docs', fields: [{ name: 'v', type: 'vector', params }] })
  return {
    fill: (base) =>
      inBatches(base, dimension, (rows, first) =>
        docs.upsert(
          rows.map((row, i) => ({ id: `${first + i}`, filter: { part: (first + i) % parts }, fields: { v: row } })),
        ),
      ),
    async search({ query, ef, bound }) {
      const filter = bound < parts ? { filter: [{ part: { $lt: bound } }] } : {}
      const { results } = await docs.search({ fields: { v: { query, limit: k, ef } }, ...filter })
      return results.v.map(({ id }) => Number(id))
    },
    close: () => engine.close(),
  }
}
