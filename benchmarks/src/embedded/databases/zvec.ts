// zvec from its npm package, called by its synchronous functions, which take less time than its promises.
import path from 'node:path'
import { installed } from '../../ann/peers/install.ts'
import { type Database, inBatches, k, type OpenDatabase, parts } from '../database.ts'

interface Collection {
  insertSync(docs: readonly object[]): readonly { readonly ok: boolean; readonly message: string }[]
  optimizeSync(): void
  querySync(query: object): readonly { readonly id: string }[]
  closeSync(): void
}

interface Zvec {
  readonly ZVecDataType: Readonly<Record<'INT32' | 'VECTOR_FP32', number>>
  readonly ZVecIndexType: Readonly<Record<'HNSW' | 'HNSW_RABITQ' | 'INVERT', number>>
  readonly ZVecMetricType: Readonly<Record<'L2' | 'COSINE', number>>
  readonly ZVecQuantizeType: Readonly<Record<'UNDEFINED' | 'INT8', number>>
  readonly ZVecCollectionSchema: new (schema: object) => object
  ZVecCreateAndOpen(path: string, schema: object): Collection
}

export const openZvec: OpenDatabase = async ({ dimension, metric }, folder, variant): Promise<Database> => {
  const zvec = installed<Zvec>('@zvec/zvec', '0.7.0')
  const { ZVecDataType: type, ZVecIndexType: index, ZVecQuantizeType: quantize } = zvec
  const indexType = variant === 'rabitq' ? index.HNSW_RABITQ : index.HNSW
  const indexParams = {
    indexType,
    metricType: metric === 'l2' ? zvec.ZVecMetricType.L2 : zvec.ZVecMetricType.COSINE,
    m: 16,
    efConstruction: 128,
    ...(variant === 'int8' && { quantizeType: quantize.INT8 }),
  }
  const schema = new zvec.ZVecCollectionSchema({
    name: 'docs',
    vectors: [{ name: 'v', dataType: type.VECTOR_FP32, dimension, indexParams }],
    fields: [{ name: 'part', dataType: type.INT32, indexParams: { indexType: index.INVERT } }],
  })
  const docs = zvec.ZVecCreateAndOpen(path.join(folder, 'docs'), schema)
  return {
    async fill(base) {
      await inBatches(base, dimension, (rows, first) => {
        const inserted = docs.insertSync(
          rows.map((v, i) => ({ id: `${first + i}`, vectors: { v }, fields: { part: (first + i) % parts } })),
        )
        const failed = inserted.find(({ ok }) => !ok)
        if (failed) throw new Error(`zvec: ${failed.message}`)
      })
      docs.optimizeSync()
    },
    async search({ query, ef, bound }) {
      const filter = bound < parts ? { filter: `part < ${bound}` } : {}
      const params = { indexType, ef, ...(variant === 'int8' && { isUsingRefiner: true }) }
      const found = docs.querySync({ fieldName: 'v', vector: query, topk: k, params, outputFields: [], ...filter })
      return found.map(({ id }) => Number(id))
    },
    async close() {
      docs.closeSync()
    },
  }
}
