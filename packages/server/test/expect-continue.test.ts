// A request with `Expect: 100-continue` behind another one on the same connection: the interim reply comes before its reply, never within it.
import net from 'node:net'
import tap, { type Test } from 'tap'
import { splitReplies } from './differential/raw-connection.ts'
import { createIndex, runningApp } from './running-app.ts'

// A loaded machine is slow.
tap.setTimeout(300_000)

const vector = [1, 2, 3, 4]

function post(route: string, body: string, extra = ''): string {
  return `POST /api/v1/index/docs/${route} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${extra}Content-Length: ${body.length}\r\n\r\n${body}`
}

async function check(t: Test, threads: number): Promise<void> {
  const running = await runningApp(t, { serverThreads: threads })
  await createIndex(running)
  const write = post('vector/insert', JSON.stringify([{ id: 'a', vector }]))
  const search = JSON.stringify({ vector, k: 1 })
  const expecting = post('search', search, 'Expect: 100-continue\r\n')
  for (let i = 0; i < 5; i++) {
    const client = net.connect({ port: Number(new URL(running.url).port), host: '127.0.0.1', allowHalfOpen: true })
    client.end(write + expecting + expecting)
    const chunks: Buffer[] = []
    for await (const chunk of client) chunks.push(chunk as Buffer)
    const replies = splitReplies(Buffer.concat(chunks), ['POST', 'POST', 'POST'])
    const final = replies.filter(({ status }) => status >= 200)
    t.same(
      final.map(({ status, isComplete }) => [status, isComplete]),
      Array(3).fill([200, true]),
    )
    for (const { body } of final) t.notMatch(body.toString('latin1'), /HTTP\/1\.1/)
    t.equal(replies.at(-1)?.status, 200, 'no interim reply is the last')
  }
}

for (const threads of [1, 3])
  tap.test(`${threads} serving threads send interim replies before the replies`, (t) => check(t, threads))
