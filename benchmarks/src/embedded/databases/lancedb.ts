// LanceDB from its npm package: HNSW over codes of 8 bits in one partition, and a scalar index of the part.
import { installed } from '../../ann/peers/install.ts'
import { type Database, inBatches, k, type OpenDatabase, parts } from '../database.ts'

interface Query {
  distanceType(type: string): Query
  ef(ef: number): Query
  refineFactor(factor: number): Query
  where(predicate: string): Query
  select(columns: readonly string[]): Query
  limit(limit: number): Query
  toArray(): Promise<readonly { readonly id: number }[]>
}

interface Table {
  add(rows: readonly object[]): Promise<unknown>
  createIndex(column: string, options: object): Promise<void>
  optimize(): Promise<unknown>
  vectorSearch(query: Float32Array): Query
  close(): void
}

interface LanceDb {
  readonly Index: { hnswSq(options: object): object; btree(): object }
  connect(folder: string): Promise<{ createTable(name: string, rows: readonly object[]): Promise<Table> }>
}

export const openLanceDb: OpenDatabase = async ({ dimension, metric }, folder, variant): Promise<Database> => {
  const { Index, connect } = installed<LanceDb>('@lancedb/lancedb', '0.39.0')
  const connection = await connect(folder)
  let table: Table | undefined
  return {
    async fill(base) {
      await inBatches(base, dimension, async (rows, first) => {
        const objects = rows.map((row, i) => ({ id: first + i, part: (first + i) % parts, vector: Array.from(row) }))
        if (table) await table.add(objects)
        else table = await connection.createTable('docs', objects)
      })
      const config = Index.hnswSq({ distanceType: metric, numPartitions: 1, m: 16, efConstruction: 128 })
      await table?.createIndex('vector', { config })
      await table?.createIndex('part', { config: Index.btree() })
      await table?.optimize()
    },
    async search({ query, ef, bound }) {
      if (!table) throw new Error('the table is not filled')
      let search = table.vectorSearch(query).distanceType(metric).ef(ef).select(['id', '_distance']).limit(k)
      if (variant === 'refined') search = search.refineFactor(2).ef(Math.max(ef, 2 * k))
      if (bound < parts) search = search.where(`part < ${bound}`)
      return (await search.toArray()).map(({ id }) => id)
    },
    async close() {
      table?.close()
    },
  }
}
