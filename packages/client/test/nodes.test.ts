// Which node gets an attempt, without a network: the client's knowledge of a cluster, and the limit on retries.
import { test } from 'tap'
import { type Course, Nodes } from '../src/http/nodes.ts'
import { RetryBudget } from '../src/http/retry-budget.ts'
import { AnnalError, type AnnalErrorDetails } from '../src/index.ts'

const [a, b, c] = ['http://a', 'http://b', 'http://c'] as const
const course = (): Course => ({ tried: new Set(), redirections: 0 })
const silent = () => new AnnalError('unreachable', 'no reply')
const refusal = (code: string, status = 503, details: AnnalErrorDetails = {}) =>
  new AnnalError(code, code, { status, ...details })
const elsewhere = (leaderUrl: string) => refusal('not_leader', 421, { leaderUrl })

function urlOf(nodes: Nodes, target: 'leader' | 'any', { nowMs = 0, call = course() } = {}): string {
  const { node, namesLeader } = nodes.choose(target, call, nowMs)
  return namesLeader ? `${node.url} names` : node.url
}

test('reads stay on the first node until another one is clearly nearer', (t) => {
  const nodes = new Nodes([a, b, c])
  t.equal(urlOf(nodes, 'any'), a)
  const measure = (...rtts: readonly number[]) =>
    rtts.forEach((rtt, i) => void nodes.measured(nodes.all[i] as never, rtt, 0))
  measure(10, 9.5, 9)
  t.equal(urlOf(nodes, 'any'), a, 'a little faster is not nearer')
  measure(10, 5, 8)
  t.equal(urlOf(nodes, 'any'), b)
  measure(4, 5, 5)
  t.equal(urlOf(nodes, 'any'), b)
  t.end()
})

test('a read goes elsewhere, and comes back to a node only after it was away', (t) => {
  const nodes = new Nodes([a, b, c])
  const call = course()
  for (const [error, next] of [
    [silent(), b],
    [refusal('starting'), c],
  ] as const) {
    t.equal(nodes.failed(nodes.choose('any', call, 0), error, call, 0), true)
    t.equal(urlOf(nodes, 'any', { call }), next)
  }
  t.equal(nodes.failed(nodes.choose('any', call, 0), refusal('replica_behind'), call, 0), false, 'all were tried')
  const busy = new Nodes([a, b])
  const other = course()
  t.equal(busy.failed(busy.choose('any', other, 0), refusal('overloaded'), other, 0), false)
  t.equal(urlOf(busy, 'any', { call: other }), a, 'a busy node is not left for the next one')
  t.equal(urlOf(nodes, 'any', { nowMs: 500 }), a, 'if all are away, the one that is back first')
  t.end()
})

test('a node that stays silent is tried less and less often', (t) => {
  const nodes = new Nodes([a, b])
  const times: number[] = []
  let nowMs = 0
  for (let i = 0; i < 7; i++) {
    nodes.failed({ node: nodes.all[0] as never, namesLeader: false }, silent(), course(), nowMs)
    const awayMs = (nodes.all[0]?.awayUntilMs ?? 0) - nowMs
    times.push(awayMs)
    nowMs += awayMs
  }
  t.strictSame(times, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  t.equal(urlOf(nodes, 'any', { nowMs }), b)
  t.end()
})

test('writes follow the leader that a node names, and are forwarded while its URL does not answer', (t) => {
  const nodes = new Nodes([a, b, c])
  const call = course()
  t.equal(urlOf(nodes, 'leader', { call }), `${a} names`)
  t.equal(nodes.failed(nodes.choose('leader', call, 0), elsewhere(b), call, 0), true)
  t.equal(urlOf(nodes, 'leader', { call }), `${b} names`)
  t.equal(urlOf(nodes, 'leader'), `${b} names`, 'the next call knows it')
  t.equal(urlOf(nodes, 'any'), a, 'reads stay where they are')

  const next = course()
  t.equal(nodes.failed(nodes.choose('leader', next, 0), silent(), next, 0), true)
  t.equal(urlOf(nodes, 'leader', { call: next }), a, 'forwarded')
  t.equal(urlOf(nodes, 'leader', { nowMs: 1_999 }), a)
  t.equal(urlOf(nodes, 'leader', { nowMs: 2_000 }), `${a} names`)
  nodes.failed(nodes.choose('leader', course(), 2_000), elsewhere(c), course(), 2_000)
  t.equal(urlOf(nodes, 'leader', { nowMs: 2_000 }), `${c} names`)
  nodes.failed(nodes.choose('leader', course(), 2_000), refusal('not_leader'), course(), 2_000)
  t.equal(urlOf(nodes, 'leader', { nowMs: 2_000 }), `${a} names`, 'a leader that stepped down is forgotten')
  t.end()
})

test('nodes that name each other end in a forwarded request', (t) => {
  const nodes = new Nodes([a, b])
  const call = course()
  const seen: string[] = []
  for (;;) {
    const visit = nodes.choose('leader', call, 0)
    seen.push(visit.namesLeader ? `${visit.node.url} names` : visit.node.url)
    if (!visit.namesLeader || seen.length > 9) break
    nodes.failed(visit, elsewhere(visit.node.url === a ? b : a), call, 0)
  }
  t.strictSame(seen, [`${a} names`, `${b} names`, `${a} names`, b])
  t.end()
})

test('a leader that nobody configured is used once it has replied, and never over a weaker protocol', (t) => {
  const nodes = new Nodes([a, b])
  const call = course()
  t.equal(nodes.failed(nodes.choose('leader', call, 0), elsewhere(c), call, 0), true)
  t.equal(urlOf(nodes, 'leader', { call }), a, 'forwarded')
  t.equal(nodes.measureAtMs, 0, 'it is measured at once')
  const learned = nodes.all.find(({ url }) => url === c)
  nodes.measured(learned as never, undefined, 10)
  t.equal(urlOf(nodes, 'leader', { nowMs: 1_000 }), a)
  nodes.measured(learned as never, 3, 1_500)
  const later = course()
  nodes.failed(nodes.choose('leader', later, 2_000), elsewhere(c), later, 2_000)
  t.equal(urlOf(nodes, 'leader', { nowMs: 2_000, call: later }), `${c} names`)

  const safe = new Nodes(['https://a', 'https://b'])
  const secret = course()
  safe.failed(safe.choose('leader', secret, 0), elsewhere('http://c'), secret, 0)
  t.strictSame(
    safe.all.map(({ url }) => url),
    ['https://a', 'https://b'],
  )
  t.equal(urlOf(safe, 'leader', { call: secret }), 'https://a')
  t.end()
})

test('what a node has applied is known until it is silent', (t) => {
  const nodes = new Nodes([a, b])
  const [first] = nodes.all
  nodes.applied(first as never, 7)
  t.equal(nodes.lsn, 7)
  nodes.failed({ node: first as never, namesLeader: false }, silent(), course(), 0)
  t.strictSame([first?.lsn, nodes.lsn], [0, 7])
  nodes.failed(nodes.choose('any', course(), 0), refusal('lsn_not_reached', 503, { value: 6 }), course(), 0)
  t.equal(nodes.lsn, 7)
  nodes.failed(nodes.choose('any', course(), 0), refusal('lsn_not_reached', 503, { value: 7 }), course(), 0)
  t.equal(nodes.lsn, 0, 'an LSN that the log does not have is forgotten')
  t.end()
})

test('retries of all calls together are limited', (t) => {
  const budget = new RetryBudget(0)
  const taken = (nowMs: number) => {
    let count = 0
    while (budget.take(nowMs)) count++
    return count
  }
  t.equal(taken(0), 500)
  t.equal(taken(1_000), 10, 'ten each second')
  for (let i = 0; i < 40; i++) budget.succeeded()
  t.equal(taken(1_000), 10, 'and one for four calls that succeed')
  t.equal(taken(1e9), 500)
  t.end()
})
