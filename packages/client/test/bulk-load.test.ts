// The progress of a load, whatever order its batches end in, over a transport that the test controls.
import { AnnalError, connect, type ObjectInput, type Transport } from '@annal/client'
import { test } from 'tap'

interface Sending {
  readonly first: string | undefined
  resolve(): void
  reject(error: Error): void
}

/** Keeps every batch pending until the test settles it. */
function heldBack() {
  const sendings: Sending[] = []
  let arrived: () => void = () => undefined
  const transport = {
    call: (_: string, { objects }: { readonly objects: readonly ObjectInput[] }) =>
      new Promise((resolve, reject) => {
        sendings.push({ first: objects[0]?.id, resolve: () => resolve({ lsn: 1, durable: true }), reject })
        arrived()
      }),
    close: () => Promise.resolve(),
  }
  return {
    // Only upserts are called here.
    client: connect({ transport: transport as unknown as Transport }),
    async sending(first: string): Promise<Sending> {
      for (;;) {
        const found = sendings.find((sending) => sending.first === first)
        if (found !== undefined) return found
        await new Promise<void>((resolve) => {
          arrived = resolve
        })
      }
    },
  }
}

function* numbers(count: number): Generator<ObjectInput> {
  for (let i = 0; i < count; i += 1) yield { id: String(i), fields: { x: [i, i] } }
}

test('storedThrough has no gap, although later batches end before earlier ones', async (t) => {
  const { client, sending } = heldBack()
  const reports: (readonly [number, number])[] = []
  const onProgress = ({ stored, through }: { readonly stored: number; readonly through: number }) =>
    reports.push([stored, through])
  const load = client.collection('c').load(numbers(5), { batchSize: 1, concurrency: 2, onProgress })
  const first = await sending('0')
  ;(await sending('1')).resolve()
  ;(await sending('2')).resolve()
  const third = await sending('3')
  first.resolve()
  ;(await sending('4')).resolve()
  third.resolve()
  t.same(await load, { stored: 5, batches: 5, through: 5 })
  t.same(reports.slice(0, 3), [
    [1, 0],
    [2, 0],
    [3, 3],
  ])
})

test('a failure excludes its records from storedThrough and names them', async (t) => {
  const { client, sending } = heldBack()
  let through = -1
  const onProgress = (progress: { readonly through: number }) => {
    through = progress.through
  }
  const load = client.collection('c').load(numbers(6), { batchSize: 2, concurrency: 2, onProgress })
  const first = await sending('0')
  ;(await sending('2')).reject(new AnnalError('no_room', 'the disk is full', { status: 507 }))
  first.resolve()
  await t.rejects(load, { code: 'no_room', status: 507, message: 'records 3 to 4 of the source: the disk is full' })
  t.equal(through, 2)
})

test('if the source fails, the load waits for the running batches', async (t) => {
  const { client, sending } = heldBack()
  let stored = 0
  async function* failing(): AsyncGenerator<ObjectInput> {
    yield* numbers(1)
    // Not before its batch was sent.
    await sending('0')
    setImmediate(async () => (await sending('0')).resolve())
    throw new Error('the source broke')
  }
  const onProgress = (progress: { readonly stored: number }) => {
    stored = progress.stored
  }
  await t.rejects(client.collection('c').load(failing(), { batchSize: 1, onProgress }), { message: 'the source broke' })
  t.equal(stored, 1)
})

test('an upsert of any length is stored in calls of a thousand, one after another', async (t) => {
  const { client, sending } = heldBack()
  const upsert = client.collection('c').upsert([...numbers(2_500)])
  for (const first of ['0', '1000', '2000']) (await sending(first)).resolve()
  t.same(await upsert, { lsn: 1, durable: true, upserted: 2_500 })
  const failing = heldBack()
  const failed = failing.client.collection('c').upsert([...numbers(2_500)])
  ;(await failing.sending('0')).resolve()
  ;(await failing.sending('1000')).reject(new AnnalError('invalid_argument', 'no', { field: 'objects[7].id' }))
  await t.rejects(failed, { code: 'invalid_argument', message: 'record 1008 of the source: no' })
  const one = heldBack()
  const refused = one.client.collection('c').upsert([...numbers(1_000)])
  ;(await one.sending('0')).reject(new AnnalError('invalid_argument', 'no', { field: 'objects[7].id' }))
  await t.rejects(refused, { code: 'invalid_argument', message: 'no' })
})

test('an aborted upsert stops between two calls', async (t) => {
  const { client, sending } = heldBack()
  const abort = new AbortController()
  const upsert = client.collection('c').upsert([...numbers(3_000)], { signal: abort.signal })
  const first = await sending('0')
  abort.abort()
  first.resolve()
  await t.rejects(upsert, { code: 'aborted', message: /after 1000 records/ })
})
