// Objects expire on engines that share a log, over a simulated store; packages/server/test/cluster/expiry.test.ts has real NATS servers.
import tap, { test } from 'tap'
import { onlyTheLeaderDeletes } from './expiry-of-nodes.ts'
import { simulate } from './nodes.ts'

// A loaded machine is slow.
tap.setTimeout(300_000)

test('only the leader deletes what has expired, and every node hides it', (t) => onlyTheLeaderDeletes(t, simulate(t)))
