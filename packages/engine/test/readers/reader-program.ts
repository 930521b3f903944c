// A thread that attaches a reader and does what the test sends: each message is a call, each reply its result or its error.
import { parentPort, workerData } from 'node:worker_threads'
import type { SearchResult } from '@annal/engine'
import { attachReader, EngineError, type HitBytes, type Reader } from '@annal/engine/reader'
import { plainObjects, plainResults, type ReaderCall, type ReaderReply } from './reader-thread.ts'

const port = parentPort
if (port === null) throw new Error('this program runs in a worker')

const attached = attachReader(workerData.reader)
attached.then(
  () => port.postMessage({ id: 0, value: true } satisfies ReaderReply),
  (error: unknown) => port.postMessage({ id: 0, error: plain(error) } satisfies ReaderReply),
)

port.on('message', async ({ id, call }: { id: number; call: ReaderCall }) => {
  try {
    port.postMessage({ id, value: await answer(call) } satisfies ReaderReply)
  } catch (error) {
    port.postMessage({ id, error: plain(error) } satisfies ReaderReply)
  }
})

async function answer(call: ReaderCall): Promise<unknown> {
  const reader = await attached
  switch (call.kind) {
    case 'here': {
      const collection = reader.collection(call.database ?? 'default', call.collection)
      return collection?.searchHere(call.search, copy)
    }
    case 'hold': {
      const collection = reader.collection('default', call.collection)
      let calls = 0
      let nested: unknown
      let isOpen = false
      const texts: unknown[] = []
      const result = await collection?.searchHere(call.search, (hits) => {
        texts.push(copy(hits))
        if (++calls === 1) {
          nested = collection.searchHere(call.search, () => true)
          if (call.closes) reader.close()
          isOpen = reader.collection('default', call.collection) !== undefined
          // Word 0: the search holds its version. Word 1: it may go on.
          Atomics.store(call.shared, 0, 1)
          Atomics.notify(call.shared, 0)
          Atomics.wait(call.shared, 1, 0)
          texts.push(copy(hits))
        }
        return copy(hits)
      })
      return { calls, nested, isOpen, texts, result }
    }
    case 'late': {
      const collection = reader.collection('default', call.collection)
      const single = collection?.searchHere(call.search, copy)
      const batch = collection?.searchBatchHere(call.requests, { bytesMax: 2 ** 20 })
      Atomics.store(call.shared, 0, 1)
      Atomics.notify(call.shared, 0)
      Atomics.wait(call.shared, 1, 0)
      return { single: await single, batch: (await batch)?.flatMap(filterTexts) }
    }
    case 'search':
      return JSON.parse(JSON.stringify(await reader.search(call.collection, call.request)))
    case 'get':
      return JSON.parse(JSON.stringify(await reader.getMany(call.collection, call.ids)))
    case 'getHere': {
      const { ids, bytesMax = 2 ** 20, minLsn } = call
      return plainObjects(await reader.collection('default', call.collection)?.getHere(ids, { bytesMax, minLsn }))
    }
    case 'batchHere': {
      const { requests, bytesMax = 2 ** 20 } = call
      return plainResults(await reader.collection('default', call.collection)?.searchBatchHere(requests, { bytesMax }))
    }
    case 'exists':
      return reader.collection('default', call.collection) !== undefined
    case 'wait':
      return reader.collection('default', call.collection)?.waitFor(call.lsn, call.timeoutMs)
    case 'close':
      reader.close()
      return
    case 'until-refused':
      return searchUntilRefused(reader, call)
  }
}

function filterTexts({ results }: SearchResult): readonly string[] {
  return Object.values(results).flatMap((hits) => hits?.map(({ filterText }) => filterText) ?? [])
}

async function searchUntilRefused(
  reader: Reader,
  { collection, search, request }: ReaderCall & { readonly kind: 'until-refused' },
): Promise<{ readonly code: string; readonly wrong: number }> {
  let expected: string | undefined
  let wrong = 0
  for (;;) {
    const found = await reader.collection('default', collection)?.searchHere(search, copy)
    expected ??= JSON.stringify(found)
    if (found !== undefined && JSON.stringify(found) !== expected) wrong++
    try {
      // An explained search, which only the owner runs. Without one, this loop would leave no turn for the end of the owner.
      await reader.search(collection, { fields: { dense: { query: { id: '7' } } }, explain: true })
      await reader.search(collection, request)
    } catch (error) {
      return { code: plain(error).code, wrong }
    }
  }
}

function copy(hits: HitBytes): unknown {
  const { lsn, complete, recall } = hits
  const text = (bytes: number, into: (target: Uint8Array) => void) => {
    const target = Buffer.alloc(bytes)
    into(target)
    return target.toString()
  }
  return {
    lsn,
    complete,
    ...(recall && { recall }),
    hits: Array.from({ length: hits.count }, (_, hit) => ({
      id: text(hits.idBytes(hit), (target) => hits.copyId(hit, target, 0)),
      similarity: hits.similarity(hit),
      distance: hits.distance(hit),
      norm: hits.norm(hit),
      meta: text(hits.metaBytes(hit), (target) => hits.copyMeta(hit, target, 0)),
      filter: text(hits.filterBytes(hit), (target) => hits.copyFilter(hit, target, 0)),
      expiresAt: hits.expiresAt(hit),
    })),
  }
}

function plain(error: unknown): { code: string; message: string } {
  return { code: error instanceof EngineError ? error.code : 'unexpected', message: String((error as Error).stack) }
}
