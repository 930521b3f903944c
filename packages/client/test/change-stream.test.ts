// The reader of the change feed, with a stream that arrives in pieces cut anywhere.
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Test, test } from 'tap'
import { connect } from '../src/index.ts'

function eventOf(lsn: number, more: object = {}): string {
  const data = {
    lsn,
    time: '2026-11-27T00:00:00.000Z',
    kind: 'objects-upserted',
    collection: 'films',
    objects: [],
    ...more,
  }
  return `id: ${lsn}\nevent: objects-upserted\ndata: ${JSON.stringify(data)}\n\n`
}

/** The LSNs that a client gets from these pieces, each sent alone. */
async function lsnsOf(t: Test, pieces: readonly Uint8Array[], last: number): Promise<number[]> {
  const server = http.createServer(async (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const piece of pieces) await new Promise<void>((sent) => response.write(piece, () => setImmediate(sent)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const lsns: number[] = []
  const client = connect({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
  for await (const { lsn } of client.changes({ from: 1 })) {
    lsns.push(lsn)
    if (lsn === last) break
  }
  server.closeAllConnections()
  return lsns
}

test('events are read whole, wherever the stream is cut', async (t) => {
  const bytes = Buffer.from(`: heartbeat\nid: 1\n\n${eventOf(2, { note: 'Ä€😀' })}${eventOf(3)}${eventOf(4)}`)
  const cut = (at: number) => [bytes.subarray(0, at), bytes.subarray(at)]
  for (let at = 1; at < bytes.length; at += 7) t.strictSame(await lsnsOf(t, cut(at), 4), [2, 3, 4], `cut at ${at}`)
  t.strictSame(
    await lsnsOf(
      t,
      Array.from(bytes, (_, i) => bytes.subarray(i, i + 1)),
      4,
    ),
    [2, 3, 4],
    'byte by byte',
  )
})
