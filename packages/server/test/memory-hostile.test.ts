// A server with little memory, and hostile bodies of every shape to every route, many at a time: the kernel ends nothing, and searches of
// others go on. ANNAL_BODIES sets another number of bodies; long form: more of them, and also more memory.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import tap, { test } from 'tap'
import { memoryLimitMin } from '../src/memory-limit.ts'
import { call, filledObject } from './memory-load.ts'
import { serveDocs, skipMemory } from './memory-server.ts'

tap.setTimeout(3_600_000)

const isLong = process.env.ANNAL_LONG === '1'
const bodies = process.env.ANNAL_BODIES ?? (isLong ? '600' : '48')
const atOnce = '16'
const mebibyte = 2 ** 20
const limits = isLong ? [memoryLimitMin, 512 * mebibyte] : [memoryLimitMin]
for (const limit of limits)
  test(`hostile bodies to a server with ${limit / mebibyte} MiB`, { skip: skipMemory }, async (t) => {
    const { group, server, url } = await serveDocs(t, limit, 1)
    const attacker = fileURLToPath(new URL('hostile-attacker.ts', import.meta.url))
    const args = ['--conditions=annal-source', attacker, url, bodies, atOnce]
    let isOver = false
    const attacking = promisify(execFile)(process.execPath, args).finally(() => {
      isOver = true
    })
    const query = { fields: { dense: { query: filledObject(1).fields.dense, limit: 10 } } }
    const search = () => call(url, 'POST', '/api/v2/collection/docs/search', query)
    const statuses = new Map<number, number>()
    let longestMs = 0
    while (!isOver) {
      const begun = performance.now()
      const { status } = await search()
      longestMs = Math.max(longestMs, performance.now() - begun)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    const tally = (await attacking).stdout.trim()
    t.comment(
      `${bodies} bodies: ${tally}; searches ${JSON.stringify([...statuses])}, longest ${longestMs.toFixed(0)} ms`,
    )
    t.equal(await group.kills(), 0, 'the kernel ended nothing')
    t.equal(server.child.exitCode ?? server.child.signalCode, null, 'the same process serves')
    t.notMatch(tally, /"500/, 'no internal error')
    const others = [...statuses.keys()].filter((status) => status !== 200 && status !== 503)
    t.same(others, [], 'searches got results, or were refused for the moment')
    t.ok((statuses.get(200) ?? 0) > 0, 'searches went on')
    t.equal((await search()).status, 200)
  })
