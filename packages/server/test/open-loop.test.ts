// Requests at a fixed rate far above what the server can handle: each gets a reply or Retry-After, health responds throughout, memory stays
// bounded, and the server recovers. Long form only.
import { readFile } from 'node:fs/promises'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import tap, { test } from 'tap'
import { send, temporaryDirectory } from './running-app.ts'
import { startProcess } from './running-process.ts'

const { ANNAL_LONG } = process.env
const skip = ANNAL_LONG !== '1' && 'ANNAL_LONG=1'
const dimension = 256
const objects = 5_000
const perTick = 40
const ticks = 1_000
const tickMs = 10
const mebibyte = 1_048_576

tap.setTimeout(600_000)

test('an open loop beyond the capacity of the server', { skip, timeout: 600_000 }, async (t) => {
  const running = startProcess({ NDD_DATA_DIR: await temporaryDirectory(t) })
  t.teardown(() => running.child.kill('SIGKILL'))
  const url = await running.serving
  const index = { index_name: 'docs', dim: dimension, space_type: 'l2', precision: 'float32' }
  t.equal((await send(url, 'POST', '/api/v1/index/create', { json: index })).status, 200)
  const vector = (seed: number) => Array.from({ length: dimension }, (_, i) => Math.sin(seed * 12.9898 + i * 78.233))
  for (let start = 0; start < objects; start += 500) {
    const json = Array.from({ length: 500 }, (_, i) => ({ id: `o${start + i}`, vector: vector(start + i) }))
    t.equal((await send(url, 'POST', '/api/v1/index/docs/vector/insert', { json })).status, 200)
  }
  // More connections than requests are processed at a time, and fewer than the server accepts.
  const agent = new http.Agent({ keepAlive: true, maxSockets: 800 })
  t.teardown(async () => agent.destroy())
  const before = await residentBytes(running.child.pid)
  const answers: Promise<Answered>[] = []
  const healths: Promise<Answered>[] = []
  for (let tick = 0; tick < ticks; tick++) {
    for (let i = 0; i < perTick; i++) {
      const body = JSON.stringify({ k: 100, ef: 512, vector: vector(tick * perTick + i) })
      answers.push(ask(`${url}/api/v1/index/docs/search`, agent, body))
    }
    if (tick % 100 === 0) healths.push(ask(`${url}/api/v2/health`, undefined))
    await sleep(tickMs)
  }
  const counts = new Map<number, number>()
  for (const { status, retryAfter } of await Promise.all(answers)) {
    counts.set(status, (counts.get(status) ?? 0) + 1)
    if (status !== 200 && (status !== 503 || retryAfter === undefined)) t.fail(`${status} without Retry-After`)
  }
  const most = await residentBytes(running.child.pid)
  t.comment(JSON.stringify({ counts: Object.fromEntries(counts), mebibytes: [before, most].map((b) => b / mebibyte) }))
  t.same(
    [...counts.keys()].filter((status) => status !== 200 && status !== 503),
    [],
    'served or with Retry-After',
  )
  t.ok((counts.get(200) ?? 0) > 0)
  t.ok(
    (await Promise.all(healths)).every(({ status }) => status === 200),
    'health answers throughout',
  )
  t.ok(most - before < 512 * mebibyte, 'memory stays bounded')
  const after = JSON.stringify({ k: 10, vector: vector(1) })
  for (let i = 0; i < 20; i++)
    t.equal((await ask(`${url}/api/v1/index/docs/search`, agent, after)).status, 200, 'as before')
})

interface Answered {
  readonly status: number
  readonly retryAfter: string | undefined
}

function ask(url: string, agent: http.Agent | undefined, body?: string): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': body.length }
    const method = body === undefined ? 'GET' : 'POST'
    const request = http.request(url, { method, headers, ...(agent && { agent }) }, (response) => {
      response.resume()
      const { statusCode: status = 0 } = response
      response.on('end', () => resolve({ status, retryAfter: response.headers['retry-after'] }))
      response.on('error', reject)
    })
    request.on('error', (error: NodeJS.ErrnoException) => {
      // The server may close an idle connection while a request is on its way.
      if (request.reusedSocket && error.code === 'ECONNRESET') resolve(ask(url, agent, body))
      else reject(error)
    })
    request.end(body)
  })
}

async function residentBytes(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1_024
}
