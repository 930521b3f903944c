// Which replies about the end of a stream are believed. The forms are those of NATS 2.15.1.
import type { StreamInfo } from '@nats-io/jetstream'
import { test } from 'tap'
import { refuseOldAnswer } from '../../src/cluster/old-answer.ts'

const [second, minute] = [1_000_000_000, 60_000_000_000]

function answer(cluster: object | undefined) {
  return { config: { name: 'annal-shop' }, cluster } as Pick<StreamInfo, 'config' | 'cluster'>
}

function replica(name: string, active: number, more: object = {}) {
  return { name, current: true, active, ...more }
}

test('the leader that hears a majority is believed', (t) => {
  refuseOldAnswer(answer(undefined))
  refuseOldAnswer(answer({ name: 'test', leader: 'n0' }))
  refuseOldAnswer(answer({ leader: 'n0', replicas: [replica('n1', second), replica('n2', minute)] }))
  t.end()
})

test('a leader that hears no majority may have been replaced', (t) => {
  const silent = { leader: 'n0', replicas: [replica('n1', 5 * second), replica('n2', minute)] }
  t.throws(() => refuseOldAnswer(answer(silent)), {
    message: '1 of the 3 servers of the stream annal-shop are connected',
  })
  const offline = { leader: 'n0', replicas: [replica('n1', 0, { offline: true }), replica('n2', minute)] }
  t.throws(() => refuseOldAnswer(answer(offline)), { name: 'StoreUnavailable' })
  t.end()
})

// packages/server/test/cluster/chaos.test.ts, ANNAL_ONLY='does not hear the others', ANNAL_SEED=91008: the reply had 44 messages, the node 45.
test('without a leader, any server replies with what it has', (t) => {
  const replicas = [replica('n0', 0), replica('n1', 0, { current: false }), replica('n2', 0, { current: false })]
  for (const leader of [undefined, ''])
    t.throws(() => refuseOldAnswer(answer({ name: 'test', replicas, ...(leader !== undefined && { leader }) })), {
      name: 'StoreUnavailable',
      message: 'the stream annal-shop has no leader',
    })
  t.end()
})
