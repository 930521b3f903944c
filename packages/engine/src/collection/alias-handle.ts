// A collection found by an alias: each call goes to the collection that the alias leads to at that moment.
import type { LocalCollection } from './collection.ts'

/** `find` throws the error of a call where the alias leads nowhere any more. */
export function followAlias(find: () => LocalCollection): LocalCollection {
  const handle: LocalCollection = new Proxy(find(), {
    get(_, key) {
      // A type of metadata is only a claim of the caller.
      if (key === 'withMetadata') return () => handle
      if (key === 'search' || key === 'searchBatch') return reading(key)
      const collection = find()
      const value: unknown = Reflect.get(collection, key, collection)
      return typeof value === 'function' ? value.bind(collection) : value
    },
  })
  /** A read that names an LSN sees what the alias leads to as of it. */
  const reading =
    (key: 'search' | 'searchBatch') =>
    async (input: unknown, ...rest: unknown[]): Promise<unknown> => {
      const requests = (Array.isArray(input) ? input : [input]) as readonly ({ minLsn?: number } | undefined)[]
      for (const request of requests) if (request?.minLsn !== undefined) await find().waitFor(request.minLsn)
      const collection = find()
      return Reflect.apply(collection[key], collection, [input, ...rest])
    }
  return handle
}
