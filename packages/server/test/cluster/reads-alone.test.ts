// A read of a follower sends nothing to other nodes or to NATS, and waits for nothing from them: counted on the links, and with the links held up.
import tap, { test } from 'tap'
import { send } from '../running-app.ts'
import { startWorld } from './chaos/world.ts'
import { caughtUp, createCollection, leaderOf, write } from './cluster-nodes.ts'
import { skipNats } from './nats-servers.ts'

tap.setTimeout(300_000)

const things = 'things'
const reads = 4000

test('a read of a follower needs no other node, and sends no message', {
  skip: skipNats,
  timeout: 300_000,
}, async (t) => {
  const world = await startWorld(t, 30_000)
  const leader = await leaderOf(world.nodes)
  t.equal(await createCollection(leader, things), 200)
  await write(leader, things, ['a'])
  await caughtUp(leader, world.nodes)
  const index = world.nodes.findIndex((node) => node !== leader)
  const follower = world.node(index)
  const search = { fields: { dense: { query: [1, 2, 3, 4], limit: 1 } } }
  const readAll = async (count: number) => {
    let answered = 0
    const reader = async () => {
      for (let i = 0; i < count / 8; i++) {
        const { status, text } = await send(follower.url, 'POST', `/api/v2/collection/${things}/search`, {
          ...{ json: search, accept: 'application/json' },
        })
        if (status === 200 && text.includes('"a"')) answered++
      }
    }
    await Promise.all(Array.from({ length: 8 }, reader))
    return answered
  }

  let toNats = 0
  let toNodes = 0
  for (const link of world.ofNode(index))
    link.onSent = (bytes) => {
      toNats += bytes.toString('latin1').match(/^H?PUB /gm)?.length ?? 0
    }
  for (const door of world.doors)
    door.onSent = () => {
      toNodes++
    }
  const beganMs = performance.now()
  t.equal(await readAll(reads), reads)
  const seconds = (performance.now() - beganMs) / 1_000
  t.comment(`${reads} reads, ${toNats} messages to NATS meanwhile`)
  t.equal(toNodes, 0, 'nothing is sent to another node')
  // It looks at the lease and the log, and announces itself, some times a second.
  t.ok(toNats < 100 + 15 * seconds, `${toNats} messages to NATS in ${seconds.toFixed(1)} s`)

  for (const link of [...world.ofNode(index), ...world.doors]) link.hold('there', 'back')
  t.equal(await readAll(400), 400, 'reads go on when nothing reaches the node')
  await world.heal()
})
