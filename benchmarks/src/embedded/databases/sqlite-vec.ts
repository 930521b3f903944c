// sqlite-vec from its npm package in the SQLite of Node.js. It compares every row, so ef does not matter.
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { installed } from '../../ann/peers/install.ts'
import { type Database, inBatches, k, type OpenDatabase, parts } from '../database.ts'

export const openSqliteVec: OpenDatabase = async ({ dimension, metric }, folder): Promise<Database> => {
  const { load } = installed<{ load(database: DatabaseSync): void }>('sqlite-vec', '0.1.9')
  const database = new DatabaseSync(path.join(folder, 'docs.db'), { allowExtension: true })
  load(database)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  const column = `v float[${dimension}] distance_metric=${metric === 'l2' ? 'l2' : 'cosine'}`
  database.exec(`CREATE VIRTUAL TABLE docs USING vec0(id integer primary key, part integer, ${column})`)
  const insert = database.prepare('INSERT INTO docs (id, part, v) VALUES (?, ?, ?)')
  const all = database.prepare('SELECT id FROM docs WHERE v MATCH ? AND k = ?')
  const some = database.prepare('SELECT id FROM docs WHERE v MATCH ? AND k = ? AND part < ?')
  const bytesOf = (row: Float32Array) => new Uint8Array(row.buffer, row.byteOffset, row.byteLength)
  return {
    fill: (base) =>
      inBatches(base, dimension, (rows, first) => {
        database.exec('BEGIN')
        for (const [i, row] of rows.entries()) insert.run(BigInt(first + i), BigInt((first + i) % parts), bytesOf(row))
        database.exec('COMMIT')
      }),
    async search({ query, bound }) {
      const found =
        bound < parts ? some.all(bytesOf(query), BigInt(k), BigInt(bound)) : all.all(bytesOf(query), BigInt(k))
      return found.map(({ id }) => Number(id))
    },
    async close() {
      database.close()
    },
  }
}
