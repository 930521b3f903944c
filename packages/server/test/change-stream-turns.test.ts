// Streams of changes with much to send leave turns of the event loop to other clients.
import type { ChangeBatch, ChangeStream } from '@annal/engine'
import { test } from 'tap'
import { ChangeStreams } from '../src/feed/change-streams.ts'

const caller = { isAllowed: () => true, describe: (error: Error) => error.message }

/** One change with many vectors, about 4 MB of text. */
function largeBatch(): ChangeBatch {
  const dense = Float32Array.from({ length: 512 }, (_, i) => Math.sin(i))
  const objects = Array.from({ length: 400 }, (_, i) => ({ id: `o${i}`, meta: {}, filter: {}, fields: { dense } }))
  const change = { lsn: 1, timeMs: 0, kind: 'objects-upserted', collection: 'docs', objects }
  return { changes: [change], lsn: 1 } as unknown as ChangeBatch
}

test('streams whose clients receive everything send it in many turns', async (t) => {
  const streams = new ChangeStreams()
  const batch = largeBatch()
  const follow = (): ChangeStream => {
    const batches = async function* () {
      yield batch
    }
    return { batches } as unknown as ChangeStream
  }
  const begun = await Promise.all(Array.from({ length: 5 }, () => streams.begin(caller, follow)))
  let [pieces, longest, inTurn, isOver] = [0, 0, 0, false]
  const countTurn = (): void => {
    inTurn = 0
    if (!isOver) setImmediate(countTurn)
  }
  countTurn()
  const receive = async (bytes: AsyncIterable<Buffer>): Promise<void> => {
    for await (const _ of bytes) {
      pieces += 1
      longest = Math.max(longest, ++inTurn)
    }
  }
  await Promise.all(begun.map(({ bytes }) => receive(bytes)))
  isOver = true
  t.ok(longest < pieces / 4, `at most ${longest} of ${pieces} pieces in one turn`)
  t.equal(streams.count, 0)
})
